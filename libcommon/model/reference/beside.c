/* What blocks read beside the stream: the stream at boundary 0, inputs of each layer, and keys and values of earlier
 * layers. */
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <string.h>

/* Whether a later layer reads the keys of layer i. */
static bool is_read(const geodec_model *m, int32_t i)
{
    for (int32_t l = i + 1; l < m->config.n_layer; l++)
        if (m->layer[l].kv_layer == i) return true;
    return false;
}

geodec_status geodec__reference_beside_create(const geodec_reference *r, int64_t rows, geodec__ref_beside *out,
                                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = r->model;
    geodec__ref_beside b = {.n_layer = m->config.n_layer};
    if (m->config.d_inputs > 0) GEODEC_NEW(b.input, rows * m->inputs.project.rows);
    GEODEC_NEW_EACH(b.n_layer, b.k, b.v);
    for (int32_t i = 0; i < b.n_layer; i++) {
        if (!is_read(m, i)) continue;
        GEODEC_NEW(b.k[i], rows * m->layer[i].k.rows);
        GEODEC_NEW(b.v[i], rows * m->layer[i].v.rows);
    }
    GEODEC_MOVE(*out, b);
done:
    geodec__reference_beside_destroy(&b);
    return st;
}

void geodec__reference_beside_destroy(geodec__ref_beside *b)
{
    for (int32_t i = 0; b->k && b->v && i < b->n_layer; i++) GEODEC_FREE(b->k[i], b->v[i]);
    GEODEC_FREE(b->k, b->v, b->input);
    *b = (geodec__ref_beside){0};
}

/* The last layer before `from` whose keys a block up to `to` reads; -1: none. */
static int32_t last_source(const geodec_model *m, int32_t from, int32_t to)
{
    int32_t last = -1;
    for (int32_t l = from; l < to; l++)
        if (m->layer[l].kv_layer < from && m->layer[l].kv_layer > last) last = m->layer[l].kv_layer;
    return last;
}

geodec_status geodec__reference_beside_check(const geodec_reference *r, int32_t from, int32_t to, int64_t n,
                                             geodec_err *err)
{
    const bool inputs = r->model->config.d_inputs > 0 && from < to;
    if (!inputs && last_source(r->model, from, to) < 0) return GEODEC_OK;
    if (!r->token)
        GEODEC_FAIL(GEODEC_UNSUPPORTED,
                    "blocks read %s, so the float64 evaluation from boundary %d needs the tokens of the text",
                    inputs ? "inputs of their own" : "keys of earlier blocks", from);
    if (n > r->n_token)
        GEODEC_FAIL(GEODEC_RANGE, "a sequence of %lld rows; the text has %lld tokens", (long long)n,
                    (long long)r->n_token);
    return GEODEC_OK;
}

geodec_status geodec__reference_beside_at(geodec__ref_tape *t, int32_t from, int32_t to, const int32_t *token,
                                          const double *x, geodec__ref_beside *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_reference *r = t->r;
    const int64_t size = t->n * r->model->config.d_model;
    const int32_t source = last_source(r->model, from, to);
    const bool inputs = r->model->config.d_inputs > 0 && from < to;
    double *begin = NULL;
    GEODEC_TRY(geodec__reference_beside_create(r, t->n, out, err));
    out->entry = x;
    t->value = out;
    if (!inputs && source < 0) goto done;
    GEODEC_NEW(begin, size);
    if (from == 0)
        memcpy(begin, x, (size_t)size * sizeof *x);
    else
        GEODEC_TRY(geodec_reference_embed(r, token, t->n, begin, err));
    if (inputs) GEODEC_TRY(geodec__reference_inputs(r, token, t->n, begin, out->input, err));
    for (int32_t l = 0; l <= source; l++) GEODEC_TRY(geodec__reference_block(t, l, begin, err));
done:
    geodec_mem_free(begin);
    return st;
}
