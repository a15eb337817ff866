/* Queries, keys and values from latent vectors, of each head by itself (session/latent.c has the equations, and the
 * absorbed form): a = N(Wqa z), or z;  [q_h, r_h] = Wq a;  [c, k] = Wkva z,  c = N(c)
 *     queries [q_h, R r_h], keys [Wkb_h c, R k], values Wvb_h c
 * For attention they are padded with zeros to heads of one width. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <string.h>

/* What derivatives need, and what attention sees. */
struct geodec__ref_latent {
    int64_t width;                      /* of a padded head */
    double *asked;                      /* [n][d_latent_query] Wqa z */
    double *c;                          /* [n][d_latent] before its norm */
    double *q, *k, *v, *mixed, *packed; /* [n][n_head][width]; packed [n][n_head d_latent_value] */
};

geodec_status geodec__reference_latent_create(const geodec_model_config *c, int64_t n, geodec__ref_latent **out,
                                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__ref_latent *t = NULL;
    if (c->d_latent == 0) return GEODEC_OK;
    GEODEC_NEW(t, 1);
    t->width = geodec__max(c->d_latent_key + c->rope_dim, c->d_latent_value);
    const int64_t heads = n * c->n_head * t->width;
    GEODEC_NEW(t->asked, n * c->d_latent_query);
    GEODEC_NEW(t->c, n * c->d_latent);
    GEODEC_NEW_EACH(heads, t->q, t->k, t->v, t->mixed, t->packed);
    GEODEC_MOVE(*out, t);
done:
    geodec__reference_latent_destroy(t);
    return st;
}

void geodec__reference_latent_destroy(geodec__ref_latent *t)
{
    if (!t) return;
    GEODEC_FREE(t->asked, t->c, t->q, t->k, t->v, t->mixed, t->packed, t);
}

void geodec__reference_latent_attention(const geodec__ref_tape *t, geodec__ref_attention *a)
{
    const geodec__ref_latent *own = t->latent;
    a->n_kv_head = a->n_head;
    a->head_dim = own->width;
    a->q = own->q;
    a->k = own->k;
    a->v = own->v;
}

int64_t geodec__reference_latent_width(const geodec__ref_tape *t) { return t->latent->width; }

/* Parts of `size` numbers, `step` apart, from x to y. */
static void copy_parts(int64_t n, int64_t size, const double *x, int64_t x_step, double *y, int64_t y_step)
{
    for (int64_t i = 0; i < n; i++) memcpy(y + i * y_step, x + i * x_step, (size_t)size * sizeof *y);
}

/* Rotates dimensions at .. of heads `step` apart, of rows first .. n-1 of k sequences. */
static void turn(const geodec__ref_tape *t, const geodec__layer *l, int64_t first, int64_t k, int64_t heads,
                 int64_t step, bool transpose, double *x)
{
    if (l->rope < 0) return;
    const geodec__ref_angles *a = &t->angles[l->rope];
    const bool halves = t->r->model->config.rope_pairs == GEODEC_ROPE_HALVES;
    for (int64_t row = 0; row < k * (t->n - first); row++) {
        const int64_t at = (first + row % (t->n - first)) * a->pairs;
        for (int64_t h = 0; h < heads; h++, x += step)
            for (int64_t i = 0; i < a->pairs; i++) {
                double *one = x + (halves ? i : 2 * i), *two = x + (halves ? i + a->pairs : 2 * i + 1);
                const double u = *one, v = *two, s = (transpose ? -1 : 1) * a->sine[at + i];
                *one = u * a->cosine[at + i] - v * s;
                *two = u * s + v * a->cosine[at + i];
            }
    }
}

