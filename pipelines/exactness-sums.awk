# Sums of the cells of the exactness matrix: FOLDER/<model>/t<threads>-b<block>.tsv, a row for each drafter, length and mode. Writes
# TOexactness.tsv.tmp, TOdrafters.tsv.tmp and TOlengths.tsv.tmp.
FNR == 1 {
    n = split(FILENAME, part, "/"); model = part[n - 1]; split(substr(part[n], 2), word, "-"); threads = word[1]
    split(word[2], word, "."); block = word[1]
    delete k; for (i = 1; i <= NF; i++) k[$i] = i
    next
}
function add(table, key) {
    if (!((table, key) in cells)) order[table, ++keys[table]] = key
    cells[table, key] += $k["prompts"]
    compared[table, key] += $k["compared"]; wrong[table, key] += $k["mismatches"]
    drafts[table, key] += $k["drafts"]; rejections[table, key] += $k["rejections"]
    decided[table, key] += $k["decided"]; passes[table, key] += $k["target_passes"]
}
{
    add("m", model OFS threads OFS $k["mode"])
    add("d", $k["drafter"])
    add("l", ($k["setting"] == "loop" ? "chain" : "tree") OFS $k["gamma"])
    add("all", "all")
}
function put(table, file, head,    i, key) {
    print head, "cells", "compared", "mismatches", "drafts", "rejections", "stops", "tokens_per_pass" > file
    for (i = 1; i <= keys[table]; i++) {
        key = order[table, i]
        print key, cells[table, key], compared[table, key], wrong[table, key], drafts[table, key], rejections[table, key], \
            decided[table, key] - compared[table, key], \
            sprintf("%.3f", passes[table, key] ? decided[table, key] / passes[table, key] : 0) > file
    }
}
END {
    put("m", to "exactness.tsv.tmp", "model" OFS "threads" OFS "mode")
    put("d", to "drafters.tsv.tmp", "drafter")
    put("l", to "lengths.tsv.tmp", "draft" OFS "length")
    print "all", "-", "-", cells["all", "all"] + 0, compared["all", "all"] + 0, wrong["all", "all"] + 0, drafts["all", "all"] + 0, rejections["all", "all"] + 0, "-", "-" > (to "exactness.tsv.tmp")
}
