#!/usr/bin/env bats
# geodec-decode --interactive: turns, the kept cache, commands, a full context, interrupts, refusals.

bats_require_minimum_version 1.5.0
load ../root
load blocked

setup() {
    model=${GEODEC_TEST_MODEL:-data/model/geodec-stories-f16.gguf}
    [ -r "$model" ] || skip "no model: set GEODEC_TEST_MODEL"
    export TERM=xterm HOME=$BATS_TEST_TMPDIR # the editor needs a terminal that moves its cursor; nobody's ~/.editrc
}

talk() { "$bin/geodec-decode" --interactive --model "$model" "$@"; }

refused() {
    local want=$1 word=$2
    shift 2
    run --separate-stderr "$@" < /dev/null
    [ "$status" -eq "$want" ] || { echo "status $status, not $want: $stderr"; false; }
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ] || { echo "$stderr"; false; }
    [[ "$stderr" == *"$word"* ]] || { echo "$stderr"; false; }
}

@test "replies are those of plain decoding of the same tokens, with any drafter" {
    printf 'Once upon a time there was a dog.\nThe dog\nOne day\n' > "$tmp/in"
    for options in "" "--temperature 0.8 --seed 3"; do
        for format in "--no-template" "--template chatml --system Tell" "--template llama2" "--template zephyr" "--template gemma"; do
            # shellcheck disable=SC2086
            talk --quiet $options $format --max-tokens 30 --draft none < "$tmp/in" > "$tmp/plain"
            [ "$(wc -l < "$tmp/plain")" -ge 3 ]
            for draft in "lookup" "ngram --tree 6"; do
                # shellcheck disable=SC2086
                talk --quiet $options $format --max-tokens 30 --draft $draft --check-plain < "$tmp/in" > "$tmp/text"
                cmp "$tmp/plain" "$tmp/text"
            done
        done
    done
}

@test "the first turn equals the output for --prompt, and /reset starts a new conversation" {
    "$bin/geodec-decode" --quiet --model "$model" --prompt "One day" --max-tokens 25 > "$tmp/prompt"
    printf 'One day\n' | talk --quiet --no-template --max-tokens 25 > "$tmp/one"
    cmp "$tmp/prompt" "$tmp/one"
    printf 'The cat\nwent\n\n/reset\nOne day\n/quit\nnever read\n' | talk --quiet --no-template --max-tokens 25 > "$tmp/three"
    [ "$(tail -n "$(wc -l < "$tmp/one")" "$tmp/three")" = "$(cat "$tmp/one")" ]
}

@test "a turn forwards only its own tokens" {
    printf 'Once upon a time there was a dog who had a very long story to tell.\nThe cat\n' |
        talk -v --no-template --max-tokens 30 --draft lookup > /dev/null 2> "$tmp/err"
    first=$(sed -n 's/.*turn 1: \([0-9]*\) rows of the prompt.*/\1/p' "$tmp/err")
    second=$(sed -n 's/.*turn 2: \([0-9]*\) rows of the prompt.*/\1/p' "$tmp/err")
    echo "first $first, second $second"
    [ "$first" -gt 12 ]
    [ "$second" -le 6 ]
}

@test "a full context gives a note, and the conversation continues after /reset" {
    printf 'One two three four five six seven eight nine ten\nand so on and on\nand on\n/reset\nOne day\n' |
        talk --quiet --no-template --ctx 48 --max-tokens 60 > "$tmp/out" 2> "$tmp/err"
    grep -q "the context of 48 tokens is full" "$tmp/err"
    grep -q "no room in the context" "$tmp/err"
    printf 'One day\n' | talk --quiet --no-template --ctx 48 --max-tokens 60 2> /dev/null > "$tmp/one"
    [ "$(tail -n "$(wc -l < "$tmp/one")" "$tmp/out")" = "$(cat "$tmp/one")" ]
}

