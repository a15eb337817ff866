#include "model/streamed_internal.h"

#include "base/mem.h"

#include <string.h>

enum { BLOBS = 32 /* experts computed in one dispatch */ };

static const char *const names[] = {
#define X(NAME, name, help) [GEODEC_LOOKAHEAD_##NAME] = #name,
    GEODEC_LOOKAHEADS(X)
#undef X
};

const char *geodec_lookahead_name(geodec_lookahead a) { return a < GEODEC_LOOKAHEAD_KINDS ? names[a] : "?"; }

geodec_lookahead geodec_lookahead_named(const char *name)
{
    int a = 0;
    while (a < GEODEC_LOOKAHEAD_KINDS && strcmp(names[a], name) != 0) a++;
    return (geodec_lookahead)a;
}

/* ---- a blob in its slot ------------------------------------------------------------------------------------------ */

static geodec__panels panels_of(const geodec__streamed_matrix *m, const uint8_t *data)
{
    return (geodec__panels){
        .format = m->format, .data = data, .rows = m->w.rows, .records = m->w.cols / (32 * m->format->blocks)};
}

/* First byte of the matrix as it was read. */
static uint8_t *as_read(const geodec__streamed *t, const geodec_blob_piece *piece, const geodec__streamed_matrix *m,
                        uint8_t *slot)
{
    (void)t;
    int64_t at = 0;
    for (int32_t i = 0; i < m->piece; i++) at += geodec_blobs_room(&piece[i]);
    return slot + at + piece[m->piece].offset % GEODEC_BLOB_PAGE + m->at;
}

typedef struct packing {
    geodec__streamed_matrix m;
    uint8_t *to;
} packing;

static void pack_task(void *ctx, int64_t panel, int worker)
{
    (void)worker;
    const packing *p = ctx;
    const geodec__panels panels = panels_of(&p->m, p->to);
    uint8_t *to = p->to + panel * geodec__panel_bytes(&panels);
    if ((panel + 1) * GEODEC__PANEL > p->m.w.rows) memset(to, 0, (size_t)geodec__panel_bytes(&panels));
    geodec__panel_pack(p->m.format, &p->m.w, panel, to);
}

/* Packs the matrices of a blob that was just read: into the room, and back. */
static void rearrange(geodec_session *s, int32_t index, const geodec_stream_blob *b)
{
    geodec__streamed *t = s->model->streamed;
    const geodec__streamed_matrix *of = t->matrix + (int64_t)index * GEODEC__EXPERT_MATRICES;
    const geodec_blob_piece *piece = geodec_stream_pieces(t->stream, index, b->expert);
    int64_t end = 0;
    for (int i = 0; i < GEODEC__EXPERT_MATRICES; i++) {
        packing p = {.m = of[i], .to = t->room + of[i].packed_at};
        int64_t bytes = of[i].w.rows * of[i].w.row_bytes;
        p.m.w.data = as_read(t, piece, &of[i], b->data);
        if (of[i].format) {
            const geodec__panels panels = panels_of(&of[i], NULL);
            bytes = geodec__panels_count(of[i].w.rows) * geodec__panel_bytes(&panels);
            geodec_pool_run_dynamic(s->pool, geodec__panels_count(of[i].w.rows), pack_task, &p);
        } else {
            memcpy(p.to, p.m.w.data, (size_t)bytes);
        }
        if (of[i].packed_at + bytes > end) end = of[i].packed_at + bytes;
    }
    memcpy(b->data, t->room, (size_t)end);
}

/* A matrix of an expert in the file's map. Weights that need panels are packed one panel at a time, in every pass. */
static geodec__side mapped_side(const geodec_session *s, int32_t index, int32_t expert, int which,
                                const float *const *x, float *const *y)
{
    const geodec__layer *l = &s->model->layer[index];
    const geodec__matrix *const all[] = {&l->gate, &l->up, &l->down};
    const geodec__streamed_matrix *m = s->model->streamed->matrix + (int64_t)index * GEODEC__EXPERT_MATRICES + which;
    geodec__side side = {.w = geodec__expert(all[which], expert), .x = x, .y = y, .placed = true};
    if (m->format) side.panels = panels_of(m, NULL);
    return side;
}

