#!/bin/sh
# Decoding compared with llama.cpp on the same file: plain, prompt lookup and draft model, greedy, the same prompt.
# Usage: tests/bench/peer-decode.sh PEER MODEL.gguf
#   PEER     folder of a llama.cpp build (PEER, PEER/bin or PEER/build/bin) with llama-lookup and llama-speculative-simple
# Environment: THREADS (2), ROUNDS (7), TOKENS (100), PROMPT, ARITHMETIC (auto), DRAFT (a GGUF with the same tokenizer
# that drafts for both), ARTIFACTS (flow map of the model by geodec-bake), DRAFTERS (of Geodec: none, lookup, model with DRAFT,
# flowmap and ngram+flowmap with ARTIFACTS), B.
# All are interleaved in rounds; medians. The peer's modes: llama-bench (plain, flash attention off
# and on), llama-lookup, llama-speculative-simple with DRAFT; its caches are float16, those of Geodec float32. Target: the best of Geodec 1.5 times the peer's best.
set -eu
if [ $# -ne 2 ]; then
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
fi
peer=$1 model=$2
bin=${B:-build/release}/bin
threads=${THREADS:-2} rounds=${ROUNDS:-7} tokens=${TOKENS:-100} prompt=${PROMPT:-Once upon a time} arithmetic=${ARITHMETIC:-auto}
draft=${DRAFT:-} artifacts=${ARTIFACTS:-}
for d in "$peer" "$peer/bin" "$peer/build/bin"; do [ -x "$d/llama-lookup" ] && { peer=$d; break; }; done
for tool in llama-lookup llama-speculative-simple llama-bench; do
    [ -x "$peer/$tool" ] || { echo "peer-decode.sh: no $tool in $peer" >&2; exit 1; }
done
[ -f "$model" ] || { echo "peer-decode.sh: $model is not there" >&2; exit 1; }
drafters=${DRAFTERS:-none lookup${draft:+ model}${artifacts:+ flowmap ngram+flowmap}}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM

# sample lines: who, mode, tokens a second
ours() { # drafter
    set -- "$1" --model "$model" --threads "$threads" --arithmetic "$arithmetic" --prompt "$prompt" --max-tokens "$tokens" \
        --min-tokens "$tokens" --draft "$1" --report "$tmp/report.json" --force --quiet
    mode=$1
    shift
    case $mode in
    model) set -- "$@" --draft-model "$draft" ;;
    *flowmap*) set -- "$@" --artifacts "$artifacts" ;;
    esac
    "$bin/geodec-decode" "$@" >"$tmp/text-$mode" 2>"$tmp/log" || { tail -n 3 "$tmp/log" >&2; exit 1; }
    cmp -s "$tmp/text-$mode" "$tmp/text-none" || { echo "peer-decode.sh: $mode changed the text" >&2; exit 1; }
    awk -v OFS='\t' -v mode="$mode" '/"decode_tok_per_s"/ { gsub(/[",]/, ""); print "geodec", mode, $2 }' "$tmp/report.json" >>"$tmp/samples"
}
theirs() { # mode, program, options...
    mode=$1
    shift
    tool=$1
    shift
    if "$peer/$tool" -m "$model" -t "$threads" -tb "$threads" -p "$prompt" -n "$tokens" -c 512 --temp 0 -lv 4 --ignore-eos "$@" \
        >"$tmp/log" 2>&1; then
        awk -v OFS='\t' -v mode="$mode" '/decoded +[0-9]+ tokens/ { sub(/.*speed: */, ""); print "peer", mode, $1 }' "$tmp/log" >>"$tmp/samples"
    else
        echo "peer-decode.sh: the peer's $mode did not run: $(grep -m 1 -iE 'assert|error' "$tmp/log")" >&2
    fi
}

: >"$tmp/samples"
round=0
while [ "$round" -lt "$rounds" ]; do
    for d in $drafters; do ours "$d"; done
    # generation alone after a context of the prompt's length, flash attention off and on
    for fa in 0 1; do
        "$peer/llama-bench" -m "$model" -t "$threads" -p 0 -n "$tokens" -r 1 -fa "$fa" -o json 2>/dev/null |
            awk -v OFS='\t' -v mode="plain fa=$fa" '/"avg_ts"/ { gsub(/[",]/, ""); print "peer", mode, $2 }' >>"$tmp/samples"
    done
    theirs lookup llama-lookup
    [ -z "$draft" ] || theirs draft-model llama-speculative-simple --spec-type draft-simple -md "$draft"
    round=$((round + 1))
done

echo "# $(basename "$model"), $threads threads, $arithmetic, $tokens tokens, median of $rounds rounds" >&2
sort -t "$(printf '\t')" -k1,2 -k3,3g "$tmp/samples" | awk -F '\t' -v OFS='\t' '
    { key = $1 OFS $2; if (!(key in n)) order[++keys] = key; x[key, ++n[key]] = $3 }
    END {
        print "who", "mode", "tok/s", "least", "most"
        for (i = 1; i <= keys; i++) {
            k = order[i]; m = n[k]
            median = m % 2 ? x[k, (m + 1) / 2] : 0.5 * (x[k, m / 2] + x[k, m / 2 + 1])
            print k, sprintf("%.0f", median), sprintf("%.0f", x[k, 1]), sprintf("%.0f", x[k, m])
            split(k, part, OFS)
            if (median > best[part[1]]) { best[part[1]] = median; which[part[1]] = part[2] }
        }
        print "ratio", which["geodec"] " / " which["peer"], sprintf("%.2f", best["geodec"] / best["peer"]), ">=1.5", (best["geodec"] >= 1.5 * best["peer"] ? "met" : "missed")
    }'
