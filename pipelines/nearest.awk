# The nearest of the words on standard input, one a line, to the variable `word`; nothing if none is near (tools/cli/suggest.h has the rule).
function least(a, b) { return a < b ? a : b }
function distance(a, b, i, j, d, n, m) {
    n = length(a); m = length(b)
    for (i = 0; i <= n; i++) d[i, 0] = i
    for (j = 0; j <= m; j++) d[0, j] = j
    for (i = 1; i <= n; i++)
        for (j = 1; j <= m; j++) {
            d[i, j] = least(least(d[i - 1, j], d[i, j - 1]) + 1, d[i - 1, j - 1] + (substr(a, i, 1) != substr(b, j, 1)))
            if (i > 1 && j > 1 && substr(a, i, 1) == substr(b, j - 1, 1) && substr(a, i - 1, 1) == substr(b, j, 1))
                d[i, j] = least(d[i, j], d[i - 2, j - 2] + 1)
        }
    return d[n, m]
}
BEGIN { limit = (length(word) < 6 ? 1 : int(length(word) / 3)) + 1 }
length(word) <= 40 && length($0) <= 40 {
    d = distance(word, $0)
    if (length(word) >= 3 && length(word) < length($0) && index($0, word) == 1) d = least(d, 1)
    if (d < limit) { limit = d; best = $0 }
}
END { if (best != "") print best }
