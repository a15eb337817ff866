#!/usr/bin/env bats
# geodec-export: shards, positions, continuation after a kill.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
    for i in $(seq 400); do printf 'a ba abba %d cab\n<|endoftext|>\n' "$i"; done > "$BATS_FILE_TMPDIR/text.txt"
}

setup() {
    model=$BATS_FILE_TMPDIR/good.gguf
    export=("$bin/geodec-export" -m "$model" --text "$BATS_FILE_TMPDIR/text.txt" --layers all)
}

@test "shards with an index; a second run refuses, another thread count gives the same bytes" {
    run "${export[@]}" --format safetensors --shard-tokens 1000 -t 1 -o "$tmp/a"
    [ "$status" -eq 0 ]
    n=$(find "$tmp/a" -name 'model-*-of-*.safetensors' | wc -l)
    [ "$n" -gt 3 ]
    [ -f "$tmp/a/$(printf 'model-00001-of-%05d.safetensors' "$n")" ]
    grep -q "\"shards\": $n," "$tmp/a/model.safetensors.index.json"
    "${export[@]}" -q --format safetensors --shard-tokens 1000 -t 3 -o "$tmp/b"
    diff -r "$tmp/a" "$tmp/b"
    run "${export[@]}" --format safetensors --shard-tokens 1000 -o "$tmp/a"
    [ "$status" -eq 1 ]
    [[ "$output" == *"exists; --force"* ]]
    "${export[@]}" -q --force --format safetensors --shard-tokens 1000 -o "$tmp/a"
    diff -r "$tmp/a" "$tmp/b"
}

@test "after several kills the artifact has the same bytes, and no other file is left" {
    "${export[@]}" -q -t 1 -o "$tmp/whole.h5"
    for delay in 0.02 0.03 0.05 0.08; do
        [ -e "$tmp/a.h5" ] || timeout -s KILL "$delay" "${export[@]}" -q --shard-tokens 500 -t 1 -o "$tmp/a.h5" || true
    done
    [ -e "$tmp/a.h5" ] || "${export[@]}" -q --shard-tokens 500 -t 2 -o "$tmp/a.h5"
    cmp "$tmp/whole.h5" "$tmp/a.h5"
    "${export[@]}" -q --force --shard-tokens 500 -o "$tmp/a.h5"
    cmp "$tmp/whole.h5" "$tmp/a.h5"
    [ ! -e "$tmp/a.h5.parts" ]
}

@test "partial output of other options is refused, and --force replaces it" {
    run "${export[@]}" --format safetensors --shard-tokens 500 -o "$tmp/s"
    [ "$status" -eq 0 ]
    rm "$tmp/s/model.safetensors.index.json"
    run "${export[@]}" --f16 --format safetensors --shard-tokens 500 -o "$tmp/s"
    [ "$status" -eq 3 ]
    [[ "$output" == *"another model, text or set of options"* ]]
    run "${export[@]}" --format safetensors --shard-tokens 500 -o "$tmp/s"
    [ "$status" -eq 0 ]
    [[ "$output" == *"shards were there"* ]]
    rm "$tmp/s/model.safetensors.index.json"
    "${export[@]}" -q --f16 --force --format safetensors --shard-tokens 500 -o "$tmp/s"
}

@test "positions and modes are recorded; positions are checked" {
    "${export[@]}" -q --positions last -o "$tmp/last.h5"
    run "$bin/geodec-info" "$tmp/last.h5"
    [[ "$output" == *positions*last* && "$output" == *arithmetic*exact* && "$output" == *kv*f32* ]]
    "${export[@]}" -q --positions last --top-m 0 -o "$tmp/bare.h5"
    "$bin/geodec-check" "$tmp/bare.h5"
    for bad in every:0 every:x 5:5 5:4 x 1: -1:4 lastly; do
        run "${export[@]}" --positions="$bad" -o "$tmp/bad.h5"
        [ "$status" -eq 2 ]
        [[ "$output" == *"none of all, last, every:K, FROM:TO"* ]]
    done
    [ ! -e "$tmp/bad.h5" ]
}

@test "a cloud can be made from selected positions, a flow map cannot" {
    "${export[@]}" -q --positions every:2 -o "$tmp/some.h5"
    "$bin/geodec-cloud" -q -o "$tmp/cloud.h5" "$tmp/some.h5"
    run "$bin/geodec-bake" -o "$tmp/flowmap.h5" "$tmp/some.h5"
    [ "$status" -ne 0 ]
    [ ! -e "$tmp/flowmap.h5" ]
}
