#!/usr/bin/env bats
# geodec-info, -check, -diff and -table on a good artifact (tests/bad/h5.bats has damaged ones).

bats_require_minimum_version 1.5.0
load ../root

setup_file() {
    "$B/tests/bad/make_bad_h5" "$BATS_FILE_TMPDIR"
}

setup() {
    dir=$BATS_FILE_TMPDIR
    good=$dir/good.h5
}

@test "the committed schema pages are those of the tables (make docs)" {
    for kind in $("$bin/geodec-info" --kinds); do
        "$bin/geodec-info" --schema "$kind" | diff - "docs/schema/$kind.md"
    done
    for page in drafters tensor-types integrators; do
        "$bin/geodec-info" "--$page" | diff - "docs/manual/$page.md"
    done
    tables=$(grep -l '^<!-- table: ' docs/*.md docs/manual/*.md libcommon/*/README.md)
    [[ "$tables" == *architectures.md* ]]
    for page in $tables; do
        scripts/docs-tables "$bin" "$page" | diff - "$page"
    done
    [ "$("$bin/geodec-info" --kinds | wc -l)" -eq "$(find docs/schema -name '*.md' | wc -l)" ]
}

@test "every kind that the library declares is registered, with a valid table" {
    declared=$(grep -rhoE 'extern const geodec_kind geodec_[a-z0-9_]+_kind' libcommon --include='*.h' | sed 's/.*geodec_kind geodec_//; s/_kind$//' | sort)
    registered=$(sed -n 's/^ *&geodec_\([a-z0-9_]*\)_kind,$/\1/p' libcommon/decode/kinds/kinds.c tools/cli/lab/kinds.c | sort)
    echo "declared: $declared"
    echo "registered: $registered"
    [ -n "$declared" ]
    [ "$declared" = "$registered" ]
    "$bin/geodec-info" --schema > /dev/null
}

@test "info: provenance, attributes, dimensions and fields" {
    run --separate-stderr "$bin/geodec-info" "$good"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ "${lines[0]}" == "$good: activations 1."* ]]
    [[ "$output" == *"command      geodec-export --model=test.gguf"* ]]
    [[ "$output" == *"seed         1"* ]]
    [[ "$output" == *"sha256       $(sha256sum "$good" | cut -d' ' -f1)"* ]]
    [[ "$output" == *"n_vocab              = 8"* ]]
    [[ "$output" == *"R                    = 600"* ]]
    [[ "$output" == *"/top_index           i32 (R,M) = [600, 4]  9600 bytes, unit 1: "* ]]
    [[ "$output" != *"/logits"* ]]
}

