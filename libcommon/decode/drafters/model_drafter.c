#include "drafters/model_drafter.h"

#include "base/mem.h"
#include "decode/tree.h"
#include "decode/verify_stochastic.h"

#include <math.h>
#include <string.h>

enum { NODES = GEODEC_DRAFT_MAX + 1 };
static const double FIRST = 0.7; /* assumed probability of the first child of a node */

typedef struct model_drafter {
    geodec_drafter base;
    geodec_drafter_ops ops; /* separate for each drafter: the name and the sampling differ */
    geodec_session *session;
    int32_t n_vocab; /* of the target: the length of rows and distributions */
    int32_t n_own;   /* of the draft model: tokens that it can read */
    int32_t n_ctx;
    float *own;      /* [n_own] logits of the draft model; NULL when its vocabulary is not the larger one */
    int32_t *cached; /* [n_ctx] tokens of the cache rows */
    int64_t n_seen;  /* rows observed */
    float *row;      /* [n_vocab] */
    /* Used by sampled drafts only. */
    geodec_sampler *sampler;
    geodec_sampling sampling; /* the sampler's */
    float *rows[NODES];       /* [n_vocab] logits below a node, guard applied */
    double *q;                /* [n_vocab] */
} model_drafter;

/* ---- the draft model -------------------------------------------------------------------------------------------- */

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    model_drafter *m = (model_drafter *)d;
    (void)err;
    geodec_session_truncate(m->session, 0);
    m->n_seen = 0;
    return GEODEC_OK;
}

/* Whether the draft model has all these tokens: a target may have more. */
static bool knows(const model_drafter *m, const int32_t *token, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (token[i] >= m->n_own) return false;
    return true;
}

/* Forwards the rows; logits of the tokens that both models have, the others are never drafted. */
static geodec_status forward(model_drafter *m, int64_t from, int64_t n, float *row, geodec_err *err)
{
    float *logits = m->own ? m->own : row;
    GEODEC_PASS(geodec_forward_prefill(m->session, m->cached + from, n, logits, err));
    if (m->own) memcpy(row, m->own, (size_t)m->n_vocab * sizeof *row);
    for (int32_t i = m->n_own; i < m->n_vocab; i++) row[i] = -INFINITY;
    return GEODEC_OK;
}

/* The rows of the prompt are forwarded when the target's are, later rows when they are needed. */
static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    model_drafter *m = (model_drafter *)d;
    const bool prompt = rows->argmax && rows->argmax[0] < 0;
    if (prompt && knows(m, rows->token, rows->n) && m->n_seen + rows->n <= m->n_ctx &&
        geodec_session_length(m->session) == m->n_seen) {
        memcpy(m->cached + m->n_seen, rows->token, (size_t)rows->n * sizeof *rows->token);
        GEODEC_PASS(geodec_forward_prefill(m->session, rows->token, rows->n, NULL, err));
    }
    m->n_seen += rows->n;
    return GEODEC_OK;
}

/* Logits after the context and the path to a node, guard applied; *fits false: no cache row is left, or the draft model
 * lacks a token. */
static geodec_status logits_below(model_drafter *m, int32_t node, float *row, bool *fits, geodec_err *err)
{
    const geodec_drafter *tree = &m->base;
    const geodec_draft_request *r = &tree->request;
    const int64_t n = r->n_context, total = n + tree->depth[node];
    int32_t path[GEODEC_DRAFT_MAX];
    *fits = total <= m->n_ctx;
    if (!*fits) return GEODEC_OK;
    for (int32_t at = node; at > 0; at = tree->parent[at]) path[tree->depth[at] - 1] = tree->token[at];
    int32_t keep = 0;
    const int32_t length = geodec_session_length(m->session);
    while (keep < length && keep < total - 1 && m->cached[keep] == (keep < n ? r->context[keep] : path[keep - n]))
        keep++;
    geodec_session_truncate(m->session, keep);
    for (int64_t i = keep; i < total; i++) m->cached[i] = i < n ? r->context[i] : path[i - n];
    *fits = knows(m, m->cached + keep, total - keep);
    if (!*fits) return GEODEC_OK;
    GEODEC_PASS(forward(m, keep, total - keep, row, err));
    geodec_guard_mask(r->guard, r->index + tree->depth[node], NULL, 0, row, m->n_vocab);
    return GEODEC_OK;
}

/* ---- the most probable tokens ----------------------------------------------------------------------------------- */

