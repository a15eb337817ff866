#include "decode/toy.h"

#include "base/rng.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static uint64_t history_hash(const toy *t, const int32_t *history, int64_t n)
{
    uint64_t h = t->seed;
    int64_t from = t->kind == TOY_MARKOV && n > 2 ? n - 2 : 0;
    for (int64_t i = from; i < n; i++) h = geodec_rng_at(h, 17, (uint64_t)history[i]);
    return h;
}

void toy_logits(const toy *t, const int32_t *history, int64_t n, float *row)
{
    geodec_rng r = geodec_rng_stream(history_hash(t, history, n), 3);
    /* Coarse values: ties are frequent, so the tie rule is tested too. */
    for (int32_t i = 0; i < TOY_VOCAB; i++) row[i] = (float)geodec_rng_below(&r, 12) * 0.5f;
    if (t->kind == TOY_STOP) row[0] = 9;
}

void toy_state(const toy *t, const int32_t *history, int64_t n, float *state)
{
    geodec_rng r = geodec_rng_stream(history_hash(t, history, n), 4);
    for (int i = 0; i < TOY_STATE; i++) state[i] = (float)geodec_rng_uniform(&r);
}

static geodec_status forward(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                             float *state, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    toy *t = self;
    if (n < 1 || n > t->max_batch) GEODEC_THROW(GEODEC_LIMIT, "%d rows", n);
    if (t->length + n > t->n_ctx) GEODEC_THROW(GEODEC_LIMIT, "context full");
    for (int32_t i = 0; i < n; i++)
        if (token[i] < 0 || token[i] >= TOY_VOCAB) GEODEC_THROW(GEODEC_RANGE, "token %d", token[i]);
    for (int32_t i = 0; parent && i < n; i++)
        if (parent[i] < -1 || parent[i] >= i) GEODEC_THROW(GEODEC_RANGE, "parent %d of row %d", parent[i], i);
    const int32_t base = t->length;
    for (int32_t i = 0; i < n; i++) {
        int32_t history[4096], above[64], depth = 0; /* the cache, then the rows from the root down to this one */
        t->token[t->length++] = token[i];
        for (int32_t a = i; a >= 0; a = parent ? parent[a] : a - 1) above[depth++] = a;
        memcpy(history, t->token, (size_t)base * sizeof *history);
        for (int32_t k = 0; k < depth; k++) history[base + k] = token[above[depth - 1 - k]];
        if (logits) toy_logits(t, history, base + depth, logits + i * TOY_VOCAB);
        if (logits && t->broken && i > 0) logits[i * TOY_VOCAB + (t->length % TOY_VOCAB)] += 0.6f;
        if (state) toy_state(t, history, base + depth, state + i * TOY_STATE);
    }
    t->count.passes++;
    t->count.rows += n;
done:
    return st;
}

static int32_t length(const void *self) { return ((const toy *)self)->length; }
static void truncate_to(void *self, int32_t n)
{
    toy *t = self;
    cr_assert(n >= 0 && n <= t->length);
    t->length = n;
}
static void compact(void *self, int32_t base, const int32_t *row, int32_t n)
{
    toy *t = self;
    for (int32_t k = 0; k < n; k++) {
        cr_assert(row[k] >= k && base + row[k] < t->length && (k == 0 || row[k] > row[k - 1]));
        t->token[base + k] = t->token[base + row[k]];
    }
    t->length = base + n;
}
static geodec_counters counters(const void *self) { return ((const toy *)self)->count; }

geodec_target toy_target(toy *t, toy_kind kind, uint64_t seed, int32_t n_ctx)
{
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->seed = seed;
    t->n_ctx = n_ctx;
    t->max_batch = 40;
    return (geodec_target){t,       TOY_VOCAB, TOY_STATE,   n_ctx,   t->max_batch,
                           forward, length,    truncate_to, compact, counters};
}

int64_t toy_plain(const toy *t, const int32_t *prompt, int64_t n, const geodec_decode_options *o, int32_t *out,
                  geodec_end *end)
{
    int32_t text[4096];
    float row[TOY_VOCAB];
    geodec_sampler *s = NULL;
    geodec_err err = {0};
    memcpy(text, prompt, (size_t)n * sizeof *text);
    cr_assert_eq(geodec_sampler_create(&o->sampling, TOY_VOCAB, &s, &err), GEODEC_OK);
    int64_t k = 0;
    *end = GEODEC_END_LENGTH;
    while (k < o->max_tokens) {
        if (n + k > t->n_ctx) {
            *end = GEODEC_END_CONTEXT;
            break;
        }
        toy_logits(t, text, n + k, row);
        for (int32_t i = 0; i < o->n_stop; i++)
            if (k < o->min_tokens) row[o->stop[i]] = -INFINITY;
        int32_t id;
        cr_assert_eq(geodec_sampler_next(s, k, row, &id, &err), GEODEC_OK);
        bool stop = false;
        for (int32_t i = 0; i < o->n_stop; i++) stop = stop || id == o->stop[i];
        if (stop) {
            *end = GEODEC_END_STOP;
            break;
        }
        text[n + k] = out[k] = id;
        k++;
    }
    geodec_sampler_destroy(s);
    return k;
}

