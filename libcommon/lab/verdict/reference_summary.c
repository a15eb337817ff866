#include "lab/verdict/reference_internal.h"

#include "linalg/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEDIAN_LEAST = 6 }; /* with fewer values the extremes are not a 95 % interval of the median */

/* The median of |x|, or an end of its interval. */
static geodec_status abs_median(const char *word, int64_t n, double *x, double *out, geodec_err *err)
{
    if (n < MEDIAN_LEAST)
        GEODEC_FAIL(GEODEC_NOTFOUND, "%lld values; an interval of the median needs %d", (long long)n, MEDIAN_LEAST);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) GEODEC_FAIL(GEODEC_NOTFOUND, "a value is not finite");
        x[i] = fabs(x[i]);
    }
    geodec_stats_sort(n, x);
    const geodec_estimate median = geodec_stats_median_interval(n, x);
    if (strcmp(word, "abs_median_low") == 0)
        *out = median.low;
    else if (strcmp(word, "abs_median_high") == 0)
        *out = median.high;
    else
        *out = median.value;
    return GEODEC_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Number of different finite values; sorts x. */
static double distinct(int64_t n, double *x)
{
    int64_t m = 0, found = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i])) x[m++] = x[i];
    qsort(x, (size_t)m, sizeof *x, by_value);
    for (int64_t i = 0; i < m; i++) found += i == 0 || x[i] != x[i - 1];
    return (double)found;
}

geodec_status geodec__reference_summary(const char *word, int64_t n, double *x, double *out, geodec_err *err)
{
    double sum = 0, high = -INFINITY, low = INFINITY, zero = 0;
    int64_t nonfinite = 0, nonzero = 0;
    if (strncmp(word, "abs_median", 10) == 0 &&
        (!word[10] || strcmp(word + 10, "_low") == 0 || strcmp(word + 10, "_high") == 0)) {
        GEODEC_PASS(abs_median(word, n, x, out, err));
        return GEODEC_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        zero += x[i] * 0; /* NaN when a value is not finite */
        nonfinite += !isfinite(x[i]);
        nonzero += x[i] != 0;
        if (!isfinite(x[i])) continue;
        sum += x[i];
        high = fmax(high, x[i]);
        low = fmin(low, x[i]);
    }
    if (strcmp(word, "count") == 0)
        *out = (double)n;
    else if (strcmp(word, "distinct") == 0)
        *out = distinct(n, x);
    else if (strcmp(word, "nonfinite") == 0)
        *out = (double)nonfinite;
    else if (strcmp(word, "nonzero") == 0)
        *out = (double)nonzero;
    else if (n - nonfinite == 0 &&
             (strncmp(word, "max", 3) == 0 || strcmp(word, "min") == 0 || strcmp(word, "sum") == 0))
        GEODEC_FAIL(GEODEC_NOTFOUND, "no values");
    else if (strcmp(word, "max_finite") == 0)
        *out = high;
    else if (strcmp(word, "max") == 0)
        *out = high + zero;
    else if (strcmp(word, "min") == 0)
        *out = low + zero;
    else if (strcmp(word, "sum") == 0)
        *out = sum + zero;
    else
        GEODEC_FAIL(GEODEC_INVAL, "no summary '%.40s'", word);
    return GEODEC_OK;
}
