/* Queries, keys and values: y = warmth R N(clamp(W z + bias)), or N R in place of R N; each part where the layer has
 * it, R for queries and keys, the warmth (a factor by position) for queries. */
#include "reference/reference_internal.h"

#include <math.h>
#include <string.h>

/* What makes one of the three from the normalised stream, and what of it is kept for the derivatives. */
typedef struct projection {
    const geodec__matrix *w;
    const float *bias;
    const geodec__norm *norm;
    int64_t heads, rows; /* rows of y */
    bool rotated, warm;
    double *raw, *before; /* [n][rows] arguments of clamp and norm; NULL without */
    double *y;            /* [n][rows] */
} projection;

static projection projection_of(const geodec__ref_tape *t, const geodec__layer *l, geodec__ref_projected which)
{
    const geodec_model_config *c = &t->r->model->config;
    const bool rotated = l->rope >= 0, still = c->temperature_still && rotated;
    switch (which) {
    case GEODEC__REF_QUERY:
        return (projection){.w = &l->q,
                            .bias = l->q_bias,
                            .norm = &l->q_norm,
                            .heads = l->n_head,
                            .rows = geodec__reference_query_rows(l),
                            .rotated = rotated,
                            .warm = c->temperature != 0 && !still,
                            .raw = t->q_raw,
                            .before = t->q0,
                            .y = t->q};
    case GEODEC__REF_KEY:
        return (projection){.w = &l->k,
                            .bias = l->k_bias,
                            .norm = &l->k_norm,
                            .heads = l->n_kv_head,
                            .rows = l->k.rows,
                            .rotated = rotated,
                            .raw = t->k_raw,
                            .before = t->k0,
                            .y = t->k};
    case GEODEC__REF_VALUE:
        break;
    }
    return (projection){.w = &l->v,
                        .bias = l->v_bias,
                        .norm = &l->v_norm,
                        .heads = l->n_kv_head,
                        .rows = l->v.rows,
                        .raw = t->v_raw,
                        .before = t->v0,
                        .y = t->v};
}

/* y = W z of n rows */
static geodec_status multiply(const geodec__ref_tape *t, const geodec__layer *l, const projection *p, int64_t n,
                              const double *z, double *y, geodec_err *err)
{
    return p->w == &l->q ? geodec__reference_queries(t, l, false, n, z, y, err)
                         : geodec__reference_product(t->r->pool, p->w, n, z, y, err);
}

/* The norm comes after the rotation. */
static bool normed_last(const geodec__ref_tape *t, const projection *p)
{
    return p->rotated && t->r->model->config.qk_norm_rotated;
}

static void rotate(const geodec__ref_tape *t, const geodec__layer *l, const projection *p, int64_t first, int64_t k,
                   bool transpose, double *y)
{
    if (p->rotated)
        geodec__reference_rotate(&t->r->model->config, &t->angles[l->rope], first, k, p->heads, l->head_dim, transpose,
                                 y);
}

/* Rows first .. n-1 of k sequences, times 1 + temperature log(floor((position + offset) / length) + 1). */
static void warm(const geodec__ref_tape *t, const projection *p, int64_t first, int64_t k, double *y)
{
    const geodec_model_config *c = &t->r->model->config;
    for (int64_t row = 0; p->warm && row < k * (t->n - first); row++, y += p->rows) {
        const int64_t position = first + row % (t->n - first);
        const double chunk = floor((double)(position + c->temperature_offset) / (double)c->temperature_length);
        const double factor = 1 + c->temperature * log(chunk + 1);
        for (int64_t i = 0; i < p->rows; i++) y[i] *= factor;
    }
}

static void norm(const geodec__ref_tape *t, const projection *p)
{
    if (!p->norm->weight) return;
    memcpy(p->before, p->y, (size_t)(t->n * p->rows) * sizeof *p->y);
    geodec__reference_norm(t->n, p->norm, p->y, p->y);
}

geodec_status geodec__reference_project(const geodec__ref_tape *t, const geodec__layer *l, geodec__ref_projected which,
                                        geodec_err *err)
{
    const projection p = projection_of(t, l, which);
    const double most = (double)t->r->model->config.qkv_clamp;
    const int64_t size = t->n * p.rows;
    GEODEC_PASS(multiply(t, l, &p, t->n, t->z, p.y, err));
    geodec__reference_bias(t->n, p.rows, p.bias, p.y);
    if (most != 0) {
        memcpy(p.raw, p.y, (size_t)size * sizeof *p.y);
        geodec__reference_clamp(most, size, p.raw, p.y);
    }
    if (!normed_last(t, &p)) norm(t, &p);
    rotate(t, l, &p, 0, 1, false, p.y);
    if (normed_last(t, &p)) norm(t, &p);
    warm(t, &p, 0, 1, p.y);
    return GEODEC_OK;
}

geodec_status geodec__reference_project_jvp(const geodec__ref_tape *t, const geodec__layer *l,
                                            geodec__ref_projected which, int64_t k, const double *dz, double *dy,
                                            geodec_err *err)
{
    const projection p = projection_of(t, l, which);
    const double most = (double)t->r->model->config.qkv_clamp;
    const int64_t n = t->n - t->first, rows = p.rows, at = t->first * rows;
    GEODEC_PASS(multiply(t, l, &p, k * n, dz, dy, err));
    if (most != 0) geodec__reference_clamp_derivative(most, n * rows, p.raw + at, k, dy, dy);
    if (normed_last(t, &p)) rotate(t, l, &p, t->first, k, false, dy);
    if (p.norm->weight) geodec__reference_norm_jvp(n, p.norm, p.before + at, k, dy, dy);
    if (!normed_last(t, &p)) rotate(t, l, &p, t->first, k, false, dy);
    warm(t, &p, t->first, k, dy);
    return GEODEC_OK;
}

geodec_status geodec__reference_project_vjp(const geodec__ref_tape *t, const geodec__layer *l,
                                            geodec__ref_projected which, int64_t k, double *gy, double *scratch,
                                            double *gz, geodec_err *err)
{
    const projection p = projection_of(t, l, which);
    const double most = (double)t->r->model->config.qkv_clamp;
    const int64_t n = t->n - t->first, rows = p.rows, at = t->first * rows;
    warm(t, &p, t->first, k, gy);
    if (!normed_last(t, &p)) rotate(t, l, &p, t->first, k, true, gy);
    if (p.norm->weight) geodec__reference_norm_vjp(n, p.norm, p.before + at, k, gy, gy);
    if (normed_last(t, &p)) rotate(t, l, &p, t->first, k, true, gy);
    if (most != 0) geodec__reference_clamp_derivative(most, n * rows, p.raw + at, k, gy, gy);
    GEODEC_PASS(which == GEODEC__REF_QUERY ? geodec__reference_queries_vjp(t, l, false, k * n, gy, scratch, err)
                                           : geodec__reference_product_vjp(t->r->pool, p.w, k * n, gy, scratch, err));
    geodec__reference_add(k * n * p.w->cols, scratch, gz);
    return GEODEC_OK;
}
