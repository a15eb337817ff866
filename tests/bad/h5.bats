#!/usr/bin/env bats
# Damaged artifacts: the right exit code, one line on stderr that names the file, nothing on stdout, no file left.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_h5" "$BATS_FILE_TMPDIR"
}

setup() {
    dir=$BATS_FILE_TMPDIR
}

# says PATH CODE WORD TOOL...: the tool ends with CODE and prints one line with the path and WORD.
says() {
    local path=$1 code=$2 word=$3 before after
    shift 3
    shopt -s dotglob
    before=("$dir"/*)
    run --separate-stderr "$@" "$path"
    after=("$dir"/*)
    echo "status $status, stdout '$output', stderr '$stderr'"
    [ "$status" -eq "$code" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"$path"* ]]
    [[ "$stderr" == *"$word"* ]]
    [ "${before[*]}" = "${after[*]}" ]
}

# refused NAME WORD: geodec-check and geodec-info both refuse the input.
refused() {
    says "$dir/$1.h5" 3 "$2" "$bin/geodec-check"
    says "$dir/$1.h5" 3 "$2" "$bin/geodec-info"
}

@test "control: the undamaged file, and its copy sealed by the test, are accepted" {
    for name in good sealed-good; do
        run --separate-stderr "$bin/geodec-check" "$dir/$name.h5"
        echo "$stderr"
        [ "$status" -eq 0 ]
        [ -z "$output" ]
        [ -z "$stderr" ]
        run --separate-stderr "$bin/geodec-info" "$dir/$name.h5"
        [ "$status" -eq 0 ]
        [ -n "$output" ]
        [ -z "$stderr" ]
    done
}

@test "empty file" { refused empty "empty"; }
@test "truncated after 1 byte" { refused cut-1-byte "not a Geodec artifact"; }
@test "truncated within the header" { refused cut-in-header "truncated"; }
@test "truncated before the HDF5 part" { refused cut-before-hdf5 "geodec-export"; }
@test "truncated within the superblock" { refused cut-in-superblock "geodec-export"; }
@test "truncated within the metadata" { refused cut-in-metadata "geodec-export"; }
@test "truncated within the data" { refused cut-in-data "geodec-export"; }
@test "last page missing" { refused cut-last-page "geodec-export"; }
@test "last byte missing" { refused cut-last-byte "digest"; }
@test "flipped bit in the header's magic number" { refused flip-header-mark "not a Geodec artifact"; }
@test "flipped bit in the header's kind" { refused flip-header-kind "kind"; }
@test "flipped bit in the header's major version" { refused flip-header-version "version"; }
@test "flipped bit in the header's minor version" { refused flip-header-minor "header says"; }
@test "flipped bit in the header's digest" { refused flip-header-digest ""; }
@test "flipped bit in the header's padding" { refused flip-header-padding "header is damaged"; }
@test "flipped bit in the superblock" { refused flip-superblock "digest"; }
@test "flipped bit in an attribute" { refused flip-attribute "digest"; }
@test "flipped bit in an object header" { refused flip-object-header "digest"; }
@test "flipped bit in a field's name" { refused flip-field-name "digest"; }
@test "flipped bit in a chunk" { refused flip-chunk "digest"; }
@test "flipped bit in the last byte" { refused flip-last-byte "digest"; }
@test "bytes appended" { refused appended-junk "digest"; }
@test "not HDF5" { refused not-hdf5 "not a Geodec artifact"; }
@test "a valid header before junk" { refused header-then-junk "not readable as HDF5"; }
@test "HDF5 without the header" { refused hdf5-without-header "not a Geodec artifact"; }
@test "major version too new" { refused major-too-new "schema version 9.0"; }
@test "header and contents disagree about the version" { refused versions-disagree "1.7"; }
@test "unknown kind" { refused unknown-kind "'nonsense'"; }
@test "missing field" { refused missing-field "/token is missing"; }
@test "wrong number type" { refused wrong-type "/token is not of type i32"; }
@test "wrong byte order" { refused big-endian "/token is not of type i32"; }
@test "wrong rank" { refused wrong-rank "/token has rank 2, not 1"; }
@test "fields disagree about a dimension" { refused dims-disagree "dimension R"; }
@test "2^40 elements, chunked" { refused absurd-chunked "above the limit"; }
@test "2^40 elements, contiguous" { refused absurd-contiguous "above the limit"; }
@test "600 x 2^34 elements" { refused absurd-product "/logits: its size is above the limit of 64 GiB"; }
@test "more elements than the file can hold" { refused larger-than-file "/logits: 2516582400 bytes cannot be"; }
@test "a chunk of 75 MiB" { refused absurd-chunk "/logits: chunks are above the limit"; }
@test "chunks missing" { refused missing-chunks "chunks are stored"; }
@test "a field without data" { refused unwritten "not stored whole"; }
@test "missing attribute" { refused missing-attribute "n_vocab is missing"; }
@test "missing provenance" { refused missing-provenance "seed is missing"; }
@test "attribute of another type" { refused wrong-attribute "n_vocab"; }
@test "terminal escapes in a text" { refused escape-in-text "command_line"; }
@test "text that is not UTF-8" { refused bad-utf8 "tool"; }
@test "text of variable length" { refused variable-text "tool"; }
@test "soft link for a field" { refused soft-link "/token is a link"; }
@test "link to another file" { refused external-link "/token is a link"; }
@test "data stored in another file" { refused external-storage "/token is stored outside"; }
@test "group for a field" { refused group-for-field "/token is not a dataset"; }
@test "unknown filter" { refused unknown-filter "/token uses filter 6 (scaleoffset)"; }

@test "the other readers refuse in the same way" {
    for name in cut-in-data flip-chunk missing-field absurd-chunked; do
        says "$dir/$name.h5" 3 "geodec-export" "$bin/geodec-info" --json
        says "$dir/$name.h5" 3 "geodec-export" "$bin/geodec-table" --attrs
        says "$dir/$name.h5" 3 "geodec-export" "$bin/geodec-diff" "$dir/good.h5"
    done
}

@test "bad chunk with a valid digest: detected when the data are read" {
    says "$dir/sealed-bad-chunk.h5" 3 "/state" "$bin/geodec-check"
    run --separate-stderr "$bin/geodec-table" "$dir/sealed-bad-chunk.h5" state
    [ "$status" -eq 3 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "a chunk that inflates to more than its size, with a valid digest" {
    says "$dir/chunk-grows.h5" 3 "/token: a compressed chunk is damaged, or does not hold 2400 bytes" "$bin/geodec-check"
}

@test "NaN with a valid digest: status 4" {
    says "$dir/not-a-number.h5" 4 "/top_logit: element 5" "$bin/geodec-check"
}

@test "wrong kind: the message names the kind, the expected kind and the tool that makes it" {
    for kind in $("$bin/geodec-info" --kinds | grep -v '^activations$'); do
        says "$dir/good.h5" 3 "is of kind 'activations', not '$kind' (made by geodec-" "$bin/geodec-check" --kind "$kind"
    done
}

@test "missing file, folder and pipe: status 1" {
    says "$dir/no-such-file.h5" 1 "No such file" "$bin/geodec-check"
    says "$dir" 1 "folder" "$bin/geodec-check"
    mkfifo "$dir/pipe.h5"
    says "$dir/pipe.h5" 1 "not a regular file" timeout 10 "$bin/geodec-check"
}

@test "no permission: status 1" {
    as=()
    if [ "$(id -u)" -eq 0 ]; then # who reads everything, so another tries
        as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
        chmod 755 "$dir" "$BATS_RUN_TMPDIR" 2>/dev/null || true
        "${as[@]}" test -x "$bin/geodec-check" || skip "another user cannot reach the files of the test"
    fi
    cp "$dir/good.h5" "$dir/locked.h5"
    chmod 000 "$dir/locked.h5"
    says "$dir/locked.h5" 1 "Permission denied" "${as[@]}" "$bin/geodec-check"
}

@test "every file has a line; the first failure gives the status" {
    run --separate-stderr "$bin/geodec-check" "$dir/good.h5" "$dir/empty.h5" "$dir/no-such-file.h5" "$dir/cut-in-data.h5"
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 3 ]
}

@test "one flipped bit at 60 positions of the file" {
    size=$(stat -c %s "$dir/good.h5")
    for i in $(seq 0 59); do
        at=$((i * size / 60))
        cp "$dir/good.h5" "$dir/flip.h5"
        byte=$(od -An -tu1 -j "$at" -N 1 "$dir/good.h5")
        # shellcheck disable=SC2059
        printf "\\$(printf %03o $((byte ^ (1 << (i % 8)))))" | dd of="$dir/flip.h5" bs=1 seek="$at" conv=notrunc status=none
        says "$dir/flip.h5" 3 "" "$bin/geodec-check"
    done
    rm "$dir/flip.h5"
}
