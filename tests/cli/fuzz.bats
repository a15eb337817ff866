#!/usr/bin/env bats
# The kept inputs of every fuzz target run without a crash.

load ../root

@test "kept fuzz corpora replay" {
    for t in "$B"/fuzz/replay-*; do
        name=${t##*/replay-}
        run "$t" "tests/fuzz/corpus/$name"
        echo "$name: $output"
        [ "$status" -eq 0 ]
        [[ "$output" == *" inputs, 0 unreadable" ]]
    done
}
