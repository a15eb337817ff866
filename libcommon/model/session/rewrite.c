#include "session/rewrite.h"
#include "session/arch_internal.h"

#include "base/mem.h"
#include "session/model_internal.h"

struct geodec__rewrite {
    geodec_rewrite r;
    float *k, *v; /* [max_batch + group][n_kv_head][head_dim] */
};

geodec_status geodec_session_rewrite(geodec_session *s, const geodec_rewrite *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    geodec__rewrite *w = NULL;
    if (r) {
        if (r->group < 1 || r->group > GEODEC__KEYS)
            GEODEC_THROW(GEODEC_RANGE, "groups of %d rows outside 1 to %d", r->group, GEODEC__KEYS);
        if (s->engine) GEODEC_THROW(GEODEC_UNSUPPORTED, "the cache of integer arithmetic cannot be changed");
        if (s->recur) GEODEC_THROW(GEODEC_UNSUPPORTED, "the rows of a recurrent model cannot be changed");
        if (s->model->low) GEODEC_THROW(GEODEC_UNSUPPORTED, "the rows of a cache of low rank cannot be changed");
        const char *part = geodec__model_part_beyond(s->model);
        if (part) GEODEC_THROW(GEODEC_UNSUPPORTED, "the rows of a model with %s cannot be changed", part);
        GEODEC_NEW(w, 1);
        w->r = *r;
        GEODEC_NEW_EACH(((int64_t)s->max_batch + r->group) * c->n_kv_head * c->head_dim, w->k, w->v);
    }
    geodec__rewrite_destroy(s->rewrite);
    s->rewrite = w;
    w = NULL;
done:
    geodec__rewrite_destroy(w);
    return st;
}

void geodec__rewrite_destroy(geodec__rewrite *w)
{
    if (!w) return;
    GEODEC_FREE(w->k, w->v, w);
}

/* The inverse of geodec__rope_apply. */
static void turn_back(const geodec_session *s, int32_t table, float *x, int32_t heads, int64_t position)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t pairs = c->rope_dim / 2, at = ((int64_t)table * s->n_ctx + position) * pairs;
    const float *cosine = s->cosine + at, *sine = s->sine + at;
    const bool halves = c->rope_pairs == GEODEC_ROPE_HALVES;
    const int64_t next = halves ? 1 : 2, partner = halves ? pairs : 1;
    for (int32_t h = 0; h < heads; h++, x += c->head_dim)
        for (int64_t i = 0; i < pairs; i++) {
            const float a = x[next * i], b = x[next * i + partner];
            const float square = cosine[i] * cosine[i] + sine[i] * sine[i];
            x[next * i] = (a * cosine[i] + b * sine[i]) / square;
            x[next * i + partner] = (b * cosine[i] - a * sine[i]) / square;
        }
}

void geodec_session_rewrite_turn(const geodec_session *s, int32_t layer, int64_t position, bool back, float *k)
{
    const int32_t table = s->model->layer[layer].rope;
    if (back)
        turn_back(s, table, k, s->model->config.n_kv_head, position);
    else
        geodec__rope_apply(s, &s->model->layer[layer], k, s->model->config.n_kv_head, position);
}

void geodec__rewrite_run(geodec_session *s, int32_t layer, int64_t n)
{
    const geodec__rewrite *w = s->rewrite;
    const geodec_model_config *c = &s->model->config;
    const int64_t dim = c->head_dim, heads = c->n_kv_head, group = w->r.group;
    const int64_t first = s->length / group * group, end = (s->length + n) / group * group;
    const int32_t table = s->model->layer[layer].rope;
    if (end <= first) return;
    for (int64_t row = first; row < end; row++) {
        float *k = w->k + (row - first) * heads * dim, *v = w->v + (row - first) * heads * dim;
        for (int64_t h = 0; h < heads; h++) {
            geodec__cache_key(s, layer, h, row, k + h * dim, 1);
            geodec__cache_value(s, layer, h, row, v + h * dim);
        }
        if (w->r.unrotated) turn_back(s, table, k, c->n_kv_head, row);
    }
    const geodec_rewrite_rows rows = {.session = s,
                                      .layer = layer,
                                      .first = first,
                                      .n = end - first,
                                      .query = group == 1 ? (const float *const *)s->query_row : NULL,
                                      .k = w->k,
                                      .v = w->v};
    w->r.fn(w->r.ctx, &rows);
    for (int64_t row = first; row < end; row++) {
        float *k = w->k + (row - first) * heads * dim, *v = w->v + (row - first) * heads * dim;
        if (w->r.unrotated) geodec__rope_apply(s, &s->model->layer[layer], k, c->n_kv_head, row);
        for (int64_t h = 0; h < heads; h++) geodec__cache_put(s, layer, h, row, k + h * dim, v + h * dim);
    }
}
