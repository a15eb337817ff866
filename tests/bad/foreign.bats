#!/usr/bin/env bats
# HDF5 files of other programs: external data, unbounded sizes and missing data are refused in one line with code 3.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_foreign_h5" "$dir"
}

import() { # NAME DATASET
    ulimit -v 600000 # KiB: far less than what these files ask for
    "$bin/geodec-import" --quiet --coordinates --threads 1 --dataset "$2" -o "$dir/out.h5" "$dir/$1.h5"
}

# refused NAME CODE WORD [DATASET]
refused() {
    run --separate-stderr import "$1" "${4:-x}"
    echo "status $status, stdout '$output', stderr '$stderr'"
    [ "$status" -eq "$2" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == "geodec-import: $dir/$1.h5"*"$3"* ]]
    [ ! -e "$dir/out.h5" ]
    [ ! -e "$dir/.out.h5.tmp" ]
}

@test "control: the same numbers plain, compressed, compressed in another order, and in a chunk without compression" {
    for name in plain packed packed-sum-first packed-skipped; do
        import "$name" x
        "$bin/geodec-table" "$dir/out.h5" /coordinates > "$dir/$name.tsv"
        rm "$dir/out.h5"
        cmp "$dir/$name.tsv" "$dir/plain.tsv"
    done
    [ "$(wc -l < "$dir/plain.tsv")" = 65 ]
    import group g/x
    cmp <("$bin/geodec-table" "$dir/out.h5" /coordinates) "$dir/plain.tsv"
    rm "$dir/out.h5"
}

@test "link to another file" { refused external-link 3 "x is a link to elsewhere"; }
@test "link within the file" { refused soft-link 3 "x is a link to elsewhere"; }
@test "group that is a link to another file" { refused external-group 3 "g/x is a link to elsewhere" g/x; }
@test "committed type for a dataset" { refused committed-type 1 "no dataset x"; }
@test "committed type for a group" { refused committed-type 1 "no dataset x/y" x/y; }
@test "numbers stored in another file" { refused external-storage 3 "x is stored outside the file"; }
@test "virtual dataset" { refused virtual 3 "x is stored outside the file"; }
@test "filter scaleoffset" { refused scaleoffset 3 "filter 6 (scaleoffset)"; }
@test "filter nbit" { refused nbit 3 "filter 5 (nbit)"; }
@test "filter of a plug-in" { refused plugin 3 "filter 32000 (lzf)"; }
@test "compressed twice: a million to one" { refused twice 3 "deflate twice"; }
@test "chunks missing" { refused missing-chunks 3 "1 of 7 chunks are stored"; }
@test "a chunk that inflates to more than a chunk" { refused chunk-grows 3 "does not hold 2048 bytes"; }
@test "a chunk that inflates to less" { refused chunk-short 3 "does not hold 2048 bytes"; }
@test "a chunk stored in more bytes than it holds" { refused chunk-stored-large 3 "2048 bytes is stored in 60000"; }
@test "a chunk stored in fewer bytes than it holds" { refused chunk-unsummed 3 "cannot be in 1024 stored"; }
@test "a chunk of 300 MiB" { refused chunk-above-limit 3 "chunks are above the limit of 256 MiB"; }
@test "1 MB that becomes 8.9 GB" { refused grows-to-memory 3 "8858370048 bytes of memory"; }

# Two files found by fuzzing (tests/fuzz): the HDF5 library reads past its memory on one, and allocates 4 GiB on the other.
@test "a file on which the HDF5 library crashes" {
    cp tests/bad/files/hdf5-crashes.h5 "$dir/crash.h5"
    run --separate-stderr "$bin/geodec-import" --quiet --coordinates --threads 1 --dataset f64 -o "$dir/out.h5" "$dir/crash.h5"
    [ "$status" -eq 3 ]
    [ "$stderr" = "geodec-import: $dir/crash.h5: the file is damaged, the HDF5 library fails on it" ]
    [ ! -e "$dir/out.h5" ]
    [ ! -e "$dir/.out.h5.tmp" ]
    # within a limit of memory the library may also fail on a good file
    refused crash 1 "within the limit of memory, or the file is damaged" f64
}

@test "a file of 3 kB whose structure needs 4 GiB" {
    cp tests/bad/files/hdf5-takes-4-gib.h5 "$dir/large.h5"
    run --separate-stderr "$bin/geodec-check" "$dir/large.h5"
    echo "status $status, stderr '$stderr'"
    [ "$status" -eq 3 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"$dir/large.h5"*"memory allocation failed"* ]]
}
