/* OneDecode's drafters never change the output, with any artifacts. */
#include "base/mem.h"
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/mixture_drafter.h"
#include "drafters/onedecode.h"
#include "drafters/recycle_drafter.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CELLS = 9, K = TOY_STATE, ALL = 24 };

static float any(uint64_t stream, int64_t i) { return (float)(geodec_rng_uniform_at(4, stream, (uint64_t)i) - 0.5); }

/* A random table of the right shape; token 5 was never seen and cell 0 is nearly empty. */
static void make_cells(geodec_onedecode *t)
{
    geodec_err err = {0};
    int32_t cell[ALL * CELLS], label[ALL * CELLS];
    *t = (geodec_onedecode){.step = {.vocab = TOY_VOCAB, .d = TOY_STATE, .k = K}, .n_min = 4};
    t->step.basis = geodec_mem_new(K * K, sizeof(float));
    t->step.mean = geodec_mem_new(K, sizeof(float));
    t->step.map = geodec_mem_new(K * K, sizeof(float));
    t->step.after = geodec_mem_new(TOY_VOCAB * K, sizeof(float));
    t->step.seen = geodec_mem_new(TOY_VOCAB, sizeof(uint32_t));
    t->centroid = geodec_mem_new(CELLS * K, sizeof(float));
    t->half_square = geodec_mem_new(CELLS, sizeof(float));
    for (int i = 0; i < K; i++) t->step.basis[i * K + i] = 1;
    for (int i = 0; i < K * K; i++) t->step.map[i] = any(1, i);
    for (int i = 0; i < TOY_VOCAB * K; i++) t->step.after[i] = any(2, i);
    for (int i = 0; i < TOY_VOCAB; i++) t->step.seen[i] = i != 5;
    for (int i = 0; i < CELLS * K; i++) {
        t->centroid[i] = any(3, i);
        t->half_square[i / K] += t->centroid[i] * t->centroid[i] / 2;
    }
    for (int i = 0; i < ALL * CELLS; i++) {
        cell[i] = i % CELLS == 0 && i > 2 * CELLS ? 1 : i % CELLS;
        label[i] = (int32_t)(geodec_rng_at(4, 9, (uint64_t)i) % TOY_VOCAB);
    }
    test_ok(geodec_counts_make(CELLS, (int64_t)ALL * CELLS, cell, label, &t->counts, &err), &err);
    for (int d = 0; d < GEODEC_ONEDECODE_DEPTHS; d++) t->shrink[d] = 1;
}

Test(onedecode, output_equals_plain)
{
    geodec_err err = {0};
    geodec_onedecode t;
    geodec_drafter *d, *part[2];
    const double weight[] = {1, 1};
    make_cells(&t);
    test_ok(geodec_onedecode_drafter_create(&t, &d, &err), &err);
    toy_runs_exactly(d);
    part[0] = d;
    test_ok(geodec_recycle_drafter_create(TOY_VOCAB, &part[1], &err), &err);
    test_ok(geodec_mixture_drafter_create("both", 2, part, weight, &d, &err), &err);
    cr_assert(d->ops->wants_state && d->ops->wants_top);
    toy_runs_exactly(d);
    geodec_drafter_destroy(d);
    geodec_onedecode_clear(&t);
}

/* Drafts of onedecode are the counts of its cell; there are none without a state or for an unknown token. */
Test(onedecode, names_the_cell)
{
    geodec_err err = {0};
    geodec_onedecode t;
    geodec_drafter *d;
    geodec_draft out[4];
    int32_t n, newest = 8;
    float z[K], next[K];
    const float state[2 * K] = {9, 9, 9, 0.3F, -1.2F, 0.8F};
    const int32_t token[] = {3, 7}, unseen = 5;
    make_cells(&t);
    test_ok(geodec_onedecode_drafter_create(&t, &d, &err), &err);
    test_ok(geodec_drafter_begin(d, &err), &err);
    geodec_draft_request q = {.context = &newest, .n_context = 1, .gamma = 1, .budget = 4};
    test_ok(geodec_drafter_propose(d, &q, out, &n, &err), &err);
    cr_assert_eq(n, 0, "no state yet");
    const geodec_draft_rows rows = {.n = 2, .token = token, .state = state};
    test_ok(geodec_drafter_observe(d, &rows, &err), &err);
    int32_t misses = 0, hits = 0;
    for (newest = 6; newest < TOY_VOCAB; newest++) {
        test_ok(geodec_drafter_propose(d, &q, out, &n, &err), &err);
        geodec_step_state(&t.step, state + K, z);
        cr_assert(geodec_step_advance(&t.step, z, newest, next));
        const int64_t cell = geodec_onedecode_cell(&t, next), first = t.counts.start[cell],
                      entries = t.counts.start[cell + 1] - first;
        cr_assert_eq(n, t.counts.total[cell] < 4 ? 0 : entries < 4 ? entries : 4);
        misses += n == 0;
        hits += n > 0;
        for (int32_t i = 0; i < n; i++) {
            cr_assert_eq(out[i].token, t.counts.token[first + i]);
            cr_assert_float_eq(out[i].confidence, (double)t.counts.count[first + i] / t.counts.total[cell], 1e-12);
        }
    }
    cr_assert(hits > 0 && misses > 0);
    q.context = &unseen;
    test_ok(geodec_drafter_propose(d, &q, out, &n, &err), &err);
    cr_assert_eq(n, 0, "a token the texts do not have");
    geodec_drafter_destroy(d);
    geodec_onedecode_clear(&t);
}
