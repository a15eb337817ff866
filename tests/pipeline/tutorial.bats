#!/usr/bin/env bats
# docs/tutorial.md, executed: its ```sh blocks run in order, in one shell and a scratch folder in place of the clone. The output of a
# block is compared with the ```output block after it, in which ... matches any text.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    command -v gnuplot >/dev/null || return 0 # setup says it
    export dir=$BATS_FILE_TMPDIR
    mkdir -p "$dir/clone/build" "$dir/blocks"
    ln -s "$PWD/$B" "$dir/clone/build/release"
    ln -s "$PWD/data" "$dir/clone/data"
    awk -v dir="$dir/blocks" '
        /^```sh$/ { file = sprintf("%s/%02d.sh", dir, ++n); printf "" > file; next }
        /^```output$/ { file = sprintf("%s/%02d.expected", dir, n); printf "" > file; next }
        /^```/ { file = ""; next }
        file { print > file }' docs/tutorial.md
    cd "$dir/clone"
    for block in "$dir"/blocks/*.sh; do echo "{ . '$block'; } >'${block%.sh}.got' 2>&1 || exit 1"; done >"$dir/all"
    XDG_CACHE_HOME=$dir/cache timeout 600 bash "$dir/all" 3>&- || echo "$?" >"$dir/failed"
}

setup() {
    command -v gnuplot >/dev/null || skip "no gnuplot"
}

# same GOT EXPECTED: the texts are equal, except for "...".
same() {
    local got pattern
    got=$(cat "$1")
    pattern=$(sed -e 's/[][*?\\]/\\&/g' -e 's/[.][.][.]/*/g' "$2")
    # shellcheck disable=SC2053
    [[ $got == $pattern ]] || { diff "$2" "$1"; return 1; }
}

@test "every block of the tutorial runs" {
    [ "$(find "$dir/blocks" -name '*.sh' | wc -l)" -ge 10 ]
    [ ! -e "$dir/failed" ] || { tail -n 5 "$dir"/blocks/*.got; false; }
}

@test "the outputs of the blocks are those on the page" {
    [ "$(find "$dir/blocks" -name '*.expected' | wc -l)" -ge 10 ]
    for expected in "$dir"/blocks/*.expected; do
        [ -s "$expected" ] || [ ! -s "${expected%.expected}.got" ]
        same "${expected%.expected}.got" "$expected"
    done
}

@test "the comparison detects a changed digit" {
    echo "dimension 5.37 of 400 points" >"$dir/got"
    echo "dimension ... of 400 points" >"$dir/right"
    echo "dimension ... of 401 points" >"$dir/wrong"
    same "$dir/got" "$dir/right"
    run same "$dir/got" "$dir/wrong"
    [ "$status" -eq 1 ]
}

@test "the figure and the artifacts exist, and the statements of the page hold" {
    cd "$dir/clone/tutorial"
    grep -q '</svg>' dimension.svg
    geodec=$dir/clone/build/release/bin
    "$geodec/geodec-check" ./*.h5 drafting/*.h5
    # the dimension of the states with its whole interval is below that of the control
    awk 'END {exit !(NR == 4 && $4 < $5)}' dimension.tsv
    # no token differs, and the drafters are in the order of the page
    awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
        {pass[$at["drafter"]] = $at["tokens_per_pass"]; wrong += $at["mismatches"]}
        END {exit !(wrong == 0 && pass["bigram"] > 1 && pass["flowmap"] > pass["bigram"] && pass["ngram"] > pass["bigram"])}' bench.tsv
}
