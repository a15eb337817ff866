#!/usr/bin/env bats
# Codes of the key and value cache: the table, its artifact, the same bytes with any threads, and perplexity through a code.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    model=${GEODEC_TEST_MODEL:-data/model/geodec-stories-f16.gguf}
    [ -r "$model" ] || skip "no model: set GEODEC_TEST_MODEL"
    "$bin/geodec-corpus" --quiet --seed 3 --stories 12 -o "$tmp/text"
}

@test "a row for each code, errors in the order of the bytes, the same artifact with any number of threads" {
    "$bin/geodec-integer-keycodes" --model "$model" --codes q8_0,q4_0,q3,klt/pre --every 2 --calibration 1024 --tokens 256 --replicates 50 --perplexity --windows 2 \
        --threads 1 -o "$tmp/a.h5" "$tmp/text" > "$tmp/table" 2> "$tmp/err"
    grep -q "measured on" "$tmp/err"
    [ "$(wc -l < "$tmp/table")" -eq 5 ]
    awk -F '\t' '{ e[$1] = $5; k[$1] = $11; b[$1] = $2 }
        END { exit !(e["q8_0"] < e["klt/pre"] && e["klt/pre"] < e["q4_0"] && e["q4_0"] < e["q3"] && b["klt/pre"] < 0.5 && k["klt/pre"] < k["q4_0"]) }' "$tmp/table"
    "$bin/geodec-check" "$tmp/a.h5"
    "$bin/geodec-integer-keycodes" --quiet --model "$model" --codes q8_0,q4_0,q3,klt/pre --every 2 --calibration 1024 --tokens 256 --replicates 50 --perplexity --windows 2 \
        --threads 2 -o "$tmp/b.h5" "$tmp/text" > /dev/null
    "$bin/geodec-diff" "$tmp/a.h5" "$tmp/b.h5"
}

@test "codes and texts that are refused" {
    run --separate-stderr "$bin/geodec-integer-keycodes" --model "$model" --codes q5 -o "$tmp/c.h5" "$tmp/text"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"no code is named q5"* ]]
    [ ! -e "$tmp/c.h5" ]
    printf 'one short line\n' > "$tmp/short"
    run "$bin/geodec-integer-keycodes" --quiet --model "$model" -o "$tmp/c.h5" "$tmp/short"
    [ "$status" -eq 5 ]
    # a sound model whose keys cannot be replaced is not measured
    run --separate-stderr "$bin/geodec-integer-keycodes" --quiet --model tests/golden/perspective/tiny-perspective.gguf -o "$tmp/c.h5" "$tmp/text"
    [ "$status" -eq 5 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ ! -e "$tmp/c.h5" ]
}
