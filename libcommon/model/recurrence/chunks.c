#include "recurrence/recurrence.h"

#define REAL float
#define FN(name) name##_f32
#include "recurrence/chunks.inc"
#undef REAL
#undef FN
#define REAL double
#define FN(name) name##_f64
#include "recurrence/chunks.inc"

int64_t geodec_recurrence_chunk_work(int64_t chunk, int64_t d, int64_t r)
{
    (void)r;
    return 2 * chunk * d + chunk * chunk;
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
