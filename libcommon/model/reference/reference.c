/* Whole sequences through blocks and head. */
#include "base/mem.h"
#include "linalg/stats.h"
#include "reference/reference_internal.h"

#include <math.h>
#include <string.h>

enum { MAX_ROWS = 1 << 20, LOGIT_ROWS = 64 /* rows of logits that nll holds at a time */ };

geodec_status geodec_reference_create(const geodec_model *m, const geodec_reference_options *o, geodec_reference **out,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_reference *r = NULL;
    if (m->low) GEODEC_THROW(GEODEC_UNSUPPORTED, "the float64 evaluation does not support a cache of low rank");
    if (m->config.recur_period > 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "the float64 evaluation does not support architecture '%s'", m->config.arch);
    if (m->factors) GEODEC_THROW(GEODEC_UNSUPPORTED, "the float64 evaluation does not read factored weights");
    if (m->config.embed_added && m->positions.data)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "the float64 evaluation does not add embeddings apart from their positions");
    for (int32_t i = 0; m->layer && i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        if (l->latent.kv_a.data) continue;
        if (l->v_dim != l->head_dim)
            GEODEC_THROW(GEODEC_UNSUPPORTED, "the float64 evaluation does not support values of another width");
    }
    GEODEC_TRY(geodec__model_resident(m, err));
    GEODEC_NEW(r, 1);
    r->model = m;
    r->pool = o ? o->pool : NULL;
    const int32_t n_ctx = o && o->n_ctx > 0 ? o->n_ctx : m->config.n_ctx;
    const bool lengthened = m->config.rope_n_ctx_original > 0 && n_ctx > m->config.rope_n_ctx_original;
    r->divisor = m->rope_divisor[lengthened ? 1 : 0];
    *out = r;
done:
    return st;
}

geodec_status geodec_reference_of_text(const geodec_reference *r, const int32_t *token, int64_t n,
                                       geodec_reference **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_reference *own = NULL;
    GEODEC_NEW(own, 1);
    *own = *r;
    own->token = token;
    own->n_token = n;
    *out = own;
done:
    return st;
}

void geodec_reference_destroy(geodec_reference *r) { geodec_mem_free(r); }

const geodec_model *geodec_reference_model(const geodec_reference *r) { return r->model; }

int64_t geodec_reference_width(const geodec_reference *r, int32_t boundary)
{
    return boundary > r->model->config.n_layer ? r->model->config.n_vocab : r->model->config.d_model;
}

static geodec_status check_rows(int64_t n, geodec_err *err)
{
    if (n < 1) GEODEC_FAIL(GEODEC_RANGE, "a sequence of %lld tokens", (long long)n);
    if (n > MAX_ROWS) GEODEC_FAIL(GEODEC_LIMIT, "a sequence of %lld tokens; at most %d", (long long)n, (int)MAX_ROWS);
    return GEODEC_OK;
}

geodec_status geodec_reference_embed(const geodec_reference *r, const int32_t *token, int64_t n, double *x,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    const double scale = c->embed_scale != 0 ? (double)c->embed_scale : 1;
    const geodec__matrix *positions = &r->model->positions;
    float *buffer = NULL;
    double *place = NULL;
    GEODEC_TRY(check_rows(n, err));
    if (positions->data && n > positions->rows)
        GEODEC_THROW(GEODEC_LIMIT, "a sequence of %lld tokens; the model has %lld positions", (long long)n,
                     (long long)positions->rows);
    GEODEC_NEW_EACH(c->d_model, buffer, place);
    for (int64_t t = 0; t < n; t++) {
        double *row = x + t * c->d_model;
        if (token[t] < 0 || token[t] >= c->n_vocab)
            GEODEC_THROW(GEODEC_RANGE, "token %lld is %d; the vocabulary has %d", (long long)t, token[t], c->n_vocab);
        geodec__reference_decode_row(&r->model->embedding, token[t], buffer, row);
        for (int64_t i = 0; i < c->d_model; i++) row[i] *= scale;
        geodec__reference_enter(1, c->d_model, &r->model->embed_norm, row, row);
        if (!positions->data) continue;
        geodec__reference_decode_row(positions, t, buffer, place);
        geodec__reference_add(c->d_model, place, row);
    }
done:
    GEODEC_FREE(buffer, place);
    return st;
}

