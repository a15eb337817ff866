/* Geodesics of a space: x''^k = -Gamma^k_ij(x) x'^i x'^j from given start points and coordinate velocities
 * (do Carmo 1992, ch. 3, eq. 1).
 *
 * A path never ends in NaN alone: its report gives the last valid node and the reason for the stop, and nodes after
 * that repeat the last good one. */
#ifndef GEODEC_GEOMETRY_GEODESIC_H
#define GEODEC_GEOMETRY_GEODESIC_H

#include "base/hooks.h"
#include "base/pool.h"
#include "geodec/geodesic.h"
#include "geometry/space.h"

#include <stdbool.h>

#define GEODEC__GEODESIC_CHOICE(NAME, name, order, text) "|" #name
#define GEODEC__GEODESIC_ITEM(NAME, name, order, text) "; " #name ": " text
/* String constants: the names, separated by '|'; the names with their descriptions. */
#define GEODEC_GEODESIC_CHOICES (&(GEODEC_GEODESIC_TABLE(GEODEC__GEODESIC_CHOICE))[1])
#define GEODEC_GEODESIC_ITEMS (&(GEODEC_GEODESIC_TABLE(GEODEC__GEODESIC_ITEM))[2])

typedef struct geodec_geodesic_row {
    const char *name;
    int order;
    const char *text;
} geodec_geodesic_row;
/* NULL outside of the table. */
const geodec_geodesic_row *geodec_geodesic_row_of(geodec_geodesic_method method);
/* GEODEC_NOTFOUND. */
geodec_status geodec_geodesic_method_find(const char *name, geodec_geodesic_method *method,
                                          geodec_err *err) GEODEC_MUST_USE;

/* ---- parts that other modules use ------------------------------------------------------------------------------- */

/* accel^k = -Gamma^k_ij v^i v^j; gamma [n][n][n], v, accel [n]. */
void geodec_geodesic_accel(int64_t n, const double *gamma, const double *v, double *accel);
/* State (x, v) at parameter t_k, k = 0..n_out-1, ascending and >= 0, from (x0, v0) by the adaptive integrator:
 * xs, vs [n_out][n]. *reached = number of outputs obtained; the rest is untouched. */
geodec_status geodec_geodesic_at(const geodec_space *s, double rtol, const double *x0, const double *v0, int64_t n_out,
                                 const double *t, double *xs, double *vs, int64_t *reached,
                                 geodec_err *err) GEODEC_MUST_USE;
/* geodec_logmap with geodesics by these options, of parameter length go->steps go->dl = 1; at most GEODEC_LOGMAP_STEPS
 * steps. For spaces whose `path` is much faster than `at`: the adaptive integrator calls `at`. */
enum { GEODEC_LOGMAP_STEPS = 64 };
geodec_status geodec_logmap_by(const geodec_space *s, const geodec_geodesic_options *go, double tolerance, int rounds,
                               const double *x, const double *y, double *w, bool *found,
                               geodec_err *err) GEODEC_MUST_USE;

#endif
