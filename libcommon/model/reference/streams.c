/* A residual of several streams, and the path beside attention (session/streams.c). The streams of rows lie one behind
 * the other: x [K][n][d_model], tangents and cotangents [K][k][n - first][d_model], the active stream first.
 *
 * With m(z) = tanh(R N(z) / d):
 *     predict   C = P m(X_0),  p_i = X_i + sum_j C_ij X_j
 *     correct   c = 1 + Q m(z),  X_i = p_i + c_i (z - p_0)
 *     turn      y = v |x| / |v|,  dy = dv |x| / |v| + v ((x . dx) / (|x| |v|) - |x| (v . dv) / |v|^3) */
#include "base/mem.h"
#include "linalg/blas.h"
#include "reference/reference_internal.h"

#include <math.h>
#include <string.h>

int64_t geodec__reference_streams(const geodec_reference *r)
{
    return r->model->config.n_streams > 0 ? r->model->config.n_streams : 1;
}

/* y += c x over n values */
static void add_scaled(int64_t n, double c, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] += c * x[i];
}

/* ---- m(z) -------------------------------------------------------------------------------------------------------- */

static geodec_status modes(const geodec__ref_tape *t, const geodec__layer *l, const double *z, double *m,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, size = t->n * l->streams_router.rows;
    double *normed = NULL;
    GEODEC_NEW(normed, t->n * d);
    geodec__reference_norm(t->n, &l->streams_norm, z, normed);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->streams_router, t->n, normed, m, err));
    for (int64_t i = 0; i < size; i++) m[i] = tanh(m[i] / (double)d);
done:
    geodec_mem_free(normed);
    return st;
}

/* The slope of the tanh on [k][n - first][K] tangents or cotangents, divided by d. */
static void through_tanh(const geodec__ref_tape *t, int64_t k, const double *m, double *y)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t each = (t->n - t->first) * c->n_streams;
    for (int64_t i = 0; i < k * each; i++) {
        const double at = m[t->first * c->n_streams + i % each];
        y[i] *= (1 - at * at) / (double)c->d_model;
    }
}

/* dm [k][n - first][K]; normed is scratch of the size of dz. */
static geodec_status modes_jvp(const geodec__ref_tape *t, const geodec__layer *l, const double *z, const double *m,
                               int64_t k, const double *dz, double *normed, double *dm, geodec_err *err)
{
    const int64_t d = t->r->model->config.d_model, n = t->n - t->first;
    geodec__reference_norm_jvp(n, &l->streams_norm, z + t->first * d, k, dz, normed);
    GEODEC_PASS(geodec__reference_product(t->r->pool, &l->streams_router, k * n, normed, dm, err));
    through_tanh(t, k, m, dm);
    return GEODEC_OK;
}

/* gz += the cotangent of z; gm is overwritten, normed is scratch of the size of gz. */
static geodec_status modes_vjp(const geodec__ref_tape *t, const geodec__layer *l, const double *z, const double *m,
                               int64_t k, double *gm, double *normed, double *gz, geodec_err *err)
{
    const int64_t d = t->r->model->config.d_model, n = t->n - t->first;
    through_tanh(t, k, m, gm);
    GEODEC_PASS(geodec__reference_product_vjp(t->r->pool, &l->streams_router, k * n, gm, normed, err));
    geodec__reference_norm_vjp(n, &l->streams_norm, z + t->first * d, k, normed, normed);
    geodec__reference_add(k * n * d, normed, gz);
    return GEODEC_OK;
}

/* Element (row, column) of a matrix of K columns. */
static double coefficient(const float *w, int64_t row, int64_t column, int64_t streams)
{
    return (double)w[row * geodec__pad(streams) + column];
}

static double coefficient_of(const float *w, int64_t row, const double *m, int64_t streams)
{
    double sum = 0;
    for (int64_t i = 0; i < streams; i++) sum += coefficient(w, row, i, streams) * m[i];
    return sum;
}

/* ---- before and behind the halves of a block --------------------------------------------------------------------- */

