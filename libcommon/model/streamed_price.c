/* Prices of the rows of a pass while experts stream (price.h), and which of the bytes read were of use: bytes of
 * experts that only rejected rows used are wasted. */
#include "base/clock.h"
#include "base/mem.h"
#include "model/streamed_internal.h"

#include <math.h>
#include <string.h>

static const double STEP = 0.1; /* weight of the newest value in a moving average */
static const double CORRECTION_LEAST = 0.3, CORRECTION_MOST = 3;

enum { FEW = 17 }; /* rows of a pass from which times are learned */

/* The newest pass, until it is known which of its rows stay. */
typedef struct newest {
    bool open;
    int32_t base, n, *row; /* rows base .. of the text are these rows of the pass */
    double began, stall;
} newest;

struct geodec__priced {
    geodec_price_fit fit;
    newest last;
    uint8_t *resident; /* [n_layer][n_expert] before the newest pass */
    uint8_t *used;     /* [n_layer][n_expert] 1: by a rejected row, 2: by one that stayed */
    float *likely, *unused;
    double *blob;                       /* [n_layer] bytes */
    double useful, wasted;              /* bytes */
    double row_bytes;                   /* of a pass of one row, moving average */
    int32_t asked;                      /* rows of the newest question; 0: answered by a pass */
    double expected[GEODEC_PRICE_ROWS]; /* bytes of its first rows */
    double correction;                  /* counted bytes relative to them, moving average */
};

/* ---- what became of the reads ------------------------------------------------------------------------------------ */

static void mark(const geodec_session *s, int32_t row, uint8_t how)
{
    const geodec_model_config *c = &s->model->config;
    const int32_t *id = s->expert_id + (int64_t)row * c->n_layer * c->n_expert_used;
    for (int32_t i = 0; i < c->n_layer * c->n_expert_used; i++)
        if (id[i] >= 0) s->priced->used[i / c->n_expert_used * c->n_expert + id[i]] |= how;
}

/* Counts the experts of the newest pass; its rows that are not in the text any more were rejected. */
static void settle(geodec_session *s)
{
    struct geodec__priced *p = s->priced;
    const geodec_model_config *c = &s->model->config;
    newest *l = &p->last;
    if (!l->open) return;
    l->open = false;
    memset(p->used, 0, (size_t)c->n_layer * (size_t)c->n_expert);
    for (int32_t r = 0; r < l->n; r++) mark(s, r, 1);
    for (int32_t i = 0; i < l->n && l->base + i < s->length; i++) mark(s, l->row[i], 2);
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) {
        if (!p->used[i] || p->resident[i]) continue;
        *(p->used[i] & 2 ? &p->useful : &p->wasted) += p->blob[i / c->n_expert];
    }
}

void geodec__streamed_price_begin(geodec_session *s)
{
    struct geodec__priced *p = s->priced;
    const geodec_stream *stream = s->model->streamed->stream;
    settle(s);
    geodec_stream_residents(s->model->streamed->stream, p->resident);
    p->last.stall = geodec_stream_counted(stream).stall;
    p->last.began = geodec_clock_seconds();
}

void geodec__streamed_price_end(geodec_session *s, int32_t n)
{
    struct geodec__priced *p = s->priced;
    const geodec_model_config *c = &s->model->config;
    newest *l = &p->last;
    double experts = 0, bytes = 0;
    const double seconds = geodec_clock_seconds() - l->began;
    const double stall = geodec_stream_counted(s->model->streamed->stream).stall - l->stall;
    l->open = true;
    l->base = s->length - n;
    l->n = n;
    for (int32_t i = 0; i < n; i++) l->row[i] = i;
    if (n > FEW) return;
    memset(p->used, 0, (size_t)c->n_layer * (size_t)c->n_expert);
    for (int32_t r = 0; r < n; r++) mark(s, r, 1);
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) {
        experts += p->used[i];
        if (p->used[i] && !p->resident[i]) bytes += p->blob[i / c->n_expert];
    }
    geodec_price_observe(&p->fit, n, experts, seconds - stall);
    if (n == 1) p->row_bytes += (p->row_bytes > 0 ? STEP : 1) * (bytes - p->row_bytes);
    if (p->asked >= n && p->expected[n - 1] > 0) {
        const double off = bytes / p->expected[n - 1];
        p->correction += STEP * (fmin(fmax(off, CORRECTION_LEAST), CORRECTION_MOST) - p->correction);
    }
    p->asked = 0;
}

