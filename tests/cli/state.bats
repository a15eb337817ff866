#!/usr/bin/env bats
# geodec-decode --state: a text in several runs is the text of one; damaged and foreign files; interrupts; kills while the file is written.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    bin=$B/bin
    model=data/model/geodec-stories-f16.gguf
}

decode() { "$bin/geodec-decode" --quiet --model "$model" --artifacts none --ctx 300 "$@"; }
loud() { "$bin/geodec-decode" --model "$model" --artifacts none --ctx 300 "$@"; } # with warnings
# The text without newlines: a run ends its text with one unless there is one.
joined() { cat "$@" | tr -d '\n'; }

@test "three runs of 20 tokens are one of 60: greedy, sampled, with drafts, of each kind of model" {
    for model in data/model/geodec-stories-f16.gguf data/model/geodec-mixture-f16.gguf tests/golden/perspective/tiny-perspective.gguf \
        tests/golden/models/tiny-gemma2.gguf; do
        for how in "--draft none" "--draft ngram --gamma 4 --kv f16" "--temperature 0.9 --seed 5 --draft ngram" "--draft bigram --tree 5 --check-plain"; do
            rm -f "$tmp/s"
            # shellcheck disable=SC2086
            {
                decode $how --min-tokens 60 --prompt "One day" -n 60 --state "$tmp/whole" > "$tmp/all"
                decode $how --min-tokens 60 --prompt "One day" -n 20 --state "$tmp/s" > "$tmp/1"
                decode $how --min-tokens 60 --prompt "One day" -n 20 --state "$tmp/s" > "$tmp/2"
                decode $how --min-tokens 60 -n 20 --state "$tmp/s" > "$tmp/3"
            }
            cmp "$tmp/whole" "$tmp/s" # it has the tokens
            joined "$tmp/1" "$tmp/2" "$tmp/3" > "$tmp/joined"
            # a run that ends within a character writes its first bytes, and the next one the character
            [[ "$model" == tests/* ]] || joined "$tmp/all" | cmp - "$tmp/joined"
            rm "$tmp/whole"
        done
    done
}

@test "a drafter that needs states reads the text again; the text is the same" {
    decode --prompt "One day" -n 40 > "$tmp/all"
    decode --prompt "One day" -n 20 --state "$tmp/s" > "$tmp/1"
    "$bin/geodec-sample" --quiet --model "$model" --texts 6 --length 48 -o "$tmp/t.tokens"
    "$bin/geodec-export" --quiet --model "$model" --tokens "$tmp/t.tokens" --layers last --window 48 -o "$tmp/t.h5"
    mkdir "$tmp/a" && "$bin/geodec-bake" --quiet --dims 4 --state-dims 8 --calibration 100 -o "$tmp/a/flowmap.h5" "$tmp/t.h5"
    "$bin/geodec-decode" --quiet --model "$model" --artifacts "$tmp/a" --ctx 300 -n 20 --draft flowmap --state "$tmp/s" > "$tmp/2"
    joined "$tmp/1" "$tmp/2" > "$tmp/joined"
    joined "$tmp/all" | cmp - "$tmp/joined"
}

@test "a file of another model, arithmetic or text, or a damaged one, is ignored with one warning that names it" {
    ignored() { # WORD COMMAND...: the text is that of a new run, and the file is written anew
        local word=$1
        shift
        run --separate-stderr loud --prompt "One day" -n 12 --state "$tmp/s" "$@"
        [ "$status" -eq 0 ]
        [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; false; }
        [[ "$stderr" == *"warning: $tmp/s: "*"$word"* ]] || { echo "$stderr"; false; }
        [ "$output" = "$(decode --prompt "One day" -n 12 "$@")" ]
        loud --prompt "One day" -n 1 --state "$tmp/s" "$@" > /dev/null 2> "$tmp/e"
        [ ! -s "$tmp/e" ]
    }
    decode --prompt "One day" -n 20 --state "$tmp/keep" > /dev/null
    cp "$tmp/keep" "$tmp/s"
    model=data/model/geodec-mixture-f16.gguf ignored "of another model"
    cp "$tmp/keep" "$tmp/s" && ignored "another type of the cache" --kv f16
    decode --prompt "Two days" -n 20 --state "$tmp/s" > /dev/null 2>&1
    ignored "does not begin with this prompt"
    size=$(stat -c %s "$tmp/keep")
    for at in 0 9 100 250 300 $((size / 2)) $((size - 1)); do
        cp "$tmp/keep" "$tmp/s"
        byte=$(od -An -tu1 -j "$at" -N 1 "$tmp/s")
        printf '%b' "\\x$(printf %x $((byte ^ 16)))" | dd of="$tmp/s" bs=1 seek="$at" conv=notrunc status=none
        ignored ""
    done
    for cut in 0 7 255 256 $((size - 1)); do
        head -c "$cut" "$tmp/keep" > "$tmp/s"
        ignored ""
    done
    run --separate-stderr decode --ctx 12 --state "$tmp/keep"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"does not fit in a context of 12"* ]]
    run --separate-stderr decode --arithmetic integer --state "$tmp/keep"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"integer arithmetic cannot be saved"* ]]
    run --separate-stderr decode --interactive --state "$tmp/keep"
    [ "$status" -eq 2 ]
}

@test "an interrupt saves the text so far, and the same command goes on" {
    decode --prompt "One day" -n 150 --min-tokens 150 > "$tmp/all"
    : > "$tmp/joined"
    local ms=30 # grows until a run gets as far as a token, however slow the machine is
    for i in {0..399}; do
        status=0
        printf -v after "%04d" $((ms + i % 6 * 10)) # milliseconds
        timeout -s INT "${after%???}.${after: -3}" "$bin/geodec-decode" --quiet --model "$model" --artifacts none --ctx 300 --prompt "One day" -n 150 \
            --min-tokens 150 --state "$tmp/s" > "$tmp/part" || status=$?
        [ "$status" -eq 0 ] || [ "$status" -eq 124 ] || [ "$status" -eq 130 ]
        [ -s "$tmp/part" ] || ms=$((ms + 10))
        joined "$tmp/part" >> "$tmp/joined"
        [ "$(wc -c < "$tmp/joined")" -lt "$(wc -c < "$tmp/all")" ] || break
    done
    [ -s "$tmp/s" ]
    joined "$tmp/all" > "$tmp/want"
    head -c "$(wc -c < "$tmp/want")" "$tmp/joined" | cmp - "$tmp/want"
}

@test "kill -9 at every call while the file is written, and at random moments: the old or the new file is there, and goes on" {
    make -s "$B/tests/faults/inject"
    decode --prompt "One day" -n 10 --state "$tmp/old" > /dev/null
    cp "$tmp/old" "$tmp/new" && decode -n 10 --state "$tmp/new" > /dev/null
    cp "$tmp/old" "$tmp/after-old" && decode -n 30 --state "$tmp/after-old" > "$tmp/text-old"
    cp "$tmp/new" "$tmp/after-new" && decode -n 20 --state "$tmp/after-new" > "$tmp/text-new"
    cmp "$tmp/after-old" "$tmp/after-new"
    mkdir "$tmp/d"
    whole() { # the file is that of before or of after the run, and the text goes on
        if cmp -s "$tmp/d/s" "$tmp/old"; then
            decode -n 30 --state "$tmp/d/s" | cmp - "$tmp/text-old"
            olds=$((olds + 1))
        else
            cmp "$tmp/d/s" "$tmp/new"
            decode -n 20 --state "$tmp/d/s" | cmp - "$tmp/text-new"
            news=$((news + 1))
        fi
        cmp "$tmp/d/s" "$tmp/after-new"
    }
    olds=0 news=0
    cp "$tmp/old" "$tmp/d/s"
    run "$B/tests/faults/inject" -d "$tmp/d" -l "$tmp/calls" -- "$bin/geodec-decode" --quiet --model "$model" --artifacts none --ctx 300 -n 10 --state "$tmp/d/s"
    [ "$status" -eq 0 ] || skip "system calls cannot be disturbed here"
    calls=$(wc -l < "$tmp/calls")
    [ "$calls" -ge 6 ]
    for ((n = 1; n <= calls; n++)); do
        cp "$tmp/old" "$tmp/d/s"
        "$B/tests/faults/inject" -d "$tmp/d" -n "$n" -f kill -- "$bin/geodec-decode" --quiet --model "$model" --artifacts none --ctx 300 -n 10 \
            --state "$tmp/d/s" > /dev/null 2>&1 || true
        whole
    done
    [ "$olds" -ge 1 ]
    [ "$news" -ge 1 ]
    for n in $(seq 40); do
        cp "$tmp/old" "$tmp/d/s"
        "$bin/geodec-decode" --quiet --model "$model" --artifacts none --ctx 300 -n 10 --state "$tmp/d/s" > /dev/null 2>&1 &
        sleep "0.0$((n % 9 + 1))"
        kill -9 $! 2> /dev/null || true
        wait $! 2> /dev/null || true
        whole
    done
    [ -z "$(find "$tmp/d" -name '.*.tmp')" ]
}

@test "perspectives: the base alone is plain decoding; a seed fixes the text; a state goes on; the measurement has its controls" {
    for model in data/model/geodec-mixture-f16.gguf tests/golden/perspective/tiny-perspective.gguf; do
        decode --prompt "One day" -n 30 --min-tokens 60 > "$tmp/plain"
        decode --prompt "One day" -n 30 --min-tokens 60 --perspectives base | cmp - "$tmp/plain"
        decode --prompt "One day" -n 30 --min-tokens 60 --perspectives default,top=0,entropy=100 | cmp - "$tmp/plain"
        decode --prompt "One day" -n 30 --min-tokens 60 --perspectives default,sigma=0.3 --state "$tmp/whole" > "$tmp/all"
        decode --prompt "One day" -n 15 --min-tokens 60 --perspectives default,sigma=0.3 --state "$tmp/s" > /dev/null
        decode --prompt "One day" -n 15 --min-tokens 60 --perspectives default,sigma=0.3 --state "$tmp/s" > /dev/null
        cmp "$tmp/whole" "$tmp/s"
        rm "$tmp/whole" "$tmp/s"
        run cmp -s "$tmp/all" "$tmp/plain"
        [ "$status" -eq 1 ]
    done
    run decode --perspectives default --draft ngram
    [ "$status" -eq 2 ]
    run decode --perspectives third
    [ "$status" -eq 2 ]
    model=data/model/geodec-mixture-f16.gguf
    "$bin/geodec-perspectives" --quiet --model "$model" --threads 1 -n 400 --window 100 tests/golden/text/stories.txt > "$tmp/one"
    "$bin/geodec-perspectives" --quiet --model "$model" --threads 2 -n 400 --window 100 tests/golden/text/stories.txt > "$tmp/two"
    cmp <(grep -v -e _ms -e cost "$tmp/one") <(grep -v -e _ms -e cost "$tmp/two")
    # four equal perspectives: no divergence, and the bits of the model
    "$bin/geodec-perspectives" --quiet --model "$model" -n 400 --perspectives jitter+jitter+jitter,sigma=0 tests/golden/text/stories.txt > "$tmp/same"
    awk -F '\t' '{ v[$1] = $2 } END { exit !(v["js"] < 1e-5 && v["js"] > -1e-5 && v["bits_base"] == v["bits_mixed"] && v["bits_base"] == v["bits_mixed_everywhere"]) }' "$tmp/same"
    # the shares of the rule add up
    awk -F '\t' '{ v[$1] = $2 } END { d = v["asked_top"] + v["asked_entropy"] - v["asked_both"] - v["asked"]; exit !(d < 2e-4 && d > -2e-4 && v["asked"] > 0) }' "$tmp/one"
}
