#!/usr/bin/env bats
# geodec-onedecode, its published table, and geodec-rollout: bake, draft without changing the text, refuse another model; same bytes at any thread count.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export model=$PWD/data/model/geodec-stories-q8_0.gguf dir=$BATS_FILE_TMPDIR
    "$bin/geodec-sample" --quiet --model "$model" --texts 40 --length 96 -o "$dir/store.tokens"
    "$bin/geodec-export" --quiet --model "$model" --tokens "$dir/store.tokens" --layers last --window 96 -o "$dir/store.h5"
    "$bin/geodec-onedecode" --cells 200 -o "$dir/onedecode.h5" "$dir/store.h5" 2> "$dir/onedecode.log"
    "$bin/geodec-published" onedecode --model "$model" -o "$dir/onedecode-ref.h5" "$dir/store.h5" 2> "$dir/ref.log"
    "$bin/geodec-rollout" --model "$model" --cells 200 --sites 60 --places 200 --resamples 50 -o "$dir/rollout.h5" "$dir/store.h5" \
      > "$dir/rollout.tsv" 2> "$dir/rollout.log"
}

@test "onedecode, rollout: values with their controls" {
    [[ "$(cat "$dir/onedecode.log")" == *"(bigram "*"unigram "* ]]
    [[ "$(cat "$dir/ref.log")" == *"predict themselves"*"Gamma = 0"*"controls: bigram"* ]]
    for variant in unigram bigram cells ngram linear geodesic random geodesic-blind geodesic-previous; do
        grep -q "^$variant	" "$dir/rollout.tsv"
    done
    [ -z "$(head -1 "$dir/rollout.tsv" | tr '\t' '\n' | sort | uniq -d)" ] # a name for every column
    [ "$(head -1 "$dir/rollout.tsv" | tr '\t' '\n' | wc -l)" = "$(tail -1 "$dir/rollout.tsv" | tr '\t' '\n' | wc -l)" ]
}

@test "onedecode, rollout: the same bytes with one thread" {
    "$bin/geodec-onedecode" --quiet -t 1 --cells 200 -o "$BATS_TEST_TMPDIR/a.h5" "$dir/store.h5"
    cmp "$BATS_TEST_TMPDIR/a.h5" "$dir/onedecode.h5"
    "$bin/geodec-rollout" --quiet -t 1 --model "$model" --cells 200 --sites 60 --places 200 --resamples 50 -o "$BATS_TEST_TMPDIR/b.h5" \
      "$dir/store.h5" > "$BATS_TEST_TMPDIR/b.tsv"
    cmp "$BATS_TEST_TMPDIR/b.h5" "$dir/rollout.h5"
    cmp "$BATS_TEST_TMPDIR/b.tsv" "$dir/rollout.tsv"
}

@test "onedecode, rollout, recycle: drafts change the speed, not the text" {
    for seed in 0 5; do
        heat=$((seed > 0))
        "$bin/geodec-decode" --quiet --model "$model" --prompt "" -n 40 --temperature $heat --seed $((seed + 1)) > "$BATS_TEST_TMPDIR/plain"
        for d in recycle onedecode rollout rollout-flat rollout-random recycle+onedecode+rollout; do
            for tree in 0 12; do
                "$bin/geodec-decode" --quiet --model "$model" --artifacts "$dir" --draft $d --tree $tree --gamma 5 --prompt "" -n 40 \
                  --temperature $heat --seed $((seed + 1)) > "$BATS_TEST_TMPDIR/drafted"
                cmp "$BATS_TEST_TMPDIR/plain" "$BATS_TEST_TMPDIR/drafted"
            done
        done
    done
}

@test "onedecode, rollout: a missing table and another model are refused by name" {
    for d in onedecode rollout; do
        run --separate-stderr "$bin/geodec-decode" --model "$model" --draft $d --prompt ""
        [ "$status" -ne 0 ]
        [[ "$stderr" == *"$d drafter needs a folder"*"--artifacts"* ]]
        run --separate-stderr "$bin/geodec-decode" --model "$model" --artifacts "$BATS_TEST_TMPDIR" --draft $d --prompt ""
        [ "$status" -ne 0 ]
        [[ "$stderr" == *"$d.h5"* ]]
        run --separate-stderr "$bin/geodec-decode" --model "${model/q8_0/f16}" --artifacts "$dir" --draft $d --prompt ""
        [ "$status" -eq 3 ]
        [[ "$stderr" == *"another model"* ]]
    done
}
