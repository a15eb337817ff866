/* Randomised principal components of a stream of rows (Halko, Martinsson, Tropp, SIAM Rev. 53 (2011) 217): two passes
 * and 3 width x d numbers instead of d^2.
 *
 * With C the covariance and W a seeded Gaussian width x d matrix, pass 1 sums W C and makes its rows orthonormal: Q.
 * Pass 2 sums Q C, whose Rayleigh-Ritz values theta (of Q C Q^T) are exact variances along the basis and lie below the
 * eigenvalues of the same rank. A posteriori, with no assumption on the spectrum: within residual_i = |C q_i - theta_i
 * q_i| of every theta_i there is an eigenvalue. The trace of C is summed exactly, so the explained share is exact. */
#ifndef GEODEC_GEOMETRY_SKETCH_H
#define GEODEC_GEOMETRY_SKETCH_H

#include "geometry/pca.h"

#include <stdbool.h>

typedef struct geodec_sketch {
    int64_t d, width, count;
    int passes;     /* finished */
    double *origin; /* [d] near the mean */
    double *sum;    /* [d] of x - origin */
    double square;  /* sum of |x - origin|^2 */
    double *probe;  /* [width][d] W, then Q */
    double *image;  /* [width][d] sum of probe (x - origin) times x - origin */
} geodec_sketch;

/* Components beyond those needed; the last Ritz values are the least exact. */
enum { GEODEC_SKETCH_OVERSAMPLE = 10 };

/* width in 1..d; origin [d] is copied, NULL = zero. GEODEC_RANGE. */
geodec_status geodec_sketch_init(geodec_sketch *s, int64_t d, int64_t width, const double *origin, uint64_t seed,
                                 uint64_t stream, geodec_err *err) GEODEC_MUST_USE;
void geodec_sketch_clear(geodec_sketch *s);
/* Adds rows x [count][d]: all rows once, then geodec_sketch_turn, then all once more. The last bits of the result
 * depend on the division of rows into calls, not on threads. */
geodec_status geodec_sketch_add(geodec_sketch *s, int64_t count, const double *x, geodec_pool *pool,
                                geodec_err *err) GEODEC_MUST_USE;
/* Makes s, of the same sizes, an empty sketch in the pass and with the directions of `like`; its sums can be added to
 * those of `like` in any order that is fixed. */
void geodec_sketch_empty(geodec_sketch *s, const geodec_sketch *like);
void geodec_sketch_merge(geodec_sketch *s, const geodec_sketch *part);
/* Between the passes. GEODEC_SCARCE (fewer than 2 rows, no variance), GEODEC_NUMERIC (not finite). */
geodec_status geodec_sketch_turn(geodec_sketch *s, geodec_err *err) GEODEC_MUST_USE;
/* After pass 2. K is the smallest number of components that explain `share`, in pca (its eigenvalues: `width` Ritz
 * values, then the rest of the trace in equal parts). residual [width] may be NULL. *enough is false, and pca
 * empty, when the first width - GEODEC_SKETCH_OVERSAMPLE (all when width = d) do not explain that share: the
 * width is too small. */
geodec_status geodec_sketch_result(const geodec_sketch *s, double share, geodec_pca *pca, double *residual,
                                   bool *enough, geodec_err *err) GEODEC_MUST_USE;

#endif
