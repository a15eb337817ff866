#include "foresight/routes.h"

#include "base/mem.h"
#include "session/router.h"

#include <string.h>

enum { PASS = 64, WINDOW_MAX = 4096 };

struct geodec_routes_recorder {
    const geodec_model_config *config;
    const geodec_export_source *source;
    int32_t window, bos;
    geodec_session *session;
    geodec_router *router;
    geodec_routes rows;
    int32_t *token; /* [window] */
    int32_t *layer; /* [n_layer + 1] all of them */
    float *before;  /* [n_layer + 1][PASS][d] x_l of a pass, then the last stream */
    float *after;   /* [n_layer][PASS][d] y_l */
    const float **stream;
    /* the rest of the current document */
    const int32_t *rest;
    int64_t n_rest;
    bool continues;
};

/* Adds what attention adds, as the pass does. */
static void attention_added(void *ctx, int32_t layer, bool feed, int64_t n, const float *const *row)
{
    geodec_routes_recorder *r = ctx;
    const int64_t d = r->config->d_model;
    for (int64_t i = 0; !feed && i < n; i++)
        memcpy(r->after + (layer * PASS + i) * d, row[i], (size_t)d * sizeof(float));
}

geodec_status geodec_routes_open(const geodec_model *m, const geodec_export_source *source, int32_t window,
                                 geodec_arithmetic arithmetic, geodec_kv_type kv, geodec_pool *pool,
                                 geodec_routes_recorder **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const geodec_session_options so = {
        .n_ctx = window, .max_batch = PASS, .pool = pool, .arithmetic = arithmetic, .kv = kv};
    geodec_routes_recorder *r = NULL;
    if (c->n_expert < 1) GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: a dense model has no routes", geodec_model_name(m));
    if (window < 2 || window > WINDOW_MAX || window > c->n_ctx)
        GEODEC_THROW(GEODEC_RANGE, "a window of %d tokens (2 to %d, and at most the model's context of %d)", window,
                     WINDOW_MAX, c->n_ctx);
    GEODEC_NEW(r, 1);
    r->config = c;
    r->source = source;
    r->window = window;
    r->bos = geodec_tokenizer_bos(geodec_model_tokenizer(m));
    const int64_t n = window, d = c->d_model, cells = (int64_t)c->n_layer * c->n_expert;
    GEODEC_TRY(geodec_session_create(m, &so, &r->session, err));
    GEODEC_TRY(geodec_router_create(r->session, PASS, &r->router, err));
    GEODEC_TRY(geodec_session_watch_updates(r->session, attention_added, r, err));
    GEODEC_NEW(r->token, n);
    GEODEC_NEW(r->layer, c->n_layer + 1);
    for (int32_t l = 0; l <= c->n_layer; l++) r->layer[l] = l;
    GEODEC_NEW(r->before, (c->n_layer + 1) * PASS * d);
    GEODEC_NEW(r->after, c->n_layer * PASS * d);
    GEODEC_NEW(r->stream, PASS);
    GEODEC_NEW(r->rows.expert, n * c->n_layer * c->n_expert_used);
    GEODEC_NEW_EACH(n * d, r->rows.embedding, r->rows.state);
    for (int i = 0; i < GEODEC_ROUTES_STREAMS; i++) GEODEC_NEW(r->rows.logit[i], n * cells);
    r->rows.token = r->token;
    r->rows.document = -1;
    *out = r;
    r = NULL;
done:
    geodec_routes_close(r);
    return st;
}

void geodec_routes_close(geodec_routes_recorder *r)
{
    if (!r) return;
    geodec_router_destroy(r->router);
    geodec_session_destroy(r->session);
    for (int i = 0; i < GEODEC_ROUTES_STREAMS; i++) geodec_mem_free(r->rows.logit[i]);
    GEODEC_FREE(r->token, r->layer, r->before, r->after, r->stream, r->rows.expert, r->rows.embedding, r->rows.state,
                r);
}

bool geodec_routes_layer(const geodec_routes_recorder *r, int32_t layer) { return geodec_router_has(r->router, layer); }

