# For tests/faults/run: the inputs of the table, one disturbed run, and its verdict. Set before: bin, inject, work (a new folder), faults (this folder).
# shellcheck shell=bash disable=SC2034,SC2154,SC2016,SC2143,SC2004

# link_tools: links to the tools in $bin, so that a build does not change them during the run, and the embedded model where they look for it
link_tools() {
    rm -rf "$bin"
    cp -al "$B/bin" "$bin" 2>/dev/null || cp -a "$B/bin" "$bin"
    # which find the library next to their folder
    [ -e "${bin%/*}/lib" ] || ln -s "$(cd "$B/lib" && pwd)" "${bin%/*}/lib"
    mkdir -p "$work/share/geodec" && ln -sfn "$PWD/data/model" "$work/share/geodec/model"
}

# read_rows: the table as arrays, chosen by TOOLS (words, empty: all).
read_rows() {
    rows=()
    while IFS= read -r l; do
        [[ $l == '#'* || -z $l ]] || rows+=("$l")
    done <"$faults/tools.tsv"
}

# row N: sets tool, name, timed, grown and the words of args.
row() {
    local words
    IFS=$'\t' read -r tool name timed grown words <<<"${rows[$1]}"
    read -ra args <<<"${words//"One day"/$'One\x01day'}"
    args=("${args[@]//$'\x01'/ }")
    args=("${args[@]//\"/}")
    number=$1
    seed_option=() threads=1
}

# Command line of the row: the array command.
command_line() { command=("$bin/geodec-$tool" --quiet --force --threads "$threads" "${seed_option[@]}" "${args[@]}"); }

is_timed() { [[ ",$timed,$grown," == *",${1##*/},"* ]]; }

# listing FOLDER: digest and name of each file, except temporary and grown ones and those of hidden folders, where a command keeps what it continues
# with; timed files without their digest.
listing() {
    local s f
    (cd "$1" 2>/dev/null && find . -type f ! -name '.*.tmp' ! -path './*/.*/*' -print0 | LC_ALL=C sort -z | xargs -0r sha256sum) | while read -r s f; do
        [[ ",$grown," != *",${f##*/},"* ]] || continue
        is_timed "$f" && s=timed
        printf '%s %s\n' "$s" "$f"
    done
}
temporary() { find "$1" -name '.*.tmp' 2>/dev/null; }

# make_inputs FOLDER NUMBER: files that no tool makes. Number 2 is another version with the same sizes.
make_inputs() {
    local in=$1 golden=$faults/../golden m
    mkdir -p "$in"
    if [ "$2" = 1 ]; then cp "$golden/artifacts/text.txt" "$in/text.txt"; else tac "$golden/artifacts/text.txt" >"$in/text.txt"; fi
    head -c 1200 "$in/text.txt" | tr -d '\n' >"$in/short.txt"
    for m in tiny:llama-biases plain:llama-divisors olmoe:olmoe; do
        cp "$golden/models/tiny-${m#*:}.gguf" "$in/${m%%:*}.gguf"
        [ "$2" = 1 ] || swap_blocks "$in/${m%%:*}.gguf"
    done
    awk -v n="$2" 'BEGIN { srand(n); for (i = 0; i < 60; i++) printf "%.4f\t%.4f\t%.4f\t%.4f\n", 1 + rand(), 1 + rand(), 1 + rand() * i / 60, 1 + rand() }' >"$in/points.tsv"
    awk -v n="$2" 'BEGIN { srand(n); for (i = 0; i < 16; i++) print 100 + int(800 * rand()) }' >"$in/query.txt"
    awk -v n="$2" 'BEGIN { srand(n + 7); for (i = 0; i < 400; i++) print 100 + int(800 * rand()) }' >"$in/sequence.txt"
    awk -v n="$2" 'BEGIN { srand(n + 9); for (i = 0; i < 12; i++) printf "%d\tm\t1\t%.4f\t%.4f\n", i, rand(), rand() }' >"$in/telemetry.tsv"
    printf 'id\tsection\tclaim\tpublished\treproduced\texports\tmodel\tcontrol\tverdict\n%s\tone\ta claim\t-\t-\t-\triemann.h5#scalar|count\t-\tholds if M > 1: The value is {M}.;; refuted if M < 1: The value is {M}.;; untestable: It is one.\n' "row-$2" >"$in/claims-rules.tsv"
    printf 'key\tquantity\tvalues\tvalue\tcontrol\trule\tleast\tcommand\n%s\ta quantity\tr=riemann.h5#scalar|count\t{r:i}\tnone\tholds if r > 1: it has {r:i} values;; refuted: too few\t-: a test of damaged files\triemann.h5\n' "row-$2" >"$in/headline-rules.tsv"
    printf 'finding\tunit\tpublished\tsize\tworld\nf\tshare\t1\tfull strength\t--set sphere\n' >"$in/power-findings.tsv"
    awk -v n="$2" 'BEGIN { print "finding\tstrength\tseed\tpoints\tdata\tmeasured\tfound"; for (i = 0; i < 20; i++) printf "f\t%d\t%d\t40\t40\t%d\t%d\n", i % 2, i, i * n, i % 2 }' >"$in/power-trials.tsv"
}

