/* Token recycling, and the candidates that the loop passes to a drafter that needs them. */
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/lookup_drafter.h"
#include "drafters/mixture_drafter.h"
#include "drafters/recycle_drafter.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TOP = GEODEC_DRAFT_TOP, STOP = 0 };

/* ---- rows from the loop ---------------------------------------------------------------------------------------- */

/* Drafts two random children of every node and compares all that it is shown with the target's logits. */
typedef struct checker {
    geodec_drafter base;
    const toy *toy;
    int64_t n_prompt, min_tokens;
    int32_t text[4096];
    int64_t n, index, rejected_rows;
    uint64_t seed;
    int32_t nodes, token[GEODEC_DRAFT_MAX + 1], parent[GEODEC_DRAFT_MAX + 1], depth[GEODEC_DRAFT_MAX + 1];
} checker;

static void same_top(const checker *c, const int32_t *text, int64_t n, bool guard, const int32_t *top)
{
    float row[TOY_VOCAB];
    toy_logits(c->toy, text, n, row);
    if (guard && n - c->n_prompt < c->min_tokens) row[STOP] = -INFINITY;
    for (int32_t k = 0; k < TOP; k++) {
        const int32_t best = geodec_argmax(row, TOY_VOCAB);
        cr_assert_eq(top[k], best, "rank %d after %lld tokens", k, (long long)n);
        row[best] = -INFINITY;
    }
}

static geodec_status check_begin(geodec_drafter *d, geodec_err *err)
{
    (void)err;
    ((checker *)d)->n = 0;
    ((checker *)d)->nodes = 0;
    return GEODEC_OK;
}

static geodec_status check_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    checker *c = (checker *)d;
    bool kept[GEODEC_DRAFT_MAX + 1] = {true};
    const int64_t before = c->n;
    cr_assert(rows->top);
    for (int64_t i = 0; i < rows->n; i++) {
        c->text[c->n++] = rows->token[i];
        if (c->n < c->n_prompt)
            for (int32_t k = 0; k < TOP; k++) cr_assert_eq(rows->top[i * TOP + k], -1);
        else
            same_top(c, c->text, c->n, true, rows->top + i * TOP);
    }
    if (before < c->n_prompt - 1) {
        cr_assert_eq(rows->n_rejected, 0);
        return GEODEC_OK;
    }
    for (int32_t i = 1, at = 0; i < c->nodes; i++)
        if (c->parent[i] == at && c->depth[i] < rows->n && c->token[i] == rows->token[c->depth[i]]) {
            kept[i] = true;
            at = i;
        }
    int64_t rejected = 0;
    for (int32_t i = 1; i < c->nodes; i++) {
        if (kept[i]) continue;
        int32_t text[4096];
        memcpy(text, c->text, (size_t)(before + 1) * sizeof *text);
        for (int32_t at = i; at > 0; at = c->parent[at]) text[before + c->depth[at]] = c->token[at];
        cr_assert_lt(rejected, rows->n_rejected);
        cr_assert_eq(rows->rejected_token[rejected], c->token[i]);
        same_top(c, text, before + c->depth[i] + 1, false, rows->rejected_top + rejected * TOP);
        rejected++;
    }
    /* The last draft of a tree is not adopted, so this drafter does not know it. */
    cr_assert(rows->n_rejected == rejected || rows->n_rejected == rejected + 1);
    c->rejected_rows += rejected;
    return GEODEC_OK;
}

static geodec_status check_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                   geodec_err *err)
{
    (void)d;
    (void)q;
    (void)out;
    (void)err;
    *n = 0;
    return GEODEC_OK;
}

static geodec_status check_root(geodec_drafter *d, const geodec_draft_request *q, geodec_err *err)
{
    (void)err;
    checker *c = (checker *)d;
    c->index = q->index;
    c->nodes = 1;
    c->depth[0] = 0;
    return GEODEC_OK;
}

static geodec_status check_children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                    geodec_err *err)
{
    (void)err;
    const checker *c = (const checker *)d;
    float row[TOY_VOCAB];
    int32_t text[4096];
    const int64_t length = c->n + 1 + c->depth[node];
    memcpy(text, c->text, (size_t)c->n * sizeof *text);
    for (int32_t at = node; at > 0; at = c->parent[at]) text[c->n + c->depth[at]] = c->token[at];
    text[c->n] = c->token[0];
    toy_logits(c->toy, text, length, row);
    row[STOP] = -INFINITY;
    /* The right one and a wrong one. */
    out[0] = (geodec_draft){.token = geodec_argmax(row, TOY_VOCAB), .confidence = 0.6};
    out[1] = (geodec_draft){.token = 1 + out[0].token % (TOY_VOCAB - 1), .confidence = 0.5};
    *n = most < 2 || out[0].token == out[1].token ? 1 : 2;
    return GEODEC_OK;
}

