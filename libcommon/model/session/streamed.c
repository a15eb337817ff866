#include "session/streamed_internal.h"

#include "base/mem.h"
#include "base/names_internal.h"

enum { BLOBS = 32 /* experts computed in one dispatch */ };

GEODEC__NAMES(geodec_streamed_lookahead, geodec_lookahead, GEODEC_LOOKAHEADS)
GEODEC__NAMES(geodec_streamed_price, geodec_streamed_price_by, GEODEC_STREAMED_PRICES)
GEODEC__NAMES(geodec_streamed_ternary, geodec_streamed_ternary, GEODEC_STREAMED_TERNARY)
GEODEC__NAMES(geodec_streamed_differences, geodec_streamed_differences, GEODEC_STREAMED_DIFFERENCES)

/* ---- a matrix of an expert --------------------------------------------------------------------------------------- */

/* In the file's map. Weights that are not in panels, but need them, are packed one panel at a time in every pass. */
static geodec__matrix mapped_matrix(const geodec_model *m, int32_t index, int32_t expert, int which,
                                    geodec__panels *panels)
{
    const geodec__streamed *t = m->streamed;
    const geodec__expert_source *src = &t->source;
    const geodec__layer *l = &m->layer[index];
    const geodec__matrix *const all[] = {&l->gate, &l->up, &l->down};
    const int64_t blob = (int64_t)index * src->n_expert + expert;
    if (!m->store) {
        const geodec__expert_matrix *x = &src->matrix[(int64_t)index * GEODEC__EXPERT_MATRICES + which];
        *panels = (geodec__panels){.format = x->format, .rows = x->w.rows};
        if (x->format) panels->records = x->w.cols / (32 * x->format->blocks);
        return geodec__expert(all[which], expert);
    }
    const uint8_t *slot = t->map.data + src->blobs.piece[blob * GEODEC_BLOB_PIECES].offset;
    geodec__matrix w = geodec__expert_source_find(src, index, expert, which, slot, panels);
    if (src->pack[index]) {
        w.data = slot + src->read_at[blob * GEODEC__EXPERT_MATRICES + which];
        const bool packed = src->matrix[(int64_t)index * GEODEC__EXPERT_MATRICES + which].packed;
        panels->data = packed ? w.data : NULL;
    }
    return w;
}

static geodec__side side_of(const geodec_session *s, int32_t index, const geodec_stream_blob *b, int which,
                            const float *const *x, float *const *y)
{
    const geodec__streamed *t = s->model->streamed;
    geodec__side side = {.x = x, .y = y, .placed = true};
    if (t->options.mapped)
        side.w = mapped_matrix(s->model, index, b->expert, which, &side.panels);
    else
        side.w = geodec__expert_source_find(&t->source, index, b->expert, which, b->data, &side.panels);
    return side;
}

/* ---- a layer ----------------------------------------------------------------------------------------------------- */

static int32_t first_row(const geodec_session *s, int32_t expert) { return expert ? s->expert_end[expert - 1] : 0; }

/* Gate, up and down of the experts that were taken. */
static void compute(geodec_session *s, int32_t index, const geodec_stream_blob *blob, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t e = blob[i].expert, first = first_row(s, e);
        s->job[i] = (geodec__job){
            .main = side_of(s, index, &blob[i], GEODEC__EXPERT_GATE, s->input + first, s->gate_row + first),
            .up = side_of(s, index, &blob[i], GEODEC__EXPERT_UP, s->input + first, s->up_row + first),
            .n = s->expert_end[e] - first};
        geodec__experts_adjust(s, &s->model->layer[index], e, first, true, &s->job[i]);
    }
    geodec__jobs_then(s, side_of(s, index, &blob[0], GEODEC__EXPERT_DOWN, NULL, NULL).w);
    geodec__jobs_run(s, n);
    for (int32_t i = 0; i < n; i++) {
        const int32_t e = blob[i].expert, first = first_row(s, e);
        for (int32_t r = first; r < s->expert_end[e]; r++) s->input[r] = s->gate_row[r];
        s->job[i] = (geodec__job){
            .main = side_of(s, index, &blob[i], GEODEC__EXPERT_DOWN, s->input + first, s->down_row + first),
            .n = s->expert_end[e] - first};
        geodec__experts_adjust(s, &s->model->layer[index], e, first, false, &s->job[i]);
    }
    geodec__jobs_then(s, index + 1 < s->n_blocks ? s->model->layer[index + 1].q : s->model->head);
    geodec__jobs_run(s, n);
}

