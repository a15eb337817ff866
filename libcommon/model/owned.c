#include "model/owned_internal.h"

#include "base/f16.h"

#include <math.h>
#include <string.h>

int64_t geodec__owned_room(int64_t rows, int64_t cols, bool half)
{
    return (rows * cols * (half ? 2 : 4) + 63) / 64 * 64;
}

geodec_status geodec__owned_put(const float *x, int64_t rows, int64_t cols, bool half, uint8_t **at,
                                geodec__matrix *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int64_t i = 0; i < rows * cols; i++)
        if (!isfinite(x[i]) || (half && fabsf(x[i]) >= 65520.0f))
            GEODEC_THROW(GEODEC_NUMERIC, "a factor holds %g", (double)x[i]);
    *out = (geodec__matrix){.data = *at,
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = cols * (half ? 2 : 4),
                            .type = half ? GEODEC_GGML_F16 : GEODEC_GGML_F32,
                            .owned = true};
    if (half)
        geodec_f32_to_f16_n(x, (uint16_t *)(void *)*at, rows * cols);
    else
        memcpy(*at, x, (size_t)(rows * cols) * sizeof *x);
    *at += geodec__owned_room(rows, cols, half);
done:
    return st;
}
