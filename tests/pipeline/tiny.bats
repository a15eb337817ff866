#!/usr/bin/env bats
# The whole chain on the embedded model at small sizes: the same bytes with 1 and 2 threads; a second make does nothing; a run that is killed
# with SIGKILL and started again ends with the same bytes. The folder keeps its name, which is part of the recorded command line.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export MODEL=data/model/geodec-stories-f16.gguf
    export TINY="MODEL=$MODEL QUICK=1 CORPUS_STORIES=30 TOKENS=1200 POINTS=250 STORE_TEXTS=12 STORE_LENGTH=96 PROMPTS=4 NEW_TOKENS=24 GAMMAS=4 SEEDS=1"
    export OUT="$BATS_FILE_TMPDIR"
    # shellcheck disable=SC2086
    GEODEC_THREADS=1 make -s $TINY R="$OUT/one/r" geometry decoding
}

sums() { # digests of every artifact in folder $1, timings apart
    (cd "$1" && find . -name '*.h5' ! -name 'speed*' ! -name '.*' | sort | xargs sha256sum)
}

@test "every stage of the chain makes a valid artifact" {
    run "$bin/geodec-check" "$OUT"/one/r/*.h5
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [ "$(find "$OUT/one/r" -maxdepth 1 -name '*.h5' | wc -l)" -ge 12 ]
}

@test "two threads give the same bytes as one" {
    # shellcheck disable=SC2086
    GEODEC_THREADS=2 make -s $TINY R="$OUT/two/r" geometry decoding
    diff <(sums "$OUT/one/r") <(sums "$OUT/two/r")
}

@test "a second make does nothing" {
    # shellcheck disable=SC2086
    run make -s $TINY R="$OUT/one/r" geometry decoding
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "after a kill at any moment and a second run, the results have the same bytes" {
    for delay in 0.3 0.9 1.7 3 5; do
        # shellcheck disable=SC2086
        setsid make -s $TINY R="$OUT/killed/r" geometry decoding >/dev/null 2>&1 &
        pid=$!
        sleep "$delay"
        kill -9 -- "-$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    # shellcheck disable=SC2086
    make -s $TINY R="$OUT/killed/r" geometry decoding
    diff <(sums "$OUT/one/r") <(sums "$OUT/killed/r")
    [ -z "$(find "$OUT/killed/r" -name '.*.tmp')" ]
}

@test "slices joined by make give the same bytes" {
    mkdir -p "$OUT/slices"
    cp -r "$OUT/one/r" "$OUT/slices/r"
    for f in christoffel coverage validity; do rm "$OUT/slices/r/$f.h5"; done
    # shellcheck disable=SC2086
    make -s -j2 $TINY SHARDS=3 R="$OUT/slices/r" "$OUT"/slices/r/{christoffel,coverage,validity}.h5
    for f in christoffel coverage validity; do
        [ -f "$OUT/slices/r/$f.2-3.h5" ]
        cmp "$OUT/one/r/$f.h5" "$OUT/slices/r/$f.h5"
    done
}
