#!/usr/bin/env bats
# Tools with --ram: the output is that of the resident model, the budget holds, faults are named, traces replay.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export shared=${GEODEC_SHARED:-$PWD/../shared}
    [ -r "$shared/models/stories-moe8x2-q8_0.gguf" ] || return 0
    export model=$shared/models/stories-moe8x2-q8_0.gguf d=$BATS_FILE_TMPDIR
    head -c 3000 "$shared/text/tinystories-a.txt" > "$d/text.txt"
    printf 'One day a dog ran to the park.\n<|endoftext|>\nThe girl had a red ball and a blue cup.\n' > "$d/prompts.txt"
    for a in exact fast; do
        "$bin/geodec-experts" -q build "$model" --arithmetic $a -o "$d/$a.experts"
    done
}

setup() {
    [ -r "$shared/models/stories-moe8x2-q8_0.gguf" ] || skip "no models: set GEODEC_SHARED"
}

# smallest TOOL OPTIONS...: the smallest budget, from the plan; of geodec-depth, whose second session is larger, as a refusal names it.
smallest() {
    if [ "$1" = depth ]; then
        "$bin/geodec-$1" --quiet --force "${@:2}" -o "$tmp/refused" --ram 600K 2>&1 > /dev/null | sed -n 's/.*one more session.* needs //p'
    else
        "$bin/geodec-$1" --quiet "${@:2}" --ram 1G --plan | awk -F'\t' '$1 == "smallest budget" { print $2 }'
    fi
}

# streams TOOL RESULT OPTIONS...: with --ram the tool writes the same RESULT (a file, or - for standard output) as without,
# from the GGUF and from a store of the arithmetic $a (an artifact may name the other file).
streams() {
    local tool=$1 result=$2 least store=$d/${a:-exact}.experts
    shift 2
    once() {
        if [ "$result" = - ]; then
            "$bin/geodec-$tool" --quiet "$@" > "$tmp/result"
        else
            "$bin/geodec-$tool" --quiet --force "$@" -o "$tmp/result" > /dev/null
        fi
        [ -s "$tmp/result" ]
    }
    same() {
        once --model "$1" "${@:2}"
        cmp -s "$tmp/resident" "$tmp/result" || { [ "$1" = "$store" ] && "$bin/geodec-diff" "$tmp/resident" "$tmp/result"; } ||
            { echo "$tool $*"; false; }
    }
    once --model "$model" "$@"
    mv "$tmp/result" "$tmp/resident"
    least=$(smallest "$tool" --model "$model" "$@")
    same "$model" "$@" -t 1 --ram "$least"
    same "$model" "$@" -t 2 --ram "$((least + 500000))" --io buffered --experts evict=lru,ahead=router2,least=0.2,most=4
    same "$model" "$@" -t 3 --ram 1G --experts engine=threads,evict=lfu,ahead=none,quota=no
    same "$model" "$@" -t 2 --ram 1G --io mmap
    least=$(smallest "$tool" --model "$store" "$@")
    same "$store" "$@" -t 3 --ram "$least" --experts evict=map,ahead=router1
    same "$store" "$@" -t 1 --ram "$((least + 300000))" --io buffered --experts engine=threads,evict=stale
    same "$store" "$@" -t 2 --ram 1G --io mmap
}

@test "decode: plain, chains, trees, sampling, dialogue, in both arithmetics" {
    for a in exact fast; do
        how=(--arithmetic $a --prompt "Once upon a time" --max-tokens 24 --min-tokens 24)
        streams decode - "${how[@]}" --draft none
        streams decode - "${how[@]}" --draft ngram --gamma 4
        streams decode - "${how[@]}" --draft bigram --tree 6 --gamma 3 --check-plain
    done
    a=exact
    streams decode - --arithmetic exact --prompt "One day" --max-tokens 24 --temperature 0.8 --top-p 0.95 --seed 7 --draft lookup --gamma 3
    streams decode - --arithmetic exact --prompt "One day" --max-tokens 24 --kv q8_0 --draft recycle --gamma auto
    streams decode - --arithmetic exact --prompt "One day" --max-tokens 16 --draft exit:3 --gamma 3
}

