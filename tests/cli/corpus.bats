#!/usr/bin/env bats
# geodec-corpus and geodec-vocab: reports, shards, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    d=$BATS_TEST_TMPDIR
}

@test "a corpus is the same with any number of threads, and in shards" {
    "$bin/geodec-corpus" -q --stories 60 --threads 1 -o "$d/a.txt"
    "$bin/geodec-corpus" -q --stories 60 --threads 3 -o "$d/b.txt"
    cmp "$d/a.txt" "$d/b.txt"
    "$bin/geodec-corpus" -q --stories 25 --first 35 -o "$d/c.txt"
    n=$(wc -c < "$d/c.txt")
    tail -c "$n" "$d/a.txt" | cmp - "$d/c.txt"
    [ "$(grep -cx '<|endoftext|>' "$d/a.txt")" -eq 59 ]
}

@test "the report holds the entropy with its error and the n-gram control above it" {
    "$bin/geodec-corpus" -q --stories 200 --control-stories 200 -o "$d/a.txt" --report "$d/r.json"
    bytes=$(awk '/"bytes":/ { gsub(/[^0-9]/, "", $2); print $2 }' "$d/r.json")
    # the file has the stories, 199 separators of 17 bytes and a line feed
    [ "$(wc -c < "$d/a.txt")" -eq $((bytes + 199 * 17 + 1)) ]
    awk -F'[:,]' '/"bytes":/ { n = $2 } /"bits":/ { b = $2 } /"bits_per_byte_error":/ { e = $2 }
        /"bits_per_byte":/ { if (!h) h = $2; else c = $2 }
        END { exit !(h > 0 && h - b / n < 1e-9 && b / n - h < 1e-9 && e > 0 && e < 0.01 && c > h) }' "$d/r.json"
}

@test "a vocabulary is deterministic and names its size" {
    "$bin/geodec-corpus" -q --stories 300 -o "$d/a.txt"
    run "$bin/geodec-vocab" --size 512 -o "$d/1.gguf" "$d/a.txt"
    [ "$status" -eq 0 ]
    [[ "$output" == *"512 tokens, "*" bytes per token"* ]]
    "$bin/geodec-vocab" -q --size 512 --threads 2 -o "$d/2.gguf" "$d/a.txt"
    cmp "$d/1.gguf" "$d/2.gguf"
}

@test "refusals: no amount, an empty text, a text over the limit; no file is left" {
    run "$bin/geodec-corpus" -o "$d/x.txt"
    [ "$status" -eq 2 ]
    : > "$d/empty"
    run "$bin/geodec-vocab" -o "$d/x.gguf" "$d/empty"
    [ "$status" -eq 3 ]
    echo "a longer text" > "$d/long"
    run "$bin/geodec-vocab" --limit 4 -o "$d/x.gguf" "$d/long"
    [ "$status" -eq 3 ]
    run "$bin/geodec-corpus" --stories 5 -o "$d/no/such/folder/x.txt"
    [ "$status" -eq 1 ]
    [ "$(ls "$d" | sort | tr '\n' ' ')" = "empty long " ]
}
