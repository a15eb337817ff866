#!/usr/bin/env bats
# geodec-tokenize with a byte-level vocabulary, special tokens and conversations; damaged vocabularies are refused by name.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_tokenizers" "$BATS_FILE_TMPDIR"
}

setup() {
    dir=$BATS_FILE_TMPDIR
}

tokenize() { "$bin/geodec-tokenize" --model "$dir/bpe.gguf" "$@"; }

@test "bytes to ids and back" {
    printf 'hello  h\xc3\xa9ll\n\xf0\x9f\xa6\x99' > "$tmp/a"
    tokenize --ids "$tmp/a" > "$tmp/ids"
    [ "$(cut -d' ' -f1-2 "$tmp/ids")" = "258 $((0x6f - 0x21 + 33))" ]
    tokenize --decode "$tmp/ids" | cmp - "$tmp/a"
    [ "$(tokenize --bos --ids "$tmp/a" | cut -d' ' -f1-2)" = "259 258" ]
    [ "$(tokenize --count "$tmp/a" | tr '\n' ' ')" = $'sequences\t1 tokens\t13 bytes\t17 ' ]
}

@test "vocabularies of text: to ids and back" {
    printf 'hello  h\xc3\xa9ll\n\n \xf0\x9f\xa6\x99 x' > "$tmp/a"
    for name in gemma4 plamo2; do
        model=$BATS_TEST_DIRNAME/../golden/tokens/$name.gguf
        "$bin/geodec-tokenize" --model "$model" --ids "$tmp/a" > "$tmp/ids"
        "$bin/geodec-tokenize" --model "$model" --decode "$tmp/ids" | cmp - "$tmp/a"
    done
    [ "$("$bin/geodec-tokenize" --model "$BATS_TEST_DIRNAME/../golden/tokens/gemma4.gguf" --bos --ids "$tmp/a" | cut -d' ' -f1)" -eq 1 ]
}

@test "control tokens are parsed and shown only on request" {
    printf '<|im_end|>hell' > "$tmp/a"
    [ "$(tokenize --ids --parse-special "$tmp/a")" = "261 258" ]
    tokenize --ids "$tmp/a" | grep -qv 261
    tokenize --ids --parse-special "$tmp/a" > "$tmp/ids"
    [ "$(tokenize --decode "$tmp/ids")" = hell ]
    [ "$(tokenize --decode --show-control "$tmp/ids")" = "<|im_end|>hell" ]
}

@test "a conversation: by the model's template and by name" {
    printf '[{"role": "user", "content": "<|im_end|>hell"}]' > "$tmp/talk.json"
    [ "$(tokenize --chat --text --closed "$tmp/talk.json")" = $'<|im_start|>user\n<|im_end|>hell<|im_end|>' ]
    run --separate-stderr tokenize --chat --ids "$tmp/talk.json"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(tr ' ' '\n' <<< "$output" | grep -c '^261$')" -eq 1 ]
    [ "$(tr ' ' '\n' <<< "$output" | grep -c '^260$')" -eq 2 ]
    [ "$(tokenize --chat --template gemma --text "$tmp/talk.json" | head -n 1)" = "<start_of_turn>user" ]
}

# refused CODE WORD ARGUMENTS...: nothing on stdout, one line on stderr with WORD.
refused() {
    local code=$1 word=$2
    shift 2
    run --separate-stderr "$bin/geodec-tokenize" "$@"
    echo "status $status, stdout '$output', stderr '$stderr'"
    [ "$status" -eq "$code" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"$word"* ]]
}

@test "damaged vocabularies are refused by name" {
    while read -r name word; do
        refused 3 "$word" --model "$dir/$name.gguf" /dev/null
        [[ "$stderr" == *"$dir/$name.gguf"* ]]
    done <<- 'END'
		unknown-pre pre-tokenizer 'no-such' is not supported
		unigram tokenizer 't5' is not supported
		wordpiece tokenizer 'bert' is not supported
		trie tokenizer 'rwkv' is not supported
		no-merges key 'tokenizer.ggml.merges' is missing
		empty-merges key 'tokenizer.ggml.merges' is empty
		gemma-no-merges key 'tokenizer.ggml.merges' is missing
		plamo-no-scores key 'tokenizer.ggml.scores' is missing
		no-tokens key 'tokenizer.ggml.tokens' is missing
		number-merges tokenizer.ggml.merges
		bare-merge merge 1 is not a pair
		empty-merge merge 2 is not a pair
		long-merge merge 0 has 5000 bytes
		bos-outside 'tokenizer.ggml.bos_token_id': 262
	END
}

@test "the same piece twice is read" {
    run --separate-stderr bash -c "printf 'hell' | $bin/geodec-tokenize --model $dir/twin-piece.gguf --ids - | $bin/geodec-tokenize --model $dir/twin-piece.gguf --decode -"
    [ "$status" -eq 0 ]
    [ "$output" = hell ]
}

@test "invalid conversations and templates are refused" {
    printf '[{"role": "user", "content": "a"}]' > "$tmp/good.json"
    printf '[{"role": "boss", "content": "a"}]' > "$tmp/role.json"
    printf '[{"role": "user"' > "$tmp/cut.json"
    printf '{"role": "user", "content": "a"}' > "$tmp/object.json"
    refused 3 "known are" --model "$dir/unknown-template.gguf" --chat "$tmp/good.json"
    refused 3 "'no-such'; known are" --model "$dir/bpe.gguf" --chat --template no-such "$tmp/good.json"
    refused 3 "'boss'" --model "$dir/bpe.gguf" --chat "$tmp/role.json"
    refused 3 cut.json --model "$dir/bpe.gguf" --chat "$tmp/cut.json"
    refused 3 "no array of messages" --model "$dir/bpe.gguf" --chat "$tmp/object.json"
}

@test "options that exclude each other are a usage error" {
    for o in "--chat --lines" "--template gemma" "--decode --chat" "--show-control" "--ids --count" "--text"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$bin/geodec-tokenize" --model "$dir/bpe.gguf" $o /dev/null
        [ "$status" -eq 2 ]
    done
}
