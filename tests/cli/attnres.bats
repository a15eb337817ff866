#!/usr/bin/env bats
# Recombination of the residual stream over depth: strength 0, exactness of drafts, reports, refusals; lengths by depth.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
}

setup() {
    model=$BATS_FILE_TMPDIR/good.gguf
    for i in 1 2 3 4 5 6 7 8; do printf 'a ba abba %d cab\n' "$i"; done > "$tmp/text.txt"
}

@test "strength 0 is off; other strengths change the model, equally for any number of threads" {
    "$bin/geodec-perplexity" -m "$model" -w 16 "$tmp/text.txt" > "$tmp/off"
    for what in damp depth_attn block_softmax rescale; do
        "$bin/geodec-perplexity" -m "$model" -w 16 --attnres "$what:0" "$tmp/text.txt" > "$tmp/zero"
        cmp "$tmp/off" "$tmp/zero"
        "$bin/geodec-perplexity" -m "$model" -w 16 -t 1 --attnres "$what:0.9" "$tmp/text.txt" > "$tmp/one"
        "$bin/geodec-perplexity" -m "$model" -w 16 -t 3 --attnres "$what:0.9" "$tmp/text.txt" > "$tmp/three"
        cmp "$tmp/one" "$tmp/three"
    done
    "$bin/geodec-perplexity" -m "$model" -w 16 --attnres damp:0.9 "$tmp/text.txt" > "$tmp/on"
    ! cmp -s "$tmp/off" "$tmp/on" || false
}

@test "drafts leave its text unchanged, and the report names it" {
    for what in damp:0.45+depth_attn:0.55:window=3 block_softmax:0.5; do
        "$bin/geodec-decode" --quiet --force -m "$model" --attnres "$what" --prompt 'a ba abba a ba' --draft lookup --gamma 6 --tree 6 \
            --check-plain --max-tokens 24 --report "$tmp/report.json" > /dev/null
        grep -q "\"attnres_options\": \"${what%%:*}" "$tmp/report.json"
    done
    "$bin/geodec-decode" --quiet --force -m "$model" --attnres damp:0.25+depth_attn:0.5 --prompt a --max-tokens 4 --report "$tmp/report.json" > /dev/null
    [ "$(grep -A2 '"attnres": {' "$tmp/report.json" | tr -d ' \n')" = '"attnres":{"enabled":true,"strength":0.25' ]
    [ "$(grep -A3 '"depth_attention": {' "$tmp/report.json" | tr -d ' \n')" = '"depth_attention":{"enabled":true,"strength":0.5,"window":16' ]
}

@test "lengths by depth: a row a layer, exponents in a file, no file replaced" {
    run --separate-stderr "$bin/geodec-residual" -m "$model" -w 16 --fit "$tmp/fit.tsv" "$tmp/text.txt"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ "$(cut -f 2 <<< "$output" | tr '\n' ' ')" = 'layer 0 1 2 ' ]
    [ "$(wc -l < "$tmp/fit.tsv")" -eq 4 ]
    run --separate-stderr "$bin/geodec-residual" -m "$model" -w 16 --fit "$tmp/fit.tsv" "$tmp/text.txt"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *exists* ]]
}

@test "invalid values of the option are refused on one line" {
    for what in damp dump:0.1 damp:2 damp:0.1+block_softmax:0.1 depth_attn:0.1:window=0; do
        run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --attnres "$what" "$tmp/text.txt"
        echo "$what: $status '$stderr'"
        [ "$status" -ne 0 ]
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *attnres* ]]
    done
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --arithmetic float64 --attnres damp:0.1 "$tmp/text.txt"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *float64* ]]
}
