#!/usr/bin/env bats
# The table of tests/faults has every tool, and a short sample of its faults: the whole is make check-faults.

bats_require_minimum_version 1.5.0
load ../root

setup() {
    table=tests/faults/tools.tsv
}

@test "every tool has a row with its faults, and every option that names an output is in a row" {
    tools=$(awk -F '\t' '$1 == "tool" { sub("geodec-", "", $2); print $2 }' "$B/tools.tsv" | sort)
    rows=$(grep -v '^#' "$table" | cut -f 1 | sort -u)
    diff <(echo "$tools") <(echo "$rows")
    # an option for a path that is written: its help says so
    missing=$(awk -F '\t' 'FNR == NR { if ($0 !~ /^#/) line[$1] = line[$1] " " $5 " "; next }
        $1 == "tool" { tool = $2; sub("geodec-", "", tool) }
        $1 == "option" && $4 == "path" && $7 ~ /write.* (to (FILE|STORE)|as JSON)/ &&
            !index(line[tool], " --" $2 " ") && !($2 == "output" && index(line[tool], " -o ")) { print tool " --" $2 }' "$table" "$B/tools.tsv")
    echo "options without a row: $missing"
    [ -z "$missing" ]
}

@test "rows have five columns, and write below out/ only" {
    run awk -F '\t' '!/^#/ && (NF != 5 || $5 ~ /(^| )-o [^o]/)' "$table"
    [ -z "$output" ]
}

# bats test_tags=full
@test "a sample: kills, full disks, short calls, changed inputs, two writers" {
    make -s "$B/tests/faults/inject" "$B/tests/faults/clock.so"
    run --separate-stderr env WORK="$BATS_FILE_TMPDIR/w" TOOLS="sample plan cloud" B="$B" tests/faults/run quick kill full_disk short_calls changed_input two_writers streams
    [ "$status" -ne 77 ] || skip "system calls cannot be disturbed here"
    echo "$output"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^cloud' <<<"$output")" -eq 6 ]
}

@test "control: a tool that writes its output in place, in two parts, fails under kills and full disks" {
    [ -e "$BATS_FILE_TMPDIR/w/ready" ] || skip "needs the test before"
    fake=$BATS_TEST_TMPDIR/fake
    mkdir -p "$fake/tests"
    cp -as "$PWD/$B/bin" "$fake/bin"
    ln -s "$PWD/$B/tests/faults" "$fake/tests/faults"
    rm "$fake/bin/geodec-cloud"
    printf '#!/bin/sh\n"%s" "$@" && cp out/cloud.h5 out/.whole.tmp && head -c 999 out/.whole.tmp > out/cloud.h5 && tail -c +1000 out/.whole.tmp >> out/cloud.h5; rm -f out/.whole.tmp\n' \
        "$PWD/$B/bin/geodec-cloud" > "$fake/bin/geodec-cloud"
    chmod +x "$fake/bin/geodec-cloud"
    run --separate-stderr env WORK="$BATS_FILE_TMPDIR/w" TOOLS=cloud B="$fake" tests/faults/run full kill
    [ "$status" -eq 1 ]
    grep -q 'wrong.*partial after the kill' <<<"$stderr"
}

@test "little memory and two threads: one line and status 1, in time, below what the command needs" {
    case $B in *asan* | *ubsan* | *tsan*) skip "sanitizers take address space of their own" ;; esac
    gunzip -c tests/golden/artifacts/metric.h5.gz > "$BATS_TEST_TMPDIR/metric.h5"
    try() { # KiB
        rm -f "$BATS_TEST_TMPDIR/out.h5"
        status=0
        timeout -k 1 30 prlimit --as=$(($1 << 10)) "$B/bin/geodec-validity" --quiet --threads 2 --starts 2 --perturbations 2 --steps 4 --bootstrap 20 \
            --sphere-starts 2 --no-check -o "$BATS_TEST_TMPDIR/out.h5" "$BATS_TEST_TMPDIR/metric.h5" > /dev/null 2> "$BATS_TEST_TMPDIR/said" || status=$?
    }
    low=$((256 << 10)) high=$((1 << 20))
    while ((high - low > 64)); do
        middle=$(((low + high) / 2))
        try "$middle"
        if [ "$status" = 0 ]; then high=$middle; else low=$middle; fi
    done
    refused=0
    for ((i = 0; i < 40; i++)); do
        try $((high - 256 * i))
        echo "$((high - 256 * i)) KiB: status $status: $(cat "$BATS_TEST_TMPDIR/said")"
        if [ "$status" != 0 ]; then
            refused=$((refused + 1))
            [ "$status" -eq 1 ]
            [ "$(wc -l < "$BATS_TEST_TMPDIR/said")" -eq 1 ]
            [ ! -e "$BATS_TEST_TMPDIR/out.h5" ]
        fi
    done
    [ "$refused" -gt 0 ] # control: the last ones do not suffice
    try $((1 << 20))
    [ "$status" -eq 0 ]
    "$B/bin/geodec-check" --quiet "$BATS_TEST_TMPDIR/out.h5"
}

@test "the page of results takes the new counts, and keeps older ones with their date until they are measured again" {
    f=$BATS_TEST_TMPDIR
    printf 'tool\tcase\tfault\ttrials\tsame\trefused\tunclean\tlost\twrong\tcrashed\tform\tseed\n' >"$f/faults.tsv"
    printf '%s\t-\tkill\t5\t4\t1\t0\t0\t0\t0\tfull\t1\n' a b >>"$f/faults.tsv"
    touch -d 2026-03-02 "$f/faults.tsv"
    cat >"$f/old.md" <<'END'
| date | 2026-02-01 |

## By fault

| fault | form | seed | commands | trials | same | refused | unclean | lost | wrong | crashed |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
| clock | full | 1 | 9 | 27 | 26 | 0 | 0 | 1 | 0 | 0 |
| kill | quick | 1 | 2 | 3 | 3 | 0 | 0 | 0 | 0 | 0 |
| kill | quick | 7 | 8 | 11 | 11 | 0 | 0 | 0 | 0 | 0 |

## Single-bit flips

Bits.
END
    tests/faults/page "$f" "$f/old.md" >"$f/new.md"
    diff <(grep -E "^\\| (clock|kill) \\| (full|quick) " "$f/new.md") - <<'END'
| clock | full | 1 | 2026-02-01 | 9 | 27 | 26 | 0 | 0 | 1 | 0 | 0 |
| kill | full | 1 | 2026-03-02 | 2 | 10 | 8 | 2 | 0 | 0 | 0 | 0 |
| kill | quick | 7 | 2026-02-01 | 8 | 11 | 11 | 0 | 0 | 0 | 0 | 0 |
END
    grep -q ' 48 trials. 45 gave' "$f/new.md"
    grep -q ' 2 ended with one line and a status, and 1 did neither' "$f/new.md"
    grep -A 2 '^Run of 2026-02-01' "$f/new.md" | grep -qx 'Bits.'
    # again from the new page: the same
    tests/faults/page "$f" "$f/new.md" | diff - "$f/new.md"
}
