# The table geodec-bench-decode prints, and acceptance by position from its artifact, as one small table a drafter.
# awk -f split-bench.awk -v dir=FIG -v drafters=a,b,c acceptance-by-position.tsv benchdecode.tsv
BEGIN {
    FS = OFS = "\t"
    n = split(drafters, name, ",")
    for (i = 1; i <= n; i++) {
        number[name[i]] = i
        print "position", "acceptance", "low", "high" > (dir "/acceptance-" name[i] ".tsv")
        print "gamma", "measured", "low", "high", "predicted", "textbook" > (dir "/speedup-" name[i] ".tsv")
    }
}
FNR == 1 {
    file++
    delete column
    for (i = 1; i <= NF; i++) column[$i] = i
    next
}
# Greedy, one draft asked for at every position of plain decoding, the longest draft.
file == 1 && $column["sampled"] == 0 && $column["every_position"] == 1 {
    d = name[$column["drafter"] + 1]
    if ($column["gamma"] >= longest[d]) {
        longest[d] = $column["gamma"]
        rows[d] = ""
        for (k = 0; k < $column["gamma"]; k++) {
            a = $column["acceptance_" k]
            if ((a + 0) == 0 && ($column["acceptance_high_" k] + 0) == 0) continue # never reached
            rows[d] = rows[d] (k + 1) OFS a OFS $column["acceptance_low_" k] OFS $column["acceptance_high_" k] "\n"
        }
    }
}
file == 2 && $column["mode"] == "greedy" && $column["setting"] == "loop" && $column["gamma"] != "auto" && ($column["drafter"] in number) {
    print $column["gamma"], $column["speedup"], $column["speedup_low"], $column["speedup_high"], $column["predicted"], \
        $column["predicted_textbook"] > (dir "/speedup-" $column["drafter"] ".tsv")
}
END {
    for (d in rows) printf "%s", rows[d] > (dir "/acceptance-" d ".tsv")
}