static geodec_status hostile_begin(geodec_drafter *base, geodec_err *err)
{
    (void)err;
    hostile *h = (hostile *)base;
    h->n_seen = 0;
    h->begun = true;
    return GEODEC_OK;
}

static geodec_status hostile_observe(geodec_drafter *base, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    hostile *h = (hostile *)base;
    cr_assert(h->begun && rows->n > 0 && rows->state);
    for (int64_t i = 0; i < rows->n; i++) {
        float want[TOY_STATE];
        h->seen[h->n_seen++] = rows->token[i];
        toy_state(h->toy, h->seen, h->n_seen, want);
        cr_assert_eq(memcmp(want, rows->state + i * TOY_STATE, sizeof want), 0, "state of row %lld",
                     (long long)h->n_seen - 1);
        memcpy(h->last_state, want, sizeof want);
        cr_assert(rows->argmax[i] >= -1 && rows->argmax[i] < TOY_VOCAB);
        if (!h->opt) continue;
        /* The guarded argmax of this very row; of rows of the prompt it is not known. */
        float row[TOY_VOCAB];
        const geodec_guard guard = {h->opt->min_tokens, h->opt->stop, h->opt->n_stop};
        toy_logits(h->toy, h->seen, h->n_seen, row);
        geodec_guard_mask(&guard, h->n_seen - h->n_prompt, NULL, 0, row, TOY_VOCAB);
        cr_assert_eq(rows->argmax[i], h->n_seen < h->n_prompt ? -1 : geodec_argmax(row, TOY_VOCAB), "row %lld",
                     (long long)h->n_seen - 1);
    }
    return GEODEC_OK;
}

static int32_t truth(const hostile *h, int64_t index)
{
    if (index < h->n_plain) return h->plain[index];
    return index == h->n_plain && h->stop >= 0 ? h->stop : 0;
}

static geodec_status hostile_propose(geodec_drafter *base, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                     geodec_err *err)
{
    (void)err;
    hostile *h = (hostile *)base;
    /* Every row before the newest token has been shown, and nothing else. */
    cr_assert_eq(h->n_seen, q->n_context - 1);
    cr_assert_eq(memcmp(h->seen, q->context, (size_t)h->n_seen * sizeof *h->seen), 0);
    cr_assert_eq(q->index, q->n_context - h->n_prompt);
    for (int32_t i = 0; i < q->gamma; i++) {
        const int64_t at = q->index + i;
        const uint64_t noise = geodec_rng_at(h->seed, 5, (uint64_t)(at * 64 + i));
        int32_t id = truth(h, at);
        switch (h->kind) {
        case HOSTILE_WRONG:
            id = (id + 1) % TOY_VOCAB;
            break;
        case HOSTILE_RANDOM:
            id = (int32_t)(noise % TOY_VOCAB);
            break;
        case HOSTILE_OUTSIDE:
            id = (int32_t[]){-1, TOY_VOCAB, INT32_MAX, INT32_MIN, id}[noise % 5];
            break;
        case HOSTILE_FLAKY:
            id = at % 3 == 2 ? (id + 5) % TOY_VOCAB : id;
            break;
        case HOSTILE_STOP:
            id = 0;
            break;
        case HOSTILE_ORACLE:
        case HOSTILE_KINDS:
            break;
        }
        out[i] = (geodec_draft){
            .token = id, .source = (int32_t)(noise >> 8 & 1), .confidence = (double)(noise >> 40) / 0x1p24};
    }
    *n = q->gamma;
    return GEODEC_OK;
}

/* The adversary as a tree: a few children for every node, with the chain's draft at a random position. */
static geodec_status hostile_root(geodec_drafter *base, const geodec_draft_request *q, geodec_err *err)
{
    hostile *h = (hostile *)base;
    int32_t n;
    h->index = q->index;
    h->nodes = 1;
    h->depth[0] = 0;
    geodec_draft_request chain = *q;
    chain.gamma = GEODEC_DRAFT_MAX;
    return hostile_propose(base, &chain, h->chain, &n, err);
}

