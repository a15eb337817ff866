#!/usr/bin/env bats
# geodec-geodesicity: cases and controls, the same bytes with any number of threads, refusals.

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=${B:-build/release}/bin
    "$bin/geodec-corpus" -q --stories 24 --seed 5 -o "$BATS_FILE_TMPDIR/text.txt"
    "$bin/geodec-export" -q -m data/model/geodec-stories-f16.gguf --text "$BATS_FILE_TMPDIR/text.txt" --layers 2,4,last -p 0:24 \
        -o "$BATS_FILE_TMPDIR/layers.h5"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=${B:-build/release}/bin
    model=data/model/geodec-stories-f16.gguf
    states=$BATS_FILE_TMPDIR/layers.h5
    small=(-n 4 --points 60 --starts 6 --ahead 2)
}

@test "a case a metric and layer, stated in the artifact; the same bytes with any number of threads" {
    run --separate-stderr "$bin/geodec-geodesicity" -m "$model" "${small[@]}" -t 1 -o "$BATS_TEST_TMPDIR/a.h5" "$states"
    echo "$stderr"
    [ "$status" -eq 0 ] && [ -z "$output" ]
    [[ "$("$bin/geodec-table" --attrs "$BATS_TEST_TMPDIR/a.h5")" == *"tokens:mahalanobis:6,tokens:fisher:6,tokens:blend:6,layers:mahalanobis:4,layers:fisher:4,layers:blend:4"* ]]
    run --separate-stderr "$bin/geodec-geodesicity" -q -m "$model" "${small[@]}" -t 3 -o "$BATS_TEST_TMPDIR/b.h5" "$states"
    [ "$status" -eq 0 ] && [ -z "$stderr" ]
    cmp "$BATS_TEST_TMPDIR/a.h5" "$BATS_TEST_TMPDIR/b.h5"
    run "$bin/geodec-check" "$BATS_TEST_TMPDIR/a.h5"
    [ "$status" -eq 0 ]
}

@test "without a model: the metric of the states alone" {
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" --along tokens -l 2,4 -o "$BATS_TEST_TMPDIR/c.h5" "$states"
    [ "$status" -eq 0 ]
    [ "$("$bin/geodec-table" "$BATS_TEST_TMPDIR/c.h5" layer starts | tail -n 1)" = "$(printf '4\t6')" ]
}

@test "a layer that is not there, another model, a file that is there already: refused on one line" {
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" -l 3 -o "$BATS_TEST_TMPDIR/d.h5" "$states"
    [ "$status" -ne 0 ] && [ "${#stderr_lines[@]}" -eq 1 ]
    "${B:-build/release}/tests/bad/make_bad_gguf" "$BATS_TEST_TMPDIR"
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" -m "$BATS_TEST_TMPDIR/good.gguf" -o "$BATS_TEST_TMPDIR/d.h5" "$states"
    [ "$status" -eq 3 ] && [[ "$stderr" == *"is not the model the states are from"* ]]
    touch "$BATS_TEST_TMPDIR/d.h5"
    run --separate-stderr "$bin/geodec-geodesicity" "${small[@]}" -o "$BATS_TEST_TMPDIR/d.h5" "$states"
    [ "$status" -ne 0 ] && [[ "$stderr" == *"--force"* ]]
}
