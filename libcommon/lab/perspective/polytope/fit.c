#include "lab/perspective/polytope/fit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/stats.h"

#include <math.h>

static bool width_ok(int64_t k) { return k >= 1 && k <= GEODEC_POLYTOPE_FIT_MAX; }

geodec_status geodec_polytope_support(int64_t n, int64_t k, const double *z, int64_t m, double margin, uint64_t seed,
                                      geodec_polytope *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *normal = NULL, *bound = NULL;
    if (n < 1 || !width_ok(k) || m < 2 * k || m > GEODEC_POLYTOPE_MAX || !(margin >= 0) || !isfinite(margin))
        GEODEC_THROW(GEODEC_RANGE, "%lld states of %lld coordinates, %lld planes, margin %g", (long long)n,
                     (long long)k, (long long)m, margin);
    if (!geodec__finite(n * k, z)) GEODEC_THROW(GEODEC_NUMERIC, "a state is not finite");
    GEODEC_NEW(normal, m * k);
    GEODEC_NEW(bound, m);
    for (int64_t j = 0; j < m; j++) {
        double *const w = normal + j * k;
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("polytope normal", (uint64_t)j));
        if (j < 2 * k)
            w[j / 2] = j % 2 ? -1 : 1;
        else
            for (int64_t i = 0; i < k; i++) w[i] = geodec_rng_normal(&r);
        const double length = sqrt(geodec__dot(k, w, w));
        for (int64_t i = 0; i < k; i++) w[i] /= length;
        bound[j] = -INFINITY;
        for (int64_t i = 0; i < n; i++) bound[j] = fmax(bound[j], geodec__dot(k, w, z + i * k));
        bound[j] += margin;
    }
    GEODEC_TRY(geodec_polytope_make(k, m, normal, bound, out, err));
done:
    GEODEC_FREE(normal, bound);
    return st;
}

/* covariance += the products of the centred rows. */
static geodec_status scatter(int64_t n, int64_t k, const double *z, double *mean, double *covariance, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *centred = NULL;
    GEODEC_NEW(centred, n * k);
    geodec_stats_centre(n, k, z, mean, centred);
    geodec_blas_syrk(n, k, 1, centred, k, 1, covariance, k);
done:
    geodec_mem_free(centred);
    return st;
}

static double share_above(int64_t n, int64_t k, const double *z, const geodec_polytope_plane *p, bool above)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += (geodec__dot(k, p->normal, z + i * k) > p->bound) == above;
    return (double)count / (double)n;
}

geodec_status geodec_polytope_separate(int64_t n, const double *safe, int64_t u, const double *unsafe, int64_t k,
                                       double ridge, geodec_polytope_plane *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_polytope_plane p = {0};
    double *s = NULL, *a = NULL, *b = NULL, trace = 0;
    if (n < 2 || u < 2 || !width_ok(k) || !(ridge >= 0) || !isfinite(ridge))
        GEODEC_THROW(GEODEC_RANGE, "%lld and %lld states of %lld coordinates, ridge %g", (long long)n, (long long)u,
                     (long long)k, ridge);
    if (!geodec__finite(n * k, safe) || !geodec__finite(u * k, unsafe))
        GEODEC_THROW(GEODEC_NUMERIC, "a state is not finite");
    GEODEC_NEW(s, k * k);
    GEODEC_NEW_EACH(k, a, b);
    GEODEC_TRY(scatter(n, k, safe, a, s, err));
    GEODEC_TRY(scatter(u, k, unsafe, b, s, err));
    for (int64_t i = 0; i < k * k; i++) s[i] /= (double)(n + u - 2);
    for (int64_t i = 0; i < k; i++) trace += s[i * k + i];
    for (int64_t i = 0; i < k; i++) s[i * k + i] += ridge * trace / (double)k;
    for (int64_t i = 0; i < k; i++) p.normal[i] = b[i] - a[i];
    GEODEC_TRY_MSG(geodec_chol_factor(k, s, err), "the pooled covariance of the states");
    geodec_chol_solve(k, s, 1, p.normal);
    const double length = sqrt(geodec__dot(k, p.normal, p.normal));
    if (!(length > 0) || !isfinite(length)) GEODEC_THROW(GEODEC_SINGULAR, "safe and unsafe states have equal means");
    for (int64_t i = 0; i < k; i++) p.normal[i] /= length;
    p.bound = (geodec__dot(k, p.normal, a) + geodec__dot(k, p.normal, b)) / 2;
    p.safe_inside = share_above(n, k, safe, &p, false);
    p.unsafe_outside = share_above(u, k, unsafe, &p, true);
    *out = p;
done:
    GEODEC_FREE(s, a, b);
    return st;
}
