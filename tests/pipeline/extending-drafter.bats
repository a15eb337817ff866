#!/usr/bin/env bats
# The recipe for a new drafter (docs/extending.md), performed on a scratch copy of the tree: `last` proposes what followed the
# newest token the last time it was seen.
# full: compiles a copy of the tree
# bats file_tags=full

bats_require_minimum_version 1.5.0

setup_file() {
    load scratch
    scratch_possible >/dev/null || return 0 # setup says it
    scratch_tree
    # 1, 2. the drafter and its header, which only the table includes
    cat >libcommon/decode/drafters/last_drafter_internal.h <<'C'
/* What followed the newest token the last time it was seen in the text. Needs no artifact. */
#ifndef GEODEC_DRAFTERS_LAST_DRAFTER_INTERNAL_H
#define GEODEC_DRAFTERS_LAST_DRAFTER_INTERNAL_H

#include "decode/drafter.h"

geodec_status geodec__last_drafter_create(geodec_drafter **out, geodec_err *err) GEODEC_MUST_USE;

#endif
C
    cat >libcommon/decode/drafters/last_drafter.c <<'C'
#include "base/mem.h"
#include "drafters/last_drafter_internal.h"

/* The committed text comes with the request. */
static geodec_status last_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                  geodec_err *err)
{
    (void)d;
    (void)err;
    int64_t at = q->n_context - 2;
    while (at >= 0 && q->context[at] != q->context[q->n_context - 1]) at--;
    *n = 0;
    for (at++; at > 0 && at < q->n_context && *n < q->gamma; at++)
        out[(*n)++] = (geodec_draft){.token = q->context[at], .confidence = 0.5};
    return GEODEC_OK;
}

geodec_status geodec__last_drafter_create(geodec_drafter **out, geodec_err *err)
{
    static const char *const sources[] = {"text"};
    static const geodec_drafter_ops ops = {.name = "last",
                                           .n_sources = 1,
                                           .source_name = sources,
                                           .propose = last_propose};
    geodec_status st = GEODEC_OK;
    geodec_drafter *d = NULL;
    GEODEC_NEW(d, 1);
    d->ops = &ops;
    *out = d;
done:
    return st;
}
C
    # 3. the table of drafters
    table=libcommon/decode/drafters/registry.c
    insert_before '^#include "drafters/lookup_drafter.h"' $table '#include "drafters/last_drafter_internal.h"'
    insert_before '^CREATE_BY[(]lookup' $table 'CREATE_BY(last, geodec__last_drafter_create(out, err))'
    insert_before '^    ROW[(]"lookup"' $table \
        '    ROW("last", "what followed the newest token the last time it was seen", "", 0, create_last),'
    forget $table
    build "$B/bin/geodec-info" "$B/bin/geodec-decode" "$B/bin/geodec-bench-decode"
    # 4. the page (make docs)
    "$bin/geodec-info" --drafters >docs/manual/drafters.md
    export model=$root/data/model/geodec-stories-f16.gguf
}

setup() {
    load scratch
    skip_without_scratch
    cd "$BATS_TEST_TMPDIR" || return 1
}

@test "four files differ, including the page of drafters" {
    touched | tee touched.txt
    [ "$(wc -l <touched.txt)" -eq 4 ]
    # shellcheck disable=SC2016
    grep -q '^| `last` | what followed the newest token the last time it was seen |' "$tree/docs/manual/drafters.md"
    "$bin/geodec-decode" --help | tr -d '\n ' | grep -q ',last,lookup,'
    [ "$("$bin/geodec-info" --drafters | wc -l)" -eq $(($("$root/$B/bin/geodec-info" --drafters | wc -l) + 1)) ]
}

@test "the original tree does not have it" {
    run --separate-stderr "$root/$B/bin/geodec-decode" -q --model "$model" --artifacts none --prompt 'One day' -n 8 --draft last
    [ "$status" -eq 2 ]
}

@test "it decodes the text of plain decoding, greedy and sampled, as chain and tree" {
    for mode in "" "--temperature 0.8 --seed 5"; do
        # shellcheck disable=SC2086
        "$bin/geodec-decode" -q --model "$model" --artifacts none --prompt 'One day' -n 96 $mode --draft none >plain.txt
        [ "$(wc -w <plain.txt)" -gt 30 ]
        for how in "last --gamma 4" "last --gamma 4 --tree 6"; do
            # shellcheck disable=SC2086
            "$bin/geodec-decode" -q --model "$model" --artifacts none --prompt 'One day' -n 96 $mode --draft $how --check-plain >drafted.txt
            cmp plain.txt drafted.txt
        done
    done
}

@test "its drafts save passes, and fewer than a copy of the text" {
    printf 'One day the old man went to the river.\n' >prompts.txt
    "$bin/geodec-bench-decode" -q --model "$model" --artifacts none --prompts prompts.txt --lines --n-prompts 1 --max-tokens 240 --no-stop --gammas 4 \
        --modes greedy --loop-only --timed 0 --drafters last,oracle -o bench.h5 >bench.tsv
    awk -F'\t' 'NR == 1 {for (i = 1; i <= NF; i++) at[$i] = i; next}
        {pass[$at["drafter"]] = $at["tokens_per_pass"]; wrong += $at["mismatches"]; compared += $at["compared"]}
        END {print pass["last"], pass["oracle"], wrong, compared
             exit !(compared > 100 && wrong == 0 && pass["last"] > 1 && pass["last"] < pass["oracle"])}' bench.tsv
}
