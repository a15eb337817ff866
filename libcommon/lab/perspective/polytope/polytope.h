/* The nearest point of a polytope {x : n_j . x <= b_j}, |n_j| = 1.
 *
 * The projection P is non-expansive, |Px - Py| <= |x - y|. Where it is differentiable, its Jacobian is the orthogonal
 * projector onto the face, so it is symmetric and idempotent; it is not zero. A polytope that is fitted to states says
 * where those states were, and no more. */
#ifndef GEODEC_PERSPECTIVE_POLYTOPE_POLYTOPE_H
#define GEODEC_PERSPECTIVE_POLYTOPE_POLYTOPE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_POLYTOPE_SWEEPS = 200, GEODEC_POLYTOPE_MAX = 1 << 16 /* dimensions, half-spaces */ };
#define GEODEC_POLYTOPE_TOLERANCE 1e-6

typedef struct geodec_polytope {
    int64_t d, m;
    double *normal; /* [m][d], unit rows */
    double *bound;  /* [m] */
} geodec_polytope;

/* Copies of normal [m][d] and bound [m], divided by the length of each normal. GEODEC_LIMIT (d or m below 1 or above
 * 65,536), GEODEC_NUMERIC (not finite), GEODEC_RANGE (a normal of length 0), GEODEC_NOMEM. */
geodec_status geodec_polytope_make(int64_t d, int64_t m, const double *normal, const double *bound,
                                   geodec_polytope *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_polytope_clear(geodec_polytope *p);
/* max over j of n_j . x - b_j: at most 0 inside. */
double geodec_polytope_violation(const geodec_polytope *p, const double *x);

/* DYKSTRA: cyclic projections with corrections (Dykstra 1983), which converge to the nearest point. The correction of a
 * half-space is a multiple of its normal, so one number is kept of each. Slow in narrow wedges: see the report.
 * EXACT: the dual active-set method of Goldfarb and Idnani (1983), which ends after finitely many steps.
 * CYCLIC: the published loop, without corrections. It converges to some point of the polytope, in general another one.
 * PUBLISHED: the published program: DYKSTRA, and then a step of size `blend` towards the mean of the nearest 10
 * anchors, weighted by 1 / distance. No projection: not idempotent, and the result may lie outside. */
typedef enum geodec_polytope_method {
    GEODEC_POLYTOPE_DYKSTRA,
    GEODEC_POLYTOPE_EXACT,
    GEODEC_POLYTOPE_CYCLIC,
    GEODEC_POLYTOPE_PUBLISHED,
    GEODEC_POLYTOPE_METHODS
} geodec_polytope_method;

typedef struct geodec_polytope_options {
    geodec_polytope_method method;
    double
        tolerance;   /* of violation and step, > 0; EXACT: of the violation, 1e-12 of the largest bound or coordinate */
    int64_t sweeps;  /* at most, >= 1; EXACT: half-spaces that are added, at most 100 times this */
    int64_t anchors; /* PUBLISHED: anchor [anchors][d], at least 1 */
    const double *anchor;
    double blend; /* 0..1 */
} geodec_polytope_options;
/* DYKSTRA, 1e-6, 200 sweeps. */
geodec_polytope_options geodec_polytope_defaults(void);

typedef struct geodec_polytope_report {
    int64_t sweeps;   /* EXACT: half-spaces added or dropped */
    double violation; /* of the result, at least 0 */
    double step;      /* change of all corrections in the last sweep (CYCLIC: of x), as a norm */
    double moved;     /* |out - x| */
    int64_t active;   /* half-spaces with a correction */
    bool converged;   /* violation and step below the tolerance */
} geodec_polytope_report;

/* out [d] for x [d]; they may be the same. A point inside is returned bit for bit (not by PUBLISHED). A method that
 * does not converge is no error: the report says so. GEODEC_RANGE (options), GEODEC_NUMERIC (x not finite),
 * GEODEC_NOMEM; EXACT: GEODEC_NOCONV when the half-spaces have no point in common,
 * GEODEC_SINGULAR when active normals are parallel to working precision. */
geodec_status geodec_polytope_project(const geodec_polytope *p, const geodec_polytope_options *o, const double *x,
                                      double *out, geodec_polytope_report *report, geodec_err *err) GEODEC_MUST_USE;

/* A polytope in the span of a few directions of a larger space: x is moved within basis [k][width], orthonormal rows,
 * about mean [width]; p->d = k. What is orthogonal to the span stays as it is, so this is the nearest point of
 * {x : B (x - mean) in p}. out may be x. */
geodec_status geodec_polytope_project_span(const geodec_polytope *p, int64_t width, const double *basis,
                                           const double *mean, const geodec_polytope_options *o, const double *x,
                                           double *out, geodec_polytope_report *report,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
