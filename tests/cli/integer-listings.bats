#!/usr/bin/env bats
# geodec-integer-listings: the table, its seed, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    tool=$bin/geodec-integer-listings
}

# value KEY [control]
value() { awk -F'\t' -v k="$1" -v c="${2:-value}" 'NR == 1 {for (i = 1; i <= NF; i++) n[$i] = i} $1 == k {print $n[c]}' "$BATS_TEST_TMPDIR/t"; }

@test "the published forms fail where the correct ones do not" {
    "$tool" > "$BATS_TEST_TMPDIR/t"
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/t")" = $'key\tquantity\tvalue\tcontrol\tcompared' ]
    [ "$(value barrett)" = 0 ]
    [ "$(value barrett control)" = 1 ]
    [ "$(value corrections)" = 2 ]
    [ "$(value corrections control)" = 1 ]
    [ "$(value coverage)" = 74 ]
    [ "$(value coverage control)" = 154 ]
    if grep -qw avx2 /proc/cpuinfo; then awk "BEGIN {exit !($(value avx2) < 0.01)}" && [ "$(value avx2 control)" = 1 ]; fi
}

@test "the same seed gives the same bytes, another one other draws" {
    "$tool" --seed 3 -o "$BATS_TEST_TMPDIR/a"
    "$tool" --seed 3 > "$BATS_TEST_TMPDIR/b"
    cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
    "$tool" --seed 4 > "$BATS_TEST_TMPDIR/c"
    run ! cmp -s "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/c"
}

@test "no draws, a file in the way" {
    run --separate-stderr "$tool" --draws 0
    [ "$status" -eq 2 ]
    [[ "$stderr" == *draws* ]]
    echo mine > "$BATS_TEST_TMPDIR/out"
    run --separate-stderr "$tool" -o "$BATS_TEST_TMPDIR/out"
    [ "$status" -ne 0 ]
    [ "$(cat "$BATS_TEST_TMPDIR/out")" = mine ]
}
