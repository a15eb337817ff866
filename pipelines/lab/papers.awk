# The papers' decoding numbers from their own formulas. Input: the two lines of geodec-decode --compat-counters (64 and 13 tokens).
# E(a, g) = (1 - a^(g+1)) / (1 - a); tok/s = E / (g T_D + T_V); full and projected drafter 28.1 and 26.5 ms, verifier 90 ms, gamma 4.
function tokens(a, g) { return (1 - a ^ (g + 1)) / (1 - a) }
BEGIN { OFS = "\t" }
match($0, /[0-9]+\/[0-9]+/) {
    split(substr($0, RSTART, RLENGTH), f, "/")
    replay[f[2]] = f[1] / f[2]
}
END {
    print "key", "quantity", "formula", "published"
    print "replayed-64", "replayed acceptance of 64 tokens", replay[64], 0.469
    print "replayed-13", "replayed acceptance of 13 tokens", replay[13], 0.385
    split("0.9 0.7 0.5", alpha, " ")
    split("17.3 14.4 10.4", full, " ")
    split("17.4 14.4 10.5", projected, " ")
    for (i = 1; i <= 3; i++) {
        e = tokens(alpha[i], 4)
        print "full-" alpha[i], "tok/s, full drafter, alpha " alpha[i], e / (4 * 0.0281 + 0.090), full[i]
        print "projected-" alpha[i], "tok/s, projected drafter, alpha " alpha[i], e / (4 * 0.0265 + 0.090), projected[i]
    }
    a = 5 / 13
    print "tokens-a-pass", "tokens a pass at alpha 5/13, gamma 4", tokens(a, 4), 1.6
    print "speedup", "speed-up at alpha 5/13, gamma 4, drafter 0.05 of a pass", tokens(a, 4) / (4 * 0.05 + 1), 1.6
    print "speedup-later-baseline", "speed-up of 76.5 tok/s over the papers' later 71.92", 76.5 / 71.92, 1.53
    # K candidates, each right with p independently, against K distinct candidates of one distribution: sum of p.
    for (k = 2; k <= 4; k *= 2) print "candidates-" k, "1-(1-p)^K, p = 0.385, K = " k, 1 - (1 - a) ^ k, ""
}
