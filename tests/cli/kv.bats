#!/usr/bin/env bats
# geodec-project-kv and small caches: the identity, exact drafts, bytes, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_gguf" "$BATS_FILE_TMPDIR"
}

setup() {
    model=$BATS_FILE_TMPDIR/good.gguf
    for i in 1 2 3 4 5 6 7 8; do printf 'a ba abba %d cab\n' "$i"; done > "$tmp/text.txt"
}

project() { "$bin/geodec-project-kv" --quiet --model "$model" "$@"; }
column() { awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR == 2 { print $c }' <<< "$output"; }
bytes() { sed -n 's/.*"kv_bytes_per_token": \([0-9]*\).*/\1/p' "$1"; }

@test "all coefficients give the model to rounding, fewer change it; the same with any number of threads" {
    project --basis weights --storage f32 --keys 1 --values 1 -o "$tmp/full.h5"
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --against-kv-projection "$tmp/full.h5" "$tmp/text.txt"
    echo "$output"
    [ "$status" -eq 0 ]
    awk -v x="$(column max_delta)" 'BEGIN { exit !(x < 1e-4) }'
    for n in 1 3; do
        project --threads "$n" --text "$tmp/text.txt" -w 16 --keys 0.5 --values 0.5 -o "$tmp/p$n.h5"
        "$bin/geodec-perplexity" -m "$model" -w 16 -t "$n" --kv-projection "$tmp/p$n.h5" "$tmp/text.txt" > "$tmp/r$n"
    done
    cmp "$tmp/p1.h5" "$tmp/p3.h5"
    cmp "$tmp/r1" "$tmp/r3"
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --against-kv-projection "$tmp/p1.h5" "$tmp/text.txt"
    awk -v x="$(column kl)" 'BEGIN { exit !(x > 0) }'
}

@test "drafts leave the text unchanged, with every element type; the report has the bytes of a token" {
    project --basis weights --keys 0.5 --values 0.5 -o "$tmp/p.h5"
    before=1000000
    for kv in f32 f16 q4_0; do
        "$bin/geodec-decode" --quiet --force -m "$model" --kv "$kv" --kv-projection "$tmp/p.h5" --prompt 'a ba abba a ba' --draft lookup \
            --gamma 6 --tree 6 --check-plain --max-tokens 24 --report "$tmp/report.json" > /dev/null
        now=$(bytes "$tmp/report.json")
        [ "$now" -lt "$before" ]
        before=$now
    done
    "$bin/geodec-decode" --quiet --force -m "$model" --prompt a --max-tokens 2 --report "$tmp/whole.json" > /dev/null
    "$bin/geodec-decode" --quiet --force -m "$model" --kv-projection "$tmp/p.h5" --prompt a --max-tokens 2 --report "$tmp/report.json" > /dev/null
    [ "$(bytes "$tmp/whole.json")" -eq $((2 * $(bytes "$tmp/report.json"))) ]
}

@test "refusals: whitening without a text, nothing to do, bases of another model, float64" {
    run --separate-stderr "$bin/geodec-project-kv" --model "$model" -o "$tmp/p.h5"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"--text"* ]]
    [ ! -e "$tmp/p.h5" ]
    run --separate-stderr "$bin/geodec-project-kv" --model "$model" --basis weights --keys 0 --values 0 -o "$tmp/p.h5"
    [ "$status" -ne 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    "$bin/geodec-quantize" --quiet --type f16 -o "$tmp/other.gguf" "$model" > /dev/null
    "$bin/geodec-project-kv" --quiet --model "$tmp/other.gguf" --basis weights -o "$tmp/p.h5"
    run --separate-stderr "$bin/geodec-perplexity" -m "$model" -w 16 --kv-projection "$tmp/p.h5" "$tmp/text.txt"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"made for another model"* ]]
    run --separate-stderr "$bin/geodec-perplexity" -m "$tmp/other.gguf" -w 16 --arithmetic float64 --kv-projection "$tmp/p.h5" "$tmp/text.txt"
    [ "$status" -ne 0 ]
    [[ "$stderr" == *"low rank"* ]]
}

@test "merged tokens: none at a tiny threshold, another model at a large one, with any number of threads; needles by depth" {
    output=$("$bin/geodec-perplexity" --arithmetic exact -m "$model" -w 16 "$tmp/text.txt")
    off=$(column perplexity)
    output=$("$bin/geodec-kv-merge" -m "$model" -w 16 --threshold 1e-9 "$tmp/text.txt")
    for figure in perplexity merged_perplexity; do [ "$(column $figure)" = "$off" ]; done
    for figure in kl merged; do [ "$(column $figure)" = 0 ]; done
    for n in 1 3; do "$bin/geodec-kv-merge" -m "$model" -w 16 -t "$n" --threshold 1000 "$tmp/text.txt" > "$tmp/m$n"; done
    cmp "$tmp/m1" "$tmp/m3"
    output=$(cat "$tmp/m1")
    [ "$(column perplexity)" = "$off" ]
    [ "$(column merged_perplexity)" != "$off" ]
    awk -v x="$(column merged)" 'BEGIN { exit !(x > 0.8) }'
    for bad in "--threshold 0" "--threshold -1"; do
        # shellcheck disable=SC2086 # two words
        run -2 "$bin/geodec-kv-merge" -m "$model" $bad "$tmp/text.txt"
    done
    run -2 --separate-stderr "$bin/geodec-kv-merge" -m "$model" --window 1 "$tmp/text.txt"
    [ "${#stderr_lines[@]}" -eq 1 ]
    for i in 1 2 3 4 5 6; do cat "$tmp/text.txt"; done > "$tmp/long.txt"
    run --separate-stderr "$bin/geodec-needle" -m "$model" -w 16 --needle 4 --cue 2 --depths 3 --trials 4 "$tmp/long.txt"
    echo "$output $stderr"
    [ "$status" -eq 0 ]
    [ "$(cut -f 1 <<< "$output" | tr '\n' ' ')" = 'depth 0 0.5 1 all ' ]
    for i in 1 2; do cat "$tmp/long.txt" "$tmp/long.txt"; done > "$tmp/longer.txt"
    "$bin/geodec-needle" -q -m "$model" -w 64 -n 4 "$tmp/longer.txt" > "$tmp/plain"
    "$bin/geodec-kv-merge" -q -m "$model" -w 64 --threshold 1e-9 --needle --trials 4 "$tmp/longer.txt" > "$tmp/fine"
    cmp "$tmp/plain" "$tmp/fine"
    run --separate-stderr "$bin/geodec-needle" -m "$model" -w 16 --needle 9 "$tmp/long.txt"
    [ "$status" -ne 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
}
