#!/usr/bin/env bats
# The exactness matrix, small: every deterministic drafter, draft length and tree against plain decoding, one and two threads; what is
# finished is kept, and a mismatch ends the run.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=$PWD/${B:-build/release}/bin
    model=data/model/geodec-stories-f16.gguf
    out=$BATS_TEST_TMPDIR/matrix
    export PROMPTS=1 BLOCK=1 ROTATE=2 TOKENS=16 SEEDS=1 TEXTS=6 GAMMAS=1,2,3,8,16 TREES=2,16,64
}

@test "no drafter, draft length, tree or thread changes a token; finished cells are kept" {
    pipelines/exactness "$bin" "$out" "$model" > "$BATS_TEST_TMPDIR/table"
    awk -F'\t' 'NR > 1 && $1 != "all" && $1 != "drafter" && NF == 7 && ($5 != 13 * 8 || $7 != 0) {bad = 1} $1 == "all" {all = $6; wrong = $7}
        END {exit bad || all < 6000 || wrong != 0}' "$BATS_TEST_TMPDIR/table" || { cat "$BATS_TEST_TMPDIR/table"; false; }
    cells=$(find "$out" -name 't*-b*.tsv' | wc -l)
    [ "$cells" -eq 4 ]
    rm "$out"/*/t2-b0-r1.tsv
    touch "$BATS_TEST_TMPDIR/then"
    pipelines/exactness "$bin" "$out" "$model" > "$BATS_TEST_TMPDIR/again"
    cmp "$BATS_TEST_TMPDIR/table" "$BATS_TEST_TMPDIR/again"
    [ "$(find "$out" -name 't*-b*.tsv' -newer "$BATS_TEST_TMPDIR/then" | wc -l)" -eq 1 ]
    "$bin/geodec-check" "$out"/*/t*-b*.h5
}

@test "the first mismatch ends the run with status 4" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s "$bin"/geodec-* "$BATS_TEST_TMPDIR/bin/"
    rm "$BATS_TEST_TMPDIR/bin/geodec-bench-decode"
    printf '#!/bin/sh\nprintf "drafter\\tgamma\\tmode\\tsetting\\tcompared\\tmismatches\\nngram\\t1\\tgreedy\\tloop\\t24\\t1\\n"\nexit 4\n' > "$BATS_TEST_TMPDIR/bin/geodec-bench-decode"
    chmod +x "$BATS_TEST_TMPDIR/bin/geodec-bench-decode"
    run --separate-stderr pipelines/exactness "$BATS_TEST_TMPDIR/bin" "$out" "$model"
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"block 0: status 4"* ]]
    grep -q "^all.*24.1$" "$out/exactness.tsv"
}
