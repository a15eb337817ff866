#!/usr/bin/env bats
# geodec-value, and the table of claims made with it (pipelines/claims).

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    "${B:-build/release}/tests/bad/make_bad_h5" "$BATS_FILE_TMPDIR"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=${B:-build/release}/bin
    dir=$BATS_FILE_TMPDIR
    head=$'id\tsection\tclaim\tpublished\treproduced\texports\tmodel\tcontrol\tverdict'
}

claims() { BIN=$bin RESULTS=$dir bash pipelines/claims/make-claims . "$@"; }

@test "value: attributes, elements and rows agree with geodec-table" {
    want=$("$bin/geodec-table" "$dir/good.h5" token | sed -n 3p)
    run --separate-stderr "$bin/geodec-value" --root "$dir" 'good.h5#token[1]' good.h5#n_vocab
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = "good.h5#token[1]"$'\t'"$want" ]
    [ "${lines[2]}" = "good.h5#n_vocab"$'\t'"$("$bin/geodec-table" --attrs "$dir/good.h5" | sed -n 's/^n_vocab\t//p')" ]
    run --separate-stderr "$bin/geodec-value" <<< "$dir/good.h5#token[1]"
    [ "$status" -eq 0 ] && [ "${lines[1]#*$'\t'}" = "$want" ]
}

@test "value: cells of tables" {
    printf 'name\tsome\tsome_more\nplain\t1\t2.5\nfitted\t3\t-\nshort\t4\n' > "$dir/t.tsv"
    run --separate-stderr "$bin/geodec-value" --root "$dir" 't.tsv#some_more[0]' 't.tsv#some[2]' 't.tsv#name[1]' 't.tsv#some_more[1]'
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = $'t.tsv#some_more[0]\t2.5' ] && [ "${lines[2]}" = $'t.tsv#some[2]\t4' ]
    [ "${lines[3]}" = $'t.tsv#name[1]\tfitted' ] && [ "${lines[4]}" = $'t.tsv#some_more[1]\t-' ]
    for reference in 't.tsv#more[0]' 't.tsv#some[3]' 't.tsv#some_more[2]' 't.tsv#some' 'u.tsv#some[0]'; do
        run --separate-stderr "$bin/geodec-value" --root "$dir" "$reference"
        [ "$status" -ne 0 ] && [[ "$stderr" == *".tsv"* ]]
    done
    run --separate-stderr "$bin/geodec-value" --root "$dir" --missing - 'u.tsv#some[0]'
    [ "$status" -eq 0 ] && [ "${lines[1]}" = $'u.tsv#some[0]\t-' ]
}

@test "value: what is not there is an error, or a word" {
    for reference in good.h5#nothing 'good.h5#token' 'good.h5#token[100000]' 'good.h5#token[-1]' good.h5 none.h5#x; do
        run --separate-stderr "$bin/geodec-value" --root "$dir" "$reference"
        [ "$status" -ne 0 ] && [[ "$stderr" == *"geodec-value: "* ]]
    done
    run --separate-stderr "$bin/geodec-value" --root "$dir" --missing - good.h5#nothing none.h5#x
    [ "$status" -eq 0 ] && [ "${lines[1]}" = $'good.h5#nothing\t-' ] && [ "${lines[2]}" = $'none.h5#x\t-' ]
    run --separate-stderr "$bin/geodec-value" --root "$dir" --missing - 'good.h5#token[100000]'
    [ "$status" -ne 0 ]
}

@test "claims: the first rule that holds counts, and a missing value holds nothing" {
    vocab=$("$bin/geodec-value" --root "$dir" good.h5#n_vocab | sed -n '2s/.*\t//p')
    { echo "$head"
      printf 'a\t1\tc\t%s\tgood.h5#n_vocab\t-\t-\t-\treproduced if same(R, P, 0): {R} as printed;; refuted: no\n' "$vocab"
      printf 'b\t1\tc\t%s\tgood.h5#n_vocab\t-\t-\t-\treproduced if same(R, P, 0): yes;; refuted: {R}, not {P}\n' "$((vocab + 1))"
      printf 'c\t1\tc\t5 %%\tnone.h5#x\t-\t-\t-\treproduced if R < 10: yes;; holds if P == 5: read;; untestable: no\n'
      printf 'd\t1\tc\t5\t-\t-\t@MODEL/good.h5#n_vocab\t-\tholds if abs(M) > 0 && M > P: {M};; untestable: no\n'
    } > "$dir/good.tsv"
    run --separate-stderr claims "$dir/good.tsv"
    [ "$status" -eq 0 ]
    [ "$(cut -f 9 <<< "$output" | tr '\n' ' ')" = "verdict reproduced refuted holds holds " ]
    [ "$(sed -n 2p <<< "$output" | cut -f 10)" = "$vocab as printed" ]
    [ "$(sed -n 4p <<< "$output" | cut -f 5)" = "-" ]
    printf '%s\n' "$output" > "$dir/claims.tsv"
    run sh pipelines/claims/make-page "$dir/claims.tsv" "model <x>"
    [ "$status" -eq 0 ] && [[ "$output" == *"model &lt;x&gt;"* ]] && [[ "$output" == *"of 4 claims"* ]]
}

@test "claims: a damaged fragment is refused by file and row" {
    bad() {
        printf '%s\n' "$@" > "$dir/bad.tsv"
        run --separate-stderr claims "$dir/bad.tsv"
        [ "$status" -ne 0 ] && [[ "$stderr" == *"bad.tsv: "* ]]
    }
    bad "id"
    bad "$head" $'a\t1\tc\t1'
    bad "$head" $'a\t1\tc\t1\tnoreference\t-\t-\t-\tholds: x'
    bad "$head" $'a\t1\tc\t1\t-\t-\t-\t-\tmaybe: x'
    bad "$head" $'a\t1\tc\t1\t-\t-\t-\t-\tholds if P > 0: x'
    bad "$head" $'a\t1\tc\t1\t-\t-\t-\t-\tholds: x' $'a\t1\tc\t1\t-\t-\t-\t-\tholds: x'
}

@test "the committed fragments are whole" {
    for f in pipelines/claims/*.tsv; do
        [ -e "$f" ] || skip "no fragments"
        awk -F'\t' -v OFS='\t' -v model=x -f pipelines/claims/rows.awk "$f" > /dev/null
    done
}
