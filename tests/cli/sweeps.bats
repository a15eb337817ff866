#!/usr/bin/env bats
# geodec-library on made-up states: the same bytes with any number of threads, controls, refusals.

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    export dir=$BATS_FILE_TMPDIR bin=${B:-build/release}/bin
    "${B:-build/release}/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --max-points 400 -o "$dir/cloud.h5" "$dir/a.h5"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
}

@test "library: streams beside their nulls; hits are judged by the next state" {
    "$bin/geodec-library" --quiet --threads 1 -a "$dir/a.h5" -o "$dir/library.h5" "$dir/cloud.h5"
    "$bin/geodec-library" --quiet --threads 3 -a "$dir/a.h5" -o "$dir/three.h5" "$dir/cloud.h5"
    cmp "$dir/library.h5" "$dir/three.h5"
    "$bin/geodec-check" "$dir/library.h5"
    # hits and stored are one number
    "$bin/geodec-table" "$dir/library.h5" stored hit | awk -F'\t' \
        'NR > 1 {for (i = 1; i <= NF / 2; i++) {d = $i / 400 + $(i + NF / 2) - 1; if (d > 1e-9 || d < -1e-9) exit 1}}'
    "$bin/geodec-library" --quiet -o "$dir/alone.h5" "$dir/cloud.h5"
    run "$bin/geodec-table" "$dir/alone.h5" quality
    [ "$status" -ne 0 ]
}

@test "library: states of another run and bad options are refused" {
    for bad in "--target 0" "--target 1" "--dim -1"; do
        # shellcheck disable=SC2086
        run "$bin/geodec-library" $bad -o "$dir/no.h5" "$dir/cloud.h5"
        [ "$status" -eq 2 ] || { echo "$bad: $status"; false; }
    done
    run --separate-stderr "$bin/geodec-library" --dim 100 -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-library" -a "$dir/cloud.h5" -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 3 ]
    [ ! -e "$dir/no.h5" ]
}
