#!/usr/bin/env bats
# geodec-integer-shim: which configurations change a model, that the result loads, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export model=$PWD/data/model/geodec-stories-f16.gguf
}

setup() { cd "$BATS_TEST_TMPDIR"; }

# shim CONFIG READING: writes CONFIG-READING.gguf and .tsv.
shim() { "$bin/geodec-integer-shim" --quiet --config "$1" --reading "$2" --bits 10 -o "$1-$2.gguf" "$model" >"$1-$2.tsv"; }

@test "only reading 2 of Config B changes a model, and it loads" {
    for reading in 1 2; do for config in none B E; do shim $config $reading; done; done
    for same in E-1 E-2 B-1 none-2; do cmp none-1.gguf $same.gguf; done
    run ! cmp -s none-1.gguf B-2.gguf
    awk -F'\t' 'NR > 1 && $6 != 0 {exit 1}' E-2.tsv
    awk -F'\t' 'NR > 1 && $6 < $3 / 2 {exit 1} END {exit NR < 2}' B-2.tsv
    printf 'The cat and the dog went to the river. They were happy all day.' >text
    "$bin/geodec-perplexity" --quiet --model none-1.gguf --against B-2.gguf text >both.tsv
    awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "kl") c = i} NR == 2 {exit !($c > 0 && $c < 0.01)}' both.tsv
}

@test "codes of 40 bits keep a binary16 model; fewer bits err more" {
    "$bin/geodec-integer-shim" --quiet --config none --bits 40 -o wide.gguf "$model" >wide.tsv
    awk -F'\t' 'NR > 1 && $8 != 0 {exit 1}' wide.tsv
    "$bin/geodec-integer-shim" --quiet --config none --bits 4 -o narrow.gguf "$model" >narrow.tsv
    awk -F'\t' 'NR > 1 && !($8 > 0.01 * $4) {exit 1}' narrow.tsv
}

@test "refusals leave no file" {
    run -1 "$bin/geodec-integer-shim" --quiet --tensor 'none.*' -o out.gguf "$model"
    [[ "$output" == *"no matrix is named 'none.*'"* ]]
    run -2 "$bin/geodec-integer-shim" --quiet --bits 63 -o out.gguf "$model"
    run -2 "$bin/geodec-integer-shim" --quiet --reading 3 -o out.gguf "$model"
    run -2 "$bin/geodec-integer-shim" --quiet --config C -o out.gguf "$model"
    head -c 100000 "$model" >cut.gguf
    run -3 "$bin/geodec-integer-shim" --quiet -o out.gguf cut.gguf
    [ ! -e out.gguf ]
    "$bin/geodec-integer-shim" --quiet -o kept.gguf "$model" >/dev/null
    cp kept.gguf before.gguf
    run "$bin/geodec-integer-shim" --quiet -o kept.gguf "$model"
    [ "$status" -ne 0 ]
    cmp kept.gguf before.gguf
}