/* q [k][n - first][n_head][width] of z, or dq of dz. */
static geodec_status queries(const geodec__ref_tape *t, const geodec__layer *l, int64_t first, int64_t k,
                             const double *z, bool tangent, double *q, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_latent *own = t->latent;
    const int64_t n = t->n - first, rows = k * n, low = c->d_latent_query, size = c->d_latent_key + c->rope_dim;
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){rows * low, rows * l->q.rows}, buffer, err));
    double *a = buffer[0], *asked = buffer[1];
    if (low > 0) {
        GEODEC_TRY(geodec__reference_product(t->r->pool, &l->latent.q_a, rows, z, a, err));
        if (!tangent) memcpy(own->asked, a, (size_t)(rows * low) * sizeof *a);
        if (tangent)
            geodec__reference_norm_jvp(n, &l->latent.q_norm, own->asked + first * low, k, a, a);
        else
            geodec__reference_norm(n, &l->latent.q_norm, a, a);
    }
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->q, rows, low > 0 ? a : z, asked, err));
    copy_parts(rows * c->n_head, size, asked, size, q, own->width);
    turn(t, l, first, k, c->n_head, own->width, false, q + c->d_latent_key);
    geodec__reference_warm(t, l, c->n_head * own->width, first, k, q);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

static geodec_status queries_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gq,
                                 double *scratch, double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_latent *own = t->latent;
    const int64_t n = t->n - t->first, rows = k * n, low = c->d_latent_query, size = c->d_latent_key + c->rope_dim;
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){rows * low, rows * l->q.rows}, buffer, err));
    double *a = buffer[0], *asked = buffer[1];
    geodec__reference_warm(t, l, c->n_head * own->width, t->first, k, gq);
    turn(t, l, t->first, k, c->n_head, own->width, true, gq + c->d_latent_key);
    copy_parts(rows * c->n_head, size, gq, own->width, asked, size);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->q, rows, asked, low > 0 ? a : scratch, err));
    if (low > 0) {
        geodec__reference_norm_vjp(n, &l->latent.q_norm, own->asked + t->first * low, k, a, a);
        GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->latent.q_a, rows, a, scratch, err));
    }
    geodec__reference_add(rows * c->d_model, scratch, gz);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* key and v [k][n - first][n_head][width] of z, or their tangents of dz. */
static geodec_status keys_and_values(const geodec__ref_tape *t, const geodec__layer *l, int64_t first, int64_t k,
                                     const double *z, bool tangent, double *key, double *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_latent *own = t->latent;
    const int64_t n = t->n - first, rows = k * n, rank = c->d_latent, turned = c->rope_dim, both = rank + turned,
                  step = c->n_head * own->width, wide = geodec__max(c->d_latent_key, c->d_latent_value);
    const int64_t sizes[] = {rows * both, rows * rank, rows * turned, rows * wide};
    double *buffer[4] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(4, sizes, buffer, err));
    double *all = buffer[0], *latent = buffer[1], *r = buffer[2], *one = buffer[3];
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->latent.kv_a, rows, z, all, err));
    copy_parts(rows, rank, all, both, latent, rank);
    copy_parts(rows, turned, all + rank, both, r, turned);
    if (!tangent) memcpy(own->c, latent, (size_t)(rows * rank) * sizeof *latent);
    if (tangent)
        geodec__reference_norm_jvp(n, &l->latent.kv_norm, own->c + first * rank, k, latent, latent);
    else
        geodec__reference_norm(n, &l->latent.kv_norm, latent, latent);
    turn(t, l, first, k, 1, turned, false, r);
    for (int64_t h = 0; h < c->n_head; h++) {
        const geodec__matrix wk = geodec__expert(&l->latent.k_b, h), wv = geodec__expert(&l->latent.v_b, h);
        if (wk.rows > 0) GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &wk, rows, latent, one, err));
        copy_parts(rows, wk.cols, one, wk.cols, key + h * own->width, step);
        copy_parts(rows, turned, r, turned, key + h * own->width + c->d_latent_key, step);
        GEODEC_TRY(geodec__reference_product(t->r->pool, &wv, rows, latent, one, err));
        copy_parts(rows, wv.rows, one, wv.rows, v + h * own->width, step);
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