geodec_status geodec__reference_predict(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    const int64_t d = t->r->model->config.d_model, K = t->r->model->config.n_streams, size = t->n * d;
    if (K == 0) return GEODEC_OK;
    memcpy(t->streams_in, x, (size_t)(K * size) * sizeof *x);
    GEODEC_PASS(modes(t, l, x, t->modes_in, err));
    for (int64_t i = 0; i < K; i++)
        for (int64_t j = 0; j < K; j++)
            for (int64_t row = 0; row < t->n; row++) {
                const double c = coefficient_of(l->streams_predict, i * K + j, t->modes_in + row * K, K);
                add_scaled(d, c, t->streams_in + j * size + row * d, x + i * size + row * d);
            }
    return GEODEC_OK;
}

geodec_status geodec__reference_predict_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, K = t->r->model->config.n_streams, n = t->n - t->first;
    const int64_t size = k * n * d;
    double *buffer[3] = {NULL};
    if (K == 0) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){K * size, size, k * n * K}, buffer, err));
    double *from = buffer[0], *normed = buffer[1], *dm = buffer[2];
    memcpy(from, dx, (size_t)(K * size) * sizeof *dx);
    GEODEC_TRY(modes_jvp(t, l, t->streams_in, t->modes_in, k, from, normed, dm, err));
    for (int64_t i = 0; i < K; i++)
        for (int64_t j = 0; j < K; j++)
            for (int64_t row = 0; row < k * n; row++) {
                const int64_t at = t->first + row % n;
                const double c = coefficient_of(l->streams_predict, i * K + j, t->modes_in + at * K, K);
                const double dc = coefficient_of(l->streams_predict, i * K + j, dm + row * K, K);
                add_scaled(d, c, from + j * size + row * d, dx + i * size + row * d);
                add_scaled(d, dc, t->streams_in + (j * t->n + at) * d, dx + i * size + row * d);
            }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_predict_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gx,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, K = t->r->model->config.n_streams, n = t->n - t->first;
    const int64_t size = k * n * d;
    double *buffer[3] = {NULL};
    if (K == 0) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){K * size, size, k * n * K}, buffer, err));
    double *from = buffer[0], *normed = buffer[1], *gm = buffer[2];
    memcpy(from, gx, (size_t)(K * size) * sizeof *gx);
    for (int64_t i = 0; i < K; i++)
        for (int64_t j = 0; j < K; j++)
            for (int64_t row = 0; row < k * n; row++) {
                const int64_t at = t->first + row % n;
                const double *g = from + i * size + row * d;
                const double c = coefficient_of(l->streams_predict, i * K + j, t->modes_in + at * K, K);
                const double gc = geodec_blas_dot(d, g, t->streams_in + (j * t->n + at) * d);
                add_scaled(d, c, g, gx + j * size + row * d);
                for (int64_t m = 0; m < K; m++)
                    gm[row * K + m] += gc * coefficient(l->streams_predict, i * K + j, m, K);
            }
    GEODEC_TRY(modes_vjp(t, l, t->streams_in, t->modes_in, k, gm, normed, gx, err));
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* p_0, the stream that the block's first half read, is t->x. */
geodec_status geodec__reference_correct(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    const int64_t d = t->r->model->config.d_model, K = t->r->model->config.n_streams, size = t->n * d;
    if (K == 0) return GEODEC_OK;
    memcpy(t->stream_out, x, (size_t)size * sizeof *x);
    GEODEC_PASS(modes(t, l, x, t->modes_out, err));
    memcpy(x, t->x, (size_t)size * sizeof *x);
    for (int64_t i = 0; i < K; i++)
        for (int64_t row = 0; row < t->n; row++) {
            const double c = 1 + coefficient_of(l->streams_correct, i, t->modes_out + row * K, K);
            const double *z = t->stream_out + row * d, *p = t->x + row * d;
            for (int64_t a = 0; a < d; a++) x[i * size + row * d + a] += c * (z[a] - p[a]);
        }
    return GEODEC_OK;
}

