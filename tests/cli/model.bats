#!/usr/bin/env bats
# geodec-tokenize and geodec-model-info on a model that the test makes.

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    "${B:-build/release}/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=${B:-build/release}/bin
    model=$BATS_FILE_TMPDIR/good.gguf
    tmp=$BATS_TEST_TMPDIR
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
