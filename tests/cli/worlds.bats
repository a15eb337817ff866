#!/usr/bin/env bats
# geodec-worlds: the truth beside the states, controls, worlds like a cloud through the chain, the same bytes, refusals.

bats_require_minimum_version 1.5.0
load ../root

# An attribute of an artifact.
of() { "$bin/geodec-table" --attrs "$1" | awk -F'\t' -v name="$2" '$1 == name {print $2}'; }
between() { awk -v x="$1" -v low="$2" -v high="$3" 'BEGIN {exit !(x >= low && x <= high)}'; }

@test "a sphere: closed form, noise, dimension and the chain; the same bytes" {
    t=$BATS_TEST_TMPDIR
    run --separate-stderr "$bin/geodec-worlds" -n 3 --radius 2 --points 1200 --ambient 20 --noise 0.001 -o "$t/a.h5" --truth "$t/w.h5"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    "$bin/geodec-check" "$t/a.h5" "$t/w.h5"
    "$bin/geodec-table" "$t/w.h5" scalar | awk 'NR > 1 && ($1 - 1.5) ^ 2 > 1e-24 {bad = 1} END {exit bad || NR < 1200}'
    between "$(of "$t/w.h5" check_acceleration)" 1e-16 1e-6
    between "$(of "$t/w.h5" set_variance)" 3.9 4.1
    "$bin/geodec-cloud" -q -o "$t/cloud.h5" "$t/a.h5"
    [ "$(of "$t/cloud.h5" k_int)" -eq 3 ]
    "$bin/geodec-worlds" -q -t 3 -n 3 --radius 2 --points 1200 --ambient 20 --noise 0.001 -o "$t/b.h5" --truth "$t/v.h5"
    cmp "$t/a.h5" "$t/b.h5"
    cmp "$t/w.h5" "$t/v.h5"
}

@test "texts: the share is measured beside its controls; like a cloud" {
    t=$BATS_TEST_TMPDIR
    for share in 0 0.5 1; do
        "$bin/geodec-worlds" -q --set torus --sampling geodesic --share $share --points 2000 --noise 0.01 -o "$t/a$share.h5" --truth "$t/w$share.h5"
        between "$(of "$t/w$share.h5" share_measured)" "$(echo "$share" | awk '{print $1 - 0.07}')" "$(echo "$share" | awk '{print $1 + 0.07}')"
        between "$(of "$t/w$share.h5" share_random)" -0.07 0.07
        [ "$(of "$t/w$share.h5" turns)" -eq 0 ]
    done
    between "$(of "$t/w1.h5" error_geodesic)" 0 1e-18
    "$bin/geodec-cloud" -q -o "$t/cloud.h5" "$t/a1.h5"
    run --separate-stderr "$bin/geodec-worlds" --set sphere --like "$t/cloud.h5" --sampling walk -o "$t/like.h5" --truth "$t/like-truth.h5"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"like the data: variance"* ]]
    [ "$(of "$t/like-truth.h5" texts)" -eq "$(of "$t/w1.h5" texts)" ]
    # variance of the set and the noise: that of the data
    total=$(of "$t/like-truth.h5" like_total)
    between "$(of "$t/like-truth.h5" set_variance)" 0 "$total"
    "$bin/geodec-cloud" -q -o "$t/like-cloud.h5" "$t/like.h5"
    between "$(of "$t/like-cloud.h5" total_variance)" "$(echo "$total" | awk '{print 0.85 * $1}')" "$(echo "$total" | awk '{print 1.15 * $1}')"
    # the null has the same spectrum and no dimension of its own
    "$bin/geodec-worlds" -q --set gaussian --like "$t/cloud.h5" -o "$t/null.h5" --truth "$t/null-truth.h5"
    [ "$("$bin/geodec-table" "$t/null-truth.h5" scalar | tail -n 1)" = nan ]
}

