#include "base/mem.h"
#include "base/rng.h"
#include "linalg/knn.h"
#include "linalg/knn_internal.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct pair {
    double d2;
    int32_t i;
} pair;

static int by_distance(const void *pa, const void *pb)
{
    const pair *a = pa, *b = pb;
    if (a->d2 != b->d2) return a->d2 < b->d2 ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}

/* Sorts all distances: the definition. kernels NULL: the search as it is; else the coarse one with these, and the
 * result is whether it thought itself worth it. */
static int check_with(const geodec__knn_kernels *kernels, int64_t n, int64_t d, const double *x, int64_t nq,
                      const double *q, int64_t k, geodec_pool *pool)
{
    int finished = 1;
    const int64_t rows = q ? nq : n;
    int32_t *index = geodec_mem_new(rows * k, sizeof *index);
    double *d2 = geodec_mem_new(rows * k, sizeof *d2);
    pair *all = geodec_mem_new(n, sizeof *all);
    geodec_err err = {0};
    if (kernels)
        test_ok(geodec__knn_coarse(kernels, &(geodec_knn_part){0}, n, d, x, nq, q, k, index, d2, pool, NULL, &finished,
                                   &err),
                &err);
    else
        test_ok(geodec_knn_search(n, d, x, nq, q, k, index, d2, pool, NULL, &err), &err);
    for (int64_t i = 0; finished && i < rows; i++) {
        const double *a = (q ? q : x) + i * d;
        int64_t m = 0;
        for (int64_t p = 0; p < n; p++) {
            if (!q && p == i) continue;
            double s = 0;
            for (int64_t c = 0; c < d; c++) s += (a[c] - x[p * d + c]) * (a[c] - x[p * d + c]);
            all[m++] = (pair){s, (int32_t)p};
        }
        qsort(all, (size_t)m, sizeof *all, by_distance);
        for (int64_t j = 0; j < k; j++) {
            cr_assert_eq(index[i * k + j], all[j].i, "query %d place %d", (int)i, (int)j);
            cr_assert_eq(d2[i * k + j], all[j].d2);
        }
    }
    geodec_mem_free(index);
    geodec_mem_free(d2);
    geodec_mem_free(all);
    return finished;
}

static void check(int64_t n, int64_t d, const double *x, int64_t nq, const double *q, int64_t k, geodec_pool *pool)
{
    (void)check_with(NULL, n, d, x, nq, q, k, pool);
}

Test(linalg, neighbours_are_exact_with_ties_and_far_from_the_origin)
{
    geodec_linalg_init();
    geodec_rng r = geodec_rng_stream(3, 1);
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, NULL), NULL);
    enum { N = 400, D = 40 };
    static double x[N * D], q[70 * D];
    for (int t = 0; t < 6; t++) {
        const double shift = t == 2 ? 1e6 : 0, scale = t == 3 ? 1e-9 : 1;
        for (int i = 0; i < N * D; i++)
            x[i] = t == 4 ? (double)geodec_rng_below(&r, 3)
                          : shift + scale * geodec_rng_normal(&r); /* 4: a lattice, all ties */
        if (t == 5)                                                /* one point far away makes the error bound wide */
            for (int i = 0; i < D; i++) x[i] = 1e7;
        for (int i = 0; i < 70 * D; i++) q[i] = shift + scale * geodec_rng_normal(&r);
        check(N, D, x, 0, NULL, 7, pool);
        check(N * D / 2, 2, x, 70, q, 5, pool);
        check(N * D / 8, 1, x, 0, NULL, 3, NULL);
        check(20, 3, x, 0, NULL, 19, pool);
        check(20, 3, x, 5, q, 20, pool);
    }
    geodec_pool_destroy(pool);
}

