/* The drafter of the recurrent net never changes the output, with any weights, and reads the committed text. */
#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/mixture_drafter.h"
#include "drafters/ngram_drafter.h"
#include "drafters/recurrent.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WIDTH = 16 };

/* Random weights; every third token has no class. */
static geodec_recurrent nonsense(void)
{
    geodec_recurrent r = {.d = TOY_STATE, .vocab = TOY_VOCAB, .width = WIDTH, .cover = 0.9};
    r.token_of = geodec_mem_new(TOY_VOCAB, sizeof *r.token_of);
    r.class_of = geodec_mem_new(TOY_VOCAB, sizeof *r.class_of);
    cr_assert(r.token_of && r.class_of);
    for (int32_t v = 0; v < TOY_VOCAB; v++)
        if (v % 3 != 1) r.token_of[r.classes++] = v;
    for (int32_t v = 0, c = 0; v < TOY_VOCAB; v++) r.class_of[v] = v % 3 != 1 ? c++ : (int32_t)r.classes;
    r.weights = geodec_recurrent_count(&r);
    r.weight = geodec_mem_new(r.weights, sizeof *r.weight);
    cr_assert(r.weight);
    for (int64_t i = 0; i < r.weights; i++) r.weight[i] = (float)(geodec_rng_uniform_at(3, 3, (uint64_t)i) - 0.5);
    return r;
}

Test(recurrent, output_equals_plain)
{
    geodec_err err = {0};
    geodec_recurrent r = nonsense();
    geodec_drafter *d, *part[2];
    const double weight[] = {1, 1};
    test_ok(geodec_recurrent_drafter_create(&r, &d, &err), &err);
    toy_runs_exactly(d);
    part[0] = d;
    test_ok(geodec_ngram_drafter_create(NULL, GEODEC_NGRAM_ORDER, &part[1], &err), &err);
    test_ok(geodec_mixture_drafter_create("both", 2, part, weight, &d, &err), &err);
    toy_runs_exactly(d);
    geodec_drafter_destroy(d);
    geodec_recurrent_clear(&r);
}

/* Every node's children have the net's probabilities after the path to it, for any source of the tokens on the path. */
Test(recurrent, children_have_the_probabilities_of_their_path)
{
    geodec_err err = {0};
    geodec_recurrent r = nonsense();
    geodec_drafter *d;
    enum { SEEN = 4, DEEP = 5, MOST = 10 };
    float state[SEEN * TOY_STATE], f[3 * TOY_STATE], c[WIDTH], h[WIDTH], p[TOY_VOCAB];
    int32_t text[SEEN + 1] = {3, 7, 2, 9, 5}, path[SEEN + 1 + DEEP], n;
    geodec_draft out[MOST];
    for (int i = 0; i < SEEN * TOY_STATE; i++) state[i] = (float)(geodec_rng_uniform_at(6, 1, (uint64_t)i) - 0.5);
    for (int i = 0; i < SEEN; i++) geodec_recurrent_advance(TOY_STATE, state + i * TOY_STATE, i == 0, f);
    test_ok(geodec_recurrent_drafter_create(&r, &d, &err), &err);
    test_ok(geodec_drafter_begin(d, &err), &err);
    const geodec_draft_request q = {.context = text, .n_context = SEEN + 1, .gamma = DEEP, .budget = 8};
    test_ok(geodec_drafter_root(d, &q, &err), &err);
    test_ok(d->ops->children(d, 0, MOST, out, &n, &err), &err);
    cr_assert_eq(n, 0, "no state yet");
    const geodec_draft_rows rows = {.n = SEEN, .token = text, .state = state};
    test_ok(geodec_drafter_observe(d, &rows, &err), &err);
    test_ok(geodec_drafter_root(d, &q, &err), &err);
    memcpy(path, text, sizeof text);
    geodec_recurrent_start(&r, f, c);
    for (int32_t k = 0; k < DEEP; k++) {
        const int32_t x[3] = {path[SEEN + k], path[SEEN + k - 1], path[SEEN + k - 2]};
        geodec_recurrent_step(&r, c, x, h);
        geodec_recurrent_probabilities(&r, h, p);
        geodec_recurrent_carry(&r, h, c);
        test_ok(d->ops->children(d, k, MOST, out, &n, &err), &err);
        cr_assert_eq(n, MOST);
        double last = 1;
        for (int32_t i = 0; i < n; i++) {
            cr_assert_float_eq(out[i].confidence, 0.9 * (double)p[r.class_of[out[i].token]], 1e-7);
            cr_assert_leq(out[i].confidence, last);
            last = out[i].confidence;
        }
        for (int64_t v = 0, better = 0; v < r.classes; v++) {
            better += 0.9 * (double)p[v] > last + 1e-7;
            cr_assert_lt(better, MOST);
        }
        path[SEEN + 1 + k] = k == 2 ? 1 : out[k % n].token; /* token 1 has no class: another part's proposal */
        test_ok(geodec_drafter_adopt(d, k, path[SEEN + 1 + k], &err), &err);
    }
    geodec_drafter_destroy(d);
    geodec_recurrent_clear(&r);
}
