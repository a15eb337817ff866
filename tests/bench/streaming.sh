#!/bin/sh
# A mixture of experts larger than memory: streamed from a store and from the GGUF, mapped, resident, and llama.cpp.
# Usage: tests/bench/streaming.sh MODEL.gguf STORE [PEER]
#   STORE    of geodec-experts build, for the arithmetic of the runs
#   PEER     source folder of llama.cpp with its build in build/bin (default: no peer)
# Environment: THREADS (2), ROUNDS (5), TOKENS (48; of ours), SLOW_TOKENS (6; mapped and peer), ARITHMETIC (auto),
# TEMPERATURE (2), CONTEXT (512), SHARES (100 50 25 10: percent of the experts that have a slot), LIMIT (1.5e9: bytes of
# the memory group at 25 %; at other shares the budget and 64 MB), THROTTLE (MB/s, or 3x: so slow that the misses of
# the 25 % run take three times its computing), EXPERTS (settings of --experts), PEER_TRIES (settings of peer_stream.c,
# separated by ;; a number is that of its threads), KEEP (file for the samples), B.
# All are interleaved in rounds; ratios are taken within a round, then their median. Runs begin with a table of uses of
# an earlier run, in a memory group (version 1, superuser) without a cached file; a run that the kernel kills is shown
# as killed. The first round tries every setting of the peer; those that were not killed and reach 0.8 of the best stay.
# wall: direct reads of one expert's size, measured before each run, over the bytes that were not in memory. form: the
# closed form (look-ahead), with the run's hits, foretold share and waste, the token time of the run at 100 % of the
# same round as computing, and that bandwidth; form0: the same without overlap. MB_token of mapped runs: blocks read, a
# longer run less a shorter one (needs GNU time). With a throttle, which holds for streamed runs alone, mapped runs and
# the peer are left out. Times leave out the pass over the prompt; stall_ms a token has it. busy_ms: MB_token over the
# speed of the disk while it was busy.
set -eu
if [ $# -lt 2 ]; then
    sed -n '2,5s/^# //p' "$0" >&2
    exit 2
fi
model=$1 store=$2 peer=${3:-}
bin=${B:-build/release}/bin
threads=${THREADS:-2} rounds=${ROUNDS:-5} tokens=${TOKENS:-48} slow=${SLOW_TOKENS:-6} arithmetic=${ARITHMETIC:-auto}
temperature=${TEMPERATURE:-2} context=${CONTEXT:-512} shares=${SHARES:-100 50 25 10} limit=${LIMIT:-1.5e9}
throttle=${THROTTLE:-0} extra=${EXPERTS:+,$EXPERTS}
tries=${PEER_TRIES:-"repack;plain;plain flash;plain none;plain dio;plain 8"}
if [ -n "$peer" ] && [ "$throttle" = 0 ]; then
    libraries=$peer
    for d in "$peer/bin" "$peer/build/bin"; do [ -e "$d/libllama.so" ] && libraries=$d; done
fi
for f in "$model" "$store"; do [ -f "$f" ] || { echo "streaming.sh: $f is not there" >&2; exit 1; }; done
tmp=$(mktemp -d)
group=/sys/fs/cgroup/memory/streaming-$$
mkdir "$group" 2>/dev/null || { echo "streaming.sh: no memory group; runs are not limited" >&2; group=; }
trap 'rm -rf "$tmp"; [ -z "$group" ] || rmdir "$group"' EXIT INT TERM
if [ -n "${libraries:-}" ]; then
    export LD_LIBRARY_PATH="$libraries"
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -I"$peer/include" -I"$peer/ggml/include" tests/bench/peer_stream.c -o "$tmp/peer_stream" \
        -Wl,--no-as-needed -L"$libraries" -lllama -lggml -lggml-base
fi

number() { awk "BEGIN { printf \"%.0f\", $1 }"; }
field() { awk -v key="\"$1\":" '$1 == key { gsub(/,/, ""); print $2; exit }' "$2"; }    # of a report
column() { awk -F '\t' -v key="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == key) c = i } NR == 2 { print $c }' "$2"; }
sample() { printf '%s\t%s\t%s\t%s\n' "$round" "$1" "$2" "$3" >>"$tmp/samples"; }        # run, measure, value

# Runs a command with a limit of memory (0: none) and an empty cache of both files; sets status and blocks.
limited() {
    bytes=$1
    shift
    [ "$bytes" = 0 ] || for f in "$model" "$store"; do dd if="$f" iflag=nocache count=0 2>/dev/null; done
    [ -z "$group" ] || [ "$bytes" = 0 ] || echo "$bytes" >"$group/memory.limit_in_bytes"
    status=0
    timer=
    [ ! -x /usr/bin/time ] || timer="/usr/bin/time -o $tmp/blocks -f %I"
    (
        [ -z "$group" ] || [ "$bytes" = 0 ] || sh -c "echo \$PPID" >"$group/cgroup.procs"
        exec $timer "$@"
    ) >"$tmp/out" 2>"$tmp/log" || status=$?
    blocks=$(tail -n 1 "$tmp/blocks" 2>/dev/null || echo 0)
    [ -z "$group" ] || [ "$bytes" = 0 ] || { echo 0 >"$group/memory.force_empty" || true; } 2>/dev/null
    [ "$status" != 0 ] || return 0
    [ "$status" = 137 ] || [ "$status" = 9 ] || { tail -n 3 "$tmp/log" >&2; exit 1; }
}

decode() { # limit, tokens, model or store, options...
    bytes=$1 n=$2 file=$3
    shift 3
    limited "$bytes" "$bin/geodec-decode" --model "$file" --artifacts none --draft none --threads "$threads" --arithmetic "$arithmetic" \
        --ctx "$context" --temperature "$temperature" --seed $((round + 1)) --max-tokens "$n" --min-tokens "$n" \
        --report "$tmp/run.json" --force --quiet "$@"
    speed=$([ "$status" != 0 ] || field decode_tok_per_s "$tmp/run.json")
}

slots_of() { awk -v n="$blobs" -v s="$1" 'BEGIN { printf "%d", n * s / 100 + 0.5 }'; }
limit_of() {
    if [ "$1" = 25 ]; then number "$limit"; else number "$fixed + $(slots_of "$1") * $slot + 64e6"; fi
}
bandwidth() { # sets speed_of_disk in MB/s
    if [ "$throttle" != 0 ]; then
        speed_of_disk=$throttle
    else
        speed_of_disk=$("$bin/geodec-experts" probe "$store" --blob "$slot" --in-flight 2 --seconds 0.7 | awk '$1 == "MB_second" { print $2 }')
    fi
}

streamed() { # store|gguf, share
    name=$1-$2
    file=$store
    [ "$1" = store ] || file=$model
    cp "$tmp/usage-$2" "$tmp/usage"
    bandwidth
    prompt= # as that of the resident run, with which the run at 100 % is compared
    [ "$2" != 100 ] || prompt="--prompt-file $tmp/prompt"
    # shellcheck disable=SC2086
    decode "$(limit_of "$2")" "$tokens" "$file" $prompt --io-throttle "$throttle" --experts "slots=$(slots_of "$2"),usage=$tmp/usage,report=$tmp/experts.json$extra"
    if [ "$status" != 0 ]; then sample "$name" killed 1; return; fi
    [ "$name" != store-100 ] || compute=$(awk -v v="$speed" -v l="$layers" 'BEGIN { print 1e3 / v / l }')
    "$bin/geodec-experts" forecast "$tmp/experts.json" --bandwidth "$speed_of_disk" ${compute:+--compute "$compute"} >"$tmp/form"
    sample "$name" tokens_s "$speed"
    sample "$name" disk_MB_s "$speed_of_disk"
    sample "$name" peak_MB "$(awk -v b="$(field resident_peak "$tmp/experts.json")" 'BEGIN { print b / 1e6 }')"
    sample "$name" token_ms "$(awk -v v="$speed" 'BEGIN { print 1e3 / v }')"
    sample "$name" busy_ms "$(awk -v m="$(column MB_token "$tmp/form")" -v v="$(field disk_bytes_per_second "$tmp/experts.json")" 'BEGIN { print m * 1e9 / v }')"
    for m in hit ahead waste MB_token needed_MB stall_ms wall; do sample "$name" "$m" "$(column $m "$tmp/form")"; done
    sample "$name" form "$(column look_ahead "$tmp/form")"
    sample "$name" form0 "$(column no_overlap "$tmp/form")"
}

mapped() { # sets blocks
    decode "$(limit_of 25)" "$1" "$store" --ram 1e12 --io mmap
}

theirs() { # setting of peer_stream: samples
    name="peer $1" n=$threads options=
    for o in $1; do case $o in [0-9]*) n=$o ;; *) options="$options $o" ;; esac; done
    # shellcheck disable=SC2086
    limited "$(limit_of 25)" "$tmp/peer_stream" "$model" "$slow" "$n" $options
    if [ "$status" != 0 ]; then sample "$name" killed 1; return; fi
    for m in tokens_s MB_token; do sample "$name" $m "$(awk -v m=$m '$1 == m { print $2 }' "$tmp/out")"; done
}

