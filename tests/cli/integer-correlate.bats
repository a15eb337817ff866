#!/usr/bin/env bats
# geodec-integer-correlate: sums, methods, input formats, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export TOOL=$bin/geodec-integer-correlate D=$BATS_FILE_TMPDIR
    awk 'BEGIN { for (i = 0; i < 700; i++) print (i * 7919) % 2003 - 1001 }' > "$D/query.txt"
    awk 'BEGIN { for (i = 0; i < 9000; i++) print (i * i * 31 + i) % 4001 - 2000 }' > "$D/sequence.txt"
}

@test "sums by their definition" {
    printf '1 2 3\n' > "$D/q"
    printf '1\n0\n-1\n5\n7\n' > "$D/s"
    run -0 "$TOOL" "$D/q" "$D/s"
    [ "$output" = $'shift\tsum\n0\t-2\n1\t13\n2\t30' ]
    run -0 "$TOOL" --top 2 "$D/q" "$D/s"
    [ "$output" = $'shift\tsum\n2\t30\n1\t13' ]
}

@test "every method and instruction set gives the same sums" {
    paste -sd' ' "$D/query.txt" > "$D/q1"
    paste -sd' ' "$D/sequence.txt" > "$D/s1"
    awk 'NR == FNR { q[d++] = $1; next } { s[n++] = $1 }
         END { print "shift\tsum"; for (t = 0; t + d <= n; t += 1) { x = 0; for (i = 0; i < d; i++) x += q[i] * s[t + i]; printf "%d\t%d\n", t, x } }' \
        "$D/query.txt" "$D/sequence.txt" > "$D/wanted"
    for method in auto direct p60 pair; do
        for isa in auto scalar avx2 avx512; do
            "$TOOL" --method "$method" --isa "$isa" "$D/query.txt" "$D/sequence.txt" | cmp - "$D/wanted"
        done
    done
    "$TOOL" --force -o "$D/out.tsv" "$D/q1" "$D/s1"
    cmp "$D/out.tsv" "$D/wanted"
    run -1 "$TOOL" -o "$D/out.tsv" "$D/q1" "$D/q1"
    [[ "$output" == *"out.tsv exists; --force replaces it"* ]]
    cmp "$D/out.tsv" "$D/wanted"
}

@test "what cannot be exact is refused, with the file and the reason" {
    printf '1 2.5 3\n' > "$D/fraction"
    printf '1 3000000000\n' > "$D/large"
    printf '2000000000 2000000000 2000000000 2000000000\n' > "$D/high"
    run ! --separate-stderr "$TOOL" "$D/fraction" "$D/sequence.txt"
    [[ $stderr = *fraction*"2.5, is not an integer of 32 bits"* ]]
    run ! --separate-stderr "$TOOL" "$D/large" "$D/sequence.txt"
    [[ $stderr = *large*3e+09* ]]
    run ! --separate-stderr "$TOOL" --method p60 "$D/high" "$D/high"
    [[ $stderr = *"may leave the range of method p60"* ]]
    run ! --separate-stderr "$TOOL" "$D/sequence.txt" "$D/query.txt"
    [[ $stderr = *"has 9000 values"* ]]
    run ! --separate-stderr "$TOOL" "$D/none" "$D/query.txt"
    [[ $stderr = *none* ]]
    run ! --separate-stderr "$TOOL" "$D/query.txt"
    [[ $stderr = *"expected QUERY and SEQUENCE"* ]]
}

@test "the crossover is measured, and all methods agree" {
    run -0 "$TOOL" --crossover
    [ "${lines[0]}" = $'bits\tquery\tdirect_us\tp60_us\tpair_us\tN\tauto' ]
    [ "${#lines[@]}" -ge 20 ]
    [[ $output = *p60 && $output = *direct* ]]
}
