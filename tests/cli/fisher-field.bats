#!/usr/bin/env bats
# geodec-fisher-field: figures inside their closed bounds, controls, the same bytes with any number of threads, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$bin/geodec-export" -q -m tests/golden/models/tiny-llama-biases.gguf --text tests/golden/artifacts/text.txt --layers all --max-tokens 300 --window 48 \
        --positions 0:32 -o "$BATS_FILE_TMPDIR/layers.h5"
}

setup() {
    model=tests/golden/models/tiny-llama-biases.gguf
    states=$BATS_FILE_TMPDIR/layers.h5
    small=(-m "$model" -n 3 --starts 3 --steps 8 --bootstrap 50)
}

@test "curvature has its two ways and its error; lengths are between their bounds; the same bytes with any number of threads" {
    t=$BATS_TEST_TMPDIR
    run --separate-stderr "$bin/geodec-fisher-field" "${small[@]}" -l 1,last -t 1 -o "$t/a.h5" "$states"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$stderr" == *"control: simplex distributions have curvature 0.25, exactly 0.25"* ]]
    [[ "$stderr" == *"control: normal distributions have curvature -0.5"*", exactly -0.5"* ]]
    [[ "$("$bin/geodec-table" --attrs "$t/a.h5")" == *"principal:1,output:1,random:1,principal:2,output:2,random:2"* ]]
    # second derivatives are differences of exact first ones: error and asymmetry near rounding; the differentiated connection agrees to second order
    "$bin/geodec-table" "$t/a.h5" 'SELECT singular, error, asymmetry, checked, differences, found, at(chord, 0) AS chord, at(bound, 0) AS bound, planted,
        at(planted_miss, 0, 0) AS line, at(planted_miss, 1, 0) AS geodesic FROM t' > "$t/cases"
    cat "$t/cases"
    awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        !($c["singular"] == 0 && $c["error"] < 1e-7 && $c["asymmetry"] < 1e-7 && $c["checked"] == 1 && $c["differences"] < 1e-3) { bad = 1 }
        $c["found"] > 0 && !($c["chord"] >= 0.99999 && $c["bound"] <= 1.00001 && $c["bound"] > 0) { bad = 1 }
        $c["planted"] > 0 { planted++ }
        $c["planted"] > 0 && !($c["geodesic"] < 0.01 && $c["geodesic"] < $c["line"]) { bad = 1 }
        END { exit bad || NR != 7 || planted == 0 }' "$t/cases"
    # no movement misses the whole step
    "$bin/geodec-table" --no-header "$t/a.h5" 'SELECT at(miss, 0, 0, 0) FROM t' | awk '$1 != 1 { bad = 1 } END { exit bad || NR != 6 }'
    run --separate-stderr "$bin/geodec-fisher-field" -q "${small[@]}" -l 1,last -t 3 -o "$t/b.h5" "$states"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    cmp "$t/a.h5" "$t/b.h5"
    run "$bin/geodec-check" "$t/a.h5"
    [ "$status" -eq 0 ]
}

@test "without a model, a layer that is not there, too many dimensions, the states of another model" {
    t=$BATS_TEST_TMPDIR
    run --separate-stderr "$bin/geodec-fisher-field" -o "$t/c.h5" "$states"
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-fisher-field" -q "${small[@]}" -l 9 -o "$t/c.h5" "$states"
    [ "$status" -eq 2 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run --separate-stderr "$bin/geodec-fisher-field" "${small[@]}" -n 17 -o "$t/c.h5" "$states"
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-fisher-field" -q -m tests/golden/models/tiny-qwen2.gguf -o "$t/c.h5" "$states"
    [ "$status" -eq 3 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ ! -e "$t/c.h5" ]
}
