#include "reference/recurrent_operators_internal.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

/* ---- convolution ------------------------------------------------------------------------------------------------- */

void geodec__reference_convolve(const geodec_recurrence_shape *s, const float *weight, const float *bias, int64_t n,
                                int64_t k, const double *x, double *y)
{
    const int64_t w = s->width;
    for (int64_t row = 0; row < k * n; row++) {
        double *out = y + row * w;
        for (int64_t c = 0; c < w; c++) out[c] = bias ? (double)bias[c] : 0;
        for (int64_t j = 0; j < s->taps; j++) {
            const int64_t back = s->taps - 1 - j;
            if (row % n < back) continue;
            for (int64_t c = 0; c < w; c++) out[c] += (double)weight[j * w + c] * x[(row - back) * w + c];
        }
    }
}

void geodec__reference_convolve_vjp(const geodec_recurrence_shape *s, const float *weight, int64_t n, int64_t k,
                                    const double *gy, double *gx)
{
    const int64_t w = s->width;
    for (int64_t row = 0; row < k * n; row++) {
        double *out = gx + row * w;
        memset(out, 0, (size_t)w * sizeof *out);
        for (int64_t j = 0; j < s->taps; j++) {
            const int64_t on = s->taps - 1 - j;
            if (row % n + on >= n) continue;
            for (int64_t c = 0; c < w; c++) out[c] += (double)weight[j * w + c] * gy[(row + on) * w + c];
        }
    }
}

/* ---- elementwise and row-wise ------------------------------------------------------------------------------------ */

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

void geodec__reference_silu(int64_t n, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * sigmoid(x[i]);
}

void geodec__reference_silu_derivative(int64_t n, const double *x, int64_t k, const double *dx, double *dy)
{
    for (int64_t i = 0; i < n; i++) {
        const double s = sigmoid(x[i]), slope = s * (1 + x[i] * (1 - s));
        for (int64_t j = 0; j < k; j++) dy[j * n + i] = slope * dx[j * n + i];
    }
}

