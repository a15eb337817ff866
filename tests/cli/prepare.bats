#!/usr/bin/env bats
# geodec-prepare: one command that makes drafting artifacts of a model, which the decoding tools find.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export model=$PWD/data/model/geodec-stories-f16.gguf dir=$BATS_FILE_TMPDIR shared=${GEODEC_SHARED:-$PWD/../shared}
    export XDG_CACHE_HOME=$BATS_FILE_TMPDIR/cache
    cp "$model" "$dir/m.gguf"
    "$bin/geodec-prepare" --texts 24 --length 64 "$dir/m.gguf" 2> "$dir/said"
}

setup() {
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
}

decode() { "$bin/geodec-decode" --model "$dir/m.gguf" --prompt "Once upon a time" -n 40 "$@"; }

# of NAME FILE: prints a member of a flat JSON object.
of() { sed -n "s/^  \"$1\": \"*\([^\",]*\)\"*,*$/\1/p" "$2"; }

# Sets a drafter in the record, because the result of the trial depends on the load of the machine.
choose() { sed -i "s/^  \"draft\": .*,/  \"draft\": \"$1\",/" "$2/prepared.json"; }

@test "artifacts, a record, and nothing else are in the folder next to the model; the summary has map, control and trial" {
    [ "$(ls -A "$dir/m.gguf.geodec")" = "$(printf 'flowmap.h5\nprepared.json')" ]
    "$bin/geodec-check" -q "$dir/m.gguf.geodec/flowmap.h5"
    grep -q 'with shuffled labels:' "$dir/said"
    grep -Eq 'speed relative to plain decoding .* ngram [0-9.]+, flowmap [0-9.]+, auto [0-9.]+; default drafter: (ngram|flowmap|auto|none)$' "$dir/said"
    [ "$(of sampled_texts "$dir/m.gguf.geodec/prepared.json")" = 24 ]
    [ "$(of prompts <(sed 's/^    /  /' "$dir/m.gguf.geodec/prepared.json") | head -n 1)" -ge 2 ]
}

@test "the map is that of sample, export and bake" {
    "$bin/geodec-sample" -q --model "$model" --texts 24 --length 64 -o "$tmp/store.tokens"
    "$bin/geodec-export" -q --model "$model" --tokens "$tmp/store.tokens" --layers last --window 64 -o "$tmp/store.h5"
    "$bin/geodec-bake" -q -o "$tmp/flowmap.h5" "$tmp/store.h5"
    "$bin/geodec-diff" -q "$tmp/flowmap.h5" "$dir/m.gguf.geodec/flowmap.h5"
}

@test "the same bytes with other threads, into the cache folder" {
    "$bin/geodec-prepare" -q --threads 3 --cache --texts 24 --length 64 "$dir/m.gguf"
    print=$("$bin/geodec-model-info" "$model" | awk -F '\t' '$1 == "fingerprint" { print $2 }')
    cmp "$XDG_CACHE_HOME/geodec/$print/flowmap.h5" "$dir/m.gguf.geodec/flowmap.h5"
}

@test "decode finds the artifacts next to the model and reports it; the text is that of plain decoding" {
    for drafter in ngram flowmap auto; do
        choose $drafter "$dir/m.gguf.geodec"
        decode --check-plain --report "$tmp/$drafter.json" > "$tmp/text" 2> "$tmp/said"
        grep -q "drafter $drafter.*drafting artifacts from $dir/m.gguf.geodec (--artifacts none: do not use them)" "$tmp/said"
        grep -q -- "--artifacts=m.gguf.geodec .*--draft=$drafter " "$tmp/$drafter.json"
        grep -q '"n_different": 0' "$tmp/$drafter.json"
    done
    decode --artifacts none --report "$tmp/none.json" > "$tmp/plain" 2> "$tmp/said"
    cmp "$tmp/plain" "$tmp/text"
    ! grep -q tables "$tmp/said" || false
    grep -q -- '--draft=none' "$tmp/none.json"
    # A drafter by name finds them too; one that reads no artifacts gets no note about them.
    decode --draft flowmap --gamma 4 2> "$tmp/said" > "$tmp/text"
    cmp "$tmp/plain" "$tmp/text"
    grep -q 'drafter flowmap.*m.gguf.geodec' "$tmp/said"
    decode --draft lookup 2> "$tmp/said" > /dev/null
    [ ! -s "$tmp/said" ]
}

