/* VHT2: the orthonormal Hartley transform of mixed radix. For n = 2^a 3^b 5^c 7^d 11^e the p x p matrix H[k][j] =
 * (cos + sin)(2 pi k j / p) / sqrt(p) is applied along strides 1, p1, p1 p2, ..., primes ascending. It is symmetric and
 * its own inverse; for n = 2^m it is the Walsh-Hadamard transform. The matrices are literals and sums run in one order
 * in double, so that the same input gives the same bits everywhere. */
#ifndef GEODEC_INTEGER_CODES_VHT2_H
#define GEODEC_INTEGER_CODES_VHT2_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_VHT2_MAX = 1024 };

/* 1 <= n <= GEODEC_VHT2_MAX without a prime factor above 11. */
bool geodec_vht2_fits(int64_t n);
/* The smallest such length that is at least n; 0 beyond the largest. */
int64_t geodec_vht2_length(int64_t n);
/* Transforms x [n] in place; n fits. */
void geodec_vht2(float *x, int64_t n);

#endif
