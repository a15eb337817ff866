#!/usr/bin/env bats
# geodec-decode and geodec-bench-decode: exactness, and refusals.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    model=${GEODEC_TEST_MODEL:-data/model/geodec-stories-f16.gguf}
    [ -r "$model" ] || skip "no model: set GEODEC_TEST_MODEL"
}

decode() { "$bin/geodec-decode" --quiet --model "$model" "$@"; }

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

@test "-v prints counts of drafts; a draft model that no drafter uses is a usage error" {
    run --separate-stderr "$bin/geodec-decode" -v --model "$model" --prompt "One day" --max-tokens 12 --min-tokens 12
    [ "$status" -eq 0 ]
    [[ "$stderr" == *" 12 tokens in 12 passes of the model, 1.00 per pass (plain: 1); 0 of 0 drafts accepted"* ]]
    refused 2 "need --draft model" decode --draft ngram --draft-model "$model"
    refused 1 "drafter onedecode, from geodec-onedecode: $tmp/onedecode.h5" decode --draft onedecode --artifacts "$tmp"
}

@test "a drafter and its length change no byte of the text, greedy or sampled" {
    for sampling in "" "--temperature 0.8 --top-p 0.95 --seed 7"; do
        # shellcheck disable=SC2086
        decode $sampling --prompt "Once upon a time" --max-tokens 60 --draft none > "$tmp/plain"
        [ -s "$tmp/plain" ]
        for draft in bigram ngram; do
            for gamma in 0 1 3 8 auto; do
                # shellcheck disable=SC2086
                decode $sampling --prompt "Once upon a time" --max-tokens 60 --draft $draft --gamma $gamma > "$tmp/text"
                cmp "$tmp/plain" "$tmp/text"
            done
        done
    done
}

@test "measurements on a text record its division into documents" {
    printf 'One day a dog ran to the park and saw a cat.\n<|endoftext|>\nThe girl had a red ball and a blue cup.\n' > "$tmp/text"
    bench() { "$bin/geodec-bench-decode" --quiet --force --model "$model" --prompts "$tmp/text" --n-prompts 2 --max-tokens 8 --drafters bigram --gammas 2 \
        --modes greedy --prompt-tokens 6 --timed 2 "$@" -o "$tmp/b.h5" > /dev/null; }
    # attributes FILE WORD N
    attributes() {
        "$bin/geodec-table" --attrs "$1" | awk -F'\t' -v rule="$2" -v n="$3" '$1 == "separator" && $2 == rule {r = 1} $1 == "documents" && $2 == n {d = 1}
            END {exit !(r && d)}'
    }
    bench
    attributes "$tmp/b.h5" mark 2
    attributes "$tmp/speed.h5" mark 2
    bench --separator none
    attributes "$tmp/b.h5" none 1
    "$bin/geodec-drafts" --quiet --model "$model" --prompts "$tmp/text" --n-prompts 2 --max-tokens 8 --drafters lookup --gammas 2 --separator line -o "$tmp/d.h5" > /dev/null
    attributes "$tmp/d.h5" line 3
}

@test "threads change no byte of the text" {
    decode --threads 1 --prompt "One day" --max-tokens 40 --temperature 1 > "$tmp/one"
    decode --threads 2 --prompt "One day" --max-tokens 40 --temperature 1 > "$tmp/two"
    cmp "$tmp/one" "$tmp/two"
}

@test "a rounded cache keeps drafts exact; the report names it" {
    for kv in f16 q8_0 q4_0; do
        decode --kv $kv --prompt "Once upon a time" --max-tokens 60 --draft ngram --check-plain --report "$tmp/$kv.json" > "$tmp/$kv"
        [ -s "$tmp/$kv" ]
        grep -q "\"kv\": \"$kv\"" "$tmp/$kv.json"
    done
    run --separate-stderr decode --kv q4_1
    [ "$status" -eq 2 ]
}

