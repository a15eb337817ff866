#!/usr/bin/env bats
# The runner of every rule (pipelines/stage): stale results, outputs that are renamed into place together, results that are not measured
# or fail, two makes at a time. First the runner alone with a test tool, then the rules of the pipeline.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    d=$BATS_TEST_TMPDIR/r
    mkdir -p "$d/bin"
    # geodec-x IN OUT [SIDE]: counts its runs
    cat > "$d/bin/geodec-x" <<'TOOL'
#!/bin/bash
echo run >> "${0%/*}/runs"
if [ "$(head -c 4 "$1")" = poor ]; then echo "geodec-x: 3 tokens; this needs 5" >&2; exit 5; fi
if [ "$(head -c 3 "$1")" = bad ]; then echo "partial" > "$2"; echo "geodec-x: it broke" >&2; exit 3; fi
cat "$1" > "$2"; echo made >> "$2"
[ -z "$3" ] || echo "side of $(cat "$1")" > "$3"
TOOL
    chmod +x "$d/bin/geodec-x"
    echo first > "$d/in"
}
# x OUT IN [EXTRA..]: the stage OUT from IN with a side output
x() {
    local o=$1 i=$2
    shift 2
    pipelines/stage --root "$d" --also "$o.side" "$@" "$d/$o" "$d/$i" -- "$d/bin/geodec-x $d/$i $d/.new-$o/$o $d/.new-$o/$o.side $setting"
}
runs() { wc -l < "$d/bin/runs"; }

@test "a result is made again when an input, the command or the program changed, and only then" {
    x out in
    [ "$(runs)" -eq 1 ]
    [ "$(head -n 1 "$d/out")" = first ]
    [ "$(cat "$d/out.side")" = "side of first" ]
    before=$(stat -c %y "$d/out")
    run x out in
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [ "$(runs)" -eq 1 ]
    touch "$d/in" "$d/bin/geodec-x" "$d/out" # times are no change
    touch -d "$before" "$d/out"
    cp "$d/in" "$d/copy" && mv "$d/copy" "$d/in"
    x out in
    [ "$(runs)" -eq 1 ]
    [ "$(stat -c %y "$d/out")" = "$before" ]
    echo second > "$d/in"
    x out in
    [ "$(runs)" -eq 2 ]
    [ "$(cat "$d/out.side")" = "side of second" ]
    setting=--other x out in
    [ "$(runs)" -eq 3 ]
    setting="--other --quiet" x out in # how much is said changes nothing
    [ "$(runs)" -eq 3 ]
    printf '#' >> "$d/bin/geodec-x"
    setting=--other x out in
    [ "$(runs)" -eq 4 ]
    # same size and time, other bytes
    time=$(stat -c %y "$d/in")
    echo secomd > "$d/in"
    touch -d "$time" "$d/in"
    setting=--other x out in
    [ "$(runs)" -eq 5 ]
    [ "$(head -n 1 "$d/out")" = secomd ]
}

@test "a missing or changed output is made again, including further outputs" {
    x out in
    rm "$d/out.side"
    x out in
    [ "$(runs)" -eq 2 ]
    [ -e "$d/out.side" ]
    echo other >> "$d/out"
    x out in
    [ "$(runs)" -eq 3 ]
    [ "$(wc -l < "$d/out")" -eq 2 ]
    rm "$d/out"
    x out in
    [ "$(runs)" -eq 4 ]
    [ -e "$d/out" ]
}

@test "the reason of status 5 is kept, passed on, and removed when an input changes" {
    x out in
    x then out
    echo poor > "$d/in"
    run x out in
    [ "$status" -eq 0 ]
    [ ! -e "$d/out" ]
    [ ! -e "$d/out.side" ]
    [ "$(cat "$d/out.not-measured")" = "3 tokens; this needs 5" ]
    [ -e "$d/out.side.not-measured" ]
    n=$(runs)
    x out in
    [ "$(runs)" -eq "$n" ] # it is known
    x then out
    x last then
    [ "$(runs)" -eq "$n" ]
    [ ! -e "$d/then" ]
    [ ! -e "$d/then.side" ]
    [ "$(cat "$d/then.not-measured")" = "needs out: 3 tokens; this needs 5" ]
    [ "$(cat "$d/last.not-measured")" = "needs out: 3 tokens; this needs 5" ]
    # a stage that runs without the input
    run pipelines/stage --root "$d" --any "$d/report" "$d/out" -- "cat $d/out.not-measured > $d/.new-report/report"
    [ "$(cat "$d/report")" = "3 tokens; this needs 5" ]
    echo rich > "$d/in"
    x out in
    x then out
    x last then
    [ "$(head -n 1 "$d/last")" = rich ]
    [ -z "$(find "$d" -name '*.not-measured')" ]
}

