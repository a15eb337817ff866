/* The published curvature warp: "knowledge injection" by a local change of the metric, both protocols of the harness.
 *
 * A fact is a query point q of the cloud and a target t, the point in the middle of all others by distance. A geodesic
 * of `steps` steps of `dl` starts at q in the direction of t at unit speed; its error is the distance of its end to t
 * in the metric halfway between. Then the table of metrics and symbols is replaced by that of a warped field and the
 * same is measured again:
 *
 *     v1   g'(x) = clip_1e-3( g(x) - alpha (1 - exp(-|x-q|^2 / 2 extent^2)) w w^T )
 *     v2   log g'(x) = log g(x) - alpha (1 - r^2)^2 v v^T,  r = |x-q| / extent < 1;  eigenvalues of g' at least 1e-6
 *
 * with w the direction to t of unit length in g(q), and v its part across x - q, of unit length in g(x). Spillover is
 * the relative change of the error of paths from holdout points (those outside 2 extent in v1, 1.5 extent in v2), all
 * of them towards one point, the query's neighbour a quarter of the cloud away.
 *
 * Its defects are kept here. Errors before the warp are measured with the smoothed accessor; afterwards with the
 * nearest sample of a table smoothed once more, so that alpha = 0 already "spills" and all of v2's spillover is of that
 * kind. v1's factor is 0 at the injected point and 1 far away. Targets are several path lengths off. Symbols are
 * constant in a cell, where paths may diverge: figures become NaN. lab/warp/warp.h has the corrected experiment.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_WARP_H
#define GEODEC_LAB_PUBLISHED_WARP_H

#include "artifact/artifact.h"
#include "lab/harness/manifold.h"

typedef enum geodec_warp_published_variant {
    GEODEC_PUBLISHED_WARP_V1,
    GEODEC_PUBLISHED_WARP_V2
} geodec_warp_published_variant;

typedef struct geodec_warp_published_draws {
    int64_t facts, holdouts;
    const int64_t *query;   /* [facts] samples of the manifold */
    const int64_t *holdout; /* [holdouts] */
} geodec_warp_published_draws;

typedef struct geodec_warp_published_config {
    geodec_warp_published_variant variant;
    double alpha, extent; /* strength; sigma of v1, radius of v2 */
    int64_t steps;        /* 16 */
    double dl;            /* 0.1 */
} geodec_warp_published_config;

/* Aggregates of the harness: NaN where a value is NaN; the *_finite ones leave such facts and holdouts out. p95
 * by linear interpolation. */
typedef struct geodec_warp_published_summary {
    double pre_mean, post_mean, improvement, spill_mean, spill_p95;
    double improvement_finite, spill_mean_finite, spill_p95_finite;
    int64_t facts, spills, nan_post, nan_spill;
    bool target_halved, spill_small; /* mean post < half of mean pre; mean spillover < 5 %: both = pass */
} geodec_warp_published_summary;

typedef struct geodec_warp_published_outcome {
    int64_t facts, holdouts;
    int64_t *target, *neighbour; /* [facts] */
    double *pre, *post;          /* [facts] errors */
    double *spillover;           /* [facts][holdouts]; 0 where not used */
    uint8_t *used;               /* [facts][holdouts] */
    geodec_warp_published_summary summary;
} geodec_warp_published_outcome;
void geodec_warp_published_clear(geodec_warp_published_outcome *o);

/* ---- the experiment: computes once the parts that all facts share
 * ------------------------------------------------------ */
typedef struct geodec_warp_published geodec_warp_published;
/* m stays the caller's and must outlive it. GEODEC_NOMEM. */
geodec_status geodec_warp_published_create(const geodec_harness_manifold *m, geodec_pool *pool,
                                           const geodec_hooks *hooks, geodec_warp_published **out,
                                           geodec_err *err) GEODEC_MUST_USE;
void geodec_warp_published_destroy(geodec_warp_published *w); /* NULL ok */

/* Paths before any warp, for one set of samples and one path length: shared by all configurations of a sweep. Draws are
 * kept by reference. GEODEC_RANGE (an index outside the samples, fewer than 4 samples). */
typedef struct geodec_warp_published_before geodec_warp_published_before;
geodec_status geodec_warp_published_prepare(const geodec_warp_published *w, const geodec_warp_published_draws *draws,
                                            int64_t steps, double dl, geodec_pool *pool, const geodec_hooks *hooks,
                                            geodec_warp_published_before **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_warp_published_release(geodec_warp_published_before *b); /* NULL ok */
/* c->steps and c->dl must be those of b (GEODEC_INVAL). Facts are tasks. The caller clears out. */
geodec_status geodec_warp_published_run(const geodec_warp_published *w, const geodec_warp_published_before *b,
                                        const geodec_warp_published_config *c, geodec_pool *pool,
                                        const geodec_hooks *hooks, geodec_warp_published_outcome *out,
                                        geodec_err *err) GEODEC_MUST_USE;

/* ---- the published sweeps ---------------------------------------------------------------------------------------- */

typedef enum geodec_warp_published_grid {
    GEODEC_PUBLISHED_WARP_CROSS, /* v1 at 0.7 and 1.2, v2 at 0.35 and 1.2; then both at strength 0, the control */
    GEODEC_PUBLISHED_WARP_GRID1, /* v1: 0.4 0.7 0.9 0.99 x 0.3 0.6 1.2 2.4 x dl 0.05 0.1, 20 facts */
    GEODEC_PUBLISHED_WARP_GRID2, /* v2: 0.1 0.2 0.3 0.4 x 0.6 0.9 1.2 1.8 x dl 0.05 0.1, 32 facts */
    GEODEC_PUBLISHED_WARP_GRIDS
} geodec_warp_published_grid;

typedef struct geodec_warp_published_row {
    geodec_warp_published_grid grid;
    geodec_warp_published_config config;
    geodec_warp_published_summary summary;
} geodec_warp_published_row;

enum { GEODEC_PUBLISHED_WARP_ROWS = 4 + 32 + 32 };
/* All sweeps in this order: row [GEODEC_PUBLISHED_WARP_ROWS]; with `one`, that configuration alone: row [1]. The grids
 * use the first 20 and 32 facts of the draws, or as many as there are (the harness drew others for them, from another
 * seed). */
geodec_status geodec_warp_published_sweep(const geodec_harness_manifold *m, const geodec_warp_published_draws *draws,
                                          const geodec_warp_published_config *one, geodec_pool *pool,
                                          const geodec_hooks *hooks, geodec_warp_published_row *row,
                                          geodec_err *err) GEODEC_MUST_USE;

/* The published artifact; m and draws for its sizes. */
extern const geodec_kind geodec_warp_published_kind;
geodec_status geodec_warp_published_write(const geodec_warp_published_row *row, int64_t rows, int64_t samples,
                                          int64_t n, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

#endif
