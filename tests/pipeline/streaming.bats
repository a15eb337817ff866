#!/usr/bin/env bats
# The experiment of experts on demand: text equal at every budget, hits below the bound, the rows of the report and of the claims; without a
# mixture nothing is measured but the figures of the published plan.

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    export R="$BATS_FILE_TMPDIR/r"
    shared=${GEODEC_SHARED:-../shared}
    export MIXTURE=
    for f in data/model/geodec-mixture-f16.gguf "$shared/models/moe22m-f16.gguf"; do [ ! -e "$f" ] || { MIXTURE=$f; break; }; done
    [ -z "$MIXTURE" ] || make -s QUICK=1 MOE_MODEL="$MIXTURE" "STREAMING=PROMPTS=1 NEW_TOKENS=40 ROUNDS=1 SHARES='25 100' GAMMAS=4" \
        STREAMING_STORE=12 STREAMING_RECALL=1500 R="$R" streaming > "$BATS_FILE_TMPDIR/log" 2>&1 || { cat "$BATS_FILE_TMPDIR/log"; false; }
}

setup() {
    s=$R/streaming
}

mixture() { [ -n "$MIXTURE" ] || skip "no mixture of experts"; }

@test "every table and figure is made, from the mixture" {
    mixture
    [ -z "$(find "$R" -name '*.not-measured')" ]
    [ "$(sed 1d "$s/model.tsv" | cut -f 1)" = "$(basename "$MIXTURE" .gguf)" ]
    for f in slots recall ahead speed drafts timeline; do grep -q '<svg' "$R/fig/streaming-$f.svg"; done
}

@test "the text is equal at every budget, and drafts do not change it" {
    mixture
    [ "$(sed 1d "$s/exact.tsv" | wc -l)" -eq 3 ] # mapped, a quarter, all
    awk -F'\t' 'NR > 1 && !($2 > 50 && $3 == 1) {bad = 1} END {exit bad}' "$s/exact.tsv"
    [ "$(sed 1d "$s/drafts.tsv" | cut -f 1 | paste -sd ' ')" = "none 4 adaptive" ]
}

@test "no policy without reading ahead is above the bound; with room for all, only first uses are missed" {
    mixture
    awk -F'\t' 'NR > 1 && $1 !~ /,/ && $4 > $6 + 1e-4 {print; bad = 1} END {exit bad}' "$s/slots.tsv"
    [ "$(awk -F'\t' '$1 == "belady" && $3 == "1.0000"' "$s/slots.tsv" | wc -l)" -eq 1 ]
    [ "$(awk -F'\t' '$3 == "1.0000" && $1 !~ /,/ {print $4}' "$s/slots.tsv" | sort -u | wc -l)" -eq 1 ]
    # an oracle knows more than a router
    awk -F'\t' '$1 == "score, router" {r[$2] = $4} $1 == "score, oracle" && $4 < r[$2] {bad = 1} END {exit bad}' "$s/slots.tsv"
}

@test "shares of the needed experts add up to one, for every predictor" {
    mixture
    [ "$(sed 1d "$s/ahead.tsv" | wc -l)" -eq 12 ]
    awk -F'\t' 'NR > 1 {d = $4 + $5 + $6 + $7 - 1; if (d > 3e-4 || d < -3e-4 || $3 < 50) {print; bad = 1}} END {exit bad}' "$s/ahead.tsv"
    awk -F'\t' '$2 == "none" && $5 + $6 + $8 != 0 {bad = 1} END {exit bad}' "$s/ahead.tsv"
}

