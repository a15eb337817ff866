#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/ngram_drafter.h"
#include "measure/draft_alone.h"
#include "measure/drafts.h"
#include "measure/rejections.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const uint8_t class_of[TOY_VOCAB] = {4, 0, 0, 1, 2, 2, 3, 3};

static int64_t sum(const int64_t *x, int n)
{
    int64_t s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return s;
}

/* The recorder has the counts of the loop, and changes nothing. */
Test(rejections, agree_with_the_counters_of_the_loop)
{
    for (int foe = 0; foe < HOSTILE_KINDS; foe++)
        for (int32_t gamma = 1; gamma <= 9; gamma++) {
            static int32_t plain[4096];
            toy t, reference;
            hostile h;
            geodec_end end;
            geodec_err err = {0};
            geodec_decoded got;
            geodec_rejections r = {0};
            const int32_t prompt[3] = {4, 5, 6}, stop[] = {2};
            geodec_decode_options o = geodec_decode_options_default();
            o.gamma = gamma;
            o.max_tokens = 60;
            o.stop = stop;
            o.n_stop = gamma % 2;
            o.gate = gamma % 3 == 0 ? 0.3 : 0;
            toy_target(&reference, TOY_HISTORY, 11, 100);
            const geodec_target target = toy_target(&t, TOY_HISTORY, 11, 100);
            const int64_t n = toy_plain(&reference, prompt, 3, &o, plain, &end);
            geodec_drafter *d =
                hostile_make(&h, (hostile_kind)foe, &reference, 11, plain, n, 3, end == GEODEC_END_STOP ? stop[0] : -1);
            test_ok(geodec_rejections_decode(&target, prompt, 3, d, &o, class_of, &r, &got, &err), &err);
            cr_assert_eq(got.n, n);
            cr_assert_eq(memcmp(got.token, plain, (size_t)n * sizeof *plain), 0);
            const geodec_decode_counters *c = &got.counters;
            if (foe != HOSTILE_OUTSIDE) { /* ids outside the vocabulary are proposed and not sent */
                cr_assert_eq(r.reached, c->total.reached, "foe %d: %lld, %lld", foe, (long long)r.reached,
                             (long long)c->total.reached);
                cr_assert_eq(r.rejected, c->total.rejected);
                for (int i = 0; i < gamma; i++) cr_assert_eq(r.position[1][i], c->position[i].reached);
            }
            cr_assert_eq(sum(r.rank, GEODEC_REJECT_RANKS), r.rejected);
            cr_assert_eq(sum(r.probability, GEODEC_REJECT_PROBABILITIES), r.rejected);
            cr_assert_eq(sum(r.stop, GEODEC_REJECT_STOPS), r.rejected);
            cr_assert_eq(sum(r.class[0], GEODEC_TOKEN_CLASSES), r.rejected);
            cr_assert_eq(sum(r.class[1], GEODEC_TOKEN_CLASSES), r.reached);
            cr_assert_eq(sum(r.source[1], GEODEC_DRAFT_SOURCES_MAX), r.reached);
            cr_assert_eq(sum(r.warm_up[1], 2), r.reached);
            if (foe == HOSTILE_ORACLE) cr_assert_eq(r.rejected, 0);
            if (foe == HOSTILE_WRONG) cr_assert_eq(r.rejected, r.reached);
            if (foe == HOSTILE_STOP) cr_assert_eq(r.stop[1], 0, "2 is the stop token, drafted is 0");
            geodec_decode_free(&got);
        }
}

/* One draft of a known place in the order of the logits. */
typedef struct placed {
    geodec_drafter base;
    const toy *toy;
    int32_t place; /* 0 = most probable */
} placed;
static geodec_status nothing(geodec_drafter *d, geodec_err *err)
{
    (void)d;
    (void)err;
    return GEODEC_OK;
}
static geodec_status no_rows(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)d;
    (void)rows;
    (void)err;
    return GEODEC_OK;
}
static void forget(geodec_drafter *d) { (void)d; }
static geodec_status place(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                           geodec_err *err)
{
    (void)err;
    float row[TOY_VOCAB];
    const placed *p = (const placed *)d;
    toy_logits(p->toy, q->context, q->n_context, row);
    int32_t best = 0;
    for (int32_t k = 0; k <= p->place; k++) {
        best = 0;
        for (int32_t v = 1; v < TOY_VOCAB; v++)
            if (row[v] > row[best]) best = v;
        if (k < p->place) row[best] = -INFINITY;
    }
    out[0] = (geodec_draft){.token = best, .confidence = 0.5};
    *n = 1;
    return GEODEC_OK;
}

