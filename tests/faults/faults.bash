# The faults of tests/faults/run: one function each, for the row that `row` chose. `most` is the number of moments of each kind, `trace` the
# log of an undisturbed run, `base` the folder of the inputs and references, `other` that of the other version of the inputs.
# shellcheck shell=bash disable=SC2034,SC2154,SC2016,SC2143,SC2004

# begin [old]: a new trial folder with the inputs, and older outputs.
begin() {
    fresh "$base/in"
    [ "${1-}" != old ] || old_outputs
}

# kill -9 before the n-th call; then the same command again.
fault_kill() {
    local n
    pick "$(calls '[a-z]+')" "$most"
    for n in "${picked[@]}"; do
        begin old
        run_injected -n "$n" -f kill
        if ! why=$(whole_or_old "$ref"); then
            verdict=wrong why="partial after the kill: $why"
        else
            [ "$status" = 137 ] || [ "$status" = 0 ] || [ "$status" = 124 ] || why="status $status after a kill"
            run_plain
            judge "$ref"
            [ "$verdict" != refused ] || verdict=lost why="refused after a kill: $(cat "$said/stderr")"
        fi
        tally kill "-n $n -f kill"
    done
}

# each NAME KINDS FAULT [STEP]: the error at the n-th call of the kinds, and at each STEP-th later one.
each() {
    local n
    pick "$(calls "$(tr , '|' <<<"$2")")" "$most"
    for n in "${picked[@]}"; do
        begin old
        run_injected -k "$2" -n "$n" ${4:+-m "$4"} -f "$3"
        judge "$ref"
        tally "$1" "-k $2 -n $n ${4:+-m $4} -f $3"
    done
}
fault_full_disk() {
    each full-disk write,sync enospc
    each full-disk write,sync enospc 1
}
fault_broken_disk() {
    each broken-disk read eio
    each broken-disk write,sync eio
    each broken-disk name eio
}
fault_no_files() { each no-files open emfile; each no-files map enomem; }

# Every read and write is short, or every second one is interrupted: the result must be the same.
fault_short_calls() {
    local how
    for how in "read,write short 1" "read,write eintr 2" "open eintr 2"; do
        # shellcheck disable=SC2086
        set -- $how
        begin old
        run_injected -k "$1" -n 1 -m "$3" -f "$2"
        judge "$ref"
        [ "$verdict" != refused ] || [ "$1" = open ] || verdict=lost why="not the result: $(cat "$said/stderr")"
        tally short-calls "-k $1 -n 1 -m $3 -f $2"
    done
}

can_mount() {
    [ -n "${mounts-}" ] || { mkdir -p "$work/mount" && if mount -t tmpfs -o size=64k geodec-faults "$work/mount" 2>/dev/null; then umount "$work/mount"; mounts=yes; else mounts=no; echo "no right to mount: real full and read-only disks are left out" >&2; fi; }
    [ "$mounts" = yes ]
}
# A real small file system on out/, larger each time, until the result fits.
fault_small_disk() {
    local size left
    can_mount || return 0
    for ((size = 8; size <= 65536; size = size * 3 / 2)); do
        begin
        mount -t tmpfs -o "size=${size}k" geodec-faults "$trial/out"
        run_plain
        judge "$ref"
        umount "$trial/out"
        tally small-disk "tmpfs of $size KiB"
        [ "$verdict" = refused ] || break
    done
}
fault_read_only() {
    if can_mount; then
        begin
        mount -t tmpfs -o size=16m geodec-faults "$trial/out"
        old_outputs
        mount -o remount,ro "$trial/out"
        run_plain
        judge "$ref"
        umount "$trial/out"
        must_refuse
        tally read-only "a read-only file system"
    fi
    begin old
    run_injected -k write,sync -n 1 -m 1 -f erofs
    judge "$ref"
    tally read-only "-k write,sync -n 1 -m 1 -f erofs"
}
# A command that writes a file cannot succeed.
must_refuse() {
    [ ! -s "$ref/list" ] || [ "$verdict" != same ] || verdict=wrong why="status 0"
}

# The folder of the output is removed in the middle of the run.
fault_vanished_folder() {
    local n last
    [ -s "$ref/list" ] || return 0
    last=$(grep -n $'\tname\t' "$trace" | head -n 1 | cut -d : -f 1) # before the first rename
    pick "${last:-0}" "$most"
    for n in "${picked[@]}"; do
        begin
        run_injected -n "$n" -f 'do:rm -rf out'
        judge "$ref"
        tally vanished-folder "-n $n -f 'do:rm -rf out'"
    done
}

fault_output_is_folder() {
    local s f
    while read -r s f; do
        [ "${f%/*}" = . ] || continue
        begin
        mkdir "$trial/out/$f"
        run_plain
        listing "$trial/out" >"$work/listed"
        judge "$ref"
        [ "$verdict" != same ] || verdict=wrong why="status 0"
        tally output-is-folder "$f"
    done <"$ref/list"
}

