#include "evaluate/scorer.h"

#include "base/mem.h"
#include "integer/scores/scores.h"
#include "io/file.h"
#include "model/arithmetic.h"
#include "reference/reference.h"

#include <string.h>

const char *geodec_scorer_evaluation_arithmetic(const geodec_scorer_evaluation *e)
{
    return e->float64 ? "float64" : geodec_arithmetic_name(e->arithmetic);
}

const char *geodec_scorer_evaluation_kv(const geodec_scorer_evaluation *e)
{
    return e->float64 ? "f64" : geodec_cache_kv_name(e->kv);
}

geodec_status geodec_scorer_tokens(const geodec_tokenizer *t, const char *text, size_t n, int32_t **token,
                                   int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    const int64_t bad = geodec_file_utf8_check(text, n);
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "not UTF-8 text: invalid byte at offset %lld", (long long)bad);
    GEODEC_NEW(ids, (int64_t)n + 2);
    GEODEC_TRY(geodec_tokenizer_encode(t, text, n, false, ids, count, err));
    GEODEC_MOVE(*token, ids);
done:
    geodec_mem_free(ids);
    return st;
}

int64_t geodec_scorer_argmax(const double *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t v = 1; v < n; v++)
        if (logits[v] > logits[best]) best = v;
    return best;
}

struct geodec_scorer {
    int64_t n_vocab;
    const int32_t *token; /* tokens of the window, and how many were read */
    int32_t n, read;
    /* a session */
    geodec_session *session;
    float *logits; /* [GEODEC_SCORER_ROWS][n_vocab] */
    /* or float64: the whole window goes through the blocks at once, and single rows through the head on demand */
    geodec_reference *reference;
    double *embedding, *state; /* [window][d_model] */
    double *wanted;            /* [GEODEC_SCORER_ROWS][n_vocab] logits of the selected rows of a step */
    int32_t place[GEODEC_SCORER_ROWS];
};

static geodec_status create_session(geodec_scorer *s, const geodec_scorer_evaluation *e, int32_t window,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_session_options o = {.n_ctx = window,
                                      .max_batch = window < GEODEC_SCORER_ROWS ? window : GEODEC_SCORER_ROWS,
                                      .isa = e->isa,
                                      .pool = e->pool,
                                      .arithmetic = e->arithmetic,
                                      .kv = e->kv,
                                      .scores = e->scores,
                                      .attnres = e->attnres,
                                      .kv_merge = e->kv_merge};
    GEODEC_TRY(geodec_session_create(e->model, &o, &s->session, err));
    if (e->rewrite) GEODEC_TRY(geodec_session_rewrite(s->session, e->rewrite, err));
    GEODEC_NEW(s->logits, o.max_batch * s->n_vocab);
done:
    return st;
}

static geodec_status create_reference(geodec_scorer *s, const geodec_scorer_evaluation *e, int32_t window,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_reference_options o = {.n_ctx = window};
    const int64_t d = geodec_model_configuration(e->model)->d_model;
    if (geodec_attnres_on(&e->attnres)) GEODEC_THROW(GEODEC_UNSUPPORTED, "float64 evaluation does not support attnres");
    if (e->rewrite) GEODEC_THROW(GEODEC_UNSUPPORTED, "float64 evaluation has no cache to rewrite");
    if (e->scores != GEODEC_SCORES_DIRECT)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "scores by %s need integer arithmetic, not float64",
                     geodec_scores_name(e->scores));
    GEODEC_TRY(geodec_reference_create(e->model, &o, &s->reference, err));
    GEODEC_NEW_EACH(window * d, s->embedding, s->state);
    GEODEC_NEW(s->wanted, GEODEC_SCORER_ROWS * s->n_vocab);
done:
    return st;
}

geodec_status geodec_scorer_create(const geodec_scorer_evaluation *e, int32_t window, geodec_scorer **out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_scorer *s = NULL;
    GEODEC_NEW(s, 1);
    s->n_vocab = geodec_model_configuration(e->model)->n_vocab;
    GEODEC_TRY(e->float64 ? create_reference(s, e, window, err) : create_session(s, e, window, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_scorer_destroy(s);
    return st;
}

void geodec_scorer_destroy(geodec_scorer *s)
{
    if (!s) return;
    geodec_session_destroy(s->session);
    geodec_mem_free(s->logits);
    geodec_reference_destroy(s->reference);
    GEODEC_FREE(s->embedding, s->state, s->wanted, s);
}

geodec_status geodec_scorer_begin(geodec_scorer *s, const int32_t *token, int32_t n, geodec_err *err)
{
    s->token = token;
    s->n = n;
    s->read = 0;
    if (s->reference) {
        const int32_t head = geodec_model_configuration(geodec_reference_model(s->reference))->n_layer;
        GEODEC_PASS(geodec_reference_embed(s->reference, token, n, s->embedding, err));
        GEODEC_PASS(geodec_reference_run(s->reference, 0, head, n, s->embedding, NULL, s->state, err));
    } else {
        geodec_session_truncate(s->session, 0);
    }
    return GEODEC_OK;
}

geodec_status geodec_scorer_step(geodec_scorer *s, int32_t n, const bool *want, geodec_err *err)
{
    if (s->reference) {
        const int32_t head = geodec_model_configuration(geodec_reference_model(s->reference))->n_layer;
        int32_t row[GEODEC_SCORER_ROWS];
        geodec_reference_rows rows = {0, row};
        for (int32_t i = 0; i < n; i++)
            if (want[i]) {
                s->place[i] = (int32_t)rows.n;
                row[rows.n++] = s->read + i;
            }
        if (rows.n > 0)
            GEODEC_PASS(geodec_reference_run(s->reference, head, head + 1, s->n, s->state, &rows, s->wanted, err));
    } else {
        const geodec_batch b = {.n = n, .token = s->token + s->read, .want = want};
        GEODEC_PASS(geodec_forward(s->session, &b, s->logits, NULL, err));
    }
    s->read += n;
    return GEODEC_OK;
}

void geodec_scorer_row(const geodec_scorer *s, int32_t i, double *out)
{
    if (s->reference) {
        memcpy(out, s->wanted + s->place[i] * s->n_vocab, (size_t)s->n_vocab * sizeof *out);
        return;
    }
    const float *row = s->logits + i * s->n_vocab;
    for (int64_t v = 0; v < s->n_vocab; v++) out[v] = (double)row[v];
}

geodec_kv_merges geodec_scorer_merges(const geodec_scorer *s)
{
    return s->session ? geodec_session_kv_merges(s->session) : (geodec_kv_merges){0, 0};
}
