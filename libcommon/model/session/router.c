#include "session/router.h"

#include "base/mem.h"
#include "session/model_internal.h"

#include <math.h>
#include <string.h>

struct geodec_router {
    geodec_session *session;
    int32_t max_rows;
    float *memory;       /* owns the rows below, padded with zeros */
    float **norm, **out; /* [max_rows] of d_model, of n_expert */
    const float **in;    /* [max_rows] */
};

geodec_status geodec_router_create(geodec_session *s, int32_t max_rows, geodec_router **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    geodec_router *r = NULL;
    if (c->n_expert < 1) GEODEC_THROW(GEODEC_UNSUPPORTED, "the model has no experts");
    if (max_rows < 1) GEODEC_THROW(GEODEC_RANGE, "a router of %d rows", max_rows);
    GEODEC_NEW(r, 1);
    r->session = s;
    r->max_rows = max_rows;
    const int64_t d = geodec__apart(c->d_model), e = geodec__apart(c->n_expert);
    GEODEC_NEW(r->memory, max_rows * (d + e));
    GEODEC_NEW_EACH(max_rows, r->norm, r->out, r->in);
    for (int64_t i = 0; i < max_rows; i++) {
        r->norm[i] = r->memory + i * d;
        r->out[i] = r->memory + max_rows * d + i * e;
    }
    *out = r;
    r = NULL;
done:
    geodec_router_destroy(r);
    return st;
}

void geodec_router_destroy(geodec_router *r)
{
    if (!r) return;
    GEODEC_FREE(r->memory, r->norm, r->out, r->in, r);
}

bool geodec_router_has(const geodec_router *r, int32_t layer)
{
    return r->session->model->layer[layer].router.data != NULL;
}

void geodec__router_run(geodec_session *s, int32_t layer, const float *const *stream, float *const *norm,
                        const float **in, float *const *out, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__layer *l = &s->model->layer[layer];
    for (int64_t i = 0; i < n; i++) {
        if (c->route_raw)
            memcpy(norm[i], stream[i], (size_t)c->d_model * sizeof(float));
        else
            geodec__norm_row(s->kernels,
                             c->route_before         ? &l->attn_norm
                             : l->router_norm.weight ? &l->router_norm
                                                     : &l->ffn_norm,
                             stream[i], norm[i]);
        in[i] = norm[i];
    }
    geodec__router_scores(s, l, in, out, n);
}

void geodec_router_logits(geodec_router *r, int32_t layer, const float *const *stream, int32_t n, float *logits)
{
    const int64_t experts = r->session->model->config.n_expert;
    geodec__router_run(r->session, layer, stream, r->norm, r->in, r->out, n);
    for (int64_t i = 0; i < n; i++) memcpy(logits + i * experts, r->out[i], (size_t)experts * sizeof *logits);
}

void geodec_router_softmax(float *x, int32_t n)
{
    float most = x[0], sum = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > most) most = x[i];
    for (int32_t i = 0; i < n; i++) sum += x[i] = expf(x[i] - most);
    for (int32_t i = 0; i < n; i++) x[i] /= sum;
}