@test "decode: drafts by price" {
    how=(--arithmetic exact --prompt "Once upon a time" --max-tokens 60 --min-tokens 60 --temperature 0)
    "$bin/geodec-decode" -q --model "$model" "${how[@]}" --draft none > "$tmp/plain"
    for drafter in bigram ngram lookup recycle auto exit:3; do
        least=$(smallest decode --model "$d/exact.experts" --arithmetic exact --draft $drafter) # exit has a session of its own
        for price in foretold chance none; do
            for tree in 0 8; do
                case $tree.$drafter in 8.recycle) continue ;; esac
                "$bin/geodec-decode" -q --model "$d/exact.experts" "${how[@]}" --draft $drafter --gamma auto --tree $tree \
                    --ram "$((least + 300000))" --experts evict=lru,ahead=none,price=$price --force --report "$tmp/r.json" > "$tmp/text"
                cmp "$tmp/plain" "$tmp/text" || { echo "$drafter $price $tree"; false; }
            done
        done
    done
    grep -q '"bytes_per_token"' "$tmp/r.json"
    # Drafts that are known to be accepted: exact, none is rejected, and each drafter has some.
    "$bin/geodec-bench-decode" -q --model "$d/exact.experts" --arithmetic exact --prompts "$d/prompts.txt" --n-prompts 2 --max-tokens 40 --prompt-tokens 6 \
        --modes greedy --drafters oracle,oracle+exit:3,oracle+bigram --gammas 4 --trees 6 --timed 0 --ram "$((least + 300000))" -o "$tmp/known.h5" --force > /dev/null
    known=$("$bin/geodec-table" "$tmp/known.h5" "SELECT count(*), sum(compared > 0), sum(mismatches), sum(at(accepted_share, 0) = 1) FROM t" | tail -n 1)
    [ "$known" = "$(printf '6\t6\t0\t6')" ] || { echo "$known"; false; }
    run -2 "$bin/geodec-decode" -q --model "$model" "${how[@]}" --ram 1G --experts price=cheap
}

@test "sample, perplexity, export" {
    for a in exact fast; do
        streams sample file --arithmetic $a --texts 7 --length 16
        streams perplexity - --arithmetic $a --window 48 --windows 3 "$d/text.txt"
    done
    a=exact
    streams sample file --arithmetic exact --texts 3 --length 16 --text --kv q8_0
    streams perplexity - --arithmetic exact --window 32 --stride 16 --windows 4 --against-kv q4_0 "$d/text.txt"
    streams export file --text "$d/text.txt" --max-tokens 150 --layers all --f16
}

# bats test_tags=full
@test "bench-decode, drafts, needle, depth, residual" {
    a=exact
    streams bench-decode file --arithmetic exact --prompts "$d/prompts.txt" --n-prompts 2 --max-tokens 8 --drafters bigram,ngram --gammas 2 --trees 4 \
        --prompt-tokens 6 --timed 0
    streams drafts file --arithmetic exact --prompts "$d/prompts.txt" --n-prompts 2 --max-tokens 8 --drafters lookup --gammas 2
    streams needle - --window 64 --trials 2 --depths 2 "$d/text.txt"
    streams depth file
    streams residual - --windows 2 "$d/text.txt"
}

# ---- traces ------------------------------------------------------------------------------------------------------------

