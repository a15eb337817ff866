#!/usr/bin/env bats
# geodec-plan: the interface to the pipeline, and the option --separator.
bats_require_minimum_version 1.5.0
load ../root

setup() {
    model=data/model/geodec-stories-f16.gguf
}
plan() { "$bin/geodec-plan" --quiet --model "$model" --text "$@"; }
value() { awk -F'\t' -v name="$1" '$1 == name {print $2}'; }

@test "names, values and reasons are in a fixed order" {
    printf 'one two three\n' > "$tmp/t.txt"
    plan "$tmp/t.txt" > "$tmp/plan.tsv"
    [ "$(head -1 "$tmp/plan.tsv")" = "$(printf 'name\tvalue\treason')" ]
    [ "$(cut -f1 "$tmp/plan.tsv" | sed 1d | tr '\n' ' ')" = "separator documents bytes text_tokens context layers width vocabulary tokens \
points store_texts store_length prompts prompt_length new_tokens split reference unknown_share " ]
    [ "$(awk -F'\t' 'NF != 3' "$tmp/plan.tsv" | wc -l)" -eq 0 ]
    plan "$tmp/t.txt" -o "$tmp/again.tsv"
    cmp "$tmp/plan.tsv" "$tmp/again.tsv"
}

@test "a text of one token gives a plan; a large text gives the requested sizes" {
    printf 'a' > "$tmp/one.txt"
    plan "$tmp/one.txt" > "$tmp/plan.tsv"
    [ "$(value prompts < "$tmp/plan.tsv")" -eq 1 ]
    [ "$(value split < "$tmp/plan.tsv")" = block ]
    "$bin/geodec-corpus" --quiet --seed 5 --stories 300 -o "$tmp/large.txt" --report "$tmp/large.json"
    plan "$tmp/large.txt" --tokens 4000 --points 400 --prompts 10 --new-tokens 48 > "$tmp/plan.tsv"
    [ "$(value separator < "$tmp/plan.tsv")" = mark ]
    [ "$(value documents < "$tmp/plan.tsv")" -eq 300 ]
    [ "$(value tokens < "$tmp/plan.tsv")" -eq 4000 ]
    [ "$(value points < "$tmp/plan.tsv")" -eq 400 ]
    [ "$(value prompts < "$tmp/plan.tsv")" -eq 10 ]
    [ "$(value new_tokens < "$tmp/plan.tsv")" -eq 48 ]
    [ "$(value split < "$tmp/plan.tsv")" = document ]
}

@test "empty text and text that is not UTF-8 end with status 3 and one line" {
    : > "$tmp/empty.txt"
    printf ' \n\r\n' > "$tmp/blank.txt"
    printf 'a\377b' > "$tmp/latin.txt"
    for f in empty blank latin; do
        run --separate-stderr plan "$tmp/$f.txt"
        [ "$status" -eq 3 ]
        [ -z "$output" ]
        [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ]
        [[ "$stderr" == *"$f.txt"* ]]
    done
}

@test "--separator decides the division, in the plan and in activations" {
    printf 'one two\n\nthree four\nfive six\n<|endoftext|>\nseven\n' > "$tmp/t.txt"
    while read -r rule documents; do
        plan "$tmp/t.txt" --separator "$rule" > "$tmp/plan.tsv"
        [ "$(value documents < "$tmp/plan.tsv")" -eq "$documents" ]
        "$bin/geodec-export" --quiet --force --model "$model" --text "$tmp/t.txt" --separator "$rule" -o "$tmp/a.h5"
        [ "$("$bin/geodec-table" --attrs "$tmp/a.h5" | value documents)" -eq "$documents" ]
        [ "$("$bin/geodec-table" --attrs "$tmp/a.h5" | value separator)" = "${rule/auto/mark}" ]
    done <<< "auto 2
mark 2
line 5
none 1"
    run plan "$tmp/t.txt" --separator chapter
    [ "$status" -eq 2 ]
}

@test "the records of JSON Lines are read; with jsonl a broken line is an error that names it" {
    printf '{"text": "one two"}\n{"turns": ["three", "four"]}\n' > "$tmp/t.jsonl"
    [ "$(plan "$tmp/t.jsonl" | value separator)" = jsonl ]
    printf '{"text": "one two"}\n{"turns": ["three", \n' > "$tmp/t.jsonl"
    [ "$(plan "$tmp/t.jsonl" | value separator)" != jsonl ]
    run --separate-stderr plan "$tmp/t.jsonl" --separator jsonl
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"t.jsonl:2:"* ]]
}
