#include "linalg/kmeans.h"

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/knn.h"

#include <string.h>

geodec_status geodec_kmeans(int64_t n, int64_t d, const double *x, int64_t k, int64_t rounds, uint64_t seed,
                            double *centre, geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *order = NULL, *count = NULL;
    int32_t *near = NULL;
    double *sum = NULL;
    if (k < 1 || k > n || d < 1 || rounds < 0)
        GEODEC_THROW(GEODEC_RANGE, "%lld means of %lld points in %lld dimensions", (long long)k, (long long)n,
                     (long long)d);
    GEODEC_NEW(order, n);
    GEODEC_NEW(count, k);
    GEODEC_NEW(near, n);
    GEODEC_NEW(sum, k * d);
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("kmeans", 0));
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0; i < k; i++) { /* the first k of a permutation */
        const int64_t j = i + (int64_t)geodec_rng_below(&r, (uint64_t)(n - i)), other = order[j];
        order[j] = order[i];
        order[i] = other;
        memcpy(centre + i * d, x + other * d, (size_t)d * sizeof *x);
    }
    for (int64_t round = 0; round < rounds; round++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "means", round, rounds, err));
        GEODEC_TRY(geodec_knn_search(k, d, centre, n, x, 1, near, NULL, pool, hooks, err));
        memset(sum, 0, (size_t)(k * d) * sizeof *sum);
        memset(count, 0, (size_t)k * sizeof *count);
        for (int64_t i = 0; i < n; i++) {
            count[near[i]]++;
            for (int64_t c = 0; c < d; c++) sum[near[i] * d + c] += x[i * d + c];
        }
        for (int64_t i = 0; i < k; i++)
            for (int64_t c = 0; c < d && count[i] > 0; c++) centre[i * d + c] = sum[i * d + c] / (double)count[i];
    }
done:
    GEODEC_FREE(order, count, near, sum);
    return st;
}
