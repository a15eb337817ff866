#!/usr/bin/env bats
# Artifacts of measurements: the depth sink and its probe, the consistency of a flow map, first tokens.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    model=${GEODEC_TEST_MODEL:-data/model/geodec-stories-f16.gguf}
    [ -r "$model" ] || skip "no model: set GEODEC_TEST_MODEL"
}

@test "the depth sink: a row for each layer, one sink, and a probe that distinguishes the model from another" {
    "$bin/geodec-depth" --model "$model" -o "$tmp/depth.h5" > "$tmp/table" 2> "$tmp/err"
    grep -q "depth sink" "$tmp/err"
    awk -F '\t' 'NR > 1 { n++; sinks += $5; if ($5) below = $4 } END { exit !(n >= 1 && sinks == 1 && below <= 1e-3) }' "$tmp/table"
    "$bin/geodec-check" "$tmp/depth.h5"
    "$bin/geodec-depth" --quiet --model "$model" --probe "$tmp/depth.h5" > "$tmp/probe"
    grep -q '^fingerprint_equal.1$' "$tmp/probe"
    "$bin/geodec-depth" --quiet --threads 2 --model "$model" -o "$tmp/again.h5" > /dev/null
    "$bin/geodec-diff" "$tmp/depth.h5" "$tmp/again.h5"
    "$bin/geodec-quantize" --quiet --type q8_0 -o "$tmp/q8.gguf" "$model" > /dev/null
    run --separate-stderr "$bin/geodec-depth" --model "$tmp/q8.gguf" --probe "$tmp/depth.h5"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"another model"* ]]
    awk -F '\t' '$1 == "difference" { exit !($2 > 1e-6) }' <<< "$output"
    run --separate-stderr "$bin/geodec-depth" --model "$model" --probe "$model"
    [ "$status" -eq 3 ]
}

# of OBJECT KEY FILE: the value of a member of an object of a report.
of() { awk -v object="\"$1\":" -v key="\"$2\":" '$1 == object {inside = 1} inside && $1 == key {gsub(/,/, "", $2); print $2; exit}' "$3"; }

@test "the consistency of a flow map is that of its bake, in every run" {
    "$bin/geodec-sample" --quiet --model "$model" --texts 24 --length 64 -o "$tmp/store.tokens"
    "$bin/geodec-export" --quiet --model "$model" --tokens "$tmp/store.tokens" --layers last -o "$tmp/store.h5"
    "$bin/geodec-bake" --quiet -o "$tmp/flowmap.h5" "$tmp/store.h5"
    want=$("$bin/geodec-info" --json "$tmp/flowmap.h5" | sed -n 's/.*"consistency": *\([0-9.e+-]*\).*/\1/p' | head -n 1)
    control=$("$bin/geodec-info" --json "$tmp/flowmap.h5" | sed -n 's/.*"consistency_shuffled": *\([0-9.e+-]*\).*/\1/p' | head -n 1)
    [ -n "$want" ]
    [ -n "$control" ]
    for prompt in "One day" "The cat"; do
        "$bin/geodec-decode" --quiet --model "$model" --artifacts "$tmp" --draft flowmap --prompt "$prompt" --max-tokens 20 \
            --library "$tmp/grown" --report "$tmp/r.json" --force > /dev/null
        [ "$(of flow_map consistency "$tmp/r.json")" = "$want" ]
        [ "$(of flow_map consistency_shuffled "$tmp/r.json")" = "$control" ]
        [ "$(of axiom ran "$tmp/r.json")" = false ]
        [ "$(of axiom consistency "$tmp/r.json")" = null ]
    done
}

