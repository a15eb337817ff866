/* Internal: the log-Euclidean field at one point, in few operations. All works in the frame of the eigenvectors of
 * L(x), where g is diagonal and derivatives of exp are products by divided differences; a linear change of coordinates
 * at one point, so tensors found there are only turned back. Contractions come first: what a geodesic or its variation
 * needs of the second derivatives of L is got without ever forming them.
 *
 * One source (rbf_kernel.inc), compiled for each instruction set. Results of two sets differ by rounding; on one set
 * they depend on the point alone. */
#ifndef GEODEC_GEOMETRY_RBF_KERNEL_H
#define GEODEC_GEOMETRY_RBF_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC__RBF_FAST_N = 16, GEODEC__RBF_FAST_SITES = 256 };

/* The sites that have weight at a point: their coordinates and logarithms lie in rows. */
typedef struct geodec__rbf_sites {
    int64_t n, count;     /* dimension 1..16; sites given */
    int64_t row;          /* doubles from a logarithm to the next: packed size rounded up to 8, padded with zeros */
    const double *site;   /* [..][n] */
    const double *site_t; /* [n][count]; needed where index is NULL */
    const double *log_g;  /* [..][row] */
    const int32_t *index; /* [count] rows of the sites; NULL = 0..count-1 */
    double sigma;
} geodec__rbf_sites;

/* False when a weight or an eigenvalue is not finite, or the eigenvalues do not converge; *bad: the log-eigenvalue that
 * is to blame, or NaN. scratch: geodec__rbf_scratch doubles. */
typedef struct geodec__rbf_kernels {
    const char *name;
    /* speed2 = g(v,v); accel [n] = -Gamma^k_ij v^i v^j; either may be NULL. */
    bool (*path)(const geodec__rbf_sites *f, const double *x, const double *v, double *speed2, double *accel,
                 double *scratch, double *bad);
    /* gv [k][j] = Gamma^k_ij v^i; dgvv [k][m] = (d_m Gamma^k_ij) v^i v^j. */
    bool (*variation)(const geodec__rbf_sites *f, const double *x, const double *v, double *gv, double *dgvv,
                      double *scratch, double *bad);
    /* g [n][n], dg [n][n][n], either may be NULL. */
    bool (*first)(const geodec__rbf_sites *f, const double *x, double *g, double *dg, double *scratch, double *bad);
    /* R^a_bcd [n]^4; n <= 8. */
    bool (*riemann)(const geodec__rbf_sites *f, const double *x, double *riem, double *scratch, double *bad);
    /* exp of x [n], |x| <= 700: relative error below 3e-16. */
    void (*exp)(int64_t n, const double *x, double *y);
} geodec__rbf_kernels;

/* Doubles of scratch of each kernel, at most 72 (count rounded up to 8). */
typedef enum geodec__rbf_task { RBF_PATH, RBF_VARIATION, RBF_FIELD, RBF_RIEMANN } geodec__rbf_task;
int64_t geodec__rbf_scratch(geodec__rbf_task task, int64_t n, int64_t count);
extern const geodec__rbf_kernels geodec__rbf_scalar, geodec__rbf_avx2, geodec__rbf_avx512;
/* The fastest this processor has. */
const geodec__rbf_kernels *geodec__rbf_best(void);

#endif
