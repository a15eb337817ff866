#!/usr/bin/env bats
# Small texts: the pipeline ends with a report, and every figure and row that was not measured has its reason. An invalid text or model ends
# the pipeline with one line.
# full: runs of the main job
# bats file_tags=full

bats_require_minimum_version 1.5.0
load ../root

setup() {
    r=$BATS_TEST_TMPDIR/r
}

tiny() { # tiny GOALS.. [NAME=VALUE..]
    make -s MODEL=data/model/geodec-stories-q8_0.gguf QUICK=1 TOKENS=600 POINTS=120 STORE_TEXTS=4 STORE_LENGTH=48 PROMPTS=2 NEW_TOKENS=8 \
        GAMMAS=4 SEEDS=1 LOGITS= "STREAMING=PROMPTS=1 NEW_TOKENS=24 ROUNDS=1 SHARES=25 GAMMAS=4" STREAMING_STORE=8 STREAMING_RECALL=600 R="$r" "$@"
}

reported() { # the report is whole, and says no more than was measured
    page=$r/report/index.html
    [ -s "$page" ]
    tail -n 1 "$page" | grep -qx '</html>'
    # an output or its reason, never both and never neither
    while IFS= read -r f; do
        [ ! -e "${f%.not-measured}" ] || { echo "$f exists together with its output"; false; }
        [ -s "$f" ]
    done < <(find "$r" -name '*.not-measured')
    figures=$(grep -c '<figure id=' "$page") shown=$(grep -c '<figure id="[^"]*"><img' "$page") boxes=$(grep -c '<figure id="[^"]*"><p class="not-measured">not measured: [^<]' "$page")
    [ "$figures" -eq $((shown + boxes)) ]
    [ "$figures" -gt 20 ]
    # nothing holds or is refuted on fewer texts than its rule needs
    [ -z "$(awk -F'\t' '$1 ~ /^(dimension|curvature|coverage|consistency|rollout|mixture|speedup|perplexity)$/ && $5 !~ /^not measured: ./' "$r/headline.tsv")" ]
    tail -n 1 "$r/report/program.html" | grep -qx '</html>'
    ! grep -q 'not made' "$page" || false
    # no stage failed
    ! grep -rl '^failed:' "$r" --include='*.not-measured' || false
    [ -z "$(find "$r" -name '.new-*')" ]
}

@test "a text of 35 tokens" {
    head -c 80 <<< "The old man had a red boat. One day the boat was gone, and nobody in the village knew why." > "$BATS_TEST_TMPDIR/note.txt"
    tiny results TEXT="$BATS_TEST_TMPDIR/note.txt"
    reported
    [ "$boxes" -ge 10 ] # geometry of 35 points
    grep -q '<dt>documents</dt><dd>[1-9][0-9]* documents with [1-9]' "$page"
    # results that use texts sampled from the model are measured
    "$bin/geodec-check" "$r/flowmap.h5"
    run tiny results TEXT="$BATS_TEST_TMPDIR/note.txt"
    [ "$status" -eq 0 ]
    [[ "$output" != *RUN* ]]
    mv "$r" "$BATS_FILE_TMPDIR/first"
}

@test "a text of one token" {
    printf 'a' > "$BATS_TEST_TMPDIR/one.txt"
    program_rows "$BATS_FILE_TMPDIR/first" "$r"
    tiny results TEXT="$BATS_TEST_TMPDIR/one.txt"
    reported
    [ "$boxes" -ge 15 ]
}

@test "an empty text, invalid UTF-8 and an invalid model end the run with one line" {
    : > "$BATS_TEST_TMPDIR/empty.txt"
    printf '\n \n\n' > "$BATS_TEST_TMPDIR/blank.txt"
    printf 'caf\xe9 au lait\n' > "$BATS_TEST_TMPDIR/latin1.txt"
    printf 'words' > "$BATS_TEST_TMPDIR/none.gguf"
    for text in empty blank latin1; do
        run tiny results TEXT="$BATS_TEST_TMPDIR/$text.txt"
        [ "$status" -ne 0 ]
        [ "$(grep -c '^geodec-plan: ' <<< "$output")" -eq 1 ] || { echo "$text: $output"; false; }
        [ ! -e "$r/report/index.html" ]
    done
    run tiny results MODEL="$BATS_TEST_TMPDIR/none.gguf" TEXT=README.md
    [ "$status" -ne 0 ]
    [ "$(grep -c '^geodec-plan: .*none.gguf' <<< "$output")" -eq 1 ]
}