@test "a full context with a chat format: the oldest turns are dropped as a whole, the system message stays" {
    printf 'The cat sat.\nThe dog ran.\nThe bird sang a song.\nOne day\n' > "$tmp/in"
    sed 's|$|\n/reset|' "$tmp/in" > "$tmp/anew"
    # Contexts for one turn: each reply is that of a new conversation.
    for pair in zephyr=90 gemma=90 chatml=130 llama2=70 tests/golden/templates/turns.jinja=70; do
        echo "$pair"
        options=(--quiet --template "${pair%=*}" --ctx "${pair#*=}" --system Tell --max-tokens 20)
        talk "${options[@]}" --check-plain < "$tmp/in" > "$tmp/out" 2> "$tmp/err"
        [ "$(grep -c "^(the context of ${pair#*=} tokens is full: the oldest turn is dropped)$" "$tmp/err")" -eq 3 ] || { cat "$tmp/err"; false; }
        [ "$(wc -l < "$tmp/err")" -eq 3 ]
        talk "${options[@]}" < "$tmp/anew" > "$tmp/want" 2> "$tmp/err"
        [ ! -s "$tmp/err" ]
        cmp "$tmp/out" "$tmp/want"
    done
    # A context for two turns: the tokens after a turn are those of the messages that are left, and its reply, whose last token has no row.
    talk -v --template zephyr --ctx 160 --system Tell --max-tokens 20 < "$tmp/in" > "$tmp/out" 2> "$tmp/err"
    [ "$(grep -c "the oldest turn is dropped" "$tmp/err")" -ge 1 ]
    user=("" "The cat sat." "The dog ran." "The bird sang a song." "One day")
    for turn in 3 4; do
        reply=$(sed -n "$((turn - 1))p" "$tmp/out")
        printf '[{"role": "system", "content": "Tell"}, {"role": "user", "content": "%s"}, {"role": "assistant", "content": "%s"}, {"role": "user", "content": "%s"}]' \
            "${user[turn - 1]}" "$reply" "${user[turn]}" > "$tmp/chat.json"
        n=$("$bin/geodec-tokenize" --model "$model" --chat --template zephyr --ids --quiet "$tmp/chat.json" | wc -w)
        grep -q "turn $turn: .* $((n + 19)) of 160 rows" "$tmp/err" || { echo "$n"; cat "$tmp/err"; false; }
    done
}

@test "a message longer than the context is refused and drops nothing" {
    { printf 'The cat sat.\n'; printf 'and so on %.0s' {1..60}; printf '\nOne day\n'; } > "$tmp/in"
    for format in zephyr tests/golden/templates/turns.jinja; do
        talk --quiet --template "$format" --ctx 160 --max-tokens 10 < "$tmp/in" > "$tmp/out" 2> "$tmp/err"
        [ "$(cat "$tmp/err")" = "(the line does not fit in the context of 160 tokens and is ignored)" ]
        sed 2d "$tmp/in" | talk --quiet --template "$format" --ctx 160 --max-tokens 10 > "$tmp/want"
        cmp "$tmp/out" "$tmp/want"
    done
}

@test "--ctx-full stop ends a dialogue whose context is full, with status 3" {
    printf 'The cat sat.\nThe dog ran.\nThe bird sang a song.\nOne day\n' > "$tmp/in"
    run --separate-stderr -3 talk --quiet --template zephyr --ctx 160 --max-tokens 20 --ctx-full stop < "$tmp/in"
    [ "$stderr" = "geodec-decode: the context of 160 tokens is full before turn 3" ]
    [ "$output" = "$(head -n 2 "$tmp/in" | talk --quiet --template zephyr --ctx 160 --max-tokens 20)" ]
    run --separate-stderr -3 talk --quiet --no-template --ctx 48 --max-tokens 60 --ctx-full stop < "$tmp/in"
    [ "$stderr" = "geodec-decode: the context of 48 tokens is full in turn 1" ]
    [ -n "$output" ]
    refused 2 "--ctx-full" "$bin/geodec-decode" --model "$model" --ctx-full stop
    run -2 talk --no-template --ctx-full halt
}

@test "lines that are not messages" {
    printf '/help\n\n\xff\xfe\n//usr\nThe end' | talk --quiet --no-template --max-tokens 5 --ctx 64 > "$tmp/out" 2> "$tmp/err"
    grep -q "commands: /reset, /quit" "$tmp/err"
    grep -q "not UTF-8 at byte 0" "$tmp/err"
    [ "$(wc -l < "$tmp/out")" -ge 2 ]
    talk --quiet --no-template < /dev/null > "$tmp/out"
    [ ! -s "$tmp/out" ]
}

@test "formats: an unknown one is named, and a model without one gives an error" {
    refused 3 "no-such" talk --template no-such
    refused 3 "name a template" talk
    refused 2 "not both" talk --template chatml --no-template
    refused 2 "chat format" talk --no-template --system x
    refused 2 "--interactive" "$bin/geodec-decode" --model "$model" --no-template
    refused 2 "--interactive" talk --no-template --prompt x
}

prompts() { [ "$(grep -ao '> ' "$tmp/typescript" | wc -l)" -ge "$1" ]; }
longer() { [ "$(wc -c < "$tmp/typescript")" -gt "$1" ]; }

# open_terminal OPTION...: a dialogue on a terminal, whose keys are written to descriptor 9 and whose text goes to $tmp/out.
open_terminal() {
    command -v script > /dev/null || skip "no script(1)"
    mkfifo "$tmp/keys"
    : > "$tmp/typescript"
    # A background job ignores SIGQUIT, and so would the tool.
    printf '%s\n' "ulimit -c 0; echo \$\$ > $tmp/pid; exec perl -e '\$SIG{QUIT} = \"DEFAULT\"; exec @ARGV' $bin/geodec-decode --interactive --model $model $* > $tmp/out" > "$tmp/run"
    script -qfec "sh $tmp/run" "$tmp/typescript" < "$tmp/keys" > /dev/null 3>&- &
    terminal=$!
    exec 9> "$tmp/keys"
    until_true 120 prompts 1
}
close_terminal() { # STATUS
    wait "$terminal" || true
    exec 9>&-
    grep -q "COMMAND_EXIT_CODE=\"$1\"" "$tmp/typescript" || { cat -v "$tmp/typescript"; false; }
}
on=$'\033[?2004h' off=$'\033[?2004l' paste=$'\033[200~' pasted=$'\033[201~' up=$'\033[A'

@test "a terminal: pasted lines are one turn, and the up arrow brings them back" {
    open_terminal --no-template --max-tokens 12 -v
    grep -aqF "$on" "$tmp/typescript"
    printf '%sOne day\rthe dog%s' "$paste" "$pasted" >&9
    until_true 120 grep -aq "the dog" "$tmp/typescript"
    [ ! -s "$tmp/out" ]
    printf '\r' >&9
    until_true 120 grep -aq "turn 1:" "$tmp/typescript"
    printf '/reset\r%s%s\r' "$up" "$up" >&9
    until_true 120 grep -aq "turn 2:" "$tmp/typescript"
    printf '/reset\rxe end\001\033[3~Th\r' >&9 # to the start of the line, which loses its x
    until_true 120 grep -aq "turn 3:" "$tmp/typescript"
    printf '/quit\r' >&9
    close_terminal 0
    "$bin/geodec-decode" --quiet --model "$model" --prompt $'One day\nthe dog' --max-tokens 12 > "$tmp/want"
    "$bin/geodec-decode" --quiet --model "$model" --prompt "The end" --max-tokens 12 > "$tmp/edited"
    cat "$tmp/want" "$tmp/want" "$tmp/edited" | cmp - "$tmp/out"
    grep -aqF "$off" "$tmp/typescript"
}

@test "a terminal: a text pasted while a reply is written is one turn" {
    open_terminal --no-template --ctx 20000 --max-tokens 1500 --min-tokens 1500 -v --threads 1
    printf 'One day\r' >&9
    until_true 120 test -s "$tmp/out"
    printf '%sthe cat\rand the dog%s\r' "$paste" "$pasted" >&9
    until_true 120 grep -aq "turn 2:" "$tmp/typescript"
    printf '/quit\r' >&9
    close_terminal 0
    [ "$(grep -ac "turn [0-9]*:" "$tmp/typescript")" -eq 2 ]
}

@test "a terminal: end of input, signals and a paste that does not end leave its mode as it was" {
    # Of the last settings that were written, the mode of pastes is off.
    mode() { grep -aoF -e "$on" -e "$off" "$tmp/typescript" | tail -n 1; }
    open_terminal --no-template
    printf '\004' >&9
    close_terminal 0
    [ "$(mode)" = "$off" ]
    for pair in TERM=130 HUP=130 QUIT=131; do
        rm "$tmp/keys"
        open_terminal --no-template
        printf '%shalf' "$paste" >&9
        sleep 0.2
        printf '\003' >&9
        until_true 120 grep -aq "/quit or end of input ends" "$tmp/typescript"
        printf 'text' >&9
        until_true 120 grep -aq "text" "$tmp/typescript"
        kill -"${pair%=*}" "$(cat "$tmp/pid")"
        close_terminal "${pair#*=}"
        [ "$(mode)" = "$off" ]
    done
}

@test "a terminal that cannot move its cursor: lines as from a pipe" {
    TERM=dumb open_terminal --no-template --max-tokens 5 -v
    printf 'One day\n' >&9
    until_true 120 grep -aq "turn 1:" "$tmp/typescript"
    printf '/quit\n' >&9
    close_terminal 0
    run ! grep -aqF "$on" "$tmp/typescript"
}

@test "an interrupt ends the reply on a terminal, not the program" {
    command -v script > /dev/null || skip "no script(1)"
    mkfifo "$tmp/keys"
    : > "$tmp/typescript"
    script -qfec "$bin/geodec-decode --interactive --no-template --model $model --ctx 200000 --max-tokens 190000 --min-tokens 180000 -v --threads 1" \
        "$tmp/typescript" < "$tmp/keys" > /dev/null 3>&- &
    local terminal=$!
    exec 9> "$tmp/keys"
    until_true 120 prompts 1
    printf 'One day\n' >&9
    until_true 120 longer $(($(wc -c < "$tmp/typescript") + 200))
    printf '\003' >&9
    until_true 120 grep -aq "turn 1:" "$tmp/typescript"
    printf '/quit\n' >&9
    wait "$terminal"
    exec 9>&-
    tokens=$(sed -n 's/.*prompt, \([0-9]*\) tokens in.*/\1/p' "$tmp/typescript")
    echo "$tokens tokens"
    [ "$tokens" -gt 0 ]
    [ "$tokens" -lt 180000 ]
    grep -q 'COMMAND_EXIT_CODE="0"' "$tmp/typescript"
}

@test "an interrupt while the output is blocked loses nothing of it" {
    command -v script > /dev/null || skip "no script(1)"
    mkfifo "$tmp/keys"
    : > "$tmp/typescript"
    printf '%s' "$small_pipe" > "$tmp/small_pipe"
    cat > "$tmp/run" <<END
set -o pipefail
perl "$tmp/small_pipe" "$tmp/pid" $bin/geodec-decode --interactive --no-template --model $model --ctx 20000 --max-tokens 19000 --min-tokens 18000 \\
    -v --threads 1 | { trap '' INT; until [ -e "$tmp/go" ]; do sleep 0.05; done; cat > "$tmp/out"; }
END
    script -qfec "bash $tmp/run" "$tmp/typescript" < "$tmp/keys" > /dev/null 3>&- &
    local terminal=$!
    exec 9> "$tmp/keys"
    until_true 120 prompts 1
    printf 'One day\n' >&9
    until_true 120 blocked "$tmp/pid"
    kill -INT "$(cat "$tmp/pid")"
    : > "$tmp/go"
    until_true 120 grep -aq "turn 1:" "$tmp/typescript"
    printf '/quit\n' >&9
    wait "$terminal"
    exec 9>&-
    grep -q 'COMMAND_EXIT_CODE="0"' "$tmp/typescript"
    tokens=$(sed -n 's/.*prompt, \([0-9]*\) tokens in.*/\1/p' "$tmp/typescript")
    "$bin/geodec-decode" --quiet --model "$model" --prompt "One day" --ctx 20000 --max-tokens "$tokens" --min-tokens "$tokens" > "$tmp/whole"
    cmp "$tmp/out" "$tmp/whole"
}
