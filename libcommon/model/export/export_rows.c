/* One window through the model, and its kept rows. */
#include "base/f16.h"
#include "base/finite.h"
#include "base/mem.h"
#include "export/export_internal.h"
#include "session/streamed.h"

#include <string.h>

#define MEMORY_WANTED ((int64_t)1 << 30) /* of all workers */

enum { MOST_PASS = 1 << 16 /* rows, while experts stream */ };

static bool needs_head(const geodec_export_options *o) { return o->top_m > 0 || o->logits; }

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

int geodec__export_columns(const geodec_model_config *c, const geodec_export_options *o,
                           geodec__column out[GEODEC__COLUMNS_MAX])
{
    int n = 0;
    out[n++] = (geodec__column){"/token", GEODEC_I32, 0, offsetof(geodec__rows, token)};
    out[n++] = (geodec__column){"/position", GEODEC_I32, 0, offsetof(geodec__rows, position)};
    out[n++] = (geodec__column){"/sequence", GEODEC_I32, 0, offsetof(geodec__rows, sequence)};
    out[n++] = (geodec__column){"/document", GEODEC_I32, 0, offsetof(geodec__rows, document)};
    out[n++] = (geodec__column){"/next_token", GEODEC_I32, 0, offsetof(geodec__rows, next)};
    if (o->top_m > 0) {
        out[n++] = (geodec__column){"/argmax", GEODEC_I32, 0, offsetof(geodec__rows, argmax)};
        out[n++] = (geodec__column){"/top_index", GEODEC_I32, o->top_m, offsetof(geodec__rows, top_index)};
        out[n++] = (geodec__column){"/top_logit", GEODEC_F32, o->top_m, offsetof(geodec__rows, top_logit)};
    }
    if (c->n_expert > 0)
        out[n++] = (geodec__column){"/expert", GEODEC_I32, (int64_t)c->n_layer * c->n_expert_used,
                                    offsetof(geodec__rows, expert)};
    if (o->logits) out[n++] = (geodec__column){"/logits", GEODEC_F32, c->n_vocab, offsetof(geodec__rows, logits)};
    return n;
}

void *geodec__export_column_data(const geodec__rows *r, const geodec__column *c)
{
    void *p;
    memcpy(&p, (const char *)r + c->place, sizeof p);
    return p;
}

geodec_status geodec__export_rows_init(geodec__rows *r, const geodec_model_config *c, const geodec_export_options *o,
                                       int32_t capacity, bool by_layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = capacity, width = (int64_t)o->n_layers * c->d_model;
    r->capacity = capacity;
    r->by_layer = by_layer;
    r->n_columns = geodec__export_columns(c, o, r->column);
    for (int i = 0; i < r->n_columns; i++) {
        const geodec__column *k = &r->column[i];
        char *data;
        GEODEC_NEW(data, n * (k->width ? k->width : 1) * (int64_t)geodec_type_size(k->type));
        memcpy((char *)r + k->place, &data, sizeof data);
    }
    if (o->half)
        GEODEC_NEW(r->half, n * width);
    else
        GEODEC_NEW(r->state, n * width);
done:
    return st;
}

void geodec__export_rows_clear(geodec__rows *r)
{
    void *const all[] = {r->token,     r->next,      r->position, r->sequence, r->document, r->argmax,
                         r->top_index, r->top_logit, r->logits,   r->state,    r->half,     r->expert};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    *r = (geodec__rows){0};
}

/* Most windows are shorter than the model allows, and keep fewer rows. */
geodec_status geodec__export_rows_fit(geodec__rows *r, const geodec_model_config *c, const geodec_export_options *o,
                                      int32_t n, geodec_err *err)
{
    if (n <= r->capacity) return GEODEC_OK;
    geodec__export_rows_clear(r);
    const geodec_status st = geodec__export_rows_init(r, c, o, n, false, err);
    if (st != GEODEC_OK) geodec__export_rows_clear(r);
    return st;
}

/* Makes room for a pass of so many rows. */
static geodec_status make_room(geodec__reader *r, const geodec_model_config *c, int32_t rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (rows <= r->room) return GEODEC_OK;
    GEODEC_FREE(r->capture, r->expert, r->begin);
    r->capture = NULL;
    r->expert = NULL;
    r->begin = NULL;
    r->room = 0;
    GEODEC_NEW(r->capture, (int64_t)rows * r->n_layers * c->d_model);
    GEODEC_NEW(r->begin, rows);
    if (c->n_expert > 0) GEODEC_NEW(r->expert, (int64_t)rows * c->n_layer * c->n_expert_used);
    r->room = rows;
done:
    return st;
}

