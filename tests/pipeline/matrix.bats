#!/usr/bin/env bats
# Kinds of text x kinds of model: every tool of the main job, at tiny sizes, by the rules of the pipeline. A cell ends with the table of the report.
# Each stage makes its output, or one line with the reason why it was not measured. No stage fails, and every output is valid. An empty text gives
# one line of error.
#
# Models and texts are made here from seeds. By default each kind of text is combined with one kind of model, in turn. MATRIX=full runs the whole
# product and makes the reports with their figures (hours on one core). The output lists the cells that ran.
# full: models and texts of every kind take ten minutes
# bats file_tags=full

bats_require_minimum_version 1.5.0
load ../root

MODELS=(ctx64 ctx128 head16 layer1 experts q8_0)
# the gated delta rule, experts and gates of attention: a random model of the shared folder
recurrent=${GEODEC_SHARED:-../shared}/golden/arch/qwen35moe-moe.gguf
[ ! -e "$recurrent" ] || MODELS+=(recurrent)
TEXTS=(novel lines dialogue jsonl crlf unended nonlatin note35 token1 same)

setup_file() {
    export GEODEC_THREADS=1 W="$BATS_FILE_TMPDIR" BIN="$B/bin"
    mkdir -p "$W/model" "$W/text"
    "$BIN/geodec-corpus" -q --force --seed 3 --stories 200 -o "$W/train.txt"
    "$BIN/geodec-corpus" -q --force --seed 3 --first 5000 --stories 20 -o "$W/held-out.txt"
    "$BIN/geodec-vocab" -q --force --size 384 -o "$W/vocab.gguf" "$W/train.txt"
    model ctx64 --d-model 32 --layers 3 --heads 2 --kv-heads 1 --ff 64 --ctx 64
    model ctx128 --d-model 48 --layers 4 --heads 2 --kv-heads 2 --ff 96 --ctx 128
    model head16 --d-model 64 --layers 3 --heads 4 --kv-heads 2 --ff 128 --ctx 256
    model layer1 --d-model 32 --layers 1 --heads 2 --kv-heads 2 --ff 64 --ctx 128
    model experts --d-model 32 --layers 2 --heads 2 --kv-heads 1 --ff 64 --ctx 128 --experts 4
    [ ! -e "$recurrent" ] || cp "$recurrent" "$W/model/recurrent.gguf"
    "$BIN/geodec-quantize" -q --force --type q8_0 -o "$W/model/q8_0.gguf" "$W/model/head16.gguf" > /dev/null
    texts
}

# A few steps of training: the models differ, and their states are concentrated in a few directions.
model() { # model NAME OPTIONS..
    local name=$1
    shift
    "$BIN/geodec-train" -q --force --seed 1 --text "$W/train.txt" --held-out "$W/held-out.txt" --vocab "$W/vocab.gguf" --steps 12 --warmup 1 \
        --lr 2e-3 --batch 4 --length 64 --eval-every 90 --eval-tokens 256 --checkpoint "$W/$name.ck.h5" "$@" -o "$W/model/$name.gguf"
}

texts() {
    local at="$W/text" i
    "$BIN/geodec-corpus" -q --force --seed 5 --stories 30 -o "$W/stories.txt"
    sed 's/<|endoftext|>//' "$W/stories.txt" | awk 'NF' > "$W/plain.txt" # a line a story or a paragraph
    tr '\n' ' ' < "$W/plain.txt" > "$at/novel"
    cp "$W/plain.txt" "$at/lines"
    awk '{gsub(/\. /, ".\nANNA: "); print "BEN: " $0; print ""}' "$W/plain.txt" > "$at/dialogue"
    awk '{gsub(/["\\]/, "\\\\&"); print "{\"text\": \"" $0 "\"}"}' "$W/plain.txt" > "$at/jsonl"
    awk '{printf "%s\r\n\r\n", $0}' "$W/plain.txt" > "$at/crlf"
    awk 'NR > 1 {print ""; print ""} {printf "%s", $0}' "$W/plain.txt" > "$at/unended"
    for i in $(seq 40); do printf 'Жил-был старик %d со своею старухой. 古池や蛙飛び込む水の音\n' "$i"; done > "$at/nonlatin"
    head -c 90 "$W/plain.txt" > "$at/note35"
    printf 'a' > "$at/token1"
    for i in $(seq 500); do printf 'a '; done > "$at/same"
}

