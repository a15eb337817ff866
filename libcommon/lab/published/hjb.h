/* The published "HJB / SHF" residual of a path: J_l = D2 s_l + R(D s_l) D s_l with D s = s_{l+1} - s_l and the
 * curvature operator (R(v) w)^a = R^a_iml v^i w^m v^l of the sampled manifold.
 *
 * The second term is zero for every metric: R^a_iml is antisymmetric in m and l, and v^m v^l is not (a velocity is its
 * own trivial Jacobi field). Any other value is rounding, so the published penalty is the squared second difference of
 * the states: its "geodesics" are straight lines of coordinates. lab/hjb/hjb.h has the residual of the geodesic
 * equation.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_HJB_H
#define GEODEC_LAB_PUBLISHED_HJB_H

#include "artifact/artifact.h"
#include "lab/harness/manifold.h"

/* xs [nodes][n], nodes >= 3; total, kinetic, curvature [nodes - 2] squared Euclidean lengths. GEODEC_RANGE. */
geodec_status geodec_hjb_published(const geodec_harness_manifold *m, int64_t nodes, const double *xs, double *total,
                                   double *kinetic, double *curvature, geodec_err *err) GEODEC_MUST_USE;

/* Means over the nodes and paths of a class, and the artifact of the three classes (geodesic, nn_walk, straight). */
enum { GEODEC_PUBLISHED_HJB_CLASSES = 3 };
typedef struct geodec_hjb_published_means {
    int64_t paths;
    double total, kinetic, curvature;
    double covariant, connection; /* of shf/residual.h in the smooth field: the control */
} geodec_hjb_published_means;
extern const geodec_kind geodec_hjb_published_kind;
geodec_status geodec_hjb_published_write(const geodec_hjb_published_means *row, int64_t points, int64_t n, double sigma,
                                         geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* Means of one class of paths: the dataset `name` [paths][nodes][n] of the file of draws. GEODEC_FORMAT; the errors of
 * geodec_foreign_read. */
geodec_status geodec_hjb_published_class(const char *draws, const char *name, const geodec_harness_manifold *m,
                                         const geodec_space *smooth, geodec_hjb_published_means *out,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
