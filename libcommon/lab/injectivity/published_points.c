#include "base/mem.h"
#include "base/numbers.h"
#include "lab/injectivity/published.h"

#include <float.h>
#include <math.h>

/* Numbers separated by commas; NULL text: `count` numbers 0, points/count, .. */
geodec_status geodec_injectivity_published_list(const char *text, const char *option, int64_t points, int64_t count,
                                                double **out, int64_t *n_out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    int64_t n = 1;
    if (!text) n = count < points ? count : points;
    for (const char *p = text; p && *p; p++) n += *p == ',';
    GEODEC_NEW(x, n);
    if (text) GEODEC_TRY(geodec_numbers_parse(text, option, -DBL_MAX, DBL_MAX, n, x, &n, err));
    for (int64_t i = 0; !text && i < n; i++) x[i] = (double)(i * points / n);
    *out = x;
    *n_out = n;
    x = NULL;
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_injectivity_published_points(const double *x, int64_t n, int64_t points, const char *option,
                                                  int64_t **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *y = NULL;
    GEODEC_NEW(y, n);
    for (int64_t i = 0; i < n; i++) {
        if (x[i] < 0 || x[i] >= (double)points || x[i] != floor(x[i]))
            GEODEC_THROW(GEODEC_INVAL, "%s: %g is none of %lld points", option, x[i], (long long)points);
        y[i] = (int64_t)x[i];
    }
    GEODEC_MOVE(*out, y);
done:
    geodec_mem_free(y);
    return st;
}
