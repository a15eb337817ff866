/* Square roots of second moments, for whitening. */
#ifndef GEODEC_LOWRANK_INPUT_MOMENTS_INTERNAL_H
#define GEODEC_LOWRANK_INPUT_MOMENTS_INTERNAL_H

#include "lowrank/input_moments.h"

/* With C' = C + ridge tr(C)/d I of a layer's side: root = C'^(1/2), unroot = C'^(-1/2), both [d][d]. GEODEC_NUMERIC
 * (all activations zero), GEODEC_NOCONV, GEODEC_NOMEM. */
geodec_status geodec__input_moments_roots(const geodec_input_moments *m, geodec_side side, int32_t layer, double ridge,
                                          double *root, double *unroot, geodec_err *err) GEODEC_MUST_USE;

#endif
