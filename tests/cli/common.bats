#!/usr/bin/env bats
# Behaviour of every tool: help, version, usage errors, exit codes, full disk, broken pipe, locale.

bats_require_minimum_version 1.5.0
load ../root
load blocked

@test "--help goes to stdout with status 0 and names usage, options and exit codes" {
    for t in "$bin"/geodec-*; do
        run --separate-stderr "$t" --help
        [ "$status" -eq 0 ] || { echo "$t: $status"; false; }
        [ -z "$stderr" ]
        [[ "$output" == "Usage: ${t##*/}"* ]] || { echo "$t"; false; }
        [[ "$output" == *"Exit status"* && "$output" == *"--threads"* ]]
    done
}

@test "--version prints tool, package and version" {
    version=$(cat VERSION)
    for t in "$bin"/geodec-*; do
        run "$t" --version
        [ "$status" -eq 0 ]
        [ "$output" = "${t##*/} (geodec) $version" ]
    done
}

@test "an unknown option is a usage error: status 2, two short lines on stderr, nothing on stdout" {
    for t in "$bin"/geodec-*; do
        run --separate-stderr "$t" --no-such-option
        [ "$status" -eq 2 ] || { echo "$t: $status"; false; }
        [ -z "$output" ]
        [[ "$stderr" == "${t##*/}: unknown option '--no-such-option'"* ]]
        [ "${#stderr_lines[@]}" -eq 2 ]
    done
}

@test "a mistyped option, choice or stage is refused with the nearest one" {
    for pair in "decode --promt|prompt" "decode --drfat|draft" "cloud --pca=exct|exact" "cluod|cloud" "metri|metric" "halp|help"; do
        # shellcheck disable=SC2086 # words of a command
        run -2 "$bin/geodec" ${pair%|*}
        [[ "$output" == *"did you mean '"*"${pair#*|}'?"* ]] || { echo "$pair: $output"; false; }
    done
    run -2 "$bin/geodec" decode --temp 0
    [[ "$output" == *"short for several '--temp'; did you mean '--temperature'"* ]]
    run -2 "$bin/geodec" wholly-unlike
    [[ "$output" != *"did you mean"* ]]
}