geodec_status geodec__reference_correct_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *dp, double *dx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, K = t->r->model->config.n_streams, n = t->n - t->first;
    const int64_t size = k * n * d;
    double *buffer[3] = {NULL};
    if (K == 0) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){size, size, k * n * K}, buffer, err));
    double *dz = buffer[0], *normed = buffer[1], *dm = buffer[2];
    memcpy(dz, dx, (size_t)size * sizeof *dx);
    GEODEC_TRY(modes_jvp(t, l, t->stream_out, t->modes_out, k, dz, normed, dm, err));
    memcpy(dx, dp, (size_t)size * sizeof *dx);
    for (int64_t i = 0; i < K; i++)
        for (int64_t row = 0; row < k * n; row++) {
            const int64_t at = t->first + row % n;
            const double c = 1 + coefficient_of(l->streams_correct, i, t->modes_out + at * K, K);
            const double dc = coefficient_of(l->streams_correct, i, dm + row * K, K);
            const double *z = t->stream_out + at * d, *p = t->x + at * d;
            double *y = dx + i * size + row * d;
            for (int64_t a = 0; a < d; a++) y[a] += c * (dz[row * d + a] - dp[row * d + a]) + dc * (z[a] - p[a]);
        }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_correct_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gp,
                                            double *gx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, K = t->r->model->config.n_streams, n = t->n - t->first;
    const int64_t size = k * n * d;
    double *buffer[3] = {NULL};
    if (K == 0) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){size, size, k * n * K}, buffer, err));
    double *gz = buffer[0], *normed = buffer[1], *gm = buffer[2];
    memcpy(gp, gx, (size_t)size * sizeof *gx);
    for (int64_t i = 0; i < K; i++)
        for (int64_t row = 0; row < k * n; row++) {
            const int64_t at = t->first + row % n;
            const double c = 1 + coefficient_of(l->streams_correct, i, t->modes_out + at * K, K);
            const double *g = gx + i * size + row * d, *z = t->stream_out + at * d, *p = t->x + at * d;
            const double gc = geodec_blas_dot(d, g, z) - geodec_blas_dot(d, g, p);
            add_scaled(d, c, g, gz + row * d);
            add_scaled(d, -c, g, gp + row * d);
            for (int64_t m = 0; m < K; m++) gm[row * K + m] += gc * coefficient(l->streams_correct, i, m, K);
        }
    GEODEC_TRY(modes_vjp(t, l, t->stream_out, t->modes_out, k, gm, normed, gz, err));
    memcpy(gx, gz, (size_t)size * sizeof *gx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* ---- the path beside attention: x = (x + h + N(B A h)) / sqrt(2), h = N(p_0) --------------------------------------
 */

/* y = B A h of n rows; low [n][rank] is scratch. */
static geodec_status path(const geodec__ref_tape *t, const geodec__layer *l, int64_t n, const double *h, double *low,
                          double *y, geodec_err *err)
{
    GEODEC_PASS(geodec__reference_product(t->r->pool, &l->laurel_in, n, h, low, err));
    return geodec__reference_product(t->r->pool, &l->laurel_out, n, low, y, err);
}

geodec_status geodec__reference_laurel(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t size = t->n * t->r->model->config.d_model;
    double *buffer[3] = {NULL};
    if (!l->laurel_in.data) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){size, size, t->n * l->laurel_in.rows}, buffer, err));
    double *h = buffer[0], *y = buffer[1], *low = buffer[2];
    geodec__reference_norm(t->n, &l->attn_norm, t->x, h);
    GEODEC_TRY(path(t, l, t->n, h, low, t->laurel, err));
    geodec__reference_norm(t->n, &l->laurel_norm, t->laurel, y);
    for (int64_t i = 0; i < size; i++) x[i] = (x[i] + h[i] + y[i]) * sqrt(0.5);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_laurel_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                           const double *dp, double *dx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, n = t->n - t->first, size = k * n * d;
    double *buffer[3] = {NULL};
    if (!l->laurel_in.data) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){size, size, k * n * l->laurel_in.rows}, buffer, err));
    double *h = buffer[0], *y = buffer[1], *low = buffer[2];
    geodec__reference_norm_jvp(n, &l->attn_norm, t->x + t->first * d, k, dp, h);
    GEODEC_TRY(path(t, l, k * n, h, low, y, err));
    geodec__reference_norm_jvp(n, &l->laurel_norm, t->laurel + t->first * d, k, y, y);
    for (int64_t i = 0; i < size; i++) dx[i] = (dx[i] + h[i] + y[i]) * sqrt(0.5);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_laurel_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gp,
                                           double *gx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, n = t->n - t->first, size = k * n * d;
    double *buffer[2] = {NULL};
    if (!l->laurel_in.data) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){size, k * n * l->laurel_in.rows}, buffer, err));
    double *h = buffer[0], *low = buffer[1];
    for (int64_t i = 0; i < size; i++) gx[i] *= sqrt(0.5);
    geodec__reference_norm_vjp(n, &l->laurel_norm, t->laurel + t->first * d, k, gx, h);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->laurel_out, k * n, h, low, err));
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->laurel_in, k * n, low, h, err));
    geodec__reference_add(size, gx, h);
    geodec__reference_norm_vjp(n, &l->attn_norm, t->x + t->first * d, k, h, h);
    geodec__reference_add(size, h, gp);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* ---- from one stream to several, and back ------------------------------------------------------------------------ */

