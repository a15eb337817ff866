#!/usr/bin/env bats
# geodec-injectivity: known spaces, thread independence, the published figures at the golden points.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --points 120 -o "$dir/metric.h5" "$dir/cloud.h5"
}

value() {
    "$bin/geodec-table" --attrs "$1" | awk -F'\t' -v n="$2" '$1 == n {print $2}'
}

@test "the same bytes with any number of threads; controls hold" {
    "$bin/geodec-injectivity" --quiet -t 1 -a 4 --directions 2 -o "$dir/one.h5" "$dir/metric.h5"
    "$bin/geodec-injectivity" --quiet -t 3 -a 4 --directions 2 -o "$dir/three.h5" "$dir/metric.h5"
    cmp "$dir/one.h5" "$dir/three.h5"
    awk -v s="$(value "$dir/one.h5" control_sphere)" -v t="$(value "$dir/one.h5" control_torus)" 'BEGIN {exit !(s < 1e-3 && t < 1e-6)}'
    [ "$(value "$dir/one.h5" control_hyperbolic)" -eq 0 ]
}

@test "a flat torus is one to one up to half its side, hyperbolic space everywhere" {
    "$bin/geodec-metric" --quiet --kind flat --dim 3 --points 30 -o "$dir/flat.h5"
    "$bin/geodec-injectivity" --quiet -a 3 --reach 2 -o "$dir/flat-i.h5" "$dir/flat.h5"
    awk -v m="$(value "$dir/flat-i.h5" median_radius)" 'BEGIN {exit !(m > 0.4999 && m < 0.5001)}'
    "$bin/geodec-metric" --quiet --kind hyperbolic --dim 3 --points 30 -o "$dir/hyp.h5"
    "$bin/geodec-injectivity" --quiet -a 3 --reach 2 -o "$dir/hyp-i.h5" "$dir/hyp.h5"
    [ "$(value "$dir/hyp-i.h5" found)" -eq 0 ]
    [ "$(value "$dir/hyp-i.h5" median_bound)" = inf ]
}

@test "the published stage runs on every golden cloud and reproduces the published figures" {
    found=
    for file in "$(golden_folder)"/*_n[0-9].h5; do
        h5ls "$file/cloud" > /dev/null 2>&1 || continue
        found=yes
        "$bin/geodec-published" --quiet --force injectivity --draws "$file" -o "$dir/ref.h5"
        awk -v c="$(value "$dir/ref.h5" local_cosine_mean)" 'BEGIN {exit !(c > 1 - 1e-9)}'
    done
    [ "$found" ]
    file=$(golden_folder)/smollm2-135m_n8.h5
    # anchors and radii as printed in the published result file
    "$bin/geodec-published" --quiet --force injectivity --draws "$file" --points 13,52,53,9,50,45,25,3,44,41 \
        --measured 1.6,1.6,1.6,0.05,0,0,3.2,3.2,6.4,1.6 -o "$dir/ref.h5"
    [ "$(printf '%.4f' "$(value "$dir/ref.h5" C)")" = 0.0170 ]
    [ "$(printf '%.2f' "$(value "$dir/ref.h5" r_fit)")" = 0.84 ]
    [ "$(printf '%.2f' "$(value "$dir/ref.h5" r_all)")" = 0.92 ]
    [ "$(printf '%.0f' "$(value "$dir/ref.h5" mape)")" = 328 ]
}

@test "refusals" {
    run --separate-stderr "$bin/geodec-published" injectivity
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-injectivity" -o "$dir/no.h5" "$dir/cloud.h5"
    [ "$status" -eq 3 ]
    [ ! -e "$dir/no.h5" ]
    file=$(golden_folder)/smollm2-135m_n8.h5
    for bad in 1,2,x 1,2,64 1,-2 1,1.5; do
        run --separate-stderr "$bin/geodec-published" injectivity --draws "$file" --points "$bad" -o "$dir/no.h5"
        [ "$status" -eq 2 ]
        [ ! -e "$dir/no.h5" ]
    done
}
