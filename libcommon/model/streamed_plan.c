/* Sizes of a streamed model, and its stream with the first session. */
#include "base/mem.h"
#include "model/streamed_internal.h"

#include <string.h>

static int64_t lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }
static int64_t pages(int64_t bytes) { return (bytes + GEODEC_BLOB_PAGE - 1) / GEODEC_BLOB_PAGE * GEODEC_BLOB_PAGE; }

/* ---- where the experts are --------------------------------------------------------------------------------------- */

static int64_t laid_bytes(const geodec__streamed_matrix *m)
{
    if (!m->format) return m->w.rows * m->w.row_bytes;
    const geodec__panels panels = {
        .format = m->format, .rows = m->w.rows, .records = m->w.cols / (32 * m->format->blocks)};
    return geodec__panels_count(m->w.rows) * geodec__panel_bytes(&panels);
}

/* The slices of a GGUF. */
static void describe_layer(const geodec_model *m, geodec__streamed *t, int32_t layer)
{
    const geodec__layer *l = &m->layer[layer];
    const geodec__matrix *const all[] = {&l->gate, &l->up, &l->down};
    int64_t packed = 0, read = 0;
    for (int i = 0; i < GEODEC__EXPERT_MATRICES; i++) {
        geodec__streamed_matrix *s = &t->matrix[layer * GEODEC__EXPERT_MATRICES + i];
        *s = (geodec__streamed_matrix){
            .w = *all[i], .piece = i, .format = geodec__panel_format_in(t->options.arithmetic, all[i]->type)};
        s->w.data = NULL;
        s->w.expert = NULL;
        s->packed_at = packed;
        packed += lines(laid_bytes(s));
        if (s->format) t->rearranges = true;
    }
    for (int32_t e = 0; e < t->blobs.n_expert; e++) {
        geodec_blob_piece *p = t->blobs.piece + ((int64_t)layer * t->blobs.n_expert + e) * GEODEC_BLOB_PIECES;
        read = 0;
        for (int i = 0; i < GEODEC__EXPERT_MATRICES; i++) {
            const geodec__matrix w = geodec__expert(all[i], e);
            p[i] = (geodec_blob_piece){geodec_gguf_offset(m->gguf, w.data), w.rows * w.row_bytes};
            read += geodec_blobs_room(&p[i]);
        }
        if (read > t->blobs.slot_bytes) t->blobs.slot_bytes = read;
    }
    if (pages(packed) > t->blobs.slot_bytes) t->blobs.slot_bytes = pages(packed);
}

static geodec_status describe(const geodec_model *m, geodec__streamed *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &m->config;
    t->n_layer = t->blobs.n_layer = c->n_layer;
    t->blobs.n_expert = c->n_expert;
    t->blobs.file_bytes = geodec_gguf_bytes(m->gguf);
    GEODEC_STRDUP(t->blobs.path, geodec_gguf_path(m->gguf));
    GEODEC_NEW(t->matrix, (int64_t)c->n_layer * GEODEC__EXPERT_MATRICES);
    GEODEC_NEW(t->blobs.piece, (int64_t)c->n_layer * c->n_expert * GEODEC_BLOB_PIECES);
    for (int32_t i = 0; i < c->n_layer; i++)
        if (m->layer[i].router.data) describe_layer(m, t, i);
    t->slot_bytes = t->blobs.slot_bytes;
done:
    return st;
}

