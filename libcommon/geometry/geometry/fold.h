/* Whether the leading coordinates of points fold the set of dimension n that the points lie near: whether the
 * projection of the set onto its first n coordinates, the chart, turns over.
 *
 * T_i: the n leading principal directions of the neighbours of point i in all d coordinates; its cosines to the chart
 * are the n x n block C_i of its first n columns. det C_i changes sign where the projection turns over. The sign
 * depends on the frame T_i, but not that of
 *
 *     det C_i det C_j det (T_i T_j^T)
 *
 * for points i, j near each other. The pair is folded where it is negative. A pair counts if
 *
 *     both tangent spaces are determined: those of two disjoint halves of the neighbours, which share no noise, have
 *     least cosine >= GEODEC_FOLD_AGREE
 *     |det (T_i T_j^T)| >= GEODEC_FOLD_NEAR
 *     neither is edge-on: the least singular value of C_i and of C_j is >= GEODEC_FOLD_EDGE
 *
 * A fold is found where more than GEODEC_FOLD_SHARE of the pairs are folded, or more than GEODEC_FOLD_MANY of the
 * determined points are edge-on: a closed set is so along the fold, and a set whose direction the chart lacks
 * everywhere. On a set whose tangent spaces are all within 45 degrees of the chart neither occurs but by error. Noise
 * in the remaining directions leaves fewer tangent spaces determined; where they are fewer than half of the points
 * nothing is found, and nothing excluded. */
#ifndef GEODEC_GEOMETRY_FOLD_H
#define GEODEC_GEOMETRY_FOLD_H

#include "base/hooks.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

#define GEODEC_FOLD_AGREE 0.8
#define GEODEC_FOLD_NEAR 0.5
#define GEODEC_FOLD_EDGE 0.2
#define GEODEC_FOLD_SHARE 0.01
#define GEODEC_FOLD_MANY 0.05
enum { GEODEC_FOLD_POINTS = 1000, GEODEC_FOLD_PARTNERS = 64, GEODEC_FOLD_MAX_N = 64 };

typedef struct geodec_fold {
    int64_t points;     /* looked at: a seeded choice of at most GEODEC_FOLD_POINTS, with n > 12 of 12 / n of them */
    int64_t determined; /* of them, with a determined tangent space */
    int64_t edge_on;    /* of these, with the least singular value of C below GEODEC_FOLD_EDGE */
    int64_t pairs;      /* each point with its GEODEC_FOLD_PARTNERS nearest of those looked at, where they count */
    double share;       /* of the pairs that are folded; 0 without pairs */
    double flat;        /* median least singular value of C over the determined points: 1 where the chart is tangent */
    bool testable;      /* half of the points is determined */
    bool found;         /* testable, and one of the two shares is above its limit */
} geodec_fold;

/* Least number of points for a chart of n coordinates, with neighbours = 0. */
int64_t geodec_fold_needs(int64_t n);
/* edge_on / determined; 0 where none is determined. */
double geodec_fold_edge_on(const geodec_fold *f);

/* x [points][d], its first n columns the chart. neighbours of each half, or 0: 4 n, at least 16. GEODEC_RANGE (1 <= n
 * <= GEODEC_FOLD_MAX_N, n < d, neighbours), GEODEC_SCARCE (too few points), GEODEC_NUMERIC, GEODEC_INTERRUPTED. */
geodec_status geodec_fold_measure(int64_t points, int64_t d, const double *x, int64_t n, int64_t neighbours,
                                  uint64_t seed, geodec_pool *pool, const geodec_hooks *hooks, geodec_fold *out,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
