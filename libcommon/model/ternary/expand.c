/* Rows of trits as float32. */
#include "ternary/multiply_internal.h"

#include <string.h>

void geodec__ternary_expand_columns(int encoding, const uint8_t *row, int64_t begin, int64_t end, float s, float *out)
{
    const int64_t columns = geodec_ternary_block(encoding);
    for (int64_t i = begin; i < end; i++) {
        const int64_t in = i % columns;
        unsigned q = row[i / columns * GEODEC_TERNARY_BLOCK + in % GEODEC_TERNARY_BLOCK];
        int code = 1;
        if (encoding == GEODEC_TERNARY_BASE3)
            for (int64_t k = 0; k <= in / GEODEC_TERNARY_BLOCK; k++, q = 3 * q & 255) code = (int)(3 * q >> 8);
        else
            code = (int)(q >> 2 * (in / GEODEC_TERNARY_BLOCK) & 3);
        out[i] = (float)(code - 1) * s;
    }
}

void geodec_ternary_expand(const geodec_ternary_matrix *m, int64_t o, geodec_isa isa, float *out)
{
    const uint8_t *row = m->data + o * geodec_ternary_row_bytes(m->encoding, m->cols);
    const float s = m->row_scale ? m->row_scale[o] : m->scale;
    const geodec__ternary_ops *ops = geodec__ternary_for(isa);
    if (ops->expand)
        ops->expand(m->encoding, row, m->cols, s, out);
    else
        geodec__ternary_expand_columns(m->encoding, row, 0, m->cols, s, out);
}
