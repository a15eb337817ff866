#!/usr/bin/env bats
# pipelines/slurm without Slurm: the jobs that are made from the make graph, hostile names, the same tasks by xargs with the bytes of a plain make,
# retries and their records, and tasks that are killed. tests/cluster/slurm-local does the same on a real Slurm.
# full: runs of a submission, killed
# bats file_tags=full

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export TINY="QUICK=1 CORPUS_STORIES=20 TOKENS=500 POINTS=120 STORE_TEXTS=4 STORE_LENGTH=48 PROMPTS=2 NEW_TOKENS=8 GAMMAS=4 SEEDS=1 LOGITS="
    export MODEL_WORD=MODEL=data/model/geodec-stories-q8_0.gguf OUT=$BATS_FILE_TMPDIR
}
setup() {
    d=$BATS_TEST_TMPDIR/r
}
submit() { pipelines/slurm/submit "$MODEL_WORD" $TINY "$@"; } # shellcheck disable=SC2086
state() { awk -F'\t' 'NR > 1 {print $3}' "$1" | tr '\n' ' '; }

@test "the dry run prints a script for each job, with arrays and dependencies from the make graph" {
    submit --dry-run geometry decoding SHARDS=3 R="$d" PARTITION=short TIME=30 MEM=2G ACCOUNT=lab > "$BATS_TEST_TMPDIR/dry" 2> "$BATS_TEST_TMPDIR/said"
    [ ! -e "$d" ]
    dry() { grep -A16 -- " $1.sh\$" "$BATS_TEST_TMPDIR/dry" | sed '/^$/,$d'; }
    dry riemann | head -n 1 | grep -q -- "--dependency=afterany:metric riemann.sh"
    dry riemann | grep -qx "#SBATCH --array=1-3"
    dry riemann | grep -qx "#SBATCH --partition=short"
    dry riemann | grep -qx "#SBATCH --time=30"
    dry riemann | grep -qx "#SBATCH --mem=2G"
    dry riemann | grep -qx "#SBATCH --account=lab"
    dry riemann | grep -qx "#SBATCH --requeue"
    dry riemann | grep -qx "#SBATCH --kill-on-invalid-dep=yes"
    dry merge-riemann | head -n 1 | grep -q "afterany:riemann "
    dry propagators | head -n 1 | grep -qE "afterany:(metric:merge-geodesics|merge-geodesics:metric) "
    # a swept stage: parts, their join, the stage with --joined
    dry merge-validity.sweep-3 | head -n 1 | grep -q "afterany:validity "
    dry validity-2 | head -n 1 | grep -q "merge-validity.sweep-3"
    ! dry merge-riemann | grep -q -- --array || false
    # every script is one that bash reads
    awk -v dir="$BATS_TEST_TMPDIR" '/^# sbatch/ {f = dir "/" ++n ".sh"; next} f {print > f}' "$BATS_TEST_TMPDIR/dry"
    for f in "$BATS_TEST_TMPDIR"/*.sh; do bash -n "$f"; done
    # each job comes after those that it names
    awk '/^# sbatch/ {n = $NF; sub(/\.sh$/, "", n); if (match($0, /--dependency=[a-z]*:[^ ]*/)) {m = split(substr($0, RSTART, RLENGTH), w, ":");
        for (i = 2; i <= m; i++) if (!(w[i] in seen)) {print n " before " w[i]; bad = 1}} seen[n] = 1} END {exit bad}' "$BATS_TEST_TMPDIR/dry"
    # as many tasks as files that plain make says it would make
    made=$(make -n --trace "$MODEL_WORD" $TINY SHARDS=3 R="$d" LOCKED="$d" geometry decoding | grep -cE "^pipelines/[^ ]*: (update )?target '$d/[^']*'")
    grep -q ": $made of $made tasks to do" "$BATS_TEST_TMPDIR/said"
}

