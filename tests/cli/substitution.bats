#!/usr/bin/env bats
# geodec-substitution: both modes, the same bytes with any number of threads, refusals.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    "$bin/geodec-corpus" -q --stories 12 --seed 5 -o "$BATS_FILE_TMPDIR/text.txt"
    "$bin/geodec-export" -q -m data/model/geodec-stories-f16.gguf --text "$BATS_FILE_TMPDIR/text.txt" -p 0:40 -o "$BATS_FILE_TMPDIR/states.h5"
}

setup() {
    model=data/model/geodec-stories-f16.gguf
    states=$BATS_FILE_TMPDIR/states.h5
}

@test "next states from records; the same bytes with any number of threads; times only on request" {
    for t in 1 3; do
        run --separate-stderr "$bin/geodec-substitution" -m "$model" -n 4 -r 80 --queries 20 -t $t -o "$BATS_TEST_TMPDIR/$t.h5" "$states"
        echo "$stderr"
        [ "$status" -eq 0 ]
        [ -z "$output" ]
    done
    cmp "$BATS_TEST_TMPDIR/1.h5" "$BATS_TEST_TMPDIR/3.h5"
    [ "$("$bin/geodec-value" "$BATS_TEST_TMPDIR/1.h5#full_us" | tail -n 1 | cut -f 2)" = 0 ]
    run --separate-stderr "$bin/geodec-substitution" -m "$model" -n 4 -r 80 --queries 20 --kind fisher --time -o "$BATS_TEST_TMPDIR/t.h5" "$states"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"a lookup"* ]]
}

@test "the published counts follow from the random numbers of a golden file" {
    golden=$(ls "$(golden_folder)"/*_n8.h5 | head -n 1)
    run --separate-stderr "$bin/geodec-published" substitution --draws "$golden" -o "$BATS_TEST_TMPDIR/r.h5"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"within 0.4 0.0 %"* ]]
    run "$bin/geodec-check" "$BATS_TEST_TMPDIR/r.h5"
    [ "$status" -eq 0 ]
}

@test "missing inputs are refused on one line" {
    run --separate-stderr "$bin/geodec-substitution" -o "$BATS_TEST_TMPDIR/x.h5" "$states"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"--model is required"* ]]
    run --separate-stderr "$bin/geodec-published" substitution -o "$BATS_TEST_TMPDIR/x.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"substitution needs --draws"* ]]
}