Test(rejections, ranks_are_those_of_the_model)
{
    static const char *const source[] = {"placed"};
    const geodec_drafter_ops ops = {.name = "placed",
                                    .n_sources = 1,
                                    .source_name = source,
                                    .begin = nothing,
                                    .observe = no_rows,
                                    .propose = place,
                                    .destroy = forget};
    for (int32_t k = 0; k < TOY_VOCAB; k++) {
        toy t;
        geodec_err err = {0};
        geodec_decoded got;
        geodec_rejections r = {0};
        const int32_t prompt[2] = {4, 5};
        geodec_decode_options o = geodec_decode_options_default();
        const geodec_target target = toy_target(&t, TOY_HISTORY, 3, 100);
        placed p = {{&ops}, &t, k};
        o.gamma = 1;
        o.max_tokens = 40;
        test_ok(geodec_rejections_decode(&target, prompt, 2, &p.base, &o, class_of, &r, &got, &err), &err);
        cr_assert_eq(r.rejected, k == 0 ? 0 : r.reached);
        const int64_t second = k == 1 ? r.rejected : 0, ten = k >= 2 && k < 10 ? r.rejected : 0;
        cr_assert(r.rank[0] == second && r.rank[1] == ten && r.rank[2] == r.rejected - second - ten, "place %d", k);
        geodec_decode_free(&got);
    }
}

Test(rejections, refuse_what_they_do_not_count)
{
    toy t;
    geodec_err err = {0};
    geodec_decoded got;
    geodec_drafter *d = NULL;
    geodec_rejections r = {0};
    const int32_t prompt[2] = {4, 5};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 3, 100);
    geodec_decode_options o = geodec_decode_options_default();
    test_ok(geodec_ngram_drafter_create(NULL, 2, &d, &err), &err);
    cr_assert_eq(geodec_rejections_decode(&target, prompt, 2, NULL, &o, class_of, &r, &got, &err), GEODEC_INVAL);
    o.budget = 4;
    cr_assert_eq(geodec_rejections_decode(&target, prompt, 2, d, &o, class_of, &r, &got, &err), GEODEC_INVAL);
    o.budget = 0;
    o.sampling.temperature = 1;
    cr_assert_eq(geodec_rejections_decode(&target, prompt, 2, d, &o, class_of, &r, &got, &err), GEODEC_INVAL);
    geodec_drafter_destroy(d);
}

Test(alone, writes_without_the_model)
{
    static int32_t plain[4096];
    toy t, reference;
    hostile h;
    geodec_end end;
    geodec_err err = {0};
    geodec_decoded got;
    const int32_t prompt[3] = {4, 5, 6};
    geodec_decode_options o = geodec_decode_options_default();
    o.max_tokens = 50;
    toy_target(&reference, TOY_HISTORY, 7, 200);
    const geodec_target target = toy_target(&t, TOY_HISTORY, 7, 200);
    const int64_t n = toy_plain(&reference, prompt, 3, &o, plain, &end);
    test_ok(geodec_draft_alone(&target, prompt, 3, hostile_make(&h, HOSTILE_ORACLE, &reference, 1, plain, n, 3, -1), &o,
                               &got, &err),
            &err);
    cr_assert_eq(got.n, 50);
    cr_assert_eq(memcmp(got.token, plain, 50 * sizeof *plain), 0);
    cr_assert_eq(got.counters.target_passes, 0);
    cr_assert_eq(t.count.rows, 2, "the prompt but its last token");
    geodec_decode_free(&got);
    test_ok(geodec_draft_alone(&target, prompt, 3, hostile_make(&h, HOSTILE_WRONG, &reference, 1, plain, n, 3, -1), &o,
                               &got, &err),
            &err);
    cr_assert_gt(got.n, 0);
    cr_assert_neq(got.token[0], plain[0], "nobody checks");
    geodec_decode_free(&got);
    const int32_t stop[] = {plain[5]};
    int32_t first = 0;
    while (plain[first] != stop[0]) first++;
    o.stop = stop;
    o.n_stop = 1;
    test_ok(geodec_draft_alone(&target, prompt, 3, hostile_make(&h, HOSTILE_ORACLE, &reference, 1, plain, n, 3, -1), &o,
                               &got, &err),
            &err);
    cr_assert(got.n == first && got.end == GEODEC_END_STOP && got.counters.decided == first + 1);
    geodec_decode_free(&got);
    cr_assert_eq(geodec_draft_alone(&target, prompt, 3, NULL, &o, &got, &err), GEODEC_INVAL);
}

/* A drafter that lets the model write for it. */
static const geodec_target *shared;
static geodec_status borrow(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                            geodec_err *err)
{
    float row[TOY_VOCAB];
    (void)d;
    *n = 1;
    out[0] = (geodec_draft){.token = 1};
    return shared->forward(shared->self, &q->context[q->n_context - 1], NULL, 1, row, NULL, err);
}

