#ifndef GEODEC_LINALG_APPLY_INTERNAL_H
#define GEODEC_LINALG_APPLY_INTERNAL_H

#include "linalg/apply.h"

struct geodec_apply_kernels {
    const char *name;
    /* column [n][rows]; x, y [count][n] */
    void (*many)(int64_t n, int64_t rows, const double *column, int64_t count, const double *x, double *y);
    double (*peak)(int64_t rounds); /* 12 * 8 multiply-adds a round */
};
extern const geodec_apply_kernels geodec__apply_scalar, geodec__apply_avx2, geodec__apply_avx512;
const geodec_apply_kernels *geodec__apply_best(void);

#endif