# inputs_of: the files of in/ that the row reads.
inputs_of() { printf '%s\n' "${args[@]}" | grep -o 'in/[A-Za-z0-9._/-]*' | sed 's/#.*//' | sort -u | while read -r f; do [ ! -f "$base/$f" ] || echo "$f"; done; }

# own_input FILE: FILE is a copy that may change; the other inputs are links.
own_input() {
    rm "$trial/in"
    cp -Rs "$base/in" "$trial/in"
    rm "$trial/$1"
    cp "$base/$1" "$trial/$1"
}

fault_vanished_input() {
    local f n
    while read -r f; do
        pick "$(calls '[a-z]+')" "$few"
        for n in "${picked[@]}"; do
            begin old
            own_input "$f"
            run_injected -n "$n" -f "do:rm -f $f"
            judge "$ref"
            tally vanished-input "-n $n -f 'do:rm -f $f'"
        done
    done < <(inputs_of)
}

# An input becomes another version in the middle of the run: written in place, replaced, cut, or grown. The result is that of one version, or none.
fault_changed_input() {
    local f n how second=$work/second total
    while read -r f; do
        begin
        own_input "$f"
        cp "$other/$f" "$trial/$f"
        run_plain
        rm -rf "$second"
        keep_reference "$second"
        for how in "cat $other/$f > $f" "cp $other/$f new && mv new $f" "truncate -s -300 $f" "cat $f >> $f.new; cat $f.new >> $f; rm $f.new"; do
            pick "$(calls '[a-z]+')" "$few"
            for n in "${picked[@]}"; do
                begin # the name of an output may depend on the input, so there are no older ones
                own_input "$f"
                run_injected -n "$n" -f "do:$how"
                judge "$ref" "$second"
                if [ "$verdict" = wrong ] && same_as_after; then verdict=same; fi
                tally changed-input "-n $n -f 'do:$how'"
            done
        done
    done < <(inputs_of)
}
# same_as_after: the result is that of the input as it is now.
same_as_after() {
    local made third=$work/third text=$work/third.text
    made=$(listing "$trial/out")
    cp "$said/stdout" "$text"
    rm -rf "$trial/out"
    mkdir "$trial/out"
    run_plain
    keep_reference "$third"
    [ "$(cat "$third/status")" = 0 ] && [ "$made" = "$(cat "$third/list")" ] && { is_timed stdout || cmp -s "$text" "$third/stdout"; }
}

# A whole second run of the command, or of one with another seed, at the n-th call of the first.
fault_two_writers() {
    local n seed second=$work/second first
    [ -s "$ref/list" ] || return 0
    for seed in '' 9; do
        seed_option=(${seed:+--seed "$seed"})
        begin
        run_plain
        rm -rf "$second"
        keep_reference "$second"
        command_line
        printf '%q ' "${command[@]}" >"$work/second.command"
        seed_option=()
        pick "$(calls '[a-z]+')" "$few"
        for n in "${picked[@]}"; do
            begin
            run_injected -n "$n" -f "do:XDG_CACHE_HOME=$trial/out sh $work/second.command > $said/second.out 2> $said/second.err; echo \$? > $said/second.status"
            first=$status
            judge "$ref" "$second"
            if [ "$verdict" = wrong ] && [ "$first" = 0 ] && [ -z "$(listing "$trial/out" | grep -vxFf "$ref/list" | grep -vxFf "$second/list")" ]; then
                verdict=same # each file is whole and of one writer
            fi
            if [ -s "$said/second.err" ] && [ "$(wc -l <"$said/second.err")" != 1 ]; then verdict=unclean why="second writer: $(head -c 200 "$said/second.err")"; fi
            if [ "$first" != 0 ] && [ "$(cat "$said/second.status")" != 0 ]; then verdict=lost why="both writers were refused: $(cat "$said/stderr" "$said/second.err")"; fi
            tally two-writers "-n $n, seed ${seed:-the same}"
        done
    done
}

# Temporary files of a dead process, as a file and as a folder.
fault_stale_temporary() {
    local f
    while read -r f; do
        begin
        mkdir -p "$trial/${f%/*}"
        head -c 70000 /dev/urandom >"$trial/$f"
        run_plain
        judge "$ref"
        [ "$verdict" != refused ] || verdict=lost why="refused: $(cat "$said/stderr")"
        tally stale-temporary "$f"
        begin
        mkdir -p "$trial/$f"
        run_plain
        rmdir "$trial/$f" 2>/dev/null
        judge "$ref"
        tally stale-temporary "$f/"
    done < <(awk -F '\t' '$2 == "open" { print $3 }' "$trace" | sed "s|^$trial/||" | grep '^out/.*\.tmp$' | sort -u)
}

