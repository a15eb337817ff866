/* Internal: the log-Euclidean field at one point, in few operations. The kernels work in the frame of the eigenvectors
 * of L(x), where g is diagonal and derivatives of exp are products by divided differences. The frame is a linear change
 * of coordinates at one point, so tensors only have to be rotated back. Contractions come first, so that a geodesic and
 * its variation never form the second derivatives of L.
 *
 * One source (rbf_kernel.inc), compiled for each instruction set. Results of two sets differ by rounding; on one set
 * they depend on the point alone. */
#ifndef GEODEC_GEOMETRY_RBF_KERNEL_INTERNAL_H
#define GEODEC_GEOMETRY_RBF_KERNEL_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC__RBF_FAST_N = 16 };

/* The sites that have weight at a point, with coordinates and logarithms in rows. */
typedef struct geodec__rbf_sites {
    int64_t n, count;     /* dimension 1..16; sites given */
    int64_t row;          /* doubles from a logarithm to the next: packed size rounded up to 8, padded with zeros */
    const double *site;   /* [..][n] */
    const double *site_t; /* [n][count]; needed where index is NULL */
    const double *log_g;  /* [..][row] */
    const double *log_t;  /* [n(n+1)/2][count rounded up to 8], zero beyond; needed where index is NULL */
    const int32_t *index; /* [count] rows of the sites; NULL = 0..count-1 */
    double sigma;
} geodec__rbf_sites;

/* One point and its results. */
typedef struct geodec__rbf_job {
    geodec__rbf_sites sites;
    const double *x, *v;
    double *first, *second; /* results, see geodec__rbf_task */
    double *scratch;        /* geodec__rbf_own doubles */
    bool ok;                /* false when a weight or an eigenvalue is not finite, or the eigenvalues do not converge */
    double bad;             /* then: the log-eigenvalue out of range, or NaN */
} geodec__rbf_job;

enum { GEODEC__RBF_TOGETHER = 8 };

/* The results `first` and `second` of a kernel. Of path and field either may be NULL. */
typedef enum geodec__rbf_task {
    RBF_PATH,      /* [1] = g(v,v); [n] = -Gamma^k_ij v^i v^j */
    RBF_VARIATION, /* [k][j] = Gamma^k_ij v^i; [k][m] = (d_m Gamma^k_ij) v^i v^j */
    RBF_FIELD,     /* g [n][n]; dg [n][n][n] */
    RBF_RIEMANN,   /* R^a_bcd [n]^4, n <= 8; none */
    RBF_TASKS
} geodec__rbf_task;

/* Up to GEODEC__RBF_TOGETHER points of one field at once: their eigenproblems lie side by side in the lanes of a vector
 * and share its instructions. Lanes do not mix, so a result depends neither on its place nor on the other points.
 * common: geodec__rbf_common doubles for the largest count. */
typedef struct geodec__rbf_kernels {
    const char *name;
    void (*run[RBF_TASKS])(int points, geodec__rbf_job *job, double *common);
    /* exp of x [n], |x| <= 700: relative error below 3e-16. */
    void (*exp)(int64_t n, const double *x, double *y);
} geodec__rbf_kernels;

/* Scratch: at most 19 (of each point) and 52 (common) times the count rounded up to 8. */
int64_t geodec__rbf_own(int64_t n, int64_t count);
int64_t geodec__rbf_common(geodec__rbf_task task, int64_t n, int64_t count);
extern const geodec__rbf_kernels geodec__rbf_scalar, geodec__rbf_avx2, geodec__rbf_avx512;
/* The fastest this processor has. */
const geodec__rbf_kernels *geodec__rbf_best(void);

#endif
