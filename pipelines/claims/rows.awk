# All fragments as one list without headers; @MODEL becomes the model's folder. A row that is not whole stops everything.
FNR == 1 {
    if ($0 != "id\tsection\tclaim\tpublished\treproduced\texports\tmodel\tcontrol\tverdict") fail("its header is not that of claims")
    next
}
/^$/ { next }
{
    if (NF != 9) fail("row " FNR " has " NF " columns, not 9")
    if (seen[$1]++) fail("row " FNR ": the id " $1 " is there twice")
    for (i = 5; i <= 8; i++) {
        gsub(/@MODEL/, model, $i)
        if ($i != "-" && $i !~ /^[^#]+#[^#]+$/) fail("row " FNR ": '" $i "' is no reference")
    }
    n = split($9, rule, ";;")
    for (k = 1; k <= n; k++)
        if (rule[k] !~ /^ *(reproduced|artefact|refuted|holds|untestable)( if [^:]+)?: *[^ ]/) fail("row " FNR ": '" rule[k] "' is no rule")
    if (rule[n] ~ /^ *[a-z]+ if /) fail("row " FNR ": the last rule has a condition")
    print
}
function fail(text) { print FILENAME ": " text > "/dev/stderr"; exit bad = 2 }
END { if (bad) exit bad }
