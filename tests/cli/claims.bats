#!/usr/bin/env bats
# geodec-value, geodec-claims and geodec-verdict: references, the table of claims, the headline.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_h5" "$BATS_FILE_TMPDIR"
}

setup() {
    dir=$BATS_FILE_TMPDIR
    head=$'id\tsection\tclaim\tpublished\treproduced\texports\tmodel\tcontrol\tverdict'
}

claims() { "$bin/geodec-claims" --root "$dir" "$@"; }

@test "value: attributes, elements and rows agree with geodec-table" {
    want=$("$bin/geodec-table" "$dir/good.h5" token | sed -n 3p)
    run --separate-stderr "$bin/geodec-value" --root "$dir" 'good.h5#token[1]' good.h5#n_vocab
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = "good.h5#token[1]"$'\t'"$want" ]
    [ "${lines[2]}" = "good.h5#n_vocab"$'\t'"$("$bin/geodec-table" --attrs "$dir/good.h5" | sed -n 's/^n_vocab\t//p')" ]
    run --separate-stderr "$bin/geodec-value" <<< "$dir/good.h5#token[1]"
    [ "$status" -eq 0 ]
    [ "${lines[1]#*$'\t'}" = "$want" ]
}

@test "value: cells of tables" {
    printf 'name\tsome\tsome_more\nplain\t1\t2.5\nfitted\t3\t-\nshort\t4\n' > "$dir/t.tsv"
    run --separate-stderr "$bin/geodec-value" --root "$dir" 't.tsv#some_more[0]' 't.tsv#some[2]' 't.tsv#name[1]' 't.tsv#some_more[1]'
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = $'t.tsv#some_more[0]\t2.5' ]
    [ "${lines[2]}" = $'t.tsv#some[2]\t4' ]
    [ "${lines[3]}" = $'t.tsv#name[1]\tfitted' ]
    [ "${lines[4]}" = $'t.tsv#some_more[1]\t-' ]
    for reference in 't.tsv#more[0]' 't.tsv#some[3]' 't.tsv#some_more[2]' 't.tsv#some' 'u.tsv#some[0]'; do
        run --separate-stderr "$bin/geodec-value" --root "$dir" "$reference"
        [ "$status" -ne 0 ]
        [[ "$stderr" == *".tsv"* ]]
    done
    run --separate-stderr "$bin/geodec-value" --root "$dir" --missing - 'u.tsv#some[0]'
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = $'u.tsv#some[0]\t-' ]
}

@test "value: rows of tables by key" {
    printf 'case\tcontext\tratio\nmerged 0.15\t128\t1.5\nmerged 0.15\t256\t1.25\nmerged 0.3\t256\t2\nmerged 0.3\t256.0\t3\n' > "$dir/kv.tsv"
    run --separate-stderr "$bin/geodec-value" --root "$dir" 'kv.tsv#ratio{case=merged 0.15,context=256}' 'kv.tsv#ratio{case=merged 0.15,context~200}'
    [ "$status" -eq 0 ]
    [ "${lines[1]#*$'\t'}" = 1.25 ]
    [ "${lines[2]#*$'\t'}" = 1.25 ]
    run --separate-stderr "$bin/geodec-value" --root "$dir" 'kv.tsv#ratio{case=merged 0.3,context=256}'
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"2 rows with case=merged 0.3,context=256"* ]]
    run --separate-stderr "$bin/geodec-value" --root "$dir" --missing - 'kv.tsv#ratio{case=merged 0.15,context=512}'
    [ "$status" -eq 0 ]
    [ "${lines[1]#*$'\t'}" = - ]
    run --separate-stderr "$bin/geodec-value" --root "$dir" --missing - 'kv.tsv#ratio{window=512}'
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"no column 'window'"* ]]
    echo "the text has 3 documents" > "$dir/kv.tsv.not-measured"
    run --separate-stderr "$bin/geodec-value" --root "$dir" 'kv.tsv#ratio{case=merged 0.15,context=256}'
    rm "$dir/kv.tsv.not-measured"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"the text has 3 documents"* ]]
}