static geodec_status check_adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    (void)err;
    checker *c = (checker *)d;
    c->token[c->nodes] = token;
    c->parent[c->nodes] = parent;
    c->depth[c->nodes++] = c->depth[parent] + 1;
    return GEODEC_OK;
}

static geodec_status note_newest(geodec_drafter *d, const geodec_draft_request *q, geodec_err *err)
{
    ((checker *)d)->token[0] = q->context[q->n_context - 1];
    return check_root(d, q, err);
}

static void no_destroy(geodec_drafter *d) { (void)d; }

Test(candidates, are_those_of_the_rows)
{
    static const char *const sources[] = {"check"};
    static const geodec_drafter_ops ops = {.name = "check",
                                           .wants_top = true,
                                           .n_sources = 1,
                                           .source_name = sources,
                                           .begin = check_begin,
                                           .observe = check_observe,
                                           .propose = check_propose,
                                           .destroy = no_destroy,
                                           .root = note_newest,
                                           .children = check_children,
                                           .adopt = check_adopt};
    geodec_err err = {0};
    for (int mode = 0; mode < 8; mode++) {
        toy t;
        geodec_decoded got;
        const geodec_target target = toy_target(&t, TOY_HISTORY, (uint64_t)mode, 400);
        int32_t prompt[50], stop[] = {STOP};
        static checker c;
        geodec_decode_options o = geodec_decode_options_default();
        memset(&c, 0, sizeof c);
        c.base.ops = &ops;
        c.toy = &t;
        for (int i = 0; i < 50; i++) prompt[i] = 1 + (int32_t)(geodec_rng_at(7, (uint64_t)mode, (uint64_t)i) % 20);
        c.n_prompt = mode % 2 ? 50 : 1; /* longer than a pass */
        o.gamma = 6;
        o.budget = 3 + 4 * (mode % 3);
        o.max_tokens = 120;
        o.stop = stop;
        o.n_stop = 1;
        o.min_tokens = c.min_tokens = 60;
        o.sampling.temperature = mode > 3 ? 1 : 0;
        o.sampling.seed = (uint64_t)mode;
        test_ok(geodec_decode(&target, prompt, c.n_prompt, &c.base, &o, &got, &err), &err);
        cr_assert_gt(got.n, 59);
        cr_assert_gt(c.rejected_rows, 20);
        geodec_decode_free(&got);
    }
}

/* ---- the drafter ------------------------------------------------------------------------------------------------ */

static int32_t ask(geodec_drafter *d, int32_t newest, int32_t gamma, int32_t budget, geodec_draft *out)
{
    geodec_err err = {0};
    int32_t n;
    const geodec_draft_request q = {.context = &newest, .n_context = 1, .gamma = gamma, .budget = budget};
    test_ok(geodec_drafter_propose(d, &q, out, &n, &err), &err);
    return n;
}

Test(recycle, follows_what_passes_computed)
{
    geodec_err err = {0};
    geodec_drafter *d;
    geodec_draft out[16];
    test_ok(geodec_recycle_drafter_create(20, &d, &err), &err);
    test_ok(geodec_drafter_begin(d, &err), &err);
    cr_assert_eq(ask(d, 5, 4, 0, out), 0, "nothing was computed yet");
    cr_assert_eq(ask(d, 99, 4, 4, out), 0, "no token of the vocabulary");

    /* A prompt 5 6 5 7: 7 came last after 5, 6 before. The token after 7 is not known yet. */
    const int32_t prompt[] = {5, 6, 5, 7};
    const int32_t unknown[4 * TOP] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                      -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    geodec_draft_rows rows = {.n = 4, .token = prompt, .top = unknown};
    test_ok(geodec_drafter_observe(d, &rows, &err), &err);
    cr_assert_eq(ask(d, 5, 1, 4, out), 2);
    cr_assert_eq(out[0].token, 7);
    cr_assert_eq(out[1].token, 6);
    cr_assert_gt(out[0].confidence, out[1].confidence);
    cr_assert_eq(ask(d, 6, 3, 0, out), 2); /* 6 5 7, and there it ends */
    cr_assert_eq(out[0].token, 5);
    cr_assert_eq(out[1].token, 7);

    /* A pass over 8 with a rejected draft 9. */
    const int32_t token[] = {8}, top[TOP] = {10, 11, 12, 13, 14, 15, 16, 17}, rejected[] = {9},
                  rejected_top[TOP] = {8, 7, 6, 5, 4, 3, 2, 1};
    rows = (geodec_draft_rows){
        .n = 1, .token = token, .top = top, .n_rejected = 1, .rejected_token = rejected, .rejected_top = rejected_top};
    test_ok(geodec_drafter_observe(d, &rows, &err), &err);
    cr_assert_eq(ask(d, 9, 1, 16, out), TOP);
    for (int32_t i = 0; i < TOP; i++) {
        cr_assert_eq(out[i].token, rejected_top[i]);
        cr_assert_eq(out[i].source, i);
    }
    cr_assert_eq(ask(d, 9, 2, 0, out), 2);
    cr_assert_eq(out[1].token, 10);
    cr_assert_eq(ask(d, 7, 1, 0, out), 1, "8 came behind the prompt");
    cr_assert_eq(out[0].token, 8);

    test_ok(geodec_drafter_begin(d, &err), &err);
    cr_assert_eq(ask(d, 9, 4, 0, out), 0, "a new text");
    geodec_drafter_destroy(d);
}

