#!/usr/bin/env bats
# geodec-warp and geodec-hjb: the corrected experiments with their controls, the published figures, refusals.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    golden=$(golden_folder)
    export golden
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --dim 4 --points 200 -o "$dir/metric.h5" "$dir/cloud.h5"
    "$bin/geodec-warp" --quiet -t 1 --facts 3 --holdouts 2 --bootstrap 50 -o "$dir/warp.h5" "$dir/metric.h5"
    "$bin/geodec-hjb" --quiet -t 1 --paths 4 --bootstrap 50 -o "$dir/hjb.h5" "$dir/metric.h5" "$dir/a.h5"
}

attr() {
    "$bin/geodec-table" --attrs "$1" | awk -F'\t' -v name="$2" '$1 == name {print $2}'
}

@test "strength 0 changes nothing; the same bytes with three threads" {
    [ "$(attr "$dir/warp.h5" zero_failures)" = 0 ]
    [ "$(attr "$dir/warp.h5" zero_reduction)" = 0 ]
    [ "$(attr "$dir/warp.h5" zero_spill)" = 0 ]
    mkdir -p "$dir/three"
    "$bin/geodec-warp" --quiet -t 3 --facts 3 --holdouts 2 --bootstrap 50 -o "$dir/three/warp.h5" "$dir/metric.h5"
    "$bin/geodec-hjb" --quiet -t 3 --paths 4 --bootstrap 50 -o "$dir/three/hjb.h5" "$dir/metric.h5" "$dir/a.h5"
    cmp "$dir/warp.h5" "$dir/three/warp.h5"
    cmp "$dir/hjb.h5" "$dir/three/hjb.h5"
}

@test "a warp that lengthens redirects more than one that shortens; every value has its controls" {
    run --separate-stderr "$bin/geodec-warp" --facts 4 --holdouts 2 --bootstrap 50 -o "$dir/again.h5" "$dir/metric.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"field"*"best reduction"*"sphere"*"flat"*"zero strength: nothing changed"* ]]
    # in flat space the distance to every target is 2 l sin(angle / 2)
    "$bin/geodec-table" "$dir/again.h5" flat/before | awk 'NR > 1 && ($1 - 0.828221)^2 > 1e-10 {exit 1}'
    "$bin/geodec-table" "$dir/again.h5" flat/reduction | awk 'NR == 4 {a = $3} NR == 5 {b = $3} END {exit !(a < 0 && b > 0.2)}'
}

@test "the residual of geodesics vanishes with order 4; second differences of lines are 0" {
    order=$(attr "$dir/hjb.h5" order)
    awk -v o="$order" 'BEGIN {exit !(o > 3.7 && o < 4.3)}'
    "$bin/geodec-table" "$dir/hjb.h5" explained kinetic_turn paths |
        awk 'NR == 2 && !($1 > 0.999) || NR == 4 && !($2 < 1e-12) || NR > 1 && NR < 7 && $3 != 4 {bad = 1} END {exit bad}'
}

@test "along the text and from layer to layer, with the layers of the activations; with one layer there are no paths through layers" {
    "$bin/geodec-corpus" -q --stories 8 --seed 5 -o "$dir/text.txt"
    for kept in all last; do
        "$bin/geodec-export" -q -m data/model/geodec-stories-f16.gguf --text "$dir/text.txt" --layers $kept -o "$dir/$kept.h5"
        "$bin/geodec-cloud" -q --layer last --max-points 200 -o "$dir/$kept-cloud.h5" "$dir/$kept.h5"
        "$bin/geodec-metric" -q --dim 3 -o "$dir/$kept-metric.h5" "$dir/$kept-cloud.h5"
        "$bin/geodec-hjb" -q --paths 4 --nodes 17 --bootstrap 50 -o "$dir/$kept-hjb.h5" "$dir/$kept-metric.h5" "$dir/$kept.h5"
        "$bin/geodec-table" "$dir/$kept-hjb.h5" paths nodes turn explained > "$dir/$kept.tsv"
    done
    # rows: header, geodesic, walk, straight, text, shuffled, layers
    [ "$(cut -f 1 "$dir/all.tsv" | tr '\n' ' ')" = "paths 4 4 4 4 4 4 " ]
    [ "$(cut -f 1 "$dir/last.tsv" | tr '\n' ' ')" = "paths 4 4 4 4 4 0 " ]
    [ "$(sed -n '7p' "$dir/all.tsv" | cut -f 2)" = 7 ]
    # paths that are not through layers do not depend on them
    cmp <(head -n 6 "$dir/all.tsv") <(head -n 6 "$dir/last.tsv")
}

