#!/usr/bin/env bats
# Ranks of MPI: the bytes of one process for 1 to 4 ranks; a killed rank, its name, and the continuation. make check-mpi.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export dir=$BATS_FILE_TMPDIR model=data/model/geodec-stories-q8_0.gguf
    if ! command -v mpirun > /dev/null || [ ! -e "$B/lib/libgeodec-mpi.so" ]; then
        export NO_MPI=1
        return
    fi
    "$bin/geodec-corpus" --quiet --bytes 60000 -o "$dir/text.txt"
    "$bin/geodec-export" --quiet -m "$model" --text "$dir/text.txt" -o "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --twonn-points 1000 -o "$dir/cloud.h5" "$dir/a.h5"
}

setup() {
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

# Bytes that rank 0 and rank 1 of two read with read and pread: "READ0 READ1". A shell's counters include those of its child.
bytes_read() {
    # shellcheck disable=SC2016
    mpirun --allow-run-as-root --oversubscribe -n 2 sh -c \
        '"$@" && sed -n "s/^rchar: /$OMPI_COMM_WORLD_RANK /p" /proc/$$/io' sh "$bin/geodec-$1" --mpi --quiet --force "${@:2}" |
        sort -n | awk '{ printf "%s ", $2 } END { print "" }'
}

@test "rank 0 alone reads the inputs for their digests, the body and the whole file" {
    # rank 0 of metric writes nothing that it reads again below the size of its output, so the difference is the two digests and
    # the one of the output
    "$bin/geodec-metric" --quiet --force --dim 2 --points 100 -o "$dir/small.h5" "$dir/cloud.h5"
    read -r zero one < <(bytes_read metric --dim 2 --points 100 -o "$dir/ranks.h5" "$dir/cloud.h5")
    size=$(stat -c %s "$dir/cloud.h5")
    echo "rank 0: $zero, rank 1: $one, input: $size"
    cmp "$dir/small.h5" "$dir/ranks.h5"
    [ $((zero - one)) -gt $((19 * size / 10)) ]
    read -r zero one < <(bytes_read export -m "$model" --text "$dir/text.txt" -o "$dir/ranks.h5")
    size=$(stat -c %s "$model")
    echo "rank 0: $zero, rank 1: $one, model: $size"
    cmp "$dir/a.h5" "$dir/ranks.h5"
    [ $((zero - one)) -gt $((9 * size / 10)) ]
}

@test "a damaged input is found by rank 0, and printed once" {
    cp "$dir/cloud.h5" "$dir/damaged.h5"
    printf x | dd of="$dir/damaged.h5" bs=1 seek=5000 conv=notrunc status=none
    run ranks 3 metric --dim 5 -o "$dir/x.h5" "$dir/damaged.h5"
    [ "$status" -ne 0 ]
    [ "$(grep -c 'does not match its own digest' <<<"$output")" -eq 1 ]
    [ ! -e "$dir/x.h5" ]
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
    # rank 1 has slabs 100 to 199; it is killed while it is at work on one of them and has finished others
    for _ in $(seq 3000); do
        [ -e "$dir/cut.h5.parts/slab-00102.rank" ] && [ ! -e "$dir/cut.h5.parts/slab-00102" ] && break
        sleep 0.01
    done
    victim=$(pgrep -f "geodec-knn --mpi --slabs 300 -o $dir/cut.h5" | while read -r p; do
        tr '\0' '\n' < "/proc/$p/environ" 2>/dev/null | grep -qx OMPI_COMM_WORLD_RANK=1 && echo "$p"
    done | head -n 1)
    [ -n "$victim" ]
    kill -KILL "$victim"
    ! wait $job || false
    cat "$dir/cut.log"
    grep -q "rank 1 .*on node $(hostname)" "$dir/cut.log"
    grep -q "signal 9" "$dir/cut.log"
    held=$(sed -n "s/^geodec-knn: slab \([0-9]*\) was in the hands of rank 1 of 3 on $(hostname)$/\1/p" "$dir/cut.log")
    [ -n "$held" ]
    grep -qx "rank 1 of 3 on $(hostname)" "$dir/cut.h5.parts/slab-$(printf %05d "$held").rank"
    [ ! -e "$dir/cut.h5" ]
    [ -d "$dir/cut.h5.parts" ]
    run ranks 3 knn --slabs 300 -o "$dir/cut.h5" "$dir/cloud.h5"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"slab $held was not finished by rank 1 of 3 on $(hostname)"* ]]
    [[ "$output" =~ [1-9][0-9]*\ of\ 300\ slabs\ were\ there ]]
    cmp "$dir/all.h5" "$dir/cut.h5"
    [ ! -e "$dir/cut.h5.parts" ]
}
