#include "geometry/pca.h"

#include "base/mem.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

enum { TILE = 96, ROWS = 64, MAX_D = 16384 };

/* ---- moments ---------------------------------------------------------------------------------------------------- */

geodec_status geodec_pca_moments_init(geodec_pca_moments *m, int64_t d, const double *origin, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca_moments new = {.d = d};
    if (d < 1 || d > MAX_D)
        GEODEC_THROW(GEODEC_RANGE, "moments of dimension %lld (limits: 1..%d)", (long long)d, MAX_D);
    GEODEC_NEW_EACH(d, new.origin, new.sum);
    GEODEC_NEW(new.square, d * d);
    if (origin) memcpy(new.origin, origin, (size_t)d * sizeof *origin);
    *m = new;
    new = (geodec_pca_moments){0};
done:
    geodec_pca_moments_clear(&new);
    return st;
}

void geodec_pca_moments_clear(geodec_pca_moments *m)
{
    GEODEC_FREE(m->origin, m->sum, m->square);
    *m = (geodec_pca_moments){0};
}

typedef struct tile_job {
    geodec_pca_moments *m;
    int64_t count, tiles;
    const double *x; /* centred */
} tile_job;

/* Task t is the t-th tile of the upper triangle. */
static void tile_task(void *ctx, int64_t task, int worker)
{
    const tile_job *j = ctx;
    const int64_t d = j->m->d;
    int64_t row = 0, t = task;
    (void)worker;
    while (t >= j->tiles - row) t -= j->tiles - row++;
    const int64_t i0 = row * TILE, j0 = (row + t) * TILE;
    const int64_t h = d - i0 < TILE ? d - i0 : TILE, w = d - j0 < TILE ? d - j0 : TILE;
    geodec_blas_gemm(true, false, h, w, j->count, 1, j->x + i0, d, j->x + j0, d, 1, j->m->square + i0 * d + j0, d);
}

geodec_status geodec_pca_moments_add(geodec_pca_moments *m, int64_t count, const double *x, geodec_pool *pool,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *centred = NULL;
    const int64_t d = m->d;
    GEODEC_NEW(centred, count * d);
    for (int64_t r = 0; r < count; r++)
        for (int64_t c = 0; c < d; c++) centred[r * d + c] = x[r * d + c] - m->origin[c];
    for (int64_t r = 0; r < count; r++)
        for (int64_t c = 0; c < d; c++) m->sum[c] += centred[r * d + c];
    tile_job j = {.m = m, .count = count, .tiles = (d + TILE - 1) / TILE, .x = centred};
    geodec_pool_run_dynamic(pool, j.tiles * (j.tiles + 1) / 2, tile_task, &j);
    m->count += count;
done:
    geodec_mem_free(centred);
    return st;
}

void geodec_pca_moments_merge(geodec_pca_moments *a, const geodec_pca_moments *b)
{
    for (int64_t i = 0; i < a->d; i++) a->sum[i] += b->sum[i];
    for (int64_t i = 0; i < a->d * a->d; i++) a->square[i] += b->square[i];
    a->count += b->count;
}

geodec_status geodec_pca_moments_result(const geodec_pca_moments *m, double *mean, double *cov, geodec_err *err)
{
    const int64_t d = m->d;
    if (m->count < 2) GEODEC_FAIL(GEODEC_SCARCE, "%lld states; a covariance needs at least 2", (long long)m->count);
    const double n = (double)m->count;
    for (int64_t i = 0; cov && i < d; i++)
        for (int64_t j = i; j < d; j++) {
            const double c = (m->square[i * d + j] - m->sum[i] * (m->sum[j] / n)) / (n - 1);
            cov[i * d + j] = cov[j * d + i] = c;
        }
    for (int64_t i = 0; mean && i < d; i++) mean[i] = m->origin[i] + m->sum[i] / n;
    return GEODEC_OK;
}

/* ---- components -------------------------------------------------------------------------------------------------- */

int64_t geodec_pca_pick(int64_t n, const double *eigenvalue, double share)
{
    double total = 0, sum = 0;
    for (int64_t i = 0; i < n; i++) total += fmax(0, eigenvalue[i]);
    for (int64_t i = 0; i < n; i++) {
        sum += fmax(0, eigenvalue[i]);
        if (sum >= share * total) return i + 1;
    }
    return n;
}