SIZES=(QUICK=1 TOKENS=600 POINTS=120 STORE_TEXTS=6 STORE_LENGTH=64 PROMPTS=2 NEW_TOKENS=8 GAMMAS=4 SEEDS=1 LOGITS=
    "VALIDITY=--starts 3 --perturbations 2 --sphere-starts 2 --bootstrap 50" "INJECTIVITY_SIZE=-a 3 --directions 2"
    "GEODESICITY=--points 48 --starts 6 --ahead 2" "VARADHAN=--points 48 --queries 4 --planted 2" "VELOCITY=--points 60 --starts 16"
    "WARP_FLAGS=--facts 3 --holdouts 2 --bootstrap 100" "SUBSTITUTION=--records 120 --queries 40" "LOOKUP=--records 500"
    ROLLOUT_PLACES=100 ONEDECODE_CELLS=64 DRAFTS_PROMPTS=2 LEAD_PROMPTS=2
    "STREAMING=PROMPTS=1 NEW_TOKENS=24 ROUNDS=1 SHARES=25 GAMMAS=4" STREAMING_STORE=8 STREAMING_RECALL=600)

cell() { # cell TEXT MODEL
    local r="$W/cell/$1-$2" goal f
    program_rows "$W/kept/novel" "$r"
    goal="$r/headline.tsv"
    case ${MATRIX-}/$1 in
        full/*) goal=results ;;
        # stages behind the cloud do not see the text: these kinds differ from the novel only before it
        */lines | */dialogue | */jsonl | */crlf | */unended) goal=$r/cloud.h5 ;;
    esac
    MODEL="$W/model/$2.gguf" TEXT="$W/text/$1" make -s -j"$(nproc)" "${SIZES[@]}" R="$r" "$goal" > "$W/log" 2>&1 ||
        { echo "$1 x $2:"; tail -n 20 "$W/log"; return 1; }
    [ "${MATRIX-}" = full ] || [ -s "$goal" ]
    [ "${MATRIX-}" != full ] || [ -s "$r/headline.tsv" ]
    [ "${MATRIX-}" != full ] || [ -s "$r/report/index.html" ]
    # an output or its reason, in one line; no stage failed
    while IFS= read -r f; do
        [ ! -e "${f%.not-measured}" ] || { echo "$f exists together with its output"; return 1; }
        [ "$(wc -l < "$f")" -eq 1 ] || { echo "$f:"; cat "$f"; return 1; }
        ! grep -q '^failed' "$f" || { echo "$f:"; cat "$f"; return 1; }
    done < <(find "$r" -name '*.not-measured')
    find "$r" -maxdepth 1 -name '*.h5' -print0 | xargs -0 "$BIN/geodec-check"
    echo "# $1 x $2: $(find "$r" -maxdepth 1 -name '*.h5' | wc -l) measured, $(find "$r" -maxdepth 1 -name '*.h5.not-measured' | wc -l) not" >&3
    # the first cell is kept for the tests of missing inputs
    if [ -e "$W/kept" ]; then rm -rf "$r"; else mkdir "$W/kept" && mv "$r" "$W/kept/novel"; fi
}

cells() { # cells TEXT: with all models, or with the one whose turn it is
    local i
    if [ "${MATRIX-}" = full ]; then
        for m in "${MODELS[@]}"; do cell "$1" "$m"; done
        return
    fi
    for i in "${!TEXTS[@]}"; do
        [ "${TEXTS[i]}" != "$1" ] || cell "$1" "${MODELS[i % ${#MODELS[@]}]}"
    done
}

@test "a novel in one document" { cells novel; }
@test "one document for each line" { cells lines; }
@test "a dialogue" { cells dialogue; }
@test "JSON Lines" { cells jsonl; }
@test "CRLF" { cells crlf; }
@test "no newline at the end" { cells unended; }
@test "a script that is not in the vocabulary" { cells nonlatin; }
@test "35 tokens" { cells note35; }
@test "one token" { cells token1; }
@test "one word repeated" { cells same; }

