/* What the stages that evaluate a metric field need: memory of their results, and time by pilot runs (base/pilot.h).
 *
 * Each function takes the arguments of the stage, runs it on a few of its items, spread over all, within about `budget`
 * processor seconds, and adds to *needs the sizes, the results and the times of this slice. *size: the artifact. The
 * assumption is that the other items take as long as those of the pilot: the sites with weight at a point, the steps of
 * an adaptive integrator and broken paths differ from item to item. Errors: those of the stage. */
#ifndef GEODEC_CHAIN_FIELD_NEEDS_H
#define GEODEC_CHAIN_FIELD_NEEDS_H

#include "artifact/size.h"
#include "base/needs.h"
#include "chain/christoffel.h"
#include "chain/geodesics.h"
#include "chain/propagators.h"
#include "chain/riemann.h"

geodec_status geodec_christoffel_needs(const geodec_space *s, int64_t points, const double *x,
                                       const geodec_christoffel_options *o, double budget, geodec_pool *pool,
                                       const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                       geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_riemann_needs(const geodec_metric *metric, const geodec_space *s, const geodec_geodesics *paths,
                                   const geodec_riemann_options *o, double budget, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                   geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_geodesics_needs(const geodec_metric *metric, const geodec_space *s,
                                     const geodec_artifact *metric_file, const geodec_geodesics_options *o,
                                     double budget, geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs,
                                     geodec_size *size, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_propagators_needs(const geodec_space *s, const geodec_geodesics *paths,
                                       const geodec_propagators_options *o, double budget, geodec_pool *pool,
                                       const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                       geodec_err *err) GEODEC_MUST_USE;

/* `count` of the paths, spread over all, in new memory (geodec_geodesics_clear). 1 <= count <= paths. */
geodec_status geodec_geodesics_some(const geodec_geodesics *all, int64_t count, geodec_geodesics *out,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