static geodec_status hostile_children(geodec_drafter *base, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                      geodec_err *err)
{
    (void)err;
    hostile *h = (hostile *)base;
    cr_assert(node >= 0 && node < h->nodes && most >= 1 && most <= GEODEC_TREE_CHILDREN);
    const geodec_draft best = h->chain[h->depth[node]];
    const uint64_t noise = geodec_rng_at(h->seed, 9, (uint64_t)(h->index * 64 + node));
    const int32_t count = 1 + (int32_t)(noise % 4) < most ? 1 + (int32_t)(noise % 4) : most,
                  place = (int32_t)((noise >> 8) % (uint64_t)count);
    for (int32_t i = 0; i < count; i++) {
        out[i] = best;
        if (i != place) out[i].token = (int32_t)(((uint32_t)best.token + 1 + (uint32_t)i) % TOY_VOCAB);
        for (int32_t j = 0; j < i; j++)
            if (out[j].token == out[i].token) out[i].token = TOY_VOCAB + i; /* outside: siblings must differ */
        out[i].confidence = best.confidence / (1 + i);
    }
    *n = count;
    return GEODEC_OK;
}

static geodec_status hostile_adopt(geodec_drafter *base, int32_t parent, int32_t token, geodec_err *err)
{
    (void)err;
    (void)token;
    hostile *h = (hostile *)base;
    cr_assert(parent >= 0 && parent < h->nodes && h->nodes <= GEODEC_DRAFT_MAX);
    h->depth[h->nodes++] = h->depth[parent] + 1;
    return GEODEC_OK;
}

static void hostile_destroy(geodec_drafter *base) { (void)base; }

geodec_drafter *hostile_make(hostile *h, hostile_kind kind, const toy *t, uint64_t seed, const int32_t *plain,
                             int64_t n_plain, int64_t n_prompt, int32_t stop)
{
    static const char *const sources[] = {"even", "odd"};
    static const geodec_drafter_ops ops = {.name = "hostile",
                                           .wants_state = true,
                                           .n_sources = 2,
                                           .source_name = sources,
                                           .begin = hostile_begin,
                                           .observe = hostile_observe,
                                           .propose = hostile_propose,
                                           .destroy = hostile_destroy,
                                           .root = hostile_root,
                                           .children = hostile_children,
                                           .adopt = hostile_adopt};
    *h = (hostile){.base = {.ops = &ops},
                   .kind = kind,
                   .seed = seed,
                   .toy = t,
                   .plain = plain,
                   .n_plain = n_plain,
                   .n_prompt = n_prompt,
                   .stop = stop};
    return &h->base;
}

void toy_runs_exactly(geodec_drafter *d)
{
    geodec_err err = {0};
    int64_t proposed = 0;
    for (int mode = 0; mode < 32; mode++) {
        static int32_t plain[4096];
        toy t;
        geodec_end end;
        geodec_decoded got;
        int32_t prompt[6], stop[] = {0};
        geodec_decode_options o = geodec_decode_options_default();
        const int64_t n = 1 + mode % 6;
        for (int i = 0; i < 6; i++) prompt[i] = (int32_t)(geodec_rng_at(8, (uint64_t)mode, (uint64_t)i) % TOY_VOCAB);
        o.gamma = 1 + mode % 16;
        o.budget = mode % 3 ? 10 * (mode % 3) : 0;
        o.adaptive = mode % 4 == 3;
        o.max_tokens = 150;
        o.stop = stop;
        o.n_stop = mode % 2;
        o.min_tokens = mode % 6 == 5 ? 40 : 0;
        o.sampling.temperature = mode % 5 == 4 ? 0.8 : 0;
        o.sampling.seed = (uint64_t)mode;
        const geodec_target target = toy_target(&t, mode % 2 ? TOY_HISTORY : TOY_MARKOV, (uint64_t)mode, 1000);
        const int64_t want = toy_plain(&t, prompt, n, &o, plain, &end);
        test_ok(geodec_decode(&target, prompt, n, d, &o, &got, &err), &err);
        cr_assert_eq(got.n, want);
        cr_assert_eq(got.end, end);
        cr_assert_eq(memcmp(got.token, plain, (size_t)want * sizeof *plain), 0, "mode %d", mode);
        proposed += got.counters.total.proposed;
        geodec_decode_free(&got);
    }
    cr_assert_gt(proposed, 500);
}
