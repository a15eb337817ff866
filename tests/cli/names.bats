#!/usr/bin/env bats
# File names: no part of the name of a model or a text is executed. A name works, or is refused before anything runs.
# Each name is tested with make (MODEL= and TEXT=) and with run_all.sh; of the pipeline, only links and plan are made.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export ROOT=$PWD D=$BATS_FILE_TMPDIR/d
    export GOOD=$PWD/data/model/geodec-stories-q8_0.gguf
    mkdir "$D"
    printf 'Once upon a time there was a cat.\n\nThe cat saw a dog, and the dog saw the cat.\n' > "$D/plain.txt"
}

setup() {
    cd "$ROOT"
    export MAKEFLAGS=
    R=$BATS_TEST_TMPDIR/r
}

teardown() {
    [ -z "$(find "$BATS_FILE_TMPDIR" "$ROOT" -maxdepth 2 -name 'executed*' -print -quit)" ] || { echo "a name was executed"; false; }
}

names() { # one odd name a line
    cat <<'END_OF_NAMES'
a b.EXT
it's.EXT
"quoted".EXT
$HOME.EXT
$(touch executed).EXT
$(shell touch executed).EXT
`touch executed`.EXT
x; touch executed;.EXT
a#b.EXT
100%.EXT
%.EXT
été 北京.EXT
-n.EXT
--help.EXT
a=b:c.EXT
*?[x].EXT
a\b.EXT
x|touch executed&.EXT
~.EXT
$$.EXT
a,b) (c.EXT
  two  blanks.EXT
.hidden.EXT
<in>out.EXT
!bang{a,b}.EXT
END_OF_NAMES
}

@test "models and texts with unusual names work with make, and nothing is executed" {
    n=0
    while IFS= read -r name; do
        n=$((n + 1))
        model=$D/${name/EXT/gguf} text=$D/${name/EXT/txt}
        ln "$GOOD" "$model" 2>/dev/null || cp -- "$GOOD" "$model"
        cp -- "$D/plain.txt" "$text"
        MODEL=$model TEXT=$text make -s plan R="$R/$n" > "$BATS_TEST_TMPDIR/log" 2>&1 || { echo "<$name>, environment:"; cat "$BATS_TEST_TMPDIR/log"; false; }
        link=$(find "$R/$n/input" -name '*.gguf')
        [ "$(readlink "$link")" = "$model" ]
        [ "$(readlink "$R/$n/input/text.txt")" = "$text" ]
        [[ ${link##*/} =~ ^[A-Za-z0-9_][A-Za-z0-9._-]*\.gguf$ ]] || { echo "$name: $link"; false; }
        grep -q '^tokens' "$R/$n/plan.tsv"
    done < <(names)
    [ "$n" -ge 20 ]
}

# bats test_tags=full
@test "the same on the command line of make, with relative names too" {
    n=0
    mkdir "$BATS_TEST_TMPDIR/at"
    while IFS= read -r name; do
        [[ $name != " "* ]] || continue # make drops blanks before a value
        n=$((n + 1))
        cp -- "$D/plain.txt" "$BATS_TEST_TMPDIR/at/${name/EXT/txt}"
        relative=$(realpath --relative-to=. "$BATS_TEST_TMPDIR/at")/${name/EXT/txt}
        make -s plan R="$R/$n" MODEL="$GOOD" TEXT="$relative" > "$BATS_TEST_TMPDIR/log" 2>&1 || { echo "<$name>:"; cat "$BATS_TEST_TMPDIR/log"; false; }
        cmp "$R/$n/input/text.txt" "$D/plain.txt"
    done < <(names)
    [ "$n" -ge 20 ]
}

@test "unusual names have their own folders; plain names keep theirs" {
    [ "$(make -s print-report)" = results/geodec-stories-f16/report/index.html ]
    [ "$(make -s print-report MODEL="$GOOD" QUICK=1)" = results/geodec-stories-q8_0-quick/report/index.html ]
    seen=
    while IFS= read -r name; do
        model=$D/${name/EXT/gguf}
        [ -e "$model" ] || cp -- "$GOOD" "$model"
        at=$(MODEL=$model make -s print-report)
        [[ $at =~ ^results/[A-Za-z0-9_][A-Za-z0-9._-]*/report/index.html$ ]] || { echo "$name: $at"; false; }
        [[ $seen != *" $at "* ]] || { echo "$name shares $at"; false; }
        seen+=" $at "
    done < <(names)
}

@test "run_all.sh passes the names on unchanged" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\nprintf "<%%s>" "$MODEL" "$TEXT" "$@"; echo\n' > "$BATS_TEST_TMPDIR/bin/make"
    chmod +x "$BATS_TEST_TMPDIR/bin/make"
    while IFS= read -r name; do
        text=$D/${name/EXT/txt}
        cp -- "$D/plain.txt" "$text"
        run env PATH="$BATS_TEST_TMPDIR/bin:$PATH" ./run_all.sh --jobs 1 --quick MODEL="$GOOD" TEXT="$text" SEED=3
        [ "$status" -eq 0 ]
        [ "${lines[1]}" = "<$GOOD><$text><-j1><results><QUICK=1><SEED=3>" ] || { echo "$name: ${lines[1]}"; false; }
    done < <(names)
}

@test "files that cannot be used are refused by name before anything runs" {
    newline=$D/$'a\ntouch executed'.txt tab=$D/$'a\tb'.txt
    cp "$D/plain.txt" "$newline"
    cp "$D/plain.txt" "$tab"
    mkdir -p "$D/folder.txt"
    for text in "$newline" "$tab" "$D/none.txt" "$D/folder.txt" "$D/\$(touch executed)none"; do
        for how in make run_all; do
            if [ $how = make ]; then run env TEXT="$text" MODEL="$GOOD" make -s plan R="$R"; else run ./run_all.sh MODEL="$GOOD" TEXT="$text" R="$R"; fi
            [ "$status" -ne 0 ]
            [[ "$output" == *TEXT* ]] || { echo "$output"; false; }
            [ ! -e "$R" ]
        done
    done
    for r in 'a b' 'a;touch executed' '$(shell touch executed)' '-x'; do
        run env MODEL="$GOOD" make -s plan R="${r//\$/\$\$}"
        [ "$status" -ne 0 ] && [[ "$output" == *"R: letters"* ]] || { echo "$r: $output"; false; }
    done
}

@test "another model of the same name is detected and has its own plan" {
    mkdir -p "$D/one" "$D/two"
    cp "$GOOD" "$D/one/m.gguf"
    cp data/model/geodec-stories-f16.gguf "$D/two/m.gguf"
    make -s plan R="$R" MODEL="$D/one/m.gguf" TEXT="$D/plain.txt" > /dev/null
    run make -s plan R="$R" MODEL="$D/two/m.gguf" TEXT="$D/plain.txt"
    [ "$status" -eq 0 ]
    [[ "$output" == *"m.gguf: was "*"/one/m.gguf, is now "*"/two/m.gguf"* ]]
    [[ "$output" == *"RUN   plan.tsv"* ]]
    run make -s plan R="$R" MODEL="$D/two/m.gguf" TEXT="$D/plain.txt"
    [[ "$output" != *RUN* ]]
}