@test "the simulator repeats real runs in every counter: 24 traces" {
    local runs=0 evict=(lru lfu stale score static map) ahead=(none router1 router2) least file
    # traced TOOL OPTIONS...: a run with the next policy, look-ahead, budget and reads, then its replay.
    traced() {
        local tool=$1 n=$runs how=()
        shift
        [ $((n % 2)) -eq 0 ] || how+=(--io buffered)
        [ $((n % 5)) -ne 2 ] || how+=(--io-throttle 60)
        file=$tmp/$n.trace
        "$bin/geodec-$tool" --quiet "$@" "${how[@]}" -t $((1 + n % 3)) --ram "$((least + n % 4 * 350000))" --experts \
            "evict=${evict[n % 6]},ahead=${ahead[n % 3]},least=0.3,most=$((n % 4)),quota=$([ $((n % 7)) -eq 3 ] && echo no || echo yes),engine=$(
            [ $((n % 4)) -eq 3 ] && echo threads || echo io_uring),usage=$tmp/usage,trace=$file" > /dev/null
        run "$bin/geodec-experts" simulate "$file" --policy lru
        [ "$status" -eq 0 ] && [[ "$output" == *"the replay equals the run in every counter"* ]] || { echo "$n: $tool $* ${how[*]}: $output"; return 1; }
        runs=$((runs + 1))
    }
    for source in "$model" "$d/fast.experts" "$shared/models/moe22m-f16.gguf"; do
        rm -f "$tmp/usage"
        least=$(smallest decode --model "$source" --ctx 256)
        decode=(decode --model "$source" --ctx 256 --prompt "One day a" --min-tokens 24 --max-tokens 24)
        for sampling in "--temperature 0" "--temperature 1 --seed 3"; do
            # shellcheck disable=SC2086
            traced "${decode[@]}" $sampling
            # shellcheck disable=SC2086
            traced "${decode[@]}" $sampling --draft ngram --gamma 4
            # shellcheck disable=SC2086
            traced "${decode[@]}" $sampling --draft bigram --tree 6 --gamma 3
        done
        least=$((least + 3000000))
        traced perplexity --model "$source" --window 64 --windows 2 "$d/text.txt"
        traced perplexity --model "$source" --window 24 --windows 3 "$d/text.txt"
    done
    [ "$runs" -eq 24 ]
}

# ---- faults ------------------------------------------------------------------------------------------------------------

@test "a damaged store: the run ends with the expert's name, check names it too" {
    cp "$d/fast.experts" "$tmp/bad.experts"
    size=$(stat -c %s "$tmp/bad.experts")
    printf '\x55' | dd of="$tmp/bad.experts" bs=1 seek=$((size - 9000)) conv=notrunc status=none
    cmp -s "$d/fast.experts" "$tmp/bad.experts" && false
    run --separate-stderr "$bin/geodec-perplexity" -q --model "$tmp/bad.experts" --ram 4M "$d/text.txt"
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    [[ "$stderr" =~ bad.experts:\ layer\ 4,\ expert\ 7:\ wrong\ CRC-32C ]] || { echo "$stderr"; false; }
    run --separate-stderr "$bin/geodec-experts" check "$tmp/bad.experts"
    [ "$status" -eq 3 ] && [[ "$stderr" == *"layer 4, expert 7"* ]] || { echo "$stderr"; false; }
    # cut off before it is opened
    head -c $((size - 5000)) "$d/fast.experts" > "$tmp/short.experts"
    run --separate-stderr "$bin/geodec-decode" --model "$tmp/short.experts" --ram 4M
    [ "$status" -eq 3 ] && [[ "$stderr" == *"short.experts"* ]] || { echo "$status $stderr"; false; }
}

@test "a check before a run: the golden prompt of a store, finite logits of a GGUF; the text is the same" {
    for file in "$d/exact.experts" "$d/fast.experts" "$model"; do
        decode=("$bin/geodec-decode" --model "$file" --arithmetic fast --prompt "One day" --max-tokens 12 --ram 4M)
        "${decode[@]}" -q > "$tmp/want"
        "${decode[@]}" -v --experts check=yes > "$tmp/text" 2> "$tmp/err"
        cmp "$tmp/want" "$tmp/text"
        if [ "$file" = "$model" ]; then grep -q "no golden prompt" "$tmp/err"; else grep -q "the logits of the golden prompt are right" "$tmp/err"; fi
        "${decode[@]}" --experts check=no > /dev/null 2> "$tmp/err"
        [ ! -s "$tmp/err" ]
    done
    run --separate-stderr "$bin/geodec-experts" check "$d/exact.experts"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"every checksum matches, and the logits of the golden prompt do"* ]]
    [ "$("$bin/geodec-experts" info "$d/exact.experts" | awk -F'\t' '$1 == "golden_tokens" { print $2 }')" -eq 8 ]
    # a weight of the resident part
    cp "$d/fast.experts" "$tmp/bad.experts"
    at=$(grep -abo "blk.4.ffn_norm.weight" "$tmp/bad.experts" | head -1 | cut -d: -f1)
    printf 'x' | dd of="$tmp/bad.experts" bs=1 seek=$((at + 3000)) conv=notrunc status=none
    cmp -s "$d/fast.experts" "$tmp/bad.experts" && false
    run --separate-stderr "$bin/geodec-decode" -q --model "$tmp/bad.experts" --ram 4M --prompt "One day" --max-tokens 12 --experts check=yes
    [ "$status" -eq 3 ] && [ -z "$output" ] && [[ "$stderr" == *"bad.experts: the resident part does not match its CRC-32C"* ]] || { echo "$stderr"; false; }
}