void geodec__pca_fix_sign(int64_t d, double *v)
{
    int64_t best = 0;
    for (int64_t i = 1; i < d; i++)
        if (fabs(v[i]) > fabs(v[best])) best = i;
    if (v[best] < 0)
        for (int64_t i = 0; i < d; i++) v[i] = -v[i];
}

/* Eigenvalues of the symmetric a [n][n], descending, negatives as zero, into value [values]; with `vectors` a becomes
 * the eigenvectors, rows in ascending order. */
static geodec_status spectrum(int64_t n, double *a, bool vectors, int64_t values, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *w = NULL;
    GEODEC_NEW(w, n);
    GEODEC_TRY(vectors ? geodec_eig_sym(n, a, w, a, err) : geodec_eig_values(n, a, w, err));
    for (int64_t i = 0; i < values; i++) value[i] = fmax(0, w[n - 1 - i]);
done:
    geodec_mem_free(w);
    return st;
}

/* Chooses k and allocates the basis; eigenvalue must be set. */
static geodec_status choose(geodec_pca *p, double share, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!(share > 0) || !(share <= 1)) GEODEC_THROW(GEODEC_RANGE, "share of variance %g is outside (0, 1]", share);
    for (int64_t i = 0; i < p->values; i++) p->total += p->eigenvalue[i];
    if (!(p->total > 0)) GEODEC_THROW(GEODEC_SCARCE, "all points are equal; principal components need different ones");
    p->k = geodec_pca_pick(p->values, p->eigenvalue, share);
    for (int64_t i = 0; i < p->k; i++) p->explained += p->eigenvalue[i] / p->total;
    GEODEC_NEW(p->basis, p->k * p->d);
done:
    return st;
}

geodec_status geodec_pca_from_moments(const geodec_pca_moments *m, double share, geodec_pca *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca p = {.d = m->d, .values = m->count - 1 < m->d ? m->count - 1 : m->d};
    double *cov = NULL;
    const int64_t d = m->d;
    GEODEC_NEW(p.mean, d);
    GEODEC_NEW(cov, d * d);
    GEODEC_TRY(geodec_pca_moments_result(m, p.mean, cov, err));
    GEODEC_NEW(p.eigenvalue, p.values);
    GEODEC_TRY(spectrum(d, cov, true, p.values, p.eigenvalue, err));
    GEODEC_TRY(choose(&p, share, err));
    for (int64_t i = 0; i < p.k; i++) {
        memcpy(p.basis + i * d, cov + (d - 1 - i) * d, (size_t)d * sizeof *cov);
        geodec__pca_fix_sign(d, p.basis + i * d);
    }
    *out = p;
    p = (geodec_pca){0};
done:
    geodec_pca_clear(&p);
    geodec_mem_free(cov);
    return st;
}

/* Rows without their mean [d], which may be NULL, and their Gram matrix over N-1, in new memory. */
static geodec_status gram(int64_t n, int64_t d, const double *x, double *mean, double **centred, double **g,
                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *own = NULL;
    if (n < 2) GEODEC_THROW(GEODEC_SCARCE, "%lld states; principal components need at least 2", (long long)n);
    GEODEC_NEW(own, d);
    GEODEC_NEW(*centred, n * d);
    GEODEC_NEW(*g, n * n);
    geodec_stats_centre(n, d, x, own, *centred);
    geodec_blas_gemm(false, true, n, n, d, 1 / (double)(n - 1), *centred, d, *centred, d, 0, *g, n);
    if (mean) memcpy(mean, own, (size_t)d * sizeof *mean);
done:
    geodec_mem_free(own);
    return st;
}

static geodec_status from_gram(int64_t n, int64_t d, const double *x, double share, geodec_pca *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca p = {.d = d, .values = n - 1 < d ? n - 1 : d};
    double *centred = NULL, *g = NULL;
    GEODEC_NEW(p.mean, d);
    GEODEC_TRY(gram(n, d, x, p.mean, &centred, &g, err));
    GEODEC_NEW(p.eigenvalue, p.values);
    GEODEC_TRY(spectrum(n, g, true, p.values, p.eigenvalue, err));
    GEODEC_TRY(choose(&p, share, err));
    for (int64_t i = 0; i < p.k; i++) { /* pc = Xc^T v / sqrt(lambda (N-1)), normalised once more against rounding */
        double *b = p.basis + i * d;
        geodec_blas_gemm(false, false, 1, d, n, 1, g + (n - 1 - i) * n, n, centred, d, 0, b, d);
        const double length = sqrt(geodec_blas_dot(d, b, b));
        if (!(length > 0)) GEODEC_THROW(GEODEC_NUMERIC, "component %lld has no variance", (long long)i);
        for (int64_t c = 0; c < d; c++) b[c] /= length;
        geodec__pca_fix_sign(d, b);
    }
    *out = p;
    p = (geodec_pca){0};
done:
    geodec_pca_clear(&p);
    GEODEC_FREE(centred, g);
    return st;
}

