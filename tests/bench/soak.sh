#!/bin/bash
# Decodes for a long time in one process; compares every text, and prints processor time, speed and resident size of each step as TSV.
#
# usage: soak.sh MODEL SECONDS RAM [OPTIONS of geodec-decode...]      RAM: of --ram, or - for a model in memory
#   STEP=60         seconds between two rows
#   CTX=256         context; each text fills half of it
#   PROMPTS=FILE    one prompt a line, again and again (default: "One day"; with LIBRARY, 800 beginnings of generated stories)
#   DRAFT=NAME      drafter (default: none; with LIBRARY, flowmap)
#   LIBRARY=BYTES   a library of this size grows while the model decodes; ARTIFACTS=FOLDER has the flow map of the model
#
# First each prompt is decoded once in a process of its own, without drafter and library. The long process (--interactive with /reset) must
# write these bytes again and again. A new process that decodes some of the texts without drafter and library in each step is the control of
# the processor time, which depends on the other programs of the machine.
# The rows: seconds, tokens, tokens a second, processor time a token in microseconds, that of the control, resident size in KiB, texts
# compared, records in the library. The last lines are those of soak.awk. Status 1: a text differs, the resident size by more than 1 %, or the
# processor time a token by more than 5 % in relation to the control. With a library, the rows after it was full count.
set -euo pipefail
shopt -s inherit_errexit
usage='usage: soak.sh MODEL SECONDS RAM [OPTIONS...]'
model=${1:?$usage} seconds=${2:?$usage} ram=${3:?$usage}
shift 3
step=${STEP:-60} ctx=${CTX:-256} bin=${B:-build/release}/bin here=$(dirname -- "$0") library=${LIBRARY-} draft=${DRAFT:-none}
dir=$(mktemp -d)
pids=()
trap '[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
die() { echo "soak.sh: $*" >&2; exit 1; }
tokens=$((ctx / 2)) ticks=$(getconf CLK_TCK)
options=(--quiet --model "$model" --ctx "$ctx" --max-tokens "$tokens" --min-tokens "$tokens" "$@")
[ "$ram" = - ] || options+=(--ram "$ram")

if [ -n "${PROMPTS-}" ]; then
    grep -v '^[ /]*$' "$PROMPTS" >"$dir/prompts"
elif [ -n "$library" ]; then
    "$bin/geodec-corpus" --quiet --bytes 1000000 -o "$dir/corpus"
    awk '{ $0 = $1 " " $2 " " $3 " " $4 } NF == 4 && !seen[$0]++ && n++ < 800' "$dir/corpus" >"$dir/prompts"
else
    echo 'One day' >"$dir/prompts"
fi
sed 'a /reset' "$dir/prompts" >"$dir/turns"
# turns: the prompts again and again
turns() { while cat "$dir/turns" 2>/dev/null; do :; done; }
# cycle: the texts of all prompts; ends: where each of them ends.
while IFS= read -r line; do
    printf '%s' "$line" >"$dir/prompt"
    "$bin/geodec-decode" "${options[@]}" --draft none --prompt-file "$dir/prompt" >>"$dir/cycle" </dev/null
    stat -c %s "$dir/cycle" >>"$dir/ends"
done <"$dir/prompts"
# Many cycles in one file, so that a comparison takes few processes.
cycles=$(tail -n 1 "$dir/ends")
[ "$cycles" -gt 0 ] || die "the model writes no text"
while [ "$cycles" -lt 1000000 ]; do
    cat "$dir/cycle" "$dir/cycle" >"$dir/twice"
    mv "$dir/twice" "$dir/cycle"
    cycles=$((2 * cycles))
done

# compare FILE FROM TO: these bytes of FILE are those of the cycles.
compare() {
    local from=$2 n
    while [ "$from" -lt "$3" ]; do
        n=$((cycles - from % cycles))
        [ $((from + n)) -le "$3" ] || n=$(($3 - from))
        cmp -n "$n" -i "$from:$((from % cycles))" "$1" "$dir/cycle" >&2 || die "another text: bytes $from to $((from + n)) of the output"
        from=$((from + n))
    done
}
# control TEXTS: processor time a token of plain decoding in a new process, in microseconds
control() {
    { turns | head -n $((2 * $1)) || true; echo /quit; } >"$dir/control.in"
    env time -o "$dir/time" -f '%U %S' "$bin/geodec-decode" "${options[@]}" --draft none --interactive --no-template <"$dir/control.in" >"$dir/control.out"
    compare "$dir/control.out" 0 "$(stat -c %s "$dir/control.out")"
    awk -v n=$(($1 * tokens)) '{ printf "%.2f\n", 1e6 * ($1 + $2) / n }' "$dir/time"
}
# So many texts that the control takes a twentieth of a step or more: times are counted in hundredths of a second.
texts=1
until awk -v us="$(control "$texts")" -v n=$((texts * tokens)) -v step="$step" 'BEGIN { exit !(us * n / 1e6 >= step / 20) }'; do texts=$((2 * texts)); done

