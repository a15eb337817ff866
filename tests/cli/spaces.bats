#!/usr/bin/env bats
# Metrics of every kind in the whole chain, with known results.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --max-points 300 -o "$dir/cloud.h5" "$dir/a.h5"
}

attribute() { # FILE NAME
    "$bin/geodec-info" "$1" | sed -n "s/^ *$2 *= \([^ ]*\).*/\1/p"
}

chain() { # METRIC.h5: every tool that takes a metric
    rm -f "$dir"/chain-*.h5
    "$bin/geodec-christoffel" --quiet -o "$dir/chain-c.h5" "$1"
    "$bin/geodec-geodesic" --quiet --v0 random --paths 12 --no-hull --steps 32 --dl 0.025 -o "$dir/chain-g.h5" "$1"
    "$bin/geodec-riemann" --quiet -o "$dir/chain-r.h5" "$1"
    "$bin/geodec-propagate" --quiet -o "$dir/chain-p.h5" "$1" "$dir/chain-g.h5"
    "$bin/geodec-records" --quiet -o "$dir/chain-rec.h5" "$dir/chain-p.h5" "$1"
    "$bin/geodec-validity" --quiet -o "$dir/chain-v.h5" "$1"
}

@test "test spaces: the whole chain, and their known curvature" {
    for space in sphere:3:6 hyperbolic:3:-6 flat:3:0 polar:2:0 gaussian-fisher:2:-1; do
        IFS=: read -r kind n scalar <<<"$space"
        "$bin/geodec-metric" --quiet --force --kind "$kind" --dim "$n" --points 60 -o "$dir/$kind.h5"
        [ "$(attribute "$dir/$kind.h5" metric_kind)" = "\"$kind\"" ] || [ "$(attribute "$dir/$kind.h5" metric_kind)" = "$kind" ]
        chain "$dir/$kind.h5"
        "$bin/geodec-table" "$dir/chain-r.h5" /scalar | awk -v want="$scalar" '
            NR > 1 && ($NF - want) ^ 2 > 1e-18 { print "scalar curvature", $NF; bad = 1 } END { exit bad || NR < 61 }'
    done
}

@test "euclidean metric of a cloud: the identity or the inverse covariance, both flat" {
    for scale in identity covariance; do
        "$bin/geodec-metric" --quiet --force --kind euclidean --scale "$scale" --dim 3 -o "$dir/e.h5" "$dir/cloud.h5"
        chain "$dir/e.h5"
        "$bin/geodec-table" "$dir/chain-r.h5" /scalar | awk 'NR > 1 && $NF != 0 { exit 1 }'
        "$bin/geodec-table" "$dir/e.h5" /condition | awk -v s="$scale" 'NR > 1 && (s == "identity") != ($NF == 1) { exit 1 }'
    done
}

@test "same seed, same bytes; another seed, other points" {
    "$bin/geodec-metric" --quiet --kind sphere --threads 1 -o "$dir/s1.h5"
    "$bin/geodec-metric" --quiet --kind sphere --threads 3 -o "$dir/s2.h5"
    cmp "$dir/s1.h5" "$dir/s2.h5"
    "$bin/geodec-metric" --quiet --kind sphere --seed 2 -o "$dir/s3.h5"
    run "$bin/geodec-diff" "$dir/s1.h5" "$dir/s3.h5"
    [ "$status" -ne 0 ]
}

@test "inputs that do not match are refused" {
    for bad in "--kind sphere $dir/cloud.h5" "--kind euclidean" "--kind polar --dim 3" "--kind sphere --curvature -1" \
        "--kind sphere --points 1"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin/geodec-metric" $bad -o "$dir/no.h5"
        [ "$status" -eq 2 ] || { echo "$bad: $status"; false; }
        [ "${#stderr_lines[@]}" -le 2 ]
        [ ! -e "$dir/no.h5" ]
    done
}
