#!/usr/bin/env bats
# --shard and geodec-merge: for any slices the joined artifact has the bytes of a single run; parts that do not belong together
# are refused.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --dim 3 --points 200 -o "$dir/metric.h5" "$dir/cloud.h5"
    "$bin/geodec-geodesic" --quiet --v0 random --paths 13 --control 4 -o "$dir/geodesic.h5" "$dir/metric.h5"
    "$bin/geodec-christoffel" --quiet --control 7 -o "$dir/christoffel.h5" "$dir/metric.h5"
    "$bin/geodec-riemann" --quiet --samples 20 --midpoints 9 --tensors -g "$dir/geodesic.h5" -o "$dir/riemann.h5" "$dir/metric.h5"
    "$bin/geodec-propagate" --quiet --flow --control 3 -o "$dir/propagate.h5" "$dir/metric.h5" "$dir/geodesic.h5"
}

# parts STAGE M ARGUMENTS...: part i of m is $dir/STAGE.i-m.h5
parts() {
    local stage=$1 m=$2 i
    shift 2
    for ((i = 1; i <= m; i++)); do
        "$bin/geodec-$stage" --quiet --force --threads $((1 + i % 2)) --shard "$i/$m" -o "$dir/$stage.$i-$m.h5" "$@"
    done
}

# same STAGE ARGUMENTS...: 1, 2 and 5 slices, or those of SLICES, joined in reverse order
same() {
    local stage=$1 m files
    for m in ${SLICES-1 2 5}; do
        parts "$stage" "$m" "${@:2}"
        files=$(printf '%s\n' "$dir/$stage".*-"$m".h5 | sort -r)
        # shellcheck disable=SC2086
        "$bin/geodec-merge" --quiet -o "$dir/whole.h5" --force $files
        cmp "$dir/$stage.h5" "$dir/whole.h5"
    done
}

@test "second form in slices" {
    "$bin/geodec-second-form" --quiet --dim 2 --samples 20 -o "$dir/second-form.h5" "$dir/cloud.h5" "$dir/a.h5"
    same second-form --dim 2 --samples 20 "$dir/cloud.h5" "$dir/a.h5"
}

@test "christoffel in slices" {
    same christoffel --control 7 "$dir/metric.h5"
}

@test "geodesic in slices" {
    same geodesic --v0 random --paths 13 --control 4 "$dir/metric.h5"
}

@test "riemann in slices" {
    same riemann --samples 20 --midpoints 9 --tensors -g "$dir/geodesic.h5" "$dir/metric.h5"
}

@test "propagate in slices" {
    same propagate --flow --control 3 "$dir/metric.h5" "$dir/geodesic.h5"
}

# refused TEXT FILES...
refused() {
    run --separate-stderr "$bin/geodec-merge" -o "$dir/no.h5" "${@:2}"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"$1"* ]] || { echo "$stderr"; false; }
    [ ! -e "$dir/no.h5" ]
}

@test "parts of different runs are refused in one line" {
    parts geodesic 3 --v0 random --paths 13 "$dir/metric.h5"
    p() { echo "$dir/geodesic.$1-3.h5"; }
    refused "is part 1 of 3, but 2 files are given" "$(p 1)" "$(p 2)"
    refused "are both part 2 of 3" "$(p 1)" "$(p 2)" "$(p 2)"
    refused "geodesic.h5 is not a part: it was made without --shard" "$dir/geodesic.h5"
    "$bin/geodec-geodesic" --quiet --v0 random --paths 12 --shard 3/3 -o "$dir/other.h5" "$dir/metric.h5"
    refused "other options or arguments" "$(p 1)" "$(p 2)" "$dir/other.h5"
    "$bin/geodec-geodesic" --quiet --v0 random --paths 13 --seed 2 --shard 3/3 -o "$dir/seed.h5" "$dir/metric.h5"
    refused "another seed" "$(p 1)" "$(p 2)" "$dir/seed.h5"
    mkdir -p "$dir/wide"
    "$bin/geodec-metric" --quiet --dim 3 --points 200 --sigma-nn 2 -o "$dir/wide/metric.h5" "$dir/cloud.h5"
    "$bin/geodec-geodesic" --quiet --v0 random --paths 13 --shard 3/3 -o "$dir/input.h5" "$dir/wide/metric.h5"
    refused "contents of an input" "$(p 1)" "$(p 2)" "$dir/input.h5"
    parts riemann 3 --samples 20 "$dir/metric.h5"
    refused "cannot be joined: kind" "$(p 1)" "$(p 2)" "$dir/riemann.3-3.h5"
    refused "cannot be joined" "$dir/metric.h5"
}

# crowded STAGE DIM ARGUMENTS...: 31 slices of fewer items. The first part has none, and a reader accepts it.
crowded() {
    "$bin/geodec-$1" --quiet --force -o "$dir/$1.h5" "${@:3}"
    SLICES=31 same "$1" "${@:3}"
    "$bin/geodec-check" --quiet "$dir/$1.1-31.h5"
    "$bin/geodec-info" "$dir/$1.1-31.h5" | grep -q "^ *$2  *= 0\$"
}

