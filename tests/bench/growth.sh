#!/bin/bash
# growth.sh ["500 1000 2000 4000"]: processor time of every stage of the geometry chain by the number of points, as TSV on stdout.
#
#   stage  n  cpu_s  start_s  what
#
# n points in 4 dimensions with the spectrum of states of the embedded model (geodec-export: n tokens). Paths and samples are as many
# as points in christoffel, and 32 elsewhere, so that the growth is that of the field. start_s: time of the tool with --help, which
# cpu_s includes. One thread. Controls are as small as the options allow.
set -eu
cd "$(dirname -- "$0")/../.."
B=${B:-build/release} sizes=${1:-"500 1000 2000 4000 8000"}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
model=data/model/geodec-stories-f16.gguf
printf 'stage\tn\tcpu_s\tstart_s\twhat\n'
# row STAGE N WHAT OUT ARGUMENTS...
row() {
    local stage=$1 n=$2 what=$3 out=$4
    shift 4
    /usr/bin/time -o "$dir/start" -f '%U %S' "$B/bin/geodec-$stage" --help > /dev/null
    /usr/bin/time -o "$dir/time" -f '%U %S' "$B/bin/geodec-$stage" --quiet --force --threads 1 -o "$out" "$@"
    paste -d ' ' "$dir/time" "$dir/start" |
        awk -v s="$stage" -v n="$n" -v w="$what" '{ printf "%s\t%d\t%.3f\t%.3f\t%s\n", s, n, $1 + $2, $3 + $4, w }'
}
most=$(tr " " "\n" <<<"$sizes" | sort -n | tail -n 1)
"$B/bin/geodec-corpus" --quiet --bytes $((8 * most)) -o "$dir/text.txt"
"$B/bin/geodec-export" --quiet -m "$model" --text "$dir/text.txt" -o "$dir/all.h5"
"$B/bin/geodec-cloud" --quiet --twonn-points 1000 -o "$dir/spectrum.h5" "$dir/all.h5"
for n in $sizes; do
    row export "$n" "N tokens" "$dir/a.h5" -m "$model" --text "$dir/text.txt" --max-tokens "$n"
    row cloud "$n" "N states of width 128" "$dir/c.h5" --twonn-points 400 "$dir/a.h5"
    "$B/bench/bench-points" "$dir/spectrum.h5" "$n" 4 1 "$dir/p.h5"
    row knn "$n" "N points, k 16" "$dir/n.h5" -k 16 "$dir/p.h5"
    row metric "$n" "N points, k 16, and its control" "$dir/m.h5" --dim 4 --k 16 "$dir/p.h5"
    row christoffel "$n" "field at N points" "$dir/x.h5" --control 1 "$dir/m.h5"
    row geodesic "$n" "32 paths" "$dir/g.h5" --v0 random --paths 32 --control 1 "$dir/m.h5"
    row riemann "$n" "32 points" "$dir/r.h5" --samples 32 --midpoints 1 "$dir/m.h5"
    row propagate "$n" "32 paths" "$dir/q.h5" --control 1 "$dir/m.h5" "$dir/g.h5"
    row records "$n" "records of 32 paths" "$dir/e.h5" "$dir/q.h5" "$dir/m.h5"
done
