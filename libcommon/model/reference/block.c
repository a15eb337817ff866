/* A whole block: its two halves, between the two sides of several streams, its own input, then the factor of the stream
 * or the embedding that is added again. */
#include "base/mem.h"
#include "reference/recurrent_internal.h"

#include <string.h>

/* The end of a block, on x (or tangents) of n values: x += s entry, or x *= s. */
static void end(const geodec__ref_tape *t, const geodec__layer *l, int64_t n, const double *entry, double *x)
{
    const double s = (double)l->stream_scale;
    const bool added = t->r->model->config.embed_added;
    for (int64_t i = 0; added && i < n; i++) x[i] += s * entry[i];
    for (int64_t i = 0; !added && s != 0 && i < n; i++) x[i] *= s;
}

/* Whether several streams become one behind this block. */
static bool unites(const geodec__ref_tape *t, int32_t l)
{
    return t->r->model->config.n_streams > 0 && l == t->r->model->config.n_layer - 1;
}

geodec_status geodec__reference_block(geodec__ref_tape *t, int32_t l, double *x, geodec_err *err)
{
    const geodec__layer *layer = &t->r->model->layer[l];
    GEODEC_PASS_MSG(geodec__reference_predict(t, layer, x, err), "block %d", l);
    GEODEC_PASS_MSG(geodec__reference_first(t, layer, x, err), "block %d", l);
    GEODEC_PASS_MSG(geodec__reference_laurel(t, layer, x, err), "block %d", l);
    if (geodec__layer_feeds(layer)) GEODEC_PASS_MSG(geodec__reference_feed(t, layer, x, err), "block %d", l);
    GEODEC_PASS_MSG(geodec__reference_correct(t, layer, x, err), "block %d", l);
    GEODEC_PASS_MSG(geodec__reference_input(t, layer, l, x, err), "block %d", l);
    end(t, layer, t->n * t->r->model->config.d_model, t->value->entry, x);
    if (unites(t, l)) GEODEC_PASS_MSG(geodec__reference_unite(t, x, err), "block %d", l);
    return GEODEC_OK;
}

/* Whether parts behind the first half need what it read. */
static bool reads_input(const geodec__ref_tape *t, const geodec__layer *l)
{
    return geodec__reference_reads_input(t, l) || t->r->model->config.n_streams > 0 || l->laurel_in.data;
}

geodec_status geodec__reference_block_jvp(const geodec__ref_tape *t, int32_t l, int64_t k, double *dx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__layer *layer = &t->r->model->layer[l];
    const int64_t size = k * (t->n - t->first) * t->r->model->config.d_model;
    double *input = NULL;
    GEODEC_TRY_MSG(geodec__reference_predict_jvp(t, layer, k, dx, err), "block %d", l);
    if (reads_input(t, layer)) {
        GEODEC_NEW(input, size);
        memcpy(input, dx, (size_t)size * sizeof *dx);
    }
    GEODEC_TRY_MSG(geodec__reference_first_jvp(t, layer, k, dx, err), "block %d", l);
    GEODEC_TRY_MSG(geodec__reference_laurel_jvp(t, layer, k, input, dx, err), "block %d", l);
    if (geodec__layer_feeds(layer))
        GEODEC_TRY_MSG(geodec__reference_feed_jvp(t, layer, k, input, dx, err), "block %d", l);
    GEODEC_TRY_MSG(geodec__reference_correct_jvp(t, layer, k, input, dx, err), "block %d", l);
    GEODEC_TRY_MSG(geodec__reference_input_jvp(t, layer, l, k, dx, err), "block %d", l);
    end(t, layer, size, t->change->entry, dx);
    if (unites(t, l)) GEODEC_TRY_MSG(geodec__reference_unite_jvp(t, k, dx, err), "block %d", l);
done:
    geodec_mem_free(input);
    return st;
}

geodec_status geodec__reference_block_vjp(const geodec__ref_tape *t, int32_t l, int64_t k, double *gx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__layer *layer = &t->r->model->layer[l];
    const int64_t size = k * (t->n - t->first) * c->d_model;
    double *input = NULL;
    if (reads_input(t, layer)) GEODEC_NEW(input, size);
    if (unites(t, l)) GEODEC_TRY_MSG(geodec__reference_unite_vjp(t, k, gx, err), "block %d", l);
    if (c->embed_added)
        for (int64_t i = 0; i < size; i++) t->change->gentry[i] += (double)layer->stream_scale * gx[i];
    else
        end(t, layer, size, NULL, gx);
    GEODEC_TRY_MSG(geodec__reference_input_vjp(t, layer, l, k, gx, err), "block %d", l);
    GEODEC_TRY_MSG(geodec__reference_correct_vjp(t, layer, k, input, gx, err), "block %d", l);
    if (geodec__layer_feeds(layer))
        GEODEC_TRY_MSG(geodec__reference_feed_vjp(t, layer, k, input, gx, err), "block %d", l);
    GEODEC_TRY_MSG(geodec__reference_laurel_vjp(t, layer, k, input, gx, err), "block %d", l);
    GEODEC_TRY_MSG(geodec__reference_first_vjp(t, layer, k, gx, err), "block %d", l);
    if (input) geodec__reference_add(size, input, gx);
    GEODEC_TRY_MSG(geodec__reference_predict_vjp(t, layer, k, gx, err), "block %d", l);
done:
    geodec_mem_free(input);
    return st;
}
