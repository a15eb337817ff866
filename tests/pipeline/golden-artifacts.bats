#!/usr/bin/env bats
# Artifacts of every kind, made by an earlier build (tests/golden/make/artifacts), are read with the same contents.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    for f in tests/golden/artifacts/*.h5.gz; do gunzip -c "$f" > "$BATS_FILE_TMPDIR/$(basename "$f" .gz)"; done
}

setup() {
    root=$PWD
    dir=$BATS_FILE_TMPDIR
}

@test "a golden artifact of every kind" {
    for f in "$dir"/*.h5; do "$bin/geodec-info" --json "$f" | sed -n 's/^ *"kind": "\(.*\)",$/\1/p'; done | LC_ALL=C sort -u > "$BATS_TEST_TMPDIR/there"
    "$bin/geodec-info" --kinds | LC_ALL=C sort -u | diff "$BATS_TEST_TMPDIR/there" -
}

@test "every attribute and field has the same contents" {
    bash tests/golden/make/artifact-contents "$bin" "$dir"/*.h5 > "$BATS_TEST_TMPDIR/contents"
    diff tests/golden/artifacts/contents.tsv "$BATS_TEST_TMPDIR/contents"
    "$bin/geodec-check" "$dir"/*.h5
}

@test "the tools that read artifacts accept them" {
    cd "$dir"
    ln -sf "$root/tests/golden/models/tiny-llama-biases.gguf" tiny.gguf
    ln -sf "$root/tests/golden/models/tiny-llama-divisors.gguf" plain.gguf
    cp "$root/tests/golden/artifacts/text.txt" .
    out=$BATS_TEST_TMPDIR
    take() { # tool, arguments
        tool=$1
        shift
        echo "$tool $*"
        "$bin/geodec-$tool" --quiet --force --threads 1 -o "$out/$tool.h5" "$@"
    }
    take cloud --max-points 60 activations.h5
    take null cloud.h5
    take metric --dim 4 --points 40 cloud.h5
    take christoffel --points 4 --control 2 metric.h5
    take geodesic --paths 2 --steps 4 metric.h5
    take riemann --samples 2 --midpoints 2 metric.h5
    take propagate metric.h5 geodesics.h5
    take records --queries 8 propagators.h5 metric.h5 activations.h5
    take resonance --directions 2 metric.h5 geodesics.h5
    take divergence --model tiny.gguf --activations activations.h5 --pairs 20 metric.h5 metric-fisher.h5
    take rollout --model tiny.gguf --dims 8 --field-dims 4 --sites 20 --words 32 --cells 16 --places 20 --resamples 20 activations.h5
    # parts of a sweep are joined by their own version only
    run "$bin/geodec-merge" --quiet -o "$out/merged.h5" sweep.h5 sweep-2.h5
    [ "$status" -eq 3 ]
    [[ "$output" == *"sweep.h5 was made by version 0.1.0"* ]]
    "$bin/geodec-gain" --quiet --drafter ngram --control bigram benchdecode.h5 > /dev/null
    "$bin/geodec-depth" --quiet --model tiny.gguf --probe depth.h5 > /dev/null
    "$bin/geodec-perplexity" --quiet --model tiny.gguf --window 16 --projection projection.h5 text.txt > /dev/null
    "$bin/geodec-perplexity" --quiet --model plain.gguf --window 16 --kv-projection kvprojection.h5 text.txt > /dev/null
    for drafter in flowmap rollout recurrent; do
        "$bin/geodec-decode" --quiet --model tiny.gguf --artifacts . --draft "$drafter" -p Milo -n 8 > "$out/$drafter"
    done
    cmp "$out/flowmap" "$out/rollout"
    cmp "$out/flowmap" "$out/recurrent"
    "$bin/geodec-train" --quiet --force --threads 1 --text text.txt --held-out text.txt --vocab tiny.gguf --d-model 16 --layers 1 --heads 2 --kv-heads 1 --ff 16 \
        --length 32 --batch 2 --steps 100000 --checkpoint-every 10 --checkpoint checkpoint.h5 --resume -o "$out/trained.gguf" > /dev/null & pid=$!
    sleep 1
    kill -INT "$pid"
    wait "$pid" || [ $? -eq 130 ]
}
