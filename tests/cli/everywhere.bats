#!/usr/bin/env bats
# make check-everywhere, the part of it that every machine has: gcc at two levels, all instruction sets of this processor; and of the control
# the float arithmetic.
# full: compiles for other machines
# bats file_tags=full

bats_require_minimum_version 1.5.0
load ../root

setup() {
    dense=data/model/geodec-stories-q8_0.gguf
}

everywhere() { scripts/everywhere --architectures none --out "$tmp" "$@"; }

# of the table: rows of a compiler with a result, both by their beginning
rows() { awk -F '\t' -v c="$1" -v r="$2" 'index($4, c) == 1 && index($12, r) == 1 && $8 ~ /^[0-9a-f]+$/ && length($8) == 64' "$tmp/table.tsv"; }

@test "a model in integers has one hash with gcc -O0 and -O2 on every instruction set" {
    run -0 everywhere --compilers "gcc no-such-compiler" --levels "-O0 -O2" --models "$dense" --tokens 16
    echo "$output"
    n=$(rows "gcc " same | wc -l)
    sets=$(rows "gcc " same | cut -f 7 | sort -u | wc -l)
    [ "$sets" -ge 1 ]
    [ "$n" -eq $((2 * sets)) ]
    [ "$(rows "gcc " same | cut -f 8 | sort -u | wc -l)" -eq 1 ]
    [[ "$output" == *"no-such-compiler is not installed"* ]]
    [[ "${lines[-1]}" == "$n the same, 0 differ, "*" skipped" ]]
}

@test "a compiler that rounds otherwise is found" {
    # this gcc leaves one rounding out of the exponential
    mkdir "$tmp/bin"
    cat > "$tmp/bin/gcc-wrong" <<'END'
#!/bin/bash
args=("$@")
copy=$(dirname "$0")/fixed.c
for i in "${!args[@]}"; do
    [[ ${args[i]} == *integer/fixed/fixed.c ]] || continue
    sed 's/d \* GEODEC__FIXED_LOG2E + (1u << 29)) >> 30/d * GEODEC__FIXED_LOG2E) >> 30/' "${args[i]}" > "$copy"
    cmp -s "${args[i]}" "$copy" && exit 1
    args[i]=$copy
done
exec gcc "${args[@]}"
END
    chmod +x "$tmp/bin/gcc-wrong"
    # The objects of the test before, without those that this gcc compiles otherwise.
    rm -rf build/everywhere/gcc-wrong-O0
    [ ! -e build/everywhere/gcc-O0/hash ] || cp -a build/everywhere/gcc-O0 build/everywhere/gcc-wrong-O0
    rm -f build/everywhere/gcc-wrong-O0/{hash,obj/libcommon/model/integer/fixed/fixed.o}
    run -1 everywhere --compilers "gcc $tmp/bin/gcc-wrong" --levels "-O0" --models "$dense" --tokens 16
    echo "$output"
    n=$(rows "gcc " same | wc -l)
    [ "$n" -ge 1 ]
    wrong=$(rows gcc-wrong DIFFERS | wc -l) # of AVX-512 it is right, which has an exponential of its own
    [ "$wrong" -ge 1 ]
    [ "$(awk -F '\t' '$1 == "integer" {print $4, $5, $8}' "$tmp/summary.tsv")" = "$((2 * n)) 2 0" ]
    [[ "${lines[-1]}" == "$((2 * n - wrong)) the same, $wrong differ, "*" skipped" ]]
}

@test "where nothing runs the check fails, and an unknown option is refused" {
    run -1 everywhere --compilers no-such-compiler --models "$dense"
    [ "${lines[-1]}" = "0 the same, 0 differ, 1 skipped" ]
    run -2 everywhere --no-such-option 1
    run -2 everywhere --systems no-such-system
    run -2 everywhere --systems llama.cpp --peer "$tmp"
    [[ "$output" == *"--peer FOLDER"* ]]
}

@test "the control in floats counts its hashes: one over instruction sets, threads and passes" {
    run -0 everywhere --systems exact --compilers gcc --levels -O0 --models data/model/geodec-mixture-f16.gguf --tokens 16
    echo "$output"
    n=$(rows "gcc " same | wc -l)
    [ "$n" -ge 1 ]
    [ "$(rows "gcc " same | cut -f 1,9,10 | sort -u)" = "exact"$'\t'"5"$'\t'"5" ]
    [ "$(tail -n 1 "$tmp/summary.tsv" | cut -f 1,3-)" = "exact"$'\t'"16"$'\t'"$n"$'\t'"1"$'\t'"1"$'\t'"1"$'\t'"0" ]
    [ "${lines[-1]}" = "0 the same, 0 differ, 0 skipped" ]
}
