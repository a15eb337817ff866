#!/usr/bin/env bats
# geodec-knn: exact neighbours, the same bytes for any division, parts to resume from.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-knn" --quiet -k 5 -o "$dir/whole.h5" "$dir/cloud.h5"
}

@test "any number of slabs and threads, and any memory, gives the same bytes" {
    for slabs in 2 7 50; do
        "$bin/geodec-knn" --quiet -k 5 --slabs $slabs --threads $((slabs % 3 + 1)) -o "$dir/slabs.h5" --force "$dir/cloud.h5"
        cmp "$dir/whole.h5" "$dir/slabs.h5"
        [ ! -e "$dir/slabs.h5.parts" ]
    done
    "$bin/geodec-knn" --quiet -k 5 --memory 1 -o "$dir/slabs.h5" --force "$dir/cloud.h5"
    cmp "$dir/whole.h5" "$dir/slabs.h5"
}

@test "the summary names the control, and the artifact has it" {
    run --separate-stderr "$bin/geodec-knn" -k 3 --dim 2 --check 40 -o "$dir/few.h5" "$dir/cloud.h5"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$stderr" == *"2 coordinates, k 3: mean distance"*"0 of 40 rows differ from a search by the definition"* ]]
    "$bin/geodec-check" "$dir/few.h5"
    run "$bin/geodec-info" "$dir/few.h5"
    [[ "$output" == *"checked "*"= 40"* && "$output" == *"differ "*"= 0"* && "$output" == *"queries "*"= points"* ]]
}

@test "the neighbours of a metric are those of the search" {
    "$bin/geodec-metric" --quiet --dim 3 --k 9 -o "$dir/metric.h5" "$dir/cloud.h5"
    "$bin/geodec-knn" --quiet --dim 3 -k 9 --slabs 4 -o "$dir/near.h5" "$dir/cloud.h5"
    "$bin/geodec-table" "$dir/metric.h5" /knn_index | tail -n +2 > "$dir/metric.tsv"
    "$bin/geodec-table" "$dir/near.h5" /index | tail -n +2 > "$dir/near.tsv"
    cmp "$dir/metric.tsv" "$dir/near.tsv"
}

@test "queries of another file: activations among themselves find each row first" {
    "$bin/geodec-knn" --quiet -k 1 -o "$dir/own.h5" "$dir/a.h5" "$dir/a.h5"
    run "$bin/geodec-info" "$dir/own.h5"
    [[ "$output" == *"queries "*"= file"* && "$output" == *"mean_nearest "*"= 0"* ]]
    "$bin/geodec-knn" --quiet -k 2 --slabs 5 -o "$dir/own2.h5" "$dir/a.h5" "$dir/a.h5"
    "$bin/geodec-knn" --quiet -k 2 -o "$dir/own3.h5" "$dir/a.h5" "$dir/a.h5"
    cmp "$dir/own2.h5" "$dir/own3.h5"
}

@test "a killed run leaves its finished slabs, and the same command continues" {
    "$bin/geodec-knn" --quiet -k 5 --slabs 200 -o "$dir/cut.h5" "$dir/cloud.h5" &
    pid=$!
    for _ in $(seq 500); do
        [ -e "$dir/cut.h5.parts/slab-00003" ] && break
        sleep 0.01
    done
    kill -KILL $pid 2>/dev/null || skip "the run was over before it could be killed"
    wait $pid || true
    [ ! -e "$dir/cut.h5" ] || skip "the run was over before it could be killed"
    run "$bin/geodec-knn" -k 5 --slabs 200 -o "$dir/cut.h5" "$dir/cloud.h5"
    [ "$status" -eq 0 ]
    [[ "$output" =~ [0-9]+\ of\ 200\ slabs\ were\ there ]]
    cmp "$dir/whole.h5" "$dir/cut.h5"
    [ ! -e "$dir/cut.h5.parts" ]
}

@test "parts of another search are refused, and replaced with --force" {
    mkdir "$dir/other.h5.parts"
    # an empty part of another key
    { printf 'geodec neighbours part 1\nkey other slabs 9 9\nslab 0 rows 0 k 5\nsha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n'; } > "$dir/other.h5.parts/slab-00000"
    truncate -s 512 "$dir/other.h5.parts/slab-00000"
    run "$bin/geodec-knn" -k 5 --slabs 9 -o "$dir/other.h5" "$dir/cloud.h5"
    [ "$status" -eq 3 ]
    [[ "$output" == *"slab-00000 is of other points or options; --force replaces it" ]]
    "$bin/geodec-knn" --quiet -k 5 --slabs 9 --force -o "$dir/other.h5" "$dir/cloud.h5"
    cmp "$dir/whole.h5" "$dir/other.h5"
}

@test "bad requests are one line each" {
    run "$bin/geodec-knn" -k 100000 -o "$dir/x.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    run "$bin/geodec-knn" --dim 5000 -o "$dir/x.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    run "$bin/geodec-knn" -o "$dir/x.h5" "$dir/metric.h5"
    [ "$status" -eq 3 ]
    [[ "$output" == *"takes clouds and activations" ]]
    run "$bin/geodec-knn" -o "$dir/x.h5" "$dir/a.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
    [[ "$output" == *"queries of dimension"* ]]
    [ ! -e "$dir/x.h5" ]
}

@test "--mpi without the driver is one line and a status" {
    GEODEC_MPI=$dir/none.so run "$bin/geodec-knn" --mpi -o "$dir/x.h5" "$dir/cloud.h5"
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == "geodec-knn: --mpi: $dir/none.so is missing: this build has no MPI"* ]]
}
