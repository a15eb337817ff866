/* What the coverage experiment needs. */
#ifndef GEODEC_CHAIN_COVERAGE_NEEDS_H
#define GEODEC_CHAIN_COVERAGE_NEEDS_H

#include "base/needs.h"
#include "chain/coverage.h"
#include "chain/coverage_task.h"

/* Runs the experiment with one split, without and with one cloud of each null, and if `states` is not NULL one split of
 * coverage by the task; splits and clouds are taken to need as long as these. shares: slices of the splits. Adds sizes
 * and times. Errors: those of the stage. */
geodec_status geodec_coverage_needs(const geodec_cloud *cloud, int64_t n, const double *x,
                                    const geodec_artifact *states, const geodec_coverage_options *o, int64_t shares,
                                    geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