# swap_blocks FILE: exchanges two blocks of weights at the end of a model.
swap_blocks() {
    local size half=256
    size=$(stat -c %s "$1")
    { head -c $((size - 2 * half - 8192)) "$1"; tail -c $((half + 8192)) "$1" | head -c $half; tail -c $((2 * half + 8192)) "$1" | head -c $half; tail -c 8192 "$1"; } >"$1.new" && mv "$1.new" "$1"
}

# prepare BASE NUMBER: runs the table as a chain. BASE/in has all inputs, BASE/ref/N the results of row N.
prepare() {
    local base=$1 n
    make_inputs "$base/in" "$2"
    trial=$base/chain
    for n in "${!rows[@]}"; do
        row "$n"
        [ "$n" -le "$last_row" ] || break
        fresh "$base/in"
        run_plain
        [ "$status" = 0 ] || { echo "prepare: geodec-$tool ($name): status $status: $(cat "$said/stderr")" >&2; [ "$2" = 2 ] || return 1; }
        keep_reference "$base/ref/$n"
        cp -R "$trial/out/." "$base/in/"
    done
    rm -rf "$trial"
}

keep_reference() {
    mkdir -p "$1"
    listing "$trial/out" >"$1/list"
    cp "$said/stdout" "$1/stdout"
    echo "$status" >"$1/status"
}

# fresh INPUTS: an empty trial folder; in/ is INPUTS.
fresh() {
    rm -rf "$trial"
    mkdir -p "$trial/out"
    ln -s "$1" "$trial/in"
}

# old_outputs: older files where the command will write.
old_outputs() {
    local s f
    while read -r s f; do
        [[ ",$grown," == *",${f##*/},"* ]] || { mkdir -p "$trial/out/${f%/*}" && echo old >"$trial/out/$f"; }
    done <"$base/ref/$number/list"
}

# run_plain [PREFIX..]: runs the command in the trial folder, sets status.
run_plain() {
    command_line
    status=0
    (cd "$trial" && XDG_CACHE_HOME=$trial/out exec timeout -k 1 60 "$@" "${command[@]}") </dev/null >"$said/stdout" 2>"$said/stderr" || status=$?
}
# run_injected OPTIONS..: the same under inject.
run_injected() { run_plain "$inject" -d "$trial" -d "$base" "$@" --; }

# ---- verdicts ------------------------------------------------------------------------------------------------------------
stdout_same() { is_timed stdout || cmp -s "$said/stdout" "$1/stdout"; }

