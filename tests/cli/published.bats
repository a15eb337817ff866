#!/usr/bin/env bats
# geodec-published: the chain, from the golden points to the published figures, for every golden file.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    export dir=$BATS_FILE_TMPDIR gap=$B/tests/bad/golden_gap
    golden=$(golden_folder)
    export golden
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet --max-points 150 -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-published" --quiet metric --dim 4 -o "$dir/ref.h5" "$dir/cloud.h5"
    "$bin/geodec-metric" --quiet --dim 4 -o "$dir/metric.h5" "$dir/cloud.h5"
}

@test "the published chain reproduces the published figures of every golden file" {
    found=0
    for g in "$golden"/*_n[0-9]*.h5; do
        case $g in */sphere_n*) continue ;; esac # another layout
        found=1
        "$bin/geodec-import" --quiet --force --coordinates --dataset cloud/points -o "$dir/c.h5" "$g"
        "$bin/geodec-published" --quiet --force metric -o "$dir/m.h5" "$dir/c.h5"
        "$bin/geodec-published" --quiet --force christoffel -o "$dir/g.h5" "$dir/m.h5"
        "$bin/geodec-published" --quiet --force geodesic --draws "$g" -o "$dir/p.h5" "$dir/m.h5"
        "$bin/geodec-published" --quiet --force riemann --draws "$g" --tensors -o "$dir/r.h5" "$dir/m.h5"
        "$bin/geodec-published" --quiet --force propagate -o "$dir/phi.h5" "$dir/m.h5" "$dir/p.h5"
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

@test "without goldens: the published chain, with its controls" {
    "$bin/geodec-published" --quiet christoffel -o "$dir/g1.h5" "$dir/ref.h5"
    "$bin/geodec-published" --quiet geodesic --paths 8 -o "$dir/p1.h5" "$dir/ref.h5"
    "$bin/geodec-published" --quiet riemann -o "$dir/r1.h5" "$dir/ref.h5"
    "$bin/geodec-published" --quiet propagate -o "$dir/phi1.h5" "$dir/ref.h5" "$dir/p1.h5"
    run "$bin/geodec-info" "$dir/phi1.h5"
    [[ "$output" == *"scheme               = published"* && "$output" == *"order                = 0"* ]]
    [[ "$output" != *"symplectic_largest"* ]]
    # the rule is not the derivative of the flow, and the control shows it
    "$bin/geodec-table" --attrs "$dir/phi1.h5" | awk -F'\t' '$1 == "control_gap_largest" { exit !($2 > 1e-3) }'
    "$bin/geodec-table" --attrs "$dir/r1.h5" | awk -F'\t' '$1 == "worst_symmetry" { exit !($2 > 1e-3) }'
}

@test "three threads give the same bytes" {
    "$bin/geodec-published" --quiet metric --dim 4 --threads 3 -o "$dir/ref3.h5" "$dir/cloud.h5"
    cmp "$dir/ref.h5" "$dir/ref3.h5"
    "$bin/geodec-published" --quiet geodesic --paths 8 --threads 1 -o "$dir/p2.h5" "$dir/ref.h5"
    "$bin/geodec-published" --quiet geodesic --paths 8 --threads 3 -o "$dir/p3.h5" "$dir/ref.h5"
    cmp "$dir/p2.h5" "$dir/p3.h5"
    "$bin/geodec-published" --quiet propagate --threads 3 -o "$dir/phi3.h5" "$dir/ref.h5" "$dir/p2.h5"
    "$bin/geodec-published" --quiet propagate --threads 1 -o "$dir/phi2.h5" "$dir/ref.h5" "$dir/p2.h5"
    cmp "$dir/phi2.h5" "$dir/phi3.h5"
}

@test "a published stage takes the published metric only, and a corrected one takes no published metric" {
    for t in christoffel geodesic riemann; do
        run --separate-stderr "$bin/geodec-published" $t -o "$dir/no.h5" "$dir/metric.h5"
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"of kind mahalanobis"* ]]
        run --separate-stderr "$bin/geodec-$t" -o "$dir/no.h5" "$dir/ref.h5"
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"use geodec-published"* ]]
        [ ! -e "$dir/no.h5" ]
    done
    run --separate-stderr "$bin/geodec-published" geodesic --draws "$dir/a.h5" -o "$dir/no.h5" "$dir/ref.h5"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"no dataset"* ]]
    for call in propagate "propagate $dir/ref.h5" metric "metric --dim 99 $dir/cloud.h5" "geodesic $dir/ref.h5 $dir/ref.h5"; do
        # shellcheck disable=SC2086
        run "$bin/geodec-published" $call -o "$dir/no.h5"
        [ "$status" -eq 2 ] || { echo "$call: $status"; false; }
    done
    [ ! -e "$dir/no.h5" ]
}
