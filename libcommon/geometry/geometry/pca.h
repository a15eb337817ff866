/* Principal components, from rows in memory or from second moments summed slab by slab. Variances have the divisor
 * N-1. */
#ifndef GEODEC_GEOMETRY_PCA_H
#define GEODEC_GEOMETRY_PCA_H

#include "base/err.h"
#include "base/pool.h"

#include <stdint.h>

/* First and second moments of rows about a fixed origin; rows are added and moments merged in one pass. Memory d^2. */
typedef struct geodec_pca_moments {
    int64_t d, count;
    double *origin; /* [d] close to the mean, to limit cancellation */
    double *sum;    /* [d] of x - origin */
    double *square; /* [d][d] of (x - origin)(x - origin)^T, upper triangle by tiles */
} geodec_pca_moments;

/* origin [d] is copied; NULL = zero. */
geodec_status geodec_pca_moments_init(geodec_pca_moments *m, int64_t d, const double *origin,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_pca_moments_clear(geodec_pca_moments *m);
/* Adds rows x [count][d]. The last bits of the result depend on the division of rows into calls, not on threads. */
geodec_status geodec_pca_moments_add(geodec_pca_moments *m, int64_t count, const double *x, geodec_pool *pool,
                                     geodec_err *err) GEODEC_MUST_USE;
/* a += b; both must have the same origin. */
void geodec_pca_moments_merge(geodec_pca_moments *a, const geodec_pca_moments *b);
/* mean [d] and covariance [d][d] (full, divisor count-1); either may be NULL. GEODEC_SCARCE with fewer than 2 rows. */
geodec_status geodec_pca_moments_result(const geodec_pca_moments *m, double *mean, double *cov,
                                        geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_pca {
    int64_t d, k, values;
    double *mean;       /* [d] */
    double *eigenvalue; /* [values] descending, values = min(N-1, d) */
    double *basis;      /* [k][d] orthonormal rows; the entry of largest magnitude of each is positive */
    double total;       /* sum of all variances */
    double explained;   /* share of the first k */
} geodec_pca;

/* The smallest K >= 1 whose eigenvalues (descending, negative ones count as 0) sum to at least `share` of all. */
int64_t geodec_pca_pick(int64_t n, const double *eigenvalue, double share);
/* K = smallest number of components that explain `share` (0 < share <= 1).
 * GEODEC_RANGE (share), GEODEC_NUMERIC (not finite), GEODEC_SCARCE (fewer than 2 rows, no variance). */
geodec_status geodec_pca_from_moments(const geodec_pca_moments *m, double share, geodec_pca *out,
                                      geodec_err *err) GEODEC_MUST_USE;
/* Rows x [n_rows][d] in memory: through the Gram matrix when n_rows <= d, else through the covariance. */
geodec_status geodec_pca_from_rows(int64_t n_rows, int64_t d, const double *x, double share, geodec_pool *pool,
                                   geodec_pca *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_pca_clear(geodec_pca *p);
/* Changes the sign of v [d] if its entry of largest magnitude is negative. */
void geodec__pca_fix_sign(int64_t d, double *v);
/* The spectrum only, descending: value [min(n_rows-1, d)]. */
geodec_status geodec_pca_spectrum_rows(int64_t n_rows, int64_t d, const double *x, geodec_pool *pool, double *value,
                                       geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_pca_spectrum_moments(const geodec_pca_moments *m, double *value, geodec_err *err) GEODEC_MUST_USE;

/* coordinate [count][k] = basis (x - mean), x [count][d]; k may be smaller than the number of rows of the basis. A
 * row's result does not depend on threads; rows are multiplied in blocks of 64. */
geodec_status geodec_pca_project(int64_t d, int64_t k, const double *basis, const double *mean, int64_t count,
                                 const double *x, double *coordinate, geodec_pool *pool,
                                 geodec_err *err) GEODEC_MUST_USE;

#endif
