#!/usr/bin/env bats
# geodec-library, geodec-density and coverage by the task on synthetic states: the same bytes with any number of threads, controls, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --max-points 400 -o "$dir/cloud.h5" "$dir/a.h5"
}

@test "library: streams with their nulls; hits are measured by the next state" {
    "$bin/geodec-library" --quiet --threads 1 -a "$dir/a.h5" -o "$dir/library.h5" "$dir/cloud.h5"
    "$bin/geodec-library" --quiet --threads 3 -a "$dir/a.h5" -o "$dir/three.h5" "$dir/cloud.h5"
    cmp "$dir/library.h5" "$dir/three.h5"
    "$bin/geodec-check" "$dir/library.h5"
    # hits and stored states are complements
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

@test "density: held-out texts and a library; the same bytes on three threads" {
    "$bin/geodec-density" --quiet --threads 1 --nulls 3 -o "$dir/density.h5" "$dir/cloud.h5"
    "$bin/geodec-density" --quiet --threads 3 --nulls 3 -o "$dir/density3.h5" "$dir/cloud.h5"
    cmp "$dir/density.h5" "$dir/density3.h5"
    "$bin/geodec-check" "$dir/density.h5"
    "$bin/geodec-table" --attrs "$dir/density.h5" | awk -F'\t' '{v[$1] = $2} END {exit !(v["online_points"] + v["offline_points"] == 400 && \
        v["ratio_low"] <= v["ratio"] && v["ratio"] <= v["ratio_high"] && v["enrichment_low"] <= v["enrichment"])}'
}

@test "density: the published distances of a telemetry file; damaged files and invalid calls are refused" {
    printf '# live\tlayer=-1\tdim=2\tevery=2\n0\tm\t1\t1\t0\n1\tm\t1\t0\t1\n2\tm\t1\t1\t1\n' > "$dir/live.tsv"
    "$bin/geodec-published" --quiet density --telemetry "$dir/live.tsv" --metric l2 --radius 0.5 -o "$dir/density-ref.h5"
    [ "$("$bin/geodec-table" --attrs "$dir/density-ref.h5" | awk -F'\t' '$1 == "nearest_p50" || $1 == "enrichment" {printf "%s ", $2}')" = "1 4 " ]
    head -c 100000 "$bin/geodec-density" > "$dir/noise.tsv"
    printf '#\tdim=3\n0\tm\t1\t1\t0\n' > "$dir/narrow.tsv"
    for bad in noise narrow none; do
        run --separate-stderr "$bin/geodec-published" density --telemetry "$dir/$bad.tsv" -o "$dir/no.h5"
        [ "$status" -eq 1 ] || [ "$status" -eq 3 ] || { echo "$bad: $status"; false; }
    done
    for call in density "density --telemetry $dir/live.tsv" published "published density" "published --telemetry $dir/live.tsv" \
        "published density --draws $dir/live.tsv" "published density --telemetry $dir/live.tsv $dir/cloud.h5"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin"/geodec-$call -o "$dir/no.h5"
        [ "$status" -eq 2 ] || { echo "$call: $status"; false; }
    done
    [ ! -e "$dir/no.h5" ]
}

@test "coverage by the task: needs the states; the same bytes on three threads" {
    for t in 1 3; do
        "$bin/geodec-coverage" --quiet --threads $t --dim 3 --repeats 2 --queries 60 --nulls 2 --threshold task -a "$dir/a.h5" \
            -o "$dir/task$t.h5" "$dir/cloud.h5"
    done
    cmp "$dir/task1.h5" "$dir/task3.h5"
    "$bin/geodec-check" "$dir/task1.h5"
    "$bin/geodec-table" "$dir/task1.h5" task/error | awk 'NR > 1 {for (i = 1; i <= NF; i++) if (!($i > 0)) exit 1}'
    for call in "--threshold task" "-a $dir/a.h5" "--shares 0.5,x" "--shares 0.5,0.2" "--shares 1.5"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin/geodec-coverage" $call -o "$dir/no.h5" "$dir/cloud.h5"
        [ "$status" -eq 2 ] || { echo "$call: $status"; false; }
    done
    [ ! -e "$dir/no.h5" ]
}

@test "consistency between two halves of the texts, with controls; the same bytes on three threads; refusals" {
    "$bin/geodec-consistency" --quiet --threads 1 -o "$dir/consistency.h5" "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-consistency" --quiet --threads 3 -o "$dir/consistency3.h5" "$dir/cloud.h5" "$dir/a.h5"
    cmp "$dir/consistency.h5" "$dir/consistency3.h5"
    "$bin/geodec-check" "$dir/consistency.h5"
    # the score follows from the columns of each state, and a wider tolerance accepts no fewer states
    "$bin/geodec-table" "$dir/consistency.h5" score > "$dir/score.tsv"
    [ "$(sed -n 1p "$dir/score.tsv" | tr '\t' '\n' | wc -l)" -eq 3 ]
    [ "$(wc -l < "$dir/score.tsv")" -eq 5 ]
    "$bin/geodec-consistency" --quiet --tau 0.9 -o "$dir/wide.h5" "$dir/cloud.h5" "$dir/a.h5"
    [ "$(awk -v a="$("$bin/geodec-value" "$dir/wide.h5#consistency" | sed -n 2p | cut -f 2)" \
        -v b="$("$bin/geodec-value" "$dir/consistency.h5#consistency" | sed -n 2p | cut -f 2)" 'BEGIN {print (a > b)}')" -eq 1 ]
    run --separate-stderr "$bin/geodec-consistency" --dim 60 -o "$dir/no.h5" "$dir/cloud.h5" "$dir/a.h5"
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-consistency" -o "$dir/no.h5" "$dir/a.h5" "$dir/cloud.h5"
    [ "$status" -eq 3 ]
    [ ! -e "$dir/no.h5" ]
}