# whole_or_old REF..: every output at its final name is that of a reference, or the older file. A whole shard of a run that can be continued is
# that of the reference under the name that it has until the number of shards is known.
whole_or_old() {
    local s f r ok
    while read -r s f; do
        ok=
        for r in "$@"; do
            grep -qxF -- "$s $f" "$r/list" && ok=yes
            [[ $f == *-of-unfinished.safetensors ]] && grep -qE -- "^$s ${f%-unfinished.safetensors}-[0-9]{5}\.safetensors\$" "$r/list" && ok=yes
        done
        [ -n "$ok" ] || [ "$(head -c 9 "$trial/out/$f" | tr -d '\0')" = old ] || { echo "$f"; return 1; }
    done < <(listing "$trial/out")
}

# grown_whole: artifacts among the grown files are valid.
grown_whole() {
    local f
    for f in ${grown//,/ }; do
        [[ $f != *.h5 || ! -e $trial/out/$f ]] || "$bin/geodec-check" --quiet "$trial/out/$f" >/dev/null 2>&1 || { echo "$f"; return 1; }
    done
}

# judge REF..: verdict and why, of the run with $status. A result must be that of one of the references.
judge() {
    local r bad lines
    verdict=wrong why=
    if [ "$status" -ge 124 ] && [ "$status" != 130 ]; then verdict=crashed why="status $status: $(head -c 300 "$said/stderr")"; return; fi
    if ! bad=$(grown_whole); then why="status $status: $bad is damaged"; return; fi
    if [ "$status" = 0 ]; then
        for r in "$@"; do
            [ "$(cat "$r/status")" = 0 ] && stdout_same "$r" && [ "$(listing "$trial/out")" = "$(cat "$r/list")" ] && verdict=same
        done
        if [ "$verdict" = same ] && [ -n "$(temporary "$trial/out")" ]; then verdict=unclean why="status 0, but a temporary file"; fi
        if [ "$verdict" = wrong ]; then
            [ "$(listing "$trial/out" | wc -l)" -ge "$(wc -l <"$1/list")" ] || verdict=lost
            why="status 0: $(diff <(listing "$trial/out") "$1/list" | head -n 3 | tr '\n' ' ')"
            stdout_same "$1" || why+=" stdout differs"
        fi
        return
    fi
    if ! bad=$(whole_or_old "$@"); then why="status $status: $bad is partial"; return; fi
    lines=$(wc -l <"$said/stderr")
    if [ "$lines" != 1 ]; then verdict=unclean why="status $status, $lines lines: $(head -n 2 "$said/stderr" | head -c 300 | tr '\n' '|')"; return; fi
    if [ -n "$(temporary "$trial/out")" ]; then verdict=unclean why="status $status and a temporary file: $(cat "$said/stderr")"; return; fi
    verdict=refused
}

declare -A count=()
# tally FAULT WHAT: counts the verdict; WHAT says how to repeat a bad one.
tally() {
    count[$1,$verdict]=$((${count[$1,$verdict]:-0} + 1))
    count[$1,trials]=$((${count[$1,trials]:-0} + 1))
    case $verdict in same | refused) ;; *) printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$tool" "$name" "$1" "$verdict" "$2" "$why" >>"$work/bad.tsv" ;; esac
}

# random: a number of the seeded sequence, 0..2^31-1
state=1
random() { state=$(((state * 1103515245 + 12345) % 2147483648)); number_drawn=$state; }

# pick TOTAL MOST: numbers 1..TOTAL, all, or MOST of them: the first, the last, and others at random within equal parts.
pick() {
    local total=$1 most=$2 i
    picked=()
    [ "$total" -gt 0 ] || return 0
    if [ "$total" -le "$most" ]; then
        for ((i = 1; i <= total; i++)); do picked+=("$i"); done
        return
    fi
    picked=(1)
    for ((i = 1; i < most - 1; i++)); do
        random
        picked+=($((1 + (total - 1) * i / most + (number_drawn >> 8) % ((total - 1) / most + 1))))
    done
    [ "$most" -lt 2 ] || picked+=("$total")
}
# calls KINDS: how many calls of the kinds (an expression of grep) the undisturbed run makes
calls() { grep -cE $'^[0-9]+\t('"$1"$')\t' "$trace"; }
