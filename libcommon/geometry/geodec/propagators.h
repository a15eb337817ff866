/* The propagators artifact: Phi along every path of a geodesics artifact, with the paths themselves.
 *
 * Dimensions: P paths, S nodes, n coordinates, m = 2 n, C paths in the control. */
#ifndef GEODEC_PROPAGATORS_H
#define GEODEC_PROPAGATORS_H

#include "geodec/geodesics.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_propagators_options {
    geodec_propagate_options propagate;
    bool flow;          /* keep the full d(x,v)/d(x,v) of every node */
    int64_t control;    /* number of paths compared with central differences of the flow; default 4 */
    double check;       /* for a larger gap the differences are repeated at half the step; default 1e-3 */
    geodec_shard shard; /* only these of the paths, and the control paths among them */
} geodec_propagators_options;
GEODEC_API geodec_propagators_options geodec_propagators_defaults(void);

typedef struct geodec_propagators {
    geodec_geodesics paths;          /* owned: with status, good and the rows they come from */
    double *phi;                     /* [P][S][n][n] dx(t_k)/dx(0) */
    double *flow;                    /* [P][S][m][m] or NULL */
    double *singular;                /* [P][n] singular values of Phi_T, descending */
    geodec_propagate_report *report; /* [P] */
    geodec_propagate_options options;
    const char *rule; /* of propagators made by another rule, its name in static storage; NULL = by options.scheme */
    int64_t controls;
    int32_t *control_path; /* [C], as indices into all paths */
    double *control_gap;   /* [C] max |Phi_T - differences| */
    double *control_step;  /* [C] where the gap is above `check`: max |differences - differences at half the step|,
                              large if the step is too long for the field; else 0. Not in the file */
    /* of the file */
    bool of_flow; /* no rule */
    const char *scheme;
    int64_t order;
    int64_t ok; /* paths with status ok; `largest` and `shift` are of these */
    geodec_propagate_report largest;
    double gap_largest, shift;
} geodec_propagators;

/* Takes ownership of the paths on success (*paths is cleared). After a failure with a slice, *paths may hold only the
 * paths of the slice. */
GEODEC_API geodec_status geodec_propagators_compute(const geodec_space *s, geodec_geodesics *paths,
                                                    const geodec_propagators_options *o, geodec_pool *pool,
                                                    const geodec_hooks *hooks, geodec_propagators *out,
                                                    geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_propagators_clear(geodec_propagators *p);

/* Fills a new artifact; the caller commits. */
GEODEC_API geodec_status geodec_propagators_write(const geodec_propagators *p, geodec_artifact *a,
                                                  geodec_err *err) GEODEC_MUST_USE;

/* Reads everything back except control_step. */
GEODEC_API geodec_status geodec_propagators_read(const geodec_artifact *a, geodec_propagators *out,
                                                 geodec_err *err) GEODEC_MUST_USE;

#endif