static void run_mapped(geodec_session *s, int32_t index, int32_t count)
{
    geodec_stream_blob blob[BLOBS];
    for (int32_t first = 0, n; first < count; first += n) {
        n = count - first < BLOBS ? count - first : BLOBS;
        for (int32_t i = 0; i < n; i++) blob[i] = (geodec_stream_blob){.expert = s->needed[first + i]};
        compute(s, index, blob, n);
    }
}

/* What was just read: checked, or packed. */
static geodec_status prepare(geodec_session *s, int32_t index, geodec_stream_blob *b)
{
    geodec__streamed *t = s->model->streamed;
    if (t->source.pack[index]) {
        geodec__expert_source_pack(&t->source, index, b->expert, b->data, geodec_stream_spare(t->stream), s->pool);
        geodec_stream_exchange(t->stream, b);
    }
    return geodec__expert_source_check(&t->source, index, b->expert, b->data, geodec_model_path(s->model), &s->failure);
}

void geodec__streamed_run(geodec_session *s, int32_t index, int64_t n)
{
    geodec__streamed *t = s->model->streamed;
    geodec_stream_blob blob[BLOBS];
    int32_t count = 0, got;
    for (int32_t e = 0; e < s->model->config.n_expert; e++)
        if (s->expert_end[e] > first_row(s, e)) s->needed[count++] = e;
    if (t->options.mapped) {
        run_mapped(s, index, count);
        return;
    }
    geodec_stream_need(t->stream, index, count, s->needed);
    geodec__streamed_ahead_next(s, index, n);
    const int32_t most = s->model->config.n_expert < BLOBS ? s->model->config.n_expert : BLOBS;
    for (;;) {
        s->status = geodec_stream_take(t->stream, blob, most, &got, &s->failure);
        if (s->status != GEODEC_OK || got == 0) return;
        for (int32_t i = 0; i < got && s->status == GEODEC_OK; i++)
            if (blob[i].fresh) s->status = prepare(s, index, &blob[i]);
        if (s->status == GEODEC_OK && t->by_trits)
            geodec__streamed_trits_run(s, index, blob, got);
        else if (s->status == GEODEC_OK)
            compute(s, index, blob, got);
        for (int32_t i = 0; i < got; i++) geodec_stream_release(t->stream, blob[i].slot);
        if (s->status != GEODEC_OK) return;
    }
}

void geodec__streamed_compute(geodec_session *s, int32_t index, const geodec_stream_blob *blob, int32_t n)
{
    for (int32_t e = 0; e < s->model->config.n_expert; e++) s->expert_end[e] = e < blob->expert ? 0 : n;
    if (s->model->streamed->by_trits)
        geodec__streamed_trits_run(s, index, blob, 1);
    else
        compute(s, index, blob, 1);
}

/* Foretells what is read while experts are computed: the next of s->needed, or at its end those of the next layer. */
static void foretell_next(geodec_session *s, int32_t index, const int32_t *next, int32_t n)
{
    float certain[BLOBS];
    int32_t lowest[BLOBS];
    for (int32_t i = 0; i < BLOBS; i++) certain[i] = 1, lowest[i] = i;
    if (n > 0) {
        geodec_stream_foretell(s->model->streamed->stream, index, n, next, certain);
        return;
    }
    const int32_t experts = s->model->config.n_expert;
    do index++;
    while (index < s->n_blocks && !s->model->layer[index].router.data);
    if (index < s->n_blocks)
        geodec_stream_foretell(s->model->streamed->stream, index, experts < BLOBS ? experts : BLOBS, lowest, certain);
}

/* Experts first .. first + n - 1 of s->needed, which all fit the slots; they may come in any order. Meanwhile the next
 * `after` are read. */