/* The probabilities of the ranks become those of the text, for any prior. */
Test(recycle, confidence_is_calibrated)
{
    enum { N = 20000, V = 30 };
    geodec_err err = {0};
    geodec_drafter *d;
    geodec_draft out[TOP];
    int32_t top[TOP];
    double claimed[TOP] = {0}, right[TOP] = {0}, trials = 0;
    test_ok(geodec_recycle_drafter_create(V, &d, &err), &err);
    test_ok(geodec_drafter_begin(d, &err), &err);
    int32_t x = 0;
    for (int64_t i = 0; i < N; i++) {
        /* The next token is the first candidate in a fifth of all cases, the third in half, else any. */
        const uint64_t u = geodec_rng_at(3, 1, (uint64_t)i);
        for (int32_t r = 0; r < TOP; r++) top[r] = (x + 1 + r) % V;
        const int32_t next = u % 10 < 2 ? top[0] : u % 10 < 7 ? top[2] : (int32_t)(u / 10 % V);
        if (i > N / 2) {
            const int32_t n = ask(d, x, 1, TOP, out);
            trials += n == TOP;
            for (int32_t k = 0; k < n; k++) {
                claimed[out[k].source] += out[k].confidence;
                right[out[k].source] += out[k].token == next;
            }
        }
        const geodec_draft_rows rows = {.n = 1, .token = &x, .top = top};
        test_ok(geodec_drafter_observe(d, &rows, &err), &err);
        x = next;
    }
    cr_assert_gt(trials, 9000);
    for (int32_t r = 0; r < TOP; r++)
        cr_assert_float_eq(claimed[r] / trials, right[r] / trials, 0.02, "rank %d: %g claimed, %g right", r,
                           claimed[r] / trials, right[r] / trials);
    geodec_drafter_destroy(d);
}

/* Chains, trees, alone and in a mixture, greedy and sampled, fixed and adaptive. */
Test(recycle, output_equals_plain)
{
    geodec_err err = {0};
    double best = 0;
    for (int mixed = 0; mixed < 2; mixed++) {
        geodec_drafter *d, *part[2];
        const double weight[] = {1, 1};
        test_ok(geodec_recycle_drafter_create(TOY_VOCAB, &d, &err), &err);
        if (mixed) {
            part[0] = d;
            test_ok(geodec_lookup_drafter_create(&part[1], &err), &err);
            test_ok(geodec_mixture_drafter_create("both", 2, part, weight, &d, &err), &err);
            cr_assert(d->ops->wants_top && !d->ops->wants_state);
        }
        for (int kind = TOY_HISTORY; kind <= TOY_MARKOV; kind++)
            for (int mode = 0; mode < 24; mode++) {
                static int32_t plain[4096];
                toy t;
                geodec_end end;
                geodec_decoded got;
                int32_t prompt[6], stop[] = {STOP};
                geodec_decode_options o = geodec_decode_options_default();
                geodec_rng r = geodec_rng_stream((uint64_t)mode, 6);
                for (int i = 0; i < 6; i++) prompt[i] = (int32_t)geodec_rng_below(&r, TOY_VOCAB);
                o.gamma = 1 + mode % 16;
                o.budget = mode % 3 ? 8 * (mode % 3) : 0;
                o.adaptive = mode % 4 == 3;
                o.max_tokens = 300;
                o.stop = stop;
                o.n_stop = mode % 2;
                o.min_tokens = mode % 6 == 5 ? 40 : 0;
                o.sampling.temperature = mode % 5 == 4 ? 0.8 : 0;
                o.sampling.seed = (uint64_t)mode;
                const geodec_target target = toy_target(&t, (toy_kind)kind, (uint64_t)mode, 1000);
                const int64_t want = toy_plain(&t, prompt, 6, &o, plain, &end);
                test_ok(geodec_decode(&target, prompt, 6, d, &o, &got, &err), &err);
                cr_assert_eq(got.n, want);
                cr_assert_eq(got.end, end);
                cr_assert_eq(memcmp(got.token, plain, (size_t)want * sizeof *plain), 0, "kind %d mode %d", kind, mode);
                const double x = geodec_decode_tokens_per_pass(&got.counters);
                if (x > best) best = x;
                geodec_decode_free(&got);
            }
        geodec_drafter_destroy(d);
    }
    cr_assert_gt(best, 2, "%g tokens a pass", best);
}
