#!/usr/bin/env bats
# Errors of users and machines: empty or invalid text, prompts that are too long, full disks, missing permissions, bad output names.
# Each gives the right exit code and one clear line, and leaves no partial output.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    model=$PWD/data/model/geodec-stories-f16.gguf
    out="$BATS_TEST_TMPDIR/out"
    mkdir "$out"
    printf 'Once upon a time there was a cat. It had a red ball. The cat was happy.\n' > "$BATS_TEST_TMPDIR/good.txt"
}

# refused STATUS WORD COMMAND...: that status, nothing on stdout, one line on stderr with the word, nothing left in $out.
refused() {
    local want=$1 word=$2
    shift 2
    run --separate-stderr "$@"
    echo "status $status, stderr: $stderr"
    [ "$status" -eq "$want" ]
    [ -z "$output" ]
    [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ]
    [[ "$stderr" == *"$word"* ]]
    [ -z "$(ls -A "$out")" ]
}

@test "empty text" {
    : > "$BATS_TEST_TMPDIR/empty.txt"
    refused 3 "empty.txt" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/empty.txt" -o "$out/a.h5"
    printf ' \n\t\n' > "$BATS_TEST_TMPDIR/blank.txt"
    refused 3 "empty" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/blank.txt" -o "$out/a.h5"
    refused 3 "empty.txt" "$bin/geodec-vocab" -q --size 512 -o "$out/v.gguf" "$BATS_TEST_TMPDIR/empty.txt"
}

@test "text that is not UTF-8, or not text" {
    printf 'abc\xff\xfe def\n' > "$BATS_TEST_TMPDIR/latin.txt"
    refused 3 "offset 3" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/latin.txt" -o "$out/a.h5"
    printf 'abc\0def\n' > "$BATS_TEST_TMPDIR/nul.txt"
    refused 3 "NUL" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/nul.txt" -o "$out/a.h5"
    refused 3 "UTF-8" "$bin/geodec-decode" -q --model "$model" --prompt "$(printf 'a\xc3(')"
}

@test "token files: letters, negative, out of the vocabulary, empty" {
    for bad in 'one two' '1 -5' '1 99999999' '1 2.5'; do
        echo "$bad" > "$BATS_TEST_TMPDIR/ids"
        refused 3 "line 1" "$bin/geodec-export" -q --model "$model" --tokens "$BATS_TEST_TMPDIR/ids" -o "$out/a.h5"
    done
    : > "$BATS_TEST_TMPDIR/ids"
    refused 3 "ids" "$bin/geodec-export" -q --model "$model" --tokens "$BATS_TEST_TMPDIR/ids" -o "$out/a.h5"
}

@test "a prompt longer than the context" {
    for _ in $(seq 400); do printf 'Once upon a time there was a cat. '; done > "$BATS_TEST_TMPDIR/long.txt"
    refused 3 "context" "$bin/geodec-decode" -q --model "$model" --prompt-file "$BATS_TEST_TMPDIR/long.txt"
}

@test "invalid options are usage errors" {
    refused 2 "layer" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" --layers 99 -o "$out/a.h5"
    refused 2 "layer" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" --layers x -o "$out/a.h5"
    refused 2 "either" "$bin/geodec-export" -q --model "$model" -o "$out/a.h5"
}

@test "a full disk leaves no output and gives an error" {
    mount -t tmpfs -o size=64k geodec-test "$out" 2>/dev/null || skip "needs the right to mount"
    run --separate-stderr "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" --logits -o "$out/a.h5"
    left=$(ls -A "$out")
    umount "$out"
    echo "status $status, stderr: $stderr, left: $left"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"a.h5"* ]]
    [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ]
    [ -z "$left" ]
}

@test "an existing output survives a failure and is not replaced without --force" {
    "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" -o "$out/a.h5"
    before=$(sha256sum < "$out/a.h5")
    run --separate-stderr "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" -o "$out/a.h5"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"--force"* ]]
    run "$bin/geodec-export" -q --force --model "$model" --text "$BATS_TEST_TMPDIR/absent.txt" -o "$out/a.h5"
    [ "$status" -eq 1 ]
    [ "$(sha256sum < "$out/a.h5")" = "$before" ]
    [ "$(ls -A "$out")" = a.h5 ]
}

@test "no permission to read or write" {
    [ "$(id -u)" -eq 0 ] && ! command -v setpriv >/dev/null && skip "root without setpriv"
    as=()
    if [ "$(id -u)" -eq 0 ]; then
        as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
        chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" 2>/dev/null || true
        "${as[@]}" test -r "$BATS_TEST_TMPDIR/good.txt" -a -r "$model" || skip "another user cannot reach the files of the test"
    fi
    chmod 555 "$out"
    refused 1 "a.h5" "${as[@]}" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" -o "$out/a.h5"
    chmod 777 "$out" # an output that cannot be written is found first
    chmod 000 "$BATS_TEST_TMPDIR/good.txt"
    refused 1 "good.txt" "${as[@]}" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" -o "$out/a.h5"
    chmod 755 "$out"
}

@test "outputs that are folders or have no folder" {
    mkdir "$BATS_TEST_TMPDIR/folder"
    run --separate-stderr "$bin/geodec-export" -q --force --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" -o "$BATS_TEST_TMPDIR/folder"
    [ "$status" -eq 1 ]
    [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ]
    refused 1 "nowhere" "$bin/geodec-export" -q --model "$model" --text "$BATS_TEST_TMPDIR/good.txt" -o "$out/nowhere/a.h5"
}

@test "an interrupt ends with 130 and leaves no output" {
    "$bin/geodec-corpus" -q --stories 3000 --seed 1 -o "$BATS_TEST_TMPDIR/big.txt" --report "$BATS_TEST_TMPDIR/big.json"
    "$bin/geodec-export" -q --threads 1 --model "$model" --text "$BATS_TEST_TMPDIR/big.txt" -o "$out/a.h5" &
    pid=$!
    local left=1200 # its file is begun, however busy the machine
    until [ -n "$(ls -A "$out")" ]; do
        ((left-- > 0)) || { echo "never began"; false; }
        sleep 0.05
    done
    kill -INT "$pid"
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 130 ]
    [ -z "$(ls -A "$out")" ]
}
