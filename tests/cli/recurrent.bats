#!/usr/bin/env bats
# geodec-recurrent: fit, draft without changing the text, refuse another model; same bytes at any thread count.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export model=$PWD/data/model/geodec-stories-q8_0.gguf dir=$BATS_FILE_TMPDIR
    "$bin/geodec-sample" --quiet --model "$model" --texts 40 --length 96 -o "$dir/store.tokens"
    "$bin/geodec-export" --quiet --model "$model" --tokens "$dir/store.tokens" --layers last --window 96 -o "$dir/store.h5"
    "$bin/geodec-bake" --quiet -o "$dir/flowmap.h5" "$dir/store.h5"
    "$bin/geodec-recurrent" --width 32 -o "$dir/recurrent.h5" "$dir/store.h5" 2> "$dir/recurrent.log"
}

@test "recurrent: values with their controls" {
    [[ "$(cat "$dir/recurrent.log")" == *"held-out positions:"*"(bigram "*"unigram "* ]]
}

@test "recurrent: the same bytes with one thread" {
    "$bin/geodec-recurrent" --quiet -t 1 --width 32 -o "$BATS_TEST_TMPDIR/a.h5" "$dir/store.h5"
    cmp "$BATS_TEST_TMPDIR/a.h5" "$dir/recurrent.h5"
}

@test "recurrent: drafts change the speed, not the text" {
    for heat in 0 1; do
        "$bin/geodec-decode" --quiet --model "$model" --prompt "" -n 40 --temperature $heat --seed 3 > "$BATS_TEST_TMPDIR/plain"
        for d in recurrent ngram+flowmap+recurrent; do
            for tree in 0 16; do
                "$bin/geodec-decode" --quiet --model "$model" --artifacts "$dir" --draft $d --tree $tree --gamma 5 --prompt "" -n 40 \
                  --temperature $heat --seed 3 > "$BATS_TEST_TMPDIR/drafted"
                cmp "$BATS_TEST_TMPDIR/plain" "$BATS_TEST_TMPDIR/drafted"
            done
        done
    done
}

@test "recurrent: a missing net and another model are refused by name" {
    run --separate-stderr "$bin/geodec-decode" --model "$model" --draft recurrent --prompt ""
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"recurrent drafter needs a folder"*"--artifacts"* ]]
    run --separate-stderr "$bin/geodec-decode" --model "$model" --artifacts "$BATS_TEST_TMPDIR" --draft recurrent --prompt ""
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"recurrent.h5"* ]]
    run --separate-stderr "$bin/geodec-decode" --model "${model/q8_0/f16}" --artifacts "$dir" --draft recurrent --prompt ""
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"another model"* ]]
}
