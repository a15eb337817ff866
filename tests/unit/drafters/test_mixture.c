/* Mixtures: as good as the best part, and probabilities of siblings never sum to more than 1. */
#include "base/rng.h"
#include "decode/toy.h"
#include "drafters/mixture_drafter.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { PROMPT = 3, LENGTH = 200, NOISE = 3 };

/* Proposes the output, or NOISE random tokens, with the same confidence as the other. */
typedef struct scripted {
    geodec_drafter base;
    const int32_t *plain;
    int64_t n_plain, index;
    bool right;
    double claim;
    int32_t nodes, depth[GEODEC_DRAFT_MAX + 1];
} scripted;

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    (void)d;
    (void)err;
    return GEODEC_OK;
}

static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)d;
    (void)rows;
    (void)err;
    return GEODEC_OK;
}

static geodec_status root(geodec_drafter *d, const geodec_draft_request *q, geodec_err *err)
{
    scripted *s = (scripted *)d;
    (void)err;
    s->index = q->index;
    s->nodes = 1;
    s->depth[0] = 0;
    return GEODEC_OK;
}

static geodec_status children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                              geodec_err *err)
{
    const scripted *s = (const scripted *)d;
    const int64_t at = s->index + s->depth[node];
    (void)err;
    *n = 0;
    if (s->right && at < s->n_plain) out[(*n)++] = (geodec_draft){.token = s->plain[at], .confidence = s->claim};
    for (int32_t i = 0; !s->right && i < NOISE && i < most; i++)
        out[(*n)++] = (geodec_draft){.token = (int32_t)(geodec_rng_at(5, (uint64_t)at, 0) % (TOY_VOCAB - NOISE)) + i,
                                     .confidence = s->claim};
    return GEODEC_OK;
}

static geodec_status adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    scripted *s = (scripted *)d;
    (void)token;
    (void)err;
    s->depth[s->nodes++] = s->depth[parent] + 1;
    return GEODEC_OK;
}

static geodec_status propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                             geodec_err *err)
{
    (void)d;
    (void)q;
    (void)out;
    (void)err;
    *n = 0; /* only trees are requested */
    return GEODEC_OK;
}

static void destroy(geodec_drafter *d) { (void)d; }

static geodec_drafter *script(scripted *s, const int32_t *plain, int64_t n, bool right, double claim)
{
    static const char *const sources[] = {"script"};
    static const geodec_drafter_ops ops = {.name = "scripted",
                                           .n_sources = 1,
                                           .source_name = sources,
                                           .begin = begin,
                                           .observe = observe,
                                           .propose = propose,
                                           .destroy = destroy,
                                           .root = root,
                                           .children = children,
                                           .adopt = adopt};
    *s = (scripted){.base = {.ops = &ops}, .plain = plain, .n_plain = n, .right = right, .claim = claim};
    return &s->base;
}

/* Rounds that a tree of 6 drafts takes; the output is checked. */
static int64_t rounds(geodec_drafter *d, const int32_t *prompt, const int32_t *plain, int64_t n)
{
    geodec_err err = {0};
    toy t;
    geodec_decode_options o = geodec_decode_options_default();
    geodec_decoded got;
    const geodec_target target = toy_target(&t, TOY_HISTORY, 8, 1000);
    o.max_tokens = LENGTH;
    o.gamma = 6;
    o.budget = 6;
    test_ok(geodec_decode(&target, prompt, PROMPT, d, &o, &got, &err), &err);
    cr_assert_eq(got.n, n);
    cr_assert_eq(memcmp(got.token, plain, (size_t)n * sizeof *plain), 0);
    const int64_t count = got.counters.rounds;
    geodec_decode_free(&got);
    return count;
}

Test(mixture, is_nearly_as_good_as_a_perfect_part_among_random_ones)
{
    geodec_err err = {0};
    const int32_t prompt[PROMPT] = {1, 2, 3};
    int32_t plain[LENGTH];
    toy reference;
    geodec_end end;
    geodec_decode_options o = geodec_decode_options_default();
    toy_target(&reference, TOY_HISTORY, 8, 1000);
    o.max_tokens = LENGTH;
    const int64_t n = toy_plain(&reference, prompt, PROMPT, &o, plain, &end);
    scripted one;
    const int64_t perfect = rounds(script(&one, plain, n, true, 0.9), prompt, plain, n),
                  random = rounds(script(&one, plain, n, false, 0.3), prompt, plain, n);
    cr_assert_gt(random, 3 * perfect, "%lld rounds at random, %lld perfect", (long long)random, (long long)perfect);
    for (int32_t place = 0; place < 3; place++) {
        scripted s[3];
        geodec_drafter *part[3], *d;
        double weight[3];
        for (int32_t k = 0; k < 3; k++) {
            part[k] = script(&s[k], plain, n, k == place, k == place ? 0.9 : 0.3);
            weight[k] = k == place ? 1 : 5; /* smaller weight than the others */
        }
        test_ok(geodec_mixture_drafter_create("mixture", 3, part, weight, &d, &err), &err);
        const int64_t mixed = rounds(d, prompt, plain, n);
        cr_assert_leq(mixed, perfect + 5, "%lld rounds mixed, %lld perfect", (long long)mixed, (long long)perfect);
        /* again: a request does not depend on the previous one */
        cr_assert_eq(rounds(d, prompt, plain, n), mixed);
        geodec_drafter_destroy(d);
    }
}

Test(mixture, siblings_share_a_probability_of_one)
{
    geodec_err err = {0};
    const int32_t plain[1] = {7}, context[1] = {1};
    const geodec_draft_request q = {.context = context, .n_context = 1, .gamma = 4, .budget = 8};
    scripted s[2];
    geodec_drafter *part[2] = {script(&s[0], plain, 1, false, 0.8), script(&s[1], plain, 1, true, 0.5)}, *d;
    const double first[2] = {2, 1}, second[2] = {1, 2};
    for (int32_t turn = 0; turn < 2; turn++) {
        geodec_draft child[GEODEC_TREE_CHILDREN];
        int32_t n;
        /* A part's weight is its score's exponential to the power 0.2. */
        const double w[2] = {pow(turn == 0 ? 2 : 1, 0.2), pow(turn == 0 ? 1 : 2, 0.2)},
                     half = 0.5 * w[1] / (w[0] + w[1]);
        double sum = 0;
        bool named = false;
        test_ok(geodec_mixture_drafter_create("mixture", 2, part, turn == 0 ? first : second, &d, &err), &err);
        test_ok(geodec_drafter_begin(d, &err), &err);
        test_ok(geodec_drafter_root(d, &q, &err), &err);
        test_ok(d->ops->children(d, 0, GEODEC_TREE_CHILDREN, child, &n, &err), &err);
        for (int32_t i = 0; i < n; i++) {
            sum += child[i].confidence;
            if (i > 0) cr_assert_leq(child[i].confidence, child[i - 1].confidence);
            named |= child[i].token == 7 && child[i].confidence >= half - 1e-12;
        }
        cr_assert_leq(sum, 1 + 1e-12);
        cr_assert_float_eq(sum, 1 - half, 1e-12, "three at 0.8 share one, the other has one at 0.5");
        cr_assert(named);
        geodec_drafter_destroy(d);
    }
}