Test(alone, a_drafter_that_asks_the_model_is_not_alone)
{
    static const int32_t plain[1];
    toy t;
    hostile h;
    geodec_err err = {0};
    geodec_decoded got;
    const int32_t prompt[3] = {4, 5, 6};
    const geodec_decode_options o = geodec_decode_options_default();
    const geodec_target target = toy_target(&t, TOY_HISTORY, 7, 200);
    geodec_drafter *d = hostile_make(&h, HOSTILE_WRONG, &t, 1, plain, 0, 3, -1);
    geodec_drafter_ops ops = *d->ops;
    ops.propose = borrow;
    d->ops = &ops;
    shared = &target;
    cr_assert_eq(geodec_draft_alone(&target, prompt, 3, d, &o, &got, &err), GEODEC_INTERNAL);
}

static geodec_status make_ngram(void *order, geodec_drafter **out, geodec_err *err)
{
    return geodec_ngram_drafter_create(NULL, *(int32_t *)order, out, err);
}

Test(drafts, counts_are_whole_and_the_file_holds_them)
{
    static int32_t order[] = {1, 8}, token[6 * 5];
    static int64_t offset[] = {0, 5, 10, 15, 20, 25, 30};
    toy t;
    geodec_err err = {0};
    geodec_rng rng = geodec_rng_stream(3, 3);
    for (int i = 0; i < 30; i++) token[i] = (int32_t)geodec_rng_below(&rng, TOY_VOCAB);
    const geodec_prompts prompts = {.token = token, .offset = offset, .n = 6};
    geodec_bench_plan plan = {.prompts = &prompts,
                              .max_tokens = 60,
                              .n_drafters = 2,
                              .drafter = {{"bigram", make_ngram, &order[0]}, {"ngram", make_ngram, &order[1]}},
                              .n_gammas = 2,
                              .gamma = {2, 5},
                              .greedy = true,
                              .resamples = 100,
                              .seed = 1};
    static geodec_drafts d;
    const geodec_target target = toy_target(&t, TOY_MARKOV, 2, 300);
    test_ok(geodec_drafts_count(&plan, &target, class_of, &d, &err), &err);
    for (int k = 0; k < 2; k++) {
        cr_assert_eq(d.alone[k].passes, 0);
        cr_assert_eq(d.alone[k].plain, 6 * 60);
        cr_assert_leq(d.alone[k].first, d.alone[k].agree);
        for (int g = 0; g < GEODEC_GATES; g++)
            for (int i = 0; i < 2; i++) {
                const geodec_gate_row *row = &d.gate[k][g][i];
                cr_assert_eq(row->different, 0, "a gate changes no output");
                cr_assert_eq(row->decided, 6 * 60);
                cr_assert(row->accepted <= row->reached && row->reached <= row->proposed);
                if (g > 0) cr_assert_leq(row->drafted, row->rounds);
            }
        cr_assert_lt(d.gate[k][GEODEC_GATES - 1][1].proposed, d.gate[k][0][1].proposed, "a high gate drafts less");
    }
    geodec_artifact *a = NULL;
    double *rank = NULL, *gate = NULL;
    const char *path = test_tmp("drafts.h5");
    const geodec_provenance p = {.tool = "test", .command_line = "test"};
    test_ok(geodec_drafts_write(path, &p, &plan, &d, NULL, TOY_VOCAB, &err), &err);
    test_ok(geodec_artifact_open(&geodec_drafts_kind, path, &a, &err), &err);
    test_ok(geodec_artifact_read(a, "/rank", &rank, &err), &err);
    test_ok(geodec_artifact_read(a, "/gate_tokens_per_pass", &gate, &err), &err);
    for (int k = 0; k < 2; k++) {
        cr_assert_float_eq(rank[3 * k] + rank[3 * k + 1] + rank[3 * k + 2], 1, 1e-12);
        const geodec_gate_row *last = &d.gate[k][GEODEC_GATES - 1][1];
        cr_assert_float_eq(gate[(k * GEODEC_GATES + GEODEC_GATES - 1) * 2 + 1],
                           (double)last->decided / (double)last->passes, 1e-15);
    }
    geodec_artifact_close(a);
    geodec_mem_free(rank);
    geodec_mem_free(gate);
    geodec_three_way w;
    test_ok(geodec_drafts_time(&plan, 3, 2, &target, &w, &err), &err);
    cr_assert(w.prompts == 3 && w.verifier.value > 0 && w.both[1].value > 0 && w.predicted[1] > 0);
    cr_assert(w.verifier.low <= w.verifier.value && w.verifier.value <= w.verifier.high);
    test_ok(geodec_drafts_write_times(test_tmp("threeway.h5"), &p, &plan, &w, &err), &err);
    plan.max_tokens = GEODEC_DRAFT_MAX + 1;
    cr_assert_eq(geodec_drafts_count(&plan, &target, class_of, &d, &err), GEODEC_INVAL);
    plan.max_tokens = 10;
    plan.drafter[1].create = NULL;
    cr_assert_eq(geodec_drafts_count(&plan, &target, class_of, &d, &err), GEODEC_INVAL);
}
