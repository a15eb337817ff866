#!/usr/bin/env bats
# geodec-perspective: the table, its parts, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    tool=$bin/geodec-perspective
    t=$BATS_TEST_TMPDIR/t
}

# value KEY [control]
value() { awk -F'\t' -v k="$1" -v c="${2:-value}" 'NR == 1 {for (i = 1; i <= NF; i++) n[$i] = i} $2 == k {print $n[c]}' "$t"; }

@test "parts of the design: published figures fail where the correct forms do not" {
    "$tool" --quick > "$t"
    [ "$(head -n 1 "$t")" = $'part\tkey\tquantity\tvalue\tcontrol\tcompared' ]
    [ "$(value adapter-start)" = 0 ]
    [ "$(value hull-dimension)" = 99 ]
    awk "BEGIN {exit !($(value jacobian-norm) > 1 && $(value bank-100) == 1 && $(value bank-100 control) < 0.5 && $(value gradient-published) < 0.1)}"
    # --part has every part of the table
    cut -f 1 "$t" | sed 1d | uniq > "$BATS_TEST_TMPDIR/parts"
    names=$("$tool" --help | tr -d ' \n' | sed -E 's/.*--part=all\|([a-z|]*)meas.*/\1/')
    tr '|' '\n' <<< "$names" | diff "$BATS_TEST_TMPDIR/parts" -
}

@test "one part has the rows of the whole table; the bytes do not depend on threads" {
    "$tool" --quick --part gradient --threads 1 > "$t"
    [ "$(cut -f 1 "$t" | sort -u | tr '\n' ' ')" = "gradient part " ]
    "$tool" --quick --part gradient --threads 3 | cmp - "$t"
    "$tool" --quick --part gradient --seed 2 > "$BATS_TEST_TMPDIR/other"
    run ! cmp -s "$t" "$BATS_TEST_TMPDIR/other"
}

@test "an unknown part, a file in the way" {
    run --separate-stderr "$tool" --part none
    [ "$status" -eq 2 ]
    [[ "$stderr" == *part* ]]
    echo mine > "$BATS_TEST_TMPDIR/out"
    run --separate-stderr "$tool" --quick --part adapter -o "$BATS_TEST_TMPDIR/out"
    [ "$status" -ne 0 ]
    [ "$(cat "$BATS_TEST_TMPDIR/out")" = mine ]
}