# bats test_tags=full
@test "a live line with -v on a terminal, nothing of it in a file or a pipe" {
    type script > /dev/null || skip "no script(1)"
    shown='experts: hit [0-9]+ %, stall [0-9]+ %, [0-9]+ MB/s, [0-9.]+ tokens/s'
    command="$bin/geodec-decode --model $d/fast.experts --ram $(smallest decode --model "$d/fast.experts") --experts ahead=none --io-throttle 12 --prompt One --min-tokens 60 --max-tokens 60"
    $command -q > "$tmp/want"
    # text and line on the same terminal: the last line is kept, and given back
    TERM=xterm script -qec "stty rows 24 cols 80; $command -v" /dev/null < /dev/null > "$tmp/screen"
    grep -qE "$shown" "$tmp/screen"
    grep -q $'\e\\[1;23r' "$tmp/screen"
    [ "$(grep -o $'\e\\[[0-9;]*r' "$tmp/screen" | tail -1)" = $'\e[r' ]
    TERM=dumb script -qec "stty rows 24 cols 80; $command -v" /dev/null < /dev/null > "$tmp/screen"
    grep -qE "$shown" "$tmp/screen" && false
    grep -q $'\e' "$tmp/screen" && false
    # the text in a file
    TERM=xterm script -qec "$command -v > $tmp/text" /dev/null < /dev/null > "$tmp/screen"
    grep -qE "$shown" "$tmp/screen"
    cmp "$tmp/want" "$tmp/text"
    # no terminal, and no -v
    $command -v > "$tmp/text" 2> "$tmp/err"
    cmp "$tmp/want" "$tmp/text"
    grep -qE "$shown" "$tmp/err" && false
    TERM=xterm script -qec "$command" /dev/null < /dev/null > "$tmp/screen"
    grep -q $'\e' "$tmp/screen" && false
    # in a progress line
    TERM=xterm script -qec "$bin/geodec-perplexity --model $d/fast.experts --ram 1M --io-throttle 12 -v --window 64 --windows 12 $d/text.txt" /dev/null < /dev/null \
        > "$tmp/screen"
    grep -qE "windows [0-9]+/[0-9]+ .*; $shown" "$tmp/screen"
}

# cut_off FILE BYTES OPTIONS...: FILE is cut to BYTES after the first tokens came; leaves the status in $status, standard error in
# $tmp/err. What was written is a beginning of the whole text.
cut_off() {
    local file=$1 bytes=$2 pid least
    shift 2
    decode=("$bin/geodec-decode" -q --model "$file" --ctx 256 --prompt "One day" --min-tokens 200 --max-tokens 200 "$@")
    least=$(smallest decode --model "$file" --ctx 256 --prompt "One day" "$@")
    "${decode[@]}" --ram "$least" > "$tmp/whole"
    "${decode[@]}" --ram "$least" --experts evict=lru,ahead=none --io-throttle "${throttle:-3}" > "$tmp/text" 2> "$tmp/err" 3>&- &
    pid=$!
    for _ in $(seq 1000); do
        [ "$(stat -c %s "$tmp/text")" -ge 8 ] && break
        sleep 0.01
    done
    [ -s "$tmp/text" ]
    truncate -s "$bytes" "$file"
    status=0
    wait $pid || status=$?
    cat "$tmp/err"
    [ "$status" -eq 1 ]
    [ "$(wc -l < "$tmp/err")" -eq 1 ]
    local n
    n=$(stat -c %s "$tmp/text")
    [ "$n" -lt "$(stat -c %s "$tmp/whole")" ]
    cmp -n "$n" "$tmp/text" "$tmp/whole"
}