geodec_status geodec__export_reader_init(geodec__reader *r, const geodec_model *m, const geodec_export_options *o,
                                         geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const geodec_session_options so = {.n_ctx = o->window,
                                       .max_batch = GEODEC__EXPORT_PASS,
                                       .max_pass = MOST_PASS,
                                       .isa = o->isa,
                                       .pool = pool,
                                       .arithmetic = o->arithmetic,
                                       .kv = o->kv};
    GEODEC_TRY(geodec_session_create(m, &so, &r->session, err));
    GEODEC_NEW(r->layer, o->n_layers + 1);
    memcpy(r->layer, o->layer, (size_t)o->n_layers * sizeof *r->layer);
    r->n_layers = o->n_layers;
    for (r->last = 0; r->last < r->n_layers && r->layer[r->last] != c->n_layer;) r->last++;
    if (needs_head(o) && geodec_streamed_is(m) && r->last == r->n_layers) r->layer[r->n_layers++] = c->n_layer;
    GEODEC_TRY(make_room(r, c, GEODEC__EXPORT_PASS, err));
    if (needs_head(o)) GEODEC_NEW(r->head, (int64_t)GEODEC__EXPORT_PASS * c->n_vocab);
done:
    return st;
}

void geodec__export_reader_clear(geodec__reader *r)
{
    geodec_session_destroy(r->session);
    GEODEC_FREE(r->capture, r->expert, r->begin, r->layer, r->head);
    geodec__export_rows_clear(&r->rows);
}

geodec_status geodec__export_reader_error(const geodec__reader *r, int workers, geodec_err *err)
{
    for (int i = 0; i < workers; i++) {
        if (r[i].status == GEODEC_OK) continue;
        if (err) *err = r[i].error;
        return r[i].status;
    }
    return GEODEC_OK;
}

int64_t geodec__export_row_bytes(const geodec_model_config *c, const geodec_export_options *o)
{
    return (int64_t)o->n_layers * c->d_model * (o->half ? 6 : 4) + (o->logits ? 4 * (int64_t)c->n_vocab : 0);
}

int geodec__export_workers(const geodec_model *m, const geodec_export_options *o, const geodec_pool *pool,
                           int64_t window_bytes)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    if (geodec_streamed_is(m)) return 1;
    const int64_t cache = 2 * 4 * (int64_t)c->n_layer * c->n_kv_head * c->head_dim * o->window;
    const int64_t pass = GEODEC__EXPORT_PASS * ((int64_t)o->n_layers * c->d_model * 8 + 4 * (int64_t)c->n_vocab);
    const int threads = geodec_pool_threads(pool);
    return (cache + pass + window_bytes) * threads <= MEMORY_WANTED ? threads : 1;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* A part of the newest forward pass: `passed` tokens from `at` of the window, which are its rows `from` .. Its kept
 * tokens, place[0..n-1] within the part, become rows `first` .. of r. */
typedef struct part {
    int32_t at, passed, from, n, first;
    int32_t place[GEODEC__EXPORT_PASS];
} part;

/* Tokens from `at` of the window, and whole windows behind it, at most `rows`; their beginnings are marked. */
static int32_t gather(geodec__reader *r, const geodec__plan *p, const geodec__span *s, int32_t at, int32_t rows)
{
    int32_t n = s->n - at < rows ? s->n - at : rows;
    memset(r->begin, 0, (size_t)rows * sizeof *r->begin);
    r->begin[0] = at == 0;
    if (at + n < s->n || !geodec_session_takes_texts(r->session)) return n;
    for (const geodec__span *next = s + 1; next < p->span + p->n; next++) {
        if (next->n > rows - n || next->token != s->token + at + n) break;
        r->begin[n] = true;
        n += next->n;
    }
    return n;
}

/* While experts stream, a pass has as many rows as memory allows, also those of the next windows; otherwise those of a
 * part. */
static geodec_status run_pass(geodec__reader *r, const geodec__plan *p, const geodec__span *s, int32_t at, bool kept,
                              const bool *want, geodec_err *err)
{
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(r->session));
    const int64_t place = p->tokens - p->n_token + s->token + at;
    const int64_t beside = (int64_t)r->n_layers * c->d_model * 4 + (int64_t)c->n_layer * c->n_expert_used * 4 + 1;
    const int32_t rows = geodec_session_pass_rows(r->session, p->n_token - s->token - at, beside);
    if (rows <= GEODEC__EXPORT_PASS) {
        const int32_t n = s->n - at < GEODEC__EXPORT_PASS ? s->n - at : GEODEC__EXPORT_PASS;
        const geodec_batch b = {.n = n, .token = p->token + s->token + at, .want = want};
        const geodec_capture capture = {r->n_layers, r->layer, r->capture, r->expert};
        if (at == 0) geodec_session_truncate(r->session, 0);
        GEODEC_PASS(geodec_forward(r->session, &b, kept ? r->head : NULL, kept ? &capture : NULL, err));
        r->held = place;
        r->n_held = n;
        r->wide = false;
        return GEODEC_OK;
    }
    GEODEC_PASS(make_room(r, c, rows, err));
    r->held = place;
    r->n_held = gather(r, p, s, at, rows);
    r->wide = true;
    if (at == 0) geodec_session_truncate(r->session, 0);
    const bool texts = geodec_session_takes_texts(r->session);
    const geodec_batch b = {.n = r->n_held, .token = p->token + s->token + at, .begin = texts ? r->begin : NULL};
    const geodec_capture capture = {r->n_layers, r->layer, r->capture, r->expert};
    return geodec_forward(r->session, &b, NULL, &capture, err);
}

