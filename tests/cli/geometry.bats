#!/usr/bin/env bats
# geodec-cloud, -metric and -christoffel: the chain on synthetic states, the same bytes with any number of threads, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$B/tests/bad/make_states" "$dir/half.h5" half
    "$bin/geodec-cloud" --quiet --threads 1 -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --threads 1 --points 400 -o "$dir/metric.h5" "$dir/cloud.h5"
    "$bin/geodec-christoffel" --quiet --threads 1 -o "$dir/christoffel.h5" "$dir/metric.h5"
}

@test "three threads give the same bytes" {
    mkdir "$dir/three"
    "$bin/geodec-cloud" --quiet --threads 3 -o "$dir/three/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --threads 3 --points 400 -o "$dir/three/metric.h5" "$dir/three/cloud.h5"
    "$bin/geodec-christoffel" --quiet --threads 3 -o "$dir/three/christoffel.h5" "$dir/three/metric.h5"
    for f in cloud metric christoffel; do cmp "$dir/$f.h5" "$dir/three/$f.h5"; done
}

@test "cloud: repeated states are dropped, and the summary has the control of each value" {
    run --separate-stderr "$bin/geodec-cloud" --layer 3 -o "$dir/again.h5" "$dir/a.h5"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$stderr" == *"layer 3: 1495 points (5 duplicates dropped), d 24, K "*"Gaussian control"* ]]
    [[ "$stderr" == *"TwoNN "*"Gaussian control"*"k_int "* ]]
    run "$bin/geodec-info" "$dir/cloud.h5"
    [[ "$output" == *"n_duplicates         = 5"* && "$output" == *"model        0123"* ]]
}

@test "cloud: the layer is a number, last or sink; float16 states are read" {
    "$bin/geodec-cloud" --quiet --layer last -o "$dir/last.h5" "$dir/a.h5"
    "$bin/geodec-diff" "$dir/cloud.h5" "$dir/last.h5"
    "$bin/geodec-cloud" --quiet --layer sink -o "$dir/sink.h5" "$dir/a.h5"
    run "$bin/geodec-info" "$dir/sink.h5"
    [[ "$output" == *"layer                = 2 "* ]]
    "$bin/geodec-cloud" --quiet -o "$dir/chalf.h5" "$dir/half.h5"
    run --separate-stderr "$bin/geodec-cloud" --layer 1 -o "$dir/no.h5" "$dir/a.h5"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"a.h5: layer 1 was not exported; there are: 2 3" ]]
    [ ! -e "$dir/no.h5" ]
    run --separate-stderr "$bin/geodec-cloud" --layer top -o "$dir/no.h5" "$dir/a.h5"
    [ "$status" -eq 2 ]
    [ ! -e "$dir/no.h5" ]
}

@test "cloud: limits of options" {
    for bad in "--variance 0" "--variance 1.1" "--k-int 0" "--k-int many" "--k-int 24" "--max-points -3" "--pca quick"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin/geodec-cloud" $bad -o "$dir/no.h5" "$dir/a.h5"
        [ "$status" -eq 2 ] || { echo "$bad: $status"; false; }
        [ ! -e "$dir/no.h5" ]
    done
    run --separate-stderr "$bin/geodec-cloud" --max-points 20 -o "$dir/no.h5" "$dir/a.h5"
    [ "$status" -eq 5 ]
    [[ "$stderr" == *"20 different states; a cloud needs at least 32"* ]]
}

@test "metric: dimension, neighbours and width are checked" {
    run --separate-stderr "$bin/geodec-metric" --dim 5 --k 5 -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"k = 5 neighbours cannot span 5 dimensions"* ]]
    "$bin/geodec-metric" --quiet --dim 5 --k 5 --force-k -o "$dir/forced.h5" "$dir/cloud.h5"
    run --separate-stderr "$bin/geodec-metric" --dim 60 -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"--dim: "*"coordinates, not 60"* ]]
    run --separate-stderr "$bin/geodec-metric" --points 10 --k 16 -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
    # the default number of neighbours adapts, down to two points more than dimensions
    "$bin/geodec-metric" --quiet --points 10 --dim 4 -o "$dir/few.h5" "$dir/cloud.h5"
    run --separate-stderr "$bin/geodec-metric" --points 5 --dim 4 -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 5 ]
    run --separate-stderr "$bin/geodec-metric" --shrink 2 -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
    [ ! -e "$dir/no.h5" ]
    run --separate-stderr "$bin/geodec-metric" --sigma-nn 2 --dim 3 -o "$dir/wide.h5" "$dir/cloud.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"medians (and of a Gaussian control)"* ]]
    run "$bin/geodec-info" "$dir/wide.h5"
    [[ "$output" == *"sigma_nn             = 2 "* ]]
}

@test "christoffel: both derivatives agree to the square of the step" {
    run --separate-stderr "$bin/geodec-christoffel" --deriv fd --h 1e-3 --at midpoints -o "$dir/fd.h5" "$dir/metric.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"400 midpoints"*"analytic control within "*"e-0"* ]]
    "$bin/geodec-christoffel" --quiet --at midpoints -o "$dir/mid.h5" "$dir/metric.h5"
    run "$bin/geodec-diff" --all --atol 1e-5 "$dir/fd.h5" "$dir/mid.h5"
    [ "$status" -eq 4 ] # the attribute that says how
    grep -q $'^/gamma\tsame' <<<"$output"
    run "$bin/geodec-diff" --atol 1e-12 "$dir/fd.h5" "$dir/mid.h5"
    grep -q '^/gamma' <<<"$output"
}