/* Up to `most` tokens of a row by falling logit, ties by id, with their softmax probabilities. */
static int32_t best_of(const float *row, int32_t n_vocab, int32_t most, geodec_draft *out)
{
    int32_t n = 0;
    double sum = 0;
    for (int32_t i = 0; i < n_vocab; i++) {
        if (!(row[i] > -INFINITY) || (n == most && !(row[i] > row[out[n - 1].token]))) continue;
        int32_t at = n < most ? n++ : most - 1;
        for (; at > 0 && row[i] > row[out[at - 1].token]; at--) out[at] = out[at - 1];
        out[at] = (geodec_draft){.token = i};
    }
    for (int32_t i = 0; n > 0 && i < n_vocab; i++) sum += exp((double)row[i] - (double)row[out[0].token]);
    for (int32_t k = 0; k < n; k++) {
        const double p = exp((double)row[out[k].token] - (double)row[out[0].token]) / sum;
        out[k].confidence = p >= 0 && p <= 1 ? p : 0; /* the logits of a broken model may be NaN or infinite */
    }
    return n;
}

static geodec_status children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                              geodec_err *err)
{
    model_drafter *m = (model_drafter *)d;
    bool fits;
    *n = 0;
    GEODEC_PASS(logits_below(m, node, m->row, &fits, err));
    if (fits) *n = best_of(m->row, m->n_vocab, most, out);
    return GEODEC_OK;
}

static geodec_status adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    (void)parent;
    if (token < 0 || token >= ((const model_drafter *)d)->n_vocab)
        GEODEC_FAIL(GEODEC_RANGE, "token %d of a tree", token);
    return GEODEC_OK;
}

/* ---- sampled tokens --------------------------------------------------------------------------------------------- */

static geodec_status prepare_sampling(model_drafter *m, const geodec_sampling *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!m->q) GEODEC_NEW(m->q, m->n_vocab);
    if (!m->sampler || memcmp(&m->sampling.temperature, &s->temperature, sizeof s->temperature) != 0 ||
        m->sampling.top_k != s->top_k || memcmp(&m->sampling.top_p, &s->top_p, sizeof s->top_p) != 0) {
        geodec_sampler_destroy(m->sampler);
        m->sampler = NULL;
        GEODEC_TRY(geodec_sampler_create(s, m->n_vocab, &m->sampler, err));
        m->sampling = *s;
    }
done:
    return st;
}

static geodec_status distribution(geodec_drafter *d, int32_t node, double *q, geodec_err *err)
{
    const model_drafter *m = (const model_drafter *)d;
    if (node < 0 || node >= d->nodes || !m->rows[node])
        GEODEC_FAIL(GEODEC_INTERNAL, "no token was sampled below node %d", node);
    GEODEC_PASS(geodec_sampler_distribution(m->sampler, m->rows[node], q, err));
    return GEODEC_OK;
}

/* Samples the child of rank `rank` of a node; *token is -1 when no other token is left. */
static geodec_status sample_child(model_drafter *m, int32_t node, int32_t rank, int32_t *token, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_drafter *d = &m->base;
    bool left = true;
    *token = -1;
    if (rank == 0) {
        if (!m->rows[node]) GEODEC_NEW(m->rows[node], m->n_vocab);
        GEODEC_TRY(logits_below(m, node, m->rows[node], &left, err));
        if (!left) goto done;
    }
    GEODEC_TRY(distribution(&m->base, node, m->q, err));
    for (int32_t i = 1; i < d->nodes; i++)
        if (d->parent[i] == node) left = geodec_verify_remove(m->q, m->n_vocab, d->token[i]);
    if (left)
        *token = geodec_verify_sample(
            m->q, m->n_vocab, geodec_verify_draft_uniform(d->request.sampling->seed, d->request.index, d->nodes - 1));
done:
    return st;
}

