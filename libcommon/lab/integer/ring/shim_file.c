#include "lab/integer/ring/shim_file.h"

#include "base/mem.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

static int64_t values_of(const geodec_gguf_tensor *t) { return t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3]; }

static bool chosen(const geodec_gguf_tensor *t, const geodec_ring_shim_options *o)
{
    return t->n_dims > 1 && fnmatch(o->pattern, t->name, 0) == 0;
}

static geodec_status plan(const geodec_gguf *in, const geodec_ring_shim_options *o, geodec_gguf_writer *w,
                          geodec_err *err)
{
    int64_t found = 0;
    for (int64_t i = 0; i < geodec_gguf_n_keys(in); i++) {
        const char *key = geodec_gguf_key_at(in, i);
        if (strcmp(key, "general.file_type") == 0 || strcmp(key, "general.alignment") == 0) continue;
        GEODEC_PASS(geodec_gguf_put_copy(w, in, key, err));
    }
    GEODEC_PASS(geodec_gguf_put_u32(w, "general.file_type", 0, err)); /* mostly float32 */
    for (int64_t i = 0; i < geodec_gguf_n_tensors(in); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(in, i);
        const bool mine = chosen(t, o);
        found += mine;
        GEODEC_PASS(geodec_gguf_plan_tensor(w, t->name, mine ? (int)GEODEC_GGML_F32 : t->type, t->n_dims, t->dim, err));
    }
    if (found == 0) GEODEC_FAIL(GEODEC_NOTFOUND, "no matrix is named '%.80s'", o->pattern);
    return GEODEC_OK;
}

static geodec_status put_matrix(const geodec_gguf_tensor *t, const geodec_ring_shim_options *o, geodec_gguf_writer *w,
                                geodec_ring_shim_row *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *x = NULL;
    double sum = 0;
    GEODEC_NEW(x, row->values);
    geodec_ggml_traits_of(t->type)->decode(t->data, x, row->values);
    for (int64_t i = 0; i < row->values; i++) sum += (double)x[i] * (double)x[i];
    row->size = row->values ? sqrt(sum / (double)row->values) : 0;
    GEODEC_TRY_MSG(geodec_ring_shim_apply(o->config, o->reading, o->q_max, x, row->values, &row->report, err),
                   "tensor '%s'", t->name);
    GEODEC_TRY(geodec_gguf_stream(w, x, (size_t)row->values * sizeof *x, err));
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_ring_shim_file(const geodec_gguf *in, const char *path, const geodec_ring_shim_options *o,
                                    const geodec_hooks *hooks, geodec_ring_shim_row *rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf_writer *w = NULL;
    const int64_t n = geodec_gguf_n_tensors(in);
    GEODEC_TRY(geodec_gguf_check_types(in, err));
    GEODEC_TRY(geodec_gguf_writer_create(path, &w, err));
    GEODEC_TRY_MSG(plan(in, o, w, err), "%s", geodec_gguf_path(in));
    for (int64_t i = 0; i < n; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(in, i);
        geodec_ring_shim_row row = {.name = t->name, .from = t->type};
        GEODEC_TRY(geodec_hooks_progress(hooks, "tensors", i, n, err));
        if (chosen(t, o)) {
            row.values = values_of(t);
            GEODEC_TRY_MSG(put_matrix(t, o, w, &row, err), "%s", geodec_gguf_path(in));
        } else {
            GEODEC_TRY(geodec_gguf_stream(w, t->data, t->bytes, err));
        }
        if (rows) rows[i] = row;
    }
    geodec_gguf_writer *finished = w;
    w = NULL;
    GEODEC_TRY(geodec_gguf_writer_commit(finished, err));
done:
    geodec_gguf_writer_abandon(w);
    return st;
}
