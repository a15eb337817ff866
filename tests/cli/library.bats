#!/usr/bin/env bats
# The library that grows next to the flow map (geodec-decode --library): it learns, it never changes the text, and it survives
# kill -9, a full disk and another model.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export model=${GEODEC_TEST_MODEL:-data/model/geodec-stories-f16.gguf}
    [ -r "$model" ] || return 0 # setup says it
    export art=$BATS_FILE_TMPDIR/art
    bake "$model" "$art"
}

setup() {
    [ -r "$model" ] || skip "no model: set GEODEC_TEST_MODEL"
    lib=$tmp/grown
}

# bake MODEL FOLDER: makes a small flow map.
bake() {
    mkdir "$2"
    "$bin/geodec-sample" --quiet --model "$1" --texts 24 --length 64 -o "$2/store.tokens"
    "$bin/geodec-export" --quiet --model "$1" --tokens "$2/store.tokens" --layers last -o "$2/store.h5"
    "$bin/geodec-bake" --quiet -o "$2/flowmap.h5" "$2/store.h5"
}

decode() { "$bin/geodec-decode" --model "$model" --artifacts "$art" --draft flowmap --gamma 8 --force "$@"; }

passes() { sed -n 's/^ *"target_passes": \([0-9]*\).*/\1/p' "$1" | head -n 1; }

refused() {
    local want=$1 word=$2
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$want" ] || { echo "status $status, not $want: $stderr"; false; }
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; false; }
    [[ "$stderr" == *"$word"* ]] || { echo "$stderr"; false; }
}

@test "the library learns from one run to the next, and no text changes" {
    local alone=0 again=0
    for prompt in "Once upon a time" "One day" "The cat"; do
        decode --quiet --prompt "$prompt" --max-tokens 100 --report "$tmp/alone.json" > "$tmp/plain"
        alone=$((alone + $(passes "$tmp/alone.json")))
        for round in 1 2 3; do
            decode --quiet --prompt "$prompt" --max-tokens 100 --library "$lib" --report "$tmp/r$round.json" > "$tmp/text"
            cmp "$tmp/plain" "$tmp/text"
        done
        again=$((again + $(passes "$tmp/r3.json")))
    done
    echo "passes: map alone $alone, with the library $again"
    [ $((again * 3)) -lt $((alone * 2)) ]
    for options in "--temperature 0.8 --seed 4" "--tree 16" "--draft ngram+flowmap --tree 8" "--min-tokens 90" "--temperature 1 --tree 8"; do
        # shellcheck disable=SC2086
        decode --quiet $options --prompt "One day" --max-tokens 100 --library "$lib" --check-plain > /dev/null
    done
}

@test "the same texts give the same bytes, with any drafts" {
    local i=0
    for options in "--gamma 8" "--gamma 1" "--gamma 16 --tree 12" "--gamma auto" "--threads 2 --gamma 4"; do
        rm -f "$lib"
        for prompt in "Once upon a time" "One day" "One day"; do
            # shellcheck disable=SC2086
            decode --quiet $options --prompt "$prompt" --max-tokens 60 --library "$lib" > /dev/null
        done
        cp "$lib" "$tmp/lib.$i"
        cmp "$tmp/lib.0" "$tmp/lib.$i"
        i=$((i + 1))
    done
    [ "$(stat -c %s "$lib")" -gt 1000 ]
}

@test "the bound is kept, and is stored in the file" {
    for seed in 1 2 3 4 5 6 7 8; do
        decode --prompt "One day" --max-tokens 220 --temperature 1.5 --seed "$seed" --library "$lib" --library-bytes 90000 2> "$tmp/err" > /dev/null
    done
    [ "$(stat -c %s "$lib")" -le 90000 ]
    records=$(sed -n 's/.*library: \([0-9]*\) records.*/\1/p' "$tmp/err")
    grep -q "room for $records" "$tmp/err" # the ring is full: old records made room
    decode --quiet --prompt "One day" --max-tokens 20 --library "$lib" > /dev/null
    refused 2 "bound" decode --quiet --library "$lib" --library-bytes 95000
    refused 2 "--library" decode --quiet --library-bytes 90000
    refused 2 "flowmap" decode --quiet --library "$lib" --draft ngram
}