@test "info --json: the same members, in one document" {
    run --separate-stderr "$bin/geodec-info" --json "$good" "$dir/empty.h5" "$good"
    [ "$status" -eq 3 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [ "$(grep -c '"kind": "activations"' <<<"$output")" -eq 2 ]
    [ "$(grep -c '"/top_index": {' <<<"$output")" -eq 2 ]
    [[ "$output" == "{"*"}" ]]
    [[ "$output" == *'"R": 600'* && "$output" == *'"seed": 1,'* ]]
}

@test "info without a file, or about an unknown kind, is a usage error" {
    run "$bin/geodec-info"
    [ "$status" -eq 2 ]
    run "$bin/geodec-info" --schema nonsense
    [ "$status" -eq 2 ]
}

@test "diff: a file equals itself and a copy, silently" {
    run "$bin/geodec-diff" "$good" "$dir/sealed-good.h5"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    run --separate-stderr "$bin/geodec-diff" --all --provenance "$good" "$good"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(grep -c $'\tsame\t' <<<"$output")" -eq $((${#lines[@]} - 1)) ]
    [[ "$output" == *$'/state\tsame\t0\t0\t0\t4800\t-\t-\t-'* ]]
}

@test "diff: names the field, the size and the position of the first difference" {
    run --separate-stderr "$bin/geodec-diff" "$good" "$dir/not-a-number.h5"
    [ "$status" -eq 4 ]
    [ "${#lines[@]}" -eq 2 ]
    [[ "${lines[0]}" == $'member\tdifference\tmax_abs\tmax_rel\tbeyond\tof\tfirst\ta\tb' ]]
    [[ "${lines[1]}" == $'/top_logit\tvalues\tinf\tinf\t2400\t2400\t0\t1\t0' ]]
    [[ "$stderr" == *"differ in 1 of "* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "diff: a tolerance covers numbers, never a NaN" {
    run --separate-stderr "$bin/geodec-diff" --atol 100 "$good" "$dir/not-a-number.h5"
    [ "$status" -eq 4 ]
    [[ "${lines[1]}" == $'/top_logit\tvalues\tinf\tinf\t1\t2400\t5\t'*$'\tnan' ]]
    run "$bin/geodec-diff" --atol 100 "$dir/not-a-number.h5" "$dir/not-a-number.h5"
    [ "$status" -eq 0 ]
}

@test "diff: needs two files" {
    run "$bin/geodec-diff" "$good"
    [ "$status" -eq 2 ]
}

@test "table: fields side by side, more axes as more columns" {
    run --separate-stderr "$bin/geodec-table" "$good" token /top_index
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "${#lines[@]}" -eq 601 ]
    [ "${lines[0]}" = $'token\ttop_index_0\ttop_index_1\ttop_index_2\ttop_index_3' ]
    [ "${lines[1]}" = $'0\t0\t1\t2\t3' ]
    [ "${lines[101]}" = $'3\t12\t13\t14\t15' ]
}

@test "table: exact numbers and three axes" {
    run --separate-stderr "$bin/geodec-table" --rows 1:2 "$good" state
    [ "${#lines[@]}" -eq 2 ]
    [[ "${lines[0]}" == $'state_0_0\tstate_0_1\t'* ]]
    [[ "${lines[1]}" == $'1.0078125\t1.0087891\t1.0097656\t'* ]]
}

@test "table --rows: A:B, A:, :B, and invalid ranges" {
    [ "$("$bin/geodec-table" --rows 10:20 "$good" token | wc -l)" -eq 11 ]
    [ "$("$bin/geodec-table" --rows 590: "$good" token | wc -l)" -eq 11 ]
    [ "$("$bin/geodec-table" --rows :10 "$good" token | wc -l)" -eq 11 ]
    [ "$("$bin/geodec-table" --rows 590:99999 "$good" token | wc -l)" -eq 11 ]
    for bad in x 5 5:1 601: -1:3 1:2:3 99999999999999999999:; do
        run --separate-stderr "$bin/geodec-table" "--rows=$bad" "$good" token
        echo "$bad: $status"
        [ "$status" -eq 2 ]
    done
}

@test "table --attrs: names and values" {
    run "$bin/geodec-table" --attrs "$good"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = $'attribute\tvalue' ]
    [[ "$output" == *$'n_vocab\t8'* ]]
}

@test "table: an unknown field, an absent one, and different lengths are refused before any output" {
    run --separate-stderr "$bin/geodec-table" "$good" nonsense
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run --separate-stderr "$bin/geodec-table" "$good" logits
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run --separate-stderr "$bin/geodec-table" "$good" token layer
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    run "$bin/geodec-table" "$good"
    [ "$status" -eq 2 ]
}

@test "table: a full disk is an error, a closed pipe is not" {
    run bash -c "'$bin/geodec-table' '$good' state > /dev/full"
    [ "$status" -eq 1 ]
    run --separate-stderr bash -c "'$bin/geodec-table' '$good' state | head -n 1"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
}

@test "dimension scales: every axis of every field refers to the scale of its name, which has its extent" {
    h5dump -A "$good" > "$BATS_TEST_TMPDIR/dump"
    awk '
        /^ *(GROUP|DATASET) "/ { if ($1 == "DATASET" && $0 !~ /REFERENCE/) { set = $2; gsub(/"/, "", set); n++ } }
        /ATTRIBUTE "/ { attr = $2; gsub(/"/, "", attr) }
        attr == "CLASS" && /DIMENSION_SCALE/ { scales++; is_scale[set] = 1 }
        attr == "DIMENSION_LIST" && /\([0-9]\): / { if (!(set in list)) lists++; list[set] = list[set] $0 }
        attr == "DIMENSION_LABELS" && /\([0-9]\): / { label[set] = label[set] $0 }
        attr == "dimensions" && /\(0\): / { dims = $0; sub(/[^"]*"/, "", dims); sub(/".*/, "", dims); named[set] = dims }
        END {
            for (s in named) {
                if (named[s] == "") continue
                if (is_scale[s]) continue
                m = split(named[s], want, ",")
                count = gsub(/DATASET/, "&", list[s])
                if (count != m) { print s ": " m " axes, " count " scales"; bad = 1 }
                for (i = 1; i <= m; i++)
                    if (index(list[s], (want[i] ~ /^[0-9]/ ? "fixed_" : "") want[i] "\"") == 0) { print s ": no scale for " want[i]; bad = 1 }
                for (i = 1; i <= m; i++)
                    if (index(label[s], "\"" (want[i] ~ /^[0-9]/ ? "fixed_" : "") want[i] "\"") == 0) { print s ": no label " want[i]; bad = 1 }
            }
            print lists + 0 " fields with scales, " scales + 0 " scales"
            exit bad || lists < 3 || scales < 2
        }' "$BATS_TEST_TMPDIR/dump"
}
