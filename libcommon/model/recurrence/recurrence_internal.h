/* Internal: the steps and the convolution, one table for each instruction set. */
#ifndef GEODEC_PERSPECTIVE_RECURRENCE_RECURRENCE_INTERNAL_H
#define GEODEC_PERSPECTIVE_RECURRENCE_RECURRENCE_INTERNAL_H

#include "recurrence/recurrence.h"

typedef struct geodec__recurrence {
    void (*run)(const geodec_recurrence_shape *shape, const void *from, void *to, bool half, int64_t first, int64_t end,
                const geodec_recurrence_rows *rows, float *scratch);
    void (*convolve)(const geodec_recurrence_shape *shape, const float *weight, const float *bias, int64_t n,
                     const float *const *tap, int64_t first, int64_t end, float *const *y);
} geodec__recurrence;
/* NULL where the build lacks the instructions. */
extern const geodec__recurrence *const geodec__recurrence_scalar, *const geodec__recurrence_avx2,
                                                                      *const geodec__recurrence_avx512;

#endif