@test "more slices than items: empty parts, and the joined bytes of a single run" {
    cp "$dir/geodesic.h5" "$dir/paths.h5"
    crowded geodesic P --v0 random --paths 13 --control 4 "$dir/metric.h5"
    crowded christoffel M --points 3 --control 2 "$dir/metric.h5"
    crowded riemann Q --samples 3 --midpoints 2 --tensors "$dir/metric.h5"
    crowded propagate P --flow "$dir/metric.h5" "$dir/paths.h5"
    crowded propagate P "$dir/metric.h5" "$dir/paths.h5"
}

@test "a slice is i/m" {
    for bad in 0/2 3/2 1 1/ /2 a/b 1/2/3 1/257 01/2 "1/2 "; do
        run --separate-stderr "$bin/geodec-geodesic" --shard "$bad" -o "$dir/no.h5" "$dir/metric.h5"
        [ "$status" -ne 0 ] || { echo "$bad"; false; }
        [[ "$stderr" == *"is not a slice i/m"* ]]
    done
}

# ended STAGE ARGUMENTS...: 1, 2 and 7 slices, or those of SLICES, joined in reverse order, then the stage run with --joined
ended() {
    local stage=$1 m files
    "$bin/geodec-$stage" --quiet --force -o "$dir/$stage.h5" "${@:2}"
    for m in ${SLICES-1 2 7}; do
        parts "$stage" "$m" "${@:2}"
        files=$(printf '%s\n' "$dir/$stage".*-"$m".h5 | sort -r)
        # shellcheck disable=SC2086
        "$bin/geodec-merge" --quiet -o "$dir/joined.h5" --force $files
        "$bin/geodec-$stage" --quiet --threads $((m % 3 + 1)) --force --joined "$dir/joined.h5" -o "$dir/whole.h5" "${@:2}"
        cmp "$dir/$stage.h5" "$dir/whole.h5"
    done
}

@test "coverage in slices" {
    ended coverage --dim 3 --points 400 --repeats 3 --nulls 2 --sweep "$dir/cloud.h5"
}

@test "coverage by the task in slices" {
    ended coverage --dim 3 --points 400 --repeats 3 --nulls 0 --threshold task --activations "$dir/a.h5" "$dir/cloud.h5"
}

@test "validity in slices" {
    ended validity --starts 5 --sphere-starts 3 --no-check "$dir/metric.h5"
}

@test "warp in slices" {
    ended warp --facts 5 --holdouts 2 "$dir/metric.h5"
}

@test "density in slices" {
    ended density --nulls 2 "$dir/cloud.h5"
}

@test "injectivity in slices" {
    ended injectivity --anchors 5 --directions 2 "$dir/metric.h5"
}

@test "hjb in slices" {
    ended hjb --paths 3 --nodes 9 "$dir/metric.h5"
}

@test "exact components in slices: blocks of the covariance; a sketch is not divided" {
    ended cloud --pca exact "$dir/a.h5"
    SLICES=19 ended cloud --pca exact "$dir/a.h5" # 16 blocks
    run --separate-stderr "$bin/geodec-cloud" --pca randomized --shard 1/2 -o "$dir/no.h5" "$dir/a.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"slices are of the covariance"* ]]
    [ ! -e "$dir/no.h5" ]
}

# refused_whole TEXT FILE ARGUMENTS...: --joined FILE
refused_whole() {
    run --separate-stderr "$bin/geodec-warp" --joined "$2" -o "$dir/no.h5" "${@:3}"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"$1"* ]] || { echo "$stderr"; false; }
    [ ! -e "$dir/no.h5" ]
}

@test "--joined needs the same command, the same inputs and all parts" {
    parts warp 2 --facts 4 "$dir/metric.h5"
    "$bin/geodec-merge" --quiet -o "$dir/warps.h5" "$dir/warp.1-2.h5" "$dir/warp.2-2.h5"
    refused_whole "is one part of a sweep" "$dir/warp.1-2.h5" --facts 4 "$dir/metric.h5"
    refused_whole "is of another command" "$dir/warps.h5" --facts 5 "$dir/metric.h5"
    refused_whole "is of another command" "$dir/warps.h5" --facts 4 --seed 2 "$dir/metric.h5"
    mkdir -p "$dir/wide"
    "$bin/geodec-metric" --quiet --force --dim 3 --points 200 --sigma-nn 2 -o "$dir/wide/metric.h5" "$dir/cloud.h5"
    refused_whole "another seed or from other inputs" "$dir/warps.h5" --facts 4 "$dir/wide/metric.h5"
    run --separate-stderr "$bin/geodec-warp" --shard 1/2 --joined "$dir/warps.h5" -o "$dir/no.h5" "$dir/metric.h5"
    [ "$status" -eq 2 ]
}
