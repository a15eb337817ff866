# The controls of the exactness matrix: FOLDER/<model>/fault-<name>.tsv, a row for each drafter, length and mode on all prompts of the
# control. A row differs when one of its tokens does.
FNR == 1 {
    n = split(FILENAME, part, "/"); key = part[n - 1] OFS substr(part[n], 7, length(part[n]) - 10)
    delete k; for (i = 1; i <= NF; i++) k[$i] = i
    order[++keys] = key
    next
}
{
    setting = $k["setting"] == "loop" ? "chain" : "tree"
    cells[key] += $k["prompts"]; rows[key, setting]++; differ[key, setting] += $k["mismatches"] > 0
    compared[key] += $k["compared"]; wrong[key] += $k["mismatches"]
}
END {
    print "model", "fault", "cells", "chains", "chains_that_differ", "trees", "trees_that_differ", "compared", "mismatches"
    for (i = 1; i <= keys; i++) {
        key = order[i]
        print key, cells[key], rows[key, "chain"] + 0, differ[key, "chain"] + 0, rows[key, "tree"] + 0, differ[key, "tree"] + 0, \
            compared[key], wrong[key]
    }
}
