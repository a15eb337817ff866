/* Christoffel symbols of a space at many points, with their checks. */
#ifndef GEODEC_CHRISTOFFEL_H
#define GEODEC_CHRISTOFFEL_H

#include "geodec/artifact.h"
#include "geodec/space.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum geodec_deriv { GEODEC_DERIV_ANALYTIC, GEODEC_DERIV_FD } geodec_deriv;

typedef struct geodec_christoffel_options {
    geodec_deriv deriv;
    double step;     /* of central differences; 0 = the fd_step of the space: 1e-3 sigma of a field */
    int64_t control; /* points at which the two derivatives are compared, evenly spread; default 64, at least 1 */
    /* Given symbols [points][n][n][n]: they are measured in place of computed ones, and a large residual is reported
     * but is no error. NULL = compute. */
    const double *table;
    const geodec_space *other; /* the control's space; NULL = the same */
    geodec_shard shard;        /* only these of the points, and the control points among them */
} geodec_christoffel_options;
GEODEC_API geodec_christoffel_options geodec_christoffel_defaults(void);

typedef struct geodec_christoffel {
    int64_t points, n, control; /* points of the slice */
    int64_t first;              /* number of its first point */
    double *gamma;              /* [points][n][n][n], Gamma^k_ij with k last */
    double *largest;            /* [points] max |Gamma| */
    double *residual;           /* [points] metric compatibility, see below, over max |g| */
    double *asymmetry;          /* [points] max |Gamma^k_ij - Gamma^k_ji| */
    int32_t *control_index;     /* [control] points compared, as indices into all points */
    double *control_gap;        /* [control] max |Gamma (differences) - Gamma (analytic)| */
    double worst_residual, worst_gap, step;
    geodec_deriv deriv;
    /* only in the file, set by geodec_christoffel_write */
    const double *x; /* [points][n] */
    const char *where;
    double sigma;
} geodec_christoffel;

/* x [points][n], all points, also with a slice. The residual uses the derivatives that gamma was computed from, so it
 * tests the algebra. The gap to the other derivative, which is independent, tests the calculus. GEODEC_CHECK when a
 * residual is above 1e-10 max(|g|, |dg|); GEODEC_NUMERIC, GEODEC_RANGE. */
GEODEC_API geodec_status geodec_christoffel_compute(const geodec_space *s, int64_t points, const double *x,
                                                    const geodec_christoffel_options *o, geodec_pool *pool,
                                                    const geodec_hooks *hooks, geodec_christoffel *out,
                                                    geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_christoffel_clear(geodec_christoffel *c);

/* Fills a new artifact of geodec_christoffel_kind; the caller commits. x: as above. where: "samples" or "midpoints". */
GEODEC_API geodec_status geodec_christoffel_write(const geodec_christoffel *c, const double *x, const char *where,
                                                  double sigma, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

#endif