@test "the report has the consistency of the metric from its artifact; an artifact of another model is refused" {
    "$bin/geodec-sample" --quiet --model "$model" --texts 24 --length 48 -o "$tmp/store.tokens"
    "$bin/geodec-export" --quiet --model "$model" --tokens "$tmp/store.tokens" --layers last -o "$tmp/a.h5"
    "$bin/geodec-bake" --quiet -o "$tmp/flowmap.h5" "$tmp/a.h5"
    "$bin/geodec-cloud" --quiet -o "$tmp/cloud.h5" "$tmp/a.h5"
    "$bin/geodec-consistency" --quiet -o "$tmp/consistency.h5" "$tmp/cloud.h5" "$tmp/a.h5"
    report() { "$bin/geodec-decode" --quiet --model "$1" --artifacts "$tmp" --draft bigram --prompt "One day" --max-tokens 8 --report "$tmp/r.json" --force; }
    report "$model" > /dev/null
    for name in consistency consistency_shuffled; do
        want=$("$bin/geodec-table" --attrs "$tmp/consistency.h5" | awk -F'\t' -v key=$name '$1 == key {print $2}')
        [ -n "$want" ]
        [ "$(of axiom $name "$tmp/r.json")" = "$want" ]
    done
    [ "$(of axiom ran "$tmp/r.json")" = true ]
    [ "$(of axiom intrinsic_dim "$tmp/r.json")" = "$("$bin/geodec-table" --attrs "$tmp/cloud.h5" | awk -F'\t' '$1 == "k_int" {print $2}')" ]
    "$bin/geodec-quantize" --quiet --type q8_0 -o "$tmp/other.gguf" "$model" > /dev/null
    "$bin/geodec-export" --quiet --force --model "$tmp/other.gguf" --tokens "$tmp/store.tokens" --layers last -o "$tmp/a.h5"
    "$bin/geodec-cloud" --quiet --force -o "$tmp/cloud.h5" "$tmp/a.h5"
    "$bin/geodec-consistency" --quiet --force -o "$tmp/consistency.h5" "$tmp/cloud.h5" "$tmp/a.h5"
    run --separate-stderr report "$model"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"consistency.h5: measured on another model"* ]]
}

@test "first tokens that end the text are counted with and without a chat format" {
    printf 'Once upon a time there was a dog who went to the park. %.0s' $(seq 40) > "$tmp/text"
    "$bin/geodec-drafts" --model "$model" --prompts "$tmp/text" --n-prompts 4 --max-tokens 4 --drafters lookup --gammas 2 -o "$tmp/d.h5" 2> "$tmp/err" > /dev/null
    grep -q "of 4 prompts; as messages in the format chatml, which is not the model's" "$tmp/err"
    "$bin/geodec-drafts" --quiet --model "$model" --template gemma --prompts "$tmp/text" --n-prompts 4 --max-tokens 4 --drafters lookup --gammas 2 -o "$tmp/g.h5" > /dev/null
    "$bin/geodec-info" "$tmp/g.h5" | grep -q gemma
    # with and without damped residuals, recorded in the file
    "$bin/geodec-drafts" --quiet --model "$model" --attnres damp:0.35 --prompts "$tmp/text" --n-prompts 4 --max-tokens 1 --drafters lookup --gammas 1 \
        -o "$tmp/damped.h5" > /dev/null
    [ "$("$bin/geodec-table" --attrs "$tmp/damped.h5" | awk -F'\t' '$1 == "attnres" {print $2}')" = damp:0.35 ]
    [ "$("$bin/geodec-table" --attrs "$tmp/d.h5" | awk -F'\t' '$1 == "attnres" {print $2}')" = off ]
    run --separate-stderr "$bin/geodec-drafts" --model "$model" --attnres damp:7 --prompts "$tmp/text" --n-prompts 4 --drafters lookup --gammas 1 -o "$tmp/x.h5"
    [ "$status" -eq 2 ]
    [ ! -e "$tmp/x.h5" ]
    run --separate-stderr "$bin/geodec-drafts" --model "$model" --template no-such --prompts "$tmp/text" --n-prompts 4 --drafters lookup --gammas 2 -o "$tmp/x.h5"
    [ "$status" -eq 3 ]
}
