#!/bin/sh
# The library that grows next to a flow map, on a repeated stream of prompts: tokens per pass of the baked map alone (the control)
# and with an initially empty library. Every text is compared with that of the control.
# Usage: tests/bench/library.sh MODEL.gguf FOLDER-OF-flowmap.h5 PROMPTS.txt [N [ROUNDS [DECODE-OPTIONS...]]]
set -eu
model=$1 artifacts=$2 prompts=$3 n=${4:-24} rounds=${5:-3}
if [ $# -le 5 ]; then shift $#; else shift 5; fi
[ $# -gt 0 ] || set -- --draft flowmap --gamma 8
bin=${B:-build/release}/bin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
grep -v '^ *$' "$prompts" | cut -c 1-120 | head -n "$n" > "$tmp/prompts"

# stream NAME OPTIONS...: one decode a prompt, one after the other
stream() {
    name=$1
    shift
    : > "$tmp/text"
    : > "$tmp/counts"
    while IFS= read -r line; do
        printf '%s' "$line" > "$tmp/prompt"
        "$bin"/geodec-decode --quiet --threads 1 --model "$model" --artifacts "$artifacts" --prompt-file "$tmp/prompt" \
            --max-tokens 128 --report "$tmp/report.json" --force "$@" >> "$tmp/text"
        sed -n 's/^ *"\(target_passes\|tokens_per_pass\)": \([0-9.e+-]*\),*$/\1 \2/p' "$tmp/report.json" | head -n 2 >> "$tmp/counts"
    done < "$tmp/prompts"
    if [ "$name" = "map alone" ]; then cp "$tmp/text" "$tmp/control"; fi
    cmp -s "$tmp/text" "$tmp/control" && same=yes || same=NO
    awk -v name="$name" -v same="$same" '
        $1 == "target_passes" { p += $2; last = $2 }
        $1 == "tokens_per_pass" { t += $2 * last }
        END { printf "%s\t%d\t%d\t%.3f\t%s\n", name, t, p, t / p, same }' "$tmp/counts"
}

printf 'drafts\ttokens\tpasses\ttokens_per_pass\tsame_text\n'
stream "map alone" "$@"
i=1
while [ "$i" -le "$rounds" ]; do
    stream "round $i" "$@" --library "$tmp/library"
    i=$((i + 1))
done
stat -c 'library: %s bytes' "$tmp/library"
