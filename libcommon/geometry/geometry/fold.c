#include "geometry/fold.h"

#include "base/choose.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/knn.h"
#include "linalg/stats.h"
#include "linalg/svd.h"

#include <math.h>
#include <string.h>

enum { HALVES = 2 };

typedef struct work {
    int64_t d, n, k, chosen, half[HALVES];
    double *part[HALVES];   /* [half][d] the halves */
    int32_t *index[HALVES]; /* [chosen][k] */
    double *tangent;        /* [chosen][n][d] */
    double *det, *least;    /* [chosen] of C */
    double *agree;          /* [chosen] */
} work;

/* Determinant of a [n][n], which is destroyed: elimination with the largest pivot of a column. */
static double determinant(int64_t n, double *a)
{
    double det = 1;
    for (int64_t c = 0; c < n; c++) {
        int64_t p = c;
        for (int64_t r = c + 1; r < n; r++)
            if (fabs(a[r * n + c]) > fabs(a[p * n + c])) p = r;
        if (!(fabs(a[p * n + c]) > 0)) return 0;
        if (p != c) {
            det = -det;
            for (int64_t j = 0; j < n; j++) {
                const double swap = a[p * n + j];
                a[p * n + j] = a[c * n + j];
                a[c * n + j] = swap;
            }
        }
        det *= a[c * n + c];
        for (int64_t r = c + 1; r < n; r++) {
            const double f = a[r * n + c] / a[c * n + c];
            for (int64_t j = c; j < n; j++) a[r * n + j] -= f * a[c * n + j];
        }
    }
    return det;
}

/* t [n][d]: leading directions of y [count][d], which loses its mean, by the Gram matrix. */
static geodec_status leading(int64_t count, int64_t d, int64_t n, double *y, double *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *gram = NULL, *value = NULL, *vector = NULL;
    GEODEC_NEW_EACH(count * count, gram, vector);
    GEODEC_NEW(value, count);
    for (int64_t j = 0; j < d; j++) {
        double mean = 0;
        for (int64_t i = 0; i < count; i++) mean += y[i * d + j];
        for (int64_t i = 0; i < count; i++) y[i * d + j] -= mean / (double)count;
    }
    geodec_blas_gemm(false, true, count, count, d, 1, y, d, y, d, 0, gram, count);
    GEODEC_TRY(geodec_eig_sym(count, gram, value, vector, err));
    for (int64_t a = 0; a < n; a++) {
        const int64_t e = count - 1 - a;
        double *row = t + a * d;
        geodec_blas_gemm(false, false, 1, d, count, 1, vector + e * count, count, y, d, 0, row, d);
        const double length = sqrt(geodec__dot(d, row, row));
        for (int64_t j = 0; length > 0 && j < d; j++) row[j] /= length; /* all zero: no direction, never determined */
    }
done:
    GEODEC_FREE(gram, value, vector);
    return st;
}

static geodec_status tangent_at(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const work *w = ctx;
    const int64_t d = w->d, n = w->n, k = w->k;
    double *y = NULL, *both = NULL, *t = NULL, *c = NULL, *s = NULL;
    GEODEC_NEW(y, k * d);
    GEODEC_NEW(both, HALVES * k * d);
    GEODEC_NEW(t, HALVES * n * d);
    GEODEC_NEW(c, n * n);
    GEODEC_NEW(s, n);
    for (int h = 0; h < HALVES; h++) {
        for (int64_t i = 0; i < k; i++)
            memcpy(both + (h * k + i) * d, w->part[h] + (int64_t)w->index[h][task * k + i] * d, (size_t)d * sizeof *y);
        memcpy(y, both + h * k * d, (size_t)(k * d) * sizeof *y);
        GEODEC_TRY(leading(k, d, n, y, t + h * n * d, err));
    }
    geodec_blas_gemm(false, true, n, n, d, 1, t, d, t + n * d, d, 0, c, n);
    GEODEC_TRY(geodec_svd_values(n, n, c, s, err));
    w->agree[task] = s[n - 1];
    double *own = w->tangent + task * n * d;
    GEODEC_TRY(leading(HALVES * k, d, n, both, own, err));
    for (int64_t a = 0; a < n; a++) memcpy(c + a * n, own + a * d, (size_t)n * sizeof *c);
    GEODEC_TRY(geodec_svd_values(n, n, c, s, err));
    w->least[task] = s[n - 1];
    w->det[task] = determinant(n, c);
done:
    GEODEC_FREE(y, both, t, c, s);
    return st;
}

static bool determined(const work *w, int64_t i) { return w->agree[i] >= GEODEC_FOLD_AGREE; }
static bool counts(const work *w, int64_t i) { return determined(w, i) && w->least[i] >= GEODEC_FOLD_EDGE; }

