/* The artifact of the geometric rollout: the input of its drafters, and the ablation that measures the effect of the
 * geometry. */
#ifndef GEODEC_DRAFTERS_ROLLOUT_FILE_H
#define GEODEC_DRAFTERS_ROLLOUT_FILE_H

#include "drafters/ablation.h"
#include "drafters/rollout.h"

GEODEC_API extern const geodec_kind geodec_rollout_kind;

/* broken [n]: share of a variant's steps whose geodesic diverged. Fills a new artifact; the caller commits. */
GEODEC_API geodec_status geodec_rollout_ablation_write(const geodec_rollout *r, const geodec_ablation_variant *variant,
                                                       const geodec_ablation_figures *f, const double *broken,
                                                       int32_t n, geodec_artifact *out,
                                                       geodec_err *err) GEODEC_MUST_USE;

#endif
