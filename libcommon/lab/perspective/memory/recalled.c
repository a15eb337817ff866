#include "lab/perspective/memory/recalled.h"

#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/memory/hdm.h"
#include "mixture/mix.h"

#include <math.h>
#include <string.h>

enum { LEAST = 100, PASS = 32, WEIGHTS = 9 };
static const double SURE = 0.95; /* of a token that is recalled */
static const double WEIGHT[WEIGHTS] = {0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5};

/* ---- the memory -------------------------------------------------------------------------------------------------- */

struct geodec_recalled_memory {
    geodec_hdm *hdm;
    geodec_hv_encoder *encoder;
    int32_t n_vocab;
    int64_t n, width;
    float *state;  /* [n][width] */
    int32_t *next; /* [n] */
    uint64_t seed;
};

void geodec_recalled_destroy(geodec_recalled_memory *m)
{
    if (!m) return;
    geodec_hdm_destroy(m->hdm);
    geodec_hv_encoder_destroy(m->encoder);
    GEODEC_FREE(m->state, m->next);
    geodec_mem_free(m);
}

int64_t geodec_recalled_pairs(const geodec_recalled_memory *m) { return geodec_hdm_entries(m->hdm); }
int64_t geodec_recalled_bytes(const geodec_recalled_memory *m) { return geodec_hdm_bytes(m->hdm); }
int64_t geodec_recalled_table_bytes(const geodec_recalled_memory *m)
{
    return m->n * (m->width * (int64_t)sizeof *m->state + (int64_t)sizeof *m->next);
}

/* What a pass gives of tokens [n] of a text. */
typedef struct pass {
    int64_t n;
    float *state;  /* [n][width] after all blocks */
    float *logits; /* [n][n_vocab], or NULL */
} pass;

/* Reads id [n] in windows of `window` tokens, and calls `take` after each pass; `at`: the first of its tokens. */
typedef geodec_status (*take_pass)(void *ctx, int64_t at, const pass *p, geodec_err *err);
static geodec_status read_text(geodec_session *s, const int32_t *id, int64_t n, int32_t window, bool logits,
                               take_pass take, void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(s));
    const int32_t last = c->n_layer;
    pass p = {0};
    GEODEC_NEW(p.state, (int64_t)PASS * c->d_model);
    if (logits) GEODEC_NEW(p.logits, (int64_t)PASS * c->n_vocab);
    geodec_session_truncate(s, 0);
    for (int64_t at = 0; at < n; at += p.n) {
        if (geodec_session_length(s) == window) geodec_session_truncate(s, 0);
        const int64_t room = window - geodec_session_length(s), left = n - at < PASS ? n - at : PASS;
        p.n = left < room ? left : room;
        const geodec_batch b = {.n = (int32_t)p.n, .token = id + at};
        const geodec_capture capture = {1, &last, p.state};
        GEODEC_TRY(geodec_forward(s, &b, p.logits, &capture, err));
        GEODEC_TRY(take(ctx, at, &p, err));
    }
    geodec_session_truncate(s, 0);
done:
    GEODEC_FREE(p.state, p.logits);
    return st;
}

static geodec_status keep(void *ctx, int64_t at, const pass *p, geodec_err *err)
{
    geodec_recalled_memory *m = ctx;
    (void)err;
    memcpy(m->state + at * m->width, p->state, (size_t)(p->n * m->width) * sizeof *m->state);
    return GEODEC_OK;
}

