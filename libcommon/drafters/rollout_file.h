/* The artifact of the geometric rollout: what its drafters need, and the ladder that says what the geometry adds. */
#ifndef GEODEC_DRAFTERS_ROLLOUT_FILE_H
#define GEODEC_DRAFTERS_ROLLOUT_FILE_H

#include "drafters/ablation.h"
#include "drafters/rollout.h"

GEODEC_API extern const geodec_kind geodec_rollout_kind;

/* broken [n]: share of a rung's steps whose geodesic blew up. Fills a new artifact; the caller commits. */
GEODEC_API geodec_status geodec_rollout_ablation_write(const geodec_rollout *r, const geodec_ablation_variant *rung,
                                                       const geodec_ablation_figures *f, const double *broken,
                                                       int32_t n, geodec_artifact *out,
                                                       geodec_err *err) GEODEC_MUST_USE;

#endif
