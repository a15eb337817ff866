# A row a surrogate (NaN: not measured in the metric) from the list of names and the flattened fields counted, cosine, leak and chance of the first case.
BEGIN { print "surrogate\tcounted\tcosine\tlow\thigh\tmetric\tlow\thigh\tleak\tlow\thigh\tchance\tlow\thigh" }
$1 == "surrogates" { names = split($2, name, ","); next }
!header { for (i = 1; i <= NF; i++) at[$i] = i; header = 1; next }
!done {
    done = 1
    for (s = 0; s < names; s++) {
        n = at["counted_" s "_0"]; c = at["cosine_" s "_0_0"]; l = at["leak_" s "_0"]; k = at["chance_" s "_0"]; m = at["counted_" s "_1"]
        if ($n == 0) continue
        label = name[s + 1]; gsub("_", " ", label)
        line = label "\t" $n
        for (i = 0; i < 6; i++) line = line "\t" (i < 3 || $m > 0 ? $(c + i) : "NaN")
        for (i = 0; i < 3; i++) line = line "\t" $(l + i)
        for (i = 0; i < 3; i++) line = line "\t" $(k + i)
        print line
    }
}
