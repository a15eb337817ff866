# shf.tsv (pipelines/lab/shf-table) -> a row a measure: means of the three ways of training over the seeds, and by how many percent
# the fitted metric's penalty and the flat one's (the control) lower it against the plain run of the same seed: mean and standard
# error of the pairs. Pairs with a missing number are left out.
BEGIN {FS = OFS = "\t"}
NR == 1 {for (i = 3; i <= NF; i++) name[i] = $i; columns = NF; next}
{kinds[$1]; seeds[$2]; for (i = 3; i <= NF; i++) at[$1, $2, i] = $i}
function mean(kind, i,    s, n, sum) {
    for (s in seeds) if (at[kind, s, i] ~ /^[-+.0-9]/) {sum += at[kind, s, i]; n++}
    return n ? sum / n : "-"
}
# Sets change and error.
function lowered(kind, i,    s, n, x, sum, squares) {
    for (s in seeds) if (at[kind, s, i] ~ /^[-+.0-9]/ && at["plain", s, i] ~ /^[-+.0-9]/ && at["plain", s, i] != 0) {
        x = 100 * (1 - at[kind, s, i] / at["plain", s, i])
        sum += x; squares += x * x; n++
    }
    change = n ? sum / n : "-"
    error = n > 1 ? sqrt((squares > n * change * change ? squares - n * change * change : 0) / (n - 1) / n) : "-"
}
END {
    print "measure", "plain", "fitted", "flat", "fitted_lowers_percent", "fitted_error", "flat_lowers_percent", "flat_error"
    for (i = 3; i < columns; i++) {
        lowered("fitted", i); f = change; fe = error
        lowered("flat", i)
        print name[i], mean("plain", i), mean("fitted", i), mean("flat", i), f, fe, change, error
    }
}
