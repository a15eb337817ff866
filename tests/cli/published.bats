#!/usr/bin/env bats
# --mode ref of the chain, from the golden points to the published figures, for every golden file.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    export dir=$BATS_FILE_TMPDIR gap=$B/tests/bad/golden_gap
    golden=$(golden_folder)
    export golden
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --max-points 150 -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --dim 4 --mode ref -o "$dir/ref.h5" "$dir/cloud.h5"
    "$bin/geodec-metric" --quiet --dim 4 -o "$dir/metric.h5" "$dir/cloud.h5"
}

@test "the chain in --mode ref reproduces the published figures of every golden file" {
    found=0
    for g in "$golden"/*_n[0-9]*.h5; do
        case $g in */sphere_n*) continue ;; esac # another layout
        found=1
        "$bin/geodec-import" --quiet --force --coordinates --dataset cloud/points -o "$dir/c.h5" "$g"
        "$bin/geodec-metric" --quiet --force --mode ref -o "$dir/m.h5" "$dir/c.h5"
        "$bin/geodec-christoffel" --quiet --force --mode ref -o "$dir/g.h5" "$dir/m.h5"
        "$bin/geodec-geodesic" --quiet --force --mode ref --draws "$g" -o "$dir/p.h5" "$dir/m.h5"
        "$bin/geodec-riemann" --quiet --force --mode ref --draws "$g" --tensors -o "$dir/r.h5" "$dir/m.h5"
        "$bin/geodec-propagate" --quiet --force --mode ref -o "$dir/phi.h5" "$dir/m.h5" "$dir/p.h5"
        "$gap" "$dir/m.h5" points "$g" cloud/points 0
        "$gap" "$dir/m.h5" knn_index "$g" metric/knn_index 0
        "$gap" "$dir/m.h5" published/g_raw "$g" metric/g_raw 1e-9
        "$gap" "$dir/m.h5" published/g "$g" metric/g_smooth 1e-9
        "$gap" "$dir/g.h5" gamma "$g" gamma/ref_fd 1e-7
        "$gap" "$dir/p.h5" x "$g" geodesic/ref_xs 1e-8
        "$gap" "$dir/p.h5" v "$g" geodesic/ref_vs 1e-8
        "$gap" "$dir/r.h5" riemann "$g" riemann/ref 1e-6
        "$gap" "$dir/phi.h5" phi "$g" propagator/ref_phi 1e-6
    done >&3
    [ "$found" -eq 1 ]
}

@test "without goldens: the chain in --mode ref, with its controls" {
    "$bin/geodec-christoffel" --quiet --mode ref -o "$dir/g1.h5" "$dir/ref.h5"
    "$bin/geodec-geodesic" --quiet --mode ref --paths 8 -o "$dir/p1.h5" "$dir/ref.h5"
    "$bin/geodec-riemann" --quiet --mode ref -o "$dir/r1.h5" "$dir/ref.h5"
    "$bin/geodec-propagate" --quiet --mode ref -o "$dir/phi1.h5" "$dir/ref.h5" "$dir/p1.h5"
    run "$bin/geodec-info" "$dir/phi1.h5"
    [[ "$output" == *"scheme               = published"* && "$output" == *"order                = 0"* ]]
    [[ "$output" != *"symplectic_largest"* ]]
    # the rule is not the derivative of the flow, and the control shows it
    "$bin/geodec-table" --attrs "$dir/phi1.h5" | awk -F'\t' '$1 == "control_gap_largest" { exit !($2 > 1e-3) }'
    "$bin/geodec-table" --attrs "$dir/r1.h5" | awk -F'\t' '$1 == "worst_symmetry" { exit !($2 > 1e-3) }'
}

@test "three threads give the same bytes in --mode ref" {
    "$bin/geodec-metric" --quiet --dim 4 --mode ref --threads 3 -o "$dir/ref3.h5" "$dir/cloud.h5"
    cmp "$dir/ref.h5" "$dir/ref3.h5"
    "$bin/geodec-geodesic" --quiet --mode ref --paths 8 --threads 1 -o "$dir/p2.h5" "$dir/ref.h5"
    "$bin/geodec-geodesic" --quiet --mode ref --paths 8 --threads 3 -o "$dir/p3.h5" "$dir/ref.h5"
    cmp "$dir/p2.h5" "$dir/p3.h5"
    "$bin/geodec-propagate" --quiet --mode ref --threads 3 -o "$dir/phi3.h5" "$dir/ref.h5" "$dir/p2.h5"
    "$bin/geodec-propagate" --quiet --mode ref --threads 1 -o "$dir/phi2.h5" "$dir/ref.h5" "$dir/p2.h5"
    cmp "$dir/phi2.h5" "$dir/phi3.h5"
}

@test "the mode must match the metric" {
    for t in christoffel geodesic riemann; do
        run --separate-stderr "$bin/geodec-$t" --mode ref -o "$dir/no.h5" "$dir/metric.h5"
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"of kind mahalanobis"* ]]
        run --separate-stderr "$bin/geodec-$t" -o "$dir/no.h5" "$dir/ref.h5"
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"use --mode ref"* ]]
        [ ! -e "$dir/no.h5" ]
    done
    run --separate-stderr "$bin/geodec-geodesic" --mode ref --draws "$dir/a.h5" -o "$dir/no.h5" "$dir/ref.h5"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"no dataset"* ]]
}
