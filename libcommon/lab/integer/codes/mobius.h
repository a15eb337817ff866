/* Orders of coefficients by the Moebius function. Three definitions are in use and do not agree, so every header keeps
 * the id of its order. mu0 and mu1 put squarefree indices (i, i + 1) first and keep ascending order within both groups;
 * affine17 sends input i to 17 i mod n, and has no Moebius function in it. */
#ifndef GEODEC_INTEGER_CODES_MOBIUS_H
#define GEODEC_INTEGER_CODES_MOBIUS_H

#include "base/err.h"

#include <stdint.h>

/* Numbers are those of files. */
typedef enum geodec_mobius_id {
    GEODEC_MOBIUS_NATURAL,
    GEODEC_MOBIUS_MU0,
    GEODEC_MOBIUS_MU1,
    GEODEC_MOBIUS_AFFINE17,
    GEODEC_MOBIUS_IDS
} geodec_mobius_id;

/* mu(n): -1, 0 or 1; mu(0) = 0. */
int geodec_mobius(uint64_t n);
/* order [n]: position i of the output takes input order[i]. first: length of the squarefree group (n without one); may
 * be NULL. GEODEC_RANGE: no such id, n < 1, or affine17 with a multiple of 17, where it is no permutation. */
geodec_status geodec_mobius_order(int64_t id, int64_t n, int32_t *order, int64_t *first,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
