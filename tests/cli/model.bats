#!/usr/bin/env bats
# geodec-tokenize and geodec-model-info on a model that the test makes.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
}

setup() {
    model=$BATS_FILE_TMPDIR/good.gguf
}

@test "text to ids and back, byte for byte" {
    printf ' Once\tupon  a\n\ntime: \xc3\xa9 \xf0\x9f\xa6\x99\n' > "$tmp/a.txt"
    "$bin/geodec-tokenize" --model "$model" --ids "$tmp/a.txt" > "$tmp/a.ids"
    [ "$(wc -l < "$tmp/a.ids")" -eq 1 ]
    "$bin/geodec-tokenize" --model "$model" --decode "$tmp/a.ids" | cmp - "$tmp/a.txt"
    "$bin/geodec-tokenize" --model "$model" --ids --lines --bos "$tmp/a.txt" > "$tmp/b.ids"
    [ "$(wc -l < "$tmp/b.ids")" -eq 3 ]
    [ "$(cut -d' ' -f1 "$tmp/b.ids" | sort -u)" = 1 ]
    "$bin/geodec-tokenize" --model "$model" --decode --lines "$tmp/b.ids" | cmp - "$tmp/a.txt"
}

@test "--separator: one sequence for each document, by the rule of the tools that read text" {
    printf 'One day\n<|endoftext|>\n\nA dog\nran. \n<|endoftext|>\n' > "$tmp/marks.txt"
    "$bin/geodec-tokenize" --model "$model" --ids --separator auto "$tmp/marks.txt" > "$tmp/marks.ids"
    [ "$(wc -l < "$tmp/marks.ids")" -eq 2 ]
    [ "$("$bin/geodec-tokenize" --model "$model" --decode --lines "$tmp/marks.ids")" = $'One day\nA dog\nran.' ]
    "$bin/geodec-tokenize" --model "$model" --ids --separator line "$tmp/marks.txt" > "$tmp/lines.ids"
    [ "$(wc -l < "$tmp/lines.ids")" -eq 5 ]
    printf '{"text": "One day"}\n{"messages": [{"role": "user", "content": "A dog"}, {"role": "assistant", "content": "ran."}]}\n' > "$tmp/records"
    "$bin/geodec-tokenize" --model "$model" --ids --separator jsonl "$tmp/records" > "$tmp/records.ids"
    [ "$("$bin/geodec-tokenize" --model "$model" --decode --lines "$tmp/records.ids")" = $'One day\nA dog\n\nran.' ]
    [ "$("$bin/geodec-tokenize" --model "$model" --count --separator mark "$tmp/marks.txt")" = \
        "$(printf 'sequences\t2\ntokens\t%s\nbytes\t17' "$(tr ' ' '\n' < "$tmp/marks.ids" | wc -l)")" ]
    for other in --lines --decode --chat; do
        run --separate-stderr "$bin/geodec-tokenize" --model "$model" --separator auto $other "$tmp/marks.txt"
        [ "$status" -eq 2 ]
        [ -z "$output" ]
    done
    run --separate-stderr bash -c "printf '' | $bin/geodec-tokenize --model $model --separator auto -"
    [ "$status" -eq 3 ]
}

@test "the table shows pieces with escapes" {
    run --separate-stderr bash -c "printf 'a\n' | $bin/geodec-tokenize --model $model -"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "${lines[0]}" = $'259\t\xe2\x96\x81' ]
    [ "${lines[1]}" = $'260\ta' ]
    [ "${lines[2]}" = $'13\t<0x0A>' ]
}

@test "empty text gives an empty line of ids" {
    run --separate-stderr bash -c "printf '' | $bin/geodec-tokenize --model $model --ids - | od -An -c"
    [ "$(echo $output)" = '\n' ]
}

