#include "linalg/knn.h"

#include "base/vec_internal.h"
#include "linalg/knn_internal.h"

enum { MAX_POINTS = 1 << 30, FEW_POINTS = 512 };

const geodec__knn_kernels *geodec__knn_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return &geodec__knn_vnni;
    if (__builtin_cpu_supports("avx2")) return &geodec__knn_avx2;
#endif
    return NULL;
}

geodec_status geodec_knn_search(int64_t n_points, int64_t d, const double *points, int64_t n_queries,
                                const double *queries, int64_t k, int32_t *index, double *dist2, geodec_pool *pool,
                                const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__knn_kernels *kernels = geodec__knn_best();
    int done = 0;
    if (n_points < 1 || n_points > MAX_POINTS || d < 1 || d > INT32_MAX || (queries && n_queries < 0))
        GEODEC_THROW(GEODEC_RANGE, "neighbours among %lld points of dimension %lld", (long long)n_points, (long long)d);
    if (k < 1 || k > n_points - !queries) {
        GEODEC_THROW(GEODEC_RANGE, "%lld neighbours requested of %lld points", (long long)k, (long long)n_points);
    }
    if (!geodec__finite(n_points * d, points) || (queries && !geodec__finite(n_queries * d, queries)))
        GEODEC_THROW(GEODEC_NUMERIC, "neighbours of points that are not finite");
    if (kernels && n_points >= FEW_POINTS && k <= GEODEC__KNN_MAX_K && d <= GEODEC__KNN_MAX_D)
        GEODEC_TRY(geodec__knn_coarse(kernels, n_points, d, points, n_queries, queries, k, index, dist2, pool, hooks,
                                      &done, err));
    if (!done)
        GEODEC_TRY(geodec__knn_brute(n_points, d, points, n_queries, queries, k, index, dist2, pool, hooks, err));
done:
    return st;
}
