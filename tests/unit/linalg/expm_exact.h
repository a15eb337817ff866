/* The exponential in long double by a Taylor series of the matrix divided by 2^8: for test_expm and bench-expm. */
#ifndef GEODEC_TESTS_EXPM_EXACT_H
#define GEODEC_TESTS_EXPM_EXACT_H

#include <math.h>
#include <string.h>

enum { EXPM_MAX = 70 };

static inline void expm_product(int n, const long double *a, const long double *b, long double *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            long double s = 0;
            for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
            c[i * n + j] = s;
        }
}

/* Relative error in the Frobenius norm; 20 terms at |x| <= 4 / 256 leave no error. */
static inline double expm_error(int n, const double *a, const double *e)
{
    enum { S = 8, TERMS = 20 };
    static long double x[EXPM_MAX * EXPM_MAX], t[EXPM_MAX * EXPM_MAX], s[EXPM_MAX * EXPM_MAX], y[EXPM_MAX * EXPM_MAX];
    for (int i = 0; i < n * n; i++) {
        x[i] = ldexpl(a[i], -S);
        s[i] = t[i] = i % (n + 1) == 0;
    }
    for (int k = 1; k < TERMS; k++) {
        expm_product(n, t, x, y);
        for (int i = 0; i < n * n; i++) s[i] += t[i] = y[i] / k;
    }
    for (int q = 0; q < S; q++) {
        expm_product(n, s, s, y);
        memcpy(s, y, sizeof s);
    }
    long double d2 = 0, r2 = 0;
    for (int i = 0; i < n * n; i++) {
        d2 += (s[i] - (long double)e[i]) * (s[i] - (long double)e[i]);
        r2 += s[i] * s[i];
    }
    return (double)sqrtl(d2 / r2);
}

#endif
