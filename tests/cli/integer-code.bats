#!/usr/bin/env bats
# The object code of the integer engine has no arithmetic of floats, and the check of that finds planted ones.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    [ "$(uname -m)" = x86_64 ] || skip "only objects of x86-64 can be checked"
    objects=$BATS_TEST_TMPDIR/objects
    for f in model/integer/engine model/integer/fixed decode/attest; do
        mkdir -p "$objects/$(dirname $f)"
        cp -r "$B/obj/libcommon/$f" "$objects/$f"
    done
}

# plant 'STATEMENT': the function geodec__engine_cap begins with STATEMENT.
plant() {
    awk -v s="$1" '{ print } /^int64_t geodec__engine_cap\(/ { at = NR + 1 } NR == at && /^\{/ { print s; done = 1 } END { exit !done }' \
        libcommon/model/integer/engine/layer.c > "$BATS_TEST_TMPDIR/layer.c"
    "${CC:-gcc}" -std=c11 -O2 -fPIC -ffp-contract=off -D_GNU_SOURCE -Ilibcommon -Ilibcommon/core -Ilibcommon/geometry -Ilibcommon/model -Ilibcommon/decode -include math.h -include string.h -c \
        -o "$objects/model/integer/engine/layer.o" "$BATS_TEST_TMPDIR/layer.c"
}

@test "no float between token id and token id" {
    run -0 scripts/check-integer-code "$objects"
    [[ $output =~ ^integer\ code:\ ([0-9]+)\ functions\ of\ ([0-9]+)\ objects.*\ has\ ([0-9]+)\ instructions ]]
    [ "${BASH_REMATCH[1]}" -gt 100 ]
    [ "${BASH_REMATCH[2]}" -eq "$(git ls-files 'libcommon/model/integer/engine/*.c' 'libcommon/model/integer/fixed/*.c' 'libcommon/decode/attest/*.c' | wc -l)" ]
    [ "${BASH_REMATCH[3]}" -gt 10 ]
}

@test "a planted product of floats, a call of the mathematical library and a call of a conversion are refused by name" {
    plant 'x += 0;'
    run -0 scripts/check-integer-code "$objects"
    plant 'x = (int64_t)((double)x * 1.5);'
    run -1 scripts/check-integer-code "$objects"
    [[ $output == *"engine/layer.c: geodec__engine_cap: mulsd"* && $output == *"geodec__engine_cap: cvt"* ]]
    plant '{ double f = ldexp(1.0, (int)x); memcpy(&x, &f, sizeof f); }'
    run -1 scripts/check-integer-code "$objects"
    [ "$output" = "libcommon/model/integer/engine/layer.c: geodec__engine_cap: calls ldexp" ]
    plant 'x += geodec_network_factor_of(0.5).shift;'
    run -1 scripts/check-integer-code "$objects"
    [ "$output" = "libcommon/model/integer/engine/layer.c: geodec__engine_cap: calls geodec_network_factor_of, which converts floats" ]
    rm "$objects/model/integer/engine/layer.o"
    run -1 --separate-stderr scripts/check-integer-code "$objects"
    [[ $stderr == *"libcommon/model/integer/engine/layer.c: -: no object"* ]]
}
