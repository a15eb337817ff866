#include "base/crc32c.h"
#include "base/mem.h"
#include "io/file.h"
#include "streaming/trace.h"
#include "streaming/trace_internal.h"

#include <math.h>
#include <string.h>

struct geodec_trace_data {
    geodec_file_map map;
    int64_t *blob;
    float *usage;
    uint8_t *routed;
    geodec_slots_edge *edge;
    int64_t totals;      /* bytes */
    int64_t first, last; /* bytes of the calls, without the end */
};

struct geodec_trace_cursor {
    const geodec_trace *t;
    int64_t at;
    int32_t *expert;
    float *probability, pace[2], speed;
    uint64_t *seen; /* bit set: experts of a list are distinct */
};

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* A number below `limit`. */
static bool get_number(geodec_trace_cursor *c, uint64_t limit, uint64_t *out)
{
    const struct geodec_trace_data *const d = c->t->data;
    uint64_t v = 0;
    for (int shift = 0; shift < 63 && c->at < d->last; shift += 7) {
        const uint8_t b = d->map.data[c->at++];
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            *out = v;
            return v < limit;
        }
    }
    return false;
}

static bool get_index(geodec_trace_cursor *c, int32_t limit, int32_t *out)
{
    uint64_t v = 0;
    const bool ok = get_number(c, (uint64_t)limit, &v);
    if (ok) *out = (int32_t)v;
    return ok;
}

static bool get_list(geodec_trace_cursor *c, geodec_slots_event *e)
{
    const geodec_slots_options *const o = &c->t->slots;
    if (!get_index(c, o->n_layer, &e->layer) || !get_index(c, o->n_expert + 1, &e->n)) return false;
    bool ok = true;
    int32_t n = 0;
    for (; ok && n < e->n; n++) {
        ok = get_index(c, o->n_expert, &c->expert[n]);
        if (!ok) break;
        const uint64_t bit = (uint64_t)1 << (c->expert[n] & 63);
        ok = !(c->seen[c->expert[n] >> 6] & bit);
        c->seen[c->expert[n] >> 6] |= bit;
    }
    for (int32_t i = 0; i < n; i++) c->seen[c->expert[i] >> 6] = 0;
    e->expert = c->expert;
    return ok;
}

static bool get_probabilities(geodec_trace_cursor *c, geodec_slots_event *e)
{
    const struct geodec_trace_data *const d = c->t->data;
    if (d->last - c->at < 4 * (int64_t)e->n) return false;
    for (int32_t i = 0; i < e->n; i++, c->at += 4)
        c->probability[i] = geodec__trace_float(geodec__trace_get32(d->map.data + c->at));
    e->probability = c->probability;
    return true;
}

static bool get_pace(geodec_trace_cursor *c, geodec_slots_event *e)
{
    const struct geodec_trace_data *const d = c->t->data;
    if (d->last - c->at < 8) return false;
    for (int i = 0; i < 2; i++, c->at += 4) c->pace[i] = geodec__trace_float(geodec__trace_get32(d->map.data + c->at));
    e->probability = c->pace;
    return c->pace[0] >= 0 && c->pace[0] <= 1 && c->pace[1] >= 0 && c->pace[1] <= 1;
}

static bool get_speed(geodec_trace_cursor *c, geodec_slots_event *e)
{
    const struct geodec_trace_data *const d = c->t->data;
    if (c->t->slots.n_edges == 0 || d->last - c->at < 4) return false;
    c->speed = geodec__trace_float(geodec__trace_get32(d->map.data + c->at));
    c->at += 4;
    e->probability = &c->speed;
    return c->speed > 0 && isfinite(c->speed);
}

