#include "chain/rounding.h"

#include "base/mem.h"
#include "linalg/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double allowed = 1e-5;

geodec_status geodec_rounding_judge(int64_t rows, int64_t d, const double *x, double *median, bool *needed,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *v = NULL, *e = NULL;
    *needed = false;
    GEODEC_NEW_EACH(rows, v, e);
    for (int64_t c = 0; c < d; c++) {
        double spread, error;
        for (int64_t r = 0; r < rows; r++) {
            v[r] = x[r * d + c];
            e[r] = fabs((double)(float)v[r] - v[r]);
        }
        GEODEC_TRY(geodec_stats_median(rows, v, &median[c], err));
        GEODEC_TRY(geodec_stats_median(rows, e, &error, err));
        for (int64_t r = 0; r < rows; r++) v[r] = fabs(v[r] - median[c]);
        GEODEC_TRY(geodec_stats_median(rows, v, &spread, err));
        *needed = *needed || error > allowed * spread;
    }
done:
    GEODEC_FREE(v, e);
    return st;
}

geodec_status geodec_rounding_apply(int64_t rows, int64_t d, const double *x, const double *shift, float *y,
                                    geodec_err *err)
{
    for (int64_t i = 0; i < rows * d; i++) {
        y[i] = (float)(shift ? x[i] - shift[i % d] : x[i]);
        if (!isfinite(y[i]))
            GEODEC_FAIL(GEODEC_FORMAT, "row %lld, column %lld: %g is beyond float32", (long long)(i / d) + 1,
                        (long long)(i % d) + 1, x[i]);
    }
    return GEODEC_OK;
}

static uint64_t mix(uint64_t h, uint64_t bits)
{
    h = (h ^ bits) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

static int by_value(const void *pa, const void *pb)
{
    const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return (a > b) - (a < b);
}

static int64_t different(int64_t n, uint64_t *hash)
{
    int64_t count = n > 0;
    qsort(hash, (size_t)n, sizeof *hash, by_value);
    for (int64_t i = 1; i < n; i++) count += hash[i] != hash[i - 1];
    return count;
}

geodec_status geodec_rounding_merged(int64_t rows, int64_t d, const double *x, const float *y, int64_t *merged,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint64_t *of_x = NULL, *of_y = NULL;
    GEODEC_NEW_EACH(rows, of_x, of_y);
    for (int64_t r = 0; r < rows; r++) {
        of_x[r] = of_y[r] = UINT64_C(0x9e3779b97f4a7c15);
        for (int64_t c = 0; c < d; c++) {
            const double a = x[r * d + c] + 0.0, b = (double)y[r * d + c] + 0.0;
            uint64_t bits;
            memcpy(&bits, &a, sizeof bits);
            of_x[r] = mix(of_x[r], bits);
            memcpy(&bits, &b, sizeof bits);
            of_y[r] = mix(of_y[r], bits);
        }
    }
    *merged = different(rows, of_x) - different(rows, of_y);
    if (*merged < 0) *merged = 0;
done:
    GEODEC_FREE(of_x, of_y);
    return st;
}
