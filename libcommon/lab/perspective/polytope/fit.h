/* Half-spaces from data, in coordinates of a few principal components (geometry/pca.h, k of 64 at most). The hull of
 * states itself is of no use in many dimensions: n states span n - 1 of them, so that every other state lies outside.
 */
#ifndef GEODEC_PERSPECTIVE_POLYTOPE_FIT_H
#define GEODEC_PERSPECTIVE_POLYTOPE_FIT_H

#include "lab/perspective/polytope/polytope.h"

enum { GEODEC_POLYTOPE_FIT_MAX = 64 };

/* Supporting planes of states z [n][k]: normals are the 2 k signed axes, then m - 2 k random directions of the seed;
 * bounds are the largest projection plus the margin. All states lie inside. GEODEC_RANGE (n < 1, k outside 1..64,
 * m < 2 k, margin < 0), GEODEC_NUMERIC, GEODEC_LIMIT, GEODEC_NOMEM. */
geodec_status geodec_polytope_support(int64_t n, int64_t k, const double *z, int64_t m, double margin, uint64_t seed,
                                      geodec_polytope *out, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_polytope_plane {
    double normal[GEODEC_POLYTOPE_FIT_MAX]; /* [k], of length 1, towards the unsafe states */
    double bound;
    double safe_inside, unsafe_outside; /* shares */
} geodec_polytope_plane;
/* Fisher's linear discriminant of safe [n][k] and unsafe [u][k] states: the normal is (S + ridge tr(S) / k I)^-1 (mean
 * of the unsafe - mean of the safe), S the pooled covariance; the plane lies half-way between the projected means.
 * GEODEC_RANGE (n or u < 2, k outside 1..64, ridge < 0), GEODEC_NUMERIC, GEODEC_SINGULAR (equal means, or S without a
 * ridge), GEODEC_NOMEM. */
geodec_status geodec_polytope_separate(int64_t n, const double *safe, int64_t u, const double *unsafe, int64_t k,
                                       double ridge, geodec_polytope_plane *out, geodec_err *err) GEODEC_MUST_USE;

#endif