slope() { awk -v a="$1" -v b="$2" -v n="$3" 'BEGIN { print (n > 0 ? (a - b) * 512e-6 / n : 0) }'; } # MB a token of blocks of 512 bytes

# ---- sizes, tables of uses, throttle ---------------------------------------------------------------------------------

round=0 compute=
# all weights of a resident model are packed before its time is taken
awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) printf "%c", 97 + int(26 * rand()) }' >"$tmp/prompt"
: >"$tmp/samples"
"$bin/geodec-decode" --model "$store" --arithmetic "$arithmetic" --artifacts none --ctx "$context" --threads "$threads" --quiet --ram 1e12 --plan >"$tmp/sizes"
size() { awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$tmp/sizes"; }
blobs=$(size experts) slot=$(size "bytes of an expert in memory")
fixed=$(number "$(size "resident weights") + $(size "cache and work space")")
layers=$("$bin/geodec-experts" info "$store" | awk '$1 == "layers_with_experts" { print $2 }')
for s in $shares; do
    rm -f "$tmp/usage-$s"
    decode 0 "$tokens" "$store" --experts "slots=$(slots_of "$s"),usage=$tmp/usage-$s,report=$tmp/experts-$s.json$extra"
done
if [ "$throttle" = 3x ]; then
    decode 0 "$tokens" "$model" --prompt-file "$tmp/prompt" # without the time of packing
    "$bin/geodec-experts" forecast "$tmp/experts-25.json" >"$tmp/form"
    throttle=$(awk -v d="$(column needed_MB "$tmp/form")" -v v="$speed" 'BEGIN { printf "%.1f", d * v / 3 }')
fi
[ "$throttle" != 0 ] || { mapped 2; short_mapped=$blocks; }

# ---- rounds ----------------------------------------------------------------------------------------------------------

while [ "$round" -lt "$rounds" ]; do
    for s in $shares; do streamed store "$s"; done
    streamed gguf 25
    if [ "$throttle" = 0 ]; then
        mapped "$slow"
        if [ "$status" != 0 ]; then
            sample mapped-25 killed 1
        else
            sample mapped-25 tokens_s "$speed"
            sample mapped-25 MB_token "$(slope "$blocks" "$short_mapped" $((slow - 2)))"
        fi
    fi
    decode 0 "$tokens" "$model" --prompt-file "$tmp/prompt"
    sample resident tokens_s "$speed"
    if [ -n "${libraries:-}" ]; then
        [ "$round" != 0 ] || echo "$tries" | tr ';' '\n' >"$tmp/tries"
        while read -r setting; do theirs "$setting" </dev/null; done <"$tmp/tries"
        [ "$round" != 0 ] || awk -F '\t' '
            $2 ~ /^peer/ && $3 == "tokens_s" { v[substr($2, 6)] = $4; if ($4 > best) best = $4 }
            END { for (k in v) if (v[k] >= 0.8 * best) print k }' "$tmp/samples" >"$tmp/tries"
    fi
    round=$((round + 1))
    echo "# round $round of $rounds, load $(cut -d ' ' -f 1 /proc/loadavg)" >&2
done

# ---- tables ----------------------------------------------------------------------------------------------------------

echo "# $(basename "$model"), $threads threads, $arithmetic, $rounds rounds, $blobs experts of $slot bytes, throttle $throttle MB/s${extra:+, ${extra#,}}"
[ -z "${KEEP:-}" ] || cp "$tmp/samples" "$KEEP"
awk -F '\t' -v OFS='\t' '
    { if (!($2 in seen)) { seen[$2] = 1; order[++runs] = $2 } x[$1, $2, $3] = $4; if ($1 + 1 > rounds) rounds = $1 + 1; if ($3 == "killed") killed[$2] = 1 }
    function sorted(v, n,   i, j, t) { for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] > v[j]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t } }
    function stat(v, n) { # sets least, mid, most
        if (!n) { mid = least = most = "-"; return }
        sorted(v, n); least = v[1]; most = v[n]; mid = n % 2 ? v[(n + 1) / 2] : 0.5 * (v[n / 2] + v[n / 2 + 1])
    }
    function of(run, what,   r, n, v) { n = 0; for (r = 0; r < rounds; r++) if ((r, run, what) in x) v[++n] = x[r, run, what] + 0; stat(v, n); return mid }
    function ratio(run, what, other, over,   r, n, v) {
        n = 0
        for (r = 0; r < rounds; r++) if ((r, run, what) in x && (r, other, over) in x && x[r, other, over] > 0) v[++n] = x[r, run, what] / x[r, other, over]
        stat(v, n)
    }
    function show(v, f) { return v == "-" ? "-" : sprintf(f, v) }
    function bar(name, run, other, over, least_ok) {
        if (!(run in seen)) return
        ratio(run, "tokens_s", other, over)
        print name, show(mid, "%.3f"), show(least, "%.3f"), show(most, "%.3f"), ">=" least_ok, mid == "-" ? "not measured" : (mid >= least_ok ? "met" : "missed")
    }
    END {
        print "run", "tokens_s", "least", "most", "hit", "ahead", "waste", "MB_token", "token_ms", "stall_ms", "busy_ms", "disk_MB_s", "wall", "form", "form0", "peak_MB"
        for (i = 1; i <= runs; i++) {
            k = order[i]
            if (k in killed) { print k, "killed"; continue }
            line = k
            of(k, "tokens_s"); line = line OFS show(mid, "%.4g") OFS show(least, "%.4g") OFS show(most, "%.4g")
            n = split("hit ahead waste MB_token token_ms stall_ms busy_ms disk_MB_s wall form form0 peak_MB", m, " ")
            for (j = 1; j <= n; j++) line = line OFS show(of(k, m[j]), "%.4g")
            print line
        }
        print ""
        print "ratio", "median", "least", "most", "bar", "met"
        for (i = 1; i <= runs; i++) {
            k = order[i]
            if (k !~ /^(store|gguf)/) continue
            if (k !~ /-100$/) bar(k " / form", k, k, "form", 0.9)
            if (k !~ /-100$/) bar(k " / form0", k, k, "form0", 0.9)
            if (k ~ /-(10|25)$/) bar(k " / wall", k, k, "wall", 0.9)
        }
        bar("store-25 / mapped-25", "store-25", "mapped-25", "tokens_s", 4)
        for (i = 1; i <= runs; i++) if (order[i] ~ /^peer/ && !(order[i] in killed)) bar("store-25 / " order[i], "store-25", order[i], "tokens_s", 6)
        bar("store-100 / resident", "store-100", "resident", "tokens_s", 0.97)
        n = 0
        for (i = 1; i <= runs; i++) if (order[i] !~ /^peer/ && order[i] in killed) n++
        print "own runs killed", n, n, n, "0", n ? "missed" : "met"
    }' "$tmp/samples"
