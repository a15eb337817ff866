#!/usr/bin/env bats
# geodec-routing and geodec-ngram: tables, controls, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    mixture=data/model/geodec-mixture-f16.gguf
    "$bin/geodec-corpus" -q --stories 12 --seed 4 -o "$tmp/a.txt"
}

@test "loads of the experts: each layer adds up to one, and the table agrees with the loads" {
    run --separate-stderr "$bin/geodec-routing" -m "$mixture" -n 6 --loads "$tmp/loads.tsv" "$tmp/a.txt"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 6 ]
    [[ "$stderr" == *"2 of 16 experts: Gini coefficient "*"(random "* ]]
    printf '%s\n' "${lines[@]}" > "$tmp/t.tsv"
    awk -F '\t' 'NR == FNR {if (FNR > 1) {sum[$2] += $5; n++; if (!($2 in least) || $5 < least[$2]) least[$2] = $5}; next}
        FNR > 1 && $2 != "mean" {rows++; if ((sum[$2] - 1)^2 > 1e-18 || (least[$2] - $4)^2 > 1e-18 || $7 < 0 || $7 > 1 || $10 < $11 / 4) exit 1}
        END {exit !(n == 64 && rows == 4)}' "$tmp/loads.tsv" "$tmp/t.tsv"
    "$bin/geodec-routing" -q -m "$mixture" -n 6 --threads 3 "$tmp/a.txt" | cmp - "$tmp/t.tsv"
}

@test "the embedded mixture uses all of its experts" {
    "$bin/geodec-routing" -q -m "$mixture" "$tmp/a.txt" > "$tmp/t.tsv"
    awk -F '\t' '$2 == "mean" {seen = 1; if ($6 != 0 || $7 > 0.35) exit 1} END {exit !seen}' "$tmp/t.tsv"
}

@test "a model without experts is refused, and so is an existing file" {
    run --separate-stderr "$bin/geodec-routing" -m data/model/geodec-stories-q8_0.gguf "$tmp/a.txt"
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"has no experts"* ]]
    : > "$tmp/old.tsv"
    run --separate-stderr "$bin/geodec-routing" -m "$mixture" --loads "$tmp/old.tsv" "$tmp/a.txt"
    [ "$status" -ne 0 ]
    [ ! -s "$tmp/old.tsv" ]
}

@test "n-gram models: more context is better on stories, and the report of geodec-corpus has the same figure" {
    "$bin/geodec-corpus" -q --stories 300 --seed 9 -o "$tmp/train.txt" --report "$tmp/r.json" --control-stories 300 --order 6
    "$bin/geodec-corpus" -q --stories 37 --first 300 --seed 9 -o "$tmp/test.txt"
    "$bin/geodec-ngram" -q --text "$tmp/train.txt" --order 6 "$tmp/test.txt" > "$tmp/n.tsv"
    [ "$(wc -l < "$tmp/n.tsv")" -eq 8 ]
    awk -F '\t' 'NR > 1 {if (NR > 2 && NR < 7 && $4 >= last) exit 1; last = $4}' "$tmp/n.tsv"
    published=$(awk -F '[:,]' '/"bits_per_byte":/ {c = $2} END {print c}' "$tmp/r.json")
    awk -F '\t' -v c="$published" '$1 == 6 {exit !(($4 - c)^2 < 1e-18)}' "$tmp/n.tsv"
}

@test "n-gram models: limits and a missing text" {
    run --separate-stderr "$bin/geodec-ngram" --text "$tmp/a.txt" --limit 100 "$tmp/a.txt"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"the limit is 100"* ]]
    run --separate-stderr "$bin/geodec-ngram" --text "$tmp/none.txt" "$tmp/a.txt"
    [ "$status" -ne 0 ]
    [ -z "$output" ]
    [[ "$stderr" == *"none.txt"* ]]
}
