#!/usr/bin/env bats
# geodec-bake: the same bytes for any number of threads, refusals, no partial output.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export model=${GEODEC_TEST_MODEL:-data/model/geodec-stories-f16.gguf}
    [ -r "$model" ] || return 0 # setup says it
    export shared_dir=$BATS_FILE_TMPDIR
    "$bin/geodec-sample" -q --model "$model" --texts 12 --length 48 -o "$shared_dir/store.tokens"
    "$bin/geodec-export" -q --model "$model" --tokens "$shared_dir/store.tokens" --layers 1,last -o "$shared_dir/store.h5"
    "$bin/geodec-export" -q --model "$model" --tokens "$shared_dir/store.tokens" --layers 1 -o "$shared_dir/first.h5"
}

setup() {
    [ -r "$model" ] || skip "no model: set GEODEC_TEST_MODEL"
    store=$shared_dir/store.h5
}

refused() {
    local want=$1 word=$2
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$want" ] || { echo "status $status, not $want: $stderr"; false; }
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; false; }
    [[ "$stderr" == *"$word"* ]] || { echo "$stderr"; false; }
    [ -z "$(find "$tmp" -type f ! -name 'separate-stderr*')" ] || { ls -la "$tmp"; false; }
}

@test "the same bytes with 1 and 3 threads; the summary gives the size of a node" {
    run --separate-stderr "$bin/geodec-bake" --threads 1 -o "$tmp/one.h5" "$store"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$stderr" == *" bytes per node"* ]]
    "$bin/geodec-bake" -q --threads 3 -o "$tmp/three.h5" "$store"
    cmp "$tmp/one.h5" "$tmp/three.h5"
    "$bin/geodec-check" "$tmp/one.h5"
    [ -z "$(find "$tmp" -name '.*' -type f)" ]
}

@test "options shape the map" {
    "$bin/geodec-bake" -q --dims 8 --state-dims 20 --decays 0.7 --neighbours 5 -o "$tmp/small.h5" "$store"
    run "$bin/geodec-info" "$tmp/small.h5"
    [[ "$output" == *"/node/key            i8 (N,r)"*", 8]"* ]]
    [[ "$output" == *"neighbours           = 5"* ]]
    [[ "$output" == *"/state/decay         f32 (E) = [1]"* ]]
}

@test "the directions of a cloud come first, if it is of this model and layer" {
    "$bin/geodec-cloud" -q --layer last -o "$shared_dir/cloud.h5" "$store"
    "$bin/geodec-cloud" -q --layer 1 -o "$shared_dir/cloud1.h5" "$store"
    refused 2 "last layer" "$bin/geodec-bake" -o "$tmp/x.h5" "$store" "$shared_dir/cloud1.h5"
    "$bin/geodec-bake" -q -o "$tmp/x.h5" "$store" "$shared_dir/cloud.h5"
    run "$bin/geodec-info" "$tmp/x.h5"
    [[ "$output" == *"cloud.h5"* ]]
}

@test "refusals: one line, the right code, no output" {
    refused 2 "multiple of 4" "$bin/geodec-bake" --dims 18 -o "$tmp/x.h5" "$store"
    refused 2 "decays" "$bin/geodec-bake" --decays 0.5,1 -o "$tmp/x.h5" "$store"
    refused 2 "decays" "$bin/geodec-bake" --decays 0.1,0.2,0.3,0.4,0.5 -o "$tmp/x.h5" "$store"
    refused 1 "was not exported" "$bin/geodec-bake" -o "$tmp/x.h5" "$shared_dir/first.h5"
    refused 1 "nowhere.h5" "$bin/geodec-bake" -o "$tmp/x.h5" "$shared_dir/nowhere.h5"
    refused 3 "store.tokens" "$bin/geodec-bake" -o "$tmp/x.h5" "$shared_dir/store.tokens"
    refused 5 "needs at least 16" "$bin/geodec-bake" -o "$tmp/x.h5" "$(few)"
}

# Activations of a single short text.
few() {
    echo "1 5 9" > "$shared_dir/few.tokens"
    "$bin/geodec-export" -q --force --model "$model" --tokens "$shared_dir/few.tokens" --layers last -o "$shared_dir/few.h5"
    echo "$shared_dir/few.h5"
}

@test "an existing output is kept without --force" {
    echo old > "$tmp/x.h5"
    run --separate-stderr "$bin/geodec-bake" -o "$tmp/x.h5" "$store"
    [ "$status" -eq 1 ]
    [ "$(cat "$tmp/x.h5")" = old ]
    "$bin/geodec-bake" -q --force -o "$tmp/x.h5" "$store"
    "$bin/geodec-check" "$tmp/x.h5"
}

@test "a map with a flipped bit is refused" {
    "$bin/geodec-bake" -q -o "$tmp/x.h5" "$store"
    size=$(stat -c %s "$tmp/x.h5")
    for at in 700 $((size / 2)) $((size - 9)); do
        cp "$tmp/x.h5" "$tmp/y.h5"
        byte=$(od -An -tu1 -j "$at" -N1 "$tmp/y.h5")
        # shellcheck disable=SC2059
        printf "\\$(printf %o $((byte ^ 16)))" | dd of="$tmp/y.h5" bs=1 seek="$at" conv=notrunc status=none
        run --separate-stderr "$bin/geodec-check" "$tmp/y.h5"
        [ "$status" -eq 3 ]
    done
}
