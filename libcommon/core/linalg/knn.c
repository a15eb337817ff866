#include "linalg/knn.h"

#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/blas.h"
#include "linalg/knn_internal.h"
#include "linalg/stats.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_POINTS = 1 << 30, FEW_POINTS = 512 };

/* ---- by matrix products in float64: few points, many neighbours, or coarse distances that separate too little ---- */

enum {
    TILE = 1 << 21,   /* approximate distances per thread */
    MAX_QUERIES = 64, /* distances of one task */
    PIECE = 64        /* tasks between two calls of the progress hook */
};

typedef struct search {
    int64_t n, d, k, n_queries, block; /* block: queries per task */
    const double *points, *queries;    /* the caller's arrays */
    const double *centred, *norm;      /* points without their mean [n][d], squared lengths [n] */
    const double *mean;
    double max_norm;
    int self;
    const geodec_knn_part *part;
    int32_t *index;
    double *dist2;
    int64_t first_task;
    double *scratch; /* for each worker */
    int64_t stride;
} search;

/* The k-th smallest of x [n] without x[skip]. */
GEODEC__KNN_KTH(kth_smallest, double, <)

/* Exact distances, at most `most`, of all points whose approximate distance is within the bound, kept sorted by
 * (distance, number). */
static void select_exact(const search *s, const double *query, const double *approx, int64_t skip, double bound,
                         double most, int32_t *index, double *best)
{
    int64_t size = 0;
    for (int64_t p = 0; p < s->n; p++) {
        if (approx[p] > bound || p == skip) continue;
        const double *x = s->points + p * s->d;
        double d2 = 0;
        for (int64_t c = 0; c < s->d; c++) d2 += (query[c] - x[c]) * (query[c] - x[c]);
        const int32_t id = s->part->id ? s->part->id[p] : (int32_t)p;
        if (d2 > most || (size == s->k && (d2 > best[size - 1] || (d2 == best[size - 1] && id > index[size - 1]))))
            continue;
        int64_t at = size < s->k ? size++ : size - 1;
        for (; at > 0 && (best[at - 1] > d2 || (best[at - 1] == d2 && index[at - 1] > id)); at--) {
            best[at] = best[at - 1];
            index[at] = index[at - 1];
        }
        best[at] = d2;
        index[at] = id;
    }
    for (; size < s->k; size++) {
        best[size] = INFINITY;
        index[size] = -1;
    }
}

static void task(void *ctx, int64_t number, int worker)
{
    const search *s = ctx;
    const int64_t q0 = (s->first_task + number) * s->block,
                  m = s->n_queries - q0 < s->block ? s->n_queries - q0 : s->block;
    double *tile = s->scratch + worker * s->stride, *local = tile + s->block * s->n, *heap = local + s->block * s->d;
    double *best = heap + s->k;
    for (int64_t i = 0; i < m; i++)
        for (int64_t c = 0; c < s->d; c++) local[i * s->d + c] = s->queries[(q0 + i) * s->d + c] - s->mean[c];
    geodec_blas_gemm(false, true, m, s->n, s->d, -2, local, s->d, s->centred, s->d, 0, tile, s->n);
    for (int64_t i = 0; i < m; i++) {
        double *row = tile + i * s->n;
        const double own = geodec_blas_dot(s->d, local + i * s->d, local + i * s->d);
        for (int64_t p = 0; p < s->n; p++) row[p] += s->norm[p] + own;
        const int64_t skip = s->self ? q0 + i : -1;
        /* Products of length d err by at most d u |a||b|; norms and centring add a few units. Twice (|a|^2 + max |b|^2)
         * bounds (|a| + |b|)^2, and both the k-th value and the candidate may be off, hence another factor 2. Where
         * products underflow, each errs by half the smallest number instead, in both distances. */
        const double margin = 4 * (double)(s->d + 8) * (DBL_EPSILON * (own + s->max_norm) + 2 * DBL_TRUE_MIN);
        const double most = s->part->bound ? s->part->bound[q0 + i] : INFINITY;
        const double bound = fmin(kth_smallest(s->n, row, skip, s->k, heap), most) + margin;
        select_exact(s, s->queries + (q0 + i) * s->d, row, skip, bound, most, s->index + (q0 + i) * s->k, best);
        if (s->dist2) memcpy(s->dist2 + (q0 + i) * s->k, best, (size_t)s->k * sizeof *best);
    }
}

