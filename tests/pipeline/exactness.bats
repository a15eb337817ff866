#!/usr/bin/env bats
# The exactness matrix, small: every deterministic drafter, draft length and tree compared with plain decoding, one and two threads.
# Finished cells are kept. A difference, an undetected fault and counts that depend on threads end the run.
# full: the check of every drafter on a small model
# bats file_tags=full

bats_require_minimum_version 1.5.0
load ../root

setup() {
    model=data/model/geodec-stories-f16.gguf
    out=$BATS_TEST_TMPDIR/matrix
    export PROMPTS=2 BLOCK=1 TOKENS=16 SEEDS=1 TEXTS=6 GAMMAS=1,2,3,8,16 TREES=2,16,64 CONTROLS=1
}

# with_bench 'SCRIPT': a folder of programs in which geodec-bench-decode is SCRIPT; $real is the real one.
with_bench() {
    mkdir -p "$BATS_TEST_TMPDIR/bin"
    ln -sf "$bin"/geodec-* "$BATS_TEST_TMPDIR/bin/"
    rm "$BATS_TEST_TMPDIR/bin/geodec-bench-decode"
    printf '#!/bin/bash\nreal=%s\n%s\n' "$bin/geodec-bench-decode" "$1" > "$BATS_TEST_TMPDIR/bin/geodec-bench-decode"
    chmod +x "$BATS_TEST_TMPDIR/bin/geodec-bench-decode"
}

@test "no drafter, draft length, tree or thread changes a token; every planted fault does; finished cells are kept" {
    pipelines/lab/exactness/exactness "$bin" "$out" "$model" > "$BATS_TEST_TMPDIR/table"
    awk -F'\t' 'NR > 1 && $1 != "all" && ($4 != 15 * 8 * 2 || $6 != 0) {bad = 1} $1 == "all" {all = $4; compared = $5; wrong = $6}
        END {exit bad || all != 960 || compared < 15000 || wrong != 0}' "$out/exactness.tsv" || { cat "$out/exactness.tsv"; false; }
    awk -F'\t' 'NR > 1 {n++; if ($9 == 0 || $7 == 0 || ($2 == "sibling") != ($5 == 0)) bad = 1} END {exit bad || n != 4}' "$out/faults.tsv" ||
        { cat "$out/faults.tsv"; false; }
    [ "$(awk -F'\t' 'NR > 1' "$out/drafters.tsv" | wc -l)" -eq 15 ]
    [ "$(awk -F'\t' 'NR > 1 {s += $3} END {print s}' "$out/lengths.tsv")" -eq 960 ]
    pipelines/lab/exactness/page "$out" > "$BATS_TEST_TMPDIR/page.md"
    grep -q 'Result: 0 of .* in 960 cells.* not detect: 0 of 4' "$BATS_TEST_TMPDIR/page.md"
    [ "$(find "$out" -name 't*-b*.tsv' | wc -l)" -eq 4 ]
    rm "$out"/*/t2-b1.tsv
    touch "$BATS_TEST_TMPDIR/then"
    pipelines/lab/exactness/exactness "$bin" "$out" "$model" > "$BATS_TEST_TMPDIR/again"
    cmp "$BATS_TEST_TMPDIR/table" "$BATS_TEST_TMPDIR/again"
    [ "$(find "$out" -name 't*-b*.tsv' -newer "$BATS_TEST_TMPDIR/then" | wc -l)" -eq 1 ]
    "$bin/geodec-check" "$out"/*/t*-b*.h5
}

@test "in integers, no drafter of a dense model or a mixture changes a token, and every planted fault does" {
    export ARITHMETIC=integer PROMPTS=1 TOKENS=12 GAMMAS=1,5 TREES=16
    pipelines/lab/exactness/exactness "$bin" "$out" data/model/geodec-stories-q8_0.gguf data/model/geodec-mixture-f16.gguf > "$BATS_TEST_TMPDIR/table"
    awk -F'\t' '$1 == "all" {all = $4; compared = $5; wrong = $6} END {exit all != 360 || compared < 4000 || wrong != 0}' "$out/exactness.tsv" ||
        { cat "$out/exactness.tsv"; false; }
    awk -F'\t' 'NR > 1 {n++; if ($9 == 0) bad = 1} END {exit bad || n != 8}' "$out/faults.tsv" || { cat "$out/faults.tsv"; false; }
    pipelines/lab/exactness/page "$out" > "$BATS_TEST_TMPDIR/page.md"
    grep -q 'ARITHMETIC=integer' "$BATS_TEST_TMPDIR/page.md"
    ARITHMETIC=exact DRAFTERS=ngram THREADS=1 pipelines/lab/exactness/exactness "$bin" "$out" "$model" > "$BATS_TEST_TMPDIR/table" # nothing of the other is kept
    awk -F'\t' '$1 == "all" {exit $4 != 6}' "$out/exactness.tsv"
}

@test "a broken verifier ends the run with status 4, and its differences are in the table" {
    with_bench 'exec "$real" "$@" --fault stale'
    run --separate-stderr env DRAFTERS=ngram pipelines/lab/exactness/exactness "$BATS_TEST_TMPDIR/bin" "$out" "$model"
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"1 threads, prompts 1 to 1: status 4: "*"output tokens differ from plain decoding"* ]]
    awk -F'\t' '$1 == "all" {wrong = $6} END {exit !(wrong > 0)}' "$out/exactness.tsv"
    run pipelines/lab/exactness/page "$out"
    [ "$status" -eq 1 ] # no page of half a run
}

@test "a planted fault that changes nothing, and counts that depend on the threads, end the run with status 4" {
    with_bench '[[ "$*" != *"--fault stale"* ]] || { args=("$@"); for i in "${!args[@]}"; do
        [ "${args[i]}" != --fault ] || unset "args[i]" "args[i+1]"; done; set -- "${args[@]}"; }; exec "$real" "$@"'
    run --separate-stderr env DRAFTERS=ngram THREADS=1 pipelines/lab/exactness/exactness "$BATS_TEST_TMPDIR/bin" "$out" "$model"
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"the planted fault 'stale' is not detected: status 0"* ]]
    with_bench '[[ "$*" != *"--threads 2"* ]] || set -- "$@" --seed 2; exec "$real" "$@"'
    run --separate-stderr env DRAFTERS=ngram pipelines/lab/exactness/exactness "$BATS_TEST_TMPDIR/bin" "$out" "$model"
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"the counts of 1 and 2 threads differ"* ]]
}
