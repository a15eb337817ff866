#!/bin/bash
# plan.sh [quick]: what --plan says against what the run takes, for stages and sizes, as TSV on stdout.
#
#   stage  size  threads  plan_bytes  bytes  ratio_bytes  plan_cpu_s  cpu_s  ratio_cpu  plan_s  elapsed_s  ratio_s  busy  plan_takes_s
#
# bytes: largest resident size; cpu_s: user and system time; elapsed_s: of the run alone. The ratios are plan over measured. busy: elapsed time
# of the run over that of its processor time on the threads that it used; above about 1.2 other work had part of the machine (or the stage
# is not parallel), and elapsed times tell little. plan_takes_s: elapsed time of the plan. The sizes are not those with which coefficients were
# chosen (tools/cli/needs.c). Inputs: texts of geodec-corpus, the embedded model, and points with the spectrum of its states.
set -eu
cd "$(dirname -- "$0")/../.."
B=${B:-build/release}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
model=data/model/geodec-stories-f16.gguf
if [ "${1-}" = quick ]; then f=10; else f=1; fi
printf 'stage\tsize\tthreads\tplan_bytes\tbytes\tratio_bytes\tplan_cpu_s\tcpu_s\tratio_cpu\tplan_s\telapsed_s\tratio_s\tbusy\tplan_takes_s\n'
# row STAGE SIZE THREADS ARGUMENTS...
row() {
    local stage=$1 size=$2 threads=$3 s=0
    shift 3
    /usr/bin/time -o "$dir/plan.time" -f '%e' "$B/bin/geodec-$stage" --quiet --force --threads "$threads" "$@" --plan >"$dir/plan"
    /usr/bin/time -o "$dir/time" -f '%e %U %S %M' "$B/bin/geodec-$stage" --quiet --force --threads "$threads" "$@" >"$dir/out" 2>"$dir/err" || s=$?
    [ "$s" = 0 ] || { printf '%s %s: status %d: %s\n' "$stage" "$size" "$s" "$(head -n 1 "$dir/err")" >&2; return 0; }
    awk -F'\t' -v stage="$stage" -v size="$size" -v threads="$threads" -v run="$(tail -n 1 "$dir/time")" -v takes="$(tail -n 1 "$dir/plan.time")" '
        {v[$1] = $2}
        END {
            split(run, t, " "); cpu = t[2] + t[3]; bytes = 1024 * t[4]
            printf "%s\t%s\t%d\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", stage, size, threads, v["memory_bytes"], bytes,
                v["memory_bytes"] / bytes, v["processor_seconds"], cpu, v["processor_seconds"] / (cpu > 0 ? cpu : .01), v["seconds"], t[1],
                v["seconds"] / (t[1] > 0 ? t[1] : .01), t[1] * threads / (cpu > 0 ? cpu : .01), takes
        }' "$dir/plan"
}
