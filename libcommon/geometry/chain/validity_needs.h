/* What the validity experiment needs. */
#ifndef GEODEC_CHAIN_VALIDITY_NEEDS_H
#define GEODEC_CHAIN_VALIDITY_NEEDS_H

#include "base/needs.h"
#include "chain/validity.h"

/* The experiment on a field from the starts x0, v0 [starts][n], and its four controls. The step settles on two starts
 * (*o is changed as geodec_validity_settle changes it, and on all starts if that takes at most four times the budget);
 * then two starts are moved in one and two directions, which gives the times of a reference path and of a direction.
 * shares: slices of the reference paths and the grid (1: everything). Adds sizes and times. Errors: those of the
 * stage. */
typedef struct geodec_validity_plan {
    double tolerance; /* of the step; 0: it is kept */
    int most;         /* halvings */
    int64_t sphere_starts, shares;
    uint64_t seed;
} geodec_validity_plan;
geodec_status geodec_validity_needs(const geodec_space *s, geodec_validity_options *o, const geodec_validity_plan *p,
                                    int64_t starts, const double *x0, const double *v0, double budget,
                                    geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
