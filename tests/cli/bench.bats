#!/usr/bin/env bats
# geodec-shape: random models that say what they are.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=$PWD/${B:-build/release}/bin
    tmp=$BATS_TEST_TMPDIR
}

@test "geodec-shape: the file's name and metadata say random, and the same seed repeats" {
    cd "$tmp"
    "$bin/geodec-shape" --quiet --layers 1 --type q8_0 smollm2-135m
    [ -f smollm2-135m-random-q8_0.gguf ]
    "$bin/geodec-shape" --quiet --layers 1 --type q8_0 --threads 1 -o again-random.gguf smollm2-135m
    cmp smollm2-135m-random-q8_0.gguf again-random.gguf
    grep -aq 'random weights (q8_0, seed 1)' again-random.gguf
    grep -aq 'speed only' again-random.gguf
    run "$bin/geodec-model-info" again-random.gguf
    [ "$status" -eq 0 ]
    [[ "$output" == *576* && "$output" == *49152* ]]
}

@test "geodec-shape: a name that hides what it is, an unknown shape and an existing file are refused" {
    cd "$tmp"
    run --separate-stderr "$bin/geodec-shape" --layers 1 -o model.gguf smollm2-135m
    [ "$status" -ne 0 ] && [[ "$stderr" == *"must contain 'random'"* ]] && [ ! -e model.gguf ]
    run --separate-stderr "$bin/geodec-shape" nonsense
    [ "$status" -ne 0 ] && [[ "$stderr" == *"no shape 'nonsense'"* ]]
    echo old > x-random.gguf
    run --separate-stderr "$bin/geodec-shape" --layers 1 -o x-random.gguf smollm2-135m
    [ "$status" -ne 0 ] && [ "$(cat x-random.gguf)" = old ]
}