# refused WORD: geodec-tokenize --decode of standard input ends with 3 and one line with WORD.
refused() {
    run --separate-stderr bash -c "$bin/geodec-tokenize --model $model $2 $tmp/in"
    echo "status $status, stdout '$output', stderr '$stderr'"
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"$tmp/in"* && "$stderr" == *"$1"* ]]
}

@test "bad input is refused with its position" {
    printf '1 2\n3 x\n' > "$tmp/in" && refused ":2:" --decode
    printf '1 300\n' > "$tmp/in" && refused "token 300 is outside" --decode
    printf '1 -1\n' > "$tmp/in" && refused "token -1 is outside" --decode
    printf '99999999999999999999\n' > "$tmp/in" && refused "no token id" --decode
    printf 'ab\xff' > "$tmp/in" && refused "byte 2 is not valid UTF-8" ""
}

@test "options that exclude each other are a usage error" {
    run --separate-stderr "$bin/geodec-tokenize" --model "$model" --decode --ids /dev/null
    [ "$status" -eq 2 ]
    run --separate-stderr "$bin/geodec-tokenize" /dev/null
    [ "$status" -eq 2 ]
}

@test "geodec-model-info lists every tensor" {
    run --separate-stderr "$bin/geodec-model-info" --tensors "$model"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(grep -c $'\tF32\t' <<< "$output")" -eq 21 ]
    [[ "$output" == *$'blk.1.attn_k.weight\tF32\t32 x 16'* ]]
    [[ "$output" == *$'head\tseparate'* ]]
}

# variants: those of the shared model of stories, in $BATS_FILE_TMPDIR/variants; of the embedded one without the shared folder.
variants() {
    local from=${GEODEC_SHARED:-../shared}/models/stories260K-ff192-f32.gguf
    [ -r "$from" ] || from=data/model/geodec-stories-f16.gguf
    variants=$BATS_FILE_TMPDIR/variants
    [ -d "$variants" ] || { mkdir "$variants" && "$B/tests/bad/make_variants" "$from" "$variants"; }
    printf 'One day, Lily met a Shoggoth \xc3\xa9 \xe6\xbc\xa2\n' > "$tmp/text"
}

# reads_as FILE OF: the same ids and greedy text as the model OF.
reads_as() {
    echo "$1"
    cmp <("$bin/geodec-tokenize" --model "$1" --ids "$tmp/text") <("$bin/geodec-tokenize" --model "$2" --ids "$tmp/text")
    cmp <("$bin/geodec-decode" --quiet --model "$1" --prompt "Once upon" -n 30) <("$bin/geodec-decode" --quiet --model "$2" --prompt "Once upon" -n 30)
    [ -n "$("$bin/geodec-decode" --quiet --model "$1" --prompt "Once upon" -n 30)" ]
}

info() { "$bin/geodec-model-info" "$@"; }
field() { info "$2" | awk -F '\t' -v name="$1" '$1 == name {print $2}'; }

@test "numbers of other types, keys and tensors that nothing needs, and another order read as the model itself" {
    variants
    for n in u32-i64 u32-u16 u32-f64 u32-f32 f32-f64 i32-u8 i32-f64 bool-u32 scores-i32 scores-f64 scores-i16 add-bos-u8 alignment-i64 heads-array \
        odd-keys version-2 unread reversed joined type-0; do
        reads_as "$variants/$n.gguf" "$variants/same.gguf"
        [ "$n" = unread ] || [ "$(field fingerprint "$variants/$n.gguf")" = "$(field fingerprint "$variants/same.gguf")" ]
    done
    [ "$(field unread_tensors "$variants/unread.gguf")" -eq 5 ]
    [ "$(field unread_tensor "$variants/unread.gguf" | tr '\n' ' ')" = "blk.0.attn_q.bias __nothing__ __scalar__ note.codes note.counts " ]
    [ -z "$(field unread_tensors "$variants/same.gguf")" ]
}