@test "if no drafter was faster, none is used" {
    cp -r "$dir/m.gguf.geodec" "$tmp/keep"
    choose none "$dir/m.gguf.geodec"
    decode -v --report "$tmp/r.json" 2> "$tmp/said" > /dev/null
    grep -q 'no drafter was faster' "$tmp/said"
    grep -q -- '--draft=none' "$tmp/r.json"
    cp "$tmp/keep/prepared.json" "$dir/m.gguf.geodec/prepared.json"
}

@test "bench-decode and the interactive mode find them" {
    choose ngram "$dir/m.gguf.geodec"
    decode --artifacts none --max-tokens 300 --min-tokens 300 -q > "$tmp/text.txt"
    "$bin/geodec-bench-decode" --model "$dir/m.gguf" --prompts "$tmp/text.txt" --n-prompts 2 --max-tokens 8 --gammas 2 --modes greedy \
        --timed 0 -o "$tmp/b.h5" > "$tmp/b.tsv" 2> "$tmp/said"
    grep -q 'drafting artifacts from .*m.gguf.geodec' "$tmp/said"
    cut -f 1 "$tmp/b.tsv" | grep -qx flowmap
    run "$bin/geodec-info" "$tmp/b.h5"
    [[ "$output" == *"flowmap.h5"* ]]
    "$bin/geodec-bench-decode" --model "$dir/m.gguf" --artifacts none --prompts "$tmp/text.txt" --n-prompts 2 --max-tokens 8 --gammas 2 \
        --modes greedy --timed 0 -o "$tmp/c.h5" > "$tmp/c.tsv" 2> "$tmp/said"
    ! grep -q tables "$tmp/said" || false
    ! cut -f 1 "$tmp/c.tsv" | grep -qx flowmap || false
    printf 'One day\n' | "$bin/geodec-decode" --model "$dir/m.gguf" --interactive --no-template -n 8 --check-plain > /dev/null 2> "$tmp/said"
    grep -q 'drafter ngram.*m.gguf.geodec' "$tmp/said"
}