static geodec_status sample_tree(model_drafter *m, geodec_draft *out, int32_t *n, geodec_err *err)
{
    geodec_drafter *d = &m->base;
    const geodec_draft_request *r = &d->request;
    const bool tree = r->budget > 0;
    const int32_t most = tree ? r->budget : r->gamma;
    int32_t rank[NODES] = {0};
    double probability[NODES] = {1}, next[NODES] = {FIRST}; /* probability of a node's path; of its next child, given
                                                               the node */
    GEODEC_PASS(prepare_sampling(m, r->sampling, err));
    while (d->nodes <= most) {
        int32_t best = tree ? -1 : d->nodes - 1, token;
        for (int32_t v = 0; tree && v < d->nodes; v++)
            if (d->depth[v] < r->gamma && next[v] > 0 &&
                (best < 0 || probability[v] * next[v] > probability[best] * next[best]))
                best = v;
        if (best < 0) break;
        GEODEC_PASS(sample_child(m, best, rank[best], &token, err));
        if (token < 0) { /* every token has been sampled, or the cache is full */
            if (!tree) break;
            next[best] = 0;
            continue;
        }
        const double given = next[best];
        const int32_t node = d->nodes;
        GEODEC_PASS(geodec_drafter_adopt(d, best, token, err));
        out[node - 1] = (geodec_draft){.token = token, .parent = best - 1, .confidence = given};
        rank[best]++;
        next[best] = given * (1 - FIRST);
        probability[node] = probability[best] * given;
        next[node] = FIRST;
    }
    *n = d->nodes - 1;
    return GEODEC_OK;
}

static geodec_status propose(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out, int32_t *n,
                             geodec_err *err)
{
    model_drafter *m = (model_drafter *)d;
    if (!request->sampling || !m->ops.distribution) return geodec_tree_chain(d, request, out, n, err);
    GEODEC_PASS(geodec_drafter_root(d, request, err));
    GEODEC_PASS(sample_tree(m, out, n, err));
    return GEODEC_OK;
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

static void destroy(geodec_drafter *d)
{
    model_drafter *m = (model_drafter *)d;
    geodec_session_destroy(m->session);
    geodec_sampler_destroy(m->sampler);
    for (int32_t i = 0; i < NODES; i++) geodec_mem_free(m->rows[i]);
    GEODEC_FREE(m->own, m->cached, m->row, m->q, m);
}

geodec_status geodec_model_drafter_check(const geodec_model *m, const geodec_model *target, geodec_err *err)
{
    const geodec_tokenizer *ours = geodec_model_tokenizer(m), *theirs = geodec_model_tokenizer(target);
    const int32_t own = geodec_tokenizer_size(ours), all = geodec_tokenizer_size(theirs), n = own < all ? own : all;
    int32_t differ = 0, first = -1;
    for (int32_t i = 0; i < n; i++) {
        size_t a, b;
        const char *x = geodec_tokenizer_piece(ours, i, &a), *y = geodec_tokenizer_piece(theirs, i, &b);
        if (a == b && memcmp(x, y, a) == 0) continue;
        if (differ++ == 0) first = i;
    }
    if (differ > 0)
        GEODEC_FAIL(GEODEC_CHECKSUM,
                    "the tokenizer of the draft model %s differs from that of %s: %d of %d common tokens (%.3g %%) are "
                    "other pieces, the first is token %d",
                    geodec_model_name(m), geodec_model_name(target), differ, n, 100.0 * differ / n, first);
    return GEODEC_OK;
}

geodec_status geodec_model_drafter_create(const geodec_model *m, const geodec_model *target,
                                          const geodec_model_drafter_options *o, geodec_drafter **out, geodec_err *err)
{
    static const char *const sources[] = {"model"};
    geodec_status st = GEODEC_OK;
    model_drafter *d = NULL;
    GEODEC_TRY(geodec_model_drafter_check(m, target, err));
    GEODEC_NEW(d, 1);
    d->base.ops = &d->ops;
    d->ops = (geodec_drafter_ops){.name = o->name,
                                  .n_sources = 1,
                                  .source_name = sources,
                                  .begin = begin,
                                  .observe = observe,
                                  .propose = propose,
                                  .destroy = destroy,
                                  .children = children,
                                  .adopt = adopt,
                                  .distribution = o->stochastic ? distribution : NULL};
    d->n_vocab = geodec_model_configuration(target)->n_vocab;
    d->n_own = geodec_model_configuration(m)->n_vocab;
    if (d->n_own > d->n_vocab) GEODEC_NEW(d->own, d->n_own);
    GEODEC_TRY(geodec_session_create(m, &o->session, &d->session, err));
    d->n_ctx = geodec_session_n_ctx(d->session);
    GEODEC_NEW(d->cached, d->n_ctx);
    GEODEC_NEW(d->row, d->n_vocab);
    *out = &d->base;
    d = NULL;
done:
    if (d) destroy(&d->base);
    return st;
}
