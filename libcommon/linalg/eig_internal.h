/* Internal: the eigenproblem of small symmetric matrices, one variant for each instruction set, all with the same bits.
 */
#ifndef GEODEC_LINALG_EIG_INTERNAL_H
#define GEODEC_LINALG_EIG_INTERNAL_H

#include <stdint.h>

enum { GEODEC__EIG_SMALL = 32 };

typedef struct geodec__eig_kernels {
    const char *name;
    /* a, w, v as in geodec_eig_sym_ws, n <= GEODEC__EIG_SMALL; work: geodec__eig_small_work(n) doubles. False without
     * convergence: w and v are untouched then. */
    int (*eig)(int64_t n, const double *a, double *w, double *v, double *work);
} geodec__eig_kernels;
extern const geodec__eig_kernels geodec__eig_scalar, geodec__eig_avx2, geodec__eig_avx512;
const geodec__eig_kernels *geodec__eig_best(void);
int64_t geodec__eig_small_work(int64_t n);

#endif
