#include "geometry/sketch.h"

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/blas.h"
#include "linalg/eig.h"

#include <lapack.h>
#include <math.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 256 }; /* of a task: constants, so that the bits do not depend on threads */

geodec_status geodec_sketch_init(geodec_sketch *s, int64_t d, int64_t width, const double *origin, uint64_t seed,
                                 uint64_t stream, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_sketch new = {.d = d, .width = width};
    geodec_rng r = geodec_rng_stream(seed, stream);
    if (d < 1 || d > INT32_MAX || width < 1 || width > d)
        GEODEC_THROW(GEODEC_RANGE, "a sketch of width %lld in dimension %lld", (long long)width, (long long)d);
    GEODEC_NEW_EACH(d, new.origin, new.sum);
    GEODEC_NEW_EACH(width * d, new.probe, new.image);
    if (origin) memcpy(new.origin, origin, (size_t)d * sizeof *origin);
    for (int64_t i = 0; i < width * d; i++) new.probe[i] = geodec_rng_normal(&r);
    *s = new;
    memset(&new, 0, sizeof new);
done:
    geodec_sketch_clear(&new);
    return st;
}

void geodec_sketch_clear(geodec_sketch *s)
{
    GEODEC_FREE(s->origin, s->sum, s->probe, s->image);
    memset(s, 0, sizeof *s);
}

typedef struct add_job {
    geodec_sketch *s;
    int64_t count;
    const double *y; /* [count][d] centred */
    double *b;       /* [count][width] */
} add_job;

static void rows_task(void *ctx, int64_t task, int worker)
{
    const add_job *j = ctx;
    const int64_t d = j->s->d, w = j->s->width, r0 = task * ROWS, m = j->count - r0 < ROWS ? j->count - r0 : ROWS;
    (void)worker;
    geodec_blas_gemm(false, true, m, w, d, 1, j->y + r0 * d, d, j->s->probe, d, 0, j->b + r0 * w, w);
}

static void columns_task(void *ctx, int64_t task, int worker)
{
    const add_job *j = ctx;
    const int64_t d = j->s->d, w = j->s->width, c0 = task * COLUMNS, m = d - c0 < COLUMNS ? d - c0 : COLUMNS;
    (void)worker;
    geodec_blas_gemm(true, false, w, m, j->count, 1, j->b, w, j->y + c0, d, 1, j->s->image + c0, d);
}

geodec_status geodec_sketch_add(geodec_sketch *s, int64_t count, const double *x, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = s->d;
    double *y = NULL;
    GEODEC_NEW(y, count * (d + s->width));
    double *b = y + count * d;
    for (int64_t r = 0; r < count; r++) {
        double *row = y + r * d;
        for (int64_t c = 0; c < d; c++) row[c] = x[r * d + c] - s->origin[c];
        if (s->passes > 0) continue;
        for (int64_t c = 0; c < d; c++) s->sum[c] += row[c];
        s->square += geodec_blas_dot(d, row, row);
    }
    add_job j = {s, count, y, b};
    geodec_pool_run_dynamic(pool, (count + ROWS - 1) / ROWS, rows_task, &j);
    geodec_pool_run_dynamic(pool, (d + COLUMNS - 1) / COLUMNS, columns_task, &j);
    if (s->passes == 0) s->count += count;
done:
    geodec_mem_free(y);
    return st;
}

void geodec_sketch_empty(geodec_sketch *s, const geodec_sketch *like)
{
    s->count = 0;
    s->square = 0;
    s->passes = like->passes;
    memset(s->sum, 0, (size_t)s->d * sizeof *s->sum);
    memset(s->image, 0, (size_t)(s->width * s->d) * sizeof *s->image);
    memcpy(s->probe, like->probe, (size_t)(s->width * s->d) * sizeof *s->probe);
}

void geodec_sketch_merge(geodec_sketch *s, const geodec_sketch *part)
{
    for (int64_t i = 0; i < s->width * s->d; i++) s->image[i] += part->image[i];
    if (s->passes > 0) return;
    s->count += part->count;
    s->square += part->square;
    for (int64_t c = 0; c < s->d; c++) s->sum[c] += part->sum[c];
}

/* The image under the covariance: without the mean, divided by count - 1. */
static void centre_image(const geodec_sketch *s, double *image)
{
    const double n = (double)s->count;
    for (int64_t i = 0; i < s->width; i++) {
        double *row = image + i * s->d;
        const double along = geodec_blas_dot(s->d, s->probe + i * s->d, s->sum) / n;
        for (int64_t c = 0; c < s->d; c++) row[c] = (row[c] - along * s->sum[c]) / (n - 1);
    }
}