/* False for bytes that are no call. */
static bool get_event(geodec_trace_cursor *c, geodec_trace_event *e)
{
    const geodec_slots_options *const o = &c->t->slots;
    const int op = c->t->data->map.data[c->at++];
    *e = (geodec_trace_event){0};
    uint64_t v = 0;
    if (op == GEODEC__TRACE_TIME) {
        const bool ok = get_number(c, (uint64_t)1 << 52, &v);
        e->timed = true;
        e->seconds = (double)v * 1e-6;
        return ok;
    }
    if (op >= GEODEC_SLOTS_CALLS || op == GEODEC__TRACE_END) return false;
    e->call.call = (geodec_slots_call)op;
    switch (e->call.call) {
    case GEODEC_SLOTS_PASS:
        return get_index(c, INT32_MAX, &e->rows) && e->rows > 0;
    case GEODEC_SLOTS_FORETELL:
    case GEODEC_SLOTS_EXPECT:
        return get_list(c, &e->call) && get_probabilities(c, &e->call);
    case GEODEC_SLOTS_NEED:
        return get_list(c, &e->call);
    case GEODEC_SLOTS_PACE:
        return get_pace(c, &e->call);
    case GEODEC_SLOTS_SPEED:
        return get_speed(c, &e->call);
    case GEODEC_SLOTS_NEXT:
        return o->n_edges == 0 || get_index(c, o->n_edges + 1, &e->call.n);
    case GEODEC_SLOTS_TAKE:
        return get_index(c, o->n_expert + 1, &e->call.n) && e->call.n > 0;
    case GEODEC_SLOTS_RELEASE:
    case GEODEC_SLOTS_GIVE:
    case GEODEC_SLOTS_BACK:
    case GEODEC_SLOTS_DROPPED:
        return get_index(c, o->n_slots, &e->call.slot);
    case GEODEC_SLOTS_FINISHED:
    case GEODEC_SLOTS_RECALLED:
        if (!get_number(c, 2 * (uint64_t)o->n_slots, &v)) return false;
        e->call.slot = (int32_t)(v / 2);
        e->call.yes = v & 1;
        return true;
    case GEODEC_SLOTS_WARM:
        e->call.n = 1;
        e->call.expert = c->expert;
        return get_index(c, o->n_layer, &e->call.layer) && get_index(c, o->n_expert, c->expert);
    default:
        return false;
    }
}

geodec_status geodec_trace_begin(const geodec_trace *t, geodec_trace_cursor **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trace_cursor *c = NULL;
    GEODEC_NEW(c, 1);
    c->t = t;
    c->at = t->data->first;
    GEODEC_NEW(c->expert, t->slots.n_expert);
    GEODEC_NEW(c->probability, t->slots.n_expert);
    GEODEC_NEW(c->seen, (t->slots.n_expert + 63) / 64);
    GEODEC_MOVE(*out, c);
done:
    geodec_trace_end(c);
    return st;
}

bool geodec_trace_next(geodec_trace_cursor *c, geodec_trace_event *e)
{
    return c->at < c->t->data->last && get_event(c, e);
}

