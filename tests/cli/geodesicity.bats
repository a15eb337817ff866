#!/usr/bin/env bats
# geodec-geodesicity: cases and controls, the same bytes with any number of threads, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$bin/geodec-corpus" -q --stories 24 --seed 5 -o "$BATS_FILE_TMPDIR/text.txt"
    "$bin/geodec-export" -q -m data/model/geodec-stories-f16.gguf --text "$BATS_FILE_TMPDIR/text.txt" --layers 2,4,last -p 0:24 \
        -o "$BATS_FILE_TMPDIR/layers.h5"
}

setup() {
    model=data/model/geodec-stories-f16.gguf
    states=$BATS_FILE_TMPDIR/layers.h5
    small=(-n 4 --points 60 --starts 6 --ahead 2)
}

@test "one case for each metric and layer, recorded in the artifact; the same bytes with any number of threads" {
    run --separate-stderr "$bin/geodec-geodesicity" -m "$model" "${small[@]}" -t 1 -o "$BATS_TEST_TMPDIR/a.h5" "$states"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$("$bin/geodec-table" --attrs "$BATS_TEST_TMPDIR/a.h5")" == *"tokens:mahalanobis:6,tokens:fisher:6,tokens:blend:6,layers:mahalanobis:4,layers:fisher:4,layers:blend:4"* ]]
    run --separate-stderr "$bin/geodec-geodesicity" -q -m "$model" "${small[@]}" -t 3 -o "$BATS_TEST_TMPDIR/b.h5" "$states"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    cmp "$BATS_TEST_TMPDIR/a.h5" "$BATS_TEST_TMPDIR/b.h5"
    run "$bin/geodec-check" "$BATS_TEST_TMPDIR/a.h5"
    [ "$status" -eq 0 ]
}

@test "a METRIC.h5 of any kind is one more case, in its own chart and layer; the geodesic of a constant metric is the line" {
    t=$BATS_TEST_TMPDIR
    "$bin/geodec-cloud" -q --layer 4 --max-points 200 -o "$t/cloud.h5" "$states"
    "$bin/geodec-metric" -q --dim 3 -o "$t/local.h5" "$t/cloud.h5"
    "$bin/geodec-metric" -q --dim 3 --kind euclidean --scale covariance -o "$t/constant.h5" "$t/cloud.h5"
    "$bin/geodec-metric" -q --dim 3 --kind fisher -m "$model" --activations "$states" -o "$t/fisher.h5" "$t/cloud.h5"
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" --along none -o "$t/m.h5" "$states" "$t/local.h5" "$t/constant.h5" "$t/fisher.h5"
    echo "$stderr"
    [ "$status" -eq 0 ]
    "$bin/geodec-table" --attrs "$t/m.h5" | grep -q "tokens:mahalanobis:4,tokens:euclidean:4,tokens:fisher:4"
    # difference from the line, one step ahead, in the chart: predictor 4 is the geodesic
    "$bin/geodec-table" "$t/m.h5" difference | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "difference_4_0_0_0") c = i; next}
        NR == 3 && $c * $c > 1e-12 || (NR == 2 || NR == 4) && $c * $c < 1e-12 {bad = 1} END {exit bad || !c}'
}