@test "seeds matter when sampling and only then" {
    decode --temperature 1 --seed 1 --max-tokens 40 > "$tmp/a"
    decode --temperature 1 --seed 2 --max-tokens 40 > "$tmp/b"
    run ! cmp -s "$tmp/a" "$tmp/b"
    decode --seed 1 --max-tokens 40 > "$tmp/a"
    decode --seed 2 --max-tokens 40 > "$tmp/b"
    cmp "$tmp/a" "$tmp/b"
}

@test "an empty prompt, --echo, --prompt-file and standard input" {
    decode --prompt "" --max-tokens 20 > "$tmp/empty"
    decode --max-tokens 20 > "$tmp/none"
    cmp "$tmp/empty" "$tmp/none"
    printf 'The cat' > "$tmp/prompt.txt"
    decode --prompt "The cat" --max-tokens 20 > "$tmp/a"
    decode --prompt-file "$tmp/prompt.txt" --max-tokens 20 > "$tmp/b"
    decode --prompt-file - --max-tokens 20 < "$tmp/prompt.txt" > "$tmp/c"
    cmp "$tmp/a" "$tmp/b"
    cmp "$tmp/a" "$tmp/c"
    decode --prompt "The cat" --echo --max-tokens 20 > "$tmp/d"
    [ "$(cat "$tmp/d")" = "The cat$(cat "$tmp/a")" ]
}

@test "a stop text ends the output before itself" {
    decode --prompt "Once upon a time" --max-tokens 60 > "$tmp/whole"
    word=$(tr -s '[:space:]' '\n' < "$tmp/whole" | sed -n 6p)
    decode --prompt "Once upon a time" --max-tokens 60 --stop "$word" --draft ngram > "$tmp/cut"
    run ! grep -qF -- "$word" "$tmp/cut"
    [ "$(head -c "$(($(stat -c %s "$tmp/cut") - 1))" "$tmp/whole")" = "$(cat "$tmp/cut")" ]
}

@test "the report counts passes and compared tokens" {
    decode --prompt "Once upon a time" --max-tokens 40 --draft ngram --gamma 4 --check-plain --report "$tmp/r.json" > /dev/null
    grep -q '"verified_bool": true' "$tmp/r.json"
    grep -Eq '"status": "(hybrid_ready|degraded_geodesic)"' "$tmp/r.json" # one prompt has no interval
    grep -q '"n_compared": [1-9]' "$tmp/r.json"
    grep -q '"target_passes": [1-9]' "$tmp/r.json"
    decode --max-tokens 10 --draft none --report "$tmp/p.json" > /dev/null
    grep -q '"tokens_per_pass": 1,' "$tmp/p.json"
    refused 1 "p.json exists" decode --max-tokens 10 --report "$tmp/p.json"
}

@test "prompts that cannot be used are refused with one line" {
    printf 'bad \xff\xfe text' > "$tmp/latin.txt"
    refused 3 "not UTF-8" decode --prompt-file "$tmp/latin.txt"
    refused 3 "not UTF-8" decode --prompt $'caf\xe9'
    yes "a b c d e f g h" | head -n 400 > "$tmp/long.txt"
    refused 3 "context" decode --prompt-file "$tmp/long.txt"
    refused 3 "context" decode --prompt "one two three four five six" --ctx 4
    refused 1 "absent.txt" decode --prompt-file "$tmp/absent.txt"
    refused 2 "not both" decode --prompt x --prompt-file "$tmp/long.txt"
}

@test "options out of range are usage errors" {
    for bad in "--gamma papers:4" "--gamma 65" "--gamma -1" "--gamma x" "--gamma 1.5" "--draft wish" "--temperature -1" "--top-p 0" "--top-p 2" "--top-k -1" "--max-tokens -1"; do
        # shellcheck disable=SC2086
        run --separate-stderr decode $bad
        [ "$status" -eq 2 ] || { echo "$bad: $status"; false; }
        [ -z "$output" ]
    done
    run --separate-stderr "$bin/geodec-bench-decode" "$tmp/none.txt" # only geodec-decode has a default model
    [ "$status" -eq 2 ]
}

