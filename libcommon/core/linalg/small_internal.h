/* Internal: kernels for small matrices, in one variant for each instruction set, all with the same bits. */
#ifndef GEODEC_LINALG_SMALL_INTERNAL_H
#define GEODEC_LINALG_SMALL_INTERNAL_H

#include <stdint.h>

enum { GEODEC__EIG_SMALL = 32, GEODEC__EXPM_SMALL = 64, GEODEC__EXPM_BUFFERS = 7 };

typedef enum geodec__expm_result {
    GEODEC__EXPM_OK,
    GEODEC__EXPM_NOT_FINITE,
    GEODEC__EXPM_OVERFLOW
} geodec__expm_result;

typedef struct geodec__small_kernels {
    const char *name;
    /* y_b = A x_b as in linalg/apply.h: column [n][rows]; x, y [count][n]. */
    void (*many)(int64_t n, int64_t rows, const double *column, int64_t count, const double *x, double *y);
    double (*peak)(int64_t rounds); /* 12 * 8 multiply-adds a round */
    /* a, w, v as in geodec_eig_sym_ws, n <= GEODEC__EIG_SMALL; work: geodec__eig_small_work(n) doubles. False without
     * convergence: w and v are untouched then. */
    int (*eig)(int64_t n, const double *a, double *w, double *v, double *work);
    /* a, e [n][n], n <= GEODEC__EXPM_SMALL; work: geodec__expm_small_work(n) doubles; *norm is set to the 1-norm. */
    geodec__expm_result (*expm)(int64_t n, const double *a, double *e, double *work, double *norm);
    /* c = a b, n a multiple of 8 up to GEODEC__EXPM_SMALL; c is neither a nor b. */
    void (*product)(int64_t n, const double *a, const double *b, double *c);
} geodec__small_kernels;
/* All zero where the compiler lacks the instructions. */
extern const geodec__small_kernels geodec__small_scalar, geodec__small_avx2, geodec__small_avx512;
/* The best the processor has. */
const geodec__small_kernels *geodec__small_best(void);
int64_t geodec__eig_small_work(int64_t n);
int64_t geodec__expm_small_work(int64_t n);

#endif
