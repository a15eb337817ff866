#!/usr/bin/env bats
# geodec-ternary convert: a trained model with its experts in TQ1_0 and TQ2_0 and back, stores of such files, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    local d=$BATS_FILE_TMPDIR
    "$bin/geodec-corpus" -q --stories 20 -o "$d/t.txt"
    "$bin/geodec-vocab" -q --size 260 -o "$d/v.gguf" "$d/t.txt"
    "$bin/geodec-train" -q --text "$d/t.txt" --held-out "$d/t.txt" --vocab "$d/v.gguf" --arch perspective --lattice 2,1,1 --d-model 256 --layers 4 \
        --heads 2 --kv-heads 1 --ff 256 --rank 4 --ctx 64 --batch 1 --length 16 --steps 1 --warmup 1 --eval-tokens 20 --type f16 -o "$d/m.gguf"
}

setup() {
    model=$BATS_FILE_TMPDIR/m.gguf
}

convert() { "$bin/geodec-ternary" -q convert "$@"; }
fingerprint() { "$bin/geodec-model-info" "$1" | awk -F'\t' '$1 == "fingerprint" {print $2}'; }
value() { awk -F'\t' -v k="$1" '$1 == k {print $2}' "$tmp/t"; }
text() { "$bin/geodec-decode" -q --artifacts none --prompt 'One day' -n 24 --min-tokens 24 "$@"; }

@test "there and back: the same tensors; the text of TQ1_0 is that of the F16 experts; the files have the sizes of the types" {
    text --model "$model" > "$tmp/plain"
    for type in tq1_0:54 tq2_0:66; do
        convert "$model" --type "${type%:*}" -o "$tmp/q.gguf" > "$tmp/t"
        [ "$(value largest_relative_error)" = 0 ]
        [ "$(value tensors)" = 9 ]
        [ "$(value bytes_before)" = $((2 * $(value weights))) ]
        [ "$(value bytes_after)" = $(($(value weights) / 256 * ${type#*:})) ]
        convert "$tmp/q.gguf" --type f16 -o "$tmp/back.gguf" > "$tmp/t"
        [ "$(fingerprint "$tmp/back.gguf")" = "$(fingerprint "$model")" ]
        text --model "$tmp/q.gguf" > "$tmp/text"
        [ "${type%:*}" = tq2_0 ] || cmp "$tmp/text" "$tmp/plain"
        rm "$tmp/q.gguf" "$tmp/back.gguf"
    done
    # geodec-quantize gives the experts the same bytes
    convert "$model" --type tq1_0 -o "$tmp/a.gguf" > "$tmp/t"
    "$bin/geodec-quantize" -q --type f16 --tensor '*_exps.weight=tq1_0' -o "$tmp/b.gguf" "$model" > "$tmp/t"
    [ "$(fingerprint "$tmp/a.gguf")" = "$(fingerprint "$tmp/b.gguf")" ]
}

@test "a store of a converted file has the blobs and the text of that of the F16 file" {
    text --model "$model" > "$tmp/plain"
    "$bin/geodec-ternary" -q build "$model" --differences -o "$tmp/f16.trits"
    for type in tq1_0 tq2_0; do
        convert "$model" --type "$type" -o "$tmp/q.gguf" > "$tmp/t"
        "$bin/geodec-ternary" -q build "$tmp/q.gguf" --differences -o "$tmp/q.trits"
        "$bin/geodec-ternary" -q verify "$tmp/q.trits"
        for f in expert_000.trit expert_001.trit delta_000_001.trd; do # without the header, which names the model
            tail -c +4097 "$tmp/f16.trits/$f" > "$tmp/one"
            tail -c +4097 "$tmp/q.trits/$f" | cmp - "$tmp/one"
        done
        text --model "$tmp/q.trits" --ram 200M > "$tmp/text"
        cmp "$tmp/text" "$tmp/plain"
        rm -r "$tmp/q.gguf" "$tmp/q.trits"
    done
}

# refused STATUS WORD ARGUMENTS...: one line, no output
refused() {
    local want=$1 word=$2
    shift 2
    run --separate-stderr convert "$@" -o "$tmp/out.gguf"
    [ "$status" -eq "$want" ]
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; false; }
    [[ "$stderr" == *"$word"* ]] || { echo "$stderr"; false; }
    [ ! -e "$tmp/out.gguf" ]
}

@test "what cannot be converted is refused with one line and no file" {
    refused 3 "rows of 64 weights are no whole blocks of 256 (TQ1_0)" data/model/geodec-perspective-f16.gguf --type tq1_0
    refused 3 "is not ternary: row 0" data/model/geodec-mixture-f16.gguf --type f32
    refused 3 "no tensors of experts" data/model/geodec-stories-f16.gguf --type tq2_0
    refused 2 "convert needs --type" "$model"
    run --separate-stderr convert "$model" --type tq1_0
    [ "$status" -eq 2 ]
    # the scale of a trained model is a binary16 value, and rarely one of bfloat16
    refused 3 "without --lossy: $model: not exact in BF16: tensor 'blk." "$model" --type bf16
    convert "$model" --type bf16 --lossy -o "$tmp/bf16.gguf" > "$tmp/t"
    awk "BEGIN {exit !($(value largest_relative_error) > 0 && $(value largest_relative_error) <= 1 / 256)}"
    convert "$tmp/bf16.gguf" --type tq2_0 -o "$tmp/q.gguf" > "$tmp/t"
    [ "$(value largest_relative_error)" = 0 ]
    run --separate-stderr convert "$model" --type tq2_0 -o "$tmp/q.gguf" # there already
    [ "$status" -ne 0 ]
}

@test "truncated files are refused; with a changed bit a file is refused or can be converted back" {
    convert "$model" --type tq2_0 -o "$tmp/q.gguf" > "$tmp/t"
    size=$(stat -c %s "$tmp/q.gguf")
    for cut in 0 20 700 5000 $((size / 2)) $((size - 1)); do
        head -c "$cut" "$tmp/q.gguf" > "$tmp/bad.gguf"
        refused 3 "$tmp/bad.gguf" "$tmp/bad.gguf" --type f16
    done
    for at in 4 8 16 24 40 100 300 900 1500 $((size / 2)) $((size - 3)); do
        cp "$tmp/q.gguf" "$tmp/bad.gguf"
        byte=$(od -An -tu1 -j "$at" -N 1 "$tmp/bad.gguf")
        printf '%b' "\\x$(printf %x $((byte ^ 8)))" | dd of="$tmp/bad.gguf" bs=1 seek="$at" conv=notrunc status=none
        run --separate-stderr convert "$tmp/bad.gguf" --type f16 -o "$tmp/out.gguf"
        [ "$status" -eq 0 ] || [ "$status" -eq 3 ]
        if [ "$status" -eq 0 ]; then
            convert "$tmp/out.gguf" --type tq2_0 -o "$tmp/again.gguf" > "$tmp/t"
            rm "$tmp/out.gguf" "$tmp/again.gguf"
        else
            [ "${#stderr_lines[@]}" -eq 1 ]
            [ ! -e "$tmp/out.gguf" ]
        fi
    done
}
