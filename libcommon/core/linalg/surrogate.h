/* Surrogates: random points that keep one property of the given ones, the null models of every sweep.
 *
 *   gaussian  independent normal vectors with the mean and covariance of the points; no order, no shape
 *   phase     random Fourier phases along the order of the rows, the same at each frequency for all columns
 *             (Prichard, Theiler, Phys. Rev. Lett. 73 (1994) 951): keeps mean, covariance, every column's power
 *             spectrum and so the linear auto- and cross-correlations; only for ordered rows
 *   shuffle   each column permuted independently: keeps every column's values and no dependence between columns;
 *             for rows without order
 * */
#ifndef GEODEC_LINALG_SURROGATE_H
#define GEODEC_LINALG_SURROGATE_H

#include "base/err.h"

#include <stdint.h>

typedef enum geodec_surrogate {
    GEODEC_SURROGATE_GAUSSIAN,
    GEODEC_SURROGATE_PHASE,
    GEODEC_SURROGATE_SHUFFLE,
} geodec_surrogate;
extern const char *const geodec_surrogate_names[]; /* names by number, then NULL */
const char *geodec_surrogate_name(geodec_surrogate kind);
/* GEODEC_INVAL for another word. */
geodec_status geodec_surrogate_find(const char *name, geodec_surrogate *kind, geodec_err *err) GEODEC_MUST_USE;

/* y [points][n] from x [points][n] (not the same memory); a function of (kind, x, seed, stream) alone. n >= 1.
 * GEODEC_SCARCE (fewer than 2 points, all equal), GEODEC_RANGE, GEODEC_NUMERIC (not finite), GEODEC_NOMEM. O(points
 * n^2), phase: O(points log points n). */
geodec_status geodec_surrogate_draw(geodec_surrogate kind, int64_t points, int64_t n, const double *x, uint64_t seed,
                                    uint64_t stream, double *y, geodec_err *err) GEODEC_MUST_USE;
/* The surrogate for points of these texts [points]: phase when at least half of the points share their text with
 * another point, else shuffle. */
geodec_surrogate geodec_surrogate_for(int64_t points, const int32_t *sequence);

#endif