@test "the rows of the report are decided" {
    mixture
    "$bin/geodec-verdict" --root "$R" pipelines/lab/streaming/headline.tsv > "$BATS_TEST_TMPDIR/h"
    [ "$(sed 1d "$BATS_TEST_TMPDIR/h" | wc -l)" -eq 5 ]
    # one prompt of 40 tokens and one round are below the least samples
    [ "$(cut -f 5 "$BATS_TEST_TMPDIR/h" | grep -cE '^(holds|mixed|refuted|not measured: needs [0-9]+ [a-z]+, has [0-9]+$)')" -eq 5 ]
    for key in exact speed drafts; do [[ "$(grep "^streaming-$key" "$BATS_TEST_TMPDIR/h" | cut -f 5)" == "not measured: needs "* ]]; done
    [[ "$(grep ^streaming-hits "$BATS_TEST_TMPDIR/h" | cut -f 5)" =~ ^(holds|mixed): ]]
    "$bin/geodec-verdict" --root "$BATS_TEST_TMPDIR" pipelines/lab/streaming/headline.tsv > "$BATS_TEST_TMPDIR/none"
    [ "$(cut -f 5 "$BATS_TEST_TMPDIR/none" | grep -c '^not measured: ')" -eq 5 ]
    : > "$BATS_TEST_TMPDIR/empty"
    pipelines/report/make-report --program "$BATS_TEST_TMPDIR/empty" "$BATS_TEST_TMPDIR/empty" "$BATS_TEST_TMPDIR/h" "$BATS_TEST_TMPDIR/empty" "$R" > "$BATS_TEST_TMPDIR/page"
    # a section of its own
    [ "$(grep -c 'id="streaming-' "$BATS_TEST_TMPDIR/page")" -eq 5 ]
    [ "$(sed '/<h2 id="streaming">Experts on disk/,$d' "$BATS_TEST_TMPDIR/page" | grep -c 'id="streaming-')" -eq 0 ]
    grep -q "The mixture $(basename "$MIXTURE" .gguf): " "$BATS_TEST_TMPDIR/page"
}

@test "claims: the figures of the published plan need no model" {
    r=$BATS_TEST_TMPDIR/plan
    make -s R="$r/m" "$r/m/streaming/plan.tsv"
    "$bin/geodec-claims" --strict --root "$r" --results m <(grep -v '^streaming-E20' pipelines/lab/streaming/claims.tsv) > "$r/claims"
    [ "$(sed 1d "$r/claims" | wc -l)" -eq 13 ]
    [ "$(cut -f 9 "$r/claims" | sort | uniq -c | sort -rn | awk 'NR == 1 {print $2}')" = refuted ]
    [ "$(cut -f 9 "$r/claims" | grep -cE '^(untestable|undecidable)')" -eq 0 ]
    # the figures of the specification
    value() { awk -F'\t' -v k="$1" '$1 == k {print $3}' "$r/m/streaming/plan.tsv"; }
    near() { awk "BEGIN {d = $(value "$1") - $2; exit !(d < $3 && d > -$3)}" || { echo "$1: $(value "$1")"; false; }; }
    near foretold 122 0.5
    near foretold-demand 97.5 0.05
    near one-ahead-demand 26.4 0.05
    near two-ahead-demand 40 0.05
    near delta-floor 9.62 0.005
    near delta-buffers 1620 0.5
    near hit-most 0.2125 1e-6
    near simulated-hit 0.0625 0.005
    near miss-link 2.18 0.005
    near miss-tokens 5.7 0.05
    near prompt-distinct 110.8 0.05
    near prompt-GB 180 0.5
}

@test "without a mixture the tables say so" {
    r=$BATS_TEST_TMPDIR/none
    run make -s QUICK=1 MOE_MODEL= MIXTURES= R="$r" streaming
    [ "$status" -eq 0 ]
    [ -s "$r/streaming/plan.tsv" ]
    for f in model.gguf speed.tsv drafts.tsv ahead.tsv recall.tsv; do
        [ ! -e "$r/streaming/$f" ]
        grep -q 'no model with experts' "$r/streaming/$f.not-measured"
    done
    grep -q 'no model with experts' "$r/fig/streaming-slots.svg.not-measured"
}
