/* Matrices that are not in the file: factors of low rank, copied into one block of the model's memory. */
#ifndef GEODEC_MODEL_OWNED_INTERNAL_H
#define GEODEC_MODEL_OWNED_INTERNAL_H

#include "base/err.h"
#include "model/weights_internal.h"

/* Bytes of a float16 (half) or float32 matrix in the block; the next one starts on a vector boundary. */
int64_t geodec__owned_room(int64_t rows, int64_t cols, bool half);
/* Copies x [rows][cols] to *at, describes it in *out (which borrows *at) and advances *at. GEODEC_NUMERIC: a number
 * that is not finite in that type. */
geodec_status geodec__owned_put(const float *x, int64_t rows, int64_t cols, bool half, uint8_t **at,
                                geodec__matrix *out, geodec_err *err) GEODEC_MUST_USE;

#endif
