#!/usr/bin/env bats
# The tools on small random models of architectures whose parts differ (golden/arch of the shared folder): recurrences of each kind, inputs of
# layers, sinks, layer norms. Their bits and their states are compared by unit tests (test_architectures.c of session, export and drafters).

bats_require_minimum_version 1.5.0
load ../root

setup() {
    folder=${GEODEC_SHARED:-../shared}/golden/arch
    [ -d "$folder" ] || skip "no shared folder"
    for i in 1 2 3 4 5 6 7 8 9 10; do
        echo "Once upon a time there was a little cat. The cat and the dog went to the river, and they were happy all day. A bird saw a tree."
        echo "Story $i of $((i * 7)) days"
    done > "$tmp/text"
}

# Chat templates and warnings are of no interest: the weights are random.
decode() { "$bin/geodec-decode" -q --model "$folder/$name.gguf" --artifacts none --ctx 200 "$@"; }

@test "cloud, metrics and flow map of rows of each sort; drafts of the map change no text" {
    for name in jamba qwen35moe-moe falcon-h1 lfm2 gemma4 gpt-oss-moe gpt2; do
        model=$folder/$name.gguf a=$tmp/$name
        mkdir "$a"
        "$bin/geodec-export" -q --model "$model" --text "$tmp/text" -o "$a/x.h5"
        "$bin/geodec-cloud" -q -o "$a/cloud.h5" "$a/x.h5"
        "$bin/geodec-metric" -q -o "$a/metric.h5" "$a/cloud.h5"
        # the float64 evaluation has no inputs of layers
        "$bin/geodec-metric" -q --kind fisher --model "$model" --activations "$a/x.h5" -o "$a/fisher.h5" "$a/cloud.h5"
        "$bin/geodec-bake" -q --dims 4 --state-dims 8 --calibration 100 -o "$a/flowmap.h5" "$a/x.h5"
        "$bin/geodec-check" "$a"/*.h5
        for heat in 0 0.8; do
            "$bin/geodec-decode" -q --model "$model" --artifacts "$a" --draft flowmap --tree 5 --check-plain --temperature "$heat" --seed 3 \
                --prompt "Once upon" -n 24 > "$a/text"
            [ -s "$a/text" ]
        done
    done
}

@test "three runs with --state are one, alone and with drafts" {
    for name in mamba2 qwen3next-moe gemma4 afmoe-moe; do
        for how in "--draft none" "--temperature 0.9 --seed 5 --draft ngram --gamma 3" "--draft ngram --tree 5"; do
            rm -f "$tmp/s" "$tmp/whole"
            # shellcheck disable=SC2086
            {
                decode $how --min-tokens 45 --prompt "One day" -n 45 --state "$tmp/whole" > "$tmp/all"
                for n in 20 15 10; do
                    decode $how --min-tokens 45 --prompt "One day" -n $n --state "$tmp/s" > "$tmp/$n"
                done
            }
            cmp "$tmp/whole" "$tmp/s" # it has the tokens
        done
    done
}

@test "mixtures read on demand, with the smallest budget that is named: the text of all experts in memory" {
    for name in gpt-oss-moe llama4-moe arctic-moe qwen3next-moe grok-moe; do
        run --separate-stderr "$bin/geodec-decode" -q --model "$folder/$name.gguf" --artifacts none --ctx 200 --ram 1 --prompt "One day" -n 30
        [ "$status" -eq 3 ]
        need=$(grep -oE 'need[s]? [0-9]+' <<< "$stderr" | grep -oE '[0-9]+')
        for how in "--draft none" "--temperature 0.9 --seed 5 --draft none" "--draft ngram --gamma 3" "--temperature 0.9 --seed 5 --draft ngram --tree 5"; do
            # shellcheck disable=SC2086
            decode $how --prompt "One day" -n 30 > "$tmp/all"
            # shellcheck disable=SC2086
            decode $how --ram "$need" --prompt "One day" -n 30 > "$tmp/streamed"
            cmp "$tmp/all" "$tmp/streamed"
        done
    done
}

@test "residual profiles of layers that have one half alone" {
    run --separate-stderr "$bin/geodec-residual" -q --model "$folder/nemotron_h.gguf" "$tmp/text"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -gt 3 ]
    [ -z "$stderr" ]
}

@test "arithmetic in integers is refused by the part that it lacks, or decodes" {
    for name in qwen35moe-moe:'recurrent layers' gpt2:'layer norms' bloom:'layer norms' gpt-oss-moe:'an activation of its own' llama4-moe:'a temperature by position'; do
        run --separate-stderr "$bin/geodec-decode" -q --model "$folder/${name%%:*}.gguf" --artifacts none --ctx 64 --arithmetic integer --prompt One -n 4
        [ "$status" -eq 3 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *"which has ${name#*:}" ]]
    done
    "$bin/geodec-decode" -q --model "$folder/qwen3.gguf" --artifacts none --ctx 64 --arithmetic integer --prompt One -n 4 > "$tmp/out"
    [ -s "$tmp/out" ]
}
