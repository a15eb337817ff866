#!/usr/bin/env bats
# Installed files other than the tools: pkg-config file, man pages, completion of shells; and the table from which they are made.
# alone: it makes files of the build folder for other prefixes

bats_require_minimum_version 1.5.0
load ../root

setup() {
    profile=$(basename "$B")
}

# run_path FILE: how it finds the library
run_path() { readelf -d "$1" | sed -n 's/.*runpath: \[\(.*\)\]$/\1/p'; }

@test "an installation is small, may be moved, is without symbols, and uninstall removes every file" {
    here=$BATS_TEST_TMPDIR own=libgeodec-tools-$(cat VERSION).so
    make -s PROFILE="$profile" install PREFIX=/opt/geodec DESTDIR="$here/root" >/dev/null
    [ "$(du -sm "$here/root" | cut -f 1)" -le 80 ]
    mv "$here/root/opt/geodec" "$here/moved"
    for f in "$here"/moved/bin/geodec-* "$here"/moved/lib/*.so.2 "$here"/moved/lib/geodec/*.so; do
        run -0 readelf -SW "$f"
        [[ "$output" != *".symtab"* && "$output" != *".debug_"* ]]
    done
    for f in "$here"/moved/bin/geodec-*; do
        [ "$(run_path "$f")" = "\$ORIGIN/../lib/geodec" ]
        readelf -d "$f" | grep -q "NEEDED.*\[$own\]"
    done
    [ "$(ldd "$here/moved/bin/geodec-info" | awk '/libgeodec/ { print $3 }')" -ef "$here/moved/lib/geodec/$own" ]
    "$here/moved/bin/geodec-info" --kinds | grep -qx cloud
    mv "$here/moved" "$here/root/opt/geodec"
    make -s PROFILE="$profile" uninstall PREFIX=/opt/geodec DESTDIR="$here/root"
    [ -z "$(find "$here/root" ! -type d)" ] || { find "$here/root" ! -type d; false; }
}

# bats test_tags=full
@test "another libdir: the tools find the library there, and the symbols can be kept" {
    here=$BATS_TEST_TMPDIR
    make -s PROFILE="$profile" install PREFIX=/opt/geodec libdir=/opt/geodec/lib/deep/er INSTALL_PROGRAM='install -m 755' STRIP_ARCHIVE=: DESTDIR="$here/root" >/dev/null
    # a root without /proc, which ORIGIN needs, finds the library by its path
    [ "$(run_path "$here/root/opt/geodec/bin/geodec-info")" = "\$ORIGIN/../lib/deep/er/geodec:/opt/geodec/lib/deep/er/geodec" ]
    readelf -SW "$here/root/opt/geodec/bin/geodec-info" | grep -q '\.symtab'
    "$here/root/opt/geodec/bin/geodec-info" --kinds | grep -qx cloud
    # the build folder is as it was
    [ "$(run_path "$bin/geodec-info")" = "\$ORIGIN/../lib/geodec" ]
}

@test "geodec.pc has the prefix of this install, not of an earlier one" {
    make -s PROFILE="$profile" PREFIX=/opt/geodec "$B/geodec.pc"
    grep -qx 'prefix=/opt/geodec' "$B/geodec.pc"
    make -s PROFILE="$profile" PREFIX=/usr libdir=/usr/lib/x86_64-linux-gnu "$B/geodec.pc"
    grep -qx 'prefix=/usr' "$B/geodec.pc"
    grep -q '/usr/lib/x86_64-linux-gnu' "$B/geodec.pc"
    ! grep -q /opt "$B/geodec.pc" || false
    make -s PROFILE="$profile" PREFIX=/opt/geodec "$B/geodec.pc"
    grep -qx 'prefix=/opt/geodec' "$B/geodec.pc"
    before=$(stat -c %Y.%i "$B/geodec.pc")
    make -s PROFILE="$profile" PREFIX=/opt/geodec "$B/geodec.pc" # the same again: not written
    [ "$(stat -c %Y.%i "$B/geodec.pc")" = "$before" ]
}

@test "the NAME line of a man page is the tool's purpose" {
    for t in decode riemann info; do
        make -s PROFILE="$profile" "$B/man/geodec-$t.1" > /dev/null
        purpose=$("$bin/geodec-$t" --help | grep -v '^Usage: \|^       geodec' | head -n 1)
        line=$(grep -A1 '^\.SH NAME' "$B/man/geodec-$t.1" | tail -n 1 | sed 's/\\//g')
        [ "$line" = "geodec-$t - ${purpose%.}" ] || { echo "$line"; false; }
    done
}

@test "geodec --help has every stage once, under a topic, with its purpose" {
    "$bin/geodec" --help > "$BATS_TEST_TMPDIR/help"
    stages=0
    for t in "$bin"/geodec-*; do
        name=${t##*/geodec-}
        purpose=$("$t" --help | grep -v '^Usage: \|^       geodec' | head -n 1)
        [ "$(grep -cF "  $(printf '%-16s' "$name") ${purpose%.}" "$BATS_TEST_TMPDIR/help")" = 1 ] || { echo "$name: ${purpose%.}"; false; }
        stages=$((stages + 1))
    done
    [ "$(grep -c '^  [a-z]' "$BATS_TEST_TMPDIR/help")" = "$stages" ]
    [ "$(grep -c '^[A-Z].*:$' "$BATS_TEST_TMPDIR/help")" -ge 5 ]
}

