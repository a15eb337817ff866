#!/usr/bin/env bats
# Damaged libraries (geodec-decode --library) with valid digests and wrong contents. The tool prints one line that names the file and
# ends with the right exit code, or it ignores the records and the text is that of plain decoding.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export model=${GEODEC_TEST_MODEL:-data/model/geodec-stories-f16.gguf}
    [ -r "$model" ] || return 0 # setup says it
    export art=$BATS_FILE_TMPDIR
    "$bin/geodec-sample" --quiet --model "$model" --texts 24 --length 64 -o "$art/store.tokens"
    "$bin/geodec-export" --quiet --model "$model" --tokens "$art/store.tokens" --layers last -o "$art/store.h5"
    "$bin/geodec-bake" --quiet -o "$art/flowmap.h5" "$art/store.h5"
    "$bin/geodec-decode" --quiet --model "$model" --prompt "One day" --max-tokens 60 > "$art/plain"
    for prompt in "Once upon a time" "One day"; do
        decode "$art/good" --prompt "$prompt" --max-tokens 60 > /dev/null
    done
}

setup() {
    [ -r "$model" ] || skip "no model: set GEODEC_TEST_MODEL"
    lib=$BATS_TEST_TMPDIR/bad
    cp "$art/good" "$lib"
}

decode() {
    local file=$1
    shift
    "$bin/geodec-decode" --model "$model" --artifacts "$art" --draft flowmap --gamma 8 --library "$file" "$@"
}

# poke OFFSET HEX...: bytes of the file.
poke() {
    local at=$1
    shift
    printf '%b' "$(printf '\\x%s' "$@")" | dd of="$lib" bs=1 seek="$at" conv=notrunc status=none
}

# The first 8 bytes of a SHA-256 of standard input, as a little-endian number at OFFSET.
seal() {
    local hex
    hex=$(sha256sum | cut -c 1-16)
    # shellcheck disable=SC2046
    poke "$1" $(echo "$hex" | sed 's/\(..\)/\1 /g' | tr ' ' '\n' | sed '/^$/d' | tac)
}

seal_head() { head -c 248 "$lib" | seal 248; }

# seal_slot I: writes the digest of slot I, which covers the header's digest and the slot; keys have 16 coordinates.
seal_slot() {
    local at=$((256 + $1 * 64))
    { tail -c +249 "$lib" | head -c 8; tail -c +$((at + 1)) "$lib" | head -c 56; } | seal $((at + 56))
}

refused() {
    local want=$1 word=$2
    run --separate-stderr timeout 300 "$bin/geodec-decode" --quiet --model "$model" --artifacts "$art" --draft flowmap --library "$lib"
    [ "$status" -eq "$want" ] || { echo "status $status, not $want: $stderr"; false; }
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; false; }
    [[ "$stderr" == *"$lib"* && "$stderr" == *"$word"* ]] || { echo "$stderr"; false; }
}

# decodes_plainly: the text is that of plain decoding, in a second run too.
decodes_plainly() {
    for i in 1 2; do
        run --separate-stderr timeout 300 "$bin/geodec-decode" --model "$model" --artifacts "$art" --draft flowmap --gamma 8 \
            --prompt "One day" --max-tokens 60 --library "$lib"
        [ "$status" -eq 0 ] || { echo "status $status: $stderr"; false; }
        [ "$output" = "$(cat "$art/plain")" ]
    done
}

@test "control: sealing an undamaged file changes nothing, and the file opens" {
    seal_head
    seal_slot 0
    seal_slot 3
    cmp "$art/good" "$lib"
    decodes_plainly
}

@test "files that are not a library" {
    head -c 5000 /dev/urandom > "$lib"
    refused 3 "no grown library"
    cp "$art/flowmap.h5" "$lib"
    refused 3 "no grown library"
    printf 'a' > "$lib"
    refused 3 "no grown library"
    rm "$lib"
    mkdir "$lib"
    refused 1 ""
}

@test "a truncated or damaged header, and one of another version" {
    head -c 200 "$art/good" > "$lib"
    refused 3 "cut off"
    cp "$art/good" "$lib"
    poke 20 ff
    refused 3 "damaged"
    cp "$art/good" "$lib"
    poke 8 02
    seal_head
    refused 3 "version 2"
}

@test "sizes that do not fit: ring, bound, keys, vocabulary" {
    poke 16 ff ff ff ff ff ff ff 7f
    seal_head
    refused 3 "sizes"
    poke 24 00 00 00 00 00 00 00 80
    seal_head
    refused 3 "sizes"
    cp "$art/good" "$lib"
    poke 16 00 00 00 00 00 00 00 00
    seal_head
    refused 3 "sizes"
    cp "$art/good" "$lib"
    poke 12 00 01
    seal_head
    refused 3 "keys"
    cp "$art/good" "$lib"
    poke 32 ff ff ff ff
    seal_head
    refused 3 "vocabulary"
}

@test "fingerprints with control characters give one line" {
    poke 40 0a 1b 00 ff 0a
    seal_head
    refused 3 "another model"
}

@test "sealed records with tokens, successors, keys or numbers out of range are ignored" {
    poke $((256 + 8)) ff ff ff 7f
    seal_slot 0
    poke $((256 + 64 + 12)) fe ff ff ff
    seal_slot 1
    poke $((256 + 128 + 24)) 00 00 00 00 00 00 00 80
    seal_slot 2
    poke $((256 + 192 + 40)) 7f
    seal_slot 3
    poke $((256 + 256)) 00 00 00 00 00 00 00 80
    seal_slot 4
    poke $((256 + 320)) 09
    seal_slot 5
    run --separate-stderr decode "$lib" --prompt "One day" --max-tokens 60
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$art/plain")" ]
    [[ "$stderr" == *"$lib: 6 damaged records left out"* ]] || { echo "$stderr"; false; }
}

@test "successors that form a cycle, or point to other tokens or later records, are not followed" {
    for i in 0 1 2 3 4 5 6 7; do
        poke $((256 + 64 * i + 24)) "$(printf %02x "$i")" 00 00 00 00 00 00 00 # itself
        seal_slot "$i"
    done
    decodes_plainly
    for i in 0 1 2 3; do
        poke $((256 + 64 * i + 24)) ff ff ff ff ff ff ff 7f
        seal_slot "$i"
    done
    decodes_plainly
    for i in 4 5 6 7; do
        poke $((256 + 64 * i + 24)) "$(printf %02x $((254 - i)))" ff ff ff ff ff ff ff # nodes 0, 1, ..
        seal_slot "$i"
    done
    decodes_plainly
}

@test "truncation at every kind of position, and slots of zeros" {
    size=$(stat -c %s "$art/good")
    for cut in 256 257 300 319 320 $((size - 1)) $((size - 63)); do
        head -c "$cut" "$art/good" > "$lib"
        decodes_plainly
    done
    { cat "$art/good"; head -c 6400 /dev/zero; } > "$lib"
    decodes_plainly
}
