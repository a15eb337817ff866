#!/usr/bin/env bats
# geodec-health: every check passes on a good file, and a file that fails one of them ends with status 4. Other forms of
# ternary products are compared within a tolerance.

bats_require_minimum_version 1.5.0
load ../root

# verdict NAME: of the row
verdict() { awk -F '\t' -v n="$1" '$1 == n { print $2 }' <<< "$output"; }

@test "a store: header, golden logits, disk; a damaged one fails, and what was not reached is not measured" {
    "$bin/geodec-experts" build --quiet data/model/geodec-mixture-f16.gguf -o "$tmp/s.experts"
    run --separate-stderr "$bin/geodec-health" --budget 900 "$tmp/s.experts"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    for k in header forward golden memory; do [ "$(verdict $k)" = ok ] || { echo "$output"; false; }; done
    [[ "$(verdict disk)" == ok && "$output" == *" GB/s, p99 "* ]]
    size=$(stat -c %s "$tmp/s.experts")
    found=0
    # a byte of an expert that the golden prompt does not use is not read: geodec-experts check reads all
    for at in 20 $((size / 8)) $((size / 4)) $((size / 2)) $((size * 3 / 4)); do
        cp "$tmp/s.experts" "$tmp/bad"
        byte=$(od -An -tu1 -j "$at" -N 1 "$tmp/bad")
        printf '%b' "\\x$(printf %x $((byte ^ 64)))" | dd of="$tmp/bad" bs=1 seek="$at" conv=notrunc status=none
        run --separate-stderr "$bin/geodec-health" --probe 1048576 "$tmp/bad"
        [ "$status" -eq 4 ] || [ "$status" -eq 0 ]
        [ "$at" -ne 20 ] || [ "$status" -eq 4 ]
        [ "$status" -eq 0 ] || found=$((found + 1))
    done
    [ "$found" -ge 2 ]
    head -c 1000 "$tmp/s.experts" > "$tmp/bad"
    run --separate-stderr "$bin/geodec-health" "$tmp/bad"
    [ "$status" -eq 4 ]
    [ "$(verdict header)" = failed ]
    [ "$(verdict golden)" = not_measured ]
    [ "$(verdict disk)" = not_measured ]
}

@test "a GGUF has no golden prompt; limits that are not met fail" {
    run --separate-stderr "$bin/geodec-health" data/model/geodec-stories-f16.gguf
    [ "$status" -eq 0 ]
    [ "$(verdict forward)" = ok ]
    [ "$(verdict golden)" = not_measured ]
    [ "$(verdict memory)" = not_measured ]
    run --separate-stderr "$bin/geodec-health" --budget 1 data/model/geodec-stories-f16.gguf
    [ "$status" -eq 4 ]
    [ "$(verdict memory)" = failed ]
    run --separate-stderr "$bin/geodec-health" --slowest 900000 data/model/geodec-stories-f16.gguf
    [ "$status" -eq 4 ]
    [ "$(verdict disk)" = failed ]
}

@test "a store of ternary experts: other forms pass within a tolerance only; a changed bit fails with any" {
    "$bin/geodec-ternary" build --quiet data/model/geodec-perspective-f16.gguf --differences -o "$tmp/s.trits"
    check() { run --separate-stderr "$bin/geodec-health" "$@" "$tmp/s.trits"; }
    check
    [ "$status" -eq 0 ] || { echo "$output"; false; }
    [ "$(verdict golden)" = ok ]
    check --tolerance 5
    [ "$status" -eq 0 ]
    [[ "$output" == *"bit for bit"* ]]
    for form in add int8; do
        check --ternary "$form"
        [ "$status" -eq 4 ]
        [ "$(verdict golden)" = failed ]
        [ "$(verdict forward)" = ok ]
        [[ "$output" == *"in the form $form differ from the exact ones by "* ]]
        check --ternary "$form" --tolerance 0.2
        [ "$status" -eq 0 ] || { echo "$output"; false; }
        [[ "$output" == *"in the form $form within "* ]]
    done
    check --ternary int8 --tolerance 1e-4 # that of additions
    [ "$status" -eq 4 ]
    cp -r "$tmp/s.trits" "$tmp/keep"
    found=0
    for f in resident.gguf expert_00{0,1,2,3,4,5,6,7}.trit; do
        at=$(($(stat -c %s "$tmp/keep/$f") / 3)) # of an expert: the payload of a layer
        byte=$(od -An -tu1 -j "$at" -N 1 "$tmp/keep/$f")
        printf '%b' "\\x$(printf %x $((byte ^ 2)))" | dd of="$tmp/s.trits/$f" bs=1 seek="$at" conv=notrunc status=none
        check
        plain=$status
        [ "$plain" -eq 4 ] || [ "$f" != resident.gguf ]
        [ "$plain" -eq 0 ] || found=$((found + 1))
        check --ternary int8 --tolerance 1000
        [ "$status" -eq "$plain" ]
        cp "$tmp/keep/$f" "$tmp/s.trits/$f"
    done
    [ "$found" -ge 3 ] || { echo "$found"; false; }
    # a model without such products
    "$bin/geodec-experts" build --quiet data/model/geodec-mixture-f16.gguf -o "$tmp/m.experts"
    run --separate-stderr "$bin/geodec-health" --ternary add --tolerance 1 "$tmp/m.experts"
    [ "$status" -eq 4 ]
    [ "$(verdict golden)" = failed ]
}
