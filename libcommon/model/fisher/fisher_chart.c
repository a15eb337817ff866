#include "fisher/fisher_chart.h"

#include "base/mem.h"
#include "base/vec_internal.h"

#include <stdatomic.h>
#include <string.h>

struct geodec_fisher_chart {
    const geodec_reference *r; /* of the caller, or `own` */
    geodec_reference *own;     /* of the text */
    int32_t layer, head;       /* boundaries */
    bool last;                 /* rows are independent */
    int64_t length, n, d, v;
    double *x;     /* [length][d] the text at the boundary, the state its last row */
    double *basis; /* [n][d] */
    _Atomic int64_t tangents, points;
};

/* Rows `last` of the sequence only. */
#define LAST_ROW(c)                                                                                                    \
    &(const geodec_reference_rows)                                                                                     \
    {                                                                                                                  \
        1, &(const int32_t) { (int32_t)((c)->length - 1) }                                                             \
    }

static geodec_status open_text(geodec_fisher_chart *c, const geodec_reference *r, const int32_t *token, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *embedded = NULL;
    GEODEC_TRY(geodec_reference_of_text(r, token, c->length, &c->own, err));
    c->r = c->own;
    GEODEC_NEW(embedded, c->length * c->d);
    GEODEC_TRY(geodec_reference_embed(c->r, token, c->length, embedded, err));
    GEODEC_TRY(geodec_reference_run(c->r, 0, c->layer, c->length, embedded, NULL, c->x, err));
done:
    geodec_mem_free(embedded);
    return st;
}

geodec_status geodec_fisher_chart_create(const geodec_reference *r, const geodec_fisher_states *s, int64_t i, int64_t n,
                                         const double *basis, geodec_fisher_chart **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_fisher_chart *c = NULL;
    const geodec_model_config *mc = geodec_model_configuration(geodec_reference_model(r));
    if (s->layer < 0 || s->layer > mc->n_layer)
        GEODEC_THROW(GEODEC_RANGE, "boundary %d; 0 to %d exist", s->layer, mc->n_layer);
    if (i < 0 || i >= s->count) GEODEC_THROW(GEODEC_RANGE, "state %lld of %lld", (long long)i, (long long)s->count);
    GEODEC_NEW(c, 1);
    c->r = r;
    c->layer = s->layer;
    c->head = mc->n_layer + 1;
    c->last = s->layer == mc->n_layer;
    c->d = mc->d_model;
    c->v = mc->n_vocab;
    c->length = 1;
    if (!c->last) {
        if (!s->token || !s->first || !s->position || s->first[i] < 0 || s->position[i] < 0 ||
            s->first[i] + s->position[i] >= s->tokens)
            GEODEC_THROW(GEODEC_RANGE, "boundary %d of %d needs the tokens before the state", s->layer, mc->n_layer);
        c->length = s->position[i] + 1;
    }
    GEODEC_NEW(c->x, c->length * c->d);
    if (!c->last) GEODEC_TRY(open_text(c, r, s->token + s->first[i], err));
    memcpy(c->x + (c->length - 1) * c->d, s->state + i * c->d, (size_t)c->d * sizeof *c->x);
    if (!geodec__finite(c->length * c->d, c->x)) GEODEC_THROW(GEODEC_NUMERIC, "the state is not finite");
    GEODEC_TRY(geodec_fisher_chart_turn(c, n, basis, err));
    GEODEC_MOVE(*out, c);
done:
    geodec_fisher_chart_destroy(c);
    return st;
}

void geodec_fisher_chart_destroy(geodec_fisher_chart *c)
{
    if (!c) return;
    geodec_reference_destroy(c->own);
    GEODEC_FREE(c->x, c->basis, c);
}

