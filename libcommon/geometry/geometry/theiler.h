/* TwoNN along texts: neighbours in time left out.
 *
 * Consecutive states of a text are near in space because they are near in time. The two nearest neighbours are then
 * steps of the same path, and TwoNN measures the path. Theiler (Phys. Rev. A 34 (1986) 2427) leaves out pairs of the
 * same text with |position difference| < W. For TwoNN this must hold between the neighbours too: those on another text
 * come in runs, at nearly equal distances, and with the window of the query alone points on a sphere of ten dimensions
 * have TwoNN 26. So the points are divided into parts, within which no two points of a text are nearer than W. Points
 * sorted by text and position go to the parts in turn; the number of parts is the largest number of points in any W
 * positions of a text. The search is within each part, exact, and costs n^2/parts; the ratios of all parts are one
 * sample. W = 0 and 1 are plain TwoNN: one part.
 *
 * The price is that each ratio is of n/parts points. The corrected dimension (geometry/twonn_sphere.h) removes most
 * of what that costs. Intervals are percentile bootstraps over blocks of consecutive points, as many as there are
 * parts.
 *
 * The window from the data: for W = 1, 2, 3, 4, 6, 8, 12, .. let a ratio's three points (a point and its two
 * neighbours) be three pairs. A pair is in time if both are of one text and next to each other there, among the points
 * of the part. If order within a text did not matter, a pair of a text with m points in the part would be in time with
 * probability 2/m (m >= 4 only). W is large enough if the pairs in time exceed that expectation by at most
 * GEODEC_THEILER_EXCESS a ratio, or by at most GEODEC_THEILER_SIGMA standard deviations. (The share was chosen on the
 * benchmark sets of tests/unit/geometry: at twice the share the set of ten dimensions is still too low, at half of it
 * parts are so small that curved sets come out too high.) Texts that share a subject
 * but no order keep W = 1. Where the texts have become too short to tell order from text while pairs of a text are
 * still common, W is the length of the longest text: a part has one point of each. A part has at least
 * GEODEC_THEILER_LEAST points; if W would have to be larger, time neighbours remain. */
#ifndef GEODEC_GEOMETRY_THEILER_H
#define GEODEC_GEOMETRY_THEILER_H

#include "base/hooks.h"
#include "base/pool.h"
#include "geodec/cloud.h"

#include <stdbool.h>
#include <stdint.h>

#define GEODEC_THEILER_EXCESS 0.07
#define GEODEC_THEILER_SIGMA 4
enum { GEODEC_THEILER_LEAST = 32 };

typedef struct geodec_theiler_window {
    int64_t window; /* at least 1 */
    bool remain;    /* time neighbours remain: too few points for a larger window */
    /* Share of the points whose nearest neighbour, of all, is of the same text within max(window, 2) positions; and
     * the mean over the points of the share of such points among all others. */
    double near, chance;
} geodec_theiler_window;

/* The window from the data, for x [n][d] of texts text [n] at positions position [n], in any order. asked >= 0: that
 * window (0: 1) and only its shares. Without a text of two points: window 1, no search. GEODEC_SCARCE, GEODEC_NUMERIC
 * as geodec_twonn_estimate. */
geodec_status geodec_theiler_find(int64_t n, int64_t d, const double *x, const int32_t *text, const int32_t *position,
                                  int64_t asked, geodec_pool *pool, const geodec_hooks *hooks,
                                  geodec_theiler_window *out, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_theiler_parts {
    int64_t parts, blocks;
    int32_t *part, *block; /* [n] 0 .. parts-1, 0 .. blocks-1; NULL with one part. A prefix is of the first points. */
} geodec_theiler_parts;
/* *out becomes all zero on failure. GEODEC_NOMEM. */
geodec_status geodec_theiler_divide(int64_t n, const int32_t *text, const int32_t *position, int64_t window,
                                    geodec_theiler_parts *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_theiler_clear(geodec_theiler_parts *p);

/* x [n][d], n at most the points of p. Errors as geodec_twonn_estimate: *out has the counts, and NaN. */
geodec_status geodec_theiler_estimate(int64_t n, int64_t d, const double *x, const geodec_theiler_parts *p,
                                      const geodec_twonn_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                      geodec_theiler *out, geodec_err *err) GEODEC_MUST_USE;
/* The same from a plain estimate, whose ratios are those of one part. */
void geodec_theiler_of(const geodec_twonn *t, int64_t parts, geodec_theiler *out);

/* Eckmann and Ruelle (Physica D 56 (1992) 185): N points support a dimension of at most 2 log10 N. True if the
 * corrected dimension is above that of the points of a part. */
bool geodec_theiler_scarce(const geodec_theiler *t);

#endif