void geodec__streamed_price_compacted(geodec_session *s, int32_t base, const int32_t *row, int32_t n)
{
    newest *l = &s->priced->last;
    if (!l->open || base != l->base) return;
    for (int32_t i = 0; i < n; i++) l->row[i] = row[i];
    settle(s);
}

/* ---- a question -------------------------------------------------------------------------------------------------- */

/* P(used) of the row's token: by the foreseer's table, or the same for all experts. */
static void ask(geodec_session *s, int32_t token)
{
    const geodec_model_config *c = &s->model->config;
    float *p = s->priced->likely;
    const bool foretold = s->foreseen && s->model->streamed->options.price == GEODEC_STREAMED_PRICE_FORETOLD;
    if (foretold) {
        s->foreseen->by.ask(s->foreseen->by.ctx, token, false, p);
        return;
    }
    const float one = (float)c->n_expert_used / (float)c->n_expert;
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) p[i] = one;
}

bool geodec_streamed_price(geodec_session *s, const int32_t *token, int32_t n, geodec_price *out)
{
    struct geodec__priced *p = s->priced;
    const geodec_model_config *c = &s->model->config;
    if (!p || s->model->streamed->options.price == GEODEC_STREAMED_PRICE_NONE || p->fit.seen == 0 || n < 1)
        return false;
    const geodec_stream_counters k = geodec_stream_counted(s->model->streamed->stream);
    const double byte = k.disk.bytes > 0 ? k.disk.busy / (double)k.disk.bytes : 0;
    double experts = 0, bytes = 0;
    settle(s);
    geodec_stream_residents(s->model->streamed->stream, p->resident);
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) p->unused[i] = 1;
    *out = (geodec_price){.n = n < GEODEC_PRICE_ROWS ? n : GEODEC_PRICE_ROWS, .row = p->fit.row};
    for (int32_t r = 0; r < out->n; r++) {
        const double before = bytes;
        ask(s, token[r]);
        for (int32_t l = 0; l < c->n_layer; l++) {
            const int64_t at = (int64_t)l * c->n_expert;
            double missing = 0;
            if (!(p->blob[l] > 0)) continue;
            geodec_price_add_row(c->n_expert, p->likely + at, p->resident + at, p->unused + at, &experts, &missing);
            bytes += missing * p->blob[l];
        }
        p->expected[r] = bytes;
        out->bytes[r] = p->correction * (bytes - before);
        out->time[r] = geodec_price_pass(&p->fit, r + 1, experts) + p->correction * bytes * byte;
        out->alone[r] = geodec_price_pass(&p->fit, 1, p->fit.unit) + out->bytes[r] * byte;
    }
    out->plain = geodec_price_pass(&p->fit, 1, p->fit.unit) + p->row_bytes * byte;
    out->useful = p->useful;
    out->wasted = p->wasted;
    p->asked = out->n;
    return true;
}

bool geodec_streamed_reads(geodec_session *s, geodec_streamed_read *out)
{
    if (!s->priced) return false;
    settle(s);
    const geodec_stream_counters k = geodec_stream_counted(s->model->streamed->stream);
    *out = (geodec_streamed_read){.experts = k.slots.needed,
                                  .visits = k.slots.visits,
                                  .bytes = k.disk.bytes,
                                  .useful = (int64_t)s->priced->useful,
                                  .wasted = (int64_t)s->priced->wasted};
    return true;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

geodec_status geodec__streamed_price_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t all = (int64_t)c->n_layer * c->n_expert;
    int32_t layers = 0;
    GEODEC_NEW(s->priced, 1);
    GEODEC_NEW_EACH(all, s->priced->resident, s->priced->used, s->priced->likely, s->priced->unused);
    GEODEC_NEW(s->priced->blob, c->n_layer);
    GEODEC_NEW(s->priced->last.row, s->max_batch);
    for (int32_t i = 0; i < c->n_layer; i++) {
        s->priced->blob[i] = (double)geodec_stream_blob_bytes(s->model->streamed->stream, i);
        layers += s->priced->blob[i] > 0;
    }
    s->priced->correction = 1;
    geodec_price_begin(&s->priced->fit, (double)layers * c->n_expert_used);
done:
    return st;
}

void geodec__streamed_price_destroy(geodec_session *s)
{
    struct geodec__priced *p = s->priced;
    if (!p) return;
    GEODEC_FREE(p->resident, p->used, p->likely, p->unused, p->blob, p->last.row, p);
    s->priced = NULL;
}
