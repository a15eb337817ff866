/* Shared by the published warp and the plain computation that its test compares it with. */
#ifndef GEODEC_LAB_PUBLISHED_WARP_INTERNAL_H
#define GEODEC_LAB_PUBLISHED_WARP_INTERNAL_H

#include "lab/published/warp.h"

static const double warp_h = 1e-2, warp_sigma = 0.6; /* of the warped table, whatever the manifold's own are */
static const double warp_v1_floor = 1e-3, warp_v2_floor = 1e-6;

geodec_status geodec__warp_check(int64_t samples, const geodec_warp_published_draws *draws, geodec_err *err);
/* Arrays of the outcome; all zero. *out is to be cleared on failure too. */
geodec_status geodec__warp_outcome(int64_t facts, int64_t holdouts, geodec_warp_published_outcome *out,
                                   geodec_err *err);
/* As geodec__warp_outcome, with target and neighbour filled in. */
geodec_status geodec__warp_begin(const geodec_harness_manifold *m, const geodec_warp_published_draws *draws,
                                 geodec_warp_published_outcome *out, geodec_err *err);
/* Whether a holdout of a fact takes part. */
bool geodec__warp_uses(const geodec_harness_manifold *m, const geodec_warp_published_config *c, int64_t query,
                       int64_t target, int64_t holdout);
/* sqrt(v^T g v) as the harness takes it: NaN stays NaN, below zero is zero. */
double geodec__warp_length(int64_t n, const double *g, const double *x, const double *y);
/* v = y - x to unit length in g; left alone when its squared length is below 1e-12. Returns that squared length. */
double geodec__warp_direction(int64_t n, const double *g, const double *x, const double *y, double *v);
/* The spillover of one holdout. */
static inline double warp_spill(double before, double after)
{
    const double d = after > before ? after - before : before - after;
    return d / before;
}
/* Fills the summary from the arrays. */
geodec_status geodec__warp_summary(geodec_warp_published_outcome *out, geodec_err *err);

#endif
