#!/usr/bin/env bats
# geodec-published records, geodec-resonance and geodec-lookup: summaries, determinism except for times, refusals.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup_file() {
    export dir=$BATS_FILE_TMPDIR
    golden=$(golden_folder)/smollm2-135m_n8.h5
    export golden
    "$B/tests/bad/make_states" "$dir/a.h5"
    "$bin/geodec-cloud" --quiet -o "$dir/cloud.h5" "$dir/a.h5"
    "$bin/geodec-metric" --quiet --dim 3 --points 300 -o "$dir/metric.h5" "$dir/cloud.h5"
    "$bin/geodec-geodesic" --quiet --paths 4 --steps 8 -o "$dir/geodesics.h5" "$dir/metric.h5"
}

@test "published records: the printed error is 0, the true error is not; the same bytes with any number of threads" {
    run --separate-stderr "$bin/geodec-published" records --threads 1 --draws "$golden" -o "$dir/ref.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"6036 bytes (4948 with Phi itself); error of rank 5: 0 as published"*"0.612 in truth"* ]]
    "$bin/geodec-published" --quiet --force records --threads 3 --draws "$golden" -o "$dir/ref3.h5"
    "$bin/geodec-diff" "$dir/ref.h5" "$dir/ref3.h5"
    run --separate-stderr "$bin/geodec-published" records -o "$dir/no.h5"
    [ "$status" -ne 0 ]
    run --separate-stderr "$bin/geodec-published" records --draws "$dir/metric.h5" -o "$dir/no.h5"
    [ "$status" -ne 0 ]
    [ ! -e "$dir/no.h5" ]
}

@test "resonance: time with its lower bound, and error compared with true paths" {
    run --separate-stderr "$bin/geodec-resonance" --directions 4 -o "$dir/speed-resonance.h5" "$dir/metric.h5" "$dir/geodesics.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"GFLOP/s; floor of 3 x 3"*"10000 queries"*"against true paths"* ]]
    "$bin/geodec-check" "$dir/speed-resonance.h5"
    "$bin/geodec-resonance" --quiet --directions 4 -o "$dir/speed-again.h5" "$dir/metric.h5" "$dir/geodesics.h5"
    for field in error control move; do # all but times is deterministic
        "$bin/geodec-table" "$dir/speed-resonance.h5" $field > "$dir/one"
        "$bin/geodec-table" "$dir/speed-again.h5" $field > "$dir/two"
        cmp "$dir/one" "$dir/two"
    done
    # A derivative: the error is proportional to the perturbation.
    run "$bin/geodec-table" --attrs "$dir/speed-resonance.h5"
    [[ "$output" =~ slope_phi[[:space:]]+(0\.9|1\.0) ]]
    run --separate-stderr "$bin/geodec-resonance" --path 99 -o "$dir/no.h5" "$dir/metric.h5" "$dir/geodesics.h5"
    [ "$status" -ne 0 ]
    run --separate-stderr "$bin/geodec-resonance" -o "$dir/no.h5" "$dir/metric.h5"
    [ "$status" -ne 0 ]
    [ ! -e "$dir/no.h5" ]
}

@test "lookup: exact at every size; the screen is not" {
    "$bin/geodec-lookup" --quiet --records 1000 --condition 100 -o "$dir/speed-lookup.h5"
    run "$bin/geodec-table" "$dir/speed-lookup.h5" recall
    [ "$(tail -n +2 <<< "$output" | sort -u)" = 1 ]
    run "$bin/geodec-table" "$dir/speed-lookup.h5" recall_screen
    [ "$(tail -n +2 <<< "$output" | sort -u | wc -l)" -gt 1 ]
}

@test "lookup: records that were made are queried; the nearest one is that of an exhaustive search" {
    "$bin/geodec-propagate" --quiet -o "$dir/propagators.h5" "$dir/metric.h5" "$dir/geodesics.h5"
    "$bin/geodec-records" --quiet --directions 2 --queries 20 -o "$dir/records.h5" "$dir/propagators.h5" "$dir/metric.h5"
    run --separate-stderr "$bin/geodec-lookup" --queries 7 "$dir/records.h5" "$dir/metric.h5"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = $'point\trow\trecord\trecord_row\tdistance\trho\tinside' ]
    [ "${#lines[@]}" -eq 8 ]
    [[ "$stderr" == *"7 of 296 points looked up in 4 records, in 3 coordinates: "*" inside rho"* ]]
    printf '%s\n' "$output" > "$dir/hits"
    "$bin/geodec-table" "$dir/records.h5" q g rho > "$dir/store"
    "$bin/geodec-table" "$dir/metric.h5" points activation_row > "$dir/points"
    awk 'BEGIN {n = 0}
        FNR == 1 {file++; next}
        file == 1 {for (j = 0; j < 3; j++) q[n, j] = $(j + 1); for (j = 0; j < 6; j++) g[n, j] = $(j + 4); rho[n++] = $10; next}
        file == 2 {for (j = 0; j < 3; j++) x[FNR - 2, j] = $(j + 1); row[FNR - 2] = $4; next}
        {
            best = -1
            for (i = 0; i < n; i++) {
                for (j = 0; j < 3; j++) e[j] = x[$1, j] - q[i, j]
                d = g[i, 0] * e[0] ^ 2 + g[i, 3] * e[1] ^ 2 + g[i, 5] * e[2] ^ 2 + 2 * (g[i, 1] * e[0] * e[1] + g[i, 2] * e[0] * e[2] + g[i, 4] * e[1] * e[2])
                if (best < 0 || d < least) {best = i; least = d}
            }
            r = sqrt(least) / $5
            if (best != $3 || r < 0.9999 || r > 1.0001 || row[$1] != $2 || (sqrt(least) <= rho[best]) != $7) {print "wrong:", $0, best, least; bad = 1}
            lines++
        }
        END {exit bad || lines != 7}' "$dir/store" "$dir/points" "$dir/hits"
    run --separate-stderr "$bin/geodec-lookup" "$dir/records.h5"
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-lookup" -o "$dir/no.h5" "$dir/records.h5" "$dir/metric.h5"
    [ "$status" -eq 2 ]
    [ ! -e "$dir/no.h5" ]
}
