#!/usr/bin/env bats
# geodec-quantize: models that load and keep their likelihood, the table of errors, overrides, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export f16=$PWD/data/model/geodec-stories-f16.gguf
    export q8=$PWD/data/model/geodec-stories-q8_0.gguf
    export mixture=$PWD/data/model/geodec-mixture-f16.gguf
    printf 'The cat and the dog went to the river. They were happy all day.' >"$BATS_FILE_TMPDIR/text"
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    text=$BATS_FILE_TMPDIR/text
}

# column NAME FILE: prints one column of a TSV table without its header.
column() { awk -F'\t' -v name="$1" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) c = i} NR > 1 {print $c}' "$2"; }

# nll MODEL: prints the mean negative log-likelihood of the text.
nll() { "$bin/geodec-perplexity" --quiet --model "$1" "$text" >nll.tsv && column nll nll.tsv; }

@test "a model in every type loads, and its likelihood falls with the number of bits" {
    base=$(nll "$f16")
    for case in q8_0:0.01 q6_k:0.02 q5_k:0.05 q5_0:0.05 q4_k_m:0.3 q4_0:0.3 iq4_xs:0.3 mxfp4:0.6 bf16:0.02; do
        t=${case%:*}
        "$bin/geodec-quantize" --quiet --type "$t" -o "$t.gguf" "$f16" >"$t.tsv"
        awk -v a="$base" -v b="$(nll "$t.gguf")" -v most="${case#*:}" -v t="$t" \
            'BEGIN {d = b - a; print t, a, b; exit !(d < most && d > -most)}'
    done
    "$bin/geodec-quantize" --quiet --type tq2_0 --pure -o tq2_0.gguf "$f16" >tq2_0.tsv
    "$bin/geodec-model-info" tq2_0.gguf >/dev/null
    # fewer bits give a larger error, in this order for every tensor that changed in all of them
    for t in bf16 q8_0 q5_0 q4_0; do awk -F'\t' '$1 == "blk.0.ffn_up.weight" {print $8}' "$t.tsv"; done >errors
    [ "$(sort -g errors)" = "$(cat errors)" ]
    [ "$(sort -u errors | wc -l)" -eq 4 ]
}

@test "the table: changed tensors with both controls, unchanged ones without error; JSON has the same values" {
    "$bin/geodec-quantize" --quiet --type q4_0 --json out.json -o out.gguf "$f16" >out.tsv
    [ "$(head -1 out.tsv)" = "$(printf 'tensor\tfrom\tto\tvalues\tbytes\tsize\trms\trelative\tlargest\tcosine\tnearest_rms\tq8_0_rms')" ]
    awk -F'\t' 'NR > 1 && $2 != $3 {n++; if (!($7 > 0 && $7 <= $11 && $12 <= $7 && $10 > 0.99 && $9 >= $7)) bad = 1}
        NR > 1 && $2 == $3 {k++; if ($7 != 0 || $10 != 1) bad = 1} END {exit !(n > 10 && k > 2 && !bad)}' out.tsv
    [ "$(grep -c '"tensor"' out.json)" -eq "$(($(wc -l <out.tsv) - 1))" ]
    grep -q "\"rms\": $(awk -F'\t' '$1 == "blk.0.ffn_up.weight" {print $7}' out.tsv)" out.json
}

@test "plain rounding is the control: its table is the nearest_rms column of the search" {
    "$bin/geodec-quantize" --quiet --type q4_0 -o a.gguf "$f16" >a.tsv
    "$bin/geodec-quantize" --quiet --type q4_0 --nearest -o b.gguf "$f16" >b.tsv
    [ "$(column nearest_rms a.tsv)" = "$(column rms b.tsv)" ]
}

@test "the same bytes with any number of threads" {
    for n in 1 2 3; do
        "$bin/geodec-quantize" --quiet --threads "$n" --type q4_0 -o "t$n.gguf" "$f16" >"t$n.tsv"
    done
    cmp t1.gguf t2.gguf
    cmp t1.gguf t3.gguf
    cmp t1.tsv t2.tsv
    cmp t1.tsv t3.tsv
}

@test "Q8_0 of the F16 model has matrices of the type and size of the Q8_0 model; a second run changes nothing" {
    "$bin/geodec-quantize" --quiet --type q8_0 -o a.gguf "$f16" >/dev/null
    "$bin/geodec-quantize" --quiet --type q8_0 -o b.gguf a.gguf >b.tsv
    cmp a.gguf b.gguf
    [ "$(column rms b.tsv | sort -u)" = 0 ]
    list() { "$bin/geodec-model-info" --tensors "$1" | awk -F'\t' 'NF == 3'; }
    [ "$(list a.gguf)" = "$(list "$q8")" ]
}

@test "overrides" {
    "$bin/geodec-quantize" --quiet --type q4_0 --tensor 'blk.0.*=F16,*ffn_up*=q5_1' -o a.gguf "$f16" >a.tsv
    [ "$(awk -F'\t' '$1 ~ /^blk.0/ && $3 != "F16"' a.tsv)" = "" ]
    [ "$(awk -F'\t' '$1 == "blk.1.ffn_up.weight" {print $3}' a.tsv)" = Q5_1 ]
    for bad in x '*=q3_k' 'nothing=f16' '=f16'; do
        run --separate-stderr "$bin/geodec-quantize" --type q4_0 --tensor "$bad" -o b.gguf "$f16"
        [ "$status" -eq 2 ] && [ -z "$output" ] && [ ! -e b.gguf ] || { echo "$bad: $status $stderr"; false; }
    done
}

@test "types that are read but not written are refused by name" {
    for t in iq1_s iq1_m iq2_xxs iq2_xs iq2_s iq3_xxs iq3_s nvfp4 q1_0 q2_0; do
        run --separate-stderr "$bin/geodec-quantize" --type "$t" -o a.gguf "$f16"
        [ "$status" -eq 2 ] && [[ "$stderr" == *"$t"* ]] && [ ! -e a.gguf ] || { echo "$t: $status $stderr"; false; }
        run --separate-stderr "$bin/geodec-quantize" --type q4_0 --tensor "*ffn_up*=$t" -o a.gguf "$f16"
        [ "$status" -eq 2 ] && [[ "$stderr" == *"type '$t' cannot be written"* ]] && [ ! -e a.gguf ] || { echo "$t: $status $stderr"; false; }
    done
}

@test "mxfp4 is the type of experts, with Q8_0 beside them" {
    "$bin/geodec-quantize" --quiet --type mxfp4 -o a.gguf "$mixture" >a.tsv
    [ "$(awk -F'\t' 'NR > 1 && $1 ~ /_exps/ {print $3}' a.tsv | sort -u)" = MXFP4 ]
    [ "$(awk -F'\t' 'NR > 1 && $1 !~ /_exps/ && $2 != $3 {print $3}' a.tsv | sort -u)" = Q8_0 ]
    nll a.gguf >/dev/null
}

@test "no file is overwritten, and no partial file is left" {
    echo old >old.gguf
    run --separate-stderr "$bin/geodec-quantize" --type q4_0 -o old.gguf "$f16"
    [ "$status" -ne 0 ]
    [ "$(cat old.gguf)" = old ]
    [[ "$stderr" == *old.gguf* ]]
    run --separate-stderr "$bin/geodec-quantize" --type q4_0 -o new.gguf "$text"
    [ "$status" -eq 3 ]
    [ ! -e new.gguf ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run --separate-stderr "$bin/geodec-quantize" --type q4_0 "$f16"
    [ "$status" -eq 2 ]
    [ "$(find . -name '*gguf*' -o -name '.*tmp')" = ./old.gguf ]
}
