#!/usr/bin/env bats
# --plan of the stages: what a run needs, printed before it runs.
bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export d=$BATS_FILE_TMPDIR model=data/model/geodec-stories-f16.gguf
    "$bin/geodec-corpus" --quiet --bytes 12000 -o "$d/text.txt"
    "$bin/geodec-export" --quiet -m "$model" --text "$d/text.txt" --max-tokens 1500 -o "$d/activations.h5"
    "$bin/geodec-cloud" --quiet --max-points 600 -o "$d/cloud.h5" "$d/activations.h5"
    "$bin/geodec-metric" --quiet --dim 3 -o "$d/metric.h5" "$d/cloud.h5"
    "$bin/geodec-geodesic" --quiet --v0 random --paths 12 -o "$d/geodesics.h5" "$d/metric.h5"
    "$bin/geodec-propagate" --quiet -o "$d/propagators.h5" "$d/metric.h5" "$d/geodesics.h5"
}
value() { awk -F'\t' -v name="$1" '$1 == name {print $2}'; }
# The command of each stage, without -o.
commands() {
    cat <<LIST
export -m $model --text $d/text.txt --max-tokens 500
cloud $d/activations.h5
knn -k 4 $d/cloud.h5
metric --dim 3 $d/cloud.h5
christoffel $d/metric.h5
riemann --geodesics $d/geodesics.h5 $d/metric.h5
geodesic --paths 20 $d/metric.h5
propagate $d/metric.h5 $d/geodesics.h5
records $d/propagators.h5 $d/metric.h5
validity --no-check --starts 2 $d/metric.h5
coverage --points 300 --dim 3 $d/cloud.h5
second-form --dim 2 --samples 40 $d/cloud.h5
bake $d/activations.h5
LIST
}

@test "every stage prints its plan, creates no file and ends with 0" {
    mkdir "$BATS_TEST_TMPDIR/out"
    while read -r stage arguments; do
        # shellcheck disable=SC2086 # words
        "$bin/geodec-$stage" --threads 2 -o "$BATS_TEST_TMPDIR/out/x.h5" $arguments --plan > "$BATS_TEST_TMPDIR/plan"
        [ "$(head -n 1 "$BATS_TEST_TMPDIR/plan")" = "$(printf 'name\tvalue')" ]
        [ "$(sed -n 2,5p "$BATS_TEST_TMPDIR/plan" | cut -f1 | tr '\n' ' ')" = "memory_bytes seconds processor_seconds threads " ]
        # the parts sum up, and memory is at least that of a program and below a machine's
        awk -F'\t' -v stage="$stage" '
            NF != 2 || ($1 != "name" && $2 !~ /^[0-9.e+-]+$/) {print stage ": " $0; bad = 1}
            $1 == "memory_bytes" {m = $2} $1 == "seconds" {s = $2} $1 == "processor_seconds" {p = $2}
            /^memory\./ {sum_m += $2} /^seconds\./ {sum_s += $2}
            END {if (sum_m - m > 64 || m - sum_m > 64 || sum_s - s > 1e-3 * s || s - sum_s > 1e-3 * s || m < 5e6 || m > 1e9 || s <= 0 || p < s * .999) {
                print stage, m, sum_m, s, sum_s, p; bad = 1} exit bad}' "$BATS_TEST_TMPDIR/plan"
        [ -z "$(ls -A "$BATS_TEST_TMPDIR/out")" ]
        "$bin/geodec-$stage" --help | grep -q "^ *--plan"
    done < <(commands)
    "$bin/geodec-perplexity" -m "$model" --windows 4 --window 64 --plan "$d/text.txt" | grep -q "^memory_bytes"
    ! "$bin/geodec-info" --help | grep -q -e "^ *--plan" || false
}

@test "a plan refuses what the run refuses, and needs --force for an output that exists" {
    cp "$d/metric.h5" "$BATS_TEST_TMPDIR/there.h5"
    run --separate-stderr "$bin/geodec-christoffel" --plan -o "$BATS_TEST_TMPDIR/there.h5" "$d/metric.h5"
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ "$stderr" == *"exists"* ]]
    before=$(sha256sum < "$BATS_TEST_TMPDIR/there.h5")
    "$bin/geodec-christoffel" --plan --force -o "$BATS_TEST_TMPDIR/there.h5" "$d/metric.h5" | grep -q "^seconds"
    [ "$before" = "$(sha256sum < "$BATS_TEST_TMPDIR/there.h5")" ]
    for wrong in "christoffel $d/cloud.h5" "cloud $d/metric.h5" "knn $d/propagators.h5"; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr "$bin/geodec-"$wrong --plan -o "$BATS_TEST_TMPDIR/no.h5"
        [ "$status" -eq 3 ]
        [ -z "$output" ]
    done
    run "$bin/geodec-metric" --plan -o "$BATS_TEST_TMPDIR/no.h5" --dim 3 "$d/nothing.h5"
    [ "$status" -eq 1 ]
    run --separate-stderr "$bin/geodec-metric" --plan --kind euclidean -o "$BATS_TEST_TMPDIR/no.h5" --dim 3 "$d/cloud.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"--plan"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/no.h5" ]
}

@test "sizes of a plan are those of the run; a slice has a part of them" {
    "$bin/geodec-christoffel" --plan -o "$BATS_TEST_TMPDIR/x.h5" "$d/metric.h5" > "$BATS_TEST_TMPDIR/all"
    "$bin/geodec-christoffel" --plan --shard 1/4 -o "$BATS_TEST_TMPDIR/x.h5" "$d/metric.h5" > "$BATS_TEST_TMPDIR/part"
    points=$(value points < "$BATS_TEST_TMPDIR/all")
    [ "$(value points < "$BATS_TEST_TMPDIR/part")" -eq $((points / 4)) ]
    [ "$(value output_bytes < "$BATS_TEST_TMPDIR/part")" -lt "$(value output_bytes < "$BATS_TEST_TMPDIR/all")" ]
    # numbers of the artifact: the file has them, and headers
    "$bin/geodec-christoffel" --quiet -o "$BATS_TEST_TMPDIR/x.h5" "$d/metric.h5"
    numbers=$("$bin/geodec-info" "$BATS_TEST_TMPDIR/x.h5" | awk '/ bytes, unit/ {for (i = 1; i < NF; i++) if ($(i + 1) == "bytes,") sum += $i} END {print sum}')
    [ "$(value output_bytes < "$BATS_TEST_TMPDIR/all")" -eq "$numbers" ]
    "$bin/geodec-knn" --plan -k 4 -o "$BATS_TEST_TMPDIR/n.h5" "$d/cloud.h5" > "$BATS_TEST_TMPDIR/knn"
    [ "$(value points < "$BATS_TEST_TMPDIR/knn")" -eq 600 ]
    [ "$(value output_bytes < "$BATS_TEST_TMPDIR/knn")" -eq $((600 * 4 * 12)) ]
}

@test "--plan does not change the command line that results record" {
    "$bin/geodec-knn" --quiet -k 4 -o "$BATS_TEST_TMPDIR/n.h5" "$d/cloud.h5"
    "$bin/geodec-table" --attrs "$BATS_TEST_TMPDIR/n.h5" | ( ! grep -q -e --plan )
}

@test "with --ram the plan of a model's tool is that of its experts" {
    run --separate-stderr "$bin/geodec-export" -m data/model/geodec-mixture-f16.gguf --text "$d/text.txt" -o "$BATS_TEST_TMPDIR/a.h5" --ram 1G --plan
    [ "$status" -eq 0 ]
    [[ "$output" == *"smallest budget"* && "$output" != *"memory_bytes"* ]]
}
