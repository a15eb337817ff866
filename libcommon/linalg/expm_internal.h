/* Internal: the exponential of small matrices, one variant for each instruction set, all with the same bits. */
#ifndef GEODEC_LINALG_EXPM_INTERNAL_H
#define GEODEC_LINALG_EXPM_INTERNAL_H

#include <stdint.h>

enum { GEODEC__EXPM_SMALL = 64, GEODEC__EXPM_BUFFERS = 7 };

typedef enum geodec__expm_result {
    GEODEC__EXPM_OK,
    GEODEC__EXPM_NOT_FINITE,
    GEODEC__EXPM_OVERFLOW
} geodec__expm_result;

typedef struct geodec__expm_kernels {
    const char *name;
    /* a, e [n][n], n <= GEODEC__EXPM_SMALL; work: geodec__expm_small_work(n) doubles; *norm is set to the 1-norm. */
    geodec__expm_result (*expm)(int64_t n, const double *a, double *e, double *work, double *norm);
    /* c = a b, n a multiple of 8 up to GEODEC__EXPM_SMALL; c is neither a nor b. */
    void (*product)(int64_t n, const double *a, const double *b, double *c);
} geodec__expm_kernels;
extern const geodec__expm_kernels geodec__expm_scalar, geodec__expm_avx2, geodec__expm_avx512;
const geodec__expm_kernels *geodec__expm_best(void);
int64_t geodec__expm_small_work(int64_t n);

#endif