static geodec_status keys_and_values_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, const double *gk,
                                         const double *gv, double *scratch, double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_latent *own = t->latent;
    const int64_t n = t->n - t->first, rows = k * n, rank = c->d_latent, turned = c->rope_dim, both = rank + turned,
                  step = c->n_head * own->width, wide = geodec__max(c->d_latent_key, c->d_latent_value);
    const int64_t sizes[] = {rows * both, rows * rank, rows * turned, rows * wide, rows * rank};
    double *buffer[5] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(5, sizes, buffer, err));
    double *all = buffer[0], *latent = buffer[1], *r = buffer[2], *one = buffer[3], *part = buffer[4];
    for (int64_t h = 0; h < c->n_head; h++) {
        const geodec__matrix wk = geodec__expert(&l->latent.k_b, h), wv = geodec__expert(&l->latent.v_b, h);
        copy_parts(rows, wk.cols, gk + h * own->width, step, one, wk.cols);
        if (wk.rows > 0) GEODEC_TRY(geodec__reference_product(t->r->pool, &wk, rows, one, part, err));
        geodec__reference_add(rows * wk.rows, part, latent);
        for (int64_t i = 0; i < rows; i++)
            geodec__reference_add(turned, gk + i * step + h * own->width + c->d_latent_key, r + i * turned);
        copy_parts(rows, wv.rows, gv + h * own->width, step, one, wv.rows);
        GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &wv, rows, one, part, err));
        geodec__reference_add(rows * rank, part, latent);
    }
    turn(t, l, t->first, k, 1, turned, true, r);
    geodec__reference_norm_vjp(n, &l->latent.kv_norm, own->c + t->first * rank, k, latent, latent);
    copy_parts(rows, rank, latent, rank, all, both);
    copy_parts(rows, turned, r, turned, all + rank, both);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->latent.kv_a, rows, all, scratch, err));
    geodec__reference_add(rows * c->d_model, scratch, gz);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_latent(const geodec__ref_tape *t, const geodec__layer *l, geodec_err *err)
{
    const geodec__ref_latent *own = t->latent;
    GEODEC_PASS(queries(t, l, 0, 1, t->z, false, own->q, err));
    return keys_and_values(t, l, 0, 1, t->z, false, own->k, own->v, err);
}

geodec_status geodec__reference_latent_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                           const double *dz, double *dq, double *dk, double *dv, geodec_err *err)
{
    GEODEC_PASS(queries(t, l, t->first, k, dz, true, dq, err));
    return keys_and_values(t, l, t->first, k, dz, true, dk, dv, err);
}

geodec_status geodec__reference_latent_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gq,
                                           const double *gk, const double *gv, double *scratch, double *gz,
                                           geodec_err *err)
{
    GEODEC_PASS(queries_vjp(t, l, k, gq, scratch, gz, err));
    return keys_and_values_vjp(t, l, k, gk, gv, scratch, gz, err);
}

double *geodec__reference_latent_mixed(const geodec__ref_tape *t) { return t->latent->mixed; }

const double *geodec__reference_latent_result(const geodec__ref_tape *t)
{
    geodec__reference_latent_pack(t, t->n, t->latent->mixed, t->latent->packed);
    return t->latent->packed;
}

void geodec__reference_latent_pack(const geodec__ref_tape *t, int64_t rows, const double *heads, double *packed)
{
    const geodec_model_config *c = &t->r->model->config;
    copy_parts(rows * c->n_head, c->d_latent_value, heads, t->latent->width, packed, c->d_latent_value);
}

void geodec__reference_latent_unpack(const geodec__ref_tape *t, int64_t rows, const double *packed, double *heads)
{
    const geodec_model_config *c = &t->r->model->config;
    memset(heads, 0, (size_t)(rows * c->n_head * t->latent->width) * sizeof *heads);
    copy_parts(rows * c->n_head, c->d_latent_value, packed, c->d_latent_value, heads, t->latent->width);
}
