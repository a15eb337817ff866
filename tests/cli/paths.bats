#!/usr/bin/env bats
# geodec-geodesic, -riemann, -propagate, -validity, -records and -coverage: the chain on synthetic states, the same bytes with any
# number of threads, checks that end with code 4, refusals.

bats_require_minimum_version 1.5.0
load ../root
load golden

chain() { # threads, folder
    "$bin/geodec-geodesic" --quiet --threads "$1" --paths 12 -o "$2/geodesics.h5" "$dir/metric.h5"
    "$bin/geodec-riemann" --quiet --threads "$1" --samples 40 --midpoints 20 --geodesics "$2/geodesics.h5" -o "$2/riemann.h5" "$dir/metric.h5"
    "$bin/geodec-propagate" --quiet --threads "$1" --control 2 -o "$2/propagators.h5" "$dir/metric.h5" "$2/geodesics.h5"
    "$bin/geodec-validity" --quiet --threads "$1" --starts 4 --perturbations 3 --sphere-starts 4 --bootstrap 50 -o "$2/validity.h5" "$dir/metric.h5"
    "$bin/geodec-records" --quiet --threads "$1" --directions 2 --queries 50 -o "$2/records.h5" "$2/propagators.h5" "$dir/metric.h5" "$dir/a.h5"
    "$bin/geodec-coverage" --quiet --threads "$1" --dim 3 --points 300 --repeats 2 --queries 60 --nulls 2 -o "$2/coverage.h5" "$dir/cloud.h5"
}

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --dim 4 --points 400 -o "$dir/metric.h5" "$dir/cloud.h5"
    chain 1 "$dir"
}

attr() { # file, name
    "$bin/geodec-table" --attrs "$1" | awk -F'\t' -v n="$2" '$1 == n {print $2}'
}

@test "three threads give the same bytes" {
    mkdir "$dir/three"
    chain 3 "$dir/three"
    for f in geodesics riemann propagators validity records coverage; do cmp "$dir/$f.h5" "$dir/three/$f.h5"; done
}

@test "every artifact passes geodec-check and names its tool" {
    for f in geodesics riemann propagators validity records coverage; do
        "$bin/geodec-check" "$dir/$f.h5"
        run "$bin/geodec-info" "$dir/$f.h5"
        [[ "$output" == *"$f.h5: $f 1."* ]]
    done
}

@test "another seed selects other starts" {
    "$bin/geodec-geodesic" --quiet --seed 2 --paths 12 -o "$dir/seed2.h5" "$dir/metric.h5"
    run ! cmp -s "$dir/geodesics.h5" "$dir/seed2.h5"
}

@test "geodesic: summary with its control; random velocities need no text" {
    run --separate-stderr "$bin/geodec-geodesic" --paths 5 --v0 random --method adaptive -o "$dir/random.h5" "$dir/metric.h5"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$stderr" == *"5 paths of length 1.6: "*" again at rtol 1e-9 agree within "* ]]
    [ "$(attr "$dir/random.h5" velocity)" = random ]
    [ "$(attr "$dir/random.h5" method)" = adaptive ]
}

@test "geodesic: a path out of the hull has a status" {
    run --separate-stderr "$bin/geodec-geodesic" --paths 5 --hull 1e-9 -o "$dir/hull.h5" "$dir/metric.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"5 left the hull"* ]]
    run --separate-stderr "$bin/geodec-records" -o "$dir/no.h5" "$dir/propagators.h5" "$dir/hull.h5"
    [ "$status" -eq 3 ]
    "$bin/geodec-propagate" --quiet --control 1 -o "$dir/hullp.h5" "$dir/metric.h5" "$dir/hull.h5"
    run --separate-stderr "$bin/geodec-records" -o "$dir/no.h5" "$dir/hullp.h5" "$dir/metric.h5"
    [ "$status" -eq 5 ]
    [[ "$stderr" == *"none of the 5 paths is sound; records need at least 1"* ]]
    [ ! -e "$dir/no.h5" ]
}

@test "riemann: a residual above --check ends with code 4 and leaves no output" {
    run --separate-stderr "$bin/geodec-riemann" --samples 5 --check 0 -o "$dir/no.h5" "$dir/metric.h5"
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"symmetries of the tensor are broken"* ]]
    [ ! -e "$dir/no.h5" ]
}