@test "a number that does not fit is refused with its key" {
    variants
    for case in "fraction:block_count' has a fraction" "negative:embedding_length': -64 is outside" "overflow:context_length' is outside" \
        "heads-differ:attention.head_count': 3 values for " "score-overflow:tokenizer.ggml.scores': value 0 is too large"; do
        run --separate-stderr info "$variants/${case%%:*}.gguf"
        echo "$stderr"
        [ "$status" -eq 3 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ "$stderr" == *"${case#*:}"* ]]
    done
}

@test "a split model: the first name opens all parts, in every tool; copies are one file" {
    variants
    for first in two-00001-of-00002 bare-00001-of-00003 empty-00001-of-00002; do
        reads_as "$variants/$first.gguf" "$variants/same.gguf"
        [ "$(info "$variants/$first.gguf" | grep -v '^files')" = "$(info "$variants/same.gguf")" ]
    done
    [ "$(field files "$variants/bare-00001-of-00003.gguf")" -eq 3 ]
    first=$variants/two-00001-of-00002.gguf
    # by a link of another name, as the pipelines make
    ln -s "$first" "$tmp/linked.gguf"
    reads_as "$tmp/linked.gguf" "$variants/same.gguf"
    mkdir "$tmp/in" # and by one of the same name in another folder
    bash pipelines/inputs link "$tmp/in/two-00001-of-00002.gguf" "$first"
    reads_as "$tmp/in/two-00001-of-00002.gguf" "$variants/same.gguf"
    for copy in f16 q8_0; do
        "$bin/geodec-quantize" --quiet --force --type $copy -o "$tmp/a.gguf" "$first" > /dev/null
        "$bin/geodec-quantize" --quiet --force --type $copy -o "$tmp/b.gguf" "$variants/same.gguf" > /dev/null
        cmp "$tmp/a.gguf" "$tmp/b.gguf"
    done
    printf 'One day a dog ran.' > "$tmp/t"
    cmp <("$bin/geodec-perplexity" --quiet --model "$first" "$tmp/t") <("$bin/geodec-perplexity" --quiet --model "$variants/same.gguf" "$tmp/t")
    cmp <("$bin/geodec-sample" --quiet --model "$first" --seed 3 -n 20 "One day") <("$bin/geodec-sample" --quiet --model "$variants/same.gguf" --seed 3 -n 20 "One day")
    # the input of an artifact is all parts: another second part is another input
    for m in "$first" "$variants/same.gguf"; do
        "$bin/geodec-export" --quiet --force --model "$m" --text "$tmp/t" -o "$tmp/$(basename "$m").h5"
    done
    "$bin/geodec-diff" "$tmp/two-00001-of-00002.gguf.h5" "$tmp/same.gguf.h5"
    both=$(for part in 1 2; do
        part=$variants/two-0000$part-of-00002.gguf
        printf '%s  %s\n' "$(sha256sum < "$part" | cut -d' ' -f1)" "$(basename "$part")"
    done | sha256sum | cut -d' ' -f1)
    "$bin/geodec-info" "$tmp/two-00001-of-00002.gguf.h5" | grep -q "$both"
    "$bin/geodec-health" "$first" | grep -q '^forward.ok'
    cp "$variants"/two-0000?-of-00002.gguf "$tmp"
    "$bin/geodec-prepare" --quiet --texts 20 --length 64 --minutes 0.1 "$tmp/two-00001-of-00002.gguf" > /dev/null
    [ -n "$(ls "$tmp/two-00001-of-00002.gguf.geodec")" ]
    "$bin/geodec-decode" --model "$tmp/two-00001-of-00002.gguf" --max-tokens 5 -p "One day" > "$tmp/drafted" 2> "$tmp/err"
    cmp "$tmp/drafted" <("$bin/geodec-decode" -q --model "$variants/same.gguf" --draft none --max-tokens 5 -p "One day")
    "$bin/geodec-attest" --quiet --model "$first" -p "One day" --max-tokens 5 -o "$tmp/record" > /dev/null
    "$bin/geodec-attest" --quiet --model "$first" --verify "$tmp/record" > /dev/null
}

