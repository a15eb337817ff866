#!/usr/bin/env bats
# Drafters that are models: a second file, the first blocks of the model, and their sampled variants.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    model=${GEODEC_TEST_MODEL:-data/model/geodec-stories-f16.gguf}
    second=${GEODEC_TEST_MODEL:-data/model/geodec-stories-q8_0.gguf}
    [ -r "$model" ] && [ -r "$second" ] || skip "no model: set GEODEC_TEST_MODEL"
}

decode() { "$bin/geodec-decode" --quiet --model "$model" --prompt "Once upon a time" --max-tokens 50 "$@"; }

# refused STATUS WORD COMMAND...: the command ends with STATUS, nothing on stdout, and one line on stderr that contains WORD.
refused() {
    local want=$1 word=$2
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$want" ] || { echo "status $status, not $want: $stderr"; false; }
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; false; }
    [[ "$stderr" == *"$word"* ]] || { echo "$stderr"; false; }
}

@test "a second model and the model's first blocks change no byte of the text; drafts of the second model are accepted" {
    for sampling in "" "--temperature 0.9 --seed 5"; do
        # shellcheck disable=SC2086
        decode $sampling --draft none > "$tmp/plain"
        for how in "--gamma 1" "--gamma 6" "--gamma auto" "--tree 6 --gamma 4"; do
            for draft in "model --draft-model $second" exit:1 exit:2; do
                # shellcheck disable=SC2086
                decode $sampling $how --draft $draft --report "$tmp/r.json" --force > "$tmp/text"
                cmp "$tmp/plain" "$tmp/text"
            done
        done
    done
    decode --gamma 4 --draft model --draft-model "$second" --report "$tmp/r.json" --force > /dev/null
    [ "$(sed -n 's/.*"tokens_per_pass": \([0-9]*\).*/\1/p' "$tmp/r.json")" -ge 3 ]
}

@test "drafts sampled from a model: the text repeats with the seed, and is not empty" {
    for draft in "model-sampled --draft-model $second" exit-sampled:2; do
        for how in "--gamma 4" "--tree 8"; do
            # shellcheck disable=SC2086
            decode --temperature 1 --seed 9 $how --draft $draft > "$tmp/a"
            # shellcheck disable=SC2086
            decode --temperature 1 --seed 9 $how --draft $draft > "$tmp/b"
            [ -s "$tmp/a" ]
            cmp "$tmp/a" "$tmp/b"
        done
        # Greedy text is unique, with sampled drafts or without.
        # shellcheck disable=SC2086
        decode --draft $draft > "$tmp/a"
        decode --draft none > "$tmp/b"
        cmp "$tmp/a" "$tmp/b"
    done
}

@test "a draft model whose common tokens are the same pieces drafts: padding, fewer tokens, another end token or type" {
    of=${GEODEC_SHARED:-../shared}/models/stories260K-ff192-f32.gguf
    [ -r "$of" ] || of=data/model/geodec-stories-f16.gguf
    "$B/tests/bad/make_variants" "$of" "$tmp"
    how=("$bin/geodec-decode" --quiet --prompt "Once upon a time" --max-tokens 50)
    for one in same:padded same:shorter same:eos same:type padded:same shorter:same; do # TARGET:DRAFT
        for sampling in "" "--temperature 0.9 --seed 5"; do
            # shellcheck disable=SC2086
            "${how[@]}" --model "$tmp/${one%:*}.gguf" $sampling --draft none > "$tmp/plain"
            for shape in "--gamma 4" "--tree 6 --gamma 4"; do
                echo "$one $sampling $shape"
                # shellcheck disable=SC2086
                "${how[@]}" --model "$tmp/${one%:*}.gguf" $sampling $shape --draft model --draft-model "$tmp/${one#*:}.gguf" --report "$tmp/r.json" --force > "$tmp/text"
                cmp "$tmp/plain" "$tmp/text"
                [ -n "$sampling" ] || [ "$(sed -n 's/.*"tokens_per_pass": \([0-9]*\).*/\1/p' "$tmp/r.json")" -ge 3 ]
            done
            # a distribution of drafts over the target's ids; the text repeats
            for turn in a b; do
                "${how[@]}" --model "$tmp/${one%:*}.gguf" --temperature 1 --seed 9 --gamma 4 --draft model-sampled --draft-model "$tmp/${one#*:}.gguf" > "$tmp/$turn"
            done
            cmp "$tmp/a" "$tmp/b"
            [ -s "$tmp/a" ]
        done
    done
    refused 3 "1 of " "${how[@]}" --model "$tmp/same.gguf" --draft model --draft-model "$tmp/piece.gguf"
    [[ "$stderr" == *"the first is token 300"* ]]
}

@test "invalid model drafters are refused with one line" {
    refused 2 "draft model" decode --draft model
    refused 2 "exit:99" decode --draft exit:99
    refused 2 "exit:x" decode --draft exit:x
    refused 1 "absent.gguf" decode --draft model --draft-model "$tmp/absent.gguf"
    printf 'GGUF' > "$tmp/short.gguf"
    refused 3 "short.gguf" decode --draft model --draft-model "$tmp/short.gguf"
    for other in tests/golden/models/tiny-llama-linear.gguf tests/golden/models/tiny-qwen2.gguf; do
        refused 3 "tokenizer" decode --draft model --draft-model "$other"
    done
}

@test "geodec-bench-decode and geodec-drafts accept drafters that are models" {
    printf 'Once upon a time there was a little cat and a big dog who lived in a house near the wood\n%.0s' 1 2 3 4 5 6 7 8 > "$tmp/prompts.txt"
    "$bin/geodec-bench-decode" --quiet --model "$model" --prompts "$tmp/prompts.txt" --n-prompts 2 --max-tokens 24 --drafters exit:2,model \
        --draft-model "$second" --gammas 2 --trees 4 --timed 0 -o "$tmp/b.h5" > "$tmp/b.tsv"
    awk -F'\t' 'NR > 1 {n++; bad += $6} END {exit !(n > 0 && bad == 0)}' "$tmp/b.tsv"
    "$bin/geodec-drafts" --quiet --model "$model" --prompts "$tmp/prompts.txt" --n-prompts 2 --max-tokens 24 --drafters exit:2,model \
        --draft-model "$second" -o "$tmp/d.h5"
    "$bin/geodec-table" "$tmp/d.h5" reached | awk 'NR > 1 && $1 <= 0 {bad = 1} END {exit bad || NR < 3}'
}
