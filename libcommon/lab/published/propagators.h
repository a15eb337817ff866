/* Propagators along paths by the published rule (geodec_harness_propagator), for the propagators artifact. The rule is
 * not the derivative of the flow: it has no flow with invariants, and the control shows the difference.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_PROPAGATORS_H
#define GEODEC_LAB_PUBLISHED_PROPAGATORS_H

#include "chain/propagators.h"
#include "lab/harness/manifold.h"

/* control: number of paths compared with central differences of the flow. Takes ownership of the paths on success
 * (*paths is cleared). GEODEC_FORMAT: paths of another dimension. GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_NOMEM. */
geodec_status geodec_published_propagators_compute(const geodec_harness_manifold *m, geodec_geodesics *paths,
                                                   int64_t control, geodec_pool *pool, const geodec_hooks *hooks,
                                                   geodec_propagators *out, geodec_err *err) GEODEC_MUST_USE;

#endif
