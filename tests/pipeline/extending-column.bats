#!/usr/bin/env bats
# The recipe for a new column of an artifact (docs/extending.md), performed on a scratch copy of the tree: `spread`, the
# difference of the largest and the smallest sectional curvature, in riemann.h5.
# full: compiles a copy of the tree
# bats file_tags=full

bats_require_minimum_version 1.5.0

setup_file() {
    load scratch
    scratch_possible >/dev/null || return 0 # setup says it
    scratch_tree
    # 1. the member
    insert_before 'ricci; ' libcommon/geometry/geodec/riemann.h '    double *spread; /* [Q] sectional_max - sectional_min */'
    # 2. its value
    insert_before 'GEODEC_TRY[(]summarise' libcommon/geometry/chain/riemann.c '    GEODEC_NEW(c.spread, c.points);' \
        '    for (int64_t q = 0; q < c.points; q++) c.spread[q] = c.inv[q].sectional_max - c.inv[q].sectional_min;'
    # 3. the row, and the version that has it
    insert_before '"/ricci"' libcommon/geometry/chain/riemann.c \
        '    {"/spread", GEODEC_F64, "Q", 0, "1", "sectional_max - sectional_min", 2, AT(spread)},'
    sed -i 's/^    \.minor = 1,/    .minor = 2,/' libcommon/geometry/chain/riemann.c
    forget geodec/riemann.h libcommon/geometry/chain/riemann.c
    build "$B/bin/geodec-riemann" "$B/bin/geodec-info" "$B/bin/geodec-check" "$B/bin/geodec-table" "$B/bin/geodec-diff"
    # 4. the page (make docs)
    "$bin/geodec-info" --schema riemann >docs/schema/riemann.md
    cd "$BATS_FILE_TMPDIR" || return 1
    old=$root/$B/bin
    "$old/geodec-metric" -q --kind sphere --dim 3 --points 60 -o metric.h5
    "$old/geodec-riemann" -q --samples 20 --midpoints 5 -o old.h5 metric.h5
    "$bin/geodec-riemann" -q --samples 20 --midpoints 5 -o new.h5 metric.h5
}

setup() {
    load scratch
    skip_without_scratch
    cd "$BATS_FILE_TMPDIR" || return 1
}

@test "three files differ, the page of the artifact among them" {
    touched | tee touched.txt
    [ "$(wc -l <touched.txt)" -eq 3 ]
    # shellcheck disable=SC2016
    grep -q '^| `/spread` ' "$tree/docs/schema/riemann.md"
}

@test "the column is written, read and checked, and has the values of its definition" {
    "$bin/geodec-check" new.h5
    "$bin/geodec-table" new.h5 spread sectional_max sectional_min >columns.tsv
    [ "$(wc -l <columns.tsv)" -gt 20 ]
    awk -F'\t' 'NR > 1 {n++; if ($1 < 0 || ($1 - ($2 - $3)) ^ 2 > 1e-28) bad = 1} END {exit !(n > 0 && !bad)}' columns.tsv
    "$bin/geodec-info" new.h5 | grep -q '^ */spread .*sectional_max - sectional_min'
}

@test "a file of the previous version is read, and does not have the column" {
    "$bin/geodec-check" old.h5
    [ "$("$bin/geodec-table" old.h5 scalar)" = "$("$root/$B/bin/geodec-table" old.h5 scalar)" ]
    run --separate-stderr "$bin/geodec-table" old.h5 spread
    [ "$status" -ne 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *spread* ]]
}

@test "the original tree reads the new file and ignores the column" {
    "$root/$B/bin/geodec-check" new.h5
    [ "$("$bin/geodec-table" new.h5 scalar)" = "$("$root/$B/bin/geodec-table" new.h5 scalar)" ]
    run "$root/$B/bin/geodec-table" new.h5 spread
    [ "$status" -ne 0 ]
}
