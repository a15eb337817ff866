/* Prices of the rows of a pass while experts stream (price.h), and which of the bytes read were of use: bytes of
 * experts that only rejected rows used are wasted. */
#include "base/clock.h"
#include "base/mem.h"
#include "session/streamed_internal.h"

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
    int64_t bytes; /* of the stream, before it */
    bool priced;   /* its drafts were priced, so plain decoding would have run its rows one by one */
} newest;

struct geodec__priced {
    geodec_price_fit fit,
        reading; /* computing; waiting, by layers and blobs that are read in place of rows and experts */
    newest last;
    /* The run without drafts; with them, if there are prefetches, which both leave out: the bytes that drafts cost are
     * the difference. */
    geodec__follower *plain, *drafted;
    double read;
    uint8_t *resident; /* [n_layer][n_expert] before the newest pass */
    uint8_t *used;     /* [n_layer][n_expert] 1: by a rejected row, 2: by one that stayed */
    float *likely, *unused, *own;
    double *blob, mean_blob;            /* [n_layer] bytes; of the layers with experts */
    double useful, wasted;              /* bytes */
    double row_blobs, row_layers;       /* read by plain decoding for a token, moving averages */
    int64_t rows;                       /* in them */
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

/* What plain decoding read for one more token. */
static void average(struct geodec__priced *p, double blobs, double layers)
{
    const double step = fmax(STEP, 1 / (double)++p->rows);
    p->row_blobs += step * (blobs - p->row_blobs);
    p->row_layers += step * (layers - p->row_layers);
}

/* Plain decoding of the rows that stay, one by one if they were drafted. */
static void follow_plain(geodec_session *s)
{
    struct geodec__priced *p = s->priced;
    const newest *l = &p->last;
    const int32_t stay = s->length - l->base < l->n ? s->length - l->base : l->n, step = l->priced ? 1 : stay;
    for (int32_t i = 0; i < stay; i += step) {
        /* of the first row, the pass itself asked, unless it was wide */
        if (l->priced && (i > 0 || l->n > GEODEC__AHEAD_ROWS)) geodec__streamed_expect_row(s, l->base + i);
        const geodec__follower_reads r = geodec__streamed_follower_pass(p->plain, s, l->row + i, step);
        if (step == 1) average(p, (double)r.blobs, (double)r.layers);
    }
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
    if (p->plain) follow_plain(s);
}

void geodec__streamed_price_begin(geodec_session *s)
{
    struct geodec__priced *p = s->priced;
    const geodec_stream *stream = s->model->streamed->stream;
    settle(s);
    geodec_stream_residents(s->model->streamed->stream, p->resident);
    const geodec_stream_counters k = geodec_stream_counted(stream);
    p->last.stall = k.stall;
    p->last.bytes = k.disk.bytes;
    p->last.priced = p->asked > 0;
    p->last.began = geodec_clock_seconds();
}

void geodec__streamed_price_end(geodec_session *s, int32_t n)
{
    struct geodec__priced *p = s->priced;
    const geodec_model_config *c = &s->model->config;
    newest *l = &p->last;
    double experts = 0, bytes = 0, blobs = 0;
    int32_t layers = 0, counted = -1;
    const double seconds = geodec_clock_seconds() - l->began;
    const geodec_stream_counters k = geodec_stream_counted(s->model->streamed->stream);
    const double stall = k.stall - l->stall;
    p->read += (double)(k.disk.bytes - l->bytes);
    l->open = true;
    l->base = s->length - n;
    l->n = n;
    for (int32_t i = 0; i < n; i++) l->row[i] = i;
    if (p->drafted) (void)geodec__streamed_follower_pass(p->drafted, s, l->row, n);
    if (n > FEW) return;
    memset(p->used, 0, (size_t)c->n_layer * (size_t)c->n_expert);
    for (int32_t r = 0; r < n; r++) mark(s, r, 1);
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) {
        experts += p->used[i];
        if (!p->used[i] || p->resident[i]) continue;
        bytes += p->blob[i / c->n_expert];
        blobs++;
        layers += i / c->n_expert != counted;
        counted = i / c->n_expert;
    }
    geodec_price_observe(&p->fit, n, experts, seconds - stall);
    if (layers > 0) geodec_price_observe(&p->reading, layers, blobs, stall);
    if (n == 1 && !p->plain) average(p, blobs, layers);
    if (p->asked >= n && p->expected[n - 1] > 0) {
        const double off = bytes / p->expected[n - 1];
        p->correction += STEP * (fmin(fmax(off, CORRECTION_LEAST), CORRECTION_MOST) - p->correction);
    }
    p->asked = 0;
}

