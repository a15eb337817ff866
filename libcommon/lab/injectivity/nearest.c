/* The manuscript's calibration-free radius, and the nearest-neighbour distance that it claims to predict. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/injectivity/injectivity.h"
#include "lab/published/injectivity.h"
#include "linalg/chol.h"
#include "linalg/knn.h"

#include <math.h>

enum { LOCAL = 20, CLOUDS = 8 };

static geodec_status mean_nearest(int64_t points, int64_t n, const double *point, int32_t *index, double *d2,
                                  geodec_pool *pool, double *mean, geodec_err *err)
{
    const geodec_status st = geodec_knn_search(points, n, point, points, NULL, 1, index, d2, pool, NULL, err);
    double sum = 0;
    if (st != GEODEC_OK) return st;
    for (int64_t p = 0; p < points; p++) sum += sqrt(d2[p]);
    *mean = sum / (double)points;
    return GEODEC_OK;
}

geodec_status geodec_injectivity_nearest(int64_t points, int64_t n, const double *point, uint64_t seed,
                                         geodec_pool *pool, double nn[4], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL, *cov = NULL, sigma = 0;
    int32_t *index = NULL;
    if (n < 1 || n > 64) GEODEC_THROW(GEODEC_RANGE, "dimension %lld is outside 1..64", (long long)n);
    if (points < LOCAL + 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld points; nearest neighbours of local scale need at least %d",
                     (long long)points, LOCAL + 2);
    GEODEC_NEW(block, points * (LOCAL + n) + n);
    GEODEC_NEW(cov, n * n);
    GEODEC_NEW(index, points * LOCAL);
    double *d2 = block, *cloud = d2 + points * LOCAL, *mean = cloud + points * n;
    /* sigma: tr / n of the local covariance about the neighbours' mean */
    GEODEC_TRY(geodec_knn_search(points, n, point, points, NULL, LOCAL, index, d2, pool, NULL, err));
    for (int64_t p = 0; p < points; p++) {
        double trace = 0;
        for (int64_t i = 0; i < n; i++) {
            double m = 0, s = 0;
            for (int q = 0; q < LOCAL; q++) m += point[index[p * LOCAL + q] * n + i] / LOCAL;
            for (int q = 0; q < LOCAL; q++) s += pow(point[index[p * LOCAL + q] * n + i] - m, 2);
            trace += s / (LOCAL - 1);
        }
        sigma += sqrt(trace / (double)n) / (double)points;
    }
    nn[0] = geodec_injectivity_published_universal(n, points, sigma);
    GEODEC_TRY(mean_nearest(points, n, point, index, d2, pool, &nn[1], err));
    /* a normal cloud of the same covariance */
    for (int64_t p = 0; p < points; p++)
        for (int64_t i = 0; i < n; i++) mean[i] += point[p * n + i] / (double)points;
    for (int64_t p = 0; p < points; p++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                cov[i * n + j] += (point[p * n + i] - mean[i]) * (point[p * n + j] - mean[j]) / (double)(points - 1);
    GEODEC_TRY(geodec_chol_factor(n, cov, err));
    const double d = (double)n, ball = 0.5 * d * log(M_PI) - lgamma(0.5 * d + 1);
    nn[2] = n > 1 ? exp(lgamma(1 + 1 / d) - (log((double)points) + ball) / d + 0.5 * log(2 * M_PI) +
                        geodec_chol_logdet(n, cov) / (2 * d) + 0.5 * d * log(d / (d - 1)))
                  : 0; /* the mean over a line does not exist */
    nn[3] = 0;
    for (uint64_t k = 0; k < CLOUDS; k++) {
        double one, z[64];
        for (int64_t p = 0; p < points; p++) {
            geodec_rng g =
                geodec_rng_stream(seed, geodec_rng_id("injectivity-null", k * (uint64_t)points + (uint64_t)p));
            for (int64_t i = 0; i < n; i++) z[i] = geodec_rng_normal(&g);
            for (int64_t i = 0; i < n; i++) {
                double s = 0;
                for (int64_t j = 0; j <= i; j++) s += cov[i * n + j] * z[j];
                cloud[p * n + i] = s;
            }
        }
        GEODEC_TRY(mean_nearest(points, n, cloud, index, d2, pool, &one, err));
        nn[3] += one / CLOUDS;
    }
done:
    GEODEC_FREE(block, cov, index);
    return st;
}
