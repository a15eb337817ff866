# A row a case, predictor and step from the two lists of names and the flattened fields error and difference (chart norm).
BEGIN { print "along\tmetric\tlayer\tpredictor\tm\terror\tlow\thigh\tdifference\tlow\thigh" }
$1 == "cases" { split($2, name, ","); next }
$1 == "predictors" { split($2, predictor, ","); next }
!header { for (i = 1; i <= NF; i++) at[$i] = i; header = 1; for (M = 0; ("error_0_" M "_0_0") in at; M++); next }
{
    split(name[++row], c, ":")
    for (p = 0; ("error_" p "_0_0_0") in at; p++)
        for (m = 0; m < M; m++) {
            e = at["error_" p "_" m "_0_0"]; d = at["difference_" p "_" m "_0_0"]
            if ($e != 0 || predictor[p + 1] == "line") print c[1] "\t" c[2] "\t" c[3] "\t" predictor[p + 1] "\t" m + 1 "\t" $e "\t" $(e + 1) "\t" $(e + 2) "\t" $d "\t" $(d + 1) "\t" $(d + 2)
        }
}
