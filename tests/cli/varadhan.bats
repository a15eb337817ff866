#!/usr/bin/env bats
# geodec-varadhan: cases, controls, the same bytes with any number of threads, METRIC.h5, refusals.

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
    small=(-m "$model" -n 3 --points 40 --queries 6 --planted 3)
}

@test "metrics, layers and keys in order; the same bytes with any number of threads; a planted heat kernel is detected" {
    t=$BATS_TEST_TMPDIR
    run --separate-stderr "$bin/geodec-varadhan" "${small[@]}" -l 2,4 -t 1 -o "$t/a.h5" "$states"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$("$bin/geodec-table" --attrs "$t/a.h5")" == *"mahalanobis:2:any,mahalanobis:2:near,fisher:2:any,fisher:2:near,blend:2:any,blend:2:near,mahalanobis:4:any"* ]]
    run --separate-stderr "$bin/geodec-varadhan" -q "${small[@]}" -l 2,4 -t 3 -o "$t/b.h5" "$states"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    cmp "$t/a.h5" "$t/b.h5"
    run "$bin/geodec-check" "$t/a.h5"
    [ "$status" -eq 0 ]
    "$bin/geodec-table" "$t/a.h5" planted planted_cosine | awk -F'\t' 'NR > 1 && $1 > 0 {n++; if (!($2 > 0.99)) bad = 1} END {exit bad || n < 6}'
    # cosines are at most 1, and in the whole stream they do not depend on the metric
    "$bin/geodec-table" "$t/a.h5" cosine | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "cosine_0_2_3_0") c = i; next}
        {for (i = 1; i <= NF; i++) if ($i > 1.000001 || $i < -1.000001) bad = 1} NR == 2 {x = $c} NR == 4 && $c != x {bad = 1} END {exit bad || !c}'
}

@test "a METRIC.h5 alone; its layer must have a block after it" {
    t=$BATS_TEST_TMPDIR
    for layer in 4 last; do
        "$bin/geodec-cloud" -q --layer $layer --max-points 200 -o "$t/$layer-cloud.h5" "$states"
        "$bin/geodec-metric" -q --dim 3 --kind euclidean -o "$t/$layer.h5" "$t/$layer-cloud.h5"
    done
    run --separate-stderr "$bin/geodec-varadhan" "${small[@]}" -l none -o "$t/m.h5" "$states" "$t/4.h5"
    [ "$status" -eq 0 ]
    # for the identity metric the logarithm map is the chord: log, chord and Euclidean chord agree
    "$bin/geodec-table" "$t/m.h5" cosine | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
        {d = $at["cosine_0_2_0_0"] - $at["cosine_0_2_2_0"]; e = $at["cosine_0_2_0_0"] - $at["cosine_0_2_1_0"]; if (d * d > 1e-20 || e * e > 1e-20) bad = 1} END {exit bad}'
    run --separate-stderr "$bin/geodec-varadhan" "${small[@]}" -l none -o "$t/n.h5" "$states" "$t/last.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"no block attends after the last"* ]]
}

@test "no model, another model and a missing layer are refused on one line" {
    t=$BATS_TEST_TMPDIR
    run --separate-stderr "$bin/geodec-varadhan" -o "$t/d.h5" "$states"
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"--model"* ]]
    run --separate-stderr "$bin/geodec-varadhan" "${small[@]}" -l 3 -o "$t/d.h5" "$states"
    [ "$status" -ne 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run --separate-stderr "$bin/geodec-varadhan" "${small[@]}" -l last -o "$t/d.h5" "$states"
    [ "$status" -ne 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
}
