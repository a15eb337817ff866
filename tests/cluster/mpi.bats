#!/usr/bin/env bats
# Ranks of MPI: the bytes of one process for 1 to 4 ranks; a killed rank, its name, and the continuation. make check-mpi.

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    export dir=$BATS_FILE_TMPDIR bin=${B:-build/release}/bin model=data/model/geodec-stories-q8_0.gguf
    if ! command -v mpirun > /dev/null || [ ! -e "${B:-build/release}/lib/libgeodec-mpi.so" ]; then
        export NO_MPI=1
        return
    fi
    "$bin/geodec-corpus" --quiet --bytes 60000 -o "$dir/text.txt"
    "$bin/geodec-export" --quiet -m "$model" --text "$dir/text.txt" -o "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --twonn-points 1000 -o "$dir/cloud.h5" "$dir/a.h5"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    [ -z "$NO_MPI" ] || skip "Open MPI is missing (packages of the purpose 'cluster' in packages.txt)"
}

# ranks N TOOL ARGUMENTS...
ranks() {
    local n=$1 tool=$2
    shift 2
    mpirun --allow-run-as-root --oversubscribe -n "$n" "$bin/geodec-$tool" --mpi "$@"
}

# same REFERENCE TOOL ARGUMENTS...: on 1 to 4 ranks
same() {
    local reference=$1 n
    for n in 1 2 3 4; do
        ranks "$n" "$2" --quiet --force -o "$dir/ranks.h5" "${@:3}"
        cmp "$reference" "$dir/ranks.h5"
        [ ! -e "$dir/ranks.h5.parts" ]
    done
}

@test "knn: points among themselves, compact slabs" {
    "$bin/geodec-knn" --quiet --dim 6 -o "$dir/knn.h5" "$dir/cloud.h5"
    same "$dir/knn.h5" knn --dim 6 "$dir/cloud.h5"
}

@test "knn: queries of another file, many dimensions, several slabs of a rank" {
    "$bin/geodec-knn" --quiet -k 3 -o "$dir/knn2.h5" "$dir/a.h5" "$dir/a.h5"
    same "$dir/knn2.h5" knn -k 3 --slabs 10 "$dir/a.h5" "$dir/a.h5"
}

@test "metric, with its Gaussian control" {
    "$bin/geodec-metric" --quiet --dim 5 -o "$dir/metric.h5" "$dir/cloud.h5"
    same "$dir/metric.h5" metric --dim 5 "$dir/cloud.h5"
    "$bin/geodec-metric" --quiet --dim 5 --precision f32 -o "$dir/metric32.h5" "$dir/cloud.h5"
    same "$dir/metric32.h5" metric --dim 5 --precision f32 "$dir/cloud.h5"
}

@test "cloud by the covariance" {
    same "$dir/cloud.h5" cloud --twonn-points 1000 "$dir/a.h5"
}

@test "cloud by sketches, and of few points" {
    "$bin/geodec-cloud" --quiet --pca randomized --variance 0.5 --twonn-points 1000 -o "$dir/sketch.h5" "$dir/a.h5"
    same "$dir/sketch.h5" cloud --pca randomized --variance 0.5 --twonn-points 1000 "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --max-points 100 -o "$dir/few.h5" "$dir/a.h5"
    same "$dir/few.h5" cloud --max-points 100 "$dir/a.h5"
}

@test "export by texts" {
    same "$dir/a.h5" export -m "$model" --text "$dir/text.txt"
}

@test "export to safetensors: the same files" {
    # shards of the same size: the folder's bytes depend on it
    ranks 3 export --quiet -m "$model" --text "$dir/text.txt" --shard-tokens 512 --format safetensors -o "$dir/states3"
    "$bin/geodec-export" --quiet -m "$model" --text "$dir/text.txt" --shard-tokens 512 --format safetensors -o "$dir/states"
    diff -r "$dir/states" "$dir/states3"
}

@test "an error of all ranks is printed once" {
    run ranks 3 knn -k 8 -o "$dir/x.h5" "$dir/missing.h5"
    [ "$status" -ne 0 ]
    [ "$(grep -c 'geodec-knn: .*missing.h5' <<<"$output")" -eq 1 ]
    run ranks 3 metric --dim 5 --k 3 -o "$dir/x.h5" "$dir/cloud.h5"
    [ "$status" -ne 0 ]
    [ "$(grep -c 'cannot span 5 dimensions' <<<"$output")" -eq 1 ]
}

@test "a killed rank ends the job with its rank and host; the same command resumes from finished slabs" {
    "$bin/geodec-knn" --quiet -o "$dir/all.h5" "$dir/cloud.h5"
    ranks 3 knn --slabs 300 -o "$dir/cut.h5" "$dir/cloud.h5" > "$dir/cut.log" 2>&1 &
    job=$!
    for _ in $(seq 2000); do
        [ -n "$(find "$dir/cut.h5.parts" -name 'slab-00???' 2>/dev/null | head -n 1)" ] && break
        sleep 0.01
    done
    victim=$(pgrep -f "geodec-knn --mpi --slabs 300 -o $dir/cut.h5" | while read -r p; do
        tr '\0' '\n' < "/proc/$p/environ" 2>/dev/null | grep -qx OMPI_COMM_WORLD_RANK=1 && echo "$p"
    done | head -n 1)
    [ -n "$victim" ]
    kill -KILL "$victim"
    ! wait $job
    cat "$dir/cut.log"
    grep -q "rank 1 .*on node $(hostname)" "$dir/cut.log"
    grep -q "signal 9" "$dir/cut.log"
    [ ! -e "$dir/cut.h5" ]
    [ -d "$dir/cut.h5.parts" ]
    run ranks 3 knn --slabs 300 -o "$dir/cut.h5" "$dir/cloud.h5"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" =~ slab\ [0-9]+\ was\ not\ finished\ by\ rank\ 1\ of\ 3\ on\ $(hostname) ]]
    [[ "$output" =~ [1-9][0-9]*\ of\ 300\ slabs\ were\ there ]]
    cmp "$dir/all.h5" "$dir/cut.h5"
    [ ! -e "$dir/cut.h5.parts" ]
}
