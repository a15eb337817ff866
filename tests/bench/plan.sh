#!/bin/bash
# plan.sh [quick]: what --plan says against what the run takes, for stages and sizes, as TSV on stdout.
#
#   stage  size  threads  plan_bytes  bytes  ratio_bytes  plan_cpu_s  cpu_s  ratio_cpu  plan_s  elapsed_s  ratio_s  busy  plan_takes_s
#
# bytes: largest resident size; cpu_s: user and system time; elapsed_s: of the run alone. The ratios are plan over measured. busy: elapsed time
# of the run over that of its processor time on the threads that it used; above about 1.2 other work had part of the machine (or the stage
# is not parallel), and elapsed times tell little. plan_takes_s: elapsed time of the plan. No constant was fitted to these sizes
# (tools/cli/needs.c). Inputs: texts of geodec-corpus, the embedded model, and points with the spectrum of its states.
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

# Inputs. points NAME N DIM: points in DIM dimensions, and metric NAME POINTS DIM.

"$B/bin/geodec-corpus" --quiet --bytes 800000 -o "$dir/text.txt"
"$B/bin/geodec-export" --quiet -m "$model" --text "$dir/text.txt" --max-tokens 60000 -o "$dir/all.h5"
"$B/bin/geodec-cloud" --quiet --twonn-points 1000 -o "$dir/spectrum.h5" "$dir/all.h5"
points() { "$B/bench/bench-points" "$dir/spectrum.h5" "$2" "$3" 1 "$dir/$1.h5"; }
metric() { "$B/bin/geodec-metric" --quiet --dim "$3" -o "$dir/$1.h5" "$dir/$2.h5"; }

row export "$((60000 / f)) tokens" 2 -m "$model" --text "$dir/text.txt" --max-tokens $((60000 / f)) -o "$dir/o.h5"
row export "$((12000 / f)) tokens, 7 layers, f16" 1 -m "$model" --text "$dir/text.txt" --max-tokens $((12000 / f)) --layers all --f16 -o "$dir/o.h5"
row perplexity "$((300 / f)) windows of 384" 2 -m "$model" --window 384 --windows $((300 / f)) "$dir/text.txt"
row cloud "60000 states, TwoNN of 6000" 2 --twonn-points 6000 -o "$dir/o.h5" "$dir/all.h5"
row cloud "60000 states, 3000 kept" 1 --max-points 3000 -o "$dir/o.h5" "$dir/all.h5"
points p $((120000 / f)) 17
row knn "$((120000 / f)) points, d 17, k 12" 2 -k 12 -o "$dir/o.h5" "$dir/p.h5"
row knn "60000 points, d 40, k 5" 1 -k 5 -n 40 -o "$dir/o.h5" "$dir/spectrum.h5"
row metric "$((120000 / f)) points, n 6" 2 --dim 6 -o "$dir/o.h5" "$dir/p.h5"
row metric "$((30000 / f)) points, n 14" 1 --dim 14 --points $((30000 / f)) -o "$dir/o.h5" "$dir/p.h5"
points q $((5000 / f + 500)) 6
metric m q 6
row christoffel "field of $((5000 / f + 500)) points, n 6" 2 -o "$dir/o.h5" "$dir/m.h5"
row riemann "the same, $((4000 / f)) points" 2 --samples $((2000 / f)) --midpoints $((2000 / f)) -o "$dir/o.h5" "$dir/m.h5"
row geodesic "the same, $((500 / f)) paths" 2 --v0 random --paths $((500 / f)) -o "$dir/g.h5" "$dir/m.h5"
row propagate "the same paths" 2 -o "$dir/phi.h5" "$dir/m.h5" "$dir/g.h5"
points q2 1500 10
metric m2 q2 10
row geodesic "field of 1500 points, n 10, 40 paths" 1 --v0 random --paths 40 -o "$dir/g2.h5" "$dir/m2.h5"
row propagate "the same paths, flow" 1 --flow -o "$dir/phi2.h5" "$dir/m2.h5" "$dir/g2.h5"
row records "the same paths" 2 -o "$dir/o.h5" "$dir/phi2.h5" "$dir/m2.h5"
row validity "field of 1500 points, n 10, 6 starts" 2 --no-check --starts 6 -o "$dir/o.h5" "$dir/m2.h5"
row coverage "$((1800 / f + 500)) points, n 6" 2 --points $((1800 / f + 500)) -o "$dir/o.h5" "$dir/q.h5"
row second-form "$((120000 / f)) points, n 4" 2 --dim 4 -o "$dir/o.h5" "$dir/p.h5"
row bake "60000 positions" 2 -o "$dir/o.h5" "$dir/all.h5"
