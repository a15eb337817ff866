# A row a case, form and direction from the three lists of names and the flattened fields counted, cosine and excess.
BEGIN { print "metric\tlayer\tkeys\tform\tdirection\tcounted\tcosine\tlow\thigh\texcess\tlow\thigh" }
$1 == "cases" { split($2, name, ","); next }
$1 == "forms" { forms = split($2, form, ","); next }
$1 == "directions" { directions = split($2, direction, ","); next }
!header { for (i = 1; i <= NF; i++) at[$i] = i; header = 1; next }
{
    split(name[++row], c, ":")
    for (f = 0; f < forms; f++)
        for (d = 0; d < directions; d++) {
            n = at["counted_" f "_" d]; e = at["cosine_0_" f "_" d "_0"]; x = at["excess_0_" f "_" d "_0"]
            if ($n > 0) print c[1] "\t" c[2] "\t" c[3] "\t" form[f + 1] "\t" direction[d + 1] "\t" $n "\t" $e "\t" $(e + 1) "\t" $(e + 2) "\t" $x "\t" $(x + 1) "\t" $(x + 2)
        }
}