static double length(int64_t d, const double *x) { return sqrt(geodec_blas_dot(d, x, x)); }

/* y = v |x| / |v|; a vector of zeros has no direction, and stays. */
static void turn(int64_t d, const double *x, const double *v, double *y)
{
    const double own = length(d, v), factor = own > 0 ? length(d, x) / own : 0;
    for (int64_t i = 0; i < d; i++) y[i] = factor * v[i];
}

/* The factors of its derivative: dy = scale dv + v (by_x (x . dx) - by_v (v . dv)). */
typedef struct turning {
    double scale, by_x, by_v;
} turning;

static turning turning_of(int64_t d, const double *x, const double *v)
{
    const double own = length(d, v), size = length(d, x);
    if (!(own > 0 && size > 0)) return (turning){0};
    return (turning){size / own, 1 / (size * own), size / (own * own * own)};
}

static void turn_jvp(int64_t d, const double *x, const double *v, const double *dx, const double *dv, double *dy)
{
    const turning t = turning_of(d, x, v);
    const double along = t.by_x * geodec_blas_dot(d, x, dx) - t.by_v * geodec_blas_dot(d, v, dv);
    for (int64_t i = 0; i < d; i++) dy[i] = t.scale * dv[i] + along * v[i];
}

/* gx is added to. */
static void turn_vjp(int64_t d, const double *x, const double *v, const double *gy, double *gx, double *gv)
{
    const turning t = turning_of(d, x, v);
    const double along = geodec_blas_dot(d, v, gy);
    add_scaled(d, t.by_x * along, x, gx);
    for (int64_t i = 0; i < d; i++) gv[i] = t.scale * gy[i] - t.by_v * along * v[i];
}

geodec_status geodec__reference_spread(const geodec_reference *r, int64_t n, double *x, geodec_err *err)
{
    const int64_t d = r->model->config.d_model;
    for (int64_t s = 1; s < geodec__reference_streams(r); s++) {
        const geodec__matrix w = geodec__expert(&r->model->streams_enter, s - 1);
        double *y = x + s * n * d;
        GEODEC_PASS(geodec__reference_product(r->pool, &w, n, x, y, err));
        for (int64_t i = 0; i < n * d; i += d) turn(d, x + i, y + i, y + i);
    }
    return GEODEC_OK;
}

geodec_status geodec__reference_spread_jvp(const geodec_reference *r, int64_t n, const double *x, int64_t k, double *dx,
                                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = r->model->config.d_model;
    double *v = NULL;
    GEODEC_NEW(v, n * d);
    for (int64_t s = 1; s < geodec__reference_streams(r); s++) {
        const geodec__matrix w = geodec__expert(&r->model->streams_enter, s - 1);
        double *y = dx + s * k * n * d;
        GEODEC_TRY(geodec__reference_product(r->pool, &w, n, x, v, err));
        GEODEC_TRY(geodec__reference_product(r->pool, &w, k * n, dx, y, err));
        for (int64_t i = 0; i < k * n * d; i += d) turn_jvp(d, x + i % (n * d), v + i % (n * d), dx + i, y + i, y + i);
    }
done:
    geodec_mem_free(v);
    return st;
}

