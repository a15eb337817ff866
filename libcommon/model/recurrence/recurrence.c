#include "kernels/isa_internal.h"
#include "recurrence/recurrence_internal.h"

#include <string.h>

static const geodec__recurrence *steps_of(geodec_isa isa)
{
    const unsigned has = geodec__isa_cpu(isa);
    if (has & GEODEC__CPU_AVX512 && geodec__recurrence_avx512) return geodec__recurrence_avx512;
    if (has & GEODEC__CPU_AVX2 && geodec__recurrence_avx2) return geodec__recurrence_avx2;
    return geodec__recurrence_scalar;
}

void geodec_recurrence_run(geodec_isa isa, const geodec_recurrence_shape *shape, const void *from, void *to, bool half,
                           int64_t first, int64_t end, const geodec_recurrence_rows *rows, float *scratch)
{
    steps_of(isa)->run(shape, from, to, half, first, end, rows, scratch);
}

void geodec_recurrence_convolve(geodec_isa isa, const geodec_recurrence_shape *shape, const float *weight,
                                const float *bias, int64_t n, const float *const *tap, int64_t first, int64_t end,
                                float *const *y)
{
    steps_of(isa)->convolve(shape, weight, bias, n, tap, first, end, y);
}

void geodec_recurrence_taps(const geodec_recurrence_shape *shape, const float *from, int64_t n, const float *const *x,
                            const int32_t *parent, const float **tap)
{
    const int64_t before = shape->taps - 1;
    for (int64_t t = 0; t < n; t++) {
        int64_t at = t, k = before;
        for (; k >= 0 && at >= 0; k--) {
            tap[t * shape->taps + k] = x[at];
            at = parent ? parent[at] : at - 1;
        }
        /* k + 1 rows of the window, the newest ones */
        for (int64_t i = 0; i <= k; i++) tap[t * shape->taps + i] = from + (before - 1 - k + i) * shape->width;
    }
}

void geodec_recurrence_slide(const geodec_recurrence_shape *shape, const float *from, int64_t n, const float *const *x,
                             float *to)
{
    const int64_t before = shape->taps - 1, row = shape->width * (int64_t)sizeof *to;
    for (int64_t i = 0; i < before; i++) /* ascending: a row is read before it is written over */
        memmove(to + i * shape->width, i + n < before ? from + (i + n) * shape->width : x[i + n - before], (size_t)row);
}

void geodec_recurrence_steps_f64(int64_t n, int64_t d, int64_t r, const double *g, const double *v, const double *k,
                                 const double *q, double *s, double *y)
{
    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i < d; i++) {
            double sum = 0;
            for (int64_t j = 0; j < r; j++) {
                s[i * r + j] = g[t * d + i] * s[i * r + j] + v[t * d + i] * k[t * r + j];
                sum += s[i * r + j] * q[t * r + j];
            }
            y[t * d + i] = sum;
        }
}
