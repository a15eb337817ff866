#!/usr/bin/env bats
# geodec-foresight: figures, the same bytes for any number of threads, refusals; old and new flow maps.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export shared=${GEODEC_SHARED:-../shared}
    export model=$shared/models/stories-moe8x2-f16.gguf work=$BATS_FILE_TMPDIR
    [ -r "$model" ] || return 0 # setup says it
    "$bin/geodec-sample" -q --model "$model" --texts 40 --length 64 -o "$work/store.tokens"
    "$bin/geodec-sample" -q --model "$model" --first 100 --texts 8 --length 64 -o "$work/fit.tokens"
    "$bin/geodec-sample" -q --model "$model" --first 200 --texts 8 --length 64 -o "$work/text.tokens"
    "$bin/geodec-export" -q --model "$model" --tokens "$work/store.tokens" --layers last -o "$work/store.h5"
    "$bin/geodec-bake" -q -o "$work/map.h5" "$work/store.h5"
}

setup() {
    [ -r "$model" ] || skip "no model with experts: set GEODEC_SHARED"
}

refused() {
    local want=$1 word=$2
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$want" ] || { echo "status $status, not $want: $stderr"; false; }
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; false; }
    [[ "$stderr" == *"$word"* ]] || { echo "$stderr"; false; }
    [ -z "$(find "$tmp" -type f -name '*.h5')" ] || { ls -la "$tmp"; false; }
}

foresight() {
    "$bin/geodec-foresight" --model "$model" --store "$work/store.tokens" "$@"
}

@test "the map and the token know more than popularity; the same bytes with 1 and 3 threads" {
    foresight --flowmap "$work/map.h5" --fit "$work/fit.tokens" --tokens "$work/text.tokens" --threads 1 -o "$tmp/one.h5" 2> "$tmp/said"
    foresight -q --flowmap "$work/map.h5" --fit "$work/fit.tokens" --tokens "$work/text.tokens" --threads 3 -o "$tmp/three.h5"
    cmp "$tmp/one.h5" "$tmp/three.h5"
    "$bin/geodec-check" "$tmp/one.h5"
    first() { awk -v p="$1" '$2 == p {for (i = 1; i <= NF; i++) if ($i == "first") print $(i + 1)}' "$tmp/said"; }
    awk -v a="$(first popular)" -v b="$(first token)" -v c="$(first flowmap)" 'BEGIN {exit !(b > a + .1 && c > a + .1)}'
    grep -q "16 consecutive tokens use" "$tmp/said"
    grep -q "calibration error with router1" "$tmp/said"
}

@test "without a flow map its predictors are left out" {
    foresight --tokens "$work/text.tokens" -o "$tmp/plain.h5" 2> "$tmp/said"
    ! grep -q "flowmap" "$tmp/said" || false
    grep -q "router1 " "$tmp/said"
    run "$bin/geodec-info" "$tmp/plain.h5"
    [[ "$output" != *"/mix/weight"* ]]
}

@test "the flow map says what its routes take and lose" {
    run --separate-stderr "$bin/geodec-bake" -o "$tmp/map.h5" "$work/store.h5"
    [[ "$stderr" == *"bytes per node; they do not hold 0.00 %"* ]]
    run "$bin/geodec-info" "$tmp/map.h5"
    [[ "$output" == *"route_lost           = 0"* ]]
}

@test "other inputs are refused" {
    refused 2 "give either --text or --tokens" foresight -o "$tmp/x.h5"
    refused 2 "--fit needs --flowmap" foresight --fit "$work/fit.tokens" --tokens "$work/text.tokens" -o "$tmp/x.h5"
    refused 2 "window" foresight --tokens "$work/text.tokens" --window 4000 -o "$tmp/x.h5"
    dense=data/model/geodec-stories-f16.gguf
    [ -r "$dense" ] || return 0
    refused 3 "dense model" "$bin/geodec-foresight" --model $dense --store "$work/store.tokens" --tokens "$work/text.tokens" -o "$tmp/x.h5"
    "$bin/geodec-sample" -q --model $dense --texts 8 --length 32 -o "$tmp/dense.tokens"
    mkdir "$work/dense"
    "$bin/geodec-export" -q --model $dense --tokens "$tmp/dense.tokens" --layers last -o "$work/dense/store.h5"
    "$bin/geodec-bake" -q -o "$work/dense/map.h5" "$work/dense/store.h5"
    refused 3 "another model" foresight --flowmap "$work/dense/map.h5" --tokens "$work/text.tokens" -o "$tmp/x.h5"
}