/* The streams at which the router of a layer is asked. */
static const float *stream_of(const geodec_routes_recorder *r, geodec_routes_stream which, int32_t layer, int32_t row)
{
    const int64_t d = r->config->d_model, previous = layer > 0 ? layer - 1 : 0;
    switch (which) {
    case GEODEC_ROUTES_NOW:
        return (r->config->route_before ? r->before : r->after) + ((int64_t)layer * PASS + row) * d;
    case GEODEC_ROUTES_EXPERTS:
        return layer > 0 ? r->after + (previous * PASS + row) * d : r->before + row * d;
    case GEODEC_ROUTES_EARLIER:
        return r->before + (previous * PASS + row) * d;
    case GEODEC_ROUTES_FURTHER:
        return r->before + ((layer > 1 ? layer - 2 : 0) * PASS + row) * d;
    default:
        return r->before + ((int64_t)layer * PASS + row) * d;
    }
}

static geodec_status read_pass(geodec_routes_recorder *r, int32_t at, int32_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = r->config;
    const int64_t d = c->d_model, k = (int64_t)c->n_layer * c->n_expert_used;
    const geodec_batch b = {.n = n, .token = r->token + at};
    float *before = NULL, *logits = NULL;
    GEODEC_NEW(before, (c->n_layer + 1) * n * d);
    GEODEC_NEW(logits, (int64_t)n * c->n_expert);
    const geodec_capture capture = {c->n_layer + 1, r->layer, before};
    GEODEC_TRY(geodec_forward(r->session, &b, NULL, &capture, err));
    memcpy(r->rows.expert + at * k, geodec_session_expert_ids(r->session), (size_t)(n * k) * sizeof *r->rows.expert);
    for (int64_t l = 0; l <= c->n_layer; l++)
        memcpy(r->before + l * PASS * d, before + l * n * d, (size_t)(n * d) * sizeof *before);
    for (int64_t l = 0; l < c->n_layer; l++)
        for (int64_t i = 0; i < n * d; i++) r->after[l * PASS * d + i] += r->before[l * PASS * d + i];
    memcpy(r->rows.embedding + at * d, r->before, (size_t)(n * d) * sizeof *before);
    memcpy(r->rows.state + at * d, r->before + (int64_t)c->n_layer * PASS * d, (size_t)(n * d) * sizeof *before);
    for (int which = 0; which < GEODEC_ROUTES_STREAMS; which++)
        for (int32_t l = 0; l < c->n_layer; l++) {
            if (!geodec_router_has(r->router, l)) continue;
            for (int32_t i = 0; i < n; i++) r->stream[i] = stream_of(r, (geodec_routes_stream)which, l, i);
            geodec_router_logits(r->router, l, r->stream, n, logits);
            for (int64_t i = 0; i < n; i++)
                memcpy(r->rows.logit[which] + ((at + i) * c->n_layer + l) * c->n_expert, logits + i * c->n_expert,
                       (size_t)c->n_expert * sizeof *logits);
        }
done:
    GEODEC_FREE(before, logits);
    return st;
}

geodec_status geodec_routes_next(geodec_routes_recorder *r, const geodec_routes **out, geodec_err *err)
{
    int32_t n = 0;
    while (r->n_rest == 0) {
        GEODEC_PASS(r->source->next(r->source->ctx, &r->rest, &r->n_rest, err));
        if (r->n_rest < 0) {
            *out = NULL;
            r->n_rest = 0;
            return GEODEC_OK;
        }
        r->rows.document++;
        r->continues = false;
        if (r->n_rest > 0 && r->rest[0] == r->bos) { /* every window of the document gets one */
            r->rest++;
            r->n_rest--;
            r->continues = true;
        }
    }
    if (r->continues) r->token[n++] = r->bos;
    for (; n < r->window && r->n_rest > 0; r->n_rest--) r->token[n++] = *r->rest++;
    geodec_session_truncate(r->session, 0);
    for (int32_t at = 0; at < n; at += PASS) GEODEC_PASS(read_pass(r, at, n - at < PASS ? n - at : PASS, err));
    r->rows.n = n;
    *out = &r->rows;
    return GEODEC_OK;
}