@test "a METRIC.h5 of other states or of another width, and no metric at all, are refused" {
    t=$BATS_TEST_TMPDIR
    "$B/tests/bad/make_states" "$t/other.h5"
    "$bin/geodec-cloud" -q -o "$t/other-cloud.h5" "$t/other.h5"
    "$bin/geodec-metric" -q --dim 3 -o "$t/other-metric.h5" "$t/other-cloud.h5"
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" --along none -o "$t/r.h5" "$states" "$t/other-metric.h5"
    [ "$status" -eq 3 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    "$bin/geodec-export" -q -m "$model" --text "$BATS_FILE_TMPDIR/text.txt" --layers 4 -p 0:9 -o "$t/short.h5"
    "$bin/geodec-cloud" -q -o "$t/short-cloud.h5" "$t/short.h5"
    "$bin/geodec-metric" -q --dim 3 -o "$t/short-metric.h5" "$t/short-cloud.h5"
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" --along none -o "$t/r.h5" "$states" "$t/short-metric.h5"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"of the activations"* ]]
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" --along none -o "$t/r.h5" "$states"
    [ "$status" -eq 2 ]
}

@test "without a model: only the metric of the states" {
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" --along tokens -l 2,4 -o "$BATS_TEST_TMPDIR/c.h5" "$states"
    [ "$status" -eq 0 ]
    [ "$("$bin/geodec-table" "$BATS_TEST_TMPDIR/c.h5" layer starts | tail -n 1)" = "$(printf '4\t6')" ]
}

@test "a missing layer, another model and an existing file are refused on one line" {
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" -l 3 -o "$BATS_TEST_TMPDIR/d.h5" "$states"
    [ "$status" -ne 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    "$B/tests/bad/make_bad_gguf" "$BATS_TEST_TMPDIR"
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" -m "$BATS_TEST_TMPDIR/good.gguf" -o "$BATS_TEST_TMPDIR/d.h5" "$states"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"is not the model the states are from"* ]]
    touch "$BATS_TEST_TMPDIR/d.h5"
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" -o "$BATS_TEST_TMPDIR/d.h5" "$states"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"--force"* ]]
}

@test "geodesics of the set: a world that moves along them, once for each layer; none with --set-dim -1" {
    t=$BATS_TEST_TMPDIR
    "$bin/geodec-worlds" -q --set torus --points 1200 --noise 0.001 --sampling geodesic --step 0.2 --text-length 8 -o "$t/w.h5" --truth "$t/truth.h5"
    run --separate-stderr "$bin/geodec-geodesicity" --along tokens -l all -n 2 --points 60 --starts 20 --ahead 2 -o "$t/g.h5" "$t/w.h5"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"set of dimension 2 in 3 coordinates"* ]]
    [[ "$stderr" == *"geodesics planted on the set with its residuals"* ]]
    "$bin/geodec-check" "$t/g.h5"
    [ "$("$bin/geodec-table" --no-header "$t/g.h5" set_dim set_coordinates)" = "$(printf '2\t3')" ]
    [[ "$("$bin/geodec-table" --attrs "$t/g.h5")" == *"stay,line,linear_xv,set,set_shuffled,set_gaussian,set_fitted"* ]]
    # the lower end of the gain is above half of the line's error
    "$bin/geodec-table" --no-header "$t/g.h5" "SELECT at(set_gain, 0, 1), at(set_error, 1, 0, 0) FROM t" | awk '{ok = $1 > 0.5 * $2 && $2 > 0} END {exit !ok}'
    run --separate-stderr "$bin/geodec-geodesicity" -q --along tokens -l all -n 2 --points 60 --starts 20 --ahead 2 --set-dim -1 -o "$t/none.h5" "$t/w.h5"
    [ "$status" -eq 0 ]
    [ "$("$bin/geodec-table" --no-header "$t/none.h5" set_points)" = 0 ]
    # the fields of the metric are the same with and without
    for field in error difference broken planted_error; do
        diff <("$bin/geodec-table" "$t/g.h5" $field) <("$bin/geodec-table" "$t/none.h5" $field)
    done
}

# bats test_tags=full
@test "power: at least 80 % of the correctable error of a world of S^5, and no gain without geodesic steps" {
    t=$BATS_TEST_TMPDIR
    for share in 1 0; do
        "$bin/geodec-worlds" -q --set sphere --dim 5 --ambient 16 --points 3000 --noise 0.001 --sampling geodesic --step 0.3 --share $share \
            --text-length 10 -o "$t/w$share.h5" --truth "$t/truth$share.h5"
        "$bin/geodec-geodesicity" -q --along tokens -l all -n 5 --starts 200 --ahead 2 -o "$t/g$share.h5" "$t/w$share.h5"
    done
    # the true geodesic leaves the noise of the next state, in 6 coordinates: 0.001 sqrt(6) / step
    "$bin/geodec-table" --no-header "$t/g1.h5" "SELECT at(set_error, 1, 0, 0), at(set_error, 3, 0, 0), set_step, at(set_gain, 0, 1), at(set_recovered, 0, 0) FROM t" |
        awk '{truth = 0.001 * sqrt(6) / $3; print ($1 - $2) / ($1 - truth); ok = ($1 - $2) / ($1 - truth) >= 0.8 && $4 > 0 && $5 > 0.8} END {exit !ok}'
    "$bin/geodec-table" --no-header "$t/g0.h5" "SELECT at(set_gain, 0, 1), at(set_difference, 6, 0, 2) FROM t" | awk '{ok = $1 < 0 && $2 > 0} END {exit !ok}'
}