long=()
if [ -n "$library" ]; then
    [ "$draft" != none ] || draft=flowmap
    long=(--artifacts "${ARTIFACTS:?with LIBRARY}" --library "$dir/library" --library-bytes "$library")
fi
mkfifo "$dir/in"
: >"$dir/out"
"$bin/geodec-decode" "${options[@]}" "${long[@]}" --draft "$draft" --interactive --no-template <"$dir/in" >"$dir/out" 2>"$dir/err" &
decoder=$!
turns >"$dir/in" 2>/dev/null &
pids=("$decoder" $!)

# number BYTES WHERE: a number of the head of the library
number() { od -An -v -t "u$1" -N "$1" -j "$2" "$dir/library" | tr -d ' '; }
slot() { echo $(((48 + $(number 4 12) + 7) / 8 * 8)); }
# records: how many are in the library
records() { if [ -n "$library" ]; then echo $((($(stat -c %s "$dir/library") - 256) / $(slot))); else echo 0; fi; }
# state: bytes written, processor ticks, resident KiB, time
state() {
    kill -0 "$decoder" 2>/dev/null || { cat "$dir/err" >&2; die "the decoder ended"; }
    echo "$(stat -c %s "$dir/out") $(sed 's/.*) //' "/proc/$decoder/stat" | awk '{ print $12 + $13 }')" \
        "$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$decoder/status") $(date +%s.%N)"
}

printf 'seconds\ttokens\ttokens_per_s\tcpu_us_per_token\tcontrol_cpu_us_per_token\tresident_kb\ttexts\trecords\n'
text=$(head -n 1 "$dir/ends") before=0
until [ "${before%% *}" -ge "$text" ]; do
    sleep .01
    before=$(state)
done
first=$(cut -d ' ' -f 3 <<<"$before")
sleep "$step" # the start does not count
before=$(state) passed=0 checked=0 began=$(date +%s) rows=0
while [ "$passed" -lt "$seconds" ] || [ "$rows" -lt 4 ]; do # soak.awk needs four
    sleep "$step" &
    beside=$(control "$texts")
    wait $!
    now=$(state)
    passed=$(($(date +%s) - began))
    compare "$dir/out" "$checked" "${now%% *}"
    checked=${now%% *}
    awk -v passed="$passed" -v n="$tokens" -v ticks="$ticks" -v control="$beside" -v records="$(records)" '
        FNR == NR { end[NR] = $1; k = NR; next }
        # texts BYTES: whole texts and the part of the next one
        function texts(b,    whole, lo, hi, mid) {
            whole = int(b / end[k]); b -= whole * end[k]; lo = 1; hi = k
            while (lo < hi) { mid = int((lo + hi) / 2); if (end[mid] > b) hi = mid; else lo = mid + 1 }
            return whole * k + lo - 1 + (b - end[lo - 1]) / (end[lo] - end[lo - 1])
        }
        { t = n * (texts($5) - texts($1)); cpu = t > 0 ? 1e6 * ($6 - $2) / ticks / t : 0
          printf "%d\t%d\t%.1f\t%.2f\t%.2f\t%d\t%d\t%d\n", passed, t, t / ($8 - $4), cpu, control, $7, texts($5), records }' \
        "$dir/ends" - <<<"$before $now" | tee -a "$dir/rows"
    before=$now rows=$((rows + 1))
done
room=0 made=0
if [ -n "$library" ]; then
    room=$(number 8 16)
    made=$(od -An -v -t u8 -w"$(slot)" -j 256 "$dir/library" | awk '$1 > n { n = $1 } END { print n + 0 }') # the largest serial
fi
awk -f "$here/soak.awk" -v room="$room" -v made="$made" -v cap="${library:-0}" -v first="$first" "$dir/rows"
