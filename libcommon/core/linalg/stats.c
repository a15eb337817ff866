#include "linalg/stats.h"

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    if (isnan(a) || isnan(b)) return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    return (a > b) - (a < b);
}

void geodec_stats_sort(int64_t n, double *x) { qsort(x, (size_t)n, sizeof *x, compare); }

double geodec_stats_percentile(int64_t n, const double *sorted, double p)
{
    const double at = p * (double)(n - 1);
    int64_t i = (int64_t)floor(at);
    if (i < 0) i = 0;
    if (i >= n - 1) return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

geodec_estimate geodec_stats_median_interval(int64_t n, const double *sorted)
{
    int64_t low = (int64_t)floor((double)n / 2 - 0.98 * sqrt((double)n)), high = n - low;
    if (low < 1) low = 1, high = n;
    return (geodec_estimate){geodec_stats_percentile(n, sorted, 0.5), sorted[low - 1], sorted[high - 1]};
}

int64_t geodec_stats_argmax(int64_t n, const double *x)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}

double geodec_stats_mean(int64_t n, const double *x)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return n > 0 ? s / (double)n : NAN;
}

double geodec_stats_variance(int64_t n, const double *x)
{
    const double m = geodec_stats_mean(n, x);
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += (x[i] - m) * (x[i] - m);
    return n > 1 ? s / (double)(n - 1) : NAN;
}

void geodec_stats_centre(int64_t rows, int64_t width, const double *a, double *mean, double *out)
{
    for (int64_t j = 0; j < width; j++) mean[j] = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++) mean[j] += a[i * width + j];
    for (int64_t j = 0; j < width; j++) mean[j] /= (double)rows;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < width; j++) out[i * width + j] = a[i * width + j] - mean[j];
}

geodec_status geodec_stats_median(int64_t n, const double *x, double *median, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *copy = NULL;
    if (n < 1) GEODEC_THROW(GEODEC_RANGE, "median of nothing");
    GEODEC_NEW(copy, n);
    memcpy(copy, x, (size_t)n * sizeof *copy);
    geodec_stats_sort(n, copy);
    *median = geodec_stats_percentile(n, copy, 0.5);
done:
    geodec_mem_free(copy);
    return st;
}

geodec_status geodec_stats_fit_line(int64_t n, const double *x, const double *y, const double *weight,
                                    geodec_stats_line *out, geodec_err *err)
{
    double sw = 0, mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0, rss = 0, x2 = 0;
    int64_t used = 0;
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1;
        if (!(w >= 0)) GEODEC_FAIL(GEODEC_RANGE, "line fit with the weight %g", w);
        if (w == 0) continue;
        if (!isfinite(x[i]) || !isfinite(y[i]) || !isfinite(w))
            GEODEC_FAIL(GEODEC_NUMERIC, "line fit to a point that is not finite");
        used++;
        sw += w;
        mx += w * x[i];
        my += w * y[i];
    }
    if (used < 2) GEODEC_FAIL(GEODEC_RANGE, "line fit to %lld points", (long long)used);
    mx /= sw;
    my /= sw;
    for (int64_t i = 0; i < n; i++) {
        const double w = weight ? weight[i] : 1;
        if (w == 0) continue;
        sxx += w * (x[i] - mx) * (x[i] - mx);
        sxy += w * (x[i] - mx) * (y[i] - my);
        syy += w * (y[i] - my) * (y[i] - my);
        x2 += w * x[i] * x[i];
    }
    if (!(sxx > 0)) GEODEC_FAIL(GEODEC_SINGULAR, "line fit where all abscissas are equal");
    const double slope = sxy / sxx, intercept = my - slope * mx;
    for (int64_t i = 0; i < n; i++) {
        const double r = y[i] - intercept - slope * x[i];
        const double w = weight ? weight[i] : 1;
        if (w > 0) rss += w * r * r;
    }
    const int64_t freedom = used - 2;
    const double s2 = freedom > 0 ? rss / (double)freedom : NAN;
    *out = (geodec_stats_line){.slope = slope,
                               .intercept = intercept,
                               .slope_se = sqrt(s2 / sxx),
                               .intercept_se = sqrt(s2 * x2 / (sw * sxx)),
                               .r2 = syy > 0 ? 1 - rss / syy : NAN,
                               .n = used};
    return GEODEC_OK;
}

