#!/usr/bin/env bats
# Tools with --ram: the output is that of the resident model, the budget holds, faults are named, traces replay.

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    export shared=${GEODEC_SHARED:-$PWD/../shared}
    [ -r "$shared/models/stories-moe8x2-q8_0.gguf" ] || return 0
    export model=$shared/models/stories-moe8x2-q8_0.gguf d=$BATS_FILE_TMPDIR
    head -c 3000 "$shared/text/tinystories-a.txt" > "$d/text.txt"
    printf 'One day a dog ran to the park.\n<|endoftext|>\nThe girl had a red ball and a blue cup.\n' > "$d/prompts.txt"
    for a in exact fast; do
        "${B:-build/release}/bin/geodec-experts" -q build "$model" --arithmetic $a -o "$d/$a.experts"
    done
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=${B:-build/release}/bin
    [ -r "$shared/models/stories-moe8x2-q8_0.gguf" ] || skip "no models: set GEODEC_SHARED"
    tmp=$BATS_TEST_TMPDIR
}

# smallest TOOL OPTIONS...: the smallest budget, from the plan.
smallest() { "$bin/geodec-$1" --quiet "${@:2}" --ram 1G --plan | awk -F'\t' '$1 == "smallest budget" { print $2 }'; }

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
    least=$(smallest "$tool" --model "$model" -t 1 "$@")
    same "$model" "$@" -t 1 --ram "$least"
    same "$model" "$@" -t 2 --ram "$((least + 500000))" --io buffered --experts evict=lru,ahead=router2,least=0.2,most=4
    same "$model" "$@" -t 3 --ram 1G --experts engine=threads,evict=lfu,ahead=none,quota=no
    same "$model" "$@" -t 2 --ram 1G --io mmap
    least=$(smallest "$tool" --model "$store" -t 3 "$@")
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
    least=$(smallest decode --model "$d/exact.experts" -t 1 --arithmetic exact --draft none)
    how=(--arithmetic exact --prompt "Once upon a time" --max-tokens 60 --min-tokens 60 --temperature 0)
    "$bin/geodec-decode" -q --model "$model" "${how[@]}" --draft none > "$tmp/plain"
    for drafter in bigram ngram lookup recycle auto exit:3; do
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
    for how_known in "--draft none" "--draft ngram" "--draft bigram --tree 6"; do
        "$bin/geodec-decode" -q --model "$d/exact.experts" "${how[@]}" $how_known --oracle --gamma 4 --ram "$((least + 300000))" \
            --force --report "$tmp/r.json" > "$tmp/text"
        cmp "$tmp/plain" "$tmp/text"
    done
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

@test "bench-decode, drafts, needle, depth, residual" {
    a=exact
    streams bench-decode file --arithmetic exact --prompts "$d/prompts.txt" --n-prompts 2 --max-tokens 8 --drafters bigram,ngram --gammas 2 --trees 4 \
        --prompt-tokens 6 --timed 0
    streams drafts file --arithmetic exact --prompts "$d/prompts.txt" --n-prompts 2 --max-tokens 8 --drafters lookup --gammas 2
    streams needle - --window 64 --trials 2 --depths 2 "$d/text.txt"
    streams depth file
    streams residual - --windows 2 "$d/text.txt"
}
