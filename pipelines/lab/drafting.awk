# Tables of the drafting figures: awk -v what=alpha|reliability|rejections|gates|threeway|margins -v drafters=a,b,c; blocks of a drafter are
# separated by two empty lines, each headed by its name, so that gnuplot can index them.
BEGIN {
    FS = OFS = "\t"
    n = split(drafters, name, ",")
    if (what == "gates") FS = "[ \t]+"
    if (what == "rejections")
        print "drafter", "second", "third_to_tenth", "further", "punctuation", "blank", "word_start", "word_inside", "other", "later", "warm_up"
    if (what == "threeway") print "drafter", "verifier", "low", "high", "alone", "low", "high", "both", "low", "high", "predicted"
}
what == "alpha" || what == "reliability" {
    if (FNR == 1) {
        for (i = 1; i <= NF; i++) c[$i] = i
        next
    }
    if ($c["sampled"] || $c["budget"]) next
    d = $c["drafter"]
}
# Loop rows, greedy.
what == "alpha" && !$c["every_position"] {
    rows[d] = rows[d] $c["gamma"] OFS $c["accepted_share_0"] OFS $c["accepted_share_1"] OFS $c["accepted_share_2"] OFS \
        $c["tokens_per_pass_0"] OFS $c["tokens_per_pass_1"] OFS $c["tokens_per_pass_2"] OFS $c["tokens_closed_form"] OFS \
        $c["tokens_by_position"] "\n"
}
# The longest draft, at every position.
what == "reliability" && $c["every_position"] {
    rows[d] = ""
    for (b = 0; b < 10; b++)
        if ((m = $c["confidence_reached_" b]) > 0) {
            p = $c["confidence_accepted_" b] / m
            e = 1.96 * sqrt(p * (1 - p) / m) # of independent drafts
            rows[d] = rows[d] $c["confidence_claimed_" b] OFS p OFS p - e OFS p + e OFS m "\n"
        }
}
what == "rejections" && FNR > 1 {
    if (NF < 10)
        print "uniform", $1, $2, $3, "nan", "nan", "nan", "nan", "nan", "nan", "nan"
    else
        print name[FNR - 1], $0
}
what == "gates" && FNR == 1 { thresholds = split($0, tau, " "); next }
what == "gates" && FNR == 2 { lengths = split($0, gamma, " "); next }
what == "gates" {
    d = FNR - 3
    for (g = 1; g <= lengths; g++) {
        for (t = 1; t <= thresholds; t++) {
            at = (t - 1) * lengths + g
            all = thresholds * lengths
            rows[d] = rows[d] tau[t] OFS gamma[g] OFS $at OFS $(all + at) OFS $(2 * all + at) "\n"
        }
        rows[d] = rows[d] "\n"
    }
}
what == "threeway" {
    if (FNR == 1) verifier = $1 OFS $2 OFS $3
    else print name[FNR - 1], verifier, $0
}
# The margins, then a line a drafter of perplexity (value, low, high of each margin), different, departed, tokens a pass.
what == "margins" && FNR == 1 { margins = split($0, margin, " "); next }
what == "margins" { line[FNR - 2] = $0 }
END {
    if (what == "margins") {
        print "drafter", "margin", "perplexity", "low", "high", "different_from_greedy", "not_the_argmax", "tokens_per_pass"
        for (d = 0; d < n; d++) {
            split(line[d], ppl, "\t")
            split(line[n + d], different, "\t")
            split(line[2 * n + d], departed, "\t")
            split(line[3 * n + d], rate, "\t")
            for (m = 1; m <= margins; m++)
                print name[d + 1], margin[m], ppl[3 * m - 2], ppl[3 * m - 1], ppl[3 * m], different[m], departed[m], rate[m]
        }
    }
    if (what == "alpha" || what == "reliability" || what == "gates")
        for (d = 0; d < n; d++) printf "%s%s\n%s", d ? "\n\n" : "", name[d + 1], rows[d]
}
