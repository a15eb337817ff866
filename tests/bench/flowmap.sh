#!/bin/sh
# The full measurement of the flow map on one model: a store of sampled texts, held-out prompts, and n-grams from the same
# store as the control. Usage: tests/bench/flowmap.sh MODEL.gguf PROMPTS.txt [OUTDIR]   (needs a built tree; a few minutes)
set -eu
model=$1 prompts=$2 out=${3:-results/flowmap-bench}
bin=${B:-build/release}/bin
mkdir -p "$out"
"$bin"/geodec-sample --model "$model" --seed 1 --texts 768 --length 256 --force -o "$out/store.tokens"
"$bin"/geodec-export --model "$model" --tokens "$out/store.tokens" --layers last --window 256 --force -o "$out/store.h5"
"$bin"/geodec-bake --force -o "$out/flowmap.h5" "$out/store.h5"
"$bin"/geodec-bench-decode --model "$model" --artifacts "$out" --prompts "$prompts" --n-prompts 100 --prompt-tokens 24 \
    --max-tokens 100 --drafters bigram,ngram,flowmap --gammas 1,2,4,8 --modes greedy,sampled --force \
    -o "$out/benchdecode.h5" > "$out/benchdecode.tsv"
awk -F '\t' 'NR == 1 || $2 == 4 { print $1, $2, $3, $4, $6, $7, $10, $13 }' "$out/benchdecode.tsv"