# turkish: LC_ALL=tr_TR.UTF-8, with a decimal comma and another order of names
turkish() {
    localedef -i tr_TR -f UTF-8 "$BATS_TEST_TMPDIR/tr_TR.UTF-8" 2> /dev/null || true
    export LOCPATH=$BATS_TEST_TMPDIR
    [ "$(LC_ALL=tr_TR.UTF-8 locale decimal_point)" = , ] || skip "tr_TR.UTF-8 cannot be made here (Debian package locales)"
    export LC_ALL=tr_TR.UTF-8
}

@test "objects are linked in one order, whatever the language of the user" {
    unset MAKEFLAGS MFLAGS MAKELEVEL
    LC_ALL=C make -s B="$d/b" "$d/b/objects.txt"
    mv "$d/b/objects.txt" "$d/c.txt"
    turkish
    make -s B="$d/b" "$d/b/objects.txt"
    cmp "$d/b/objects.txt" "$d/c.txt"
}

@test "a stage writes numbers in one way, whatever the language of the user" {
    turkish
    [ "$(env printf %.1f 1,5)" = 1,5 ] # control: programs take the locale
    pipelines/stage --root "$d" "$d/out" "$d/in" -- "{ printf '%.1f\n' 1.5; awk 'BEGIN {printf \"%.1f\n\", 1.5}'; env printf '%.1f\n' 1.5; } > $d/.new-out/out"
    [ "$(sort -u "$d/out")" = 1.5 ]
}

@test "a failure leaves no result, is tried again, and stops make except with --keep-going" {
    x out in
    echo bad > "$d/in"
    run x out in
    [ "$status" -eq 3 ]
    [[ "$output" == *"it broke"* ]]
    [ ! -e "$d/out" ]
    [ ! -e "$d/out.side" ]
    [ ! -e "$d/.new-out" ]
    grep -q "^failed: geodec-x: it broke (status 3)$" "$d/out.not-measured"
    run x out in --keep-going
    [ "$status" -eq 0 ]
    [ "$(runs)" -eq 3 ]
    x then out --keep-going
    grep -q "^needs out: failed: geodec-x: it broke" "$d/then.not-measured"
    run pipelines/report/failures "$d"
    [ "$status" -eq 1 ]  # out and its side
    [[ "$output" == *"it broke"*"2 stages failed"* ]]
    run x out in --keep-going --fatal
    [ "$status" -eq 3 ]
    run pipelines/stage --root "$d" --keep-going "$d/full" -- "echo 'geodec-x: out: No space left on device' >&2; exit 1"
    [ "$status" -eq 1 ]
    run pipelines/stage --root "$d" "$d/lost" "$d/nowhere" -- "true"
    [ "$status" -ne 0 ]
    [[ "$output" == *"nowhere is missing"* ]]
    run pipelines/stage --root "$d" "$d/none" -- "true"
    [ "$status" -ne 0 ]
    [[ "$output" == *"none"* ]]
    echo good > "$d/in"
    x out in
    [ "$(head -n 1 "$d/out")" = good ]
    [ ! -e "$d/out.not-measured" ]
}

@test "a failing part of a chain of programs is a failure" {
    run pipelines/stage --root "$d" "$d/t" -- "{ false; echo x; } | cat > $d/.new-t/t"
    [ "$status" -ne 0 ]
    [ ! -e "$d/t" ]
    run pipelines/stage --root "$d" "$d/t" -- "false | cat > $d/.new-t/t"
    [ "$status" -ne 0 ]
    [ ! -e "$d/t" ]
}

@test "after a kill the old outputs stay together, and the next run makes the new ones" {
    x out in
    echo second > "$d/in"
    slow="echo a > $d/.new-out/out.side; sleep 30; echo b > $d/.new-out/out"
    setsid pipelines/stage --root "$d" --also out.side "$d/out" "$d/in" -- "$slow" > /dev/null 2>&1 &
    pid=$!
    until [ -e "$d/.new-out/out.side" ]; do sleep 0.02; done
    kill -9 -- "-$pid"
    wait "$pid" || true
    [ "$(cat "$d/out.side")" = "side of first" ]
    [ "$(head -n 1 "$d/out")" = first ]
    x out in
    [ "$(cat "$d/out.side")" = "side of second" ]
    [ "$(head -n 1 "$d/out")" = second ]
    [ ! -e "$d/.new-out" ]
}