@test "memory and time are those of --plan of a tool that has it" {
    mkdir -p "$BATS_TEST_TMPDIR/tools"
    ln -s "$bin"/* "$BATS_TEST_TMPDIR/tools/"
    rm "$BATS_TEST_TMPDIR/tools/geodec-metric"
    cat > "$BATS_TEST_TMPDIR/tools/geodec-metric" <<'TOOL'
#!/bin/sh
case " $* " in
    *" --help "*) echo "  --plan            print what the run needs" ;;
    *" --plan "*) printf 'memory_bytes\tseconds\n1073741824\t600\n' ;;
    *) exit 1 ;;
esac
TOOL
    chmod +x "$BATS_TEST_TMPDIR/tools/geodec-metric"
    submit --dry-run "$d/metric.h5" R="$d" BIN="$BATS_TEST_TMPDIR/tools" MEM=9G TIME=7 > "$BATS_TEST_TMPDIR/dry" 2> /dev/null
    sed -n '/metric.sh$/,/^$/p' "$BATS_TEST_TMPDIR/dry" > "$BATS_TEST_TMPDIR/metric"
    grep -qx "#SBATCH --mem=1395M" "$BATS_TEST_TMPDIR/metric" # 1.3 GiB and 64 MiB
    grep -qx "#SBATCH --time=25" "$BATS_TEST_TMPDIR/metric"   # minutes: twice 10, and 5
    sed -n '/ cloud.sh$/,/^$/p' "$BATS_TEST_TMPDIR/dry" | grep -qx "#SBATCH --mem=9G"
}

@test "jobs of stages whose inputs exist have the limits of their plans" {
    # shellcheck disable=SC2086 # words
    make -s "$MODEL_WORD" $TINY R="$d" "$d/metric.h5" > /dev/null 2>&1
    submit --dry-run geometry SHARDS=2 R="$d" MEM=9G TIME=7 > "$BATS_TEST_TMPDIR/dry" 2> /dev/null
    dry() { sed -n "/ $1.sh\$/,/^\$/p" "$BATS_TEST_TMPDIR/dry"; }
    for job in activations cloud metric christoffel riemann geodesics validity; do # 1.3 times 20 to 100 MB, and 64 MiB
        dry "$job" | grep -qE "^#SBATCH --mem=(8|9|1[0-9])[0-9]M$" || { dry "$job"; false; }
        dry "$job" | grep -qE "^#SBATCH --time=[5-9]$"
    done
    dry propagators | grep -qx "#SBATCH --mem=9G" # its paths are not there
    [ ! -e "$d/geodesics.h5" ]
}

@test "tables and figures share jobs; experiments on exports are arrays in chunks" {
    submit --dry-run results claims SHARDS=4 R="$d" > "$BATS_TEST_TMPDIR/dry" 2> /dev/null
    grep -q -- "--dependency=afterany:.* tables" "$BATS_TEST_TMPDIR/dry"
    [ "$(grep -c '^# sbatch' "$BATS_TEST_TMPDIR/dry")" -lt 140 ]
    ls ../shared/golden/ott/*_n4.h5 > /dev/null 2>&1 || skip "no exports in the shared folder"
    grep -A2 'exports-all-metric.sh$' "$BATS_TEST_TMPDIR/dry" | grep -qx "#SBATCH --array=1-4"
}

@test "names with blanks, quotes and dollars are data; line breaks and odd options are refused in one line" {
    odd="$BATS_TEST_TMPDIR/a 'b' \"c\" \$(touch cluster-evil) ;&.txt"
    printf 'Once upon a time there was a cat.\n%.0s' $(seq 60) > "$odd"
    pipelines/slurm/submit "$MODEL_WORD" TEXT="$odd" $TINY SHARDS=1 R="$d" --runner xargs --jobs 1 "$d/plan.tsv" > /dev/null 2>&1
    [ "$(readlink "$d/input/text.txt")" = "$odd" ]
    [ -s "$d/plan.tsv" ]
    make -s submit "$MODEL_WORD" "TEXT=$odd" $TINY R="$d" RUNNER=xargs GOALS="$d/plan.tsv" > /dev/null 2>&1
    [ ! -e cluster-evil ]
    refused() {
        run --separate-stderr pipelines/slurm/submit --dry-run "$@"
        [ "$status" -eq 1 ] && [ -z "$output" ] && [ "$(printf '%s\n' "$stderr" | wc -l)" -eq 1 ] || { echo "$*: $stderr"; false; }
    }
    refused "TEXT=$BATS_TEST_TMPDIR/a"$'\n'"b"
    refused "POINTS=1"$'\n'"2"
    refused 'PARTITION=a b'
    refused 'MEM=1;2'
    refused 'TIME=$(date)'
    refused 'ACCOUNT=a"b'
    refused SHARDS=0
    refused SHARDS=257
    refused MAX_TRIES=many
    refused 'SCRATCH=/tmp/a b'
    refused 'geometry; true'
    refused --unknown
    refused RUNNER=pbs
    run --separate-stderr pipelines/slurm/submit --dry-run no-such-target
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"no-such-target"* ]]
    run --separate-stderr pipelines/slurm/submit --dry-run MODEL="$BATS_TEST_TMPDIR/none.gguf"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"no such file"* ]]
}

sums() { # digests of every artifact in folder $1, timings and parts apart
    (cd "$1" && find . -name '*.h5' ! -name 'speed*' ! -name '.*' ! -name '*-3.h5' | sort | xargs sha256sum)
}
chain="riemann.h5 validity.h5 coverage.h5"

@test "tasks by xargs give the bytes of a plain make, after tasks are killed too; a second submission does nothing" {
    goals() { for f in $chain; do echo "$1/$f"; done; }
    make -s "$MODEL_WORD" $TINY R="$OUT/plain/r" $(goals "$OUT/plain/r")
    x=$OUT/x/r
    # Submitters and their tasks are killed at several moments.
    for delay in 1 2 3; do
        setsid pipelines/slurm/submit "$MODEL_WORD" $TINY SHARDS=3 R="$x" --runner xargs --jobs 2 $(goals "$x") > /dev/null 2>&1 3>&- &
        pid=$!
        sleep "$delay"
        kill -9 -- "-$pid" 2> /dev/null || true
        wait "$pid" 2> /dev/null || true
    done
    run submit SHARDS=3 R="$x" --runner xargs --jobs 2 $(goals "$x")
    [ "$status" -eq 0 ]
    diff <(sums "$OUT/plain/r") <(sums "$x")
    [ -z "$(find "$x" -name '.new-*' -o -name '*.tmp')" ]
    grep -qx 'left: 0 of [0-9]* tasks' <(pipelines/slurm/status "$x/cluster")
    # nothing is left for a plain make, nor for a second submission
    [ -z "$(make -s "$MODEL_WORD" $TINY SHARDS=3 R="$x" $(goals "$x"))" ]
    run submit SHARDS=3 R="$x" --runner xargs $(goals "$x")
    [ "$status" -eq 0 ]
    [[ "$output" == *" 0 of "*" tasks to do"* ]]
    # a lost part is made again, with what follows from it
    rm "$x/riemann.2-3.h5"
    run submit SHARDS=3 R="$x" --runner xargs $(goals "$x")
    [ "$status" -eq 0 ]
    [[ "$output" == *" 2 of "*" tasks to do"* ]]
    diff <(sums "$OUT/plain/r") <(sums "$x")
}

@test "a failing task is tried MAX_TRIES times, its reasons are kept, and what depends on it does not run" {
    mkdir -p "$BATS_TEST_TMPDIR/tools"
    ln -s "$bin"/* "$BATS_TEST_TMPDIR/tools/"
    rm "$BATS_TEST_TMPDIR/tools/geodec-cloud"
    printf '#!/bin/sh\necho "geodec-cloud: this disk is odd" >&2\nexit 7\n' > "$BATS_TEST_TMPDIR/tools/geodec-cloud"
    chmod +x "$BATS_TEST_TMPDIR/tools/geodec-cloud"
    run submit BIN="$BATS_TEST_TMPDIR/tools" R="$d" --runner xargs --jobs 2 MAX_TRIES=3 "$d/metric.h5"
    [ "$status" -eq 1 ]
    [ "$(state "$d/cluster/records/cloud.1.tsv")" = "failed failed failed " ]
    [ "$(awk -F'\t' 'NR == 2 {print $2 "|" $8 "|" $9 "|" NF}' "$d/cluster/records/cloud.1.tsv")" = "1|7|geodec-cloud: this disk is odd|9" ]
    [ "$(state "$d/cluster/records/metric.1.tsv")" = "not-run " ]
    [ -s "$d/cluster/logs/cloud.1.1.txt" ]
    [ -s "$d/cluster/logs/cloud.1.3.txt" ]
    [ ! -e "$d/cluster/logs/cloud.1.4.txt" ]
    page=$(pipelines/slurm/status "$d/cluster")
    [[ "$page" == *"cloud.1: "*"failed after 3 tries: geodec-cloud: this disk is odd"* ]]
    [[ "$page" == *"metric.1: "*"not-run"*"needs $d/cloud.h5 (failed)"* ]]
    # a tool that fails once, by a signal
    printf '#!/bin/bash\n[ -e %q ] || { touch %q; kill -9 $$; }\nexec %q "$@"\n' "$d/once" "$d/once" "$bin/geodec-cloud" > "$BATS_TEST_TMPDIR/tools/geodec-cloud"
    run submit BIN="$BATS_TEST_TMPDIR/tools" R="$d" --runner xargs --jobs 2 "$d/metric.h5"
    [ "$status" -eq 0 ]
    [ "$(state "$d/cluster/records/cloud.1.tsv")" = "failed failed failed failed done " ]
    grep -q "signal KILL" "$d/cluster/records/cloud.1.tsv"
    "$bin/geodec-check" "$d/metric.h5"
}

@test "one submission works in a folder, and no make beside it; who is gone is no hindrance" {
    mkdir -p "$d/cluster/lock"
    sleep 60 &
    pid=$!
    printf 'xargs\t%s\t%s\t%s\n' "$(uname -n)" "$pid" "$(sed 's/.*) //' /proc/$pid/stat | cut -d' ' -f20)" > "$d/cluster/lock/owner"
    run --separate-stderr submit R="$d" --runner xargs "$d/plan.tsv"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"a submission works here (process $pid)"* ]]
    run --separate-stderr make -s "$MODEL_WORD" $TINY R="$d" "$d/plan.tsv"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"a submission works here"* ]]
    kill "$pid"
    wait "$pid" || true
    submit R="$d" --runner xargs "$d/plan.tsv"
    [ -s "$d/plan.tsv" ]
    [ ! -e "$d/cluster/lock" ]
    # Slurm's jobs, where nobody can ask Slurm
    mkdir "$d/cluster/lock" "$d/nothing"
    printf 'slurm\thost\t-\t-\n' > "$d/cluster/lock/owner"
    printf 'plan\t1\n' > "$d/cluster/ids.tsv"
    printf '#!/bin/sh\nexit 1\n' > "$d/nothing/squeue"
    chmod +x "$d/nothing/squeue"
    PATH=$d/nothing:$PATH submit R="$d" --runner xargs "$d/plan.tsv" # every task was made, so nobody works
    mkdir "$d/cluster/lock"
    printf 'slurm\thost\t-\t-\n' > "$d/cluster/lock/owner"
    printf 'plan\t1\n' > "$d/cluster/ids.tsv"
    sed -i 's/	current	/	running	/; s/^runner	.*/runner	slurm/' "$d/cluster/records/plan.1.tsv" "$d/cluster/options"
    PATH=$d/nothing:$PATH run --separate-stderr submit R="$d" --runner xargs "$d/plan.tsv"
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"cannot be known"* ]]
    page=$(PATH=$d/nothing:$PATH pipelines/slurm/status "$d/cluster")
    [[ "$page" == *"squeue does not answer"* && "$page" == *"plan.1: "*"unknown"* ]]
}

@test "a folder without file locks: mkdir excludes a second make, and a dead owner is no hindrance" {
    mkdir -p "$d/fake"
    printf '#!/bin/sh\nexit 71\n' > "$d/fake/flock"
    chmod +x "$d/fake/flock"
    export PATH=$d/fake:$PATH
    pipelines/locked "$d/f" sh -c "touch $d/began; while [ ! -e $d/go ]; do sleep 0.05; done; echo one >> $d/order" 3>&- &
    one=$!
    until [ -e "$d/began" ]; do sleep 0.05; done
    pipelines/locked "$d/f" sh -c "echo two >> $d/order" 2> "$d/said" 3>&- &
    two=$!
    until [ -s "$d/said" ]; do sleep 0.05; done
    touch "$d/go"
    wait "$one" && wait "$two"
    [ "$(tr '\n' ' ' < "$d/order")" = "one two " ]
    [ ! -e "$d/f/.lock.d" ]
    grep -q "another make works here" "$d/said"
    mkdir "$d/f/.lock.d"
    echo "$(uname -n) 4194303999" > "$d/f/.lock.d/owner"
    pipelines/locked "$d/f" true
}