static geodec_status brute(const geodec_knn_part *part, int64_t n_points, int64_t d, const double *points,
                           int64_t n_queries, const double *queries, int64_t k, int32_t *index, double *dist2,
                           geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *mean = NULL;
    search s = {.n = n_points,
                .d = d,
                .k = k,
                .points = points,
                .index = index,
                .dist2 = dist2,
                .self = !queries,
                .part = part};
    s.queries = queries ? queries : points;
    s.n_queries = queries ? n_queries : n_points;
    GEODEC_NEW(mean, d + n_points * d + n_points);
    double *centred = mean + d, *norm = centred + n_points * d;
    geodec_stats_centre(n_points, d, points, mean, centred);
    for (int64_t p = 0; p < n_points; p++) {
        norm[p] = geodec_blas_dot(d, centred + p * d, centred + p * d);
        if (norm[p] > s.max_norm) s.max_norm = norm[p];
    }
    s.centred = centred;
    s.norm = norm;
    s.mean = mean;
    /* The size of a block depends on the sizes of the problem only, not on threads: it determines the last bits. */
    s.block = TILE / n_points < 4 ? 4 : (TILE / n_points > MAX_QUERIES ? MAX_QUERIES : TILE / n_points);
    s.stride = s.block * (n_points + d) + 2 * k;
    GEODEC_NEW(s.scratch, s.stride * geodec_pool_threads(pool));
    const int64_t n_tasks = (s.n_queries + s.block - 1) / s.block;
    for (s.first_task = 0; s.first_task < n_tasks; s.first_task += PIECE) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "neighbours", s.first_task * s.block, s.n_queries, err));
        geodec_pool_run_dynamic(pool, n_tasks - s.first_task < PIECE ? n_tasks - s.first_task : PIECE, task, &s);
    }
done:
    GEODEC_FREE(mean, s.scratch);
    return st;
}

/* ---- choice of the method --------------------------------------------------------------------------------------- */

const geodec__knn_kernels *geodec__knn_best(void)
{
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_VNNI) return &geodec__knn_vnni;
    if (geodec__cpu() & GEODEC__CPU_AVX2) return &geodec__knn_avx2;
#endif
    return NULL;
}

geodec_status geodec_knn_search_part(const geodec_knn_part *part, int64_t n_points, int64_t d, const double *points,
                                     int64_t n_queries, const double *queries, int64_t k, int32_t *index, double *dist2,
                                     geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    const geodec__knn_kernels *kernels = geodec__knn_best();
    int done = 0;
    if (n_points < 1 || n_points > MAX_POINTS || d < 1 || d > INT32_MAX || (queries && n_queries < 0))
        GEODEC_FAIL(GEODEC_RANGE, "neighbours among %lld points of dimension %lld", (long long)n_points, (long long)d);
    if (k < 1 || k > n_points - !queries) {
        GEODEC_FAIL(GEODEC_RANGE, "%lld neighbours requested of %lld points", (long long)k, (long long)n_points);
    }
    if (!geodec__finite(n_points * d, points) || (queries && !geodec__finite(n_queries * d, queries)))
        GEODEC_FAIL(GEODEC_NUMERIC, "neighbours of points that are not finite");
    if (kernels && n_points >= FEW_POINTS && k <= GEODEC__KNN_MAX_K && d <= GEODEC__KNN_MAX_D)
        GEODEC_PASS(geodec__knn_coarse(kernels, part, n_points, d, points, n_queries, queries, k, index, dist2, pool,
                                       hooks, &done, err));
    if (!done) GEODEC_PASS(brute(part, n_points, d, points, n_queries, queries, k, index, dist2, pool, hooks, err));
    return GEODEC_OK;
}

geodec_status geodec_knn_search(int64_t n_points, int64_t d, const double *points, int64_t n_queries,
                                const double *queries, int64_t k, int32_t *index, double *dist2, geodec_pool *pool,
                                const geodec_hooks *hooks, geodec_err *err)
{
    static const geodec_knn_part whole = {0};
    return geodec_knn_search_part(&whole, n_points, d, points, n_queries, queries, k, index, dist2, pool, hooks, err);
}