@test "the cache is found by the model's fingerprint, under any name of the file" {
    "$bin/geodec-prepare" -q --cache --texts 24 --length 64 "$model"
    choose ngram "$XDG_CACHE_HOME"/geodec/*
    cp "$model" "$tmp/other name.gguf"
    "$bin/geodec-decode" --model "$tmp/other name.gguf" -n 8 2> "$tmp/said" > /dev/null
    grep -q "drafter ngram.*$XDG_CACHE_HOME/geodec/" "$tmp/said"
    # HOME if XDG_CACHE_HOME is not set; with neither, no artifacts and no error.
    mkdir -p "$tmp/home/.cache" && cp -r "$XDG_CACHE_HOME/geodec" "$tmp/home/.cache/"
    env -u XDG_CACHE_HOME HOME="$tmp/home" "$bin/geodec-decode" --model "$tmp/other name.gguf" -n 8 2> "$tmp/said" > /dev/null
    grep -q "drafter ngram.*$tmp/home/.cache/geodec/" "$tmp/said"
    env -u XDG_CACHE_HOME -u HOME "$bin/geodec-decode" --model "$tmp/other name.gguf" -n 8 2> "$tmp/said" > /dev/null
    [ ! -s "$tmp/said" ]
}

@test "if the folder cannot be written, the artifacts go to the cache" {
    cp "$model" "$tmp/m.gguf"
    : > "$tmp/m.gguf.geodec" # a file in its place
    "$bin/geodec-prepare" --texts 24 --length 64 "$tmp/m.gguf" 2> "$tmp/said"
    grep -q -- "-> $XDG_CACHE_HOME/geodec/" "$tmp/said"
    [ ! -s "$tmp/m.gguf.geodec" ]
}

@test "artifacts of another model and damaged ones are ignored with a warning; requested by name, they are refused" {
    cp -r "$dir/m.gguf.geodec" "$tmp/q.gguf.geodec"
    "$bin/geodec-quantize" -q --type q8_0 -o "$tmp/q.gguf" "$model" > /dev/null
    "$bin/geodec-decode" --model "$tmp/q.gguf" -n 8 2> "$tmp/said" > "$tmp/text"
    grep -q 'warning: .*q.gguf.geodec: drafting artifacts of another model; not used' "$tmp/said"
    [ -s "$tmp/text" ]
    cp "$model" "$tmp/m.gguf"
    cp -r "$dir/m.gguf.geodec" "$tmp/m.gguf.geodec"
    choose ngram "$tmp/m.gguf.geodec"
    head -c 3000 "$dir/m.gguf.geodec/flowmap.h5" > "$tmp/m.gguf.geodec/flowmap.h5"
    "$bin/geodec-decode" --model "$tmp/m.gguf" -n 8 2> "$tmp/said" > "$tmp/text"
    grep -q 'drafting artifacts that were found are not used: .*flowmap.h5' "$tmp/said"
    [ -s "$tmp/text" ]
    run --separate-stderr "$bin/geodec-decode" --model "$tmp/m.gguf" -n 8 --draft flowmap
    [ "$status" -eq 3 ]
    [[ "$stderr" == *flowmap.h5* ]]
    echo '{' > "$tmp/m.gguf.geodec/prepared.json"
    "$bin/geodec-decode" --model "$tmp/m.gguf" -n 8 2> "$tmp/said" > "$tmp/text"
    grep -q 'warning: .*prepared.json' "$tmp/said"
    rm "$tmp/m.gguf.geodec/prepared.json" # a run that was stopped: nothing to find
    "$bin/geodec-decode" --model "$tmp/m.gguf" -n 8 2> "$tmp/said" > "$tmp/text"
    [ ! -s "$tmp/said" ]
}

@test "a second run: the same request is already done, another one is refused without --force" {
    "$bin/geodec-prepare" --texts 24 --length 64 "$dir/m.gguf" 2> "$tmp/said"
    grep -q 'm.gguf.geodec already exists' "$tmp/said"
    run --separate-stderr "$bin/geodec-prepare" --texts 20 --length 64 "$dir/m.gguf"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"other settings; --force"* ]]
    cp -r "$dir/m.gguf.geodec" "$tmp/m.gguf.geodec" && cp "$model" "$tmp/m.gguf"
    "$bin/geodec-prepare" -q --force --texts 20 --length 64 "$tmp/m.gguf"
    [ "$(of sampled_texts "$tmp/m.gguf.geodec/prepared.json")" = 20 ]
}

@test "with a time budget the speed decides the sizes, and the canonical command makes the same bytes" {
    cp "$model" "$tmp/m.gguf"
    "$bin/geodec-prepare" --minutes 0.1 "$tmp/m.gguf" 2> "$tmp/said"
    record=$tmp/m.gguf.geodec/prepared.json
    [ "$(of tokens "$record")" -ge 1024 ]
    [ "$(of sample_tok_per_s "$record" | cut -d. -f1)" -gt 0 ]
    command=$(of command_line "$record")
    [[ "$command" == "geodec-prepare --seed=1 --texts="*" --length="*" m.gguf" ]]
    cp "$tmp/m.gguf.geodec/flowmap.h5" "$tmp/first.h5"
    # shellcheck disable=SC2086
    (cd "$tmp" && "$bin"/${command% m.gguf} -q --force m.gguf)
    cmp "$tmp/first.h5" "$tmp/m.gguf.geodec/flowmap.h5"
}

@test "too little for a map: status 5, one line, no output" {
    cp "$model" "$tmp/m.gguf"
    run --separate-stderr "$bin/geodec-prepare" --texts 3 --length 20 "$tmp/m.gguf"
    [ "$status" -eq 5 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"a map needs 1024"* ]]
    [ ! -e "$tmp/m.gguf.geodec" ]
}

@test "a given text is read first; a file that is not a text is refused" {
    cp "$model" "$tmp/m.gguf"
    for i in $(seq 40); do printf 'Lily saw dog number %d in the park. It ran to the tree and back.\n<|endoftext|>\n' "$i"; done > "$tmp/text.txt"
    "$bin/geodec-prepare" --texts 10 --length 64 --text "$tmp/text.txt" "$tmp/m.gguf" 2> "$tmp/said"
    record=$tmp/m.gguf.geodec/prepared.json
    [ "$(of text_tokens "$record")" -gt 400 ]
    [ "$(of sampled_texts "$record")" = 10 ]
    "$bin/geodec-info" "$tmp/m.gguf.geodec/flowmap.h5" | grep -q 'text.txt'
    cat "$tmp/text.txt" "$tmp/text.txt" > "$tmp/twice.txt"
    "$bin/geodec-prepare" -q --force --text-tokens 1200 --length 64 --text "$tmp/twice.txt" "$tmp/m.gguf"
    [ "$(of text_tokens "$record")" = 1200 ]
    [ "$(of sampled_texts "$record")" = 0 ]
    : > "$tmp/empty.txt"
    run --separate-stderr "$bin/geodec-prepare" --force --text "$tmp/empty.txt" "$tmp/m.gguf"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"empty.txt"* ]]
    [ "$(ls -A "$tmp/m.gguf.geodec")" = "$(printf 'flowmap.h5\nprepared.json')" ]
}

@test "after Ctrl-C the texts are kept, and the next run continues to the same bytes" {
    cp "$model" "$tmp/m.gguf"
    "$bin/geodec-prepare" --texts 100 --length 64 "$tmp/m.gguf" 2> "$tmp/said" &
    pid=$!
    for _ in $(seq 100); do [ -e "$tmp/m.gguf.geodec/.work/plan.json" ] && break; sleep 0.05; done
    sleep 0.2
    kill -INT $pid
    status=0
    wait $pid || status=$?
    [ "$status" -eq 130 ]
    [ ! -e "$tmp/m.gguf.geodec/flowmap.h5" ]
    [ "$(wc -l < "$tmp/m.gguf.geodec/.work/sample.tokens")" -ge 1 ]
    "$bin/geodec-prepare" --texts 100 --length 64 "$tmp/m.gguf" 2> "$tmp/said"
    grep -q 'texts were there' "$tmp/said"
    mkdir "$tmp/whole" && cp "$model" "$tmp/whole/m.gguf"
    "$bin/geodec-prepare" -q --texts 100 --length 64 "$tmp/whole/m.gguf"
    cmp "$tmp/m.gguf.geodec/flowmap.h5" "$tmp/whole/m.gguf.geodec/flowmap.h5"
    # Files left by another request are not used and cause no error.
    mkdir "$tmp/m.gguf.geodec/.work" && echo '{}' > "$tmp/m.gguf.geodec/.work/plan.json" && echo '9 9 9' > "$tmp/m.gguf.geodec/.work/sample.tokens"
    "$bin/geodec-prepare" -q --force --texts 100 --length 64 "$tmp/m.gguf"
    cmp "$tmp/m.gguf.geodec/flowmap.h5" "$tmp/whole/m.gguf.geodec/flowmap.h5"
    [ ! -e "$tmp/m.gguf.geodec/.work" ]
}

# A model of one layer and a context of 64, trained for two steps.
tiny() {
    for i in $(seq 60); do printf 'Tom had a red ball number %d. He ran to the hill with it.\n<|endoftext|>\n' "$i"; done > "$tmp/train.txt"
    "$bin/geodec-vocab" -q --size 320 -o "$tmp/vocab.gguf" "$tmp/train.txt" > /dev/null
    "$bin/geodec-train" -q --text "$tmp/train.txt" --held-out "$tmp/train.txt" --vocab "$tmp/vocab.gguf" --d-model 16 --layers 1 --heads 2 --kv-heads 1 --ff 32 --ctx 64 \
        --length 32 --batch 2 --steps 2 -o "$tmp/tiny.gguf" > /dev/null
}

@test "one layer and a context of 64" {
    tiny
    "$bin/geodec-prepare" --texts 40 "$tmp/tiny.gguf" 2> "$tmp/said"
    [ "$(of length "$tmp/tiny.gguf.geodec/prepared.json")" = 64 ]
    choose flowmap "$tmp/tiny.gguf.geodec"
    "$bin/geodec-decode" -q --model "$tmp/tiny.gguf" --prompt "Tom" -n 30 --check-plain > /dev/null
}

@test "experts, a context of 128, blocks: models of the shared folder" {
    [ -d "$shared/models" ] || skip "no ../shared (GEODEC_SHARED)"
    for m in stories-moe8x2-q4_0 stories260K-q4_k_m; do
        cp "$shared/models/$m.gguf" "$tmp/"
        "$bin/geodec-prepare" -q --texts 24 --length 64 "$tmp/$m.gguf"
        choose ngram+flowmap "$tmp/$m.gguf.geodec"
        [ "$(of arithmetic "$tmp/$m.gguf.geodec/prepared.json")" = fast ]
        "$bin/geodec-decode" --model "$tmp/$m.gguf" --prompt "One day" -n 40 --tree 8 --check-plain > /dev/null 2> "$tmp/said"
        grep -q 'drafter ngram+flowmap' "$tmp/said"
        # Artifacts of fast states also work with exact decoding, and the summary says so.
        "$bin/geodec-decode" --model "$tmp/$m.gguf" --arithmetic exact --prompt "One day" -n 40 --check-plain > /dev/null 2> "$tmp/said"
        grep -q 'made in fast arithmetic' "$tmp/said"
    done
}
