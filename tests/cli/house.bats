#!/usr/bin/env bats
# The lints, the build and the install.
# alone: it installs from the build folder and looks whether a second make does nothing

bats_require_minimum_version 1.5.0
load ../root

setup() {
    profile=$(basename "$B")
}

@test "folders include only what the layer table allows, and the library does not use the environment" {
    make -s PROFILE="$profile" check-layers
}

@test "every global symbol carries the prefix and every exported one is declared" {
    make -s PROFILE="$profile" check-symbols
}

@test "every function that another file could call is called by one, and one without a caller is found" {
    make -s PROFILE="$profile" check-callers
    mkdir -p "$BATS_TEST_TMPDIR/scripts" "$BATS_TEST_TMPDIR/libcommon" "$BATS_TEST_TMPDIR/o/libcommon" "$BATS_TEST_TMPDIR/o/tools"
    cp scripts/check-callers "$BATS_TEST_TMPDIR/scripts/"
    : > "$BATS_TEST_TMPDIR/scripts/caller-exceptions"
    cd "$BATS_TEST_TMPDIR"
    echo 'void geodec_a(void); void geodec_a(void) {}' > libcommon/a.c
    echo 'void geodec_a(void); void geodec_b(void); void geodec_b(void) { geodec_a(); }' > libcommon/b.c
    for f in a b; do cc -fvisibility=protected -c -o "o/libcommon/$f.o" "libcommon/$f.c"; done
    run -1 sh scripts/check-callers "$PWD/o"
    [[ "$output" == "libcommon/b.c: geodec_b has no caller"* ]]
    echo geodec_a > scripts/caller-exceptions
    run -1 sh scripts/check-callers "$PWD/o"
    [[ "$output" == *"caller-exceptions: geodec_a has a caller"* ]]
}

@test "architectures are rows: the median has at most 20 lines" {
    awk '/^    \{\.name = / {n = 0} {n++} /\},$/ {print n}' libcommon/model/session/arch*.c | sort -n |
        awk '{n[NR] = $1} END {print NR " rows, median " n[int((NR + 1) / 2)]; exit !(NR > 90 && n[int((NR + 1) / 2)] <= 20)}'
}

@test "every public header compiles alone" {
    make -s PROFILE="$profile" check-headers
}