@test "a file that is not a model, and a missing file, are refused" {
    printf 'GGUF' > "$tmp/short.gguf"
    refused 3 "short.gguf" "$bin/geodec-decode" --model "$tmp/short.gguf"
    head -c 20000 "$model" > "$tmp/cut.gguf"
    refused 3 "cut.gguf" "$bin/geodec-decode" --model "$tmp/cut.gguf"
    refused 1 "absent.gguf" "$bin/geodec-decode" --model "$tmp/absent.gguf"
}

# A small flow map of the model in $tmp/art.
bake() {
    mkdir "$tmp/art"
    "$bin/geodec-sample" --quiet --model "$model" --texts 24 --length 64 -o "$tmp/art/store.tokens"
    "$bin/geodec-export" --quiet --model "$model" --tokens "$tmp/art/store.tokens" --layers last -o "$tmp/art/store.h5"
    "$bin/geodec-bake" --quiet -o "$tmp/art/flowmap.h5" "$tmp/art/store.h5"
}

@test "the flow map changes no byte of the text, and is refused for another model" {
    bake
    for sampling in "" "--temperature 0.8 --seed 3"; do
        # shellcheck disable=SC2086
        decode $sampling --max-tokens 80 > "$tmp/plain"
        for gamma in 1 4 auto; do
            # shellcheck disable=SC2086
            decode $sampling --max-tokens 80 --artifacts "$tmp/art" --draft flowmap --gamma $gamma --report "$tmp/r$gamma.json" --force > "$tmp/text"
            cmp "$tmp/plain" "$tmp/text"
        done
        # shellcheck disable=SC2086
        decode $sampling --max-tokens 80 --artifacts "$tmp/art" --draft ngram --gamma 4 > "$tmp/text"
        cmp "$tmp/plain" "$tmp/text"
    done
    grep -q '"proposed": [1-9]' "$tmp/r4.json"
    # The same tensors except for one bit: another model.
    cp "$model" "$tmp/other.gguf"
    chmod u+w "$tmp/other.gguf"
    size=$(stat -c %s "$model")
    byte=$(tail -c 9 "$model" | head -c 1 | od -An -tu1)
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((byte ^ 1)))" | dd of="$tmp/other.gguf" bs=1 seek=$((size - 9)) conv=notrunc status=none
    run ! cmp -s "$model" "$tmp/other.gguf"
    "$bin/geodec-decode" --quiet --model "$tmp/other.gguf" --max-tokens 5 > /dev/null
    for draft in flowmap ngram; do
        refused 3 "flowmap.h5" "$bin/geodec-decode" --model "$tmp/other.gguf" --artifacts "$tmp/art" --draft $draft
    done
    refused 3 "flowmap.h5" "$bin/geodec-bench-decode" --model "$tmp/other.gguf" --artifacts "$tmp/art" --prompts "$tmp/plain" --n-prompts 2 -o "$tmp/x.h5"
}

@test "artifacts that are missing or damaged are refused" {
    refused 2 "--artifacts" decode --draft flowmap
    refused 1 "flowmap.h5" decode --draft flowmap --artifacts "$tmp"
    bake
    head -c 3000 "$tmp/art/flowmap.h5" > "$tmp/flowmap.h5"
    refused 3 "flowmap.h5" decode --draft flowmap --artifacts "$tmp"
    cp "$tmp/art/store.h5" "$tmp/flowmap.h5"
    refused 3 "geodec-bake" decode --draft flowmap --artifacts "$tmp"
}

@test "a full disk behind the text is an error" {
    run --separate-stderr bash -c "'$bin/geodec-decode' --model '$model' --max-tokens 5000 --ctx 6000 --min-tokens 5000 > /dev/full"
    [ "$status" -eq 1 ]
    [ -n "$stderr" ]
}

