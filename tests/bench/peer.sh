#!/bin/sh
# Speed compared with llama.cpp on the same file: generation, prompt, v(4) and v(8), with the targets of the project.
# Usage: tests/bench/peer.sh PEER MODEL.gguf [geodec-bench options]
#   PEER     folder of a llama.cpp build (llama-bench, llama-batched-bench; PEER, PEER/bin or PEER/build/bin)
# Environment: THREADS (2), ROUNDS (7), PROMPT (128), GENERATE (64), ARITHMETIC (exact and, for block types, fast), B.
# All runs are interleaved in rounds, those of the peer with flash attention off and on. Values are medians over the rounds; for the
# peer, of the better setting. Each program has its default cache: --kv of geodec-bench, and the one that the peer's output names.
# Standard output: a table; the samples are in $TMPDIR while it runs. Each row shows whether its arithmetic is the default for
# the file (fast for block types, exact for F32, F16 and BF16) and whether its target is met or missed. Targets for generation: 1.4
# times the peer for fast, 1.0 for exact; for the prompt: 1.3 if the arithmetic is the default, 1.0 otherwise.
set -eu
if [ $# -lt 2 ]; then
    sed -n '2,4s/^# //p' "$0" >&2
    exit 2
fi
peer=$1 model=$2
shift 2
bin=${B:-build/release}/bin
threads=${THREADS:-2} rounds=${ROUNDS:-7} prompt=${PROMPT:-128} generate=${GENERATE:-64}
for d in "$peer" "$peer/bin" "$peer/build/bin"; do [ -x "$d/llama-bench" ] && { peer=$d; break; }; done
[ -x "$peer/llama-bench" ] || { echo "peer.sh: no llama-bench in $peer" >&2; exit 1; }
[ -f "$model" ] || { echo "peer.sh: $model is not there" >&2; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM

"$bin/geodec-model-info" "$model" >"$tmp/info"
kind=$(awk -F '\t' '/^tensors_/ && $1 !~ /_(F32|F16|BF16)$/ { n += $2 } END { print (n > 0 ? "block" : "float") }' "$tmp/info")
arithmetic=${ARITHMETIC:-$([ "$kind" = block ] && echo "exact fast" || echo exact)}

# sample lines: who, setting, measure, n, value
ours() { # arithmetic, options...
    mode=$1
    shift
    "$bin/geodec-bench" --quiet -r 1 --threads "$threads" --arithmetic "$mode" --prompt "$prompt" --generate "$generate" \
        --widths 4,8 --first 8 "$@" "$model" >"$tmp/ours"
    awk -F '\t' -v mode="$mode" -v OFS='\t' 'NR > 1 { print "geodec", mode, $1, $2, $4; if ($7 != "-") print "geodec", mode, $1 "_control", $2, $8 }' \
        "$tmp/ours" >>"$tmp/samples"
}
# The peer's output is one key a line (llama-bench) or one object a line (llama-batched-bench).
theirs() { # 0 or 1: flash attention
    "$peer/llama-bench" -m "$model" -t "$threads" -p "$prompt" -n "$generate" -r 1 -fa "$1" -o json >"$tmp/json" 2>"$tmp/log" ||
        { tail -n 3 "$tmp/log" >&2; exit 1; }
    awk -v fa="fa=$1" -v OFS='\t' '
        { gsub(/[",]/, ""); key = $1; value = $2 }
        key == "n_prompt:" { p = value } key == "n_gen:" { g = value }
        key == "type_k:" { k = value } key == "type_v:" { v = value }
        key == "avg_ts:" { what = (p > 0 ? "pp" : "tg"); size = (p > 0 ? p : g); print "peer", fa, what, size, value; print (k "/" v) > kv }
    ' kv="$tmp/kv" "$tmp/json" >>"$tmp/samples"
    if [ -x "$peer/llama-batched-bench" ]; then
        "$peer/llama-batched-bench" -m "$model" -t "$threads" -tb "$threads" -npp 16 -ntg 16 -npl 1,4,8 -c 512 \
            --output-format jsonl -fa "$([ "$1" = 1 ] && echo on || echo off)" >"$tmp/json" 2>"$tmp/log" ||
            { tail -n 3 "$tmp/log" >&2; exit 1; }
        awk -v fa="fa=$1" -v OFS='\t' '
            /^\{/ {
                gsub(/[{}",]/, "")
                for (i = 1; i < NF; i++) { if ($i == "pl:") b = $(i + 1); if ($i == "t_tg:") t = $(i + 1) }
                if (b == 1) one = t; else if (one > 0) print "peer", fa, "v", b, t / one
            }' "$tmp/json" >>"$tmp/samples"
    fi
}

: >"$tmp/samples"
round=0
while [ "$round" -lt "$rounds" ]; do
    for mode in $arithmetic; do ours "$mode" "$@"; done
    theirs 0
    theirs 1
    round=$((round + 1))
done

peer_kv=$(head -n 1 "$tmp/kv")
echo "# $(basename "$model"), $threads threads, median of $rounds rounds; caches: peer $peer_kv, geodec as asked ($*)" >&2
sort -t "$(printf '\t')" -k1,4 -k5,5g "$tmp/samples" | awk -F '\t' -v OFS='\t' -v kind="$kind" -v modes="$arithmetic" \
    -v prompt="$prompt" -v generate="$generate" '
    { key = $1 SUBSEP $2 SUBSEP $3 SUBSEP $4; x[key, ++n[key]] = $5 }
    function median(who, setting, what, size,   key, m) {
        key = who SUBSEP setting SUBSEP what SUBSEP size
        m = n[key]
        if (!m) return "nan"
        return m % 2 ? x[key, (m + 1) / 2] : 0.5 * (x[key, m / 2] + x[key, m / 2 + 1])
    }
    function best(what, size, low,   a, b) { # the peer with either setting; sets which
        a = median("peer", "fa=0", what, size); b = median("peer", "fa=1", what, size)
        which = "none"
        if (a == "nan" && b == "nan") return "nan"
        if (b == "nan" || (low ? a + 0 <= b + 0 : a + 0 >= b + 0)) { which = "fa=0"; return a }
        which = "fa=1"; return b
    }
    function line(mode, what, size, a, b, ratio, bar, good) {
        if (a == "nan" || (b == "nan" && which != "-")) { # nothing to judge
            print mode, (mode == "fast") == (kind == "block") ? "yes" : "no", what, size, a == "nan" ? "-" : sprintf("%.4g", a),
                b == "nan" ? "-" : sprintf("%.4g", b), which, "-", bar, "not measured"
            return
        }
        print mode, (mode == "fast") == (kind == "block") ? "yes" : "no", what, size, sprintf("%.4g", a),
            b == "nan" ? "-" : sprintf("%.4g", b), which, sprintf("%.3f", ratio), bar, good ? "met" : "missed"
    }
    END {
        print "arithmetic", "default", "measure", "n", "geodec", "peer_or_limit", "peer_setting", "ratio", "bar", "met"
        count = split(modes, mode, " ")
        for (i = 1; i <= count; i++) {
            m = mode[i]
            bar = m == "fast" ? 1.4 : 1.0
            a = median("geodec", m, "tg", generate); b = best("tg", generate, 0)
            line(m, "tg", generate, a, b, a / b, sprintf(">=%.1f", bar), a >= bar * b)
            a = median("geodec", m, "pp", prompt); b = best("pp", prompt, 0)
            bar = (m == "fast") == (kind == "block") ? 1.3 : 1.0
            line(m, "pp", prompt, a, b, a / b, sprintf(">=%.1f", bar), a >= bar * b)
            for (w = 4; w <= 8; w += 4) {
                a = median("geodec", m, "v", w); b = best("v", w, 1); bar = w == 4 ? 1.25 : 1.6
                line(m, "v", w, a, b, a, "<=" bar, a <= bar)
            }
            which = "read_limit"
            a = median("geodec", m, "bandwidth", 0); b = median("geodec", m, "bandwidth_control", 0)
            line(m, "bandwidth", 0, a, b, a / b, ">=0.85", a >= 0.85 * b)
            which = "-"
            a = median("geodec", m, "first_token", 8)
            line(m, "first_token", 8, a, "nan", a, "<=0.3", a <= 0.3)
            which = "file_and_cache"
            a = median("geodec", m, "peak_memory", 0); b = median("geodec", m, "peak_memory_control", 0)
            line(m, "peak_memory", 0, a, b, a / b, "<=1.05", a <= 1.05 * b)
            a -= median("geodec", m, "start_memory", 0) # without the program and its libraries
            line(m, "peak_above_start", 0, a, b, a / b, "<=1.05", a <= 1.05 * b)
        }
    }'
