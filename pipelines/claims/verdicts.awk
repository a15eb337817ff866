# Writes the awk program that prints claims.tsv: conditions are expressions, so a program evaluates them.
BEGIN {
    letters = "PREMC"
    print "function abs(x) { return x < 0 ? -x : x }"
    print "function same(a, b, d) { return sprintf(\"%.*f\", d, a) == sprintf(\"%.*f\", d, b) }"
    print "BEGIN {"
    print "print \"id\\tsection\\tclaim\\tpublished\\treproduced\\texports\\tmodel\\tcontrol\\tverdict\\tsentence\""
}
NR == FNR { value[$1] = $2; next }
function quote(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); return "\"" s "\"" }
function trim(s) { sub(/^ +/, "", s); sub(/ +$/, "", s); return s }
# Six digits are enough to read; bits are in the artifacts.
function shown(s) { return s ~ /^[-+]?[0-9.]+([eE][-+]?[0-9]+)?$/ && length(s) > 8 ? sprintf("%.5g", s) : s }
{
    v[1] = $4
    for (i = 5; i <= 8; i++) v[i - 3] = $i == "-" ? "-" : (($i in value) ? value[$i] : "-")
    for (i = 1; i <= 5; i++) {
        number = v[i]
        if (i == 1) { gsub(/[%,]/, "", number); sub(/^[^-+0-9.]*/, "", number) }
        print substr(letters, i, 1) " = " (number ~ /^[-+]?[0-9.]+/ ? number + 0 : "\"\"")
        missing[i] = v[i] == "-" || v[i] == ""
    }
    # A rule that multiplies by 100 says that its values are shares of the published percentage.
    if ($4 ~ /%/ && $9 ~ /100 \*/)
        for (i = 2; i <= 5; i++) if (v[i] ~ /^[-+]?[0-9]/) v[i] = sprintf("%.4g %%", 100 * v[i])
    head = $1 "\t" $2 "\t" $3
    for (i = 1; i <= 5; i++) head = head "\t" shown(v[i])
    n = split($9, rule, ";;")
    for (k = 1; k <= n; k++) {
        r = trim(rule[k])
        colon = index(r, ":")
        left = substr(r, 1, colon - 1)
        sentence = trim(substr(r, colon + 1))
        word = left
        sub(/ .*/, "", word)
        condition = left
        if (!sub(/^[a-z]+ if /, "", condition)) condition = "1"
        for (i = 1; i <= 5; i++) {
            c = substr(letters, i, 1)
            if (missing[i] && condition ~ ("(^|[^A-Za-z0-9_])" c "([^A-Za-z0-9_]|$)")) condition = "0"
            gsub("[{]" c "[}]", shown(v[i]), sentence)
        }
        print (k > 1 ? "else " : "") "if (" condition ") print " quote(head "\t" word "\t" sentence)
    }
}
END { print "}" }