@test "a command does not outlive a runner that is killed" {
    command -v setpriv > /dev/null || skip "no setpriv"
    cat > "$d/bin/geodec-slow" <<'TOOL'
#!/bin/bash
echo $$ > "$1"
exec sleep 60
TOOL
    chmod +x "$d/bin/geodec-slow"
    for signal in TERM KILL; do
        rm -f "$d/pid"
        pipelines/stage --root "$d" "$d/out" -- "$d/bin/geodec-slow $d/pid" > /dev/null 2>&1 3>&- &
        stage=$!
        until [ -s "$d/pid" ]; do sleep 0.02; done
        kill -$signal "$stage"
        wait "$stage" || true
        for _ in $(seq 100); do [ -e "/proc/$(cat "$d/pid")" ] || break; sleep 0.05; done
        [ ! -e "/proc/$(cat "$d/pid")" ]
    done
}

# ---- the pipeline's rules ------------------------------------------------------------------------------------------
tiny() { # tiny GOALS.. [NAME=VALUE..]
    make -s MODEL=data/model/geodec-stories-q8_0.gguf QUICK=1 CORPUS_STORIES=20 TOKENS=500 POINTS=120 STORE_TEXTS=4 STORE_LENGTH=48 PROMPTS=2 \
        NEW_TOKENS=8 GAMMAS=4 SEEDS=1 LOGITS= R="$d" "$@"
}

@test "a rebuilt program, another setting and another text remake the results that depend on them" {
    mkdir "$d/tools"
    ln -s "$bin"/* "$d/tools/"
    ln -s "$PWD/$B/lib" "$d/lib" # a copied tool finds the library next to its folder
    made() { tiny BIN="$d/tools" "$@" | sed -n 's/^  RUN   //p' | tr '\n' ' '; }
    [ "$(made "$d/metric.h5")" = "text.txt plan.tsv activations.h5 cloud.h5 metric.h5 " ]
    [ "$(made "$d/metric.h5")" = "" ]
    cp --remove-destination "$bin/geodec-cloud" "$d/tools/geodec-cloud"
    [ "$(made "$d/metric.h5")" = "" ] # the same bytes
    printf x >> "$d/tools/geodec-cloud"
    [ "$(made "$d/metric.h5")" = "cloud.h5 " ] # and the metric of the same cloud stays
    [ "$(made "$d/metric.h5" POINTS=100)" = "plan.tsv cloud.h5 metric.h5 " ]
    [ "$(made "$d/metric.h5" POINTS=100)" = "" ]
    head -c 3000 "$d/text.txt" > "$d/mine.txt"
    [ "$(made "$d/metric.h5" POINTS=100 TEXT="$d/mine.txt")" = "plan.tsv activations.h5 cloud.h5 metric.h5 " ]
    cp "$d/mine.txt" "$d/same.txt"
    [ "$(made "$d/metric.h5" POINTS=100 TEXT="$d/same.txt" 2> /dev/null)" = "" ]
    first=$(sha256sum < "$d/metric.h5")
    [ "$(made "$d/metric.h5" POINTS=100 TEXT="$d/same.txt" MODEL=data/model/geodec-stories-f16.gguf 2> /dev/null)" = "plan.tsv activations.h5 cloud.h5 metric.h5 " ]
    [ "$(sha256sum < "$d/metric.h5")" != "$first" ] # B's, then A's again
    made "$d/metric.h5" POINTS=100 TEXT="$d/same.txt" > /dev/null
    [ "$(sha256sum < "$d/metric.h5")" = "$first" ]
}

@test "two makes in one folder run one after the other, and nothing is made twice" {
    tiny "$d/metric.h5" > "$d/one.log" 2>&1 &
    one=$!
    tiny "$d/metric.h5" > "$d/two.log" 2>&1 &
    two=$!
    wait "$one"
    wait "$two"
    [ "$(cat "$d/one.log" "$d/two.log" | grep -c 'RUN   cloud.h5')" -eq 1 ]
    [ "$(cat "$d/one.log" "$d/two.log" | grep -c 'another make works here')" -eq 1 ]
    "$bin/geodec-check" "$d/metric.h5"
    # other settings at the same time: the chain is complete, with the settings of the last make
    tiny "$d/metric.h5" POINTS=90 > "$d/one.log" 2>&1 &
    one=$!
    tiny "$d/metric.h5" POINTS=110 > "$d/two.log" 2>&1
    wait "$one"
    points=$("$bin/geodec-table" "$d/metric.h5" points | sed 1d | wc -l)
    asked=$(sed -n 's/^points=//p' "$d/sizes.txt")
    [ "$points" = "$asked" ]
}