geodec_status geodec_streamed_begin(geodec_model *m, const geodec_streaming *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__streamed *t = NULL;
    if (m->config.n_expert == 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: no experts, so nothing can be streamed", geodec_gguf_path(m->gguf));
    if (m->streamed || m->prepared[GEODEC__PREPARE_PANELS][o->arithmetic])
        GEODEC_THROW(GEODEC_INVAL, "%s: streaming begins before the first session, once", geodec_gguf_path(m->gguf));
    GEODEC_NEW(t, 1);
    t->options = *o;
    GEODEC_TRY(describe(m, t, err));
    GEODEC_TRY(geodec__ahead_create(m, &t->ahead, err));
    if (t->rearranges) GEODEC_NEW(t->room, t->slot_bytes);
    m->streamed = t;
    t = NULL;
done:
    geodec__streamed_free(t);
    return st;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

typedef struct sum {
    geodec_arithmetic arithmetic;
    int64_t bytes;
} sum;

static void add(void *ctx, const geodec__matrix *w)
{
    sum *s = ctx;
    const geodec__streamed_matrix m = {.w = *w, .format = geodec__panel_format_in(s->arithmetic, w->type)};
    s->bytes += lines(laid_bytes(&m));
}

static int64_t resident(const geodec_model *m, geodec_arithmetic a)
{
    const geodec__matrix *e = &m->embedding;
    sum all = {.arithmetic = a};
    geodec__weights_each(m, add, &all);
    if (!m->config.tied) all.bytes += e->rows * e->row_bytes; /* it is read a row at a time, in the end maybe all */
    return all.bytes;
}

static geodec_streamed_plan plan(const geodec_session *s)
{
    const geodec_model *m = s->model;
    const geodec_model_config *c = &m->config;
    const geodec__streamed *t = m->streamed;
    geodec_streamed_plan p = {.slot = t->slot_bytes, .n_expert = c->n_expert, .n_expert_used = c->n_expert_used};
    double read = 0;
    p.resident = resident(m, s->arithmetic) + (t->rearranges ? t->slot_bytes : 0);
    p.session = geodec__session_bytes(s) * (t->options.sessions > 1 ? t->options.sessions : 1);
    for (int32_t i = 0; i < c->n_layer; i++) {
        if (!m->layer[i].router.data) continue;
        p.layers++;
        p.experts += c->n_expert;
        for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++) {
            const geodec__matrix *w = &t->matrix[i * GEODEC__EXPERT_MATRICES + k].w;
            read += (double)(w->rows * w->row_bytes) * c->n_expert_used;
        }
    }
    const int64_t least = 2 * (int64_t)c->n_expert_used + 2;
    p.least = (int32_t)(least < p.experts ? least : p.experts);
    p.smallest = p.resident + p.session + p.least * p.slot;
    int64_t slots = t->options.slots > 0 ? t->options.slots : (t->options.ram - p.resident - p.session) / p.slot;
    if (slots > p.experts) slots = p.experts;
    p.slots = (int32_t)(slots < 0 ? 0 : slots);
    p.per_layer = p.layers ? p.slots / p.layers : 0;
    p.token = read * (1 - (double)p.slots / (double)p.experts);
    return p;
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

geodec_status geodec__streamed_open(geodec_session *s, geodec_err *err)
{
    geodec__streamed *t = s->model->streamed;
    if (s->arithmetic != t->options.arithmetic)
        GEODEC_FAIL(GEODEC_INVAL, "a session in another arithmetic than that of the streamed experts");
    if (t->stream || t->options.mapped) return GEODEC_OK;
    const geodec_streamed_plan p = plan(s);
    if (t->options.planned) t->options.planned(t->options.planned_ctx, &p);
    if (p.slots < p.least)
        GEODEC_FAIL(
            GEODEC_LIMIT,
            "a budget of %lld bytes is too small: %lld of weights, %lld of cache and work space and %d slots of "
            "%lld need %lld",
            (long long)t->options.ram, (long long)p.resident, (long long)p.session, p.least, (long long)p.slot,
            (long long)p.smallest);
    t->plan = p;
    geodec_stream_options o = {.disk = t->options.disk, .trace = t->options.trace};
    o.slots = (geodec_slots_options){.n_slots = p.slots,
                                     .eviction = t->options.eviction,
                                     .shared = t->options.shared,
                                     .prefetch_least = t->options.prefetch_least,
                                     .prefetch_most = t->options.prefetch_most};
    GEODEC_PASS(geodec_stream_open(&t->blobs, &o, &t->stream, err));
    return GEODEC_OK;
}
