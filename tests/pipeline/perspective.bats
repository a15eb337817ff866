#!/usr/bin/env bats
# make perspective: a small model from given texts, with its controls.

bats_require_minimum_version 1.5.0
load ../root

@test "make perspective with given texts: the model learns, the report has the controls, and a second make does nothing" {
    "$bin/geodec-corpus" -q --stories 400 -o "$tmp/train.txt"
    "$bin/geodec-corpus" -q --stories 20 --first 400 -o "$tmp/held-out.txt"
    small() { make -s QUICK=1 PERSPECTIVE_STEPS=60 PERSPECTIVE="$tmp/p" MOE_TEXT="$tmp/train.txt" MOE_HELD_OUT="$tmp/held-out.txt" "$@"; }
    small perspective 2>/dev/null
    report=$tmp/p/report.tsv
    awk -F '\t' '$4 == "byte frequencies" {seen = 1; if ($2 >= $3) exit 1} $4 == "best byte n-gram" {best = 1} END {exit !(seen && best)}' "$report"
    [ "$(grep -c '^gini_layer_[123].*random choice$' "$report")" -eq 3 ]
    run grep -c 'nan\|gini_layer_4' "$report"
    [ "$output" = 0 ]
    "$bin/geodec-model-info" "$tmp/p/perspective-f16.gguf" | grep -qP '^experts\t8$'
    [[ "$(small perspective 2>&1)" != *RUN* ]]
    small perspective-controls 2>/dev/null
    grep -q 'dense model of the same active size$' "$report"
    grep -q 'experts chosen by an ordinary router$' "$report"
    small perspective-twin 2>/dev/null
    bits=$(awk -F '\t' '/an ordinary router$/ {print $3}' "$report")
    awk -F '\t' -v b="$bits" '$1 == "bits_per_byte" {seen = $2 == b} /^gini_layer_/ {layers++} END {exit !(seen && layers == 4)}' "$tmp/p/twin.tsv"
    # A file of a training as a goal has one rule, without the lock of the main job.
    make -n QUICK=1 MOE_TEXT="$tmp/train.txt" MOE_HELD_OUT="$tmp/held-out.txt" results/perspective-quick/vocab.gguf > "$tmp/goal" 2>&1
    [ "$(grep -c 'geodec-vocab --force\|overriding' "$tmp/goal")" -eq 1 ]
}

@test "a model of bytes and recurrences: sampled text is UTF-8, a quantised copy decodes, drafts and trees keep the text" {
    "$bin/geodec-corpus" -q --stories 60 -o "$tmp/train.txt"
    "$bin/geodec-vocab" -q --size 260 -o "$tmp/v.gguf" "$tmp/train.txt"
    "$bin/geodec-train" -q --text "$tmp/train.txt" --held-out "$tmp/train.txt" --vocab "$tmp/v.gguf" --arch perspective --lattice 2,2,1 --d-model 32 --layers 4 \
        --heads 2 --kv-heads 1 --ff 32 --rank 8 --ctx 128 --length 64 --batch 8 --steps 10 --warmup 2 --eval-tokens 100 -o "$tmp/m.gguf"
    "$bin/geodec-sample" -q --model "$tmp/m.gguf" --texts 4 --length 100 --text -o "$tmp/sample.txt"
    iconv -f UTF-8 -t UTF-8 "$tmp/sample.txt" > /dev/null
    grep -q $'\xef\xbf\xbd' "$tmp/sample.txt"
    "$bin/geodec-quantize" -q --type q4_0 -o "$tmp/q.gguf" "$tmp/m.gguf" > /dev/null
    "$bin/geodec-decode" -q -m "$tmp/q.gguf" -p "One day" -n 8 > /dev/null
    PROMPTS=1 BLOCK=1 TOKENS=12 THREADS=1 TEXTS=8 CONTROLS=1 GAMMAS=1,4 TREES=4 pipelines/lab/exactness/exactness "$bin" "$tmp/ex" "$tmp/m.gguf" > "$tmp/said" 2>&1
    awk -F '\t' 'NR == 1 {for (i = 1; i <= NF; i++) n[$i] = i} NR > 1 {cells += $n["compared"]; bad += $n["mismatches"]} END {exit !(cells > 100 && bad == 0)}' "$tmp/ex/exactness.tsv"
}
