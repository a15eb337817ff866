#!/usr/bin/env bats
# geodec-gain: differences between drafters.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    model=data/model/geodec-stories-f16.gguf
}

bench() { "$bin/geodec-bench-decode" --quiet --model "$model" --prompts README.md --n-prompts 3 --max-tokens 20 --gammas 2 --modes greedy --timed 0 "$@" > /dev/null; }

@test "gains are the differences of the values of the bench; other texts and unknown drafters are refused" {
    bench --drafters bigram,ngram -o "$tmp/a.h5"
    "$bin/geodec-gain" --drafter ngram --control bigram "$tmp/a.h5" > "$tmp/gain.tsv"
    [ "$(wc -l < "$tmp/gain.tsv")" -eq 3 ]
    awk -F'\t' 'NR > 1 && (($4 - $7 - $10)^2 > 1e-18 || $11 > $10 || $12 < $10) {exit 1}' "$tmp/gain.tsv"
    bench --drafters ngram --loop-only -o "$tmp/b.h5"
    "$bin/geodec-gain" --drafter ngram "$tmp/a.h5" "$tmp/b.h5" > "$tmp/same.tsv"
    [ "$(cut -f 2,10,11,12 "$tmp/same.tsv" | tail -n +2)" = "$(printf 'loop\t0\t0\t0')" ]
    bench --drafters ngram --loop-only --n-prompts 2 -o "$tmp/c.h5"
    run --separate-stderr "$bin/geodec-gain" --drafter ngram "$tmp/a.h5" "$tmp/c.h5"
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"3 texts"*"2"* ]]
    run --separate-stderr "$bin/geodec-gain" --drafter wish "$tmp/a.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"no drafter wish"* ]]
    run --separate-stderr "$bin/geodec-gain" --drafter ngram "$model"
    [ "$status" -eq 3 ]
}
