#!/usr/bin/env bats
# geodec-metric --kind fisher|blend and geodec-divergence.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$bin/geodec-corpus" -q --stories 12 --seed 5 -o "$BATS_FILE_TMPDIR/text.txt"
    for layer in 3 last; do
        "$bin/geodec-export" -q -m data/model/geodec-stories-f16.gguf --text "$BATS_FILE_TMPDIR/text.txt" --layers "$layer" -p 0:24 \
            -o "$BATS_FILE_TMPDIR/states-$layer.h5"
        "$bin/geodec-cloud" -q --max-points 120 -o "$BATS_FILE_TMPDIR/cloud-$layer.h5" "$BATS_FILE_TMPDIR/states-$layer.h5"
    done
}

setup() {
    model=data/model/geodec-stories-f16.gguf
    here=$BATS_FILE_TMPDIR
}

@test "the Fisher metric predicts divergences within the chart, at the last layer and before; the same bytes with any number of threads" {
    for layer in 3 last; do
        for t in 1 3; do
            run --separate-stderr "$bin/geodec-metric" -q -n 3 -t $t --kind fisher -m "$model" --activations "$here/states-$layer.h5" \
                -o "$BATS_TEST_TMPDIR/fisher-$t.h5" "$here/cloud-$layer.h5"
            echo "$stderr"
            [ "$status" -eq 0 ]
        done
        cmp "$BATS_TEST_TMPDIR/fisher-1.h5" "$BATS_TEST_TMPDIR/fisher-3.h5"
        run "$bin/geodec-table" --attrs "$BATS_TEST_TMPDIR/fisher-1.h5"
        [[ "$output" == *"metric_kind	fisher"* && "$output" == *"fisher_scale"* ]]
        "$bin/geodec-metric" -q -n 3 -o "$BATS_TEST_TMPDIR/metric.h5" "$here/cloud-$layer.h5"
        run --separate-stderr "$bin/geodec-divergence" -p 60 -m "$model" -a "$here/states-$layer.h5" -o "$BATS_TEST_TMPDIR/d-$layer.h5" \
            "$BATS_TEST_TMPDIR/metric.h5" "$BATS_TEST_TMPDIR/fisher-1.h5"
        echo "$stderr"
        [ "$status" -eq 0 ]
        [ -z "$output" ]
        "$bin/geodec-table" "$BATS_TEST_TMPDIR/d-$layer.h5" rank | awk -F'\t' 'NR == 2 { exit !($1 > 0.8) }'
        rm "$BATS_TEST_TMPDIR"/*.h5
    done
}

@test "a blend is between the two metrics, and later stages accept it" {
    "$bin/geodec-metric" -q -n 3 --kind blend --blend 0 -m "$model" --activations "$here/states-last.h5" -o "$BATS_TEST_TMPDIR/b.h5" \
        "$here/cloud-last.h5"
    "$bin/geodec-metric" -q -n 3 -o "$BATS_TEST_TMPDIR/m.h5" "$here/cloud-last.h5"
    for f in b m; do "$bin/geodec-table" "$BATS_TEST_TMPDIR/$f.h5" condition > "$BATS_TEST_TMPDIR/$f.tsv"; done
    paste "$BATS_TEST_TMPDIR"/[bm].tsv | awk 'NR > 1 { d = $1 / $2 - 1; if (d < -1e-6 || d > 1e-6) bad = 1 } END { exit bad }'
    run "$bin/geodec-christoffel" -q -o "$BATS_TEST_TMPDIR/c.h5" "$BATS_TEST_TMPDIR/b.h5"
    [ "$status" -eq 0 ]
}

@test "a missing model, states of another model, and metrics of two charts are refused on one line" {
    run --separate-stderr "$bin/geodec-metric" --kind fisher -o "$BATS_TEST_TMPDIR/x.h5" "$here/cloud-last.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"needs --model and --activations"* ]]
    run --separate-stderr "$bin/geodec-metric" -q --kind fisher -m "$model" --activations "$here/states-3.h5" -o "$BATS_TEST_TMPDIR/x.h5" \
        "$here/cloud-last.h5"
    [ "$status" -ne 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    "$bin/geodec-metric" -q -n 3 -o "$BATS_TEST_TMPDIR/a.h5" "$here/cloud-last.h5"
    "$bin/geodec-metric" -q -n 4 -o "$BATS_TEST_TMPDIR/b.h5" "$here/cloud-last.h5"
    run --separate-stderr "$bin/geodec-divergence" -m "$model" -a "$here/states-last.h5" -o "$BATS_TEST_TMPDIR/d.h5" "$BATS_TEST_TMPDIR/a.h5" \
        "$BATS_TEST_TMPDIR/b.h5"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"is of another chart"* ]]
}