double geodec_stats_ledoit_wolf(int64_t m, int64_t n, const double *x, double *scratch)
{
    double *s = scratch;
    const double dm = (double)m, dn = (double)n;
    geodec_blas_syrk(m, n, 1 / dm, x, n, 0, s, n);
    double trace = 0, s2 = 0;
    for (int64_t i = 0; i < n; i++) trace += s[i * n + i];
    for (int64_t i = 0; i < n * n; i++) s2 += s[i] * s[i];
    /* d2 = |S - mu I|^2, b2 = sum_k |x_k x_k^T - S|^2 / m^2 = (sum_k |x_k|^4 / m - |S|^2) / m */
    const double mu = trace / dn, d2 = s2 - dn * mu * mu;
    double fourth = 0;
    for (int64_t k = 0; k < m; k++) {
        const double q = geodec_blas_dot(n, x + k * n, x + k * n);
        fourth += q * q;
    }
    const double b2 = (fourth / dm - s2) / dm;
    if (!(d2 > 0) || b2 >= d2) return 1;
    return b2 > 0 ? b2 / d2 : 0;
}

void geodec_stats_resample(uint64_t seed, uint64_t stream, uint64_t replicate, int64_t n, int64_t *index)
{
    /* every replicate has its own stream, so the order does not matter */
    geodec_rng r = geodec_rng_stream(seed, stream + replicate * 0x9e3779b97f4a7c15u);
    for (int64_t i = 0; i < n; i++) index[i] = (int64_t)geodec_rng_below(&r, (uint64_t)n);
}

static double ratio_of(int64_t n, const int64_t *index, const double *numerator, const double *denominator)
{
    double a = 0, b = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = index ? index[i] : i;
        a += numerator[k];
        b += denominator ? denominator[k] : 1;
    }
    return b != 0 ? a / b : NAN;
}

geodec_status geodec_stats_ratio(int64_t groups, const double *numerator, const double *denominator, int64_t replicates,
                                 uint64_t seed, uint64_t stream, geodec_estimate *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *index = NULL, used = 0;
    double *estimate = NULL;
    for (int64_t i = 0; i < groups; i++)
        if (!isfinite(numerator[i]) || (denominator && !isfinite(denominator[i])))
            GEODEC_THROW(GEODEC_NUMERIC, "group %lld is not finite", (long long)i);
    const double value = ratio_of(groups, NULL, numerator, denominator);
    *out = (geodec_estimate){value, value, value};
    if (replicates < 1 || groups < 1) goto done;
    GEODEC_NEW(index, groups);
    GEODEC_NEW(estimate, replicates);
    for (int64_t r = 0; r < replicates; r++) {
        geodec_stats_resample(seed, stream, (uint64_t)r, groups, index);
        const double x = ratio_of(groups, index, numerator, denominator);
        if (!isnan(x)) estimate[used++] = x;
    }
    if (used > 0) {
        geodec_stats_sort(used, estimate);
        out->low = geodec_stats_percentile(used, estimate, 0.025);
        out->high = geodec_stats_percentile(used, estimate, 0.975);
    }
done:
    GEODEC_FREE(index, estimate);
    return st;
}

typedef struct ranked {
    double value;
    int64_t index;
} ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Ranks 1..n less their mean, ties at their mean. */
static void centred_ranks(int64_t n, const double *x, ranked *work, double *rank)
{
    for (int64_t i = 0; i < n; i++) work[i] = (ranked){x[i], i};
    qsort(work, (size_t)n, sizeof *work, by_value);
    for (int64_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && work[j].value == work[i].value;) j++;
        for (int64_t k = i; k < j; k++) rank[work[k].index] = 0.5 * (double)(i + j - n);
    }
}

geodec_status geodec_stats_rank_correlation(int64_t n, const double *a, const double *b, double *rho, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    ranked *work = NULL;
    double *r = NULL, aa = 0, bb = 0, ab = 0;
    if (n < 2) GEODEC_THROW(GEODEC_RANGE, "rank correlation of %lld values", (long long)n);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(a[i]) || !isfinite(b[i])) GEODEC_THROW(GEODEC_NUMERIC, "value %lld is not finite", (long long)i);
    GEODEC_NEW(work, n);
    GEODEC_NEW(r, 2 * n);
    centred_ranks(n, a, work, r);
    centred_ranks(n, b, work, r + n);
    for (int64_t i = 0; i < n; i++) {
        aa += r[i] * r[i];
        bb += r[n + i] * r[n + i];
        ab += r[i] * r[n + i];
    }
    if (!(aa > 0) || !(bb > 0)) GEODEC_THROW(GEODEC_NUMERIC, "all values are equal");
    *rho = ab / sqrt(aa * bb);
done:
    GEODEC_FREE(work, r);
    return st;
}