@test "a split model: another part than the first, and missing, truncated and foreign parts are named" {
    variants
    # no WORD..: the model of $tmp/two is refused with one line that has each word
    no() {
        run --separate-stderr info "$tmp/two-00001-of-00002.gguf"
        echo "$stderr"
        [ "$status" -ne 0 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        for word; do [[ "$stderr" == *"$word"* ]]; done
    }
    cp "$variants"/two-* "$tmp"
    run --separate-stderr info "$tmp/two-00002-of-00002.gguf"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"part 2 of 2 of a split model; give the first part, $tmp/two-00001-of-00002.gguf"* ]]
    cp "$tmp/two-00001-of-00002.gguf" "$tmp/renamed.gguf"
    run --separate-stderr info "$tmp/renamed.gguf"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"does not end in -00001-of-00002.gguf"* ]]
    rm "$tmp/two-00002-of-00002.gguf"
    no "part 2 of 2" "$tmp/two-00002-of-00002.gguf"
    head -c 100000 "$variants/two-00002-of-00002.gguf" > "$tmp/two-00002-of-00002.gguf"
    no "$tmp/two-00002-of-00002.gguf" "outside the file"
    cp "$variants/two-00001-of-00002.gguf" "$tmp/two-00002-of-00002.gguf"
    no "$tmp/two-00002-of-00002.gguf" "is part 1 of 2, not part 2 of 2"
    cp "$variants/bare-00002-of-00003.gguf" "$tmp/two-00002-of-00002.gguf"
    no "$tmp/two-00002-of-00002.gguf" "is part 2 of 3, not part 2 of 2"
    cp "$variants/empty-00002-of-00002.gguf" "$tmp/two-00002-of-00002.gguf"
    no "2 parts have" "split.tensors.count"
    cp "$variants/same.gguf" "$tmp/two-00002-of-00002.gguf"
    no "$tmp/two-00002-of-00002.gguf" "is not part 2"
    # a part of another model of as many tensors
    mkdir "$tmp/other"
    "$B/tests/bad/make_variants" tests/golden/models/tiny-llama-linear.gguf "$tmp/other"
    cp "$tmp/other/two-00002-of-00002.gguf" "$tmp/"
    no "$tmp/two-00002-of-00002.gguf" "of another model"
}

@test "experts of a split model are read from the part that has them" {
    local moe=${GEODEC_SHARED:-../shared}/models/stories-moe8x2-f16.gguf
    [ -r "$moe" ] || skip "no shared folder: $moe"
    mkdir "$tmp/moe"
    "$B/tests/bad/make_variants" "$moe" "$tmp/moe"
    plain=$("$bin/geodec-decode" --quiet --model "$moe" --prompt "Once upon" -n 30)
    for first in two-00001-of-00002 bare-00001-of-00003; do
        run --separate-stderr "$bin/geodec-decode" --quiet --model "$tmp/moe/$first.gguf" --ram 3200000 --prompt "Once upon" -n 30
        echo "$stderr"
        [ "$output" = "$plain" ]
    done
}

@test "the shared cases: integer scores, a tensor of size zero, a split file" {
    cases=${GEODEC_SHARED:-../shared}/cases/models
    original=${GEODEC_SHARED:-../shared}/models/stories260K-ff192-f32.gguf
    [ -r "$cases/iscores.gguf" ] || skip "no shared folder: $cases"
    variants
    for case in iscores zero1 sh-00001-of-00002; do reads_as "$cases/$case.gguf" "$original"; done
    [ "$(field unread_tensors "$cases/zero1.gguf")" -eq 1 ]
    [ "$(field unread_tensor "$cases/zero1.gguf")" = __index_timestep_zero__ ]
    [ "$(field fingerprint "$cases/sh-00001-of-00002.gguf")" = "$(field fingerprint "$original")" ]
}
