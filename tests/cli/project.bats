#!/usr/bin/env bats
# geodec-project: the identity, thread counts, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
}

setup() {
    model=$BATS_FILE_TMPDIR/good.gguf
    for i in 1 2 3 4 5 6 7 8; do printf 'a ba abba %d cab\n' "$i"; done > "$tmp/text.txt"
}

project() { "$bin/geodec-project" --quiet --model "$model" "$@"; }

@test "all coordinates give the model itself; fewer change it" {
    project --slots all --basis coordinates --share 1 --storage f32 -o "$tmp/p.h5"
    "$bin/geodec-perplexity" -m "$model" -w 16 "$tmp/text.txt" > "$tmp/a"
    "$bin/geodec-perplexity" -m "$model" -w 16 --projection "$tmp/p.h5" "$tmp/text.txt" > "$tmp/b"
    cmp "$tmp/a" "$tmp/b"
    project --slots all --share 0.3 -o "$tmp/q.h5"
    "$bin/geodec-perplexity" -m "$model" -w 16 --projection "$tmp/q.h5" "$tmp/text.txt" > "$tmp/b"
    ! cmp -s "$tmp/a" "$tmp/b" || false
}

@test "the same bytes with any number of threads" {
    for n in 1 3; do
        project --threads "$n" --slots all --basis whitened --own --text "$tmp/text.txt" -w 16 -o "$tmp/p$n.h5"
    done
    cmp "$tmp/p1.h5" "$tmp/p3.h5"
}

@test "refusals: slots, whitening without a text, projection of another model" {
    run --separate-stderr "$bin/geodec-project" --model "$model" --slots q,x -o "$tmp/p.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"'x' is no slot"* ]]
    run --separate-stderr "$bin/geodec-project" --model "$model" --basis whitened -o "$tmp/p.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"--text"* ]]
    [ ! -e "$tmp/p.h5" ]
    "$bin/geodec-quantize" --quiet --type f16 -o "$tmp/other.gguf" "$model" > /dev/null
    "$bin/geodec-project" --quiet --model "$tmp/other.gguf" -o "$tmp/p.h5"
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --projection "$tmp/p.h5" "$tmp/text.txt"
    echo "$status $stderr"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"made for another model"* ]]
}
