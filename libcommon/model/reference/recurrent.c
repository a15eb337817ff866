/* The recurrent part of a block, from the normalised stream to the input of its output matrix: the formulas of
 * session/recurrent_internal.h. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "reference/recurrent_internal.h"
#include "reference/recurrent_operators_internal.h"

#include <math.h>
#include <string.h>

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* What is computed of rows, or its tangents or cotangents; each an array [rows][..]. */
struct geodec__ref_recurrent {
    double *in, *gate, *alpha, *beta; /* products of Win, Wz, Wa, Wb; beta as it is multiplied, and taken apart */
    double *z, *cin, *pre, *c;        /* gate of the output; the convolution's input, result, and after SiLU */
    double *x, *low, *dt;             /* products of Wx; dt before and after Wdt, without bias */
    double *g, *b, *v, *k, *q, *y;    /* of the steps; b of SELECTIVE is dt */
    double *s, *h;                    /* SELECTIVE: y + D u, and gated; DELTA: s = N(y) */
    double *part;                     /* scratch */
};
typedef struct geodec__ref_recurrent arrays;

enum { ARRAYS = 20 };

/* Numbers of a row of each. */
typedef struct widths {
    int64_t in, d, heads, keys, width, x, low, part;
} widths;

static widths widths_of(const geodec__recurrent *l)
{
    const geodec_recurrence_shape *p = &l->shape;
    widths w = {.in = l->in.rows, .d = p->d, .heads = geodec_recurrence_heads(p), .keys = p->keys * p->r};
    w.width = p->width;
    w.x = l->x.rows;
    w.low = l->dt.cols;
    w.part = geodec__max(geodec__max(w.in, w.width), geodec__max(w.d, 2 * w.heads));
    return w;
}

geodec_status geodec__reference_recurrent_create(const geodec__recurrent *l, int64_t rows, geodec__ref_recurrent **out,
                                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const widths w = widths_of(l);
    arrays *a = NULL;
    GEODEC_NEW(a, 1);
    const int64_t row[ARRAYS] = {w.in,    w.d,    w.heads, 2 * w.heads, w.d,     w.width, w.width,
                                 w.width, w.x,    w.low,   w.heads,     w.heads, w.heads, w.d,
                                 w.keys,  w.keys, w.d,     w.d,         w.d,     w.part};
    double **const each[ARRAYS] = {&a->in, &a->gate, &a->alpha, &a->beta, &a->z, &a->cin, &a->pre,
                                   &a->c,  &a->x,    &a->low,   &a->dt,   &a->g, &a->b,   &a->v,
                                   &a->k,  &a->q,    &a->y,     &a->s,    &a->h, &a->part};
    int64_t size[ARRAYS] = {0};
    double *memory[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) size[i] = rows * row[i];
    GEODEC_TRY(geodec__reference_scratch(ARRAYS, size, memory, err));
    for (int i = 0; i < ARRAYS; i++) *each[i] = memory[i];
    GEODEC_MOVE(*out, a);
done:
    geodec__reference_recurrent_destroy(a);
    return st;
}

void geodec__reference_recurrent_destroy(geodec__ref_recurrent *a)
{
    if (!a) return;
    GEODEC_FREE(a->in, a);
}

/* The arrays from row `first` on. */
static arrays from_row(const arrays *a, const geodec__recurrent *l, int64_t first)
{
    const widths w = widths_of(l);
    arrays p = *a;
    p.in += first * w.in;
    p.gate += first * w.d;
    p.alpha += first * w.heads;
    p.beta += first * 2 * w.heads;
    p.z += first * w.d;
    p.cin += first * w.width;
    p.pre += first * w.width;
    p.c += first * w.width;
    p.x += first * w.x;
    p.low += first * w.low;
    p.dt += first * w.heads;
    p.g += first * w.heads;
    p.b += first * w.heads;
    p.v += first * w.d;
    p.k += first * w.keys;
    p.q += first * w.keys;
    p.y += first * w.d;
    p.s += first * w.d;
    p.h += first * w.d;
    return p;
}

/* Numbers from .. from + n - 1 of rows of `wide` become numbers to .. of rows of `narrow`, or the other way. */
static void part(int64_t rows, double *whole, int64_t wide, int64_t from, int64_t n, double *one, int64_t narrow,
                 int64_t to, bool back)
{
    for (int64_t t = 0; t < rows; t++) {
        double *a = whole + t * wide + from, *b = one + t * narrow + to;
        memcpy(back ? a : b, back ? b : a, (size_t)n * sizeof *a);
    }
}

