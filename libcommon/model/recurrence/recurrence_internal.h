/* Internal: the steps, one function for each instruction set. */
#ifndef GEODEC_PERSPECTIVE_RECURRENCE_RECURRENCE_INTERNAL_H
#define GEODEC_PERSPECTIVE_RECURRENCE_RECURRENCE_INTERNAL_H

#include "recurrence/recurrence.h"

typedef void geodec__recurrence_fn(const void *from, void *to, bool half, int64_t stride, int64_t first, int64_t end,
                                   const geodec_recurrence_rows *rows, float *scratch);
/* NULL where the build lacks the instructions. */
extern geodec__recurrence_fn *const geodec__recurrence_scalar, *const geodec__recurrence_avx2,
                                                                   *const geodec__recurrence_avx512;

#endif
