/* The logarithm map by shooting: w with exp_x(w) = y, the initial velocity of a geodesic that reaches y at parameter 1.
 *
 * Newton's iteration with Broyden's update of the inverse derivative (Broyden, Math. Comp. 19 (1965) 577), begun at the
 * chord w = y - x with the identity, the derivative of exp_x at 0; a step that brings no improvement is halved. Several
 * geodesics may join two points, in particular beyond the cut locus. The iteration finds one of them, as a rule the one
 * closest to the chord, or none. */
#ifndef GEODEC_GEOMETRY_LOGMAP_H
#define GEODEC_GEOMETRY_LOGMAP_H

#include "geometry/space.h"

#include <stdbool.h>

typedef struct geodec_logmap_options {
    double rtol;      /* of the geodesics; default 1e-3 */
    double drift_max; /* largest relative change of g(v,v) along a geodesic; default 1e-2 */
    double tolerance; /* of exp_x(w) - y, in lengths of y - x; default 1e-3 */
    int rounds;       /* largest number of geodesics; default 12 */
} geodec_logmap_options;
GEODEC_API geodec_logmap_options geodec_logmap_defaults(void);

/* x, y, w [n], n <= 64. *found = false (w is then not valid) when the iteration does not converge or a geodesic
 * breaks down; this is not an error. GEODEC_NUMERIC when x is not valid; GEODEC_RANGE (n). */
GEODEC_API geodec_status geodec_logmap(const geodec_space *s, const geodec_logmap_options *o, const double *x,
                                       const double *y, double *w, bool *found, geodec_err *err) GEODEC_MUST_USE;

#endif
