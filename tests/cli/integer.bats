#!/usr/bin/env bats
# Integer arithmetic in the tools: conversion, decoding, sampling, records of runs.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export d=$BATS_FILE_TMPDIR model=data/model/geodec-stories-q8_0.gguf
    "$bin/geodec-integer-convert" -q -o "$d/m.int.gguf" "$model"
}

text() { "$bin/geodec-decode" -q --artifacts none -p "Once upon a time" --max-tokens 40 --seed 3 "$@"; }

@test "a converted file and a conversion in memory give the same text, whatever the threads and the instruction set" {
    text --model "$d/m.int.gguf" --draft none --temperature 0.8 > "$tmp/a"
    [ -s "$tmp/a" ]
    text --model "$model" --arithmetic integer --draft none --temperature 0.8 > "$tmp/b"
    cmp "$tmp/a" "$tmp/b"
    text --model "$d/m.int.gguf" --draft none --temperature 0.8 --threads 1 --isa scalar > "$tmp/b"
    cmp "$tmp/a" "$tmp/b"
}

@test "drafters and trees do not change the text" {
    for t in 0 0.8; do
        text --model "$d/m.int.gguf" --draft none --temperature $t > "$tmp/a"
        for draft in lookup recycle "ngram --gamma auto" "lookup --tree 8" exit:1; do
            # shellcheck disable=SC2086
            text --model "$d/m.int.gguf" --draft $draft --temperature $t > "$tmp/b"
            cmp "$tmp/a" "$tmp/b" || { echo "draft $draft, temperature $t"; false; }
        done
    done
}

@test "sampled drafts give a text that depends on the seed alone, and the plain text when greedy" {
    second="--draft-model data/model/geodec-stories-f16.gguf"
    for draft in exit-sampled:2 "exit-sampled:2 --tree 8" "model-sampled $second" "model-sampled $second --tree 8"; do
        # shellcheck disable=SC2086
        text --model "$d/m.int.gguf" --draft $draft --temperature 0.8 --threads 1 --isa scalar > "$tmp/a"
        [ "$(wc -c < "$tmp/a")" -gt 40 ]
        # shellcheck disable=SC2086
        text --model "$d/m.int.gguf" --draft $draft --temperature 0.8 --threads 2 > "$tmp/b"
        cmp "$tmp/a" "$tmp/b" || { echo "draft $draft"; false; }
        text --model "$d/m.int.gguf" --draft none --temperature 0 > "$tmp/a"
        # shellcheck disable=SC2086
        text --model "$d/m.int.gguf" --draft $draft --temperature 0 > "$tmp/b"
        cmp "$tmp/a" "$tmp/b" || { echo "draft $draft, greedy"; false; }
    done
}

@test "what has no integers is refused by name" {
    run -3 text --model "$d/m.int.gguf" --kv q8_0
    [[ $output == *"cache of 16-bit integers"* ]]
    run -3 "$bin/geodec-perplexity" --model "$d/m.int.gguf" --arithmetic float64 README.md
    [[ $output == *"weights in integers"* ]]
    run -3 "$bin/geodec-integer-convert" -o "$tmp/again.gguf" "$d/m.int.gguf"
    [ ! -e "$tmp/again.gguf" ]
}

@test "a damaged file is refused or gives another fingerprint" {
    head -c 20000 "$d/m.int.gguf" > "$tmp/cut.gguf"
    run -3 text --model "$tmp/cut.gguf"
    sed 's/geodec.integer.tables/geodec.integer.tablex/' "$d/m.int.gguf" > "$tmp/key.gguf"
    run -1 text --model "$tmp/key.gguf"
    [[ $output == *"geodec.integer.tables"* ]]
}

@test "perplexity in integers is within half a percent of the exact one" {
    "$bin/geodec-perplexity" -q --model "$model" --arithmetic integer --against-arithmetic exact docs/tutorial.md > "$tmp/p"
    awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
        NR == 2 { r = $c["perplexity"] / $c["against_perplexity"]; print r; ok = r < 1.005 && r > 0.995 && $c["tokens"] > 500 }
        END { exit !ok }' "$tmp/p"
}

