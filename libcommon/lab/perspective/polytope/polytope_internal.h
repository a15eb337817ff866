/* Internal: the exact method. */
#ifndef GEODEC_PERSPECTIVE_POLYTOPE_POLYTOPE_INTERNAL_H
#define GEODEC_PERSPECTIVE_POLYTOPE_POLYTOPE_INTERNAL_H

#include "lab/perspective/polytope/polytope.h"

/* Moves x [d] to the nearest point; fills sweeps and active of the report. */
geodec_status geodec__polytope_exact(const geodec_polytope *p, int64_t most, double *x, geodec_polytope_report *report,
                                     geodec_err *err) GEODEC_MUST_USE;

#endif
