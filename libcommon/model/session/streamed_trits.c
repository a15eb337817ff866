/* Ternary experts on a stream: differences, and products of other forms than exact. */
#include "base/mem.h"
#include "session/streamed_internal.h"
#include "session/ternary_internal.h"
#include "ternary/cost.h"
#include "ternary/multiply.h"

#include <math.h>

/* ---- differences ------------------------------------------------------------------------------------------------ */

static geodec_status apply(void *ctx, int32_t edge, bool to_b, bool check, const uint8_t *difference, uint8_t *blob,
                           uint32_t *crc, geodec_err *err)
{
    const geodec__streamed *t = ctx;
    const geodec__trits *x = t->source.trits;
    const geodec_trd *d = &x->edge[t->edge_file[edge]];
    const int32_t layer = t->edge_layer[edge];
    GEODEC_PASS_MSG(geodec_trd_apply(d, layer, difference, to_b, check, blob, crc, err), "layer %d, expert %d", layer,
                    to_b ? d->b : d->a);
    return GEODEC_OK;
}

static float limit_of(const geodec_ternary_cost *cost, const geodec__trits *x, const geodec_trd_entry *e)
{
    const int64_t room = (e->bytes + GEODEC_BLOB_PAGE - 1) / GEODEC_BLOB_PAGE * GEODEC_BLOB_PAGE;
    const geodec_ternary_load load = {.whole_bytes = geodec_trit_stride(&x->shape),
                                      .difference_bytes = room,
                                      .changes = (int64_t)e->changes[0] + e->changes[1] + e->changes[2]};
    return (float)geodec_ternary_cost_bandwidth(cost, &load);
}

geodec_status geodec__streamed_trits_edges(geodec__streamed *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__trits *x = t->source.trits;
    geodec_blobs *b = &t->source.blobs;
    const int64_t most = (int64_t)x->n_edges * x->shape.layers;
    geodec_ternary_cost cost = {.keep_base = true};
    if (t->options.differences == GEODEC_STREAMED_DIFFERENCES_OFF || most == 0) goto done;
    GEODEC_TRY(geodec_ternary_cost_measure(x->shape.encoding, x->shape.f, x->shape.d, &cost, err));
    GEODEC_NEW(b->edge, most);
    GEODEC_NEW_EACH(most, t->edge_file, t->edge_layer);
    for (int32_t i = 0; i < x->n_edges; i++) {
        const geodec_trd *d = &x->edge[i];
        const int64_t start = b->file[b->n_files - x->n_edges + i].start;
        for (int32_t k = 0; k < x->shape.layers; k++) {
            const geodec_trd_entry *e = &d->entry[k];
            const geodec_blob_piece piece = {start + e->offset, e->bytes};
            const float below =
                t->options.differences == GEODEC_STREAMED_DIFFERENCES_ALWAYS ? INFINITY : limit_of(&cost, x, e);
            if (geodec_blobs_room(&piece) > b->slot_bytes) continue;
            t->edge_file[b->n_edges] = i;
            t->edge_layer[b->n_edges] = e->layer;
            b->edge[b->n_edges++] = (geodec_blob_edge){
                .layer = e->layer, .a = d->a, .b = d->b, .piece = piece, .crc = e->crc, .below = below};
        }
    }
    b->apply = apply;
    b->apply_ctx = t;
done:
    return st;
}

/* ---- products --------------------------------------------------------------------------------------------------- */

struct geodec__by_trits {
    geodec_ternary_input wide, inner; /* of gate and up; of down */
};

static geodec_ternary_arithmetic arithmetic_of(const geodec__streamed *t)
{
    return t->options.ternary == GEODEC_STREAMED_TERNARY_INT8 ? GEODEC_TERNARY_INT8 : GEODEC_TERNARY_FLOAT;
}

/* Room for all rows of a pass, of the session that has most. */
geodec_status geodec__streamed_trits_open(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__streamed *t = s->model->streamed;
    struct geodec__by_trits *b = NULL;
    const geodec_model_config *c = &s->model->config;
    if (t->by_trits && t->by_trits->wide.most >= s->max_batch) goto done;
    GEODEC_NEW(b, 1);
    GEODEC_TRY(geodec_ternary_input_create(arithmetic_of(t), c->d_model, s->max_batch, &b->wide, err));
    GEODEC_TRY(geodec_ternary_input_create(arithmetic_of(t), c->d_ff, s->max_batch, &b->inner, err));
    geodec__streamed_trits_free(t->by_trits);
    GEODEC_MOVE(t->by_trits, b);
done:
    geodec__streamed_trits_free(b);
    return st;
}

void geodec__streamed_trits_free(struct geodec__by_trits *b)
{
    if (!b) return;
    geodec_ternary_input_clear(&b->wide);
    geodec_ternary_input_clear(&b->inner);
    geodec_mem_free(b);
}

void geodec__streamed_trits_run(geodec_session *s, int32_t index, const geodec_stream_blob *blob, int32_t n)
{
    const geodec__streamed *t = s->model->streamed;
    struct geodec__by_trits *b = t->by_trits;
    (void)index;
    for (int32_t i = 0; i < n; i++) {
        const int32_t e = blob[i].expert, first = e ? s->expert_end[e - 1] : 0, rows = s->expert_end[e] - first;
        geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
        geodec_trit_matrices(&t->source.trits->shape, blob[i].data, m);
        for (int32_t r = 0; r < rows; r++) geodec_ternary_input_set(&b->wide, r, s->input[first + r]);
        geodec_ternary_multiply(&m[0], &b->wide, rows, s->kernels->isa, s->pool, s->gate_row + first);
        geodec_ternary_multiply(&m[1], &b->wide, rows, s->kernels->isa, s->pool, s->up_row + first);
        for (int32_t r = 0; r < rows; r++) {
            s->kernels->activate(s->model->config.activation, NULL, s->gate_row[first + r], s->up_row[first + r],
                                 m[0].rows);
            geodec_ternary_input_set(&b->inner, r, s->gate_row[first + r]);
        }
        geodec_ternary_multiply(&m[2], &b->inner, rows, s->kernels->isa, s->pool, s->down_row + first);
    }
}