void geodec__streamed_price_passed(geodec_session *s, int32_t n, int32_t *expert)
{
    struct geodec__priced *p = s->priced;
    const geodec_model_config *c = &s->model->config;
    int32_t *const own = s->expert_id;
    s->expert_id = expert;
    p->read += (double)(geodec_stream_counted(s->model->streamed->stream).disk.bytes - p->last.bytes);
    p->last.open = false;
    p->asked = 0;
    memset(p->used, 0, (size_t)c->n_layer * (size_t)c->n_expert);
    for (int32_t r = 0; r < n; r++) mark(s, r, 2);
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++)
        if (p->used[i] && !p->resident[i]) p->useful += p->blob[i / c->n_expert];
    if (p->plain) (void)geodec__streamed_follower_pass(p->plain, s, NULL, n);
    if (p->drafted) (void)geodec__streamed_follower_pass(p->drafted, s, NULL, n);
    s->expert_id = own;
}

void geodec__streamed_price_expect(geodec_session *s, bool plain, int32_t layer, int32_t n, const int32_t *expert,
                                   const float *share)
{
    if (!s->priced) return;
    if (s->priced->plain) geodec__streamed_follower_expect(s->priced->plain, layer, n, expert, share);
    if (s->priced->drafted && !plain) geodec__streamed_follower_expect(s->priced->drafted, layer, n, expert, share);
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

/* Expected reads of rows, and the seconds of waiting for them. */
typedef struct reads {
    double blobs, layers, bytes;
} reads;

static double waiting(const geodec_session *s, const reads *r)
{
    const struct geodec__priced *p = s->priced;
    const double few = fmin(r->layers, 1); /* no read, no wait */
    return p->correction * few * geodec_price_pass(&p->reading, 0, r->blobs) +
           p->correction * p->reading.row * r->layers;
}

/* One more row: what it is the first to use, given unused (updated); its reads are added. */
static double add_row(geodec_session *s, float *unused, reads *sum)
{
    struct geodec__priced *p = s->priced;
    const geodec_model_config *c = &s->model->config;
    double experts = 0;
    sum->layers = 0;
    for (int32_t l = 0; l < c->n_layer; l++) {
        const int64_t at = (int64_t)l * c->n_expert;
        double missing = 0, none = 1;
        if (!(p->blob[l] > 0)) continue;
        geodec_price_add_row(c->n_expert, p->likely + at, p->resident + at, unused + at, &experts, &missing);
        sum->bytes += missing * p->blob[l];
        sum->blobs += missing;
        for (int32_t e = 0; e < c->n_expert; e++) none *= p->resident[at + e] ? 1 : (double)unused[at + e];
        sum->layers += 1 - none;
    }
    return experts;
}

/* What plain decoding would have read so far. Prefetches that are not needed are taken to be the same. */
static double plain_bytes(const struct geodec__priced *p)
{
    const double plain = geodec__streamed_follower_bytes(p->plain);
    return p->drafted ? p->read - (geodec__streamed_follower_bytes(p->drafted) - plain) : plain;
}

bool geodec_streamed_price(geodec_session *s, const int32_t *token, int32_t n, geodec_price *out)
{
    struct geodec__priced *p = s->priced;
    const geodec_model_config *c = &s->model->config;
    if (!p || s->model->streamed->options.price == GEODEC_STREAMED_PRICE_NONE || n < 1) return false;
    if (p->fit.seen == 0) return false;
    reads all = {0};
    const reads mean = {.blobs = p->row_blobs, .layers = p->row_layers};
    const double one = geodec_price_pass(&p->fit, 1, p->fit.unit), plain = waiting(s, &mean) / p->correction;
    double experts = 0;
    settle(s);
    geodec_stream_residents(s->model->streamed->stream, p->resident);
    for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) p->unused[i] = 1;
    *out = (geodec_price){.n = n < GEODEC_PRICE_ROWS ? n : GEODEC_PRICE_ROWS, .row = p->fit.row};
    for (int32_t r = 0; r < out->n; r++) {
        const double before = all.bytes;
        reads own = {0};
        ask(s, token[r]);
        for (int32_t i = 0; i < c->n_layer * c->n_expert; i++) p->own[i] = 1;
        (void)add_row(s, p->own, &own);
        experts += add_row(s, p->unused, &all);
        p->expected[r] = all.bytes;
        out->bytes[r] = p->correction * (all.bytes - before);
        out->time[r] = geodec_price_pass(&p->fit, r + 1, experts) + waiting(s, &all);
        /* by then, slots have changed: half of what it would read now, half of what a token reads in the mean */
        out->alone[r] = one + (r == 0 ? waiting(s, &own) : (waiting(s, &own) + plain) / 2);
    }
    out->token = p->row_blobs * p->mean_blob;
    out->plain = one + plain;
    out->useful = p->plain ? plain_bytes(p) : p->useful;
    out->wasted = p->plain ? p->read - plain_bytes(p) : p->wasted;
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
                                  .wasted = (int64_t)s->priced->wasted,
                                  .plain = s->priced->plain ? (int64_t)plain_bytes(s->priced) : 0,
                                  .read = (int64_t)s->priced->read};
    return true;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

