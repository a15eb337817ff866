#include "base/rng.h"
#include "linalg/kmeans.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 600, D = 3, K = 12 };

static double spread(const double *x, const double *centre)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        double best = INFINITY;
        for (int k = 0; k < K; k++) {
            double d2 = 0;
            for (int c = 0; c < D; c++) d2 += pow(x[i * D + c] - centre[k * D + c], 2);
            best = fmin(best, d2);
        }
        sum += best;
    }
    return sum;
}

Test(kmeans, every_round_improves)
{
    static double x[N * D];
    double centre[K * D], other[K * D], last = INFINITY;
    geodec_err err = {0};
    geodec_pool *pool;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    for (int i = 0; i < N * D; i++) x[i] = geodec_rng_uniform_at(1, 1, (uint64_t)i) + (i / D % K) * 0.4;
    for (int rounds = 0; rounds < 8; rounds++) {
        test_ok(geodec_kmeans(N, D, x, K, rounds, 7, centre, NULL, NULL, &err), &err);
        test_ok(geodec_kmeans(N, D, x, K, rounds, 7, other, pool, NULL, &err), &err);
        cr_assert_eq(memcmp(centre, other, sizeof centre), 0, "threads");
        const double now = spread(x, centre);
        cr_assert_leq(now, last * (1 + 1e-12));
        last = now;
    }
    cr_assert_eq(geodec_kmeans(N, D, x, N + 1, 1, 7, centre, NULL, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_kmeans(N, D, x, 0, 1, 7, centre, NULL, NULL, &err), GEODEC_RANGE);
    geodec_pool_destroy(pool);
}

/* As many means as points: each is one. */
Test(kmeans, all_points)
{
    double x[K * D], centre[K * D], sum = 0;
    geodec_err err = {0};
    for (int i = 0; i < K * D; i++) x[i] = geodec_rng_uniform_at(3, 1, (uint64_t)i);
    test_ok(geodec_kmeans(K, D, x, K, 3, 1, centre, NULL, NULL, &err), &err);
    for (int i = 0; i < K; i++) {
        double best = INFINITY;
        for (int k = 0; k < K; k++)
            best = fmin(best, fabs(x[i * D] - centre[k * D]) + fabs(x[i * D + 1] - centre[k * D + 1]));
        sum += best;
    }
    cr_assert_eq(sum, 0);
}
