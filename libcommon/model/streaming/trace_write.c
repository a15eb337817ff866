#include "base/crc32c.h"
#include "base/mem.h"
#include "io/atomic.h"
#include "streaming/trace.h"
#include "streaming/trace_internal.h"

#include <math.h>

enum { BUFFER = 1 << 16 };

struct geodec_trace_writer {
    geodec_atomic *file;
    geodec_status status; /* the first error */
    geodec_err err;
    uint32_t crc;
    int32_t n_expert, rows, n;
    bool differences;
    uint8_t buffer[BUFFER];
};

static void flush(geodec_trace_writer *w)
{
    w->crc = geodec_crc32c(w->crc, w->buffer, w->n);
    if (w->status == GEODEC_OK) w->status = geodec_atomic_write(w->file, w->buffer, (size_t)w->n, &w->err);
    w->n = 0;
}

/* Room for n bytes. */
static uint8_t *room(geodec_trace_writer *w, int32_t n)
{
    if (w->n + n > BUFFER) flush(w);
    w->n += n;
    return w->buffer + w->n - n;
}

static void put_byte(geodec_trace_writer *w, int v) { *room(w, 1) = (uint8_t)v; }
static void put_number(geodec_trace_writer *w, uint64_t v)
{
    for (; v > 127; v >>= 7) put_byte(w, (int)(v & 127) | 128);
    put_byte(w, (int)v);
}
static void put_u32(geodec_trace_writer *w, uint32_t v) { geodec__trace_put32(room(w, 4), v); }
static void put_u64(geodec_trace_writer *w, uint64_t v) { geodec__trace_put64(room(w, 8), v); }
static void put_f64(geodec_trace_writer *w, double v)
{
    union {
        double f;
        uint64_t u;
    } x = {.f = v};
    put_u64(w, x.u);
}

static void put_head(geodec_trace_writer *w, const geodec_slots_options *o, const int64_t *blob)
{
    const int64_t keys = (int64_t)o->n_layer * o->n_expert;
    const int64_t bytes = GEODEC__TRACE_OPTIONS + 8 * (int64_t)o->n_layer + (o->usage ? 4 * keys : 0) +
                          (o->n_edges > 0 ? 4 + GEODEC__TRACE_EDGE * (int64_t)o->n_edges : 0);
    for (int i = 0; i < 8; i++) put_byte(w, GEODEC__TRACE_MAGIC[i]);
    put_u32(w, o->n_edges > 0 ? GEODEC__TRACE_DIFFERENCES : GEODEC__TRACE_VERSION);
    put_u32(w, (uint32_t)bytes);
    put_u32(w, (uint32_t)o->n_layer);
    put_u32(w, (uint32_t)o->n_expert);
    put_u32(w, (uint32_t)o->n_slots);
    put_u32(w, (uint32_t)o->eviction);
    put_u32(w, o->shared);
    put_u32(w, geodec__trace_bits(o->prefetch_least));
    put_u32(w, (uint32_t)o->prefetch_most);
    put_u32(w, o->usage != NULL);
    put_u32(w, geodec__trace_bits(o->prefetch_far));
    for (int32_t l = 0; l < o->n_layer; l++) put_u64(w, (uint64_t)blob[l]);
    for (int64_t i = 0; o->usage && i < keys; i++) put_u32(w, geodec__trace_bits(o->usage[i]));
    if (o->n_edges > 0) put_u32(w, (uint32_t)o->n_edges);
    for (int32_t i = 0; i < o->n_edges; i++) {
        const geodec_slots_edge *e = &o->edge[i];
        put_u32(w, (uint32_t)e->layer);
        put_u32(w, (uint32_t)e->a);
        put_u32(w, (uint32_t)e->b);
        put_u64(w, (uint64_t)e->bytes);
        put_u32(w, geodec__trace_bits(e->below));
        put_u32(w, 0);
    }
    flush(w);
    put_u32(w, w->crc);
}

geodec_status geodec_trace_create(const char *path, const geodec_slots_options *o, const int64_t *blob,
                                  geodec_trace_writer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trace_writer *w = NULL;
    GEODEC_NEW(w, 1);
    GEODEC_TRY(geodec_atomic_open(path, &w->file, err));
    w->n_expert = o->n_expert;
    w->rows = 1;
    w->differences = o->n_edges > 0;
    put_head(w, o, blob);
    GEODEC_MOVE(*out, w);
done:
    geodec_trace_abandon(w);
    return st;
}

