#!/usr/bin/env bats
# A model file that is truncated while it is mapped: one line, status 1, no partial output. Without a guard it is SIGBUS.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    cp data/model/geodec-stories-f16.gguf "$tmp/m.gguf"
}

# ended STATUS TOOL FILE: the tool ended with STATUS and that one line.
ended() {
    echo "status $1, stderr '$(cat "$tmp/err")'"
    [ "$1" -eq 1 ]
    [ "$(cat "$tmp/err")" = "$2: $3: the file was truncated while it was read" ]
}

@test "while the program waits for its prompt" {
    mkfifo "$tmp/prompt"
    "$bin/geodec-decode" --model "$tmp/m.gguf" --interactive --no-template --max-tokens 9 < "$tmp/prompt" \
        > "$tmp/out" 2> "$tmp/err" 3>&- &
    local tool=$! status=0
    exec 9> "$tmp/prompt"
    for _ in $(seq 600); do grep -q m.gguf "/proc/$tool/maps" && break; sleep 0.1; done
    truncate -s 8192 "$tmp/m.gguf"
    echo "One day" >&9 || true # a busy machine: it has ended while it read the model
    wait "$tool" || status=$?
    exec 9>&-
    ended "$status" geodec-decode "$tmp/m.gguf"
    [ ! -s "$tmp/out" ]
}

@test "during the work, on two threads, with a partial output" {
    for i in $(seq 4000); do echo "Once upon a time there was a girl with $i dogs. They ran to the river and back."; done > "$tmp/text"
    "$bin/geodec-export" --model "$tmp/m.gguf" --text "$tmp/text" --shard-tokens 1000000 --layers all --quiet --threads 2 \
        -o "$tmp/a.h5" > "$tmp/out" 2> "$tmp/err" 3>&- &
    local tool=$! status=0
    for _ in $(seq 6000); do [ -s "$tmp/.a.h5.tmp" ] && break; sleep 0.01; done
    [ -s "$tmp/.a.h5.tmp" ]
    truncate -s 8192 "$tmp/m.gguf"
    wait "$tool" || status=$?
    ended "$status" geodec-export "$tmp/m.gguf"
    [ "$(ls -A "$tmp")" = "$(printf '%s\n' err m.gguf out text)" ]
}

@test "control: replacing the file without truncation changes nothing" {
    mkfifo "$tmp/prompt"
    printf 'One day\n' > "$tmp/line"
    "$bin/geodec-decode" --model "$tmp/m.gguf" --interactive --no-template --max-tokens 9 < "$tmp/line" > "$tmp/want" 2> /dev/null
    "$bin/geodec-decode" --model "$tmp/m.gguf" --interactive --no-template --max-tokens 9 < "$tmp/prompt" > "$tmp/out" \
        2> "$tmp/err" 3>&- &
    local tool=$!
    exec 9> "$tmp/prompt"
    for _ in $(seq 600); do grep -q m.gguf "/proc/$tool/maps" && break; sleep 0.1; done
    head -c 8192 "$tmp/m.gguf" > "$tmp/other"
    mv "$tmp/other" "$tmp/m.gguf"
    echo "One day" >&9
    exec 9>&-
    wait "$tool"
    [ -s "$tmp/want" ]
    cmp "$tmp/want" "$tmp/out"
}