geodec_status geodec_recalled_make(geodec_session *s, const int32_t *id, int64_t n, int64_t most, uint64_t seed,
                                   geodec_recalled_memory **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(s));
    const int64_t d = c->d_model, pairs = n - 1 < most ? n - 1 : most;
    geodec_recalled_memory *m = NULL;
    float *mean = NULL;
    if (pairs < 1 || pairs > GEODEC_HDM_ENTRIES_MAX) GEODEC_THROW(GEODEC_LIMIT, "%lld pairs", (long long)pairs);
    GEODEC_NEW(m, 1);
    *m = (geodec_recalled_memory){.n_vocab = c->n_vocab, .n = pairs, .width = d, .seed = seed};
    GEODEC_NEW(m->state, pairs * d);
    GEODEC_NEW_COPY(m->next, id + 1, pairs);
    GEODEC_NEW(mean, d);
    GEODEC_TRY(read_text(s, id, pairs, geodec_session_n_ctx(s), false, keep, m, err));
    for (int64_t k = 0; k < d; k++) {
        double sum = 0;
        for (int64_t i = 0; i < pairs; i++) sum += (double)m->state[i * d + k];
        mean[k] = (float)(sum / (double)pairs);
    }
    const geodec_hdm_options o = {.seed = seed, .bank_bits = GEODEC_HDM_BANK_BITS, .width = d, .mean = mean};
    GEODEC_TRY(geodec_hdm_create(&o, &m->hdm, err));
    GEODEC_TRY(geodec_hv_encoder_create(o.project, seed, d, mean, &m->encoder, err));
    for (int64_t i = 0; i < pairs; i++) {
        geodec_hv key;
        GEODEC_TRY(geodec_hv_encode(m->encoder, 1, m->state + i * d, &key, NULL, err));
        GEODEC_TRY(geodec_hdm_add(m->hdm, &key, &m->next[i], sizeof *m->next, NULL, err));
    }
    *out = m;
    m = NULL;
done:
    geodec_recalled_destroy(m);
    geodec_mem_free(mean);
    return st;
}

/* The token of the best entry for a state, or -1. */
static int32_t find(const geodec_recalled_memory *m, const float *state, geodec_hdm_hit *hit)
{
    geodec_hv key;
    int64_t bytes = 0;
    int32_t token;
    *hit = (geodec_hdm_hit){.entry = -1, .z = NAN};
    if (geodec_hv_encode(m->encoder, 1, state, &key, NULL, NULL) != GEODEC_OK) return -1;
    *hit = geodec_hdm_find(m->hdm, &key, GEODEC_HDM_RADIUS, GEODEC_ISA_AUTO);
    if (hit->entry < 0) return -1;
    memcpy(&token, geodec_hdm_text(m->hdm, hit->entry, &bytes), sizeof token);
    return token;
}

/* p of a token, if `recalled` is recalled. */
static double probability(const geodec_recalled_memory *m, int32_t recalled, int32_t token)
{
    return (1 - SURE) / m->n_vocab + (recalled == token ? SURE : 0);
}

void geodec_recalled_ask(void *memory, const float *state, double *logp, double *z)
{
    const geodec_recalled_memory *m = memory;
    geodec_hdm_hit hit;
    const int32_t token = find(m, state, &hit);
    *z = token < 0 ? NAN : hit.z;
    for (int32_t i = 0; i < m->n_vocab; i++) logp[i] = token < 0 ? -log(m->n_vocab) : log(probability(m, token, i));
}

/* ---- a text ------------------------------------------------------------------------------------------------------ */

enum { MEMORY, NEAREST, RANDOM, WAYS };
/* What is kept of each token that follows another one in its window. */
typedef struct record {
    double p;              /* of the text's token, by the model */
    double recalled[WAYS]; /* the same by each way */
    int32_t bytes;
    bool accepted, model_right, right[WAYS];
} record;

typedef struct reading {
    const geodec_recalled_memory *m;
    const int32_t *id, *bytes_of;
    int64_t n, count;
    int32_t window;
    record *r;
    double *logp;
    geodec_pool *pool;
    const geodec_hooks *hooks;
    const pass *now;
    int64_t at;
    int32_t token[PASS][WAYS];
    bool accepted[PASS];
} reading;

static int64_t nearest(const geodec_recalled_memory *m, const float *x)
{
    int64_t best = 0;
    double least = INFINITY;
    for (int64_t i = 0; i < m->n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < m->width; k++) {
            const double off = (double)x[k] - (double)m->state[i * m->width + k];
            sum += off * off;
        }
        if (sum < least) least = sum, best = i;
    }
    return best;
}

static void recall_one(void *ctx, int64_t i, int worker)
{
    reading *r = ctx;
    const geodec_recalled_memory *m = r->m;
    const float *x = r->now->state + i * m->width;
    geodec_rng rng = geodec_rng_stream(m->seed, geodec_rng_id("recalled random", (uint64_t)(r->at + i)));
    geodec_hdm_hit hit;
    (void)worker;
    r->token[i][MEMORY] = find(m, x, &hit);
    r->accepted[i] = r->token[i][MEMORY] >= 0 && hit.accepted;
    r->token[i][NEAREST] = m->next[nearest(m, x)];
    r->token[i][RANDOM] = m->next[geodec_rng_below(&rng, (uint64_t)m->n)];
}