@test "other kinds of metric are accepted too" {
    "$bin/geodec-metric" --quiet --kind sphere --dim 3 --points 40 -o "$dir/sphere.h5"
    "$bin/geodec-hjb" --quiet --paths 4 -o "$dir/sphere-hjb.h5" "$dir/sphere.h5"
    "$bin/geodec-warp" --quiet --facts 2 --holdouts 1 --bootstrap 0 -o "$dir/sphere-warp.h5" "$dir/sphere.h5"
    [ "$(attr "$dir/sphere-warp.h5" zero_failures)" = 0 ]
}

@test "the published sweeps of every golden file, their zero-strength control, and one configuration" {
    found=0
    for g in "$golden"/*_n[0-9]*.h5; do
        case $g in */sphere_n*) continue ;; esac
        found=1
        "$bin/geodec-published" --quiet --force warp --draws "$g" -o "$dir/ref.h5"
        [ "$(attr "$dir/ref.h5" cross_passes)" = 0 ]
        [ "$(attr "$dir/ref.h5" grid1_passes)" = 0 ]
        [ "$(attr "$dir/ref.h5" grid2_passes)" = 0 ]
        # all of the spillover of v2 exists without a warp
        "$bin/geodec-table" "$dir/ref.h5" spill_mean alpha | awk 'NR == 3 {a = $1} NR == 5 {exit !($2 == 0 && (a / $1 - 1)^2 < 1e-4)}'
        "$bin/geodec-published" --quiet --force warp --draws "$g" --variant v2 --alpha 0.35 --extent 1.2 -o "$dir/one.h5"
        [ "$("$bin/geodec-table" "$dir/one.h5" improvement | sed -n 2p)" = "$("$bin/geodec-table" "$dir/ref.h5" improvement | sed -n 3p)" ]
        "$bin/geodec-published" --quiet --force hjb --draws "$g" -o "$dir/refh.h5"
        "$bin/geodec-table" "$dir/refh.h5" curvature | awk 'NR > 1 && !($1 < 1e-20) {exit 1}'
    done
    [ "$found" = 1 ]
}

@test "refusals" {
    for t in warp hjb; do
        run --separate-stderr "$bin/geodec-$t" -o "$dir/no.h5"
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"an argument is missing"*"METRIC.h5"* ]]
        run --separate-stderr "$bin/geodec-published" "$t" -o "$dir/no.h5"
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"$t needs --draws"* ]]
        run --separate-stderr "$bin/geodec-published" "$t" --draws "$dir/cloud.h5" -o "$dir/no.h5"
        [ "$status" -ne 0 ]
        [[ "$stderr" == *"cloud.h5"* ]]
        run --separate-stderr "$bin/geodec-$t" -o "$dir/no.h5" "$dir/cloud.h5"
        [ "$status" -eq 3 ]
        [[ "$stderr" == *"geodec-metric"* ]]
        [ ! -e "$dir/no.h5" ]
    done
    run --separate-stderr "$bin/geodec-hjb" -o "$dir/no.h5" "$dir/metric.h5" "$dir/metric.h5"
    [ "$status" -eq 3 ]
}