static double length(int64_t d, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < d; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

void geodec__reference_unit(int64_t n, int64_t d, double eps, double scale, const double *x, double *y)
{
    for (int64_t t = 0; t < n; t++, x += d, y += d) {
        const double factor = scale / fmax(length(d, x), eps);
        for (int64_t i = 0; i < d; i++) y[i] = factor * x[i];
    }
}

void geodec__reference_unit_derivative(int64_t n, int64_t d, double eps, double scale, const double *x, int64_t k,
                                       const double *dx, double *dy)
{
    for (int64_t t = 0; t < n; t++, x += d) {
        const double size = length(d, x), factor = scale / fmax(size, eps);
        for (int64_t j = 0; j < k; j++) {
            const double *in = dx + (j * n + t) * d;
            double *out = dy + (j * n + t) * d, dot = 0;
            for (int64_t i = 0; i < d; i++) dot += x[i] * in[i];
            const double along = size > eps ? dot / (size * size) : 0;
            for (int64_t i = 0; i < d; i++) out[i] = factor * (in[i] - along * x[i]);
        }
    }
}

static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

void geodec__reference_dt(int64_t n, int64_t d, const float *bias, const float *rate, const double *x, double *y)
{
    for (int64_t i = 0; i < n * d; i++) {
        const double dt = softplus(x[i] + (double)bias[i % d]);
        y[i] = rate ? exp((double)rate[i % d] * dt) : dt;
    }
}

void geodec__reference_dt_derivative(int64_t n, int64_t d, const float *bias, const float *rate, const double *x,
                                     int64_t k, const double *dx, double *dy)
{
    for (int64_t i = 0; i < n * d; i++) {
        const double at = x[i] + (double)bias[i % d], a = rate ? (double)rate[i % d] : 0;
        const double slope = sigmoid(at) * (rate ? a * exp(a * softplus(at)) : 1);
        for (int64_t j = 0; j < k; j++) dy[j * n * d + i] = slope * dx[j * n * d + i];
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* One channel of a sequence. */
typedef struct channel {
    const geodec__ref_steps *s;
    int64_t i, head, heads, r, wide; /* its number, its head; numbers of a row of keys */
    int64_t key;                     /* of its key in such a row */
    const float *a;
} channel;

static channel channel_of(const geodec__ref_steps *s, int64_t i)
{
    const geodec_recurrence_shape *p = &s->shape;
    channel c = {.s = s, .i = i, .head = i / p->share, .heads = geodec_recurrence_heads(p), .r = p->r};
    c.wide = p->keys * p->r;
    c.key = geodec_recurrence_key(p, c.head) * p->r;
    c.a = s->a ? s->a + i * geodec_recurrence_stride(p->r) : NULL;
    return c;
}

/* What a row has for the channel. */
typedef struct at_row {
    double g, b, v;
    const double *k, *q;
} at_row;

static at_row row_of(const channel *c, int64_t t)
{
    const geodec__ref_steps *s = c->s;
    return (at_row){.g = s->g[t * c->heads + c->head],
                    .b = s->b ? s->b[t * c->heads + c->head] : 0,
                    .v = s->v[t * s->shape.d + c->i],
                    .k = s->k + t * c->wide + c->key,
                    .q = s->q + t * c->wide + c->key};
}

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += x[j] * y[j];
    return sum;
}

/* Factor of number j of the state. */
static double keeps(const channel *c, const at_row *x, int64_t j)
{
    return c->s->shape.kind == GEODEC_RECURRENCE_SCAN ? exp(x->g * (double)c->a[j]) : x->g;
}

/* What is not known yet of v (DELTA), or v. */
static double rest(const channel *c, const at_row *x, const double *from)
{
    return c->s->shape.kind == GEODEC_RECURRENCE_DELTA ? x->v - x->g * dot(c->r, from, x->k) : x->v;
}

/* The state after a row; to may be from. */
static void step(const channel *c, const at_row *x, const double *from, double *to)
{
    const double u = (c->s->shape.kind == GEODEC_RECURRENCE_DELTA ? x->b : 1) * rest(c, x, from);
    for (int64_t j = 0; j < c->r; j++) to[j] = keeps(c, x, j) * from[j] + u * x->k[j];
}

typedef struct work {
    const geodec__ref_steps *s;
    int64_t k;
    const geodec__ref_step_tangents *d;
    const double *gy;
    double *y;
    double *scratch;
    int64_t room; /* numbers of a worker */
} work;

static void forward_task(void *ctx, int64_t i, int worker)
{
    const work *w = ctx;
    const channel c = channel_of(w->s, i);
    double *state = w->scratch + worker * w->room;
    memset(state, 0, (size_t)c.r * sizeof *state);
    for (int64_t t = 0; t < w->s->n; t++) {
        const at_row x = row_of(&c, t);
        step(&c, &x, state, state);
        w->y[t * w->s->shape.d + i] = dot(c.r, state, x.q);
    }
}

/* The tangents of a row for the channel; m rows of a tangent, t counted from `first`. */
static at_row tangent_of(const channel *c, const geodec__ref_step_tangents *d, int64_t row)
{
    return (at_row){.g = d->g[row * c->heads + c->head],
                    .b = c->s->shape.kind == GEODEC_RECURRENCE_DELTA ? d->b[row * c->heads + c->head] : 0,
                    .v = d->v[row * c->s->shape.d + c->i],
                    .k = d->k + row * c->wide + c->key,
                    .q = d->q + row * c->wide + c->key};
}

/* ds becomes the tangent of the state after a row, from that of the state `from` before it. */
static void step_tangent(const channel *c, const at_row *x, const at_row *dx, const double *from, double *ds)
{
    const bool delta = c->s->shape.kind == GEODEC_RECURRENCE_DELTA, scan = c->s->shape.kind == GEODEC_RECURRENCE_SCAN;
    const double free = rest(c, x, from), u = (delta ? x->b : 1) * free;
    double du = dx->v;
    if (delta) {
        const double known = dx->g * dot(c->r, from, x->k) + x->g * (dot(c->r, ds, x->k) + dot(c->r, from, dx->k));
        du = dx->b * free + x->b * (dx->v - known);
    }
    for (int64_t j = 0; j < c->r; j++) {
        const double e = keeps(c, x, j), de = scan ? e * (double)c->a[j] * dx->g : dx->g;
        ds[j] = de * from[j] + e * ds[j] + du * x->k[j] + u * dx->k[j];
    }
}

static void jvp_task(void *ctx, int64_t i, int worker)
{
    const work *w = ctx;
    const geodec__ref_steps *s = w->s;
    const channel c = channel_of(s, i);
    const int64_t m = s->n - s->first;
    double *state = w->scratch + worker * w->room, *next = state + c.r, *ds = next + c.r;
    memset(state, 0, (size_t)((2 + w->k) * c.r) * sizeof *state);
    for (int64_t t = 0; t < s->n; t++) {
        const at_row x = row_of(&c, t);
        step(&c, &x, state, next);
        for (int64_t j = 0; j < w->k && t >= s->first; j++) {
            const int64_t row = j * m + t - s->first;
            const at_row dx = tangent_of(&c, w->d, row);
            step_tangent(&c, &x, &dx, state, ds + j * c.r);
            w->y[row * s->shape.d + i] = dot(c.r, ds + j * c.r, x.q) + dot(c.r, next, dx.q);
        }
        memcpy(state, next, (size_t)c.r * sizeof *state);
    }
}

/* A row of the transpose: `back` is the cotangent of the state after it, and becomes that of the state `from` before.
 * `to`: the state after it. */
static void step_cotangent(const channel *c, const at_row *x, const double *from, const double *to, double gy,
                           double *back, const geodec__ref_step_tangents *d, int64_t row)
{
    const bool delta = c->s->shape.kind == GEODEC_RECURRENCE_DELTA, scan = c->s->shape.kind == GEODEC_RECURRENCE_SCAN;
    double *gk = d->k + row * c->wide + c->key, *gq = d->q + row * c->wide + c->key;
    double *gg = d->g + row * c->heads + c->head, *gv = d->v + row * c->s->shape.d + c->i;
    const double free = rest(c, x, from), u = (delta ? x->b : 1) * free;
    for (int64_t j = 0; j < c->r; j++) {
        gq[j] += gy * to[j];
        back[j] += gy * x->q[j];
        gk[j] += u * back[j];
    }
    const double gu = dot(c->r, back, x->k);
    if (delta) {
        d->b[row * c->heads + c->head] += gu * free;
        const double known = -x->b * gu; /* cotangent of (g S) . k */
        for (int64_t j = 0; j < c->r; j++) {
            gk[j] += known * x->g * from[j];
            back[j] += known * x->k[j];
        }
    }
    *gv += (delta ? x->b : 1) * gu;
    for (int64_t j = 0; j < c->r; j++) {
        const double e = keeps(c, x, j);
        *gg += back[j] * from[j] * (scan ? e * (double)c->a[j] : 1);
        back[j] *= e;
    }
}

/* A cotangent: keys and gates are sums over channels, in ascending order. */
static void vjp_task(void *ctx, int64_t j, int worker)
{
    const work *w = ctx;
    const geodec__ref_steps *s = w->s;
    const int64_t m = s->n - s->first, r = s->shape.r;
    double *state = w->scratch + worker * w->room, *back = state + (m + 1) * r; /* states before and after the rows */
    for (int64_t i = 0; i < s->shape.d; i++) {
        const channel c = channel_of(s, i);
        memset(state, 0, (size_t)r * sizeof *state);
        for (int64_t t = 0; t < s->n; t++) {
            const at_row x = row_of(&c, t);
            const int64_t at = t < s->first ? 0 : t - s->first;
            step(&c, &x, state + at * r, t < s->first ? state : state + (at + 1) * r);
        }
        memset(back, 0, (size_t)r * sizeof *back);
        for (int64_t t = m - 1; t >= 0; t--) {
            const at_row x = row_of(&c, s->first + t);
            step_cotangent(&c, &x, state + t * r, state + (t + 1) * r, w->gy[(j * m + t) * s->shape.d + i], back, w->d,
                           j * m + t);
        }
    }
}

static geodec_status run(geodec_pool *pool, work *w, int64_t tasks, int64_t room, geodec_pool_fn task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    w->room = room;
    GEODEC_NEW(w->scratch, geodec_pool_threads(pool) * room);
    geodec_pool_run_dynamic(pool, tasks, task, w);
done:
    geodec_mem_free(w->scratch);
    return st;
}

geodec_status geodec__reference_steps(geodec_pool *pool, const geodec__ref_steps *s, double *y, geodec_err *err)
{
    return run(pool, &(work){.s = s, .y = y}, s->shape.d, s->shape.r, forward_task, err);
}

geodec_status geodec__reference_steps_jvp(geodec_pool *pool, const geodec__ref_steps *s, int64_t k,
                                          const geodec__ref_step_tangents *d, double *dy, geodec_err *err)
{
    return run(pool, &(work){.s = s, .k = k, .d = d, .y = dy}, s->shape.d, (2 + k) * s->shape.r, jvp_task, err);
}

geodec_status geodec__reference_steps_vjp(geodec_pool *pool, const geodec__ref_steps *s, int64_t k, const double *gy,
                                          const geodec__ref_step_tangents *d, geodec_err *err)
{
    const geodec_recurrence_shape *p = &s->shape;
    const int64_t rows = k * (s->n - s->first), heads = geodec_recurrence_heads(p), wide = p->keys * p->r;
    memset(d->g, 0, (size_t)(rows * heads) * sizeof(double));
    if (p->kind == GEODEC_RECURRENCE_DELTA) memset(d->b, 0, (size_t)(rows * heads) * sizeof(double));
    memset(d->v, 0, (size_t)(rows * p->d) * sizeof(double));
    memset(d->k, 0, (size_t)(rows * wide) * sizeof(double));
    memset(d->q, 0, (size_t)(rows * wide) * sizeof(double));
    return run(pool, &(work){.s = s, .k = k, .d = d, .gy = gy}, k, (s->n - s->first + 2) * p->r, vjp_task, err);
}
