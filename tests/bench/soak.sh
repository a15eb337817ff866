#!/bin/sh
# Decodes with streamed experts for a long time, in one process; prints speed and resident size of each step as TSV, and their drift.
#
# usage: soak.sh MODEL SECONDS RAM [OPTIONS of geodec-decode...]
#   STEP=60    seconds between two rows
#   CTX=256    context; each text fills half of it
#
# The text is the same again and again (--interactive with /reset), so its bytes measure the speed. drift: the last resident size against
# that of the first row, and the mean speed of the second half of the rows against that of the first half. Status 1: the size differs by
# more than 1 %, or the speed by more than 5 %.
set -eu
usage='usage: soak.sh MODEL SECONDS RAM [OPTIONS...]'
model=${1:?$usage} seconds=${2:?$usage} ram=${3:?$usage}
shift 3
step=${STEP:-60} ctx=${CTX:-256} bin=${B:-build/release}/bin
dir=$(mktemp -d)
pids=
# shellcheck disable=SC2086
trap '[ -z "$pids" ] || kill $pids 2> /dev/null || true; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
mkfifo "$dir/in"
"$bin/geodec-decode" --quiet --model "$model" --ram "$ram" --ctx "$ctx" --interactive --no-template --max-tokens $((ctx / 2)) \
    --min-tokens $((ctx / 2)) "$@" < "$dir/in" > "$dir/out" 2> "$dir/err" &
decoder=$!
yes 'One day
/reset' > "$dir/in" &
pids="$decoder $!"
sleep "$step" # the start does not count
printf 'seconds\tbytes_per_second\tresident_kb\n'
at=$(stat -c %s "$dir/out") passed=0
while [ $passed -lt "$seconds" ]; do
    before=$(date +%s.%N)
    sleep "$step"
    passed=$((passed + step))
    kill -0 "$decoder" || { cat "$dir/err" >&2; exit 1; }
    now=$(stat -c %s "$dir/out")
    resident=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$decoder/status")
    echo "$passed $((now - at)) $resident $before $(date +%s.%N)" | awk '{ printf "%d\t%.1f\t%d\n", $1, $2 / ($5 - $4), $3 }' | tee -a "$dir/rows"
    at=$now
done
awk -F'\t' '{ speed[NR] = $2; size[NR] = $3 }
    END {
        for (i = 1; i <= NR; i++) if (2 * i <= NR) a += speed[i]; else if (2 * i > NR + NR % 2) b += speed[i]
        speeds = a > 0 ? b / a - 1 : 0
        sizes = size[NR] / size[1] - 1
        printf "drift\t%+.2f %%\t%+.2f %%\n", 100 * speeds, 100 * sizes
        exit (NR < 2 || sizes > .01 || sizes < -.01 || speeds > .05 || speeds < -.05)
    }' "$dir/rows"
