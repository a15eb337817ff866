/* Surrogates: points that keep one property of given ones and nothing else, the nulls of every sweep.
 *
 *   gaussian  independent normal draws with the mean and covariance of the points; no order, no shape
 *   phase     Fourier phases along the order of the rows replaced by random ones, the same at each frequency for all
 *             columns (Prichard, Theiler, Phys. Rev. Lett. 73 (1994) 951): mean, covariance, every column's power
 *             spectrum and hence the linear auto- and cross-correlations stay; only for rows that have an order
 *   shuffle   each column permuted on its own: every column keeps its values, all dependence between columns is gone;
 *             where there is no order
 */
#ifndef GEODEC_LINALG_SURROGATE_H
#define GEODEC_LINALG_SURROGATE_H

#include "base/err.h"

#include <stdint.h>

typedef enum geodec_surrogate {
    GEODEC_SURROGATE_GAUSSIAN,
    GEODEC_SURROGATE_PHASE,
    GEODEC_SURROGATE_SHUFFLE,
} geodec_surrogate;
GEODEC_API extern const char *const geodec_surrogate_names[]; /* by number, then NULL */
GEODEC_API const char *geodec_surrogate_name(geodec_surrogate kind);
/* GEODEC_INVAL for a word that is none of the three. */
GEODEC_API geodec_status geodec_surrogate_find(const char *name, geodec_surrogate *kind,
                                               geodec_err *err) GEODEC_MUST_USE;

/* y [points][n] from x [points][n] (not the same memory); a function of (kind, x, seed, stream) alone. n >= 1.
 * GEODEC_SCARCE (fewer than 2 points, all equal), GEODEC_RANGE, GEODEC_NUMERIC (not finite), GEODEC_NOMEM. O(points
 * n^2), phase: O(points log points n). */
GEODEC_API geodec_status geodec_surrogate_draw(geodec_surrogate kind, int64_t points, int64_t n, const double *x,
                                               uint64_t seed, uint64_t stream, double *y,
                                               geodec_err *err) GEODEC_MUST_USE;
/* The surrogate of points with these numbers of texts [points]: phase when at least half of the points share their text
 * with another point, else shuffle. */
GEODEC_API geodec_surrogate geodec_surrogate_for(int64_t points, const int32_t *sequence);

#endif
