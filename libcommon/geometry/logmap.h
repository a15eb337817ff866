/* The logarithm map by shooting: w with exp_x(w) = y, the initial velocity of a geodesic that reaches y at parameter 1.
 *
 * Newton's iteration with Broyden's update of the inverse derivative (Broyden, Math. Comp. 19 (1965) 577), begun at the
 * chord w = y - x with the identity, the derivative of exp_x at 0; a step that does not come nearer is halved. Between
 * two points there may be several geodesics, beyond the cut locus in particular: what is found is one of them, the one
 * next to the chord; or none. */
#ifndef GEODEC_GEOMETRY_LOGMAP_H
#define GEODEC_GEOMETRY_LOGMAP_H

#include "geometry/space.h"

#include <stdbool.h>

typedef struct geodec_logmap_options {
    double rtol;      /* of the geodesics; default 1e-3 */
    double drift_max; /* relative change of g(v,v) at which a geodesic counts as broken; default 1e-2 */
    double tolerance; /* of exp_x(w) - y, in lengths of y - x; default 1e-3 */
    int rounds;       /* at most so many geodesics; default 12 */
} geodec_logmap_options;
GEODEC_API geodec_logmap_options geodec_logmap_defaults(void);

/* x, y, w [n], n <= 64. *found = false (w is then not valid) when the iteration does not get there or a geodesic
 * breaks down on the way; that is no error. GEODEC_NUMERIC when x is not valid; GEODEC_RANGE (n). */
GEODEC_API geodec_status geodec_logmap(const geodec_space *s, const geodec_logmap_options *o, const double *x,
                                       const double *y, double *w, bool *found, geodec_err *err) GEODEC_MUST_USE;

#endif
