#!/usr/bin/env bats
# geodec-verify-geometry: metric artifacts of every kind, golden fields, refusals, reports.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --points 200 -o "$dir/metric.h5" "$dir/cloud.h5"
}

@test "a fitted metric passes; the same bytes with any number of threads" {
    run --separate-stderr "$bin/geodec-verify-geometry" -t 1 -o "$dir/one.h5" "$dir/metric.h5"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [[ "$output" == *"metric compatibility"* && "$output" == *"second Bianchi"* && "$output" != *FAIL* ]]
    [[ "$output" == *"12 of 12 exact spaces pass"*"8 of 8 faults are named"* ]]
    "$bin/geodec-verify-geometry" --quiet -t 3 -o "$dir/three.h5" "$dir/metric.h5"
    cmp "$dir/one.h5" "$dir/three.h5"
}

@test "test spaces pass with their closed form" {
    for kind in sphere hyperbolic flat; do
        "$bin/geodec-metric" --quiet --force --kind "$kind" --dim 3 --points 40 -o "$dir/space.h5"
        run "$bin/geodec-verify-geometry" "$dir/space.h5"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ "$output" == *"ok    closed form"* ]]
    done
    for kind in polar gaussian-fisher; do
        "$bin/geodec-metric" --quiet --force --kind "$kind" --dim 2 --points 40 -o "$dir/space.h5"
        run "$bin/geodec-verify-geometry" "$dir/space.h5"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ "$output" == *"ok    closed form"* ]]
    done
    run --separate-stderr "$bin/geodec-verify-geometry" --curvature 1 "$dir/space.h5"
    [ "$status" -eq 4 ]
    [[ "$output" == *"FAIL  closed form"* ]]
}

@test "the tensor of the published manifold is not a curvature tensor" {
    "$bin/geodec-published" --quiet metric --sample 60 -o "$dir/ref.h5" "$dir/cloud.h5"
    run --separate-stderr "$bin/geodec-verify-geometry" "$dir/ref.h5"
    echo "$output"
    [ "$status" -eq 4 ]
    [[ "$output" == *"FAIL  metric compatibility"* && "$output" == *"FAIL  first pair"* ]]
}

@test "golden fields: every group passes; JSON and TSV have the same values" {
    file=$(golden_folder)/analytic.h5
    command -v h5ls > /dev/null || skip "no h5ls"
    [ "$(h5ls "$file" | wc -l)" -gt 5 ]
    for group in $(h5ls "$file" | awk '{print $1}'); do
        h5ls "$file/$group" | grep -q '^g ' || continue
        run --separate-stderr "$bin/geodec-verify-geometry" --group "$group" --json "$dir/r.json" --tsv - "$file"
        echo "$group: $output $stderr"
        [ "$status" -eq 0 ]
        [ "$(awk -F'\t' 'NR > 1 && $5 == 1' <<< "$output" | wc -l)" -eq "$(grep -c '"identity"' "$dir/r.json")" ]
    done
}

@test "refusals" {
    run --separate-stderr "$bin/geodec-verify-geometry" "$dir/cloud.h5"
    [ "$status" -eq 3 ]
    run --separate-stderr "$bin/geodec-verify-geometry" "$dir/missing.h5"
    [ "$status" -ne 0 ]
    [ -z "$output" ]
    echo nonsense > "$dir/text"
    run --separate-stderr "$bin/geodec-verify-geometry" "$dir/text"
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    run --separate-stderr "$bin/geodec-verify-geometry" --curvature one "$dir/metric.h5"
    [ "$status" -eq 2 ]
}
