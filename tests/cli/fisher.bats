#!/usr/bin/env bats
# geodec-fisher: one row for each window and layer, checked by finite differences; refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
}

setup() {
    model=$BATS_FILE_TMPDIR/good.gguf
    text=$BATS_TEST_TMPDIR/text.txt
    for i in 1 2 3 4 5 6 7 8; do printf 'a ba abba %d cab\n' "$i"; done > "$text"
}

@test "a row for each window and layer; the check passes; the same with any number of threads" {
    run --separate-stderr "$bin/geodec-fisher" -m "$model" -w 9 -n 3 --layers 0,last -t 1 "$text"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "${#lines[@]}" -eq 7 ]
    awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        !($c["check"] < 1e-4 && $c["rank"] >= 1 && $c["control_rank"] >= 1 && $c["entropy"] > 0 && $c["largest"] <= 1) { bad = 1 }
        END { exit bad }' <<< "$output"
    one=$output
    run --separate-stderr "$bin/geodec-fisher" -m "$model" -w 9 -n 3 --layers last,0 -t 3 "$text"
    [ "$output" = "$one" ]
}

@test "bad layers and texts are refused on one line" {
    run --separate-stderr "$bin/geodec-fisher" -m "$model" --layers 99 "$text"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"--layers: '99'"* ]]
    run --separate-stderr "$bin/geodec-fisher" -m "$model" -w 5000 --allow-long "$text"
    [ "$status" -eq 5 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"tokens; a window needs at least 49"* ]]
    run --separate-stderr "$bin/geodec-fisher" -m "$model" -n 1 "$BATS_TEST_TMPDIR/missing.txt"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *missing.txt* ]]
}