geodec_status geodec_fisher_chart_turn(geodec_fisher_chart *c, int64_t n, const double *basis, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *b = NULL;
    if (n < 1 || n > GEODEC_FISHER_FIELD_MAX || n > c->d)
        GEODEC_THROW(GEODEC_RANGE, "a chart of %lld dimensions of %lld", (long long)n, (long long)c->d);
    GEODEC_NEW_COPY(b, basis, n * c->d);
    geodec_mem_free(c->basis);
    c->basis = b;
    c->n = n;
done:
    return st;
}

/* to [d] += B^T z */
static void add_state(const geodec_fisher_chart *c, const double *z, double *to)
{
    for (int64_t j = 0; j < c->n; j++)
        for (int64_t k = 0; k < c->d; k++) to[k] += z[j] * c->basis[j * c->d + k];
}

/* x [length][d] is the sequence at the boundary; dx [k][m][d] with m rows that move, all of them at the last boundary.
 */
static geodec_status evaluate(const geodec_fisher_chart *c, int64_t length, const double *x, int64_t k,
                              const double *dx, double *logits, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_reference_point *p = NULL;
    const geodec_reference_rows *rows = c->last ? NULL : LAST_ROW(c);
    GEODEC_TRY(geodec_reference_linearise(c->r, c->layer, c->head, length, x, c->last ? 0 : length - 1, rows, &p, err));
    if (logits) GEODEC_TRY(geodec_reference_point_value(p, logits, err));
    if (k > 0) GEODEC_TRY(geodec_reference_jvp(p, k, dx, dy, err));
done:
    geodec_reference_point_destroy(p);
    return st;
}

static geodec_status chart_at(const void *ctx, int64_t points, const double *z, int64_t k, const double *dir,
                              double *logits, double *tangent, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_fisher_chart *c = (geodec_fisher_chart *)(uintptr_t)ctx; /* for its counters */
    const int64_t d = c->d, v = c->v, together = c->last ? points : 1, rows = c->last ? points : c->length;
    double *x = NULL, *dx = NULL, *dy = NULL;
    GEODEC_NEW(x, rows * d);
    GEODEC_NEW(dx, k * together * d);
    GEODEC_NEW(dy, k * together * v);
    for (int64_t j = 0; j < k; j++)
        for (int64_t a = 0; a < together; a++) add_state(c, dir + j * c->n, dx + (j * together + a) * d);
    for (int64_t a = 0; a < points; a += together) {
        for (int64_t i = 0; c->last && i < points; i++) memcpy(x + i * d, c->x, (size_t)d * sizeof *x);
        if (!c->last) memcpy(x, c->x, (size_t)(rows * d) * sizeof *x);
        for (int64_t i = 0; i < together; i++) add_state(c, z + (a + i) * c->n, x + (rows - together + i) * d);
        GEODEC_TRY(evaluate(c, rows, x, k, dx, logits ? logits + a * v : NULL, dy, err));
        for (int64_t j = 0; j < k; j++)
            memcpy(tangent + (j * points + a) * v, dy + j * together * v, (size_t)(together * v) * sizeof *dy);
    }
    atomic_fetch_add(&c->tangents, k * points);
    atomic_fetch_add(&c->points, points);
done:
    GEODEC_FREE(x, dx, dy);
    return st;
}

geodec_fisher_map geodec_fisher_chart_map(const geodec_fisher_chart *c)
{
    return (geodec_fisher_map){.n = (int32_t)c->n, .outcomes = c->v, .ctx = c, .at = chart_at};
}

geodec_status geodec_fisher_chart_whole(const geodec_fisher_chart *c, double *metric, geodec_err *err)
{
    enum { TOGETHER = 64 };
    return geodec_reference_fisher(c->r, c->layer, c->length, c->x, c->d < TOGETHER ? c->d : TOGETHER, metric, NULL,
                                   err);
}

void geodec_fisher_chart_cost(const geodec_fisher_chart *c, int64_t *tangents, int64_t *points)
{
    *tangents = atomic_load(&c->tangents);
    *points = atomic_load(&c->points);
}
