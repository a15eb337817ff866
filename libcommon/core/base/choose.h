/* Seeded subsets and permutations. */
#ifndef GEODEC_BASE_CHOOSE_H
#define GEODEC_BASE_CHOOSE_H

#include "base/err.h"

#include <stdint.h>

/* order [n]: the numbers 0..n-1 in a random order (Fisher and Yates), a function of seed and stream. */
void geodec__choose_order(uint64_t seed, uint64_t stream, int64_t n, int64_t *order);
/* out [m]: a random m-subset of 0..n-1, m <= n, ascending. */
geodec_status geodec__choose_subset(uint64_t seed, uint64_t stream, int64_t n, int64_t m, int64_t *out,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
