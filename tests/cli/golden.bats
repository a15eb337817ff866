#!/usr/bin/env bats
# Skipped tests are counted and named; the subset of the published figures is a part of the full set.

bats_require_minimum_version 1.5.0
load ../root
load golden

setup() {
    export tmp=$BATS_TEST_TMPDIR
}

# A program that reports like Criterion: criterion NAME STATUS LINE...
criterion() {
    local name=$1 status=$2
    shift 2
    {
        echo '#!/bin/sh'
        # shellcheck disable=SC2016
        echo 'for a in "$@"; do case $a in --tap=*) tap=${a#--tap=} ;; esac; done'
        echo 'echo "ok - printed::by_the_test # SKIP not by the report" >&2'
        [ $# -eq 0 ] || printf "echo '%s' >> \"\$tap\"\n" "$@"
        echo "exit $status"
    } > "$tmp/$name"
    chmod +x "$tmp/$name"
}

@test "a skipped test is counted as skipped, with its name and reason, and not as passed" {
    criterion unit 0 'TAP version 13' '1..3' 'ok - a::one  (0.00s)' 'ok - a::two  # SKIP no thing' 'ok - a::three  (0.01s)'
    printf '#!/usr/bin/env bats\n@test "four" { skip "no other"; }\n@test "five" { true; }\n' > "$tmp/words.bats"
    run env -i PATH=/usr/bin:/bin sh scripts/run-tests "$tmp" "$tmp/unit" "$tmp/words.bats" # bats in bats
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "3 passed, 0 failed, 2 skipped" ]
    [[ "$output" == *"skipped: a::two"*"no thing"* && "$output" == *"skipped: four"*"no other"* ]]
    [[ "$output" == *"2 passed, 0 failed, 1 skipped"* && "$output" == *"1 passed, 0 failed, 1 skipped"* ]]
}

@test "failed tests, ends without a report and files without tests are failures" {
    criterion good 0 'ok - a::one  (0.00s)'
    criterion bad 1 'ok - a::one  (0.00s)' 'not ok - a::two  (0.00s)'
    criterion gone 1 'ok - a::one  (0.00s)'
    criterion empty 0
    for t in bad gone empty; do
        run sh scripts/run-tests "$tmp" "$tmp/good" "$tmp/$t"
        echo "$t: $output"
        [ "$status" -ne 0 ]
        [[ "${lines[-1]}" == *" passed, 1 failed, 0 skipped" ]]
    done
    criterion all 0 'ok - a::one  # SKIP nothing is there'
    run sh scripts/run-tests "$tmp" "$tmp/all"
    [ "$status" -ne 0 ]
    [ "${lines[-1]}" = "0 passed, 0 failed, 1 skipped" ]
}

@test "without the shared folder, the tests run that asked for it when the program last ran" {
    criterion unit 0 'ok - a::one  (0.00s)'
    # shellcheck disable=SC2016
    sed -i "2i echo \"\$@\" > $tmp/given; [ -z \"\${GEODEC_TEST_READERS-}\" ] || printf 'a/one\\nb/two\\na/one\\n' >> \"\$GEODEC_TEST_READERS\"" "$tmp/unit"
    touch -d '1 minute ago' "$tmp/unit"
    env -u UNSHARED sh scripts/run-tests "$tmp" "$tmp/unit"
    ! grep -q filter "$tmp/given" || false
    UNSHARED=yes sh scripts/run-tests "$tmp" "$tmp/unit"
    grep -qF -e '--filter @(a/one|b/two)' "$tmp/given"
    touch -d '1 minute' "$tmp/unit" # built again: what it reads is not known
    UNSHARED=yes sh scripts/run-tests "$tmp" "$tmp/unit" || true
    ! grep -qF 'a/one|b/two' "$tmp/given" || false
}

@test "files of bats run beside each other, and those with a reason alone and last" {
    # each of two waits for the other, up to WAIT tenths of a second
    for name in one:two two:one; do
        printf '@test "%s" { touch "$tmp/%s"; for ((i = 0; i < WAIT; i++)); do [ ! -e "$tmp/%s" ] || break; sleep .1; done; [ -e "$tmp/%s" ]; touch "$tmp/%s-ended"; }\n' \
            "${name%:*}" "${name%:*}" "${name#*:}" "${name#*:}" "${name%:*}" > "$tmp/${name%:*}.bats"
    done
    printf '# alone: a reason\n@test "last" { [ -e "$tmp/one-ended" ]; [ -e "$tmp/two-ended" ]; }\n' > "$tmp/a-last.bats"
    run env -i PATH=/usr/bin:/bin tmp="$tmp" WAIT=300 TEST_JOBS=2 sh scripts/run-tests "$tmp" "$tmp"/*.bats
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "3 passed, 0 failed, 0 skipped" ]
    # control: one after the other, the first one waits in vain
    rm "$tmp"/one* "$tmp/two" "$tmp/two-ended"
    printf '@test "one" { [ -e "$tmp/two" ]; }\n' > "$tmp/one.bats"
    run env -i PATH=/usr/bin:/bin tmp="$tmp" WAIT=1 TEST_JOBS=1 sh scripts/run-tests "$tmp" "$tmp/one.bats" "$tmp/two.bats"
    [ "$status" -ne 0 ]
}

@test "the published subset is bit for bit a part of the full set" {
    full=${GEODEC_SHARED:-../shared}/golden/ott
    [ -d "$full" ] || skip "no full set (set GEODEC_SHARED)"
    for f in smollm2-135m_n8 sphere_n4 analytic magnus; do
        h5diff --exclude-path /riemann "$full/$f.h5" "tests/golden/published/$f.h5"
    done
    # the full set has further models
    (cd tests/golden/published/exports && find . -type f) > "$BATS_TEST_TMPDIR/files"
    while read -r f; do cmp "$full/exports/$f" "tests/golden/published/exports/$f"; done < "$BATS_TEST_TMPDIR/files"
}

@test "the golden files of the repository stay small" {
    [ "$(cat tests/golden/published/*.h5 tests/golden/published/exports/*/* | wc -c)" -le 3000000 ]
    [ "$(cat tests/golden/llama/* tests/golden/models/* tests/golden/tokens/* tests/golden/text/* | wc -c)" -le 3700000 ]
    [ "$(cat tests/golden/perspective/* | wc -c)" -le 700000 ]
}
