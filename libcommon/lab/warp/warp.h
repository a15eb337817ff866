/* The curvature warp, corrected: whether a local change of the metric redirects a geodesic to a target, and its effect
 * on geodesics elsewhere.
 *
 * A fact is a point q, the g-unit direction u from q to its nearest neighbour, along which a geodesic of length
 * `length` is shot, and a target t at the same length: t = exp_q(length (cos(angle) u + sin(angle) e)), e orthogonal to
 * u in g(q), in the plane of u and the direction to another point. So t can be reached by a path of that length and
 * speed, and its distance measures the redirection alone. The warp is the space of geometry/space_warped.h around q
 * ("query") or around t ("target"), along the Euclidean direction from q to t, its width a multiple of the path's
 * extent in the chart. The path is shot again from q with the same velocity.
 *
 * Distances before and after are taken in the unwarped metric at the middle of the two points; the figures in the
 * warped metric are given too. Holdouts are other points with a path towards their own nearest neighbour, of the same
 * length; their spillover is |e_after - e_before| / e_before for the distance e of the path's end to that neighbour,
 * and their shift the distance of the two ends over `length`. They count when they lie farther from the centre of the
 * warp than a number of widths.
 *
 * Planted facts: t is the end of the path itself in one of the warps of the sweep, the one of greatest length around q
 * towards t (a fixed point), so that this warp carries the fact exactly: what the experiment says of a change that is
 * known to work. Their points are the first ones at which there is such a target.
 *
 * Controls: alpha = 0 is part of every run and must give exactly no change; a null cloud is another metric; the unit
 * sphere and flat space, where targets are known in closed form, are run with the same options by the tool. A path that
 * breaks down is counted, left out, and makes its cell "diverged". */
#ifndef GEODEC_LAB_WARP_WARP_H
#define GEODEC_LAB_WARP_WARP_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "geometry/space.h"
#include "linalg/stats.h"

#include <stdbool.h>

enum { GEODEC_WARP_STRENGTHS = 8, GEODEC_WARP_WIDTHS = 8, GEODEC_WARP_PLACES = 2, GEODEC_WARP_RADII = 4 };
typedef enum geodec_warp_place { GEODEC_WARP_QUERY, GEODEC_WARP_TARGET } geodec_warp_place;

typedef struct geodec_warp_options {
    int64_t facts, holdouts; /* default 12 and 4 */
    int64_t steps;           /* of a path; default 8 */
    double length;           /* g-length of a path; default 1.6, the published one */
    double angle;            /* between path and target, radians; default pi / 6 */
    int64_t strengths, widths;
    double alpha[GEODEC_WARP_STRENGTHS]; /* default 0, 0.7, 1.4, -1.4, -2.1 (below 0: longer); one must be 0 */
    double width[GEODEC_WARP_WIDTHS];    /* sigma over the chart length of the path; default 0.25, 0.5, 1 */
    double radius[GEODEC_WARP_RADII];    /* holdouts beyond so many sigma count; default 0, 1, 2, 3 */
    double planted;                      /* share of the facts that a warp of the sweep carries; default 0 */
    int64_t bootstrap;                   /* replicates over facts; default 1000 */
    uint64_t seed;
    geodec_sweep *sweep; /* facts in slices, which are not summed up; NULL: at once */
} geodec_warp_options;
geodec_warp_options geodec_warp_defaults(void);

/* Aggregates of a cell (strength, width, place). */
typedef struct geodec_warp_cell {
    geodec_estimate reduction;        /* 1 - sum after / sum before, distances in the unwarped metric */
    geodec_estimate reduction_warped; /* the distance after in the warped metric, before in the unwarped one */
    geodec_estimate spill[GEODEC_WARP_RADII], shift[GEODEC_WARP_RADII]; /* means; 0 where no holdout lies so far out */
    geodec_estimate spill_p95[GEODEC_WARP_RADII];
    int64_t spills[GEODEC_WARP_RADII]; /* holdouts that count */
    int64_t broken;                    /* paths, of facts and holdouts */
    bool pass;                         /* reduction at least one half and p95 of spillover beyond 2 sigma at most 5 % */
} geodec_warp_cell;

typedef struct geodec_warp {
    int64_t n, facts, holdouts, cells; /* cell = (strength * widths + width) * 2 + place */
    int64_t *query, *holdout;          /* [facts], [facts][holdouts] points */
    double *velocity, *target;         /* [facts][n] */
    double *before;                    /* [facts] */
    double *after, *after_warped;      /* [cells][facts]; -1 = broken */
    double *spillover, *shift, *away; /* [cells][facts][holdouts]; -1 = broken; away: distance to the centre in sigma */
    geodec_warp_cell *cell;           /* [cells] */
    geodec_estimate before_mean;
    int64_t planted;               /* facts */
    int64_t passes, zero_failures; /* cells that pass; values of cells with alpha 0 that are not exactly 0 */
} geodec_warp;

/* point [points][n], points >= 3. Facts are tasks; a fact's random numbers depend on the seed and its number alone.
 * GEODEC_RANGE, GEODEC_SCARCE (fewer than 3 points or 2 dimensions, all points on a line, every fact breaks down
 * unwarped), GEODEC_NUMERIC (points outside the chart), GEODEC_INTERRUPTED. */
geodec_status geodec_warp_run(const geodec_space *s, int64_t points, const double *point, const geodec_warp_options *o,
                              geodec_pool *pool, const geodec_hooks *hooks, geodec_warp *out,
                              geodec_err *err) GEODEC_MUST_USE;
void geodec_warp_clear(geodec_warp *w);
/* As geodec_warp_run, in a space of constant curvature 1 (the unit sphere) or 0 (flat, g = 4 I), where every figure can
 * be checked: seeded points, uniform in the ball |x| < 1/2 of the chart. */
geodec_status geodec_warp_exact(int32_t n, double curvature, const geodec_warp_options *o, geodec_pool *pool,
                                const geodec_hooks *hooks, geodec_warp *out, geodec_err *err) GEODEC_MUST_USE;

/* The artifact: the metric's own experiment and the two exact spaces. */
extern const geodec_kind geodec_warp_kind;
geodec_status geodec_warp_write(const geodec_warp *field, const geodec_warp *sphere, const geodec_warp *flat,
                                const geodec_warp_options *o, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures in words; what: name of the space. */
void geodec_warp_say(const geodec_hooks *hooks, const char *what, const geodec_warp *w, const geodec_warp_options *o);

#endif