Test(linalg, neighbours_refuse_bad_input)
{
    double x[6] = {0, 1, 2, 3, 4, 5};
    int32_t index[6];
    cr_assert_eq(geodec_knn_search(6, 1, x, 0, NULL, 6, index, NULL, NULL, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_knn_search(6, 1, x, 0, NULL, 0, index, NULL, NULL, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_knn_search(0, 1, x, 0, NULL, 1, index, NULL, NULL, NULL, NULL), GEODEC_RANGE);
    x[2] = NAN;
    cr_assert_eq(geodec_knn_search(6, 1, x, 0, NULL, 1, index, NULL, NULL, NULL, NULL), GEODEC_NUMERIC);
}

/* Kinds of sets: 0 normal, 1 far from the origin, 2 clusters of very different widths, 3 a lattice (ties), 4 most
 * points equal, 5 so small that squares underflow, 6 a line in many dimensions, 7 one point far away. */
static void fill(int kind, int64_t n, int64_t d, double *x)
{
    geodec_rng r = geodec_rng_stream(11, (uint64_t)kind);
    for (int64_t i = 0; i < n; i++) {
        const double t = geodec_rng_uniform(&r);
        const int64_t c = i % 5;
        for (int64_t j = 0; j < d; j++) {
            const double z = geodec_rng_normal(&r);
            x[i * d + j] = kind == 1   ? 1e5 + z
                           : kind == 2 ? (double)(c * (j + 1)) + z * pow(10, (double)-c)
                           : kind == 3 ? round(z)
                           : kind == 4 ? (i % 3 == 0 ? z : 0.5)
                           : kind == 5 ? z * 3e-162
                           : kind == 6 ? t * (double)(j + 1) + 1e-3 * z
                                       : z;
        }
    }
    if (kind == 7)
        for (int64_t j = 0; j < d; j++) x[(n / 2) * d + j] = 1e9;
}

Test(linalg, neighbours_by_coarse_distances_are_exact)
{
    geodec_linalg_init();
    const geodec__knn_kernels *best = geodec__knn_best(), *const all[] = {&geodec__knn_avx2, &geodec__knn_vnni};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(2, &pool, NULL), NULL);
    enum { N = 777, Q = 70, D = 40 };
    static double x[N * D], q[Q * D];
    int worth = 0, tried = 0;
    for (size_t v = 0; v < 2; v++) {
        if (!best || (all[v] == &geodec__knn_vnni && best != all[v])) continue;
        for (int kind = 0; kind < 8; kind++)
            for (int64_t d = 2; d <= D; d += 15) {
                fill(kind, N, d, x);
                fill(kind, Q, d, q);
                for (int64_t i = 0; i < Q * d; i++) q[i] = i % 7 == 0 ? 3 * q[i] : q[i]; /* some lie outside */
                tried += 3;
                worth += check_with(all[v], N, d, x, 0, NULL, 8, pool);
                worth += check_with(all[v], N, d, x, Q, q, 5, NULL);
                worth += check_with(all[v], N, d, x, Q, q, GEODEC__KNN_MAX_K, pool);
            }
    }
    cr_assert(!best || worth > tried / 4, "%d of %d searches were given up", tried - worth, tried);
    cr_assert(!best || worth < tried, "none was given up: the other way is not tested");
    for (int kind = 0; kind < 8; kind++) {
        fill(kind, N, 17, x);
        check(N, 17, x, 0, NULL, 8, pool);
    }
    geodec_pool_destroy(pool);
}

Test(linalg, scanning_order_is_a_permutation_of_leaves)
{
    enum { N = 2000, D = 3 };
    static double x[N * D];
    static int32_t order[N];
    static uint8_t seen[N];
    fill(0, N, D, x);
    test_ok(geodec_knn_order(N, D, x, order, NULL), NULL);
    for (int i = 0; i < N; i++) {
        cr_assert(order[i] >= 0 && order[i] < N && !seen[order[i]]);
        seen[order[i]] = 1;
    }
    double whole = 0, parts = 0; /* a leaf is much smaller than the set */
    for (int c = 0; c < D; c++) {
        double low = x[c], high = x[c];
        for (int i = 0; i < N; i++) {
            low = fmin(low, x[i * D + c]);
            high = fmax(high, x[i * D + c]);
        }
        whole += (high - low) * (high - low);
        low = high = x[order[0] * D + c];
        for (int i = 0; i < GEODEC__KNN_LEAF; i++) {
            low = fmin(low, x[order[i] * D + c]);
            high = fmax(high, x[order[i] * D + c]);
        }
        parts += (high - low) * (high - low);
    }
    cr_assert_lt(parts, 0.7 * whole);
}

/* Points in parts of several sizes, with numbers in reverse; the k-th distance so far is the next part's bound. */
static void check_parts(int kind, int64_t n, int64_t d, int64_t k, int64_t queries, bool ordered)
{
    double *x = geodec_mem_new(n * d, sizeof *x), *y = geodec_mem_new(n * d, sizeof *y);
    double *q = geodec_mem_new(queries * d, sizeof *q);
    int32_t *index = geodec_mem_new(queries * k, sizeof *index), *id = geodec_mem_new(n, sizeof *id);
    double *d2 = geodec_mem_new(queries * k, sizeof *d2), *bound = geodec_mem_new(queries, sizeof *bound);
    pair *all = geodec_mem_new(n, sizeof *all);
    int32_t *order = geodec_mem_new(n, sizeof *order);
    pair(*best)[2 * GEODEC__KNN_MAX_K + 40] = geodec_mem_new(queries, sizeof *best);
    static const int64_t sizes[] = {600, 1, 40, 900, 2000};
    geodec_err err = {0};
    fill(kind, n, d, x);
    fill(kind, queries, d, q);
    for (int64_t i = 0; i < queries; i++) bound[i] = INFINITY;
    int64_t first = 0;
    for (int p = 0; first < n; p++) {
        const int64_t m = n - first < sizes[p] ? n - first : sizes[p], kp = k < m ? k : m;
        test_ok(geodec_knn_order(m, d, x + first * d, order, &err), &err);
        for (int64_t i = 0; i < m; i++) {
            const int64_t from = ordered ? order[i] : i;
            memcpy(y + i * d, x + (first + from) * d, (size_t)d * sizeof *y);
            id[i] = (int32_t)(n - 1 - (first + from));
        }
        const geodec_knn_part part = {.id = id, .bound = bound, .ordered = ordered};
        test_ok(geodec_knn_search_part(&part, m, d, y, queries, q, kp, index, d2, NULL, NULL, &err), &err);
        for (int64_t i = 0; i < queries; i++) {
            const int64_t had = first < k ? first : k;
            int64_t now = had;
            for (int64_t j = 0; j < kp; j++) {
                if (index[i * kp + j] < 0) {
                    cr_assert_eq(d2[i * kp + j], INFINITY);
                    continue;
                }
                cr_assert_leq(d2[i * kp + j], bound[i]);
                best[i][now++] = (pair){d2[i * kp + j], index[i * kp + j]};
            }
            qsort(best[i], (size_t)now, sizeof best[i][0], by_distance);
            if (first + m >= k) bound[i] = best[i][k - 1].d2;
        }
        first += m;
    }
    for (int64_t i = 0; i < queries; i++) {
        for (int64_t p = 0; p < n; p++) {
            double s = 0;
            for (int64_t c = 0; c < d; c++) s += (q[i * d + c] - x[p * d + c]) * (q[i * d + c] - x[p * d + c]);
            all[p] = (pair){s, (int32_t)(n - 1 - p)};
        }
        qsort(all, (size_t)n, sizeof *all, by_distance);
        for (int64_t j = 0; j < k; j++) {
            cr_assert_eq(best[i][j].i, all[j].i, "kind %d d %d query %d place %d", kind, (int)d, (int)i, (int)j);
            cr_assert_eq(best[i][j].d2, all[j].d2);
        }
    }
    GEODEC_FREE(x, y, q, index, id, d2, bound, all, order, best);
}

Test(linalg, neighbours_in_parts_are_those_of_one_search)
{
    geodec_linalg_init();
    for (int kind = 0; kind < 8; kind++)
        for (int64_t d = 1; d <= 41; d += 20) {
            check_parts(kind, 2500, d, 8, 90, kind % 2);
            check_parts(kind, 2500, d, GEODEC__KNN_MAX_K + 20, 3, kind % 2); /* by products */
        }
}
