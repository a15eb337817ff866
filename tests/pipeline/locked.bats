#!/usr/bin/env bats
# The lock of a result folder (pipelines/locked): a stale one does not block, and two runs at once do not mix.
# full: waits for locks
# bats file_tags=full

bats_require_minimum_version 1.5.0
load ../root

setup() {
    d=$BATS_TEST_TMPDIR
    unset MODEL TEXT R MAKEFLAGS MFLAGS MAKELEVEL
    WORDS="QUICK=1 CORPUS_STORIES=20 TOKENS=600 POINTS=150 STORE_TEXTS=6 STORE_LENGTH=64 B=$B"
}

# The folder has its own PATH, with a flock that says that the file system has no locks.
no_locks() {
    mkdir -p "$d/fake"
    printf '#!/bin/sh\nexit 71\n' > "$d/fake/flock"
    chmod +x "$d/fake/flock"
    export PATH=$d/fake:$PATH
}
start_of() { sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f20; }
# Fails if two of its kind run at once, and notes each run.
critical() {
    cat > "$d/critical" <<EOF
#!/bin/sh
mkdir "$d/alone" || { echo "two at once" >> "$d/mixed"; exit 1; }
sleep 0.05
echo ran >> "$d/ran"
rmdir "$d/alone"
EOF
    chmod +x "$d/critical"
}
contend() { # NUMBER
    local n pids=()
    for ((n = 0; n < $1; n++)); do timeout 60 pipelines/locked "$d/f" "$d/critical" 2>> "$d/said" 3>&- & pids+=($!); done
    for n in "${pids[@]}"; do wait "$n"; done
}

digests() { (cd "$1" && find . -type f ! -path '*/.*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum); }

@test "a make that was killed leaves its lock file, and the next one goes on without a wait" {
    # shellcheck disable=SC2086
    timeout 300 make -s $WORDS R="$d/r" "$d/r/cloud.h5" > /dev/null
    digests "$d/r" > "$d/whole"
    rm -rf "$d/r"
    # shellcheck disable=SC2086
    setsid make -s $WORDS R="$d/r" "$d/r/cloud.h5" > /dev/null 2>&1 3>&- &
    pid=$!
    until [ -e "$d/r/plan.tsv" ]; do sleep 0.05; done
    kill -9 -- "-$pid"
    wait "$pid" || [ $? -eq 137 ]
    [ ! -e "$d/r/cloud.h5" ]
    [ -e "$d/r/.lock" ]
    # shellcheck disable=SC2086
    run --separate-stderr timeout 300 make -s $WORDS R="$d/r" "$d/r/cloud.h5"
    [ "$status" -eq 0 ]
    [[ "$stderr" != *"another make"* ]]
    digests "$d/r" | diff "$d/whole" -
}

@test "control: while the holder lives, the next one waits" {
    pipelines/locked "$d/f" sh -c "touch $d/began; while [ ! -e $d/go ]; do sleep 0.05; done" 3>&- &
    one=$!
    until [ -e "$d/began" ]; do sleep 0.05; done
    run timeout 1 pipelines/locked "$d/f" touch "$d/entered"
    [ "$status" -eq 124 ]
    [ ! -e "$d/entered" ]
    touch "$d/go"
    wait "$one"
    timeout 10 pipelines/locked "$d/f" touch "$d/entered"
    [ -e "$d/entered" ]
}

@test "two makes of one folder at once: each result is of one of them" {
    for seed in 1 2; do
        # shellcheck disable=SC2086
        timeout 300 make -s $WORDS SEED=$seed R="$d/r" "$d/r/cloud.h5" > /dev/null
        digests "$d/r" > "$d/seed-$seed"
        rm -rf "$d/r"
    done
    run diff "$d/seed-1" "$d/seed-2"
    [ "$status" -eq 1 ] # control: the two differ
    for seed in 1 2; do
        # shellcheck disable=SC2086
        timeout 300 make -s -j2 $WORDS SEED=$seed R="$d/r" "$d/r/cloud.h5" > /dev/null 2> "$d/said-$seed" 3>&- &
        eval "pid$seed=$!"
    done
    wait "$pid1"
    wait "$pid2"
    grep -q "another make works here" "$d"/said-?
    digests "$d/r" > "$d/now"
    cmp -s "$d/now" "$d/seed-1" || cmp "$d/now" "$d/seed-2"
    # and it can be continued with either
    # shellcheck disable=SC2086
    timeout 300 make -s $WORDS SEED=1 R="$d/r" "$d/r/cloud.h5" > /dev/null
    digests "$d/r" | diff "$d/seed-1" -
}

@test "without file locks: the owners that do not block are those that ended" {
    no_locks
    mkdir -p "$d/f/.lock.d" # an empty one, of a process that was killed when it began
    timeout 10 pipelines/locked "$d/f" true
    [ ! -e "$d/f/.lock.d" ]
    mkdir "$d/f/.lock.d"
    echo "$(uname -n) 4194303999" > "$d/f/.lock.d/owner"
    timeout 10 pipelines/locked "$d/f" true
    # the number of the owner is that of another process now
    mkdir "$d/f/.lock.d"
    echo "$(uname -n) $$ 1 1" > "$d/f/.lock.d/owner"
    timeout 10 pipelines/locked "$d/f" true
    [ ! -e "$d/f/.lock.d" ]
    # control: a living one, and one of another machine
    mkdir "$d/f/.lock.d"
    echo "$(uname -n) $$ $(start_of $$) 1" > "$d/f/.lock.d/owner"
    run timeout 2 pipelines/locked "$d/f" true
    [ "$status" -ne 0 ]
    [[ "$output" == *"process $$ on"* ]]
    echo "elsewhere $$ 1 1" > "$d/f/.lock.d/owner"
    run timeout 2 pipelines/locked "$d/f" true
    [ "$status" -ne 0 ]
    [[ "$output" == *"on elsewhere"* ]]
    [ -z "$(find "$d/f" -name '.lock.d.*')" ]
}

@test "without file locks: many that see one dead owner run one after the other" {
    no_locks
    critical
    for round in 1 2 3; do
        mkdir -p "$d/f/.lock.d"
        echo "$(uname -n) 4194303999 1 $round" > "$d/f/.lock.d/owner"
        contend 6
    done
    [ ! -e "$d/mixed" ]
    [ "$(wc -l < "$d/ran")" -eq 18 ]
    [ ! -e "$d/f/.lock.d" ]
}

@test "without file locks: a command goes on when the shell above it is killed, and still owns the lock" {
    no_locks
    pipelines/locked "$d/f" sh -c "touch $d/began; while [ ! -e $d/go ]; do sleep 0.05; done" 3>&- &
    shell=$!
    until [ -e "$d/began" ]; do sleep 0.05; done
    read -r _ command _ < "$d/f/.lock.d/owner"
    [ "$command" != "$shell" ]
    kill -9 "$shell"
    wait "$shell" || [ $? -eq 137 ]
    run timeout 2 pipelines/locked "$d/f" true
    [ "$status" -ne 0 ]
    touch "$d/go"
    timeout 20 pipelines/locked "$d/f" touch "$d/entered"
    [ -e "$d/entered" ]
}
