#!/usr/bin/env bats
# geodec-adapt: a small PERSPECTIVE model, adapters and places, the adapted model, refusals.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    shared=$BATS_FILE_TMPDIR
    text=(--text "$shared/new.txt" --held-out "$shared/old.txt" --window 32 --windows 2)
}
setup_file() {
    local d=$BATS_FILE_TMPDIR
    "$bin/geodec-corpus" -q --stories 60 -o "$d/old.txt"
    "$bin/geodec-corpus" -q --stories 60 --first 100 -o "$d/other.txt"
    tr a-m n-z < "$d/other.txt" > "$d/new.txt"
    "$bin/geodec-vocab" -q --size 260 -o "$d/v.gguf" "$d/old.txt"
    "$bin/geodec-train" -q --text "$d/old.txt" --held-out "$d/new.txt" --vocab "$d/v.gguf" --arch perspective --lattice 2,2,1 --d-model 16 --layers 4 \
        --heads 2 --kv-heads 1 --ff 16 --rank 4 --ctx 64 --batch 8 --steps 20 --warmup 2 --eval-tokens 100 -o "$d/m.gguf"
}

# value KEY [control]
value() { awk -F'\t' -v k="$1" -v c="${2:-value}" 'NR == 1 {for (i = 1; i <= NF; i++) n[$i] = i} $1 == k {print $n[c]}' "$tmp/t"; }

@test "adapters lower the loss of the text; the same bytes with threads; the adapted model has the loss" {
    "$bin/geodec-adapt" -q -m "$shared/m.gguf" "${text[@]}" --directions 24 --steps 6 --rate 5 --rise 1 --threads 1 -o "$tmp/a.gguf" > "$tmp/t"
    awk "BEGIN {exit !($(value text) < $(value text control))}"
    "$bin/geodec-adapt" -q -m "$shared/m.gguf" "${text[@]}" --directions 24 --steps 6 --rate 5 --rise 1 --threads 3 -o "$tmp/b.gguf" | cmp - "$tmp/t"
    cmp "$tmp/a.gguf" "$tmp/b.gguf"
    end=$(value text)
    "$bin/geodec-adapt" -q -m "$tmp/a.gguf" "${text[@]}" --steps 0 > "$tmp/t"
    awk "BEGIN {d = $(value text) - $end; exit !(d < 1e-4 && d > -1e-4)}"
}

@test "places of the experts; no steps change nothing" {
    "$bin/geodec-adapt" -q -m "$shared/m.gguf" "${text[@]}" --what places --directions 6 --steps 2 --rate 0.01 --sigma 0.05 --rise 1 > "$tmp/t"
    [ "$(value numbers)" = 36 ]
    "$bin/geodec-adapt" -q -m "$shared/m.gguf" "${text[@]}" --steps 0 > "$tmp/t"
    [ "$(value text)" = "$(value text control)" ]
    [ "$(value length)" = 0 ]
}

@test "another architecture, a text that is too short, a file in the way, no text" {
    run --separate-stderr "$bin/geodec-adapt" -m data/model/geodec-stories-q8_0.gguf "${text[@]}"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"not a PERSPECTIVE model"* ]]
    run --separate-stderr "$bin/geodec-adapt" -m "$shared/m.gguf" "${text[@]}" --windows 100000
    [ "$status" -eq 5 ]
    echo mine > "$tmp/a.gguf"
    run --separate-stderr "$bin/geodec-adapt" -m "$shared/m.gguf" "${text[@]}" --steps 0 -o "$tmp/a.gguf"
    [ "$status" -ne 0 ]
    [ "$(cat "$tmp/a.gguf")" = mine ]
    run --separate-stderr "$bin/geodec-adapt" -m "$shared/m.gguf"
    [ "$status" -eq 2 ]
}