static geodec_status score(void *ctx, int64_t at, const pass *p, geodec_err *err)
{
    reading *r = ctx;
    r->now = p;
    r->at = at;
    geodec_pool_run_dynamic(r->pool, p->n, recall_one, r);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t next = at + i + 1;
        if (next >= r->n || next % r->window == 0) continue; /* that token begins a window */
        record *k = &r->r[r->count++];
        const int32_t target = r->id[next];
        GEODEC_PASS(geodec_mix_log_softmax(r->m->n_vocab, p->logits + i * r->m->n_vocab, 1, r->logp, err));
        k->p = exp(r->logp[target]);
        k->model_right = geodec_mix_top(r->m->n_vocab, r->logp, NULL) == target;
        k->bytes = r->bytes_of[next];
        k->accepted = r->accepted[i];
        for (int w = 0; w < WAYS; w++) {
            k->right[w] = r->token[i][w] == target;
            k->recalled[w] = probability(r->m, r->token[i][w], target);
        }
    }
    return geodec_hooks_progress(r->hooks, "recalling", at, r->n, err);
}

/* Nats of records from .. to - 1, mixed with weight w of a way where the memory accepts. */
static double loss(const record *r, int64_t from, int64_t to, int way, double w)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++) sum -= log(r[i].accepted ? (1 - w) * r[i].p + w * r[i].recalled[way] : r[i].p);
    return sum;
}

static geodec_recalled_way judge(const record *r, int64_t half, int64_t n, int way, double bits)
{
    geodec_recalled_way k = {0};
    double least = INFINITY;
    for (int64_t i = 0; i < n; i++) k.right += r[i].accepted && r[i].right[way];
    for (int j = 0; j < WEIGHTS; j++) {
        const double now = loss(r, 0, half, way, WEIGHT[j]);
        if (now < least) least = now, k.weight = WEIGHT[j];
    }
    k.bits = loss(r, half, n, way, k.weight) / bits;
    return k;
}

geodec_status geodec_recalled_measure_text(geodec_session *s, const geodec_recalled_memory *m, const int32_t *id,
                                           const int32_t *bytes_of, int64_t n, int32_t window, geodec_pool *pool,
                                           const geodec_hooks *hooks, geodec_recalled_measure *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t most = geodec_session_n_ctx(s);
    reading r = {.m = m, .id = id, .bytes_of = bytes_of, .n = n, .pool = pool, .hooks = hooks};
    geodec_recalled_measure k = {0};
    r.window = window < most ? window : most;
    if (n < LEAST) GEODEC_THROW(GEODEC_SCARCE, "%lld tokens are too few", (long long)n);
    if (r.window < 2) GEODEC_THROW(GEODEC_RANGE, "a window of %d tokens", r.window);
    GEODEC_NEW(r.r, n);
    GEODEC_NEW(r.logp, m->n_vocab);
    GEODEC_TRY(read_text(s, id, n, r.window, true, score, &r, err));
    const int64_t half = r.count / 2;
    k.tokens = r.count;
    k.half_tokens = r.count - half;
    for (int64_t i = 0; i < r.count; i++) {
        k.bytes += r.r[i].bytes;
        k.half_bytes += i >= half ? r.r[i].bytes : 0;
        k.accepted += r.r[i].accepted;
        k.model_right += r.r[i].accepted && r.r[i].model_right;
    }
    if (k.half_bytes < 1) GEODEC_THROW(GEODEC_SCARCE, "the tokens have no text");
    const double bits = log(2) * (double)k.half_bytes;
    k.model_bits = loss(r.r, half, r.count, MEMORY, 0) / bits;
    k.memory = judge(r.r, half, r.count, MEMORY, bits);
    k.nearest = judge(r.r, half, r.count, NEAREST, bits);
    k.random = judge(r.r, half, r.count, RANDOM, bits);
    *out = k;
done:
    GEODEC_FREE(r.r, r.logp);
    return st;
}