geodec_status geodec__reference_spread_vjp(const geodec_reference *r, int64_t n, const double *x, int64_t k, double *gx,
                                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = r->model->config.d_model, size = k * n * d;
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){n * d, size}, buffer, err));
    double *v = buffer[0], *part = buffer[1];
    for (int64_t s = 1; s < geodec__reference_streams(r); s++) {
        const geodec__matrix w = geodec__expert(&r->model->streams_enter, s - 1);
        double *gy = gx + s * size;
        GEODEC_TRY(geodec__reference_product(r->pool, &w, n, x, v, err));
        for (int64_t i = 0; i < size; i += d) turn_vjp(d, x + i % (n * d), v + i % (n * d), gy + i, gx + i, gy + i);
        GEODEC_TRY(geodec__reference_product_vjp(r->pool, &w, k * n, gy, part, err));
        geodec__reference_add(size, part, gx);
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* The arguments are kept in t->streams_left. */
geodec_status geodec__reference_unite(geodec__ref_tape *t, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, K = geodec__reference_streams(t->r), size = t->n * d;
    double *v = NULL;
    GEODEC_NEW(v, size);
    memcpy(t->streams_left, x, (size_t)(K * size) * sizeof *x);
    for (int64_t s = 1; s < K; s++) {
        const geodec__matrix w = geodec__expert(&t->r->model->streams_leave, s - 1);
        GEODEC_TRY(geodec__reference_product(t->r->pool, &w, t->n, x + s * size, v, err));
        for (int64_t i = 0; i < size; i += d) turn(d, t->streams_left + i, v + i, v + i);
        geodec__reference_add(size, v, x);
    }
    for (int64_t i = 0; i < size; i++) x[i] /= (double)K;
done:
    geodec_mem_free(v);
    return st;
}

geodec_status geodec__reference_unite_jvp(const geodec__ref_tape *t, int64_t k, double *dx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, K = geodec__reference_streams(t->r), n = t->n - t->first;
    const int64_t size = k * n * d, each = n * d;
    const double *x = t->streams_left + t->first * d;
    double *buffer[3] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){each, size, size}, buffer, err));
    double *v = buffer[0], *dv = buffer[1], *sum = buffer[2];
    memcpy(sum, dx, (size_t)size * sizeof *dx);
    for (int64_t s = 1; s < K; s++) {
        const geodec__matrix w = geodec__expert(&t->r->model->streams_leave, s - 1);
        GEODEC_TRY(geodec__reference_product(t->r->pool, &w, n, x + s * t->n * d, v, err));
        GEODEC_TRY(geodec__reference_product(t->r->pool, &w, k * n, dx + s * size, dv, err));
        for (int64_t i = 0; i < size; i += d) turn_jvp(d, x + i % each, v + i % each, dx + i, dv + i, dv + i);
        geodec__reference_add(size, dv, sum);
    }
    for (int64_t i = 0; i < size; i++) dx[i] = sum[i] / (double)K;
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_unite_vjp(const geodec__ref_tape *t, int64_t k, double *gx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, K = geodec__reference_streams(t->r), n = t->n - t->first;
    const int64_t size = k * n * d, each = n * d;
    const double *x = t->streams_left + t->first * d;
    double *buffer[3] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){each, size, size}, buffer, err));
    double *v = buffer[0], *gv = buffer[1], *gy = buffer[2];
    for (int64_t i = 0; i < size; i++) gy[i] = gx[i] /= (double)K;
    for (int64_t s = 1; s < K; s++) {
        const geodec__matrix w = geodec__expert(&t->r->model->streams_leave, s - 1);
        GEODEC_TRY(geodec__reference_product(t->r->pool, &w, n, x + s * t->n * d, v, err));
        for (int64_t i = 0; i < size; i += d) turn_vjp(d, x + i % each, v + i % each, gy + i, gx + i, gv + i);
        GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &w, k * n, gv, gx + s * size, err));
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}