# Address space in 20 steps from what the program needs to start to what the command needs, with one and with two threads in turn; the last step of
# each has enough.
fault_memory_limit() {
    local low=$((8 << 20)) high=$((1 << 34)) middle start i n limit enough=()
    while ((high - low > 1 << 19)); do
        middle=$(((low + high) / 2))
        if { timeout -k 1 5 prlimit --as=$middle "$bin/geodec-$tool" --version; } >/dev/null 2>&1; then high=$middle; else low=$middle; fi
    done 2>/dev/null
    start=$((high + (2 << 20))) # with room for the stack of the first thread
    for threads in 1 2; do
        low=$start high=$((1 << 35))
        while ((high - low > 1 << 19)); do
            middle=$(((low + high) / 2))
            begin
            run_plain prlimit --as=$middle
            if [ "$status" = 0 ]; then high=$middle; else low=$middle; fi
            judge "$ref"
            [ "$verdict" != crashed ] || tally memory-limit "prlimit --as=$middle, $threads threads"
        done
        enough[threads]=$((high + (1 << 19)))
    done
    n=$((steps / 2))
    for ((i = 0; i < 2 * n; i++)); do
        threads=$((1 + i % 2))
        limit=$((start + (enough[threads] - start) * (i / 2) / (n - 1)))
        begin old
        run_plain prlimit --as=$limit
        judge "$ref"
        [ "$verdict" != refused ] || [ "$status" != 3 ] || verdict=unclean why="the input is blamed: $(cat "$said/stderr")"
        tally memory-limit "prlimit --as=$limit, $threads threads"
    done
    threads=1
}

fault_clock() {
    local mode
    for mode in hours back still; do
        begin
        run_plain env LD_PRELOAD="$clock" FAULTS_CLOCK="$mode"
        judge "$ref"
        # A duration that is zero or negative may be refused by a command that measures times.
        [ "$verdict" != refused ] || [ "$timed" != - ] || verdict=lost why="$(cat "$said/stderr")"
        tally clock "FAULTS_CLOCK=$mode"
    done
}
fault_locale() {
    local l
    for l in tr_TR.UTF-8 de_DE.UTF-8; do
        [ -e "$locales/$l" ] || continue
        begin
        run_plain env LOCPATH="$locales" LC_ALL="$l"
        judge "$ref"
        [ "$verdict" != refused ] || verdict=lost why="$(cat "$said/stderr")"
        tally locale "LC_ALL=$l"
    done
}

# run_shell SCRIPT: the command as "$@" of a shell that changes the standard streams.
run_shell() {
    command_line
    status=0
    (cd "$trial" && XDG_CACHE_HOME=$trial/out exec timeout -k 1 60 bash -c "$1" sh "${command[@]}") </dev/null >"$said/stdout" 2>"$said/stderr" || status=$?
}
# Closed standard streams, a full one, and a reader that has gone. A text that is lost is an error; files are whole.
fault_streams() {
    local how
    for how in '"$@" <&-' '"$@" <&- >&-' '"$@" <&- >&- 2>&-' '"$@" >/dev/full' '"$@" | :; exit ${PIPESTATUS[0]}' '"$@" 2>/dev/full'; do
        begin
        run_shell "$how"
        [[ $how != *'<&-' ]] || { judge "$ref"; [ "$verdict" != refused ] || verdict=lost why="$(cat "$said/stderr")"; tally streams "$how"; continue; }
        if [ "$status" = 141 ] && [[ $how == *'| :'* ]]; then status=1; echo "ended by SIGPIPE" >"$said/stderr"; fi
        if [ "$status" = 0 ] && [ -s "$ref/stdout" ] && [[ $how == *'>&-'* || $how == *'>/dev/full' && $how != *2* ]]; then
            verdict=lost why="status 0, but its text is lost"
        else
            [ "$status" != 0 ] || cp "$ref/stdout" "$said/stdout"
            [[ $how != *2* ]] || [ "$status" = 0 ] || echo "unknown" >"$said/stderr"
            judge "$ref"
        fi
        tally streams "$how"
    done
}

# Paths of 4,000 characters.
fault_long_path() {
    local deep='' part i
    part=$(printf 'a%.0s' $(seq 199))
    begin
    (cd "$trial" && for ((i = 0; i < 20; i++)); do mkdir "$part" && cd "$part" || exit 1; done)
    for ((i = 0; i < 19; i++)); do deep+=$part/; done
    (cd "$trial" && cd "$deep" && mkdir out && ln -s "$base/in" in)
    args=("${args[@]//out\//$deep$part/out/}")
    (cd "$trial" && cd "$deep$part" 2>/dev/null && mkdir -p out)
    run_plain
    (cd "$trial" && cd "$deep$part" && cp -R out/. "$trial/out/") 2>/dev/null
    judge "$ref"
    tally long-path "out/ at 4,000 characters"
    row "$number"
    begin
    (cd "$trial" && for ((i = 0; i < 20; i++)); do mkdir "$part" && cd "$part" || exit 1; done; ln -s "$base/in" in)
    args=("${args[@]//in\//$deep$part/in/}")
    run_plain
    sed -i "s|$deep$part/||g" "$said/stdout"
    judge "$ref"
    tally long-path "in/ at 4,000 characters"
    rm -rf "$trial"
    row "$number"
}