@test "a store that is cut off in mid-run: one line, which names the expert" {
    cp "$d/fast.experts" "$tmp/cut.experts"
    cut_off "$tmp/cut.experts" 400000
    grep -q 'cut.experts: layer [0-4], expert [0-7]: the file ends too early' "$tmp/err"
}

# In this file the experts of the last layer are at the end.
@test "a GGUF that is cut off in mid-run: one line, which names the expert" {
    for a in exact fast; do
        cp "$shared/models/moe22m-f16.gguf" "$tmp/cut.gguf"
        throttle=30 cut_off "$tmp/cut.gguf" 42500000 --arithmetic $a
        grep -q 'cut.gguf: layer 5, expert [0-9]*: the file ends too early' "$tmp/err"
        rm "$tmp/cut.gguf"
    done
}

# The weights that stay in memory are mapped, or were packed at the start.
@test "a GGUF or a store that loses weights of all layers in mid-run: one line, which names the file and the cause" {
    for a in exact fast; do
        for file in cut.gguf cut.experts; do
            if [ $file = cut.gguf ]; then cp "$shared/models/moe22m-f16.gguf" "$tmp/$file"; else cp "$d/$a.experts" "$tmp/$file"; fi
            throttle=$([ $file = cut.gguf ] && echo 30 || echo 3) cut_off "$tmp/$file" 8192 --arithmetic $a
            grep -qE "$file: (layer [0-9], expert [0-9]*: the file ends too early|the file was truncated while it was read)" "$tmp/err"
            rm "$tmp/$file"
        done
    done
}

@test "a full disk while a store is built, or a trace and a table of uses are written, leaves no file" {
    mkdir "$tmp/out"
    (
        ulimit -f 700
        trap '' XFSZ
        run --separate-stderr "$bin/geodec-experts" build "$model" -o "$tmp/out/a.experts"
        [ "$status" -eq 1 ] && [[ "$stderr" == *"a.experts"*"File too large"* ]] || { echo "$status $stderr"; exit 1; }
    )
    [ -z "$(ls -A "$tmp/out")" ]
    for what in usage trace; do
        run --separate-stderr bash -c "ulimit -f 1; trap '' XFSZ; '$bin/geodec-decode' -q --model '$d/fast.experts' --ram 4M --prompt 'One day' --min-tokens 90 \
            --max-tokens 90 --experts $what='$tmp/out/a'"
        [ "$what" = usage ] || { [ "$status" -eq 1 ] && [[ "$stderr" == *"File too large"* ]]; } || { echo "$status $stderr"; false; }
        rm -f "$tmp/out/a"
        [ -z "$(ls -A "$tmp/out")" ] || { ls -A "$tmp/out"; false; }
    done
}

@test "kill -9 at any time: a store is whole or not there, and a table of uses is the old or the new one" {
    "$bin/geodec-experts" -q build "$model" -o "$tmp/whole"
    for i in $(seq 1 30); do
        rm -f "$tmp/a.experts"
        timeout -s KILL "0.00$((i % 10))$((i * 7 % 10))" "$bin/geodec-experts" -q build "$model" -o "$tmp/a.experts" 2> /dev/null || true
        [ ! -e "$tmp/a.experts" ] || cmp "$tmp/whole" "$tmp/a.experts"
    done
    "$bin/geodec-experts" -q build "$model" --force -o "$tmp/a.experts"
    cmp "$tmp/whole" "$tmp/a.experts"
    decode=("$bin/geodec-decode" --model "$d/fast.experts" --ram 4M --prompt "One day" --max-tokens 12)
    "${decode[@]}" -q --experts "usage=$tmp/usage" > /dev/null
    for i in $(seq 1 30); do
        timeout -s KILL "0.0$((1 + i % 3))$((i * 7 % 10))" "${decode[@]}" -q --experts "usage=$tmp/usage,trace=$tmp/a.trace" > /dev/null 2>&1 || true
        [ ! -e "$tmp/a.trace" ] || "$bin/geodec-experts" -q simulate "$tmp/a.trace" --policy lru > /dev/null
        rm -f "$tmp/a.trace"
        run --separate-stderr "${decode[@]}" --experts "usage=$tmp/usage"
        [ "$status" -eq 0 ] && [[ "$stderr" != *"begins anew"* ]] || { echo "$stderr"; false; }
    done
}