@test "value: a missing value is an error, or the word of --missing" {
    for reference in good.h5#nothing 'good.h5#token' 'good.h5#token[100000]' 'good.h5#token[-100000]' good.h5 none.h5#x; do
        run --separate-stderr "$bin/geodec-value" --root "$dir" "$reference"
        [ "$status" -ne 0 ]
        [[ "$stderr" == *"geodec-value: "* ]]
    done
    run --separate-stderr "$bin/geodec-value" --root "$dir" --missing - none.h5#x
    [ "$status" -eq 0 ]
    [ "${lines[1]}" = $'none.h5#x\t-' ]
    # an index from the end
    [ "$("$bin/geodec-value" --root "$dir" 'good.h5#token[-1]' | sed -n '2s/.*\t//p')" = "$("$bin/geodec-table" "$dir/good.h5" token | tail -n 1)" ]
    # a value that cannot exist does not count as missing
    for reference in 'good.h5#token[100000]' good.h5#nothing; do
        run --separate-stderr "$bin/geodec-value" --root "$dir" --missing - "$reference"
        [ "$status" -ne 0 ]
    done
}

@test "claims: the first rule that holds decides, and a missing value decides nothing" {
    vocab=$("$bin/geodec-value" --root "$dir" good.h5#n_vocab | sed -n '2s/.*\t//p')
    { echo "$head"
      printf 'a\t1\tc\t%s\tgood.h5#n_vocab\t-\t-\t-\treproduced if same(R, P, 0): {R} as printed;; refuted if !same(R, P, 0): no;; untestable: gone\n' "$vocab"
      printf 'b\t1\tc\t%s\tgood.h5#n_vocab\t-\t-\t-\treproduced if same(R, P, 0): yes;; not reproduced if !same(R, P, 0): {R}, not {P};; untestable: gone\n' "$((vocab + 1))"
      printf 'c\t1\tc\t5 %%\tnone.h5#x\t-\t-\t-\treproduced if R < P: yes;; holds if P == 5 && R > 6: read;; untestable: gone\n'
      printf 'd\t1\tc\t5\t-\t-\t@MODEL/good.h5#n_vocab\t-\tholds if abs(M) > 0 && M > P: {M};; refuted if M < P: no;; untestable: gone\n'
      printf 'e\t1\tc\t5\tnone.h5#x\t-\tgood.h5#n_vocab\t-\trefuted if known(R) && R < 3: no;; holds if M > P: {M};; untestable: gone\n'
      printf 'f\t1\tc\tNaN\tgood.h5#n_vocab\t-\t-\t-\treproduced if isnan(P) && R > 0: both;; refuted if R == 0: no;; untestable: gone\n'
      printf 'g\t1\tc\t5\tgood.h5#n_vocab\t-\t-\t-\treproduced if R == P: yes;; refuted if R < P: no;; untestable: gone\n'
    } > "$dir/good.tsv"
    run --separate-stderr claims "$dir/good.tsv"
    [ "$status" -eq 0 ]
    [ "$(cut -f 9 <<< "$output" | tr '\n' ' ')" = "verdict reproduced not reproduced untestable holds holds reproduced undecidable " ]
    [ "$(sed -n 2p <<< "$output" | cut -f 10)" = "$vocab as printed" ]
    [ "$(sed -n 4p <<< "$output" | cut -f 5)" = "-" ]
    [ "$(sed -n 4p <<< "$output" | cut -f 10)" = "gone (R: no file none.h5)" ]
    printf '%s\n' "$output" > "$dir/claims.tsv"
    run sh pipelines/claims/make-page "$dir/claims.tsv" "model <x>"
    [ "$status" -eq 0 ]
    [[ "$output" == *"model &lt;x&gt;"* ]]
    [[ "$output" == *"of 7 claims"* ]]
    [[ "$output" == *"undecidable 1"* ]]
    [[ "$output" == *'<span class="verdict not-reproduced">not reproduced 1</span>'* ]]
    [[ "$output" == *"<p>7 of the claims have a published figure. 5 of these were decided here; 2 were not"* ]]
}

@test "claims: a broken reference is an error of its row only" {
    { echo "$head"
      printf 'a\t1\tc\t5\tgood.h5#n_vocabulary\t-\t-\t-\treproduced if R == P: yes;; refuted if R != P: no;; untestable: gone\n'
      printf 'b\t1\tc\t5\tgood.h5#n_vocab\t-\t-\t-\treproduced if R == P: yes;; refuted if R != P: no;; untestable: gone\n'
      printf 'c\t1\tc\t5\t-\t-\t-\tgood.h5#token[100000]\trefuted if C < P: yes;; holds if C > P: no;; untestable: gone\n'
    } > "$dir/broken-rows.tsv"
    run --separate-stderr claims "$dir/broken-rows.tsv"
    [ "$status" -eq 0 ]
    [ "$(cut -f 9 <<< "$output" | tr '\n' ' ')" = "verdict error refuted error " ]
    [[ "$(sed -n 2p <<< "$output" | cut -f 10)" == "broken reference: good.h5#n_vocabulary: "* ]]
    [[ "$stderr" == *"a: broken reference: "* ]]
    [[ "$stderr" == *"c: broken reference: "* ]]
    run --separate-stderr claims --strict "$dir/broken-rows.tsv"
    [ "$status" -eq 4 ]
    [ "$(wc -l <<< "$output")" -eq 4 ]
}

@test "claims: a damaged fragment is refused by file and row" {
    bad() {
        printf '%s\n' "$@" > "$dir/bad.tsv"
        run --separate-stderr claims "$dir/bad.tsv"
        [ "$status" -ne 0 ]
        [[ "$stderr" == *"bad.tsv: "* ]]
    }
    bad "id"
    bad "$head" $'a\t1\tc\t1'
    good='holds if P > 0: x;; refuted if P < 0: y;; untestable: z'
    printf '%s\n' "$head"$'\tpower' $'a\t1\tc\t1\t-\t-\tgood.h5#n_vocab\t-\tholds if M > 0: x;; refuted if M < 0: y;; untestable: z\t-: a size' > "$dir/bad.tsv"
    run --separate-stderr claims --check "$dir/bad.tsv"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    bad "$head" $'a\t1\tc\t1\tnoreference\t-\t-\t-\t'"$good"
    bad "$head" $'a\t1\tc\t1\t-\t-\t-\t-\tmaybe: x'
    bad "$head" $'a\t1\tc\t1\t-\t-\t-\t-\tholds if P > 0: x'
    bad "$head" $'a\t1\tc\t1\t-\t-\t-\t-\tholds: x'
    bad "$head" $'a\t1\tc\t1\tx.tsv#c[3]\t-\t-\t-\treproduced if R == P: x;; refuted if R != P: y;; untestable: z'
    bad "$head" $'a\t1\tc\t1\tx.h5#c\t-\t-\t-\treproduced if R > 0: x;; refuted if R != P: y;; untestable: z'
    bad "$head" $'a\t1\tc\t1\tx.h5#c\t-\t-\t-\tartefact if R > 0: x;; artefact if R <= 0: y;; untestable: z'
    bad "$head" $'a\t1\tc\t1\t-\t-\tx.h5#c\t-\tholds if system(M): x;; refuted if M != P: y;; untestable: z'
    bad "$head" $'a\t1\tc\t1\t-\t-\t-\t-\tundecidable: x' $'a\t1\tc\t1\t-\t-\t-\t-\tundecidable: x'
}

@test "the committed lists of rules are valid" {
    run "$bin/geodec-claims" --check pipelines/claims/*.tsv pipelines/lab/*/claims.tsv
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run "$bin/geodec-verdict" --check pipelines/report/headline*.tsv pipelines/lab/*/headline*.tsv
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run grep -nE '\.tsv#[^\t;{]*\[' pipelines/claims/*.tsv pipelines/lab/*/claims.tsv pipelines/report/headline*.tsv pipelines/lab/*/headline*.tsv
    [ "$status" -eq 1 ]
}

@test "headline: an empty folder, and one without data, measure nothing" {
    mkdir -p "$dir/nothing"
    run --separate-stderr "$bin/geodec-verdict" --data "$dir/nothing" --root "$dir/nothing" pipelines/report/headline*.tsv
    [ "$status" -eq 0 ]
    [ "$(wc -l <<< "$output")" -ge 19 ]
    [ "$(cut -f 5 <<< "$output" | sed '1d; s/:.*//' | sort -u)" = "not measured" ]
    [[ "$output" == *"no file validity.h5"* ]]
    echo "a cloud of 12 points is too small" > "$dir/nothing/validity.h5.not-measured"
    run --separate-stderr "$bin/geodec-verdict" --root "$dir/nothing" pipelines/report/headline.tsv
    [ "$status" -eq 0 ]
    [[ "$(grep ^validity <<< "$output")" == *"not measured: s: a cloud of 12 points is too small"* ]]
    printf '%s\n' "$output" > "$dir/headline.tsv"
    : > "$dir/none.tsv"
    run pipelines/report/make-report "$dir/none.tsv" "$dir/none.tsv" "$dir/headline.tsv" "$dir/none.tsv" "$dir/nothing"
    [ "$status" -eq 0 ]
    [[ "$output" == *'<span class="verdict not-measured">not measured</span> s: a cloud of 12 points'* ]]
}

@test "report: rows of the model and of the program have a page each, with folded commands, links to figures and a warning" {
    root=$dir/page
    mkdir -p "$root/fig"
    printf 'model\tmine.gguf\n' > "$root/inputs.tsv"
    printf 'validity\tValidity of the propagators\ttext\nstreaming-slots\tSlots\ttext\n' > "$root/figures.tsv"
    { printf 'key\tquantity\tvalue\tcontrol\tverdict\tcommand\n'
      printf 'validity\tSlope\t2\t2\tholds: second order\tgeodec-validity <x>\n'
      printf 'exactness\tTokens\t1 of 9\tplain\tbroken: drafts changed it\tgeodec-bench-decode\n'
      printf 'streaming-hits\tHits\t0.3\t0.2\tholds: more\tslots.tsv\nperspective-exact\tTexts\t1\t1\tholds: same\tmodel.tsv\n'
      printf 'integer-bits\tBits\t1\t1\trefuted: more\tbits.tsv\ninteger-hashes\tResults\t1\t1\tholds: one\thashes.tsv\n'
    } > "$root/headline.tsv"
    for unknown in absent 0.005 0.03 0.5; do
        printf 'name\tvalue\treason\ndocuments\t3\tlines\n' > "$root/plan.tsv"
        [ $unknown = absent ] || printf 'unknown_share\t%s\tof the tokens\n' $unknown >> "$root/plan.tsv"
        pipelines/report/make-report "$root/inputs.tsv" "$root/plan.tsv" "$root/headline.tsv" "$root/figures.tsv" "$root" > "$root/$unknown.html"
    done
    pipelines/report/make-report --program "$root/inputs.tsv" "$root/plan.tsv" "$root/headline.tsv" "$root/figures.tsv" "$root" > "$root/program.html"
    rows() { grep -o '^<tr id="[^"]*' "$1" | cut -d '"' -f 2 | tr '\n' ' '; }
    [ "$(rows "$root/absent.html")" = "validity exactness integer-bits " ]
    [ "$(rows "$root/program.html")" = "streaming-hits integer-hashes perspective-exact " ]
    grep -q '<details><summary>command</summary><code>geodec-validity &lt;x&gt;</code></details> <a href="#fig-validity">' "$root/absent.html"
    grep -q '<figure id="fig-validity">' "$root/absent.html"
    run grep 'fig-streaming-slots' "$root/absent.html"
    [ "$status" -eq 1 ]
    grep -q '<figure id="fig-streaming-slots">' "$root/program.html"
    grep -q '<span class="verdict broken">broken</span> drafts changed it' "$root/absent.html"
    # every link of the page has its place
    for page in absent program; do
        for id in $(grep -o 'href="#[^"]*' "$root/$page.html" | cut -d '#' -f 2 | sort -u); do grep -q "id=\"$id\"" "$root/$page.html"; done
    done
    [ "$(grep -l 'class="warning"' "$root"/*.html | xargs -n 1 basename | tr '\n' ' ')" = "0.03.html 0.5.html " ]
    grep -q '50.0 % of the tokens of the text are unknown to the model. The rows that depend on the text are not measured' "$root/0.5.html"
}

@test "report: the perplexity of documents, of windows, and its controls" {
    printf '%s\n' 'Tom went home. Mia was there.' '<|endoftext|>' 'Tom had a red ball.' '<|endoftext|>' 'Mia ran to the door.' > "$dir/stories.txt"
    run pipelines/report/perplexity "$bin" data/model/geodec-stories-f16.gguf "$dir/stories.txt" mark 2 "$dir/p"
    [ "$status" -eq 0 ]
    printf '%s\n' "$output" > "$dir/perplexity.tsv"
    of() { "$bin/geodec-value" --root "$dir" "perplexity.tsv#$1{what=text}" | sed -n '2s/.*\t//p'; }
    [ "$(of units)" = 2 ]
    [ "$(of bytes)" = 50 ]
    # the sum over documents that geodec-perplexity gives for each alone
    printf 'Tom went home. Mia was there.\n' > "$dir/one.txt"
    printf 'Tom had a red ball.\n' > "$dir/two.txt"
    "$bin/geodec-perplexity" --quiet --model data/model/geodec-stories-f16.gguf "$dir/one.txt" "$dir/two.txt" > "$dir/rows.tsv"
    want=$(awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i} NR > 1 {s += $at["nll"] * $at["tokens"]; b += $at["bytes"]} END {print s / b / log(2)}' "$dir/rows.tsv")
    awk "BEGIN {d = $(of bits) - $want; exit !(d < 1e-5 && d > -1e-5)}"
    # the first byte costs 8 bits under the model of bytes; a repeated byte little
    printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' > "$dir/a.txt"
    run pipelines/report/perplexity "$bin" data/model/geodec-stories-f16.gguf "$dir/a.txt" none 2 "$dir/p"
    awk "BEGIN {x = $(cut -f 9 <<< "${lines[1]}"); exit !(x > 8 / 64 && x < 0.3)}"
    printf '\n \n' > "$dir/blank.txt"
    run pipelines/report/perplexity "$bin" data/model/geodec-stories-f16.gguf "$dir/blank.txt" blank 2 "$dir/p"
    [ "$status" -eq 5 ]
}

@test "headline: the nearest measured draft length is used, and an invalid number decides nothing" {
    root=$dir/bench
    mkdir -p "$root"
    bench() { # speedup low high of the flow map at draft length 8
        printf 'drafter\tgamma\tmode\tsetting\tspeedup\tspeedup_low\tspeedup_high\nflowmap\t1\tgreedy\tloop\t9\t9\t9\n'
        printf 'flowmap\t8\tgreedy\tloop\t%s\t%s\t%s\nngram\t8\tgreedy\tloop\t1.1\t1\t1.2\n' "$@"
    }
    head -n 1 pipelines/report/headline.tsv > "$root/rules.tsv"
    grep ^speedup pipelines/report/headline.tsv | sed 's/benchdecode.h5#prompts/size.tsv#n{what=prompts}/' >> "$root/rules.tsv"
    printf 'what\tn\nprompts\t10\n' > "$root/size.tsv"
    while read -r s low high word; do
        bench "$s" "$low" "$high" > "$root/benchdecode.tsv"
        sed -i '/^flowmap\t1\t/d' "$root/benchdecode.tsv"
        run --separate-stderr "$bin/geodec-verdict" --root "$root" "$root/rules.tsv"
        [ "$status" -eq 0 ]
        [[ "${lines[1]}" == *"draft length 8"* ]]
        [ "$(cut -f 5 <<< "${lines[1]}" | sed 's/:.*//')" = "${word//_/ }" ]
    done <<'END'
1.5 1.2 1.7 holds
1.0 0.9 1.1 mixed
0.8 0.7 0.9 refuted
nan 0.7 0.9 not_measured
0.8 inf 0.9 not_measured
0.8 0.7 - not_measured
0.8 0.7 many not_measured
END
}

@test "headline: a small sample and an unreadable text decide nothing, except that something is broken" {
    root=$dir/sample
    mkdir -p "$root"
    printf 'key\tquantity\tvalues\tvalue\tcontrol\trule\tleast\tcommand\n' > "$root/rules.tsv"
    printf 'q\tquantity\ta=v.tsv#a{k=1}; n=v.tsv#n{k=1}\t{a}\tnone\t%s\ttext; n >= 10 texts\t-\n' \
        'broken if a < 0: it is wrong;; holds if a > 1: more;; refuted: less' >> "$root/rules.tsv"
    judge() { # a n unknown: the verdict
        printf 'k\ta\tn\n1\t%s\t%s\n' "$1" "$2" > "$root/v.tsv"
        printf 'name\tvalue\treason\ntokens\t400\tas asked for\n' > "$root/plan.tsv"
        [ "$3" = absent ] || printf 'unknown_share\t%s\tof the text\n' "$3" >> "$root/plan.tsv"
        "$bin/geodec-verdict" --root "$root" "$root/rules.tsv" | sed -n 2p | cut -f 5
    }
    [ "$(judge 2 10 absent)" = "holds: more" ]
    [ "$(judge 0 10 0.1)" = "refuted: less" ]
    [ "$(judge 2 10 nan)" = "holds: more" ]
    [ "$(judge 2 7 0)" = "not measured: needs 10 texts, has 7" ]
    [ "$(judge 0 9 0)" = "not measured: needs 10 texts, has 9" ]
    [ "$(judge 2 100 0.9)" = "not measured: 90.0 % of the tokens of the text are unknown to the model; at most 10 % may be" ]
    [ "$(judge -1 1 0.9)" = "broken: it is wrong" ]
    [[ "$(judge 2 - 0)" == "not measured: n: "* ]]
    [[ "$(judge nan 10 0)" == "not measured: a: "* ]]
}