@test "a file of the wrong kind is refused, and the message names the tool that makes the right one" {
    run --separate-stderr "$bin/geodec-cloud" -o "$dir/no.h5" "$dir/metric.h5"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"geodec-export"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run --separate-stderr "$bin/geodec-metric" -o "$dir/no.h5" "$dir/a.h5"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"geodec-cloud"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run --separate-stderr "$bin/geodec-christoffel" -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"geodec-metric"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ ! -e "$dir/no.h5" ]
}

@test "an existing output is kept unless forced" {
    cp "$dir/cloud.h5" "$dir/kept.h5"
    run --separate-stderr "$bin/geodec-metric" -o "$dir/kept.h5" "$dir/cloud.h5"
    [ "$status" -eq 1 ]
    cmp "$dir/cloud.h5" "$dir/kept.h5"
    "$bin/geodec-metric" --quiet --force --points 100 -o "$dir/kept.h5" "$dir/cloud.h5"
    run "$bin/geodec-info" "$dir/kept.h5"
    [[ "$output" == *"metric 1."* ]]
}

# walk STEPS: 2000 points in four dimensions, a filtered walk; STEPS 0: independent points
walk() {
    awk -v m="$1" 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.28318530717959 * rand()) }
        BEGIN { srand(7); a = m > 0 ? exp(-1 / m) : 0
            for (i = 0; i < 2000; i++) for (c = 0; c < 4; c++) {
                f[c] = a * f[c] + sqrt(1 - a * a) * normal(); s[c] = a * s[c] + (1 - a) * f[c]
                printf "%.9g%s", s[c], c < 3 ? "\t" : "\n" } }'
}

@test "cloud: neighbours in time are found, said and left out of the dimension; the plain estimate stays" {
    walk 3 > "$dir/walk.tsv"
    walk 0 > "$dir/free.tsv"
    for f in walk free; do
        "$bin/geodec-import" --quiet --states --consecutive -o "$dir/$f-a.h5" "$dir/$f.tsv"
        run --separate-stderr "$bin/geodec-cloud" -o "$dir/$f.h5" "$dir/$f-a.h5"
        [ "$status" -eq 0 ] || { echo "$stderr"; false; }
        said=$stderr
        [[ "$said" == *"dimension "*"Gaussian control"*"TwoNN corrected for "* ]]
        [ $f = walk ] || [[ "$said" != *"time neighbours:"* && "$said" != *"too few points"* ]]
        [ $f = free ] || [[ "$said" == *"warning: time neighbours: the nearest neighbour of "* ]]
    done
    "$bin/geodec-cloud" --quiet --theiler 0 -o "$dir/off.h5" "$dir/walk-a.h5"
    "$bin/geodec-cloud" --quiet --theiler 12 -o "$dir/asked.h5" "$dir/walk-a.h5"
    mapfile -t v < <("$bin/geodec-value" --quiet --root "$dir" {walk,off,asked,free}.h5#theiler_window {walk,free}.h5#dimension_doubt \
        {walk,off}'.h5#ladder/twonn_fit[-1]' {off,walk}'.h5#ladder/theiler_fit[-1]' 'walk.h5#ladder/dimension[-1]' | tail -n +2 | cut -f 2)
    echo "${v[@]}"
    [ "${v[0]}" -gt 1 ]
    [ "${v[*]:1:5}" = "1 12 1 1 0" ]
    [ "${v[6]}" = "${v[7]}" ]
    [ "${v[7]}" = "${v[8]}" ]
    [ "${v[8]}" != "${v[9]}" ]
    awk -v d="${v[10]}" 'BEGIN { exit !(d > 3.3 && d < 4.7) }'
    run --separate-stderr "$bin/geodec-cloud" --theiler often -o "$dir/no.h5" "$dir/walk-a.h5"
    [ "$status" -eq 2 ]
}

@test "a chart that folds a sphere is warned of, and a cap is not" {
    t=$BATS_TEST_TMPDIR
    for cap in 0 0.785; do
        "$bin/geodec-worlds" -q --set sphere --dim 2 --ambient 8 --points 600 --noise 0.001 --cap $cap -o "$t/w$cap.h5" --truth "$t/truth$cap.h5"
        "$bin/geodec-cloud" -q --variance 1 -o "$t/c$cap.h5" "$t/w$cap.h5"
    done
    run --separate-stderr "$bin/geodec-metric" --dim 2 -o "$t/m0.h5" "$t/c0.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"warning: the first 2 coordinates fold the set of the points"* ]]
    run --separate-stderr "$bin/geodec-metric" --dim 2 -o "$t/m1.h5" "$t/c0.785.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" != *fold* ]]
    for i in 0 1; do
        "$bin/geodec-table" --attrs "$t/m$i.h5" | grep -q control_fold_determined
        "$bin/geodec-check" "$t/m$i.h5"
    done
}