static void put_list(geodec_trace_writer *w, const geodec_slots_event *e)
{
    put_number(w, (uint64_t)e->layer);
    put_number(w, (uint64_t)e->n);
    for (int32_t i = 0; i < e->n; i++) put_number(w, (uint64_t)e->expert[i]);
}

void geodec_trace_observe(void *writer, const geodec_slots_event *e)
{
    geodec_trace_writer *const w = writer;
    if (w->status != GEODEC_OK) return;
    if (e->n > w->n_expert && e->call != GEODEC_SLOTS_NEXT) {
        w->status = geodec_err_set(&w->err, GEODEC_INVAL, __func__, __LINE__, "a list of %d experts, of %d", (int)e->n,
                                   (int)w->n_expert);
        return;
    }
    put_byte(w, (int)e->call);
    switch (e->call) {
    case GEODEC_SLOTS_PASS:
        put_number(w, (uint64_t)w->rows);
        w->rows = 1;
        break;
    case GEODEC_SLOTS_FORETELL:
    case GEODEC_SLOTS_EXPECT:
        put_list(w, e);
        for (int32_t i = 0; i < e->n; i++) put_u32(w, geodec__trace_bits(e->probability[i]));
        break;
    case GEODEC_SLOTS_NEED:
        put_list(w, e);
        break;
    case GEODEC_SLOTS_PACE:
        for (int32_t i = 0; i < 2; i++) put_u32(w, geodec__trace_bits(e->probability[i]));
        break;
    case GEODEC_SLOTS_TAKE:
        put_number(w, (uint64_t)e->n);
        break;
    case GEODEC_SLOTS_RELEASE:
    case GEODEC_SLOTS_GIVE:
    case GEODEC_SLOTS_BACK:
    case GEODEC_SLOTS_DROPPED:
        put_number(w, (uint64_t)e->slot);
        break;
    case GEODEC_SLOTS_FINISHED:
    case GEODEC_SLOTS_RECALLED:
        put_number(w, 2 * (uint64_t)e->slot + e->yes);
        break;
    case GEODEC_SLOTS_WARM:
        put_number(w, (uint64_t)e->layer);
        put_number(w, (uint64_t)e->expert[0]);
        break;
    case GEODEC_SLOTS_SPEED:
        put_u32(w, geodec__trace_bits(e->probability[0]));
        break;
    case GEODEC_SLOTS_NEXT:
        if (w->differences) put_number(w, (uint64_t)e->n);
        break;
    case GEODEC_SLOTS_CALLS:
        break;
    }
}

void geodec_trace_rows(geodec_trace_writer *w, int32_t rows) { w->rows = rows > 0 ? rows : 1; }

void geodec_trace_time(geodec_trace_writer *w, double seconds)
{
    put_byte(w, GEODEC__TRACE_TIME);
    put_number(w, seconds > 0 ? (uint64_t)llround(fmin(seconds, 1e9) * 1e6) : 0);
}

geodec_status geodec_trace_commit(geodec_trace_writer *w, const geodec_trace_totals *t, geodec_err *err)
{
    const geodec_slots_counters *const c = &t->slots;
    const int64_t counter[GEODEC__TRACE_COUNTERS + 1] = {
        c->passes,       c->visits,         c->needed, c->resident,  c->in_time,   c->late,   c->missed,
        c->demand_reads, c->prefetch_reads, c->wasted, c->cancelled, c->evictions, c->failed, t->rows};
    put_byte(w, GEODEC__TRACE_END);
    for (int i = 0; i < GEODEC__TRACE_COUNTERS + 1; i++) put_u64(w, (uint64_t)counter[i]);
    put_u64(w, (uint64_t)t->bytes);
    const int64_t more[3] = {c->differences, c->alone, c->cheaper};
    for (int i = 0; i < 3 && w->differences; i++) put_u64(w, (uint64_t)more[i]);
    put_f64(w, t->seconds);
    put_f64(w, t->stall);
    put_f64(w, t->busy);
    flush(w);
    put_u32(w, w->crc);
    flush(w);
    geodec_status st = w->status;
    if (st == GEODEC_OK) {
        geodec_atomic *const file = w->file;
        w->file = NULL;
        st = geodec_atomic_commit(file, err);
    } else if (err) {
        *err = w->err;
    }
    geodec_trace_abandon(w);
    return st;
}

void geodec_trace_abandon(geodec_trace_writer *w)
{
    if (!w) return;
    geodec_atomic_abandon(w->file);
    geodec_mem_free(w);
}