@test "the bench finds no difference and repeats its counts" {
    for i in 1 2; do decode --temperature 1 --seed $i --max-tokens 300 --min-tokens 300; done | iconv -f UTF-8 -t UTF-8 -c > "$tmp/text.txt"
    "$bin/geodec-bench-decode" --quiet --threads 1 --model "$model" --prompts "$tmp/text.txt" --n-prompts 4 --max-tokens 24 --drafters ngram,oracle \
        --gammas 1,4 --seeds 2 --timed 2 -o "$tmp/one.h5" --speed "$tmp/speed.h5" > "$tmp/one.tsv"
    mkdir "$tmp/quick"
    "$bin/geodec-bench-decode" --quiet --threads 2 --model "$model" --prompts "$tmp/text.txt" --n-prompts 4 --max-tokens 24 --drafters ngram,oracle \
        --gammas 1,4 --seeds 2 --timed 0 -o "$tmp/quick/two.h5" > "$tmp/two.tsv"
    cmp "$tmp/one.h5" "$tmp/quick/two.h5"
    [ -e "$tmp/speed.h5" ]
    [ "$(ls "$tmp/quick")" = two.h5 ]
    [ "$(cut -f 6 "$tmp/one.tsv" | sort -u | tr '\n' ' ')" = "0 mismatches " ]
    [ "$(head -n 1 "$tmp/one.tsv" | awk -F '\t' '{print NF}')" = "$(awk -F '\t' '{print NF}' "$tmp/one.tsv" | sort -u)" ]
}

@test "a short text gives fewer and shorter prompts, and the bench reports it" {
    printf 'too short' > "$tmp/short.txt"
    run --separate-stderr "$bin/geodec-bench-decode" --model "$model" --prompts "$tmp/short.txt" --drafters ngram --gammas 2 --modes greedy \
        --max-tokens 8 --timed 0 -o "$tmp/x.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"1 prompts instead of 100"* ]]
    [[ "$stderr" == *"instead of 16: the text is short"* ]]
}

@test "the bench refuses invalid lists and texts" {
    : > "$tmp/empty.txt"
    printf 'too short' > "$tmp/short.txt"
    refused 3 "the text is empty" "$bin/geodec-bench-decode" --model "$model" --prompts "$tmp/empty.txt" --drafters ngram -o "$tmp/x.h5"
    for bad in "--drafters wish" "--drafters ngram," "--gammas 4,1" "--gammas 0" "--gammas 17" "--modes some"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin/geodec-bench-decode" --model "$model" --prompts "$tmp/short.txt" --drafters ngram $bad -o "$tmp/x.h5"
        [ "$status" -eq 2 ] || { echo "$bad: $status $stderr"; false; }
    done
    [ ! -e "$tmp/x.h5" ]
}

@test "geodec-published: acceptance rates that follow from the number of tokens alone, its rule of lengths, its options" {
    published=("$bin/geodec-published" --quiet --model "$model")
    run "${published[@]}" --prompt "One day" --max-tokens 64 counters
    [[ "$output" == "geo_accepted 30/64 (46.9 %), xfmr 34, passes 64" ]] || { echo "$output"; false; }
    run "${published[@]}" --prompt "She" --max-tokens 13 counters
    [[ "$output" == "geo_accepted 5/13 (38.5 %), xfmr 8, passes 13" ]] || { echo "$output"; false; }
    run "${published[@]}" --prompt "Once upon a time there was a girl. Once upon a" --max-tokens 60 --draft ngram --gamma 3 lengths
    [[ "$output" == *" tokens in "*" passes, "*" drafts accepted"* ]] || { echo "$output"; false; }
    passes=$(awk 'NR > 2 {n += $2} END {print n}' <<< "$output") # a pass a round, and no round of more than three drafts
    [[ "$output" == *" in $passes passes,"* ]] || { echo "$output"; false; }
    [ "$(tail -n 1 <<< "$output" | cut -f 1)" = 3 ]
    refused 2 "needs a drafter" "${published[@]}" --draft none lengths
    refused 2 "no 'ott-wish'" "$bin/geodec-published" options ott-wish
}