@test "propagate: orders of the schemes; a poor one fails a strict check" {
    "$bin/geodec-propagate" --quiet --control 2 --scheme magnus6 --flow -o "$dir/six.h5" "$dir/metric.h5" "$dir/geodesics.h5"
    [ "$(attr "$dir/six.h5" dense)" = integrate ]
    [ "$(attr "$dir/six.h5" order)" = 6 ]
    run "$bin/geodec-info" "$dir/six.h5"
    [[ "$output" == *"/flow"* ]]
    run --separate-stderr "$bin/geodec-propagate" --scheme taylor3 --check 1e-9 -o "$dir/no.h5" "$dir/metric.h5" "$dir/geodesics.h5"
    [ "$status" -eq 4 ]
    [ ! -e "$dir/no.h5" ]
    "$bin/geodec-propagate" --quiet --scheme taylor3 --check 1e-9 --no-check -o "$dir/poor-phi.h5" "$dir/metric.h5" "$dir/geodesics.h5"
    run --separate-stderr "$bin/geodec-propagate" --symplectic 1e-15 -o "$dir/no.h5" "$dir/metric.h5" "$dir/geodesics.h5"
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"the symplectic form is kept within "*", above 1.0e-15, on a path with status ok"* ]]
    [ ! -e "$dir/no.h5" ]
}

@test "propagate: paths that drifted are counted, and are in no summary and no check" {
    "$bin/geodec-geodesic" --quiet --drift-max 1e-15 --paths 6 -o "$dir/drift.h5" "$dir/metric.h5"
    [ "$(attr "$dir/drift.h5" n_drift)" = 6 ]
    run --separate-stderr "$bin/geodec-propagate" --symplectic 1e-15 -o "$dir/driftp.h5" "$dir/metric.h5" "$dir/drift.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"symplectic within 0.0e+00 on 0 with status ok"*"6 paths drifted, broke down or left the hull: they are in no summary"* ]]
    [ "$(attr "$dir/driftp.h5" n_ok)" = 0 ]
    [ "$(attr "$dir/driftp.h5" phi_minus_identity)" = 0 ]
    run "$bin/geodec-table" "$dir/propagators.h5" status
    [ "$(attr "$dir/propagators.h5" n_ok)" = "$(grep -cx 0 <<< "$output")" ]
}

@test "riemann: --midpoints 0 means none" {
    "$bin/geodec-riemann" --quiet --samples 7 --midpoints 0 -o "$dir/no-mid.h5" "$dir/metric.h5"
    [ "$("$bin/geodec-table" "$dir/no-mid.h5" place | tail -n +2 | sort | uniq -c | tr -s ' ')" = " 7 0" ]
}

@test "validity: slope 2 on field and sphere; an impossible requirement ends with code 4" {
    [ "$(attr "$dir/validity.h5" slope_verdict)" = pass ]
    awk -v s="$(attr "$dir/validity.h5" slope)" -v t="$(attr "$dir/validity.h5" sphere_slope)" \
        'BEGIN {exit !(s > 1.8 && s < 2.2 && t > 1.85 && t < 2.15)}'
    run --separate-stderr "$bin/geodec-validity" --starts 2 --perturbations 2 --slope-min 3 -o "$dir/no.h5" "$dir/metric.h5"
    [ "$status" -eq 4 ]
    [ ! -e "$dir/no.h5" ]
    "$bin/geodec-validity" --quiet --starts 2 --perturbations 2 --slope-min 3 --no-check -o "$dir/poor.h5" "$dir/metric.h5"
    [ "$(attr "$dir/poor.h5" slope_verdict)" = fail ]
}

@test "records: logits with activations only; lookups are exact" {
    run "$bin/geodec-info" "$dir/records.h5"
    [[ "$output" == *"/logit_index"* ]]
    [ "$(attr "$dir/records.h5" lookup_recall)" = 1 ]
    "$bin/geodec-records" --quiet --directions 1 --queries 20 -o "$dir/bare.h5" "$dir/propagators.h5" "$dir/metric.h5"
    run "$bin/geodec-info" "$dir/bare.h5"
    [[ "$output" != *"/logit_index  "* ]]
}

@test "coverage: too few points for the metric are refused, with a remedy" {
    run --separate-stderr "$bin/geodec-coverage" --points 40 --dim 4 -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 5 ]
    [[ "$stderr" == *"needs at least"*"more points"* ]]
    [ ! -e "$dir/no.h5" ]
}

