#!/usr/bin/env bats
# Pages of docs/: links lead to files, and every table of results names its origin.

load ../root

@test "every link between pages leads to a file" {
    links=0
    for page in README.md CONTRIBUTING.md docs/*.md docs/*/*.md; do
        while IFS= read -r link; do
            case $link in http*) continue ;; esac
            [ -e "$(dirname "$page")/$link" ] || { echo "$page: $link"; false; }
            links=$((links + 1))
        done < <(grep -oE '\]\([^)#]+' "$page" | sed 's/](//')
    done
    [ "$links" -gt 60 ]
}

@test "paths of pages in code, rules and pages exist" {
    git grep -ohE 'docs/(manual|results|schema)/[a-z-]+\.(md|png)' -- . ':!NEWS.md' ':!tests/pipeline/extending*' ':!docs/extending.md' |
        sort -u >"$BATS_TEST_TMPDIR/paths"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/paths")" -gt 10 ]
    while IFS= read -r path; do [ -e "$path" ] || { echo "$path"; false; }; done <"$BATS_TEST_TMPDIR/paths"
}

@test "every page of results names model, command, machine and date" {
    for page in docs/results/*.md; do
        for what in model command machine date; do grep -q "^| $what | [^ ]" "$page" || { echo "$page: $what"; false; }; done
    done
}

@test "a page is made from tables, with its origin" {
    printf 'rank\tloss\n0.5\t1.25\na|b\t2\n' >"$BATS_TEST_TMPDIR/sweep.tsv"
    model=data/model/geodec-stories-f16.gguf
    pipelines/report/result-page 'A title' 'make it' "$B/bin" "$model" "$BATS_TEST_TMPDIR/sweep.tsv" >"$BATS_TEST_TMPDIR/page"
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/page")" = '# A title' ]
    grep -qx "| model | geodec-stories-f16, SHA-256 $(sha256sum <"$model" | cut -c 1-64) |" "$BATS_TEST_TMPDIR/page"
    # shellcheck disable=SC2016
    grep -qx '| command | `make it` |' "$BATS_TEST_TMPDIR/page"
    grep -qE '^\| date \| 20[0-9-]{8} \|$' "$BATS_TEST_TMPDIR/page"
    diff <(tail -n 6 "$BATS_TEST_TMPDIR/page") - <<'END'
## sweep

| rank | loss |
|---|---|
| 0.5 | 1.25 |
| a\|b | 2 |
END
}
