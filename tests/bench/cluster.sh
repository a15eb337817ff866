#!/bin/bash
# cluster.sh [--ranks "1 2 4"] [--scale X]: strong and weak scaling of the stages that ranks divide, as TSV on stdout.
#
#   stage  scaling  ranks  threads  n  wall_s  cpu_s  peak_mib  same
#
# strong: the same input for all numbers of ranks; weak: n rows for each rank. threads: those of a rank (processors / ranks,
# at least 1). cpu_s: user and system time of all ranks; on a machine that is busy with other work it is the steadier figure.
# peak_mib: of the largest rank. same: the output has the bytes of one process. Sizes are for one processor and a few seconds;
# --scale multiplies them.
set -eu
cd "$(dirname -- "$0")/../.."
B=${B:-build/release} ranks="1 2 4" scale=1
while [ $# -gt 0 ]; do
    case $1 in
        --ranks) ranks=$2 ;;
        --scale) scale=$2 ;;
        *) echo "cluster.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
command -v mpirun >/dev/null || { echo "cluster.sh: no mpirun (packages of the purpose 'cluster')" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cpus=$(nproc)
model=data/model/geodec-stories-f16.gguf
rows() { awk -v n="$1" -v x="$scale" 'BEGIN { printf "%d", n * x }'; }

# tool -o OUT: one process; the reference of the bytes
alone() { "$B/bin/geodec-$1" --quiet --force --threads 1 "${@:2}"; }

# row STAGE SCALING RANKS N REFERENCE ARGUMENTS...
row() {
    local stage=$1 scaling=$2 r=$3 n=$4 reference=$5 threads same=no
    shift 5
    threads=$((cpus / r > 0 ? cpus / r : 1))
    /usr/bin/time -o "$dir/time" -f '%e %U %S %M' mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$r" \
        "$B/bin/geodec-$stage" --mpi --quiet --force --threads "$threads" -o "$dir/out.h5" "$@"
    cmp -s "$reference" "$dir/out.h5" && same=yes
    awk -v s="$stage" -v k="$scaling" -v r="$r" -v t="$threads" -v n="$n" -v same=$same \
        '{ printf "%s\t%s\t%d\t%d\t%d\t%.2f\t%.2f\t%.0f\t%s\n", s, k, r, t, n, $1, $2 + $3, $4 / 1024, same }' "$dir/time"
}

# both STAGE N MAKE ARGUMENTS...: MAKE n FILE makes the input of n rows
both() {
    local stage=$1 n=$2 make=$3 r m
    shift 3
    for r in $ranks; do
        for m in "$n" $((n * r)); do
            [ -e "$dir/$stage-$m.in" ] || { "$make" "$m" "$dir/$stage-$m.in"; alone "$stage" -o "$dir/$stage-$m.h5" "$@" "$dir/$stage-$m.in"; }
        done
        row "$stage" strong "$r" "$n" "$dir/$stage-$n.h5" "$@" "$dir/$stage-$n.in"
        [ "$r" = 1 ] || row "$stage" weak "$r" $((n * r)) "$dir/$stage-$((n * r)).h5" "$@" "$dir/$stage-$((n * r)).in"
    done
}

points() { "$B/bench/bench-points" "$dir/cloud.h5" "$1" 17 1 "$2"; }
states() { "$B/bin/geodec-export" --quiet -m "$model" --text "$dir/text.txt" --max-tokens "$1" -o "$2"; }

printf 'stage\tscaling\tranks\tthreads\tn\twall_s\tcpu_s\tpeak_mib\tsame\n'
"$B/bin/geodec-corpus" --quiet --bytes "$(rows 600000)" -o "$dir/text.txt"
states "$(rows 8000)" "$dir/states.h5"
"$B/bin/geodec-cloud" --quiet -o "$dir/cloud.h5" "$dir/states.h5"
both knn "$(rows 40000)" points -k 8
both metric "$(rows 20000)" points --dim 8
both cloud "$(rows 20000)" states --twonn-points 1000
n=$(rows 8000)
for r in $ranks; do
    for m in "$n" $((n * r)); do
        [ -e "$dir/export-$m.h5" ] || alone export -o "$dir/export-$m.h5" -m "$model" --text "$dir/text.txt" --max-tokens "$m"
    done
    row export strong "$r" "$n" "$dir/export-$n.h5" -m "$model" --text "$dir/text.txt" --max-tokens "$n"
    [ "$r" = 1 ] || row export weak "$r" $((n * r)) "$dir/export-$((n * r)).h5" -m "$model" --text "$dir/text.txt" --max-tokens $((n * r))
done