@test "the readiness report of a bench compares one drafter with its control" {
    "$bin/geodec-bench-decode" --quiet --model "$model" --prompts README.md --n-prompts 3 --max-tokens 24 --gammas 2 --modes greedy \
        --drafters bigram,ngram --timed 0 -o "$tmp/b.h5" --readiness "$tmp/ready.json" > /dev/null
    grep -q '"drafter": "ngram"' "$tmp/ready.json"
    grep -q '"control": "bigram"' "$tmp/ready.json"
    grep -q '"speedup": null' "$tmp/ready.json"
    grep -q '"fingerprints_equal": false' "$tmp/ready.json" # drafts from the text alone need no artifact
    grep -Eq '"status": "(hybrid_ready|degraded_geodesic)"' "$tmp/ready.json"
    refused 2 "'flowmap' is not measured" "$bin/geodec-bench-decode" --quiet --model "$model" --prompts README.md --drafters ngram \
        --judge flowmap --readiness "$tmp/other.json" -o "$tmp/c.h5"
}

@test "geodec-drafts: no output changes, and no field is missing" {
    "$bin/geodec-drafts" --quiet --model "$model" --prompts README.md --n-prompts 3 --max-tokens 16 --gammas 2,4 \
        --drafters bigram,ngram -o "$tmp/drafts.h5" --times "$tmp/times.h5" --timed 2 --repeats 1
    "$bin/geodec-check" --quiet "$tmp/drafts.h5" "$tmp/times.h5"
    [ "$("$bin/geodec-table" "$tmp/drafts.h5" gate_different | tail -n +2 | tr '\t' '\n' | sort -u)" = 0 ]
    [ "$("$bin/geodec-table" "$tmp/drafts.h5" alone_passes | tail -n +2 | sort -u)" = 0 ]
    refused 2 "oracle" "$bin/geodec-drafts" --quiet --model "$model" --prompts README.md --drafters oracle -o "$tmp/o.h5"
}

@test "the published sets of options are options of geodec-decode, and the report tells their residual streams" {
    bake
    "$bin/geodec-rollout" --quiet --model "$model" --cells 60 --sites 40 --places 60 --resamples 20 -o "$tmp/art/rollout.h5" "$tmp/art/store.h5" > /dev/null
    "$bin/geodec-onedecode" --quiet -o "$tmp/art/onedecode.h5" "$tmp/art/store.h5" > /dev/null
    [ "$("$bin/geodec-published" options ott-fast)" = "--draft rollout --gamma 16 --gate 0.45" ]
    for p in ott-fast:0 ott-full:0.35 ott-speculative:0.25 ott-perfect:0 ott-theorem:0.45; do
        # shellcheck disable=SC2046 # words
        decode --prompt "One day" -n 4 --artifacts "$tmp/art" $("$bin/geodec-published" options "${p%:*}") --report "$tmp/p.json" --force > /dev/null
        grep -A2 '"attnres": {' "$tmp/p.json" | grep -q "\"strength\": ${p##*:}\$" || { cat "$tmp/p.json"; false; }
    done
    # The config hash: command line, model, tokenizer, and the artifact's model, which is this one.
    want=$({ sed -n 's/^  "command_line": "\(.*\)",$/\1/p' "$tmp/p.json"
        for k in model_sha256 tokenizer_sha256 model_sha256; do sed -n "s/^ *\"$k\": \"\(.*\)\",*\$/\1/p" "$tmp/p.json" | head -n 1; done; } | sha256sum | cut -d' ' -f1)
    grep -q "\"config_sha256\": \"$want\"" "$tmp/p.json"
    hash=$(grep config_sha256 "$tmp/p.json")
    decode --prompt "One day" -n 5 --artifacts "$tmp/art" --draft rollout --report "$tmp/p.json" --force > /dev/null
    [ "$hash" != "$(grep config_sha256 "$tmp/p.json")" ]
}