# The rule stands in C (tools/cli/suggest.c), and in awk for scripts that run before there is a build and for the launcher.
@test "the nearest word is the same in C and in awk" {
    names=$("$bin/geodec-decode" --options | awk -F'\t' '$1 == "option" {print $2}')
    words=0
    for name in $names; do
        [ ${#name} -ge 4 ] || continue
        for word in "${name:0:1}${name:2:1}${name:1:1}${name:3}" "${name:0:${#name}-2}${name: -1}" "${name}x" "z$name"; do
            [[ $'\n'$names != *$'\n'"$word"* ]] || continue # an option, or short for one
            said=$("$bin/geodec-decode" "--$word" 2>&1) || true
            [[ $said =~ "did you mean '--"([^\']*)\' ]] && said=${BASH_REMATCH[1]} || said=
            [ "$said" = "$(awk -v word="$word" -f pipelines/nearest.awk <<< "$names")" ] || { echo "$word: $said"; false; }
            words=$((words + 1))
        done
    done
    [ $words -gt 100 ]
}

@test "geodec help STAGE is geodec STAGE --help" {
    [ "$("$bin/geodec" help cloud)" = "$("$bin/geodec" cloud --help)" ]
    [ "$("$bin/geodec" help)" = "$("$bin/geodec" --help)" ]
    run -2 "$bin/geodec" help cluod
    [[ "$output" == *"did you mean 'cloud'"* ]]
}

@test "every tool that reads a model takes it by --model and as an argument" {
    m=data/model/geodec-stories-f16.gguf
    [ "$("$bin/geodec-model-info" $m)" = "$("$bin/geodec-model-info" --model $m)" ]
    [ "$("$bin/geodec-tokenize" $m VERSION)" = "$("$bin/geodec-tokenize" --model $m VERSION)" ]
    named=0
    for t in "$bin"/geodec-*; do
        options=$("$t" --options)
        [[ $options == *$'\noption\tmodel\t'*([^$'\n'])$'\tpath\t'* ]] || continue
        named=$((named + 1))
        case $t in *-experts | *-ternary) args=(build) ;; *-model-path) continue ;; *) args=() ;; esac
        case $t in *-decode | *-sample | *-attest) args=(-p x) ;; esac
        # Neither form is an error of usage about the model itself.
        stderr=$("$t" "${args[@]}" no-such-model.gguf -o "$tmp/none" 2>&1 > /dev/null) || true
        [[ "$stderr" != *"option --model is required"* && "$stderr" != *"unexpected argument 'no-such-model.gguf'"* ]] || { echo "$t: $stderr"; false; }
        stderr=$("$t" "${args[@]}" --model no-such-model.gguf -o "$tmp/none" 2>&1 > /dev/null) || true
        [[ "$stderr" != *"unexpected argument"* ]] || { echo "$t: $stderr"; false; }
    done
    [ "$named" -ge 35 ] || { echo "$named tools"; false; }
}

@test "numbers are parsed whole and within limits" {
    for bad in 0 -1 1.5 2x '' 99999; do
        run "$bin/geodec-cloud" --threads "$bad" x.h5
        [ "$status" -eq 2 ]
    done
}

@test "a full disk behind stdout is an error" {
    for t in "$bin"/geodec-*; do
        run bash -c "'$t' --help > /dev/full"
        [ "$status" -eq 1 ] || { echo "$t: $status"; false; }
    done
}

@test "a closed pipe ends a tool quietly" {
    run bash -c "set -o pipefail; '$bin/geodec-cloud' --help | head -n 1"
    [[ "$output" == "Usage: geodec-cloud"* ]]
    [[ "$output" != *rror* ]]
}

# stopped STDERR COMMAND...: SIGTERM while the command waits for the reader of its output.
stopped() {
    local want=$1 status=0
    shift
    rm -f "$tmp/out" "$tmp/pid"
    mkfifo "$tmp/out"
    exec 8<> "$tmp/out"
    perl -e "$small_pipe" "$tmp/pid" "$bin/$1" "${@:2}" --threads 1 > "$tmp/out" 2> "$tmp/err" 8>&- 3>&- &
    until_true 60 blocked "$tmp/pid"
    kill -TERM "$(cat "$tmp/pid")"
    wait $! || status=$?
    exec 8>&-
    [ "$status" -eq 130 ] || { echo "$1: status $status: $(cat "$tmp/err")"; false; }
    grep -Ex "$1: $want" "$tmp/err" || { cat "$tmp/err"; false; }
    [ "$(wc -l < "$tmp/err")" -eq 1 ]
}

@test "a signal while the output is blocked: status 130, one line" {
    stopped 'interrupted \(decode [0-9]+ of 19000\)' geodec-decode --model data/model/geodec-stories-f16.gguf --prompt One --ctx 20000 \
        --max-tokens 19000 --min-tokens 18000 --quiet
    { echo n; seq 1500; } > "$BATS_TEST_TMPDIR/numbers.tsv"
    stopped '.*: cannot write the table' geodec-table "$BATS_TEST_TMPDIR/numbers.tsv" n
    stopped 'cannot write standard output: Interrupted system call' geodec-perplexity --help # less than two pages
}

@test "a comma locale changes no number" {
    LC_ALL=de_DE.UTF-8 run "$bin/geodec-cloud" --variance 0.5 --no-such-option
    [ "$status" -eq 2 ]
    [[ "$output" == *"--no-such-option"* ]]
}

@test "a missing input is status 1 and names the file" {
    out="$BATS_TEST_TMPDIR/out"
    mkdir "$out"
    for stage in cloud metric christoffel geodesic riemann validity coverage; do
        run --separate-stderr "$bin/geodec-$stage" -o "$out/x.h5" "$out/absent.h5"
        [ "$status" -eq 1 ] || { echo "$stage: $status $stderr"; false; }
        [[ "$stderr" == "geodec-$stage: "*"absent.h5"* ]]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [ -z "$(ls -A "$out")" ]
    done
}

@test "the front end runs and lists stages, and refuses unknown ones" {
    run "$bin/geodec" cloud --version
    [ "$status" -eq 0 ]
    [ "$output" = "geodec-cloud (geodec) $(cat VERSION)" ]
    run "$bin/geodec" --help
    [ "$status" -eq 0 ]
    [[ "$output" == *"  metric"* ]]
    run "$bin/geodec" nonsense
    [ "$status" -eq 2 ]
    run "$bin/geodec"
    [ "$status" -eq 2 ]
}

@test "no two options of a tool share a letter" {
    for t in "$bin"/geodec-*; do
        twice=$("$t" --help | grep -oE '^  -[a-zA-Z],' | sort | uniq -d)
        [ -z "$twice" ] || { echo "$t: $twice"; false; }
    done
}
