#!/usr/bin/env bats
# make perspective: a small model from given texts, with its controls.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=${B:-build/release}/bin
    tmp=$BATS_TEST_TMPDIR
}

@test "make perspective with given texts: the model learns, the report has the controls, and a second make does nothing" {
    "$bin/geodec-corpus" -q --stories 400 -o "$tmp/train.txt"
    "$bin/geodec-corpus" -q --stories 20 --first 400 -o "$tmp/held-out.txt"
    small() { make -s QUICK=1 PERSPECTIVE_STEPS=60 PERSPECTIVE="$tmp/p" MOE_TEXT="$tmp/train.txt" MOE_HELD_OUT="$tmp/held-out.txt" "$@"; }
    small perspective 2>/dev/null
    report=$tmp/p/report.tsv
    awk -F '\t' '$4 == "byte frequencies" {seen = 1; if ($2 >= $3) exit 1} $4 == "best byte n-gram" {best = 1} END {exit !(seen && best)}' "$report"
    [ "$(grep -c '^gini_layer_[123].*random choice$' "$report")" -eq 3 ]
    run grep -c 'nan\|gini_layer_4' "$report"
    [ "$output" = 0 ]
    "$bin/geodec-model-info" "$tmp/p/perspective-f16.gguf" | grep -qP '^experts\t8$'
    [[ "$(small perspective 2>&1)" != *RUN* ]]
    small perspective-controls 2>/dev/null
    grep -q 'dense model of the same active size$' "$report"
    grep -q 'experts chosen by an ordinary router$' "$report"
}