@test "headline: with any input of the report removed, no row decides on it" {
    local r="$W/kept/novel" rules=pipelines/report/headline.tsv inputs input key
    [ -d "$r" ] || skip "the first cell did not run"
    "$BIN/geodec-verdict" --root "$r" $rules > "$W/whole"
    # all values are there: the row is decided, or only its sample is too small
    [ "$(cut -f 5 "$W/whole" | grep -cE '^(holds|mixed|refuted|broken|not measured: needs [0-9]+ )')" -ge 12 ]
    inputs=$(tail -n +2 $rules | cut -f 3 | grep -oE '=[A-Za-z0-9/._-]+\.(h5|tsv)#' | tr -d '=#' | sort -u)
    [ "$(wc -l <<< "$inputs")" -ge 12 ]
    for input in $inputs; do
        [ -e "$r/$input" ] || continue
        mv "$r/$input" "$W/away"
        "$BIN/geodec-verdict" --root "$r" $rules > "$W/now"
        mv "$W/away" "$r/$input"
        for key in $(awk -F'\t' -v f="=$input#" 'NR > 1 && index($3, f) {print $1}' $rules); do
            [[ "$(awk -F'\t' -v k="$key" '$1 == k {print $5}' "$W/now")" == "not measured: "* ]]
            [[ "$(awk -F'\t' -v k="$key" '$1 == k {print $5}' "$W/now")" != "not measured: needs "* ]]
        done
    done
}

@test "claims: with any input removed, no row decides on it" {
    local root="$W/kept" name=novel input head=$'id\tsection\tclaim\tpublished\treproduced\texports\tmodel\tcontrol\tverdict\tpower'
    [ -d "$root/$name" ] || skip "the first cell did not run"
    "$BIN/geodec-claims" --root "$root" --results "$name" pipelines/claims/*.tsv pipelines/lab/*/claims.tsv > "$W/whole"
    [ "$(cut -f 9 "$W/whole" | grep -cE '^(reproduced|not reproduced|holds|artefact|refuted)$')" -ge 10 ]
    # a row uses an input if a condition has its letter, except in known(R)
    cat pipelines/claims/*.tsv pipelines/lab/*/claims.tsv | awk -F'\t' -v name="$name" '$1 != "id" && NF == 10 {
        split("R E M C", letter, " ")
        n = split($9, rule, ";;"); conditions = ""
        for (k = 1; k <= n; k++) { c = rule[k]; sub(/:.*/, "", c); conditions = conditions " " c }
        for (i = 1; i <= 4; i++) if ($(4 + i) != "-" && conditions ~ ("[^a-zA-Z]" letter[i] "([^a-zA-Z]|$)")) {
            f = $(4 + i); sub(/#.*/, "", f); gsub(/@MODEL/, name, f); print f "\t" $1 } }' | sort -u > "$W/uses"
    for input in $(cut -f 1 "$W/uses" | sort -u); do
        [ -f "$root/$input" ] || continue
        { echo "$head"; awk -F'\t' -v f="$input" 'FNR == NR {if ($1 == f) used[$2]; next} $1 in used' "$W/uses" pipelines/claims/*.tsv pipelines/lab/*/claims.tsv; } > "$W/some.tsv"
        mv "$root/$input" "$W/away"
        "$BIN/geodec-claims" --root "$root" --results "$name" "$W/some.tsv" > "$W/now"
        mv "$W/away" "$root/$input"
        [ "$(wc -l < "$W/now")" -eq "$(wc -l < "$W/some.tsv")" ]
        awk -F'\t' 'NR > 1 && $9 !~ /^(untestable|undecidable)$/ {print; bad = 1} END {exit bad}' "$W/now"
    done
}

@test "an empty text gives one line of error" {
    : > "$W/text/empty"
    run --separate-stderr "$BIN/geodec-plan" --model "$W/model/ctx64.gguf" --text "$W/text/empty"
    [ "$status" -eq 3 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run env MODEL="$W/model/ctx64.gguf" TEXT="$W/text/empty" make -s "${SIZES[@]}" R="$W/empty" "$W/empty/headline.tsv"
    [ "$status" -ne 0 ]
    [ "$(grep -c '^geodec-plan: ' <<< "$output")" -eq 1 ]
    [ ! -e "$W/empty/headline.tsv" ]
}

@test "20 MB: only the requested documents are kept" {
    for _ in $(seq 900); do cat "$W/plain.txt"; done | head -c 20000000 > "$W/large"
    "$BIN/geodec-plan" -q --force --model "$W/model/ctx64.gguf" --text "$W/large" --tokens 600 -o "$W/plan.tsv"
    [ "$(awk -F'\t' '$1 == "tokens" {print $2}' "$W/plan.tsv")" -eq 600 ]
    [ "$(awk -F'\t' '$1 == "bytes" {print $2}' "$W/plan.tsv")" -gt 19000000 ]
    "$BIN/geodec-export" -q --force --model "$W/model/ctx64.gguf" --text "$W/large" --max-tokens 600 -o "$W/large.h5"
    "$BIN/geodec-check" "$W/large.h5"
    rm -f "$W/large"
}