@test "a second make does nothing" {
    run make PROFILE="$profile" build
    [ "$status" -eq 0 ]
    [ -z "$output" ] || [[ "$output" =~ ^make.*:\ Nothing\ to\ be\ done\ for\ \'build\'\.$ ]]
}

@test "install copies tools, library, headers, pages and the model, and uninstall removes them" {
    root="$BATS_TEST_TMPDIR/root"
    make -s PROFILE="$profile" install PREFIX=/opt/geodec DESTDIR="$root" >/dev/null
    [ -x "$root/opt/geodec/bin/geodec-cloud" ]
    [ -f "$root/opt/geodec/share/man/man1/geodec-cloud.1" ]
    [ -f "$root/opt/geodec/share/geodec/model/geodec-stories-f16.gguf" ]
    grep -q '^prefix=/opt/geodec' "$root/opt/geodec/lib/pkgconfig/geodec.pc"
    ! find "$root" -name '*_internal.h' | grep -q . || false
    run "$root/opt/geodec/bin/geodec" cloud --version
    [ "$output" = "geodec-cloud (geodec) $(cat VERSION)" ]
    # An external program, built with the installed headers and shared library.
    cat > "$BATS_TEST_TMPDIR/user.c" <<'EOF'
#include <geodec/geodec.h>
#include <stdio.h>
int main(void) { return printf("%s %d\n", geodec_version(), geodec_kinds_find("cloud") != NULL) < 0; }
EOF
    cc -std=c11 -I"$root/opt/geodec/include" "$BATS_TEST_TMPDIR/user.c" \
        -L"$root/opt/geodec/lib" -lgeodec -Wl,-rpath,"$root/opt/geodec/lib" -o "$BATS_TEST_TMPDIR/user"
    [ "$("$BATS_TEST_TMPDIR/user")" = "$(cat VERSION) 1" ]
    make -s PROFILE="$profile" uninstall PREFIX=/opt/geodec DESTDIR="$root"
    [ -z "$(find "$root" -type f)" ]
}

@test "no tracked file is larger than 6 MiB, and the files of the embedded models have less than 8 MB in total" {
    command -v git >/dev/null && git rev-parse >/dev/null 2>&1 || skip "not a checkout"
    [ -z "$(git ls-files -z | xargs -0 du -k | awk '$1 > 6144')" ]
    [ "$(cat data/model/*.gguf | wc -c)" -lt 8000000 ]
}

@test "the manifest of the data is correct" {
    while read -r file bytes sum; do
        [ "$(stat -c %s "data/$file")" = "$bytes" ]
        [ "$(sha256sum < "data/$file" | cut -d' ' -f1)" = "$sum" ]
    done < data/MANIFEST.tsv
}

@test "make check touches every tool and every folder of the library, and says why it leaves out a file" {
    mapfile -t left < <(grep -l '^# bats file_tags=full$' tests/*/*.bats)
    for f in "${left[@]}"; do grep -q '^# full: ' "$f" || { echo "$f: no reason"; false; }; done
    mapfile -t kept < <(grep -L '^# bats file_tags=full$' tests/*/*.bats)
    [ "${#left[@]}" -gt 0 ]
    [ "${#kept[@]}" -gt 60 ]
    cat "${kept[@]}" >"$BATS_TEST_TMPDIR/kept"
    for t in tools/*/geodec-*.c; do
        t=$(basename "$t" .c)
        grep -qE "(^|[^a-z-])(geodec[ -])?${t#geodec-}([^a-z-]|$)" "$BATS_TEST_TMPDIR/kept" || { echo "no test of the choice runs $t"; false; }
    done
    # cluster/mpi is a shared object of its own (make check-mpi)
    for d in $(find libcommon -name '*.c' -printf '%h\n' | grep -vx libcommon/core/cluster/mpi | sort -u); do
        d=${d#libcommon/}
        case $d in lab/*) ;; *) d=${d#*/} ;; esac
        grep -rqF "\"$d/" tests/unit || { echo "no unit test includes $d"; false; }
    done
}

@test "make check TESTS= runs the named part, and refuses a name that nothing has" {
    run -2 make -s check-run TESTS=nothing-has-this-name BAD_TOOLS= FUZZ_REPLAYS=
    [[ "$output" == *"no test program and no file has such a name"* ]]
    run -0 make -n check-run TESTS="corpus tests/bad/h5" BAD_TOOLS= FUZZ_REPLAYS=
    [[ "$output" == *"tests/cli/corpus.bats"* && "$output" == *"tests/bad/h5.bats"* && "$output" == *"tests/test-corpus"* ]]
    [[ "$output" != *"tests/cli/decode.bats"* && "$output" != *"tests/test-io"* ]]
}

@test "a run of tests: the short form, the rest, the slowest files, and a failed test once more before the count" {
    mkdir "$BATS_TEST_TMPDIR/b"
    f=$BATS_TEST_TMPDIR/a.bats
    printf '%s\n' '@test "one" { true; }' '# bats test_tags=full' '@test "two" { false; }' >"$f"
    # without the settings of this run of bats
    tests() { env -i PATH="/usr/bin:/bin" TMPDIR="$BATS_TEST_TMPDIR" TEST_FORM="$1" sh scripts/run-tests "$BATS_TEST_TMPDIR/b" "$f"; }
    run tests short
    [ "$status" -eq 0 ] || { echo "$output"; false; }
    [ "${lines[-1]}" = "1 passed, 0 failed, 0 skipped" ]
    [[ "$output" == *"== slowest"*"$f"* ]]
    run -1 tests rest
    [ "${lines[-1]}" = "0 passed, 1 failed, 0 skipped" ]
    [ "${lines[-2]}" = "FAILED: $f: two" ]
    run -1 tests ''
    [ "${lines[-1]}" = "1 passed, 1 failed, 0 skipped" ]
}

@test "lines of tests whose failure nobody sees are found, and no other ones" {
    f=$BATS_TEST_TMPDIR/a.bats
    # AND is &&, HERE begins a here document, so that these lines are not found here
    lines() { printf '    %s\n' "$@" | sed 's/ AND / \&\& /; s/^    NOT /    ! /; s/HERE/<</' >"$f"; }
    lines '[ a ] AND [ b ]' '[[ a ]] AND [[ b ]]' 'grep -q x f AND [ b ]' 'NOT grep -q x f' '    0) [ a ] AND [ b ] ;;' \
        'for x in 1 2; do [ a ] AND [ b ]; done' '[ a ] AND ! cmp f g' '[ a ] AND [ b ] # why'
    run -1 scripts/check-bats "$f"
    [ "$(grep -c "^$f:" <<<"$output")" -eq 8 ]
    lines '[[ a && b ]]' '[ a ] AND [ b ] || false' 'NOT grep -q x f || false' 'run ! grep -q x f' 'if [ a ] AND [ b ]; then' '[ a ] AND [ b ] && break' \
        '[ a ] AND skip "no b"' 'cmp -s f g AND false' '# [ a ] AND [ b ]' 'x=$([ a ] AND echo b)' 'cat HEREEND'
    printf '%s\n' '! a' END >>"$f"
    run -0 scripts/check-bats "$f"
    [ -z "$output" ]
    printf '%s\n' 'setup_file() {' '    [ -r x ] || skip "no x"' '}' 'setup() {' '    [ -r x ] || skip "no x"' '}' >"$f"
    run -1 scripts/check-bats "$f"
    [ "$(grep -c 'skip in setup_file' <<<"$output")" -eq 1 ]
    lines 'cat HEREEND' 'true'
    run -1 scripts/check-bats "$f"
    [[ "$output" == *"no line END ends the here document"* ]]
}

@test "a skip in setup_file, which counts as a failure, is found: its own, that of a function, that of a loaded file" {
    f=$BATS_TEST_TMPDIR/a.bats
    for body in '[ -r x ] || skip "no x"' 'if a; then skip; fi' 'needs' 'x=1; far' 'theirs'; do
        printf '%s\n' 'load helper' 'setup_file() {' "    $body" '}' 'needs() { [ -r x ] || skip "no x"; }' 'far() {' '    needs' '}' >"$f"
        printf '%s\n' 'theirs() {' '    case $1 in x) skip "no x" ;; esac' '}' >"$BATS_TEST_TMPDIR/helper.bash"
        run -1 scripts/check-bats "$f"
        [ "$output" = "$f: a skip in setup_file" ] || { echo "$body: $output"; false; }
    done
    printf '%s\n' 'load helper' 'setup_file() {' '    [ -r x ] || return 0 # needs; skip' '}' 'setup() {' '    theirs' '    [ -r x ] || skip "no x"' '}' >"$f"
    run -0 scripts/check-bats "$f"
    [ -z "$output" ]
}
