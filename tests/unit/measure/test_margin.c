/* The experiment with the published acceptance rule, against the rule written out separately. */
#include "base/mem.h"
#include "decode/toy.h"
#include "drafters/ngram_drafter.h"
#include "measure/margin.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TOKENS = 48 };

/* Drafts the second most probable token. */
typedef struct runner_up {
    geodec_drafter base;
    const toy *toy;
} runner_up;

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

static void forget(geodec_drafter *d) { geodec_mem_free(d); }

static void best_two(const float *row, int32_t *first, int32_t *second)
{
    *first = row[1] > row[0];
    *second = !*first;
    for (int32_t v = 2; v < TOY_VOCAB; v++) {
        if (row[v] > row[*first]) {
            *second = *first;
            *first = v;
        } else if (row[v] > row[*second]) {
            *second = v;
        }
    }
}

static geodec_status propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                             geodec_err *err)
{
    (void)err;
    float row[TOY_VOCAB];
    int32_t first;
    toy_logits(((const runner_up *)d)->toy, q->context, q->n_context, row);
    best_two(row, &first, &out[0].token);
    out[0].source = 0;
    out[0].confidence = 0.5;
    *n = 1;
    return GEODEC_OK;
}

static const char *const source[] = {"second"};
static const geodec_drafter_ops ops = {.name = "second",
                                       .n_sources = 1,
                                       .source_name = source,
                                       .begin = nothing,
                                       .observe = no_rows,
                                       .propose = propose,
                                       .destroy = forget};

static geodec_status make(void *ctx, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    runner_up *d = NULL;
    GEODEC_NEW(d, 1);
    d->base.ops = &ops;
    d->toy = ctx;
    *out = &d->base;
done:
    return st;
}

/* The rule by hand, draft length 1. Returns -sum log p; counts passes and the tokens that are not the argmax. */
static double by_hand(const toy *t, const int32_t *prompt, int64_t n, double margin, int32_t *out, int64_t *passes,
                      int64_t *departed)
{
    int32_t text[8 + TOKENS];
    double nll = 0;
    bool drafted = false; /* the row before accepted its draft: this one is the round's last */
    *passes = *departed = 0;
    memcpy(text, prompt, (size_t)n * sizeof *text);
    for (int64_t i = 0; i < TOKENS; i++) {
        float row[TOY_VOCAB];
        double total = 0;
        int32_t first, second;
        toy_logits(t, text, n + i, row);
        best_two(row, &first, &second);
        const bool keep =
            !drafted && i + 1 < TOKENS && margin > 0 && (double)row[second] >= (double)row[first] - margin;
        *passes += !drafted;
        drafted = keep;
        text[n + i] = out[i] = keep ? second : first;
        *departed += keep;
        for (int32_t v = 0; v < TOY_VOCAB; v++) total += exp((double)row[v] - (double)row[first]);
        nll += log(total) - ((double)row[out[i]] - (double)row[first]);
    }
    return nll;
}

Test(margin, counts_are_those_of_the_rule_written_out)
{
    enum { PROMPTS = 3, LENGTH = 2 };
    static int32_t token[PROMPTS * LENGTH] = {4, 5, 6, 7, 8, 1};
    static int64_t offset[PROMPTS + 1] = {0, 2, 4, 6};
    const geodec_prompts prompts = {.token = token, .offset = offset, .n = PROMPTS};
    toy t, reference;
    geodec_err err = {0};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 3, 100);
    (void)toy_target(&reference, TOY_HISTORY, 3, 100);
    const geodec_bench_plan plan = {.prompts = &prompts,
                                    .max_tokens = TOKENS,
                                    .n_drafters = 1,
                                    .drafter = {{"second", make, &reference, 0}},
                                    .n_gammas = 1,
                                    .gamma = {1},
                                    .greedy = true,
                                    .resamples = 100,
                                    .seed = 1};
    geodec_margin_row row[GEODEC_MARGINS];
    test_ok(geodec_margin_count(&plan, &target, row, &err), &err);
    for (int m = 0; m < GEODEC_MARGINS; m++) {
        double nll = 0;
        int64_t passes = 0, departed = 0, different = 0;
        for (int p = 0; p < PROMPTS; p++) {
            int32_t greedy[TOKENS], rule[TOKENS];
            int64_t some, gone;
            (void)by_hand(&reference, token + LENGTH * p, LENGTH, 0, greedy, &some, &gone);
            nll += by_hand(&reference, token + LENGTH * p, LENGTH, geodec_margin_all[m], rule, &some, &gone);
            passes += some;
            departed += gone;
            for (int i = 0; i < TOKENS; i++) different += rule[i] != greedy[i];
        }
        cr_assert_eq(row[m].written, PROMPTS * TOKENS);
        cr_assert_eq(row[m].decided, PROMPTS * TOKENS);
        cr_assert_eq(row[m].passes, passes);
        cr_assert_eq(row[m].departed, departed);
        cr_assert_eq(row[m].different, different);
        cr_assert_float_eq(row[m].perplexity.value, exp(nll / (PROMPTS * TOKENS)), 1e-9); /* sums in another order */
        cr_assert(row[m].perplexity.low <= row[m].perplexity.value &&
                  row[m].perplexity.value <= row[m].perplexity.high);
    }
    cr_assert_eq(row[0].different, 0);
    cr_assert_eq(row[0].departed, 0);
    cr_assert_gt(row[GEODEC_MARGINS - 1].departed, 0, "the toy's second best is near enough");
    cr_assert_gt(row[GEODEC_MARGINS - 1].perplexity.value, row[0].perplexity.value);
}

Test(margin, is_refused_where_it_makes_no_sense)
{
    toy t;
    geodec_err err = {0};
    geodec_decoded got;
    geodec_drafter *d = NULL;
    const int32_t prompt[2] = {4, 5};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 3, 100);
    geodec_decode_options o = geodec_decode_options_default();
    test_ok(geodec_ngram_drafter_create(NULL, 2, &d, &err), &err);
    cr_assert_eq(geodec_margin_decode(&target, -1, prompt, 2, d, &o, &got, &err), GEODEC_INVAL);
    o.budget = 8;
    cr_assert_eq(geodec_margin_decode(&target, 1, prompt, 2, d, &o, &got, &err), GEODEC_INVAL);
    o.budget = 0;
    o.sampling.temperature = 1;
    cr_assert_eq(geodec_margin_decode(&target, 1, prompt, 2, d, &o, &got, &err), GEODEC_INVAL);
    geodec_drafter_destroy(d);
}
