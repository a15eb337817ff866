#include "base/mem.h"
#include "base/rng.h"
#include "linalg/knn.h"
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

/* Sorts all distances: the definition. */
static void check(int64_t n, int64_t d, const double *x, int64_t nq, const double *q, int64_t k, geodec_pool *pool)
{
    const int64_t rows = q ? nq : n;
    int32_t *index = geodec_mem_new(rows * k, sizeof *index);
    double *d2 = geodec_mem_new(rows * k, sizeof *d2);
    pair *all = geodec_mem_new(n, sizeof *all);
    geodec_err err = {0};
    test_ok(geodec_knn_search(n, d, x, nq, q, k, index, d2, pool, NULL, &err), &err);
    for (int64_t i = 0; i < rows; i++) {
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
