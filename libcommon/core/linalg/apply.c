#include "linalg/apply.h"

#include "base/mem.h"
#include "linalg/small_internal.h"

#include <math.h>

geodec_status geodec_apply_init(int64_t n, const double *a, geodec_apply *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_apply p = {.n = n, .rows = (n + 7) / 8 * 8, .kernels = geodec__small_best()};
    if (n < 1 || n > GEODEC_APPLY_MAX_N) GEODEC_THROW(GEODEC_RANGE, "a matrix of size %lld", (long long)n);
    GEODEC_NEW(p.column, n * p.rows);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) p.column[j * p.rows + i] = a[i * n + j];
    *out = p;
done:
    return st;
}

void geodec_apply_clear(geodec_apply *a)
{
    geodec_mem_free(a->column);
    *a = (geodec_apply){0};
}

void geodec_apply_many(const geodec_apply *a, int64_t count, const double *x, double *y)
{
    a->kernels->many(a->n, a->rows, a->column, count, x, y);
}

int64_t geodec_apply_peak_flops(void) { return 2 * 12 * 8; }
double geodec_apply_peak(int64_t rounds) { return geodec__small_best()->peak(rounds); }
