/* Internal: short vectors, summed in index order. */
#ifndef GEODEC_BASE_VEC_INTERNAL_H
#define GEODEC_BASE_VEC_INTERNAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline double geodec__dot(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/* v^T g v */
static inline double geodec__norm2(int64_t n, const double *g, const double *v)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += v[i] * geodec__dot(n, g + i * n, v);
    return s;
}

/* |a - b|^2 */
static inline double geodec__gap2(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += (a[i] - b[i]) * (a[i] - b[i]);
    return s;
}

/* Keeps the `most` nearest of the items that are added one by one, nearest first, ties in order of addition: near and
 * index [most], of which *count are in use. */
static inline void geodec__keep_nearest(int64_t most, int64_t *count, double *near, int64_t *index, double d,
                                        int64_t item)
{
    if (*count == most && d >= near[most - 1]) return;
    int64_t at = *count < most ? (*count)++ : most - 1;
    for (; at > 0 && near[at - 1] > d; at--) {
        near[at] = near[at - 1];
        index[at] = index[at - 1];
    }
    near[at] = d;
    index[at] = item;
}

static inline bool geodec__finite(int64_t n, const double *a)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(a[i])) return false;
    return true;
}

/* Largest |a_i| of finite values. */
static inline double geodec__largest(int64_t n, const double *a)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++) m = fmax(m, fabs(a[i]));
    return m;
}

#endif