# ---- budgets -----------------------------------------------------------------------------------------------------------

# A model of about 500 MB, nearly all of it experts.
large() { "$bin/geodec-shape" -q olmoe-1b-7b --layers 2 --type q4_0 -o "$tmp/large-random.gguf"; }

# peak FILE: the largest resident size that a report names.
peak() { sed -n 's/.*"resident_peak": \([0-9]*\).*/\1/p' "$1"; }

@test "the resident size stays below the budget and 64 MB; a smaller budget is refused with the smallest one" {
    large
    for how in "--arithmetic exact" "--arithmetic fast"; do
        # shellcheck disable=SC2206
        decode=("$bin/geodec-decode" -q --model "$tmp/large-random.gguf" --ctx 64 --min-tokens 12 --max-tokens 12 $how)
        run --separate-stderr "${decode[@]}" --ram 1M
        [ "$status" -eq 3 ]
        [ -z "$output" ]
        least=${stderr##* need }
        run --separate-stderr "${decode[@]}" --ram $((least - 1))
        [ "$status" -eq 3 ]
        "${decode[@]}" --ram "$least" --experts "report=$tmp/r.json" > "$tmp/text"
        echo "$least $(peak "$tmp/r.json")"
        [ "$(peak "$tmp/r.json")" -le $((least + 64000000)) ]
    done
}

# The experts of moe22m are a set of 192 of 233,472 bytes.
@test "a prompt reads each expert about once, by layers, also where slots are lent to it" {
    how=(--model "$shared/models/moe22m-f16.gguf" --ctx 6400 --max-tokens 4)
    run --separate-stderr "$bin/geodec-decode" -q "${how[@]}" --ram 1M -p x
    least=${stderr##* need }
    n=0
    for case in "330 0" "2500 0" "2500 24" "13500 60"; do
        read -r bytes slots <<< "$case"
        head -c "$bytes" "$shared/text/moe22m-a.txt" > "$tmp/prompt"
        "$bin/geodec-decode" -q "${how[@]}" --prompt-file "$tmp/prompt" > "$tmp/whole"
        budget=$((least + slots * 233472))
        for ahead in none router2; do
            "$bin/geodec-decode" -q "${how[@]}" -t $((1 + n++ % 2)) --prompt-file "$tmp/prompt" --ram $budget \
                --experts "ahead=$ahead,report=$tmp/r.json" --force > "$tmp/text"
            cmp "$tmp/text" "$tmp/whole"
            read=$(sed -n 's/.*"bytes_read": \([0-9]*\).*/\1/p' "$tmp/r.json")
            echo "$case $ahead: $read of $((192 * 233472)), $(peak "$tmp/r.json")"
            # the tokens after the prompt read experts too: 3 passes of 6 layers with 2 of them
            [ "$read" -le $((192 * 233472 * 12 / 10 + 36 * 233472)) ]
            [ "$(peak "$tmp/r.json")" -le $((budget + 64000000)) ]
        done
    done
    for slots in 0 60; do # perplexity: 24 windows
        head -c 13500 "$shared/text/moe22m-a.txt" > "$tmp/text.txt"
        "$bin/geodec-perplexity" -q --model "$shared/models/moe22m-f16.gguf" "$tmp/text.txt" > "$tmp/whole"
        least=$(smallest perplexity --model "$shared/models/moe22m-f16.gguf" "$tmp/text.txt")
        "$bin/geodec-perplexity" -q --model "$shared/models/moe22m-f16.gguf" --ram $((least + slots * 233472)) --experts "ahead=none,report=$tmp/r.json" "$tmp/text.txt" > "$tmp/text"
        cmp "$tmp/text" "$tmp/whole"
        read=$(sed -n 's/.*"bytes_read": \([0-9]*\).*/\1/p' "$tmp/r.json")
        echo "perplexity $slots: $read"
        [ "$read" -le $((192 * 233472 * (slots > 0 ? 2 : 25))) ]
    done
    # a number of rows is that of a pass
    head -c 400 "$shared/text/moe22m-a.txt" > "$tmp/text.txt"
    "$bin/geodec-perplexity" -q --model "$shared/models/moe22m-f16.gguf" --rows 1 --ram 20M --experts "report=$tmp/r.json" "$tmp/text.txt" > /dev/null
    [ "$(sed -n 's/^ *"passes": \([0-9]*\),.*/\1/p' "$tmp/r.json")" -eq "$(sed -n 's/^ *"rows": \([0-9]*\),.*/\1/p' "$tmp/r.json")" ]
}

# bats test_tags=full
@test "a dialogue and a draft model stay within the budget; what a draft model needs is refused with the number" {
    large
    for i in 1 2 3 4 5 6; do
        for _ in $(seq 50); do printf 'park dog ball '; done
        printf '\n'
        [ $((i % 3)) -ne 0 ] || echo /reset
    done > "$tmp/turns"
    decode=("$bin/geodec-decode" -q --model "$tmp/large-random.gguf" --ctx 1024)
    least=$(smallest decode --model "$tmp/large-random.gguf" --ctx 1024)
    "${decode[@]}" --interactive --no-template --max-tokens 6 --ram "$least" --experts "report=$tmp/r.json" < "$tmp/turns" > "$tmp/text"
    echo "$least $(peak "$tmp/r.json")"
    [ -s "$tmp/text" ]
    [ "$(peak "$tmp/r.json")" -le $((least + 64000000)) ]
    "$bin/geodec-shape" -q olmoe-1b-7b --layers 1 --type q4_0 -o "$tmp/draft-random.gguf"
    decode=("${decode[@]}" --min-tokens 8 --max-tokens 8 --prompt park)
    "${decode[@]}" --ram "$least" > "$tmp/text"
    decode=("${decode[@]}" --draft model --draft-model "$tmp/draft-random.gguf" --gamma 2)
    run --separate-stderr "${decode[@]}" --ram "$least"
    [ "$status" -eq 3 ] && [ -z "$output" ] && [[ "$stderr" == *"draft-random.gguf"*"beside the streamed one"* ]] || { echo "$stderr"; false; }
    least=${stderr##* needs }
    run --separate-stderr "${decode[@]}" --ram $((least - 1))
    [ "$status" -eq 3 ]
    "${decode[@]}" --ram "$least" --experts "report=$tmp/r.json" | cmp "$tmp/text"
    echo "$least $(peak "$tmp/r.json")"
    [ "$(peak "$tmp/r.json")" -le $((least + 64000000)) ]
}

# bats test_tags=full
@test "in a control group of the budget and 64 MB; auto; a limit that falls in mid-run" {
    group=/sys/fs/cgroup/memory/geodec-test-$$
    mkdir "$group" 2> /dev/null || skip "no right to make a memory control group of version 1"
    # within LIMIT COMMAND...: in the group
    within() {
        echo "$1" > "$group/memory.limit_in_bytes"
        # shellcheck disable=SC2016
        bash -c 'echo $$ > "$0/tasks" && exec "$@"' "$group" "${@:2}"
    }
    large
    decode=("$bin/geodec-decode" --model "$tmp/large-random.gguf" --arithmetic exact --ctx 64)
    least=$(smallest decode --model "$tmp/large-random.gguf" --ctx 64)
    "${decode[@]}" -q --min-tokens 12 --max-tokens 12 --ram "$least" > "$tmp/text"
    within $((least + 64000000)) "${decode[@]}" -q --min-tokens 12 --max-tokens 12 --ram "$least" > "$tmp/limited"
    cmp "$tmp/text" "$tmp/limited"
    within $((least + 130000000)) "${decode[@]}" --min-tokens 12 --max-tokens 12 --ram auto > "$tmp/auto" 2> "$tmp/err"
    cmp "$tmp/text" "$tmp/auto"
    grep -q "limit of the control group" "$tmp/err"
    # more than the group allows
    within $((least + 130000000)) "${decode[@]}" --min-tokens 12 --max-tokens 12 --ram 2G > "$tmp/much" 2> "$tmp/err"
    cmp "$tmp/text" "$tmp/much"
    grep -q "the limit of the control group leaves" "$tmp/err"
    # announced, then lowered
    "${decode[@]}" -q --min-tokens 40 --max-tokens 40 --ram "$((least + 120000000))" > "$tmp/text"
    within $((least + 200000000)) "${decode[@]}" --min-tokens 40 --max-tokens 40 --ram "$((least + 120000000))" --io-throttle 150 > "$tmp/falls" \
        2> "$tmp/err" &
    pid=$!
    for _ in $(seq 1000); do
        [ -s "$tmp/falls" ] && break
        sleep 0.01
    done
    echo $((least + 40000000)) > "$group/memory.soft_limit_in_bytes"
    for _ in $(seq 1000); do
        grep -q "slots are left" "$tmp/err" && break
        sleep 0.01
    done
    echo $((least + 64000000)) > "$group/memory.limit_in_bytes"
    wait $pid
    cat "$tmp/err"
    grep -q "slots are left" "$tmp/err"
    cmp "$tmp/text" "$tmp/falls"
    rmdir "$group"
}

@test "auto leaves a neighbour of the control group its memory; threads follow a quota" {
    group=/sys/fs/cgroup/memory/geodec-test-$$
    mkdir "$group" 2> /dev/null || skip "no right to make a memory control group of version 1"
    echo 600000000 > "$group/memory.limit_in_bytes"
    # the neighbour: memory that the kernel cannot take back
    # shellcheck disable=SC2016
    bash -c 'echo $$ > "$0/tasks"; exec perl -e "\$x = q(x) x 150000000; sleep 60"' "$group" 3>&- &
    neighbour=$!
    for _ in $(seq 200); do
        [ "$(cat "$group/memory.usage_in_bytes")" -gt 145000000 ] && break
        sleep 0.05
    done
    # shellcheck disable=SC2016
    run --separate-stderr bash -c 'echo $$ > "$0/tasks" && exec "$@"' "$group" "$bin/geodec-decode" --model "$shared/models/stories-moe8x2-q8_0.gguf" \
        --ram auto --prompt Once --max-tokens 8
    said=$stderr
    [ "$status" -eq 0 ] || { echo "$said"; false; }
    echo "$said"
    [[ "$said" == *"limit of the control group 600 MB, in use "* ]]
    mb=$(sed -n 's/.*--ram auto: \([0-9]*\) MB.*/\1/p' <<< "$said")
    use=$(sed -n 's/.*in use \([0-9]*\) MB.*/\1/p' <<< "$said")
    [ "$use" -ge 140 ]
    [ "$mb" -le $((600 - 140 - 90)) ]
    kill "$neighbour" # it lives
    wait "$neighbour" 2> /dev/null || true
    for _ in $(seq 100); do rmdir "$group" 2> /dev/null && break; sleep 0.05; done
    cpu=/sys/fs/cgroup/cpu/geodec-test-$$
    mkdir "$cpu" 2> /dev/null || skip "no right to make a cpu control group of version 1"
    echo 100000 > "$cpu/cpu.cfs_quota_us"
    # shellcheck disable=SC2016
    threads=$(bash -c 'echo $$ > "$0/tasks" && unset GEODEC_THREADS OMP_NUM_THREADS && exec "$@"' "$cpu" "$bin/geodec-perplexity" --plan \
        --model data/model/geodec-stories-f16.gguf README.md | sed -n 's/^threads.//p')
    rmdir "$cpu"
    [ "$threads" = 1 ]
}

teardown() {
    for group in /sys/fs/cgroup/memory/geodec-test-$$; do
        [ ! -d "$group" ] || rmdir "$group"
    done
}
