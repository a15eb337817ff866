#!/usr/bin/env bats
# geodec-velocity: surrogates, the leak test, the same bytes with any number of threads, METRIC.h5, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$bin/geodec-corpus" -q --stories 24 --seed 5 -o "$BATS_FILE_TMPDIR/text.txt"
    "$bin/geodec-export" -q -m data/model/geodec-stories-f16.gguf --text "$BATS_FILE_TMPDIR/text.txt" --layers all -p 0:24 \
        -o "$BATS_FILE_TMPDIR/layers.h5"
}

setup() {
    model=data/model/geodec-stories-f16.gguf
    states=$BATS_FILE_TMPDIR/layers.h5
    small=(-n 4 --points 60 --starts 30)
}

@test "only surrogates that use the future leak; the model's own token predicts more than the last step; the same bytes with any number of threads" {
    t=$BATS_TEST_TMPDIR
    run --separate-stderr "$bin/geodec-velocity" "${small[@]}" -m "$model" -t 1 -o "$t/a.h5" "$states"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$("$bin/geodec-table" --attrs "$t/a.h5")" == *"mean,centre,previous,"*",next_token,target"* ]]
    # surrogates 0 .. 12 do not use the future, 13 and 14 do
    "$bin/geodec-table" "$t/a.h5" leak cosine | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
        {for (s = 0; s < 13; s++) if ($at["leak_" s "_0"] != 0 || $at["leak_" s "_2"] != 0) bad = 1
         if (!($at["leak_14_1"] > 0.1) || !($at["cosine_14_0_0"] > 0.999999)) bad = 1
         if (!($at["cosine_10_0_0"] > $at["cosine_2_0_0"] + 0.3)) bad = 1} END {exit bad || NR != 2}'
    run --separate-stderr "$bin/geodec-velocity" -q "${small[@]}" -m "$model" -t 3 -o "$t/b.h5" "$states"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    cmp "$t/a.h5" "$t/b.h5"
    run "$bin/geodec-check" "$t/a.h5"
    [ "$status" -eq 0 ]
}

@test "without a model; layers without a previous one; a METRIC.h5 of a constant metric" {
    t=$BATS_TEST_TMPDIR
    "$bin/geodec-velocity" -q "${small[@]}" -l 0,3 -o "$t/c.h5" "$states"
    # layer_delta, embedding: layer 0 has no previous layer, and no model was given
    [ "$("$bin/geodec-table" "$t/c.h5" counted | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
        {printf "%d %d %d;", $at["counted_0_0"], $at["counted_6_0"], $at["counted_8_0"]}')" = "30 0 0;30 30 0;" ]
    "$bin/geodec-cloud" -q --layer 3 --max-points 200 -o "$t/cloud.h5" "$states"
    "$bin/geodec-metric" -q --dim 3 --kind euclidean -o "$t/flat.h5" "$t/cloud.h5"
    "$bin/geodec-velocity" -q "${small[@]}" -l none -o "$t/m.h5" "$states" "$t/flat.h5"
    # for the identity metric both cosines are one
    "$bin/geodec-table" "$t/m.h5" cosine | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
        {for (s = 0; s < 6; s++) {d = $at["cosine_" s "_0_0"] - $at["cosine_" s "_1_0"]; if (d * d > 1e-16) bad = 1}} END {exit bad || NR != 2}'
}

@test "a missing layer, Fisher without a model, and no metric are refused" {
    t=$BATS_TEST_TMPDIR
    run --separate-stderr "$bin/geodec-velocity" "${small[@]}" -l 9 -o "$t/d.h5" "$states"
    [ "$status" -eq 2 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run --separate-stderr "$bin/geodec-velocity" "${small[@]}" --fisher -o "$t/d.h5" "$states"
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-velocity" "${small[@]}" -l none -o "$t/d.h5" "$states"
    [ "$status" -eq 2 ]
}