@test "a record of a run holds, and no changed one does" {
    "$bin/geodec-attest" -q --model "$d/m.int.gguf" -p "One day" -n 30 --temperature 0.9 --seed 5 -o "$tmp/r.json" > "$tmp/text"
    "$bin/geodec-decode" -q --artifacts none --model "$d/m.int.gguf" --draft none -p "One day" --max-tokens 30 --temperature 0.9 --seed 5 > "$tmp/same"
    diff <(tr -d " " < "$tmp/text" | head -c 60) <(tr -d " " < "$tmp/same" | head -c 60)
    for o in "" "--rows 1 --threads 1" "--sample 4 --seed 9"; do
        # shellcheck disable=SC2086
        run -0 "$bin/geodec-attest" -q --model "$d/m.int.gguf" --verify "$tmp/r.json" $o
        [[ $output == *"holds"* ]]
    done
    sed 's/"seed": "5"/"seed": "6"/' "$tmp/r.json" > "$tmp/seed.json"
    awk '/"tokens"/ { n = NR } NR == n + 3 { sub(/[0-9]+/, "7") } { print }' "$tmp/r.json" > "$tmp/token.json"
    for f in seed token; do
        ! cmp -s "$tmp/r.json" "$tmp/$f.json" || false
        run -4 "$bin/geodec-attest" -q --model "$d/m.int.gguf" --verify "$tmp/$f.json"
        [[ $output != *holds* ]]
    done
    "$bin/geodec-integer-convert" -q --activations 8 -o "$tmp/other.int.gguf" "$model"
    run -4 "$bin/geodec-attest" -q --model "$tmp/other.int.gguf" --verify "$tmp/r.json"
    [[ $output == *"another model"* ]]
}

@test "a transcript of the products holds, and no changed one does" {
    attest() { "$bin/geodec-attest" -q --model "$d/m.int.gguf" "$@"; }
    attest -p "One day" -n 20 --transcript "$tmp/r.sums" -o "$tmp/r.json" > "$tmp/text"
    attest -p "One day" -n 20 -o "$tmp/plain.json" > "$tmp/same"
    cmp "$tmp/text" "$tmp/same"
    for o in "" "--rows 3 --threads 1" "--hash --sample 4"; do
        # shellcheck disable=SC2086
        run -0 attest --verify "$tmp/r.json" --transcript "$tmp/r.sums" $o
        [[ $output == *"holds"* && $output == *$'recomputed\t0'* ]]
    done
    run -4 attest --verify "$tmp/plain.json" --transcript "$tmp/r.sums"
    [[ $output == *"not that of the record"* ]]
    size=$(wc -c < "$tmp/r.sums")
    for at in 20 60 500 $((size / 2)) $((size - 9)); do
        cp "$tmp/r.sums" "$tmp/flip.sums"
        byte=$(od -An -tu1 -j "$at" -N 1 "$tmp/r.sums")
        # shellcheck disable=SC2059
        printf "\\x$(printf %02x $((byte ^ 1)))" | dd of="$tmp/flip.sums" bs=1 seek="$at" conv=notrunc 2> "$tmp/dd"
        ! cmp -s "$tmp/r.sums" "$tmp/flip.sums" || false
        run attest --verify "$tmp/r.json" --transcript "$tmp/flip.sums"
        echo "byte $at: $status $output"
        [ "$status" -eq 3 ] || [ "$status" -eq 4 ]
        [[ $output == *transcript* && $output != *holds* ]]
    done
    head -c $((size - 1)) "$tmp/r.sums" > "$tmp/cut.sums"
    run -4 attest --verify "$tmp/r.json" --transcript "$tmp/cut.sums"
    run -3 attest --verify "$tmp/r.json" --transcript README.md
    [[ $output == *"is no transcript"* ]]
    run -1 attest -p "One day" -n 2 --transcript "$tmp/r.sums" -o "$tmp/new.json"
    [[ $output == *"r.sums"* ]]
    run -2 attest -p "One day" --hash
}
