#include "evaluate/scorer.h"

#include "base/mem.h"

const char *geodec_evaluation_arithmetic(const geodec_evaluation *e)
{
    return e->float64 ? "float64" : e->arithmetic == GEODEC_FAST ? "fast" : "exact";
}

const char *geodec_evaluation_kv(const geodec_evaluation *e)
{
    static const char *const name[] = {"f32", "f16", "q8_0"};
    return e->float64 ? "f64" : name[e->kv];
}

struct geodec_scorer {
    geodec_session *session;
    float *logits; /* [GEODEC_SCORER_ROWS][n_vocab] */
    int64_t n_vocab;
};

geodec_status geodec_scorer_create(const geodec_evaluation *e, int32_t window, geodec_scorer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_scorer *s = NULL;
    const geodec_session_options o = {.n_ctx = window,
                                      .max_batch = window < GEODEC_SCORER_ROWS ? window : GEODEC_SCORER_ROWS,
                                      .isa = e->isa,
                                      .arithmetic = e->arithmetic,
                                      .kv = e->kv};
    if (e->float64) GEODEC_THROW(GEODEC_UNSUPPORTED, "float64 evaluation is not there yet");
    GEODEC_NEW(s, 1);
    s->n_vocab = geodec_model_configuration(e->model)->n_vocab;
    GEODEC_TRY(geodec_session_create(e->model, &o, &s->session, err));
    GEODEC_NEW(s->logits, o.max_batch * s->n_vocab);
    *out = s;
    s = NULL;
done:
    geodec_scorer_destroy(s);
    return st;
}

void geodec_scorer_destroy(geodec_scorer *s)
{
    if (!s) return;
    geodec_session_destroy(s->session);
    geodec_mem_free(s->logits);
    geodec_mem_free(s);
}

void geodec_scorer_begin(geodec_scorer *s) { geodec_session_truncate(s->session, 0); }

geodec_status geodec_scorer_step(geodec_scorer *s, const int32_t *token, int32_t n, const bool *want, geodec_err *err)
{
    const geodec_batch b = {.n = n, .token = token, .want = want};
    return geodec_forward(s->session, &b, s->logits, NULL, err);
}

void geodec_scorer_row(const geodec_scorer *s, int32_t i, double *out)
{
    const float *row = s->logits + i * s->n_vocab;
    for (int64_t v = 0; v < s->n_vocab; v++) out[v] = (double)row[v];
}