void geodec_trace_end(geodec_trace_cursor *c)
{
    if (c) GEODEC_FREE(c->expert, c->probability, c->seen, c);
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

/* The options: numbers in range before anything is allocated by them. */
static geodec_status read_options(const uint8_t *p, int64_t bytes, bool differences, geodec_trace *t, bool *usage,
                                  geodec_err *err)
{
    int64_t v[9];
    for (int i = 0; i < 9; i++) v[i] = (int64_t)geodec__trace_get32(p + 4 * i);
    const float least = geodec__trace_float((uint32_t)v[5]), far = geodec__trace_float((uint32_t)v[8]);
    if (v[0] < 1 || v[1] < 1 || v[0] > GEODEC_SLOTS_KEYS_MAX || v[1] > GEODEC_SLOTS_KEYS_MAX ||
        v[0] * v[1] > GEODEC_SLOTS_KEYS_MAX || v[2] < 2 || v[2] > GEODEC_SLOTS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%lld layers of %lld experts in %lld slots", (long long)v[0], (long long)v[1],
                    (long long)v[2]);
    if (v[3] >= GEODEC_EVICTION_KINDS || v[4] > 1 || v[7] > 1 || v[6] > INT32_MAX || !(least >= 0 && least <= 1) ||
        !(far >= 0 && far <= 1))
        GEODEC_FAIL(GEODEC_FORMAT, "the options of the slots are damaged");
    const int64_t most = bytes - GEODEC__TRACE_OPTIONS - 8 * v[0] - (v[7] ? 4 * v[0] * v[1] : 0);
    int64_t edges = 0;
    if (differences && most >= 4) edges = (int64_t)geodec__trace_get32(p + bytes - most);
    if (most != (differences ? 4 + GEODEC__TRACE_EDGE * edges : 0) || edges > GEODEC__TRACE_EDGES_MAX ||
        (edges == 0) == differences)
        GEODEC_FAIL(GEODEC_FORMAT, "a head of %lld bytes does not fit its options", (long long)bytes);
    t->slots = (geodec_slots_options){.n_layer = (int32_t)v[0],
                                      .n_expert = (int32_t)v[1],
                                      .n_slots = (int32_t)v[2],
                                      .eviction = (geodec_eviction)v[3],
                                      .shared = v[4] != 0,
                                      .prefetch_least = least,
                                      .prefetch_far = far,
                                      .prefetch_most = (int32_t)v[6],
                                      .n_edges = (int32_t)edges};
    *usage = v[7] != 0;
    return GEODEC_OK;
}

/* Differences at p; whose they are was not checked before. */
static geodec_status read_edges(const uint8_t *p, geodec_trace *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t n = t->slots.n_edges;
    GEODEC_NEW(t->data->edge, n);
    t->slots.edge = t->data->edge;
    for (int32_t i = 0; i < n; i++, p += GEODEC__TRACE_EDGE) {
        const uint32_t layer = geodec__trace_get32(p), a = geodec__trace_get32(p + 4), b = geodec__trace_get32(p + 8);
        const uint64_t bytes = geodec__trace_get64(p + 12);
        const float below = geodec__trace_float(geodec__trace_get32(p + 20));
        if (layer >= (uint32_t)t->slots.n_layer || !t->data->routed[layer] || a >= b ||
            b >= (uint32_t)t->slots.n_expert || bytes < 1 || bytes > (uint64_t)1 << 40 || !(below >= 0) ||
            geodec__trace_get32(p + 24) != 0)
            GEODEC_THROW(GEODEC_FORMAT, "difference %d is damaged", (int)i);
        t->data->edge[i] = (geodec_slots_edge){(int32_t)layer, (int32_t)a, (int32_t)b, (int64_t)bytes, below};
    }
done:
    return st;
}

static geodec_status read_head(geodec_trace *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    struct geodec_trace_data *const d = t->data;
    const uint8_t *const p = d->map.data;
    const int64_t size = (int64_t)d->map.size;
    bool usage = false;
    if (size < GEODEC__TRACE_BEFORE + GEODEC__TRACE_OPTIONS || memcmp(p, GEODEC__TRACE_MAGIC, 8) != 0)
        GEODEC_THROW(GEODEC_FORMAT, "not a trace of geodec");
    const uint32_t version = geodec__trace_get32(p + 8);
    const bool differences = version == GEODEC__TRACE_DIFFERENCES;
    if (version != GEODEC__TRACE_VERSION && !differences)
        GEODEC_THROW(GEODEC_VERSION, "a trace of version %u; this program reads %d and %d", version,
                     GEODEC__TRACE_VERSION, GEODEC__TRACE_DIFFERENCES);
    d->totals = GEODEC__TRACE_TOTALS + (differences ? GEODEC__TRACE_MORE : 0);
    const int64_t bytes = geodec__trace_get32(p + 12), end = GEODEC__TRACE_BEFORE + bytes;
    if (bytes < GEODEC__TRACE_OPTIONS || end + 4 + 1 + d->totals + 4 > size)
        GEODEC_THROW(GEODEC_FORMAT, "the trace is cut off");
    if (geodec_crc32c(0, p, end) != geodec__trace_get32(p + end))
        GEODEC_THROW(GEODEC_CHECKSUM, "the head of the trace is damaged");
    if (geodec_crc32c(0, p, size - 4) != geodec__trace_get32(p + size - 4))
        GEODEC_THROW(GEODEC_CHECKSUM, "the trace is damaged or cut off");
    GEODEC_TRY(read_options(p + GEODEC__TRACE_BEFORE, bytes, differences, t, &usage, err));
    const int32_t L = t->slots.n_layer;
    const int64_t keys = (int64_t)L * t->slots.n_expert;
    const uint8_t *const layers = p + GEODEC__TRACE_BEFORE + GEODEC__TRACE_OPTIONS;
    GEODEC_NEW(d->blob, L);
    GEODEC_NEW(d->routed, L);
    for (int32_t l = 0; l < L; l++) {
        d->blob[l] = (int64_t)geodec__trace_get64(layers + 8 * (int64_t)l);
        if (d->blob[l] < 0 || d->blob[l] > (int64_t)1 << 40)
            GEODEC_THROW(GEODEC_LIMIT, "layer %d: an expert of %lld bytes", (int)l, (long long)d->blob[l]);
        d->routed[l] = d->blob[l] > 0;
    }
    t->blob = d->blob;
    t->slots.routed = d->routed;
    if (usage) {
        GEODEC_NEW(d->usage, keys);
        for (int64_t i = 0; i < keys; i++) {
            d->usage[i] = geodec__trace_float(geodec__trace_get32(layers + 8 * (int64_t)L + 4 * i));
            if (!(d->usage[i] >= 0 && d->usage[i] <= 1)) GEODEC_THROW(GEODEC_FORMAT, "the usage table is damaged");
        }
        t->slots.usage = d->usage;
    }
    if (differences) GEODEC_TRY(read_edges(p + end - GEODEC__TRACE_EDGE * (int64_t)t->slots.n_edges, t, err));
    d->first = end + 4;
    d->last = size - 4 - d->totals - 1;
done:
    return st;
}

static geodec_status read_totals(geodec_trace *t, geodec_err *err)
{
    const uint8_t *p = t->data->map.data + t->data->last;
    geodec_slots_counters *const c = &t->totals.slots;
    int64_t *const counter[GEODEC__TRACE_COUNTERS + 2] = {
        &c->passes,    &c->visits,    &c->needed,       &c->resident,       &c->in_time,
        &c->late,      &c->missed,    &c->demand_reads, &c->prefetch_reads, &c->wasted,
        &c->cancelled, &c->evictions, &c->failed,       &t->totals.rows,    &t->totals.bytes};
    double *const time[3] = {&t->totals.seconds, &t->totals.stall, &t->totals.busy};
    if (*p++ != GEODEC__TRACE_END) GEODEC_FAIL(GEODEC_FORMAT, "the trace has no totals");
    for (int i = 0; i < GEODEC__TRACE_COUNTERS + 2; i++, p += 8) {
        *counter[i] = (int64_t)geodec__trace_get64(p);
        if (*counter[i] < 0) GEODEC_FAIL(GEODEC_FORMAT, "a total is negative");
    }
    int64_t *const more[3] = {&c->differences, &c->alone, &c->cheaper};
    for (int i = 0; i < 3 && t->slots.n_edges > 0; i++, p += 8) {
        *more[i] = (int64_t)geodec__trace_get64(p);
        if (*more[i] < 0) GEODEC_FAIL(GEODEC_FORMAT, "a total is negative");
    }
    for (int i = 0; i < 3; i++, p += 8) {
        union {
            uint64_t u;
            double f;
        } x = {.u = geodec__trace_get64(p)};
        if (!(x.f >= 0) || !isfinite(x.f)) GEODEC_FAIL(GEODEC_FORMAT, "a time is not a number of seconds");
        *time[i] = x.f;
    }
    return GEODEC_OK;
}

static geodec_status check_events(geodec_trace *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trace_cursor *c = NULL;
    geodec_trace_event e;
    GEODEC_TRY(geodec_trace_begin(t, &c, err));
    while (c->at < t->data->last) {
        const int64_t at = c->at;
        if (!get_event(c, &e)) GEODEC_THROW(GEODEC_FORMAT, "the call at byte %lld is damaged", (long long)at);
        if (e.timed) continue;
        t->passes += e.call.call == GEODEC_SLOTS_PASS;
        if (e.call.call != GEODEC_SLOTS_NEED) continue;
        t->visits++;
        t->needs += e.call.n;
    }
done:
    geodec_trace_end(c);
    return st;
}

geodec_status geodec_trace_read(const char *path, geodec_trace *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trace t = {0};
    GEODEC_NEW(t.data, 1);
    GEODEC_TRY(geodec_file_map_open(path, &t.data->map, err));
    GEODEC_TRY_MSG(read_head(&t, err), "%s", path);
    GEODEC_TRY_MSG(read_totals(&t, err), "%s", path);
    GEODEC_TRY_MSG(check_events(&t, err), "%s", path);
    GEODEC_MOVE(*out, t);
done:
    geodec_trace_clear(&t);
    return st;
}

void geodec_trace_clear(geodec_trace *t)
{
    if (t->data) {
        geodec_file_map_close(&t->data->map);
        GEODEC_FREE(t->data->blob, t->data->usage, t->data->routed, t->data->edge, t->data);
    }
    *t = (geodec_trace){0};
}
