#include "session/embeddings.h"

#include "base/mem.h"
#include "session/weights_internal.h"

#include <string.h>

static geodec_status rows_of(const geodec__matrix *w, int64_t first, int64_t count, float *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_ggml_traits *type = geodec_ggml_traits_of(w->type);
    const int64_t whole = (w->cols + type->block - 1) / type->block * type->block;
    float *row = NULL;
    if (first < 0 || count < 0 || first > w->rows - count)
        GEODEC_THROW(GEODEC_RANGE, "rows %lld to %lld of %lld", (long long)first, (long long)(first + count),
                     (long long)w->rows);
    GEODEC_NEW(row, whole);
    for (int64_t i = 0; i < count; i++) {
        type->decode(w->data + (first + i) * w->row_bytes, row, whole);
        memcpy(out + i * w->cols, row, (size_t)w->cols * sizeof *row);
    }
done:
    geodec_mem_free(row);
    return st;
}

geodec_status geodec_model_embeddings(const geodec_model *m, int64_t first, int64_t count, float *out, geodec_err *err)
{
    return rows_of(&m->embedding, first, count, out, err);
}

geodec_status geodec_model_readout(const geodec_model *m, int64_t first, int64_t count, float *out, geodec_err *err)
{
    const geodec_status st = rows_of(&m->head, first, count, out, err);
    for (int64_t i = 0; st == GEODEC_OK && i < count; i++)
        for (int64_t c = 0; c < m->head.cols; c++) out[i * m->head.cols + c] *= m->output_norm.weight[c];
    return st;
}