@test "penalties, biases and min-p: the same text with every drafter, in chains and trees" {
    "$bin/geodec-sample" -q --model "$model" --texts 16 --length 48 -o "$BATS_TEST_TMPDIR/store.tokens"
    "$bin/geodec-export" -q --model "$model" --tokens "$BATS_TEST_TMPDIR/store.tokens" --layers last -o "$BATS_TEST_TMPDIR/store.h5"
    "$bin/geodec-bake" -q -o "$BATS_TEST_TMPDIR/flowmap.h5" "$BATS_TEST_TMPDIR/store.h5"
    decode=("$bin/geodec-decode" -q --model "$model" --prompt 'Once upon a time' -n 60)
    plain=$("${decode[@]}" --artifacts none)
    for how in '--repeat-penalty 1.3' '--frequency-penalty 0.4 --presence-penalty 0.6 --penalty-window 0' '--logit-bias 361=4 --logit-bias 438=-inf' \
        '--temperature 0.9 --min-p 0.1 --repeat-penalty 1.2'; do
        # shellcheck disable=SC2086 # words
        want=$("${decode[@]}" --artifacts none $how)
        [ "$want" != "$plain" ] || { echo "$how changes nothing"; false; }
        for draft in ngram lookup recycle flowmap; do
            for tree in 0 8; do
                # shellcheck disable=SC2086
                got=$("${decode[@]}" --artifacts "$BATS_TEST_TMPDIR" --draft $draft --tree $tree --gamma 6 $how)
                [ "$got" = "$want" ] || { echo "$draft $tree $how: $got"; false; }
            done
        done
    done
    run -3 "${decode[@]}" --arithmetic integer --repeat-penalty 1.3
}

@test "several stop texts; the state ends before them; an option is given once" {
    decode=("$bin/geodec-decode" -q --model "$model" --artifacts none --prompt 'Once upon a time' -n 80)
    plain=$("${decode[@]}")
    one=$("${decode[@]}" --stop 'He ' --stop boy --stop zzz)
    [ "$one" = "${plain%%boy*}" ]
    "${decode[@]}" --stop boy --state "$BATS_TEST_TMPDIR/s" > "$BATS_TEST_TMPDIR/a"
    "${decode[@]}" --state "$BATS_TEST_TMPDIR/s" > "$BATS_TEST_TMPDIR/b"
    # the second run goes on before the stop text
    [[ "$(cat "$BATS_TEST_TMPDIR/b")" == *boy* ]]
    run -2 "$bin/geodec-decode" -p a -p b
    [[ "$output" == *"--prompt is given twice"* ]]
    run -0 "$bin/geodec-decode" -q --model "$model" --artifacts none -p a -n 5 -n 1 --seed 1 --seed 2
    [ "$output" = "$("$bin/geodec-decode" -q --model "$model" --artifacts none -p a -n 1 --seed 2)" ]
}

@test "a text cut by the context says so; lengths beyond the training have a warning" {
    run --separate-stderr "$bin/geodec-decode" --model "$model" -p Once --ctx 20 -n 100
    [[ "$stderr" == *"context of 20 tokens is full"* ]]
    run --separate-stderr "$bin/geodec-decode" --model "$model" -p Once --ctx 4096 -n 2
    [[ "$stderr" == *"longer than the 512 that the model was trained for"* ]]
    run --separate-stderr "$bin/geodec-decode" --model "$model" -p Once --ctx 4096 -n 2 --allow-long
    [[ "$stderr" != *"longer than"* ]]
    printf 'Once upon a time there was a boy. %.0s' $(seq 400) > "$BATS_TEST_TMPDIR/t"
    run --separate-stderr "$bin/geodec-perplexity" --window 1024 "$model" "$BATS_TEST_TMPDIR/t"
    [[ "$stderr" == *"windows of 1024 tokens are longer than the 512"* ]]
}