static void fill_columns(const geodec__reader *reader, const geodec__plan *p, const geodec__span *s, const part *k,
                         const geodec_model_config *c, geodec__rows *r)
{
    const geodec_export_options *o = p->o;
    const int32_t *token = p->token + s->token;
    const int64_t choices = (int64_t)c->n_layer * c->n_expert_used;
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t row = k->first + i, at = k->at + k->place[i];
        r->token[row] = token[at];
        r->next[row] = at + 1 < s->n ? token[at + 1] : -1;
        r->position[row] = at;
        r->sequence[row] = s->sequence;
        r->document[row] = s->document;
        if (r->expert)
            memcpy(r->expert + row * choices, reader->expert + (k->from + k->place[i]) * choices,
                   (size_t)choices * sizeof *r->expert);
        if (!reader->head) continue;
        const float *x = reader->head + (int64_t)k->place[i] * c->n_vocab;
        if (o->top_m > 0) {
            const int64_t top = (int64_t)row * o->top_m;
            r->argmax[row] = geodec_argmax(x, c->n_vocab);
            (void)geodec_largest(x, c->n_vocab, o->top_m, r->top_index + top, r->top_logit + top);
        }
        if (o->logits) memcpy(r->logits + (int64_t)row * c->n_vocab, x, (size_t)c->n_vocab * sizeof *x);
    }
}

static geodec_status fill_states(const geodec__reader *reader, const geodec__plan *p, const geodec__span *s,
                                 const part *k, int64_t d, geodec__rows *r, geodec_err *err)
{
    const geodec_export_options *o = p->o;
    for (int32_t l = 0; l < o->n_layers; l++) {
        const float *from = reader->capture + ((int64_t)l * reader->n_held + k->from) * d;
        for (int32_t i = 0; i < k->n; i++) {
            const int64_t to =
                r->by_layer ? ((int64_t)l * k->n + i) * d : ((int64_t)(k->first + i) * o->n_layers + l) * d;
            const float *x = from + k->place[i] * d;
            if (o->half)
                geodec_f32_to_f16_n(x, r->half + to, d);
            else
                memcpy(r->state + to, x, (size_t)d * sizeof *x);
            if ((o->half ? geodec_finite_first_not_f16(r->half + to, d)
                         : geodec_finite_first_not_f32(r->state + to, d)) >= 0)
                GEODEC_FAIL(GEODEC_NUMERIC, "layer %d of token %d of window %d %s", o->layer[l], k->at + k->place[i],
                            s->sequence, o->half ? "is beyond float16: export float32" : "is not a finite number");
        }
    }
    return GEODEC_OK;
}

geodec_status geodec__export_window_read(geodec__reader *reader, const geodec__plan *p, const geodec__span *s,
                                         geodec__rows *rows, geodec__export_emit emit, void *ctx, geodec_err *err)
{
    const geodec_export_options *o = p->o;
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(reader->session));
    int32_t kept = 0;
    if (!rows->by_layer) GEODEC_PASS(geodec__export_rows_fit(rows, c, o, s->kept > 0 ? s->kept : 1, err));
    rows->n = 0;
    for (part k = {0}; k.at < s->n && kept < s->kept; k.at += k.passed) {
        const int64_t place = p->tokens - p->n_token + s->token + k.at;
        const bool held = place >= reader->held && place < reader->held + reader->n_held;
        bool want[GEODEC__EXPORT_PASS];
        k.passed = s->n - k.at < GEODEC__EXPORT_PASS ? s->n - k.at : GEODEC__EXPORT_PASS;
        if (held && reader->held + reader->n_held - place < k.passed)
            k.passed = (int32_t)(reader->held + reader->n_held - place);
        k.n = 0;
        k.first = rows->by_layer ? 0 : kept;
        for (int32_t i = 0; i < k.passed; i++) {
            want[i] = geodec__export_span_keeps(o, s, k.at + i);
            if (want[i]) k.place[k.n++] = i;
        }
        if (!held) GEODEC_PASS(run_pass(reader, p, s, k.at, k.n > 0, want, err));
        k.from = (int32_t)(place - reader->held);
        if (k.n == 0) continue;
        if (reader->head && reader->wide) {
            const float *last = reader->capture + ((int64_t)reader->last * reader->n_held + k.from) * c->d_model;
            GEODEC_PASS(geodec_session_head(reader->session, last, k.passed, want, reader->head, err));
        }
        fill_columns(reader, p, s, &k, c, rows);
        GEODEC_PASS(fill_states(reader, p, s, &k, c->d_model, rows, err));
        rows->n = k.first + k.n;
        if (emit) GEODEC_PASS(emit(ctx, s, kept, rows, err));
        kept += k.n;
    }
    return GEODEC_OK;
}