geodec_status geodec_sketch_turn(geodec_sketch *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const lapack_int d = (lapack_int)s->d, w = (lapack_int)s->width;
    double *tau = NULL;
    enum { PANEL = 64 };
    const lapack_int n_work = w * PANEL;
    if (s->count < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld states; principal components need at least 2", (long long)s->count);
    GEODEC_NEW(tau, w + n_work);
    double *work = tau + w;
    centre_image(s, s->image);
    double most = 0;
    for (int64_t i = 0; i < s->width * s->d; i++) {
        if (!isfinite(s->image[i])) GEODEC_THROW(GEODEC_NUMERIC, "principal components of rows that are not finite");
        most = fmax(most, fabs(s->image[i]));
    }
    if (!(most > 0)) GEODEC_THROW(GEODEC_SCARCE, "all points are equal; principal components need different ones");
    /* rows of ours are columns of LAPACK's */
    lapack_int info = 0;
    LAPACK_dgeqrf(&d, &w, s->image, &d, tau, work, &n_work, &info);
    if (info == 0) LAPACK_dorgqr(&d, &w, &w, s->image, &d, tau, work, &n_work, &info);
    if (info != 0) GEODEC_THROW(GEODEC_INTERNAL, "dgeqrf refused argument %d", (int)-info);
    double *const old = s->probe;
    s->probe = s->image;
    s->image = old;
    memset(s->image, 0, (size_t)(s->width * s->d) * sizeof *s->image);
    s->passes = 1;
done:
    geodec_mem_free(tau);
    return st;
}

geodec_status geodec_sketch_result(const geodec_sketch *s, double share, geodec_pca *out, double *residual,
                                   bool *enough, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = s->d, w = s->width;
    const double n = (double)s->count;
    double *block = NULL;
    geodec_pca p = {.d = d, .values = s->count - 1 < d ? s->count - 1 : d};
    *enough = false;
    memset(out, 0, sizeof *out);
    if (s->passes != 1) GEODEC_THROW(GEODEC_INVAL, "result of a sketch after %d passes", s->passes);
    if (!(share > 0) || !(share <= 1)) GEODEC_THROW(GEODEC_RANGE, "share of variance %g is outside (0, 1]", share);
    GEODEC_NEW(block, (residual ? 3 : 2) * w * d + w * w + w);
    double *image = block, *vector = image + w * d, *ritz = vector + w * d, *value = ritz + w * w;
    memcpy(image, s->image, (size_t)(w * d) * sizeof *image);
    centre_image(s, image);
    geodec_blas_gemm(false, true, w, w, d, 1, image, d, s->probe, d, 0, ritz, w);
    for (int64_t i = 0; i < w; i++)
        for (int64_t j = 0; j < i; j++) ritz[i * w + j] = 0.5 * (ritz[i * w + j] + ritz[j * w + i]);
    GEODEC_TRY(geodec_eig_sym(w, ritz, value, ritz, err));
    geodec_blas_gemm(false, false, w, d, w, 1, ritz, w, s->probe, d, 0, vector, d);
    if (residual) {
        double *rotated = value + w;
        geodec_blas_gemm(false, false, w, d, w, 1, ritz, w, image, d, 0, rotated, d);
        for (int64_t i = 0; i < w; i++) {
            double ss = 0;
            for (int64_t c = 0; c < d; c++) {
                const double r = rotated[i * d + c] - value[i] * vector[i * d + c];
                ss += r * r;
            }
            residual[w - 1 - i] = sqrt(ss);
        }
    }
    GEODEC_NEW(p.eigenvalue, p.values);
    p.total = (s->square - geodec_blas_dot(d, s->sum, s->sum) / n) / (n - 1);
    if (!(p.total > 0)) GEODEC_THROW(GEODEC_SCARCE, "all points are equal; principal components need different ones");
    const int64_t known = w < p.values ? w : p.values, trusted = w == d ? known : known - GEODEC_SKETCH_OVERSAMPLE;
    double left = p.total, sum = 0;
    for (int64_t i = 0; i < known; i++) {
        p.eigenvalue[i] = fmax(0, value[w - 1 - i]);
        left -= p.eigenvalue[i];
    }
    for (int64_t i = known; i < p.values; i++) p.eigenvalue[i] = fmax(0, left) / (double)(p.values - known);
    while (p.k < trusted && sum < share * p.total * (1 - 1e-12)) sum += p.eigenvalue[p.k++];
    if (p.k == 0 || sum < share * p.total * (1 - 1e-12)) goto done; /* too narrow */
    p.explained = sum / p.total;
    GEODEC_NEW(p.mean, d);
    GEODEC_NEW(p.basis, p.k * d);
    for (int64_t c = 0; c < d; c++) p.mean[c] = s->origin[c] + s->sum[c] / n;
    for (int64_t i = 0; i < p.k; i++) {
        memcpy(p.basis + i * d, vector + (w - 1 - i) * d, (size_t)d * sizeof *vector);
        geodec__pca_fix_sign(d, p.basis + i * d);
    }
    *out = p;
    memset(&p, 0, sizeof p);
    *enough = true;
done:
    geodec_pca_clear(&p);
    geodec_mem_free(block);
    return st;
}