@test "after kill -9 at any moment the library opens undamaged, and drafting continues" {
    local i begun took # the moments are spread over what a run takes, however fast or busy the machine
    begun=$(date +%s%3N)
    "$bin/geodec-decode" --quiet --model "$model" --artifacts "$art" --draft flowmap --prompt "Day 0" --temperature 1.2 --max-tokens 200 \
        --library "$tmp/other" > /dev/null
    took=$(($(date +%s%3N) - begun))
    for i in $(seq 30); do
        "$bin/geodec-decode" --quiet --model "$model" --artifacts "$art" --draft flowmap --prompt "Day $i" \
            --temperature 1.2 --seed "$i" --max-tokens 200 --library "$lib" > /dev/null 2> "$tmp/err" &
        sleep "$(awk -v t="$took" -v i="$i" 'BEGIN {print t * i / 25000}')"
        kill -9 $! 2> /dev/null || true
        wait $! 2> /dev/null || true
        [ ! -s "$tmp/err" ] || { cat "$tmp/err"; false; } # no damage found, no refusal
    done
    [ "$(stat -c %s "$lib")" -gt 1000 ]
    decode --quiet --prompt "One day" --max-tokens 60 --library "$lib" --check-plain > /dev/null
    run --separate-stderr decode --prompt "One day" --max-tokens 60 --library "$lib"
    [ "$status" -eq 0 ]
    [[ "$stderr" != *damaged* ]]
}

@test "a full disk gives a warning; the text continues, and the file stays valid" {
    decode --quiet --prompt "Once upon a time" --max-tokens 100 > "$tmp/plain"
    decode --quiet --prompt "The cat" --max-tokens 40 --library "$lib" > /dev/null
    cp "$lib" "$tmp/before"
    # the limit is in KiB: the file is filled up to it
    limit=$(($(stat -c %s "$lib") / 1024 + 1))
    ulimit -f "$limit"
    run --separate-stderr decode --prompt "Once upon a time" --max-tokens 100 --library "$lib"
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$tmp/plain")" ]
    [[ "$stderr" == *"$lib: File too large"* ]] || { echo "$stderr"; false; }
    [ $((($(stat -c %s "$lib") - 256) % 64)) -eq 0 ]
    cmp -n "$(stat -c %s "$tmp/before")" "$lib" "$tmp/before"
    run --separate-stderr decode --prompt "The cat" --max-tokens 40 --library "$lib"
    [ "$status" -eq 0 ]
    [[ "$stderr" != *damaged* ]]
}

@test "a disk without space for a single record" {
    if ! mount -t tmpfs -o size=4096 none "$tmp" 2> /dev/null; then skip "no right to mount a small disk"; fi
    head -c 4096 /dev/zero > "$tmp/full" || true
    decode --quiet --prompt "One day" --max-tokens 40 > "$BATS_FILE_TMPDIR/plain"
    decode --prompt "One day" --max-tokens 40 --library "$tmp/grown" > "$BATS_FILE_TMPDIR/text" 2> "$BATS_FILE_TMPDIR/err" || code=$?
    umount "$tmp"
    [ "${code:-0}" -eq 0 ]
    cmp "$BATS_FILE_TMPDIR/plain" "$BATS_FILE_TMPDIR/text"
    grep -q "No space left" "$BATS_FILE_TMPDIR/err"
}

@test "another model, another map, another writer" {
    decode --quiet --max-tokens 40 --library "$lib" > /dev/null
    "$bin/geodec-quantize" --quiet --type q8_0 -o "$tmp/q8.gguf" "$model" > /dev/null
    bake "$tmp/q8.gguf" "$tmp/q8"
    refused 3 "another model" "$bin/geodec-decode" --quiet --model "$tmp/q8.gguf" --artifacts "$tmp/q8" --draft flowmap --library "$lib"
    mkdir "$tmp/other"
    "$bin/geodec-bake" --quiet --ridge 31 -o "$tmp/other/flowmap.h5" "$art/store.h5"
    refused 3 "another flow map" "$bin/geodec-decode" --quiet --model "$model" --artifacts "$tmp/other" --draft flowmap --library "$lib"
    exec 8<> "$lib"
    flock 8
    refused 1 "another process" decode --quiet --library "$lib"
    exec 8<&-
    decode --quiet --max-tokens 10 --library "$lib" > /dev/null
}
