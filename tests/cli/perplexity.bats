#!/usr/bin/env bats
# geodec-perplexity: both protocols, a second model, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
}

setup() {
    model=$BATS_FILE_TMPDIR/good.gguf
    for i in 1 2 3 4 5 6 7 8; do printf 'a ba abba %d cab\n' "$i"; done > "$tmp/text.txt"
}

# column NAME: prints that cell of the only row of $output.
column() { awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == 2 { print $c }' <<< "$output"; }

@test "one row for each text; bytes of the text; the same with any number of threads" {
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 -t 1 "$tmp/text.txt"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "${#lines[@]}" -eq 2 ]
    [ "$(column bytes)" -eq "$(wc -c < "$tmp/text.txt")" ]
    [ "$(column blocks)" = "$(column windows)" ]
    one=$output
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 -t 3 "$tmp/text.txt"
    [ "$output" = "$one" ]
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 "$tmp/text.txt" "$tmp/text.txt"
    [ "${#lines[@]}" -eq 3 ]
    [ "${lines[1]}" = "${lines[2]}" ]
}

@test "strided windows score the same tokens" {
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 "$tmp/text.txt"
    tokens=$(column tokens)
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --stride 4 "$tmp/text.txt"
    [ "$status" -eq 0 ]
    [ "$(column tokens)" = "$tokens" ]
    [ "$(column windows)" -gt "$(column blocks)" ]
}

@test "--parse-special: a control token's text is one token, several without; the bytes are those of the text" {
    # Each model with a control token of its vocabulary. The second has no token that begins texts: the first token, one byte, is not scored,
    # and of windows without overlap the first of each.
    for row in "data/model/geodec-stories-f16.gguf </s> 0 64,3,6:2" "tests/golden/models/tiny-qwen3.gguf <|endoftext|> 1 64,6:2"; do
        read -r model special first windows <<< "$row"
        tokens_of() { "$bin/geodec-tokenize" -q -m "$model" --ids "$@" "$tmp/special.txt" | wc -w; }
        for text in "a b${special}c d" "a ${special} ${special}${special} é b" "a${special}" "a <unk> b${special}  c" "a x<unk>"; do
            printf '%s' "$text" > "$tmp/special.txt"
            for window in ${windows//,/ }; do
                for how in "" --parse-special; do
                    echo "$model: $text: $window $how"
                    options=(-w "${window%:*}" --stride "$([[ $window == *:* ]] && echo "${window#*:}" || echo 0)")
                    # shellcheck disable=SC2086 # none or one
                    run --separate-stderr -0 "$bin/geodec-perplexity" -m "$model" "${options[@]}" $how "$tmp/special.txt"
                    # shellcheck disable=SC2086
                    [ "$(column tokens)" -eq "$(($(tokens_of $how) - first))" ]
                    [ "$(column bytes)" -eq "$(($(wc -c < "$tmp/special.txt") - first))" ] || { echo "$output"; false; }
                done
            done
        done
        printf '%s' "a b${special}c d" > "$tmp/special.txt"
        [ "$(tokens_of)" -ge "$(($(tokens_of --parse-special) + 3))" ]
    done
    # Where a text names the unknown token there are no unknown bytes.
    printf 'a <unk> b' > "$tmp/special.txt"
    "$bin/geodec-perplexity" -q -m data/model/geodec-stories-f16.gguf --parse-special --json "$tmp/special.json" "$tmp/special.txt" > /dev/null
    grep -q '"parse_special": true' "$tmp/special.json"
    grep -q '"unknown_tokens": 0,' "$tmp/special.json"
}

@test "a model compared with itself: no distance, and JSON has the same values" {
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --against "$model" --json "$tmp/a.json" "$tmp/text.txt"
    [ "$status" -eq 0 ]
    [ "$(column kl)" = 0 ]
    [ "$(column agreement)" = 1 ]
    [ "$(column difference)" = 0 ]
    [ "$(column max_delta)" = 0 ]
    grep -q "\"nll\": $(column nll)," "$tmp/a.json"
    [ "$(grep -c nll_sum "$tmp/a.json")" -eq $((2 * $(column windows))) ]
    run "$bin/geodec-perplexity" -m "$model" --json "$tmp/a.json" "$tmp/text.txt"
    [ "$status" -eq 1 ]
    [[ "$output" == *exists* ]]
}

# refused STATUS WORD OPTIONS...: one line on stderr, nothing on stdout.
refused() {
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" "${@:3}"
    echo "status $status, stdout '$output', stderr '$stderr'"
    [ "$status" -eq "$1" ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"$2"* ]]
}

@test "bad options and texts are refused on one line" {
    refused 2 "stride of 16 is outside 1 to 15" -w 16 --stride 16 "$tmp/text.txt"
    refused 2 "window of 1 tokens" -w 1 "$tmp/text.txt"
    : > "$tmp/empty.txt" && refused 3 "the text is empty" "$tmp/empty.txt"
    printf 'a\xff' > "$tmp/bad.txt" && refused 3 "offset 1" "$tmp/bad.txt"
    refused 1 "none.txt" "$tmp/none.txt"
    refused 1 "none.gguf" --against "$tmp/none.gguf" "$tmp/text.txt"
}

@test "a model of another vocabulary is refused" {
    other=data/model/geodec-stories-f16.gguf
    refused 3 "different vocabularies" --against "$other" "$tmp/text.txt"
}

@test "exact arithmetic agrees with float64" {
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --arithmetic float64 --against-arithmetic exact "$tmp/text.txt"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    awk -v d="$(column max_delta)" -v a="$(column agreement)" 'BEGIN { exit !(d > 0 && d < 1e-4 && a == 1) }'
}