/* The products of Win taken apart, or put together. */
static void split(const geodec__recurrent *l, int64_t rows, arrays *a, bool back)
{
    const geodec_recurrence_shape *p = &l->shape;
    const widths w = widths_of(l);
    const int64_t values = p->keys > 0 ? p->d / p->keys : 0, group = 2 * (p->r + values),
                  few = w.heads / geodec__max(p->keys, 1);
    if (l->how == GEODEC__MIXER_SELECTIVE && l->grouped) {
        for (int64_t h = 0; h < w.heads; h++) {
            part(rows, a->in, w.in, 2 * h * p->share, p->share, a->z, w.d, h * p->share, back);
            part(rows, a->in, w.in, (2 * h + 1) * p->share, p->share, a->cin, w.width, h * p->share, back);
        }
    } else if (l->how == GEODEC__MIXER_SELECTIVE) {
        const bool low = l->x.data; /* u before z */
        part(rows, a->in, w.in, low ? w.d : 0, w.d, a->z, w.d, 0, back);
        part(rows, a->in, w.in, low ? 0 : w.d, w.width, a->cin, w.width, 0, back);
        if (!low) part(rows, a->in, w.in, w.d + w.width, w.heads, a->dt, w.heads, 0, back);
    } else if (!l->grouped) {
        part(rows, a->in, w.in, 0, w.width, a->cin, w.width, 0, back);
        part(rows, a->gate, w.d, 0, w.d, a->z, w.d, 0, back);
    } else {
        for (int64_t k = 0; k < p->keys; k++) {
            part(rows, a->in, w.in, k * group, p->r, a->cin, w.width, k * p->r, back);
            part(rows, a->in, w.in, k * group + p->r, p->r, a->cin, w.width, (p->keys + k) * p->r, back);
            part(rows, a->in, w.in, k * group + 2 * p->r, values, a->cin, w.width, 2 * w.keys + k * values, back);
            part(rows, a->in, w.in, k * group + 2 * p->r + values, values, a->z, w.d, k * values, back);
        }
    }
    if (l->how != GEODEC__MIXER_DELTA) return;
    /* b to dt's place of the arrays, which DELTA does not use otherwise */
    if (!l->grouped_beta) part(rows, a->beta, w.heads, 0, w.heads, a->dt, w.heads, 0, back);
    for (int64_t k = 0; l->grouped_beta && k < p->keys; k++) {
        part(rows, a->beta, 2 * w.heads, 2 * k * few, few, a->dt, w.heads, k * few, back);
        part(rows, a->beta, 2 * w.heads, (2 * k + 1) * few, few, a->alpha, w.heads, k * few, back);
    }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* The products of the stream, of values or tangents. */
static geodec_status products(geodec_pool *pool, const geodec__recurrent *l, int64_t rows, const double *z, arrays *a,
                              geodec_err *err)
{
    const struct {
        const geodec__matrix *w;
        double *y;
    } all[] = {{&l->in, a->in}, {&l->gate, a->gate}, {&l->alpha, a->alpha}, {&l->beta, a->beta}};
    for (int i = 0; i < 4; i++)
        if (all[i].w->data) GEODEC_PASS(geodec__reference_product(pool, all[i].w, rows, z, all[i].y, err));
    return GEODEC_OK;
}

/* gz [rows][d_model] from the cotangents of the products. */
static geodec_status products_vjp(geodec_pool *pool, const geodec__recurrent *l, int64_t rows, const arrays *a,
                                  double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *one = NULL;
    const struct {
        const geodec__matrix *w;
        const double *y;
    } all[] = {{&l->gate, a->gate}, {&l->alpha, a->alpha}, {&l->beta, a->beta}};
    GEODEC_TRY(geodec__reference_product_vjp(pool, &l->in, rows, a->in, gz, err));
    GEODEC_NEW(one, rows * l->in.cols);
    for (int i = 0; i < 3; i++) {
        if (!all[i].w->data) continue;
        GEODEC_TRY(geodec__reference_product_vjp(pool, all[i].w, rows, all[i].y, one, err));
        geodec__reference_add(rows * l->in.cols, one, gz);
    }
done:
    geodec_mem_free(one);
    return st;
}

static geodec__ref_steps steps_of(const geodec__recurrent *l, int64_t n, int64_t first, const arrays *a)
{
    const bool delta = l->how == GEODEC__MIXER_DELTA, scan = l->shape.kind == GEODEC_RECURRENCE_SCAN;
    return (geodec__ref_steps){.shape = l->shape,
                               .n = n,
                               .first = first,
                               .g = a->g,
                               .b = delta ? a->b : NULL,
                               .v = a->v,
                               .k = a->k,
                               .q = a->q,
                               .a = scan ? l->a : NULL};
}

/* ---- parts of Wx: dt, B, C --------------------------------------------------------------------------------------- */

typedef struct place {
    int64_t at, n;
    const geodec__norm *norm;
    double *to;
} place;

static void places_of(const geodec__recurrent *l, const arrays *a, place out[3])
{
    const int64_t r = l->shape.r, rank = l->dt.cols, first = l->dt_last ? 0 : rank;
    out[0] = (place){l->dt_last ? 2 * r : 0, rank, &l->dt_norm, a->low};
    out[1] = (place){first, r, &l->b_norm, a->k};
    out[2] = (place){first + r, r, &l->c_norm, a->q};
}

/* Values; with `d`, tangents of k in place of them, or with `back` cotangents. m rows. */
static void norms(const geodec__recurrent *l, int64_t m, const arrays *p, int64_t k, const arrays *d, bool back)
{
    place at[3];
    double *raw = p->part;
    const int64_t wide = l->x.rows;
    places_of(l, d ? d : p, at);
    for (int i = 0; i < 3; i++) {
        const int64_t n = at[i].n;
        part(m, p->x, wide, at[i].at, n, raw, n, 0, false);
        if (!d) {
            memcpy(at[i].to, raw, (size_t)(m * n) * sizeof *raw);
            if (at[i].norm->weight) geodec__reference_norm(m, at[i].norm, raw, at[i].to);
            continue;
        }
        double *one = d->part;
        if (!back) part(k * m, d->x, wide, at[i].at, n, one, n, 0, false);
        const double *from = back ? at[i].to : one;
        double *to = back ? one : at[i].to;
        if (!at[i].norm->weight)
            memcpy(to, from, (size_t)(k * m * n) * sizeof *to);
        else if (back)
            geodec__reference_norm_vjp(m, at[i].norm, raw, k, from, to);
        else
            geodec__reference_norm_jvp(m, at[i].norm, raw, k, from, to);
        if (back) part(k * m, d->x, wide, at[i].at, n, one, n, 0, true);
    }
}

/* B and C of mamba2, parts of the convolution's result. */
static void keys(const geodec__recurrent *l, int64_t rows, arrays *a, bool back)
{
    const widths w = widths_of(l);
    part(rows, a->c, w.width, w.d, w.keys, a->k, w.keys, 0, back);
    part(rows, a->c, w.width, w.d + w.keys, w.keys, a->q, w.keys, 0, back);
}

/* ---- selective state space --------------------------------------------------------------------------------------- */

static geodec_status selective(geodec_pool *pool, const geodec__recurrent *l, int64_t n, arrays *a, double *out,
                               geodec_err *err)
{
    const widths w = widths_of(l);
    const bool scan = l->shape.kind == GEODEC_RECURRENCE_SCAN;
    geodec__reference_silu(n * w.width, a->pre, a->c);
    if (l->x.data) {
        GEODEC_PASS(geodec__reference_product(pool, &l->x, n, a->c, a->x, err));
        norms(l, n, a, 0, NULL, false);
        GEODEC_PASS(geodec__reference_product(pool, &l->dt, n, a->low, a->dt, err));
    } else {
        keys(l, n, a, false);
    }
    geodec__reference_dt(n, w.heads, l->dt_bias, NULL, a->dt, a->b);
    geodec__reference_dt(n, w.heads, l->dt_bias, scan ? NULL : l->a, a->dt, a->g);
    for (int64_t i = 0; i < n * w.d; i++) {
        const int64_t t = i / w.d, c = i % w.d;
        a->v[i] = a->b[t * w.heads + c / l->shape.share] * a->c[t * w.width + c];
    }
    const geodec__ref_steps s = steps_of(l, n, 0, a);
    GEODEC_PASS(geodec__reference_steps(pool, &s, a->y, err));
    geodec__reference_silu(n * w.d, a->z, a->part);
    for (int64_t i = 0; i < n * w.d; i++) {
        const int64_t t = i / w.d, c = i % w.d;
        a->s[i] = a->y[i] + (double)l->skip[c / l->shape.share] * a->c[t * w.width + c];
        a->h[i] = a->part[i] * a->s[i];
    }
    memcpy(out, a->h, (size_t)(n * w.d) * sizeof *out);
    if (l->norm.weight) geodec__reference_norm(n, &l->norm, a->h, out);
    return GEODEC_OK;
}

static geodec_status selective_jvp(geodec_pool *pool, const geodec__recurrent *l, int64_t n, int64_t first, arrays *all,
                                   int64_t k, arrays *d, double *dout, geodec_err *err)
{
    const widths w = widths_of(l);
    const int64_t m = n - first;
    const bool scan = l->shape.kind == GEODEC_RECURRENCE_SCAN;
    const arrays p = from_row(all, l, first);
    geodec__reference_silu_derivative(m * w.width, p.pre, k, d->pre, d->c);
    if (l->x.data) {
        GEODEC_PASS(geodec__reference_product(pool, &l->x, k * m, d->c, d->x, err));
        norms(l, m, &p, k, d, false);
        GEODEC_PASS(geodec__reference_product(pool, &l->dt, k * m, d->low, d->dt, err));
    } else {
        keys(l, k * m, d, false);
    }
    geodec__reference_dt_derivative(m, w.heads, l->dt_bias, NULL, p.dt, k, d->dt, d->b);
    geodec__reference_dt_derivative(m, w.heads, l->dt_bias, scan ? NULL : l->a, p.dt, k, d->dt, d->g);
    for (int64_t i = 0; i < k * m * w.d; i++) {
        const int64_t row = i / w.d, t = row % m, c = i % w.d, h = c / l->shape.share;
        d->v[i] = d->b[row * w.heads + h] * p.c[t * w.width + c] + p.b[t * w.heads + h] * d->c[row * w.width + c];
    }
    const geodec__ref_steps s = steps_of(l, n, first, all);
    GEODEC_PASS(geodec__reference_steps_jvp(pool, &s, k, &(geodec__ref_step_tangents){d->g, NULL, d->v, d->k, d->q},
                                            d->y, err));
    geodec__reference_silu_derivative(m * w.d, p.z, k, d->z, d->part);
    geodec__reference_silu(m * w.d, p.z, p.part);
    for (int64_t i = 0; i < k * m * w.d; i++) {
        const int64_t row = i / w.d, t = row % m, c = i % w.d, at = t * w.d + c;
        d->s[i] = d->y[i] + (double)l->skip[c / l->shape.share] * d->c[row * w.width + c];
        d->h[i] = d->part[i] * p.s[at] + p.part[at] * d->s[i];
    }
    memcpy(dout, d->h, (size_t)(k * m * w.d) * sizeof *dout);
    if (l->norm.weight) geodec__reference_norm_jvp(m, &l->norm, p.h, k, d->h, dout);
    return GEODEC_OK;
}

/* Cotangents of z, g, b, v, k, q, and of u by D, from that of the result. */
static geodec_status selective_back(geodec_pool *pool, const geodec__recurrent *l, int64_t n, int64_t first,
                                    arrays *all, int64_t k, const double *gout, arrays *d, geodec_err *err)
{
    const widths w = widths_of(l);
    const int64_t m = n - first, share = l->shape.share;
    const arrays p = from_row(all, l, first);
    memcpy(d->h, gout, (size_t)(k * m * w.d) * sizeof *gout);
    if (l->norm.weight) geodec__reference_norm_vjp(m, &l->norm, p.h, k, gout, d->h);
    geodec__reference_silu(m * w.d, p.z, p.part);
    for (int64_t i = 0; i < k * m * w.d; i++) {
        const int64_t at = i / w.d % m * w.d + i % w.d;
        d->y[i] = p.part[at] * d->h[i];
        d->part[i] = p.s[at] * d->h[i];
    }
    geodec__reference_silu_derivative(m * w.d, p.z, k, d->part, d->z);
    const geodec__ref_steps s = steps_of(l, n, first, all);
    GEODEC_PASS(geodec__reference_steps_vjp(pool, &s, k, d->y,
                                            &(geodec__ref_step_tangents){d->g, NULL, d->v, d->k, d->q}, err));
    memset(d->c, 0, (size_t)(k * m * w.width) * sizeof(double));
    memset(d->b, 0, (size_t)(k * m * w.heads) * sizeof(double));
    for (int64_t i = 0; i < k * m * w.d; i++) {
        const int64_t row = i / w.d, t = row % m, c = i % w.d, h = c / share;
        d->c[row * w.width + c] = (double)l->skip[h] * d->y[i] + p.b[t * w.heads + h] * d->v[i];
        d->b[row * w.heads + h] += p.c[t * w.width + c] * d->v[i];
    }
    return GEODEC_OK;
}

static geodec_status selective_vjp(geodec_pool *pool, const geodec__recurrent *l, int64_t n, int64_t first, arrays *all,
                                   int64_t k, const double *gout, arrays *d, geodec_err *err)
{
    const widths w = widths_of(l);
    const int64_t m = n - first;
    const bool scan = l->shape.kind == GEODEC_RECURRENCE_SCAN;
    const arrays p = from_row(all, l, first);
    GEODEC_PASS(selective_back(pool, l, n, first, all, k, gout, d, err));
    geodec__reference_dt_derivative(m, w.heads, l->dt_bias, NULL, p.dt, k, d->b, d->b);
    geodec__reference_dt_derivative(m, w.heads, l->dt_bias, scan ? NULL : l->a, p.dt, k, d->g, d->g);
    for (int64_t i = 0; i < k * m * w.heads; i++) d->dt[i] = d->b[i] + d->g[i];
    if (l->x.data) {
        GEODEC_PASS(geodec__reference_product_vjp(pool, &l->dt, k * m, d->dt, d->low, err));
        norms(l, m, &p, k, d, true);
        GEODEC_PASS(geodec__reference_product_vjp(pool, &l->x, k * m, d->x, d->part, err));
        geodec__reference_add(k * m * w.width, d->part, d->c);
    } else {
        keys(l, k * m, d, true); /* places of c that hold nothing yet */
    }
    geodec__reference_silu_derivative(m * w.width, p.pre, k, d->c, d->pre);
    return GEODEC_OK;
}

/* ---- gated delta rule -------------------------------------------------------------------------------------------- */

/* Keys, queries and values of the convolution's result: k and q are taken apart here, normed by delta_units. */
static void delta_parts(const geodec__recurrent *l, int64_t rows, arrays *a, bool back)
{
    const widths w = widths_of(l);
    part(rows, a->c, w.width, 0, w.keys, a->q, w.keys, 0, back);
    part(rows, a->c, w.width, w.keys, w.keys, a->k, w.keys, 0, back);
    part(rows, a->c, w.width, 2 * w.keys, w.d, a->v, w.d, 0, back);
}

static geodec_status delta(geodec_pool *pool, const geodec__recurrent *l, double eps, int64_t n, arrays *a, double *out,
                           geodec_err *err)
{
    const widths w = widths_of(l);
    const int64_t r = l->shape.r, units = n * l->shape.keys;
    geodec__reference_silu(n * w.width, a->pre, a->c);
    delta_parts(l, n, a, false);
    geodec__reference_unit(units, r, eps, 1 / sqrt((double)r), a->q, a->q);
    geodec__reference_unit(units, r, eps, 1, a->k, a->k);
    geodec__reference_dt(n, w.heads, l->dt_bias, l->a, a->alpha, a->g);
    for (int64_t i = 0; i < n * w.heads; i++) a->b[i] = geodec__reference_sigmoid(a->dt[i]);
    const geodec__ref_steps s = steps_of(l, n, 0, a);
    GEODEC_PASS(geodec__reference_steps(pool, &s, a->y, err));
    geodec__reference_norm(n, &l->norm, a->y, a->s);
    geodec__reference_silu(n * w.d, a->z, out);
    for (int64_t i = 0; i < n * w.d; i++) out[i] *= a->s[i];
    return GEODEC_OK;
}

/* The derivative of q and k as unit vectors: symmetric. d->q and d->k in place; the point's raw ones are in c. */
static void delta_units(const geodec__recurrent *l, double eps, int64_t m, const arrays *p, int64_t k, arrays *d)
{
    const widths w = widths_of(l);
    const int64_t r = l->shape.r, units = m * l->shape.keys;
    part(m, p->c, w.width, 0, w.keys, p->part, w.keys, 0, false);
    geodec__reference_unit_derivative(units, r, eps, 1 / sqrt((double)r), p->part, k, d->q, d->q);
    part(m, p->c, w.width, w.keys, w.keys, p->part, w.keys, 0, false);
    geodec__reference_unit_derivative(units, r, eps, 1, p->part, k, d->k, d->k);
}

static void sigmoid_derivative(int64_t n, const double *y, int64_t k, const double *dx, double *dy)
{
    for (int64_t i = 0; i < k * n; i++) dy[i] = y[i % n] * (1 - y[i % n]) * dx[i];
}

static geodec_status delta_jvp(geodec_pool *pool, const geodec__recurrent *l, double eps, int64_t n, int64_t first,
                               arrays *all, int64_t k, arrays *d, double *dout, geodec_err *err)
{
    const widths w = widths_of(l);
    const int64_t m = n - first;
    const arrays p = from_row(all, l, first);
    geodec__reference_silu_derivative(m * w.width, p.pre, k, d->pre, d->c);
    delta_parts(l, k * m, d, false);
    delta_units(l, eps, m, &p, k, d);
    geodec__reference_dt_derivative(m, w.heads, l->dt_bias, l->a, p.alpha, k, d->alpha, d->g);
    sigmoid_derivative(m * w.heads, p.b, k, d->dt, d->b);
    const geodec__ref_steps s = steps_of(l, n, first, all);
    GEODEC_PASS(geodec__reference_steps_jvp(pool, &s, k, &(geodec__ref_step_tangents){d->g, d->b, d->v, d->k, d->q},
                                            d->y, err));
    geodec__reference_norm_jvp(m, &l->norm, p.y, k, d->y, d->s);
    geodec__reference_silu_derivative(m * w.d, p.z, k, d->z, dout);
    geodec__reference_silu(m * w.d, p.z, p.part);
    for (int64_t i = 0; i < k * m * w.d; i++) {
        const int64_t at = i % (m * w.d);
        dout[i] = dout[i] * p.s[at] + p.part[at] * d->s[i];
    }
    return GEODEC_OK;
}

static geodec_status delta_vjp(geodec_pool *pool, const geodec__recurrent *l, double eps, int64_t n, int64_t first,
                               arrays *all, int64_t k, const double *gout, arrays *d, geodec_err *err)
{
    const widths w = widths_of(l);
    const int64_t m = n - first;
    const arrays p = from_row(all, l, first);
    geodec__reference_silu(m * w.d, p.z, p.part);
    for (int64_t i = 0; i < k * m * w.d; i++) {
        const int64_t at = i % (m * w.d);
        d->s[i] = p.part[at] * gout[i];
        d->part[i] = p.s[at] * gout[i];
    }
    geodec__reference_silu_derivative(m * w.d, p.z, k, d->part, d->z);
    geodec__reference_norm_vjp(m, &l->norm, p.y, k, d->s, d->y);
    const geodec__ref_steps s = steps_of(l, n, first, all);
    GEODEC_PASS(geodec__reference_steps_vjp(pool, &s, k, d->y,
                                            &(geodec__ref_step_tangents){d->g, d->b, d->v, d->k, d->q}, err));
    sigmoid_derivative(m * w.heads, p.b, k, d->b, d->dt);
    geodec__reference_dt_derivative(m, w.heads, l->dt_bias, l->a, p.alpha, k, d->g, d->alpha);
    delta_units(l, eps, m, &p, k, d);
    delta_parts(l, k * m, d, true);
    geodec__reference_silu_derivative(m * w.width, p.pre, k, d->c, d->pre);
    return GEODEC_OK;
}

/* ---- short convolution: in is b, c, u; the convolution's input b * u ----------------------------------------------
 */

/* y = x * part `which` of the products. */
static void times(int64_t rows, int64_t width, const double *in, int64_t n, int which, const double *x, double *y)
{
    for (int64_t i = 0; i < rows * width; i++) y[i] = in[i / width % n * 3 * width + which * width + i % width] * x[i];
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

geodec_status geodec__reference_recurrent_run(const geodec_reference *r, const geodec__recurrent *l, int64_t n,
                                              const double *z, geodec__ref_recurrent *a, double *out, geodec_err *err)
{
    const int64_t width = l->shape.width;
    GEODEC_PASS(products(r->pool, l, n, z, a, err));
    if (l->how == GEODEC__MIXER_SHORT) {
        part(n, a->in, 3 * width, 0, width, a->pre, width, 0, false);
        times(n, width, a->in, n, 2, a->pre, a->cin);
        geodec__reference_convolve(&l->shape, l->conv, l->conv_bias, n, 1, a->cin, a->c);
        times(n, width, a->in, n, 1, a->c, out);
        return GEODEC_OK;
    }
    split(l, n, a, false);
    geodec__reference_convolve(&l->shape, l->conv, l->conv_bias, n, 1, a->cin, a->pre);
    if (l->how == GEODEC__MIXER_SELECTIVE) return selective(r->pool, l, n, a, out, err);
    return delta(r->pool, l, (double)r->model->config.rms_eps, n, a, out, err);
}

geodec_status geodec__reference_recurrent_jvp(const geodec_reference *r, const geodec__recurrent *l, int64_t n,
                                              int64_t first, geodec__ref_recurrent *a, int64_t k, const double *dz,
                                              double *dout, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t m = n - first, width = l->shape.width;
    const arrays p = from_row(a, l, first);
    arrays *d = NULL;
    GEODEC_TRY(geodec__reference_recurrent_create(l, k * m, &d, err));
    GEODEC_TRY(products(r->pool, l, k * m, dz, d, err));
    if (l->how == GEODEC__MIXER_SHORT) {
        for (int64_t i = 0; i < k * m * width; i++) {
            const double *at = p.in + i / width % m * 3 * width + i % width,
                         *t = d->in + i / width * 3 * width + i % width;
            d->cin[i] = t[0] * at[2 * width] + at[0] * t[2 * width];
        }
        geodec__reference_convolve(&l->shape, l->conv, NULL, m, k, d->cin, d->c);
        for (int64_t i = 0; i < k * m * width; i++)
            dout[i] = d->in[i / width * 3 * width + width + i % width] * p.c[i % (m * width)] +
                      p.in[i / width % m * 3 * width + width + i % width] * d->c[i];
        goto done;
    }
    split(l, k * m, d, false);
    geodec__reference_convolve(&l->shape, l->conv, NULL, m, k, d->cin, d->pre);
    if (l->how == GEODEC__MIXER_SELECTIVE)
        GEODEC_TRY(selective_jvp(r->pool, l, n, first, a, k, d, dout, err));
    else
        GEODEC_TRY(delta_jvp(r->pool, l, (double)r->model->config.rms_eps, n, first, a, k, d, dout, err));
done:
    geodec__reference_recurrent_destroy(d);
    return st;
}

geodec_status geodec__reference_recurrent_vjp(const geodec_reference *r, const geodec__recurrent *l, int64_t n,
                                              int64_t first, geodec__ref_recurrent *a, int64_t k, const double *gout,
                                              double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t m = n - first, width = l->shape.width;
    const arrays p = from_row(a, l, first);
    arrays *d = NULL;
    GEODEC_TRY(geodec__reference_recurrent_create(l, k * m, &d, err));
    if (l->how == GEODEC__MIXER_SHORT) {
        times(k * m, width, p.in, m, 1, gout, d->c);
        geodec__reference_convolve_vjp(&l->shape, l->conv, m, k, d->c, d->cin);
        for (int64_t i = 0; i < k * m * width; i++) {
            const double *at = p.in + i / width % m * 3 * width + i % width;
            double *to = d->in + i / width * 3 * width + i % width;
            to[0] = at[2 * width] * d->cin[i];
            to[width] = p.c[i % (m * width)] * gout[i];
            to[2 * width] = at[0] * d->cin[i];
        }
    } else {
        if (l->how == GEODEC__MIXER_SELECTIVE)
            GEODEC_TRY(selective_vjp(r->pool, l, n, first, a, k, gout, d, err));
        else
            GEODEC_TRY(delta_vjp(r->pool, l, (double)r->model->config.rms_eps, n, first, a, k, gout, d, err));
        geodec__reference_convolve_vjp(&l->shape, l->conv, m, k, d->pre, d->cin);
        split(l, k * m, d, true);
    }
    GEODEC_TRY(products_vjp(r->pool, l, k * m, d, gz, err));
done:
    geodec__reference_recurrent_destroy(d);
    return st;
}
