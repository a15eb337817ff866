/* Density of new states against a library, in one metric.
 *
 * The texts of a cloud are split at random: some are the library (offline), the others are held out (online), so that
 * no held-out state has a neighbour in time in the library (fewer than four texts are cut into eight pieces, which
 * keeps that but at the cuts). Distances are Euclidean in the principal coordinates, on both sides alike:
 *
 *   online   each held-out state to the nearest library state
 *   offline  each library state to the nearest library state of another text
 *   within   each held-out state to the nearest state of its own text at least w tokens away: at w = 1 this is
 *            the autocorrelation of a single trajectory and no density
 *
 *     ratio = mean online / mean offline,    enrichment = ratio^n,
 *
 * n the TwoNN dimension of the library with its interval. The enrichment is the factor by which the library must grow
 * for held-out states to be as near to it as library states are to each other (distances shrink as N^(-1/n)).
 * Intervals: 95 % bootstraps over texts, ends combined. The null is the whole experiment on surrogates
 * (linalg/surrogate.h). */
#ifndef GEODEC_LAB_DENSITY_DENSITY_H
#define GEODEC_LAB_DENSITY_DENSITY_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "geometry/twonn.h"
#include "linalg/stats.h"
#include "linalg/surrogate.h"

extern const geodec_kind geodec_density_kind;

enum { GEODEC_DENSITY_WINDOWS = 16 };

typedef struct geodec_density_options {
    double held_out; /* share of the texts, in (0, 1); default 0.3 */
    int64_t n_windows;
    int64_t window[GEODEC_DENSITY_WINDOWS]; /* w, rising from >= 1; default 1 2 4 8 16 32 64 */
    int64_t nulls;                          /* surrogates; default 6 */
    geodec_surrogate surrogate;             /* default shuffle */
    int64_t replicates;                     /* bootstrap; default 1000 */
    uint64_t seed;
    geodec_sweep *sweep; /* states in slices, which are not summed up; NULL: at once */
} geodec_density_options;
geodec_density_options geodec_density_defaults(void);

typedef struct geodec_density {
    int64_t points, n, texts, held_texts, online_points, offline_points, n_windows, nulls;
    geodec_estimate online, offline; /* mean distances */
    double online_p50, online_p90, offline_p50, offline_p90;
    geodec_estimate ratio, enrichment;
    geodec_twonn dimension;         /* of the library */
    double published_rule;          /* ceil(ratio^2), for comparison */
    int64_t *window, *within_count; /* [windows]; states that have such a neighbour */
    double *within, *within_null;   /* [windows] means; 0 where there is none */
    double null_ratio, null_sd, z;  /* over the surrogates; 0 below 2 */
    geodec_surrogate surrogate;
} geodec_density;

/* x [points][n] with the text and the place in it of each. Rows of a text in order of position. At least 16 points.
 * GEODEC_SCARCE (fewer than 16 points, all equal), GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_INTERRUPTED. O(nulls points^2
 * n). */
geodec_status geodec_density_run(int64_t points, int64_t n, const double *x, const int32_t *sequence,
                                 const int32_t *position, const geodec_density_options *o, geodec_pool *pool,
                                 const geodec_hooks *hooks, geodec_density *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_density_clear(geodec_density *d);

#endif
