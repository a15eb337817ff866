#!/usr/bin/env bats
# The recipe for an architecture of existing parts (docs/extending.md), performed on a scratch copy of the tree: `acorn` has llama's tensors, another
# embedding, halves in parallel, ALiBi in place of rotations, squared ReLU and capped logits.
# full: compiles a copy of the tree
# bats file_tags=full

bats_require_minimum_version 1.5.0

setup_file() {
    load scratch
    scratch_possible >/dev/null || return 0 # setup says it
    scratch_tree
    # 1. the row
    table=libcommon/model/session/arch.c
    insert_before '^    [{][.]name = "arcee"' $table \
        '    {.name = "acorn",' \
        '     .models = "no published model",' \
        '     .differs = "embedding times sqrt(d); attention and feed-forward in parallel; ALiBi; squared ReLU; capped logits",' \
        '     .scaled_embedding = true,' \
        '     .parallel = GEODEC__PARALLEL,' \
        '     .rotated = GEODEC__ROTATED_NONE,' \
        '     .alibi = 8,' \
        '     .activation = GEODEC_RELU2,' \
        '     .capped_logits = true,' \
        '     .final_softcap = 20,' \
        '     .head = GEODEC__MAYBE},'
    forget $table
    build "$B/bin/geodec-info" "$B/bin/geodec-model-info" "$B/bin/geodec-decode" "$B/bin/geodec-perplexity" "$B/bin/geodec-quantize"
    # 2. the page (make docs)
    sh scripts/docs-tables "$B/bin" docs/manual/architectures.md >"$BATS_FILE_TMPDIR/page"
    cat "$BATS_FILE_TMPDIR/page" >docs/manual/architectures.md
    # a model: that of a llama, whose name has as many letters
    LC_ALL=C sed 's/llama\./acorn./g; s/\(general\.architecture.\{12\}\)llama/\1acorn/' tests/golden/models/tiny-llama-biases.gguf >"$BATS_FILE_TMPDIR/acorn.gguf"
    export model=$BATS_FILE_TMPDIR/acorn.gguf llama=$root/tests/golden/models/tiny-llama-biases.gguf
    printf 'The cat and the dog went to the river. They were happy all day.' >"$BATS_FILE_TMPDIR/text"
}

setup() {
    load scratch
    skip_without_scratch
    cd "$BATS_TEST_TMPDIR" || return 1
}

# nll MODEL ARGUMENTS...: mean negative log-likelihood of the text.
nll() { "$bin/geodec-perplexity" --quiet --allow-unknown --model "$@" "$BATS_FILE_TMPDIR/text" | awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "nll") c = i} NR == 2 {print $c}'; }
# differ A B: by how much
differ() { awk -v a="$1" -v b="$2" 'BEGIN {d = a - b; printf "%.9f\n", d < 0 ? -d : d; exit !(a > 0 && b > 0)}'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN {print a, b; exit !(a < b)}'; }

@test "two files differ, one of them the page of architectures" {
    touched | tee touched.txt
    [ "$(wc -l <touched.txt)" -eq 2 ]
    # shellcheck disable=SC2016
    grep -q '^| `acorn` | no published model | embedding times sqrt(d); ' "$tree/docs/manual/architectures.md"
    "$bin/geodec-model-info" "$model" | grep -qx "architecture"$'\t'"acorn"
}

@test "the original tree refuses it by name" {
    run --separate-stderr "$root/$B/bin/geodec-model-info" "$model"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"architecture 'acorn' is not supported"* ]]
}

@test "the session computes what the float64 evaluation does, and each part counts" {
    exact=$(nll "$model" --arithmetic exact)
    less "$(differ "$exact" "$(nll "$model" --arithmetic float64)")" 1e-5
    # control: the same tensors as a llama
    less 0.01 "$(differ "$exact" "$(nll "$llama" --arithmetic exact)")"
}

@test "texts do not depend on drafts, threads, instruction sets or saved states; the model can be quantised" {
    for mode in "" "--temperature 0.8 --seed 5"; do
        # shellcheck disable=SC2086
        "$bin/geodec-decode" -q --model "$model" --artifacts none --prompt 'One day' -n 40 --min-tokens 40 $mode --draft none --state whole >plain.txt
        for how in "--draft ngram --gamma 4" "--draft ngram --tree 6 --threads 3" "--isa scalar"; do
            # shellcheck disable=SC2086
            "$bin/geodec-decode" -q --model "$model" --artifacts none --prompt 'One day' -n 40 --min-tokens 40 $mode $how >other.txt
            cmp plain.txt other.txt
        done
        for n in 25 15; do
            # shellcheck disable=SC2086
            "$bin/geodec-decode" -q --model "$model" --artifacts none --prompt 'One day' -n "$n" --min-tokens 40 $mode --state parts >other.txt
        done
        cmp whole parts
        rm whole parts
    done
    "$bin/geodec-quantize" -q --type q8_0 -o q.gguf "$model" >quantised.tsv
    less "$(differ "$(nll q.gguf --arithmetic exact)" "$(nll "$model" --arithmetic exact)")" 0.1
}