static geodec_status count_pairs(const work *w, int64_t partners, const int32_t *near, geodec_fold *out,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = w->n, d = w->d;
    double *c = NULL, *flat = NULL;
    int64_t folded = 0;
    GEODEC_NEW(c, n * n);
    GEODEC_NEW(flat, w->chosen);
    for (int64_t i = 0; i < w->chosen; i++) {
        if (!determined(w, i)) continue;
        flat[out->determined++] = w->least[i];
        out->edge_on += !counts(w, i);
        for (int64_t p = 0; counts(w, i) && p < partners; p++) {
            const int64_t j = near[i * partners + p];
            if (!counts(w, j)) continue;
            geodec_blas_gemm(false, true, n, n, d, 1, w->tangent + i * n * d, d, w->tangent + j * n * d, d, 0, c, n);
            const double turn = determinant(n, c);
            if (fabs(turn) < GEODEC_FOLD_NEAR) continue;
            out->pairs++;
            folded += w->det[i] * w->det[j] * turn < 0;
        }
    }
    out->share = out->pairs > 0 ? (double)folded / (double)out->pairs : 0;
    if (out->determined > 0) GEODEC_TRY(geodec_stats_median(out->determined, flat, &out->flat, err));
    out->testable = out->determined > 0 && 2 * out->determined >= out->points;
    out->found = out->testable && (out->share > GEODEC_FOLD_SHARE || geodec_fold_edge_on(out) > GEODEC_FOLD_MANY);
done:
    GEODEC_FREE(c, flat);
    return st;
}

static int64_t usual(int64_t n) { return geodec__max(4 * n, 16); }

int64_t geodec_fold_needs(int64_t n) { return 4 * usual(n); }

double geodec_fold_edge_on(const geodec_fold *f)
{
    return f->determined > 0 ? (double)f->edge_on / (double)f->determined : 0;
}

geodec_status geodec_fold_measure(int64_t points, int64_t d, const double *x, int64_t n, int64_t neighbours,
                                  uint64_t seed, geodec_pool *pool, const geodec_hooks *hooks, geodec_fold *out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    work w = {.d = d, .n = n, .k = neighbours > 0 ? neighbours : usual(n)};
    geodec_fold fold = {0};
    int64_t *order = NULL;
    int32_t *near = NULL;
    double *chosen = NULL;
    if (n < 1 || n > GEODEC_FOLD_MAX_N || d <= n || w.k <= n)
        GEODEC_THROW(GEODEC_RANGE, "folds of %lld of %lld coordinates with %lld neighbours", (long long)n, (long long)d,
                     (long long)w.k);
    if (points < 4 * w.k)
        GEODEC_THROW(GEODEC_SCARCE, "%lld points; %lld are needed for %lld neighbours in each half", (long long)points,
                     (long long)(4 * w.k), (long long)w.k);
    w.half[0] = points / 2;
    w.half[1] = points - w.half[0];
    w.chosen = fold.points = geodec__min(points, GEODEC_FOLD_POINTS * 12 / geodec__max(n, 12));
    const int64_t partners = geodec__min(GEODEC_FOLD_PARTNERS, w.chosen / 8);
    GEODEC_NEW(order, points);
    geodec__choose_order(seed, geodec_rng_id("folds", 0), points, order);
    GEODEC_NEW(chosen, w.chosen * d);
    for (int64_t i = 0; i < w.chosen; i++)
        memcpy(chosen + i * d, x + order[i * points / w.chosen] * d, (size_t)d * sizeof *x);
    for (int h = 0; h < HALVES; h++) {
        GEODEC_NEW(w.part[h], w.half[h] * d);
        GEODEC_NEW(w.index[h], w.chosen * w.k);
        for (int64_t i = 0; i < w.half[h]; i++)
            memcpy(w.part[h] + i * d, x + order[h * w.half[0] + i] * d, (size_t)d * sizeof *x);
        GEODEC_TRY(
            geodec_knn_search(w.half[h], d, w.part[h], w.chosen, chosen, w.k, w.index[h], NULL, pool, hooks, err));
    }
    GEODEC_NEW(w.tangent, w.chosen * n * d);
    GEODEC_NEW_EACH(w.chosen, w.det, w.least, w.agree);
    GEODEC_NEW(near, w.chosen * partners);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "folds", w.chosen, tangent_at, &w, err));
    GEODEC_TRY(geodec_knn_search(w.chosen, d, chosen, 0, NULL, partners, near, NULL, pool, hooks, err));
    GEODEC_TRY(count_pairs(&w, partners, near, &fold, err));
    *out = fold;
done:
    GEODEC_FREE(order, near, chosen, w.tangent, w.det, w.least, w.agree);
    for (int h = 0; h < HALVES; h++) GEODEC_FREE(w.part[h], w.index[h]);
    return st;
}