static void each_of(geodec_session *s, int32_t index, int32_t first, int32_t n, int32_t after, geodec__streamed_fn fn,
                    void *ctx)
{
    geodec_stream *stream = s->model->streamed->stream;
    geodec_stream_blob blob[BLOBS], held[BLOBS] = {0};
    int32_t next = 0, got;
    geodec_stream_need(stream, index, n, s->needed + first);
    if (s->model->streamed->options.lookahead != GEODEC_LOOKAHEAD_NONE)
        foretell_next(s, index, s->needed + first + n, after);
    while (next < n) {
        s->status = geodec_stream_take(stream, blob, BLOBS, &got, &s->failure);
        if (s->status != GEODEC_OK || got == 0) return;
        for (int32_t i = 0; i < got; i++) {
            if (blob[i].fresh) s->status = prepare(s, index, &blob[i]);
            if (s->status != GEODEC_OK) return;
            for (int32_t k = next; k < n; k++)
                if (s->needed[first + k] == blob[i].expert) held[k] = blob[i];
        }
        for (; next < n && held[next].data; next++) {
            fn(ctx, &held[next]);
            geodec_stream_release(stream, held[next].slot);
        }
    }
}

void geodec__streamed_each(geodec_session *s, int32_t index, int32_t count, geodec__streamed_fn fn, void *ctx)
{
    const geodec__streamed *t = s->model->streamed;
    if (t->options.mapped) {
        for (int32_t i = 0; i < count; i++) fn(ctx, &(geodec_stream_blob){.expert = s->needed[i]});
        return;
    }
    /* half of the slots for what is read meanwhile */
    const int32_t half = geodec_stream_left(t->stream) / 2, most = half < BLOBS / 2 ? half : BLOBS / 2;
    for (int32_t first = 0; first < count && s->status == GEODEC_OK; first += most) {
        const int32_t left = count - first, n = left < most ? left : most;
        each_of(s, index, first, n, left - n < most ? left - n : most, fn, ctx);
    }
}

void geodec__streamed_begin(geodec_session *s, const geodec_batch *b)
{
    s->status = GEODEC_OK;
    geodec_err_clear(&s->failure);
    if (!s->model->streamed->stream) return;
    geodec__streamed_price_begin(s);
    geodec_stream_begin(s->model->streamed->stream, b->n);
    geodec__streamed_pace(s, b->begin || b->n > s->max_batch);
    if (s->foreseen) geodec__streamed_foresee(s, b);
}

void geodec__streamed_end(geodec_session *s)
{
    if (s->model->streamed->stream) geodec_stream_end(s->model->streamed->stream);
}

int64_t geodec__streamed_widest(const geodec__streamed *t)
{
    int64_t widest = 0;
    for (int32_t i = 0; i < t->n_layer * GEODEC__EXPERT_MATRICES; i++) {
        const geodec__expert_matrix *x = &t->source.matrix[i];
        const int64_t panel = x->format ? x->bytes / geodec__panels_count(x->w.rows) : 0;
        if (panel > widest) widest = panel;
    }
    return widest;
}

void geodec__streamed_free(geodec__streamed *t)
{
    if (!t) return;
    geodec_stream_close(t->stream);
    geodec__expert_source_clear(&t->source);
    geodec_file_map_close(&t->map);
    geodec__streamed_ahead_free(t->ahead);
    geodec__streamed_trits_free(t->by_trits);
    GEODEC_FREE(t->edge_file, t->edge_layer, t);
}

bool geodec_streamed_is(const geodec_model *m) { return m->streamed != NULL; }

bool geodec_streamed_counted(const geodec_model *m, geodec_stream_counters *out)
{
    if (!m->streamed || !m->streamed->stream) return false;
    *out = geodec_stream_counted(m->streamed->stream);
    return true;
}

geodec_status geodec_streamed_finish(const geodec_model *m, geodec_err *err)
{
    if (m->streamed && m->streamed->stream) GEODEC_PASS(geodec_stream_finish(m->streamed->stream, err));
    return GEODEC_OK;
}