@test "the table of options is that of --help" {
    for t in "$bin"/geodec-*; do
        "$t" --help | sed '/^Exit status/,$d' | sed -n 's/^  \(-[a-zA-Z],\|   \) --\([a-z0-9-]*\).*/\2/p' | sort > "$BATS_TEST_TMPDIR/help"
        "$t" --options | awk -F '\t' '$1 == "option" { print $2 }' | sort > "$BATS_TEST_TMPDIR/table"
        cmp "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/table" || { echo "$t"; diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/table"; false; }
        [ "$("$t" --options | awk -F '\t' '$1 == "tool" ? NF != 6 : NF != 7' | wc -l)" = 0 ]
        [ "$("$t" --options | awk -F '\t' '$1 == "option" && $7 == ""' | wc -l)" = 0 ] || { echo "$t: an option without help"; false; }
    done
}

# complete WORDS...: prints the completions of bash for the last word, on one line.
complete_() {
    bash --norc -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _geodec; echo "${COMPREPLY[*]}"' _ \
        "$B/completion/geodec.bash" "$@"
}

@test "bash: stages, options, choices and files" {
    make -s PROFILE="$profile" completion
    [ "$(complete_ geodec dec)" = decode ]
    [[ " $(complete_ geodec "") " == *" prepare "* ]]
    [ "$(complete_ geodec decode --arith)" = "--arithmetic=" ]
    [ "$(complete_ geodec-decode --check)" = --check-plain ]
    [ "$(complete_ geodec-decode --arithmetic "")" = "auto exact fast integer" ]
    [ "$(complete_ geodec decode --arithmetic = f)" = fast ]
    [ "$(complete_ geodec decode --kv =)" = "f32 f16 q8_0 q4_0" ]
    [ "$(complete_ geodec decode --model READM)" = README.md ]
    [ "$(complete_ geodec decode -m VERS)" = VERSION ]
    [ "$(complete_ geodec-info READM)" = README.md ]
    [ -z "$(complete_ geodec decode --max-tokens "")" ]
    [ -z "$(complete_ geodec nonsense --a)" ]
    bash --norc -c '. "$1" && complete -p geodec geodec-bake geodec-warp' _ "$B/completion/geodec.bash" | grep -c _geodec | grep -qx 3
    bash --norc -c '. "$1" && _geodec_table geodec && compgen -W "$words" -- bench' _ "$B/completion/geodec.bash" | grep -qx bench-decode
}

@test "zsh and fish: every tool and every option; the shells read the files if they are installed" {
    make -s PROFILE="$profile" completion
    zsh_=$B/completion/geodec.zsh fish_=$B/completion/geodec.fish
    [ "$(head -n 1 "$zsh_" | tr ' ' '\n' | grep -c '^geodec-')" = "$(ls "$bin"/geodec-* | wc -l)" ]
    for t in decode quantize warp; do
        "$bin/geodec-$t" --options | awk -F '\t' '$1 == "option" { print $2 }' > "$BATS_TEST_TMPDIR/options"
        sed -n "/^    geodec-$t)/,/;;/p" "$zsh_" | sed -n "s/^            '--\([a-z0-9-]*\).*/\1/p" > "$BATS_TEST_TMPDIR/zsh"
        sed -n "s/^complete -c geodec-$t -l \([a-z0-9-]*\) .*/\1/p" "$fish_" > "$BATS_TEST_TMPDIR/fish"
        cmp "$BATS_TEST_TMPDIR/options" "$BATS_TEST_TMPDIR/zsh"
        cmp "$BATS_TEST_TMPDIR/options" "$BATS_TEST_TMPDIR/fish"
    done
    # Every line has an even number of quotes, so the text of an option does not end a string early.
    for f in "$zsh_" "$fish_"; do [ "$(grep -v '^#' "$f" | awk '{ n = gsub(/\047/, ""); if (n % 2) print }' | wc -l)" = 0 ]; done
    # Without the shell, the test checks the structure: function bodies have the syntax of bash too.
    if command -v zsh > /dev/null; then zsh -n "$zsh_"; fi
    if command -v fish > /dev/null; then fish --no-execute "$fish_"; fi
}