@test "a file of the wrong kind is refused, and the message names the tool that makes the right one" {
    for call in "geodesic $dir/cloud.h5 geodec-metric" "riemann $dir/cloud.h5 geodec-metric" "validity $dir/a.h5 geodec-metric" \
        "coverage $dir/metric.h5 geodec-cloud"; do
        read -r tool input maker <<< "$call"
        run --separate-stderr "$bin/geodec-$tool" -o "$dir/no.h5" "$input"
        [ "$status" -eq 3 ]
        [[ "$stderr" == *"$maker"* ]]
        [ ! -e "$dir/no.h5" ]
    done
    run --separate-stderr "$bin/geodec-propagate" -o "$dir/no.h5" "$dir/metric.h5" "$dir/cloud.h5"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"geodec-geodesic"* ]]
    # paths of another dimension
    "$bin/geodec-metric" --quiet --dim 3 --points 200 -o "$dir/three.h5" "$dir/cloud.h5"
    run --separate-stderr "$bin/geodec-propagate" -o "$dir/no.h5" "$dir/three.h5" "$dir/geodesics.h5"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"dimension 4"* ]]
    [ ! -e "$dir/no.h5" ]
}

@test "coverage: the published count from a golden file, with closed form and noise" {
    draws=("$(golden_folder)"/*_n8.h5)
    "$bin/geodec-published" --quiet coverage --draws "${draws[0]}" --nulls 6 -o "$dir/coverage-ref.h5"
    "$bin/geodec-table" "$dir/coverage-ref.h5" closed_form hit_once null_mean | awk -F'\t' \
        'NR > 1 {hit = $6; noise = $14; if (hit - $1 > 0.1 || $1 - hit > 0.1 || hit - noise > 0.12 || noise - hit > 0.12) exit 1}'
    for call in coverage "coverage --draws ${draws[0]}" "published coverage" "published --draws ${draws[0]}" \
        "published cover --draws ${draws[0]}" "published coverage --draws ${draws[0]} $dir/cloud.h5"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin"/geodec-$call -o "$dir/no.h5"
        [ "$status" -eq 2 ] || { echo "$call: $status"; false; }
    done
    run --separate-stderr "$bin/geodec-published" coverage --draws "$dir/cloud.h5" -o "$dir/no.h5"
    [ "$status" -eq 1 ]
    [ ! -e "$dir/no.h5" ]
}

@test "null: three kinds, each keeps its stated properties" {
    for kind in gaussian phase shuffle; do
        "$bin/geodec-null" --quiet --kind "$kind" -o "$dir/null-$kind.h5" "$dir/cloud.h5"
        "$bin/geodec-table" "$dir/null-$kind.h5" coordinates sequence > "$dir/null-$kind.tsv"
    done
    "$bin/geodec-table" "$dir/cloud.h5" coordinates sequence > "$dir/cloud.tsv"
    # shuffle keeps the values, phase the positions in the text; none keeps the points
    cmp <(cut -f 1 "$dir/cloud.tsv" | sort) <(cut -f 1 "$dir/null-shuffle.tsv" | sort)
    cmp <(awk '{print $NF}' "$dir/cloud.tsv") <(awk '{print $NF}' "$dir/null-phase.tsv")
    for kind in gaussian phase shuffle; do
        ! cmp -s <(cut -f 1 "$dir/cloud.tsv") <(cut -f 1 "$dir/null-$kind.tsv") || false
    done
    # points without a text have nothing along it
    awk 'BEGIN {srand(5); for (i = 0; i < 60; i++) print rand() "," rand() "," rand()}' > "$dir/points.csv"
    "$bin/geodec-import" -q --coordinates "$dir/points.csv" -o "$dir/points.h5"
    run "$bin/geodec-null" --kind phase -o "$dir/no.h5" "$dir/points.h5"
    [ "$status" -eq 5 ]
    [[ "$output" == *"no point is followed by its successor in a text"* ]]
    run "$bin/geodec-null" --kind pink -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 2 ]
}

@test "validity: the published measurement from a golden file; on the sphere the error is that of the rule" {
    sphere=$(golden_folder)/sphere_n4.h5
    "$bin/geodec-published" --quiet validity --draws "$sphere" -o "$dir/validity-ref.h5"
    awk -v s="$(attr "$dir/validity-ref.h5" slope)" -v c="$(attr "$dir/validity-ref.h5" control_slope)" \
        -v r="$(attr "$dir/validity-ref.h5" correct_slope)" 'BEGIN {exit !(s < 1.3 && c > 0.9 && c < 1.2 && r > 1.85 && r < 2.15)}'
    run --separate-stderr "$bin/geodec-published" validity -o "$dir/no.h5"
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-published" validity --draws "$dir/cloud.h5" -o "$dir/no.h5"
    [ "$status" -eq 1 ]
    [ ! -e "$dir/no.h5" ]
}

@test "validity: hyperbolic, flat and Gaussian cases in addition to the sphere" {
    awk -v h="$(attr "$dir/validity.h5" hyperbolic_slope)" -v g="$(attr "$dir/validity.h5" gaussian_fisher_slope)" \
        -v f="$(attr "$dir/validity.h5" flat_slope)" -v e="$(attr "$dir/validity.h5" flat_error)" \
        'BEGIN {exit !(h > 1.8 && h < 2.2 && g > 1.8 && g < 2.2 && f == "nan" && e < 1e-11)}' # rounding has no slope
}

@test "geodesic: points without a text are refused, and the refusal names --v0 random" {
    awk 'BEGIN {for (i = 1; i <= 60; i++) print sin(i) "," sin(2.3 * i) "," cos(3.7 * i) "," sin(5.1 * i * i)}' > "$dir/points.csv"
    "$bin/geodec-import" --quiet --coordinates -o "$dir/pc.h5" "$dir/points.csv"
    "$bin/geodec-metric" --quiet --dim 2 -o "$dir/pm.h5" "$dir/pc.h5"
    run --separate-stderr "$bin/geodec-geodesic" -o "$dir/no.h5" "$dir/pm.h5"
    [ "$status" -eq 5 ]
    [[ "$stderr" == *"no point of 60 has its successor in the text"*"--v0 random"* ]]
    [ ! -e "$dir/no.h5" ]
    "$bin/geodec-geodesic" --quiet --v0 random --paths 3 -o "$dir/pg.h5" "$dir/pm.h5"
}

@test "riemann: the curvature stands beside that of noise, or beside the closed form" {
    run --separate-stderr "$bin/geodec-riemann" --samples 20 --midpoints 10 --control 12 -o "$dir/noise.h5" "$dir/metric.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" =~ "points in 4 coordinates: median |scalar curvature| "[0-9.]+" at samples".*"(Gaussian noise of the same covariance, 400 points: "[0-9.]+", "[0-9.]+")" ]]
    awk -v s="$(attr "$dir/noise.h5" control_noise_samples)" -v m="$(attr "$dir/noise.h5" control_noise_midpoints)" 'BEGIN {exit !(s > 0 && m > 0)}'
    # a sphere of dimension 4 and curvature 2 has scalar curvature 24
    "$bin/geodec-metric" --quiet --kind sphere --curvature 2 --dim 4 --points 20 -o "$dir/sphere.h5"
    run --separate-stderr "$bin/geodec-riemann" -o "$dir/sphere-r.h5" "$dir/sphere.h5"
    [[ "$stderr" == *"median |scalar curvature| 24 at samples, 24 at midpoints, 0 on paths (closed form: 24)"* ]]
    [ "$(attr "$dir/sphere-r.h5" control_noise_points)" = 0 ]
    "$bin/geodec-metric" --quiet --kind gaussian-fisher --points 20 -o "$dir/gf.h5"
    run --separate-stderr "$bin/geodec-riemann" -o "$dir/gf-r.h5" "$dir/gf.h5"
    [[ "$stderr" == *"median |scalar curvature| 1 at samples, 1 at midpoints, 0 on paths (closed form: 1)"* ]]
}

@test "riemann: the curvature of noise is that of its control" {
    "$bin/geodec-null" --quiet -o "$dir/null.h5" "$dir/cloud.h5"
    "$bin/geodec-metric" --quiet --dim 4 -o "$dir/null-m.h5" "$dir/null.h5"
    "$bin/geodec-riemann" --quiet --samples 200 --midpoints 200 --control 200 -o "$dir/null-r.h5" "$dir/null-m.h5"
    awk -v a="$(attr "$dir/null-r.h5" median_abs_scalar_samples)" -v b="$(attr "$dir/null-r.h5" control_noise_samples)" 'BEGIN {exit !(a / b > 0.7 && a / b < 1.4)}'
}
