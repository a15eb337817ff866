#include "kernels/columns_internal.h"

#include "gguf/gguf.h"

#include <string.h>

static void pack_row(const geodec__matrix *w, int type, int64_t row, float *room, uint8_t *panel)
{
    const int64_t size = geodec__column_size(type), chunks = geodec__pad(w->cols) / 16,
                  lane = row % GEODEC__COLUMN_ROWS;
    const uint8_t *from = w->data + row * w->row_bytes;
    if (type != w->type) {
        geodec_ggml_traits_of(w->type)->decode(from, room, w->cols);
        from = (const uint8_t *)room;
    }
    if (type == GEODEC_GGML_Q8_0) { /* scales, then elements without them */
        for (int64_t b = 0; b < w->cols / 32; b++) {
            memcpy(panel + 32 * b + 2 * lane, from + GEODEC_GGML_BYTES_Q8_0 * b, 2);
            memcpy(room + 8 * b, from + GEODEC_GGML_BYTES_Q8_0 * b + 2, 32);
        }
        panel += w->cols;
        from = (const uint8_t *)room;
    }
    for (int64_t c = 0; c < w->cols; c++)
        memcpy(panel + (geodec__column_place(c, chunks) * 16 + lane) * size, from + c * size, (size_t)size);
}

void geodec__columns_pack(const geodec__matrix *w, int type, uint8_t *data, float *room)
{
    const int64_t bytes = geodec__column_panel(type, w->cols);
    for (int64_t row = 0; row < w->rows; row++) pack_row(w, type, row, room, data + row / GEODEC__COLUMN_ROWS * bytes);
}