geodec_status geodec__streamed_price_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t all = (int64_t)c->n_layer * c->n_expert;
    const geodec_streaming *o = &s->model->streamed->options;
    int32_t layers = 0;
    GEODEC_NEW(s->priced, 1);
    GEODEC_NEW_EACH(all, s->priced->resident, s->priced->used, s->priced->likely, s->priced->unused, s->priced->own);
    GEODEC_NEW(s->priced->blob, c->n_layer);
    GEODEC_NEW(s->priced->last.row, s->max_batch);
    for (int32_t i = 0; i < c->n_layer; i++) {
        s->priced->blob[i] = (double)geodec_stream_blob_bytes(s->model->streamed->stream, i);
        layers += s->priced->blob[i] > 0;
        s->priced->mean_blob += s->priced->blob[i];
    }
    s->priced->mean_blob /= layers;
    s->priced->correction = 1;
    geodec_price_begin(&s->priced->fit, (double)layers * c->n_expert_used);
    geodec_price_begin(&s->priced->reading, (double)layers * c->n_expert_used);
    if (o->price == GEODEC_STREAMED_PRICE_NONE) return GEODEC_OK;
    geodec_stream_residents(s->model->streamed->stream, s->priced->resident);
    GEODEC_TRY(geodec__streamed_follower_create(s, s->priced->resident, &s->priced->plain, err));
    if (o->lookahead != GEODEC_LOOKAHEAD_NONE)
        GEODEC_TRY(geodec__streamed_follower_create(s, s->priced->resident, &s->priced->drafted, err));
done:
    return st;
}

void geodec__streamed_price_destroy(geodec_session *s)
{
    struct geodec__priced *p = s->priced;
    if (!p) return;
    geodec__streamed_follower_free(p->plain);
    geodec__streamed_follower_free(p->drafted);
    GEODEC_FREE(p->resident, p->used, p->likely, p->unused, p->own, p->blob, p->last.row, p);
    s->priced = NULL;
}