/* The moments of rows in memory, about their first row. */
static geodec_status row_moments(int64_t n, int64_t d, const double *x, geodec_pool *pool, geodec_pca_moments *m,
                                 geodec_err *err)
{
    enum { SLAB = 4096 };
    GEODEC_PASS(geodec_pca_moments_init(m, d, n > 0 ? x : NULL, err));
    for (int64_t r = 0; r < n; r += SLAB)
        GEODEC_PASS(geodec_pca_moments_add(m, n - r < SLAB ? n - r : SLAB, x + r * d, pool, err));
    return GEODEC_OK;
}

geodec_status geodec_pca_from_rows(int64_t n_rows, int64_t d, const double *x, double share, geodec_pool *pool,
                                   geodec_pca *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca_moments m = {0};
    if (n_rows <= d) return from_gram(n_rows, d, x, share, out, err);
    GEODEC_TRY(row_moments(n_rows, d, x, pool, &m, err));
    GEODEC_TRY(geodec_pca_from_moments(&m, share, out, err));
done:
    geodec_pca_moments_clear(&m);
    return st;
}

geodec_status geodec_pca_spectrum_moments(const geodec_pca_moments *m, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *cov = NULL;
    GEODEC_NEW(cov, m->d * m->d);
    GEODEC_TRY(geodec_pca_moments_result(m, NULL, cov, err));
    GEODEC_TRY(spectrum(m->d, cov, false, m->count - 1 < m->d ? m->count - 1 : m->d, value, err));
done:
    geodec_mem_free(cov);
    return st;
}

geodec_status geodec_pca_spectrum_rows(int64_t n_rows, int64_t d, const double *x, geodec_pool *pool, double *value,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca_moments m = {0};
    double *centred = NULL, *g = NULL;
    if (n_rows <= d) {
        GEODEC_TRY(gram(n_rows, d, x, NULL, &centred, &g, err));
        GEODEC_TRY(spectrum(n_rows, g, false, n_rows - 1, value, err));
    } else {
        GEODEC_TRY(row_moments(n_rows, d, x, pool, &m, err));
        GEODEC_TRY(geodec_pca_spectrum_moments(&m, value, err));
    }
done:
    geodec_pca_moments_clear(&m);
    GEODEC_FREE(centred, g);
    return st;
}

void geodec_pca_clear(geodec_pca *p)
{
    GEODEC_FREE(p->mean, p->eigenvalue, p->basis);
    *p = (geodec_pca){0};
}

typedef struct project_job {
    int64_t d, k, count;
    const double *basis, *mean, *x;
    double *out, *scratch; /* scratch [workers][ROWS][d] */
} project_job;

static void project_task(void *ctx, int64_t task, int worker)
{
    const project_job *j = ctx;
    const int64_t r0 = task * ROWS, m = j->count - r0 < ROWS ? j->count - r0 : ROWS, d = j->d;
    double *c = j->scratch + worker * ROWS * d;
    for (int64_t r = 0; r < m; r++)
        for (int64_t i = 0; i < d; i++) c[r * d + i] = j->x[(r0 + r) * d + i] - j->mean[i];
    geodec_blas_gemm(false, true, m, j->k, d, 1, c, d, j->basis, d, 0, j->out + r0 * j->k, j->k);
}

geodec_status geodec_pca_project(int64_t d, int64_t k, const double *basis, const double *mean, int64_t count,
                                 const double *x, double *coordinate, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    project_job j = {.d = d, .k = k, .count = count, .basis = basis, .mean = mean, .x = x, .out = coordinate};
    GEODEC_NEW(j.scratch, geodec_pool_threads(pool) * ROWS * d);
    geodec_pool_run(pool, (count + ROWS - 1) / ROWS, project_task, &j);
done:
    geodec_mem_free(j.scratch);
    return st;
}