/* Tokens to the input of the final norm: x [K][n][d_model], of which the first stream is the result. */
static geodec_status run_tokens(const geodec_reference *r, const int32_t *token, int64_t n,
                                const geodec_reference_trace *trace, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    const int64_t size = n * c->d_model, used = c->n_expert_used;
    geodec__ref_tape tape = {0};
    geodec__ref_beside beside = {0};
    double *entry = NULL;
    GEODEC_TRY(geodec_reference_embed(r, token, n, x, err));
    GEODEC_TRY(geodec__reference_spread(r, n, x, err));
    GEODEC_TRY(geodec__reference_tape_create(r, n, 0, &tape, err));
    GEODEC_NEW(entry, size);
    memcpy(entry, x, (size_t)size * sizeof *x);
    GEODEC_TRY(geodec__reference_beside_at(&tape, 0, c->n_layer, token, entry, &beside, err));
    if (trace && trace->state) memcpy(trace->state, x, (size_t)size * sizeof *x);
    for (int32_t l = 0; l < c->n_layer; l++) {
        GEODEC_TRY(geodec__reference_block(&tape, l, x, err));
        if (trace && trace->state) memcpy(trace->state + (l + 1) * size, x, (size_t)size * sizeof *x);
        const bool routed = r->model->layer[l].router.data;
        for (int64_t i = 0; trace && !routed && i < n * used; i++) {
            const int64_t at = (i / used * c->n_layer + l) * used + i % used;
            if (trace->expert_id) trace->expert_id[at] = -1;
            if (trace->expert_weight) trace->expert_weight[at] = 0;
        }
        for (int64_t t = 0; trace && routed && t < n; t++) {
            const int64_t at = (t * c->n_layer + l) * used;
            if (trace->expert_id)
                memcpy(trace->expert_id + at, tape.experts.id + t * used, (size_t)used * sizeof(int32_t));
            if (trace->expert_weight)
                memcpy(trace->expert_weight + at, tape.experts.weight + t * used, (size_t)used * sizeof(double));
        }
    }
done:
    geodec__reference_tape_destroy(&tape);
    geodec__reference_beside_destroy(&beside);
    geodec_mem_free(entry);
    return st;
}

geodec_status geodec_reference_forward(const geodec_reference *r, const int32_t *token, int64_t n,
                                       const geodec_reference_trace *trace, double *logits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    GEODEC_TRY(check_rows(n, err));
    GEODEC_NEW(x, geodec__reference_streams(r) * n * r->model->config.d_model);
    GEODEC_TRY(run_tokens(r, token, n, trace, x, err));
    if (logits) GEODEC_TRY(geodec__reference_head(r, n, x, logits, err));
done:
    geodec_mem_free(x);
    return st;
}

static double log_sum_exp(int64_t n, const double *x)
{
    double most = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - most);
    return most + log(sum);
}

geodec_status geodec_reference_nll(const geodec_reference *r, const int32_t *token, int64_t n, double *nll,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    double *x = NULL, *logits = NULL;
    GEODEC_TRY(check_rows(n, err));
    if (n < 2) GEODEC_THROW(GEODEC_RANGE, "one token has no likelihood");
    GEODEC_NEW(x, geodec__reference_streams(r) * n * c->d_model);
    GEODEC_NEW(logits, (int64_t)LOGIT_ROWS * c->n_vocab);
    GEODEC_TRY(run_tokens(r, token, n, NULL, x, err));
    for (int64_t t = 0; t < n - 1; t += LOGIT_ROWS) {
        const int64_t rows = n - 1 - t < LOGIT_ROWS ? n - 1 - t : LOGIT_ROWS;
        GEODEC_TRY(geodec__reference_head(r, rows, x + t * c->d_model, logits, err));
        for (int64_t i = 0; i < rows; i++) {
            const double *row = logits + i * c->n_vocab;
            nll[t + i] = log_sum_exp(c->n_vocab, row) - row[token[t + i + 1]];
        }
    }
done:
    GEODEC_FREE(x, logits);
    return st;
}

geodec_status geodec_reference_choose(const geodec_reference *r, int64_t n, const double *x, int32_t *token,
                                      geodec_err *err)
{
    enum { AT_ONCE = 256 };
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    double *logits = NULL;
    GEODEC_NEW(logits, AT_ONCE * (int64_t)c->n_vocab);
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        const int64_t m = n - i < AT_ONCE ? n - i : AT_ONCE;
        GEODEC_TRY(geodec_reference_run(r, c->n_layer, c->n_layer + 1, m, x + i * c->d_model, NULL, logits, err));
        for (int64_t j = 0; j < m; j++)
            token[i + j] = (int32_t)geodec_stats_argmax(c->n_vocab, logits + j * c->n_vocab);
    }
done:
    geodec_mem_free(logits);
    return st;
}
