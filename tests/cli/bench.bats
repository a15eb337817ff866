#!/usr/bin/env bats
# geodec-shape: random models with honest names. geodec-bench: complete tables.

bats_require_minimum_version 1.5.0
load ../root

@test "geodec-shape: the file's name and metadata say random, and the same seed repeats" {
    cd "$tmp"
    "$bin/geodec-shape" --quiet --layers 1 --type q8_0 smollm2-135m
    [ -f smollm2-135m-random-q8_0.gguf ]
    "$bin/geodec-shape" --quiet --layers 1 --type q8_0 --threads 1 -o again-random.gguf smollm2-135m
    cmp smollm2-135m-random-q8_0.gguf again-random.gguf
    grep -aq 'random weights (q8_0, seed 1)' again-random.gguf
    grep -aq 'speed only' again-random.gguf
    run "$bin/geodec-model-info" again-random.gguf
    [ "$status" -eq 0 ]
    [[ "$output" == *576* && "$output" == *49152* ]]
}

@test "geodec-shape: a misleading name, an unknown shape and an existing file are refused" {
    cd "$tmp"
    run --separate-stderr "$bin/geodec-shape" --layers 1 -o model.gguf smollm2-135m
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"must contain 'random'"* ]]
    [ ! -e model.gguf ]
    run --separate-stderr "$bin/geodec-shape" nonsense
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"no shape 'nonsense'"* ]]
    echo old > x-random.gguf
    run --separate-stderr "$bin/geodec-shape" --layers 1 -o x-random.gguf smollm2-135m
    [ "$status" -ne 0 ]
    [ "$(cat x-random.gguf)" = old ]
}

@test "geodec-bench: a table and the same as JSON" {
    cd "$tmp"
    "$bin/geodec-shape" --quiet --layers 1 --type q8_0 smollm2-135m
    model=smollm2-135m-random-q8_0.gguf
    run --separate-stderr "$bin/geodec-bench" --quiet -r 1 --prompt 8 --generate 4 --widths 1,4 "$model"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = $'measure\tn\tunit\tmedian\tmin\tmax\tcontrol_name\tcontrol' ]
    for row in read_limit$'\t'0 pp$'\t'8 tg$'\t'4 bandwidth$'\t'0 settle$'\t'12 v$'\t'1 v$'\t'4 first_token$'\t'8 start_memory$'\t'0 peak_memory$'\t'0; do
        printf '%s\n' "${lines[@]}" | grep -q "^$row"$'\t' || { echo "no row $row"; false; }
    done
    [ "${#lines[@]}" -eq 11 ]
    run --separate-stderr "$bin/geodec-bench" --quiet -r 1 --prompt 8 --generate 0 --widths none --first 0 \
        --no-read-limit --isa scalar --format json "$model"
    [ "$status" -eq 0 ]
    [[ "$output" == *'"isa": "scalar"'* && "$output" == *'"measure": "pp"'* && "$output" != *'"measure": "tg"'* ]]
}

@test "geodec-bench: bad lists and missing files" {
    for list in 0 65 1,,2 x 1x ''; do
        run --separate-stderr "$bin/geodec-bench" --widths "$list" "$tmp/absent.gguf"
        [ "$status" -ne 0 ] && [[ "$stderr" == *"not a list"* ]] || { echo "$list: $stderr"; false; }
    done
    run --separate-stderr "$bin/geodec-bench" "$tmp/absent.gguf"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"absent.gguf"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
}
