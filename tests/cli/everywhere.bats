#!/usr/bin/env bats
# make check-everywhere, the part of it that every machine has: gcc at two levels, all instruction sets of this processor.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    dense=data/model/geodec-stories-q8_0.gguf
    tmp=$BATS_TEST_TMPDIR
}

# of the table: rows of a compiler with a result, both by their beginning
rows() { awk -F '\t' -v c="$1" -v r="$2" 'index($3, c) == 1 && index($8, r) == 1 && $7 ~ /^[0-9a-f]+$/ && length($7) == 64' build/everywhere/table.tsv; }

@test "a model in integers has one hash with gcc -O0 and -O2 on every instruction set" {
    run -0 scripts/everywhere --compilers "gcc no-such-compiler" --levels "-O0 -O2" --architectures none --models "$dense" --tokens 16
    echo "$output"
    n=$(rows "gcc " same | wc -l)
    sets=$(rows "gcc " same | cut -f 6 | sort -u | wc -l)
    [ "$sets" -ge 1 ]
    [ "$n" -eq $((2 * sets)) ]
    [ "$(rows "gcc " same | cut -f 7 | sort -u | wc -l)" -eq 1 ]
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
    rm -rf build/everywhere/gcc-wrong-O0
    run -1 scripts/everywhere --compilers "gcc $tmp/bin/gcc-wrong" --levels "-O0" --architectures none --models "$dense" --tokens 16
    echo "$output"
    n=$(rows "gcc " same | wc -l)
    [ "$n" -ge 1 ]
    [ "$(rows gcc-wrong DIFFERS | wc -l)" -eq "$n" ]
    [[ "${lines[-1]}" == "$n the same, $n differ, "*" skipped" ]]
}

@test "where nothing runs the check fails, and an unknown option is refused" {
    run -1 scripts/everywhere --compilers no-such-compiler --architectures none --models "$dense"
    [ "${lines[-1]}" = "0 the same, 0 differ, 1 skipped" ]
    run -2 scripts/everywhere --no-such-option 1
}