@test "a metric that varies is a METRIC.h5; a warp; families; the control of strength 0; refusals" {
    t=$BATS_TEST_TMPDIR
    "$bin/geodec-worlds" -q --set field -n 2 --points 150 --sampling geodesic -o "$t/a.h5" --truth "$t/w.h5" --metric "$t/m.h5"
    between "$(of "$t/w.h5" check_curvature)" 1e-14 1e-5
    "$bin/geodec-riemann" -q --control 0 -o "$t/r.h5" "$t/m.h5"
    "$bin/geodec-worlds" -q --set field -n 2 --points 150 --strength 0 -o "$t/a0.h5" --truth "$t/w0.h5"
    "$bin/geodec-table" "$t/w0.h5" scalar | awk 'NR > 1 && $1 != 0 {bad = 1} END {exit bad || NR < 150}'
    "$bin/geodec-worlds" -q --set families -n 3 --points 400 --strength 0.5 -o "$t/f.h5" --truth "$t/fw.h5"
    [ "$("$bin/geodec-table" "$t/fw.h5" covered | awk 'NR > 1 {n += $1} END {print n}')" -eq 200 ]
    "$bin/geodec-worlds" -q --set warp -n 2 --points 50 -o "$t/warp.h5" --truth "$t/warp-truth.h5"
    between "$(of "$t/warp-truth.h5" fact_before)" 0.29 0.3
    between "$(of "$t/warp-truth.h5" fact_after)" 0 1e-9
    run -2 "$bin/geodec-worlds" --strength 2 -o "$t/x.h5" --truth "$t/y.h5"
    run ! "$bin/geodec-worlds" --set hyperbolic -n 20 -o "$t/x.h5" --truth "$t/y.h5"
    [[ "$output" == *"39 dimensions"* ]]
    run ! "$bin/geodec-worlds" -o "$t/x.h5" --truth "$t/x.h5"
    run ! "$bin/geodec-worlds" --radius 1 --like "$t/cloud.h5" -o "$t/x.h5" --truth "$t/y.h5"
    run ! "$bin/geodec-worlds" --set flat --sampling walk --step 5 -o "$t/x.h5" --truth "$t/y.h5"
    [[ "$output" == *"does not stay in the piece"* ]]
    [ ! -e "$t/x.h5" ]
}

@test "states of a model's last layer: its head chooses the tokens, and its stages take them" {
    t=$BATS_TEST_TMPDIR m=data/model/geodec-stories-f16.gguf
    flow() { "$bin/geodec-worlds" -q --force --set sphere -n 3 --ambient 128 --radius 30 --points 900 --noise 0.1 --sampling flow --step 5 --text-length 20 "$@"; }
    for x in 0 1; do
        flow --share $x --head $m -o "$t/a.h5" --truth "$t/w.h5"
        [ "$(of "$t/a.h5" n_layer)" -eq 6 ]
        "$bin/geodec-check" "$t/a.h5" "$t/w.h5"
        "$bin/geodec-substitution" -q --force -m $m --records 500 --queries 100 -o "$t/s$x.h5" "$t/a.h5" # refuses the states of another model
    done
    # a row has read the token that was chosen at the row before, but for the first of a text
    "$bin/geodec-table" --no-header "$t/a.h5" 'SELECT token, argmax FROM t' > "$t/said"
    awk 'NR % 20 != 1 && $1 != last {bad = 1} {last = $2} END {exit bad || NR < 900}' "$t/said"
    # the linear map of the states: exact but for the noise with the flow, worthless for random steps
    between "$("$bin/geodec-value" --root "$t" 's1.h5#error[1][4][0]' | sed -n '2s/.*\t//p')" 0 0.4
    between "$("$bin/geodec-value" --root "$t" 's0.h5#error[1][4][0]' | sed -n '2s/.*\t//p')" 0.9 1.1
    run ! flow --ambient 64 --head $m -o "$t/x.h5" --truth "$t/y.h5"
    [[ "$output" == *"have the width 128"* ]]
    run ! flow -n 4 -o "$t/x.h5" --truth "$t/y.h5"
    [[ "$output" == *"odd dimension"* ]]
}

@test "texts that recur are counted in the file of the truth" {
    t=$BATS_TEST_TMPDIR
    run "$bin/geodec-worlds" -n 3 --points 320 --sampling walk --text-length 32 --recur 0.5 --orbits 2 -o "$t/a.h5" --truth "$t/w.h5"
    [[ "$output" == *"5 of 10 texts follow one of 2 trajectories"* ]]
    [ "$(of "$t/w.h5" recurring)/$(of "$t/w.h5" texts)/$(of "$t/w.h5" orbits)/$(of "$t/w.h5" recur)" = 5/10/2/0.5 ]
}
