/* Families of distributions whose Fisher metric has a known constant curvature: controls of fisher_field.h. */
#ifndef GEODEC_FISHER_CLOSED_H
#define GEODEC_FISHER_CLOSED_H

#include "fisher/fisher_field.h"

typedef enum geodec_fisher_closed {
    GEODEC_FISHER_SIMPLEX,     /* all distributions of n + 1 outcomes, l = (z, 0): the sphere of radius 2 */
    GEODEC_FISHER_INDEPENDENT, /* n independent bits with the logits z: 2^n outcomes, flat */
    GEODEC_FISHER_NORMAL,      /* normal distributions on a fine grid, z = (mean, log deviation), near (0, 0): n = 2 */
    GEODEC_FISHER_CLOSED
} geodec_fisher_closed;

extern const char *const geodec_fisher_closed_names[GEODEC_FISHER_CLOSED + 1]; /* "simplex", .. by number, then NULL */
/* Their sectional curvature: 1/4, 0, -1/2 (the normal family up to 1e-12 where |z| < 1/2). */
extern const double geodec_fisher_closed_curvature[GEODEC_FISHER_CLOSED];

/* The map of a family; n is 2 for the normal one. GEODEC_RANGE: n outside 1..8. */
geodec_status geodec_fisher_closed_map(geodec_fisher_closed kind, int32_t n, geodec_fisher_map *out,
                                       geodec_err *err) GEODEC_MUST_USE;

#endif