/* A matrix of a blob as a side of a job. */
static geodec__side side_of(const geodec_session *s, int32_t index, const geodec_stream_blob *b, int which,
                            const float *const *x, float *const *y)
{
    const geodec__streamed *t = s->model->streamed;
    if (t->options.mapped) return mapped_side(s, index, b->expert, which, x, y);
    const geodec__streamed_matrix *m = t->matrix + (int64_t)index * GEODEC__EXPERT_MATRICES + which;
    const geodec_blob_piece *piece = geodec_stream_pieces(t->stream, index, b->expert);
    geodec__side side = {.w = m->w, .x = x, .y = y, .placed = true};
    const uint8_t *data = t->rearranges ? b->data + m->packed_at : as_read(t, piece, m, b->data);
    side.w.data = data;
    if (m->format) side.panels = panels_of(m, data);
    return side;
}

/* ---- a layer ----------------------------------------------------------------------------------------------------- */

static int32_t first_row(const geodec_session *s, int32_t expert) { return expert ? s->expert_end[expert - 1] : 0; }

/* Gate, up and down of the experts that were taken. */
static void compute(geodec_session *s, int32_t index, const geodec_stream_blob *blob, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const int32_t e = blob[i].expert, first = first_row(s, e);
        s->job[i] =
            (geodec__job){.main = side_of(s, index, &blob[i], GEODEC__GATE, s->input + first, s->gate_row + first),
                          .up = side_of(s, index, &blob[i], GEODEC__UP, s->input + first, s->up_row + first),
                          .n = s->expert_end[e] - first};
    }
    geodec__jobs_run(s, n);
    for (int32_t i = 0; i < n; i++) {
        const int32_t e = blob[i].expert, first = first_row(s, e);
        for (int32_t r = first; r < s->expert_end[e]; r++) s->input[r] = s->gate_row[r];
        s->job[i] =
            (geodec__job){.main = side_of(s, index, &blob[i], GEODEC__DOWN, s->input + first, s->down_row + first),
                          .n = s->expert_end[e] - first};
    }
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

void geodec__streamed_run(geodec_session *s, int32_t index, int64_t n)
{
    geodec__streamed *t = s->model->streamed;
    geodec_stream_blob blob[BLOBS];
    int32_t count = 0, got;
    (void)n;
    for (int32_t e = 0; e < s->model->config.n_expert; e++)
        if (s->expert_end[e] > first_row(s, e)) s->needed[count++] = e;
    if (t->options.mapped) {
        run_mapped(s, index, count);
        return;
    }
    geodec_stream_need(t->stream, index, count, s->needed);
    const int32_t most = s->model->config.n_expert < BLOBS ? s->model->config.n_expert : BLOBS;
    for (;;) {
        s->status = geodec_stream_take(t->stream, blob, most, &got, &s->failure);
        if (s->status != GEODEC_OK || got == 0) return;
        for (int32_t i = 0; t->rearranges && i < got; i++)
            if (blob[i].fresh) rearrange(s, index, &blob[i]);
        compute(s, index, blob, got);
        for (int32_t i = 0; i < got; i++) geodec_stream_release(t->stream, blob[i].slot);
    }
}

void geodec__streamed_begin(geodec_session *s, int64_t n)
{
    s->status = GEODEC_OK;
    geodec_err_clear(&s->failure);
    if (s->model->streamed->stream) geodec_stream_begin(s->model->streamed->stream, (int32_t)n);
}

void geodec__streamed_end(geodec_session *s)
{
    if (s->model->streamed->stream) geodec_stream_end(s->model->streamed->stream);
}

int64_t geodec__streamed_widest(const geodec__streamed *t)
{
    int64_t widest = 0;
    for (int32_t i = 0; i < t->n_layer * GEODEC__EXPERT_MATRICES; i++) {
        if (!t->matrix[i].format) continue;
        const geodec__panels panels = panels_of(&t->matrix[i], NULL);
        if (geodec__panel_bytes(&panels) > widest) widest = geodec__panel_bytes(&panels);
    }
    return widest;
}

void geodec__streamed_free(geodec__streamed *t)
{
    if (!t) return;
    geodec_stream_close(t->stream);
    geodec_blobs_clear(&t->blobs);
    geodec__ahead_free(t->ahead);
    GEODEC_FREE(t->matrix, t->room, t);
}

bool geodec_streamed_counted(const geodec_model *m, geodec_stream_counters *out)
{
    if (!m->streamed || !m->streamed->stream) return false;
    *out = geodec_stream_counted(m->streamed->stream);
    return true;
}
