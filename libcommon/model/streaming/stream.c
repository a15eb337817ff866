#include "streaming/stream.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/memory_limit.h"
#include "streaming/trace.h"
#include "streaming/usage.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { RESULTS = 32, MOST_LAYERS = 1024 };

/* Bytes that a process may get between two looks at its limit. */
static const int64_t HEADROOM = 8 << 20;

struct geodec_stream {
    geodec_blobs blobs;
    geodec_slots *slots;
    geodec_disk *disk;
    uint8_t *memory; /* [n_slots and the spare][slot_bytes] */
    int64_t memory_bytes;
    uint8_t **place; /* [n_slots and the spare] the memory of each, of `memory` */
    bool spare;
    bool *demand; /* [n_slots] of the last read */
    /* with differences: */
    int32_t *edge, *base; /* [n_slots] of the last read: the difference, -1: none; the slot of its base */
    uint32_t *crc;        /* [n_slots] of what is in the slot */
    uint8_t *difference;  /* room for one */
    bool check_differences;
    float speed;      /* that the slots know; 0: none */
    geodec_err why;   /* of a difference that could not be applied */
    bool *checked;    /* [n_layer][n_expert] its CRC was right once: a file does not change back and forth */
    bool *fresh;      /* [n_slots] read since it was last taken */
    int64_t finished; /* reads */
    int32_t n_slots;
    bool held; /* `next` was decided, but the ring was full */
    geodec_slots_read next;
    geodec_status failed; /* of a read: the experts of this stream cannot be trusted to come any more */
    geodec_disk_done failure;
    int32_t failed_layer, failed_expert;
    geodec_trace_writer *trace; /* NULL: none */
    geodec_usage usage;         /* of n_layer = 0: none */
    char *usage_path;
    pthread_mutex_t lock;
    bool has_lock;
    double began;
    const geodec_hooks *hooks;
    int32_t least;
    int64_t beside, claimed;
    int32_t *lent, n_lent; /* [n_slots] slots that the pass has the memory of */
    const char *limits;
    double look, next_look;
    int64_t limit; /* that is too low for this run; 0: none */
    geodec_stream_counters counters;
    geodec_timeline_point before; /* the sums when the pass began */
    geodec_timeline timeline;
};

/* ---- reads ------------------------------------------------------------------------------------------------------- */

/* False: the ring is full. */
static bool submit(geodec_stream *s, const geodec_slots_read *n)
{
    const int64_t blob = (int64_t)n->layer * s->blobs.n_expert + n->expert;
    const bool all = s->blobs.n_edges > 0; /* what may become a base is checked every time */
    geodec_disk_read r = {.slot = n->slot,
                          .demand = n->demand,
                          .worth = n->worth,
                          .check = s->blobs.crc && (all || !s->checked[blob]),
                          .crc = s->blobs.crc ? s->blobs.crc[blob] : 0,
                          .to = s->place[n->slot]};
    memcpy(r.piece, geodec_blobs_at(&s->blobs, n->layer, n->expert), sizeof r.piece);
    if (n->edge >= 0) {
        memset(r.piece, 0, sizeof r.piece);
        r.piece[0] = s->blobs.edge[n->edge].piece;
        r.crc = s->blobs.edge[n->edge].crc;
    }
    if (!geodec_disk_submit(s->disk, &r)) return false;
    if (all) {
        s->edge[n->slot] = n->edge;
        s->base[n->slot] = n->base;
        s->crc[n->slot] = r.crc;
    }
    s->fresh[n->slot] = true;
    s->demand[n->slot] = n->demand;
    return true;
}

/* Passes reads to the disk until no further one is wanted, no slot is free, or the ring is full. */
static void pump(geodec_stream *s)
{
    while (s->held || geodec_slots_next(s->slots, &s->next)) {
        s->held = !submit(s, &s->next);
        if (s->held) return;
    }
}

/* Takes back prefetches that are stale, or that are needed now and have not begun (they come back as demands). Of those
 * that have begun, stale ones are dropped, and needed ones go before the other prefetches. */
static void recall(geodec_stream *s)
{
    for (int32_t slot; (slot = geodec_slots_recall(s->slots)) >= 0;) {
        const bool held = s->held && s->next.slot == slot;
        if (held) s->held = false;
        const bool cancelled = held || geodec_disk_cancel(s->disk, slot);
        if (!cancelled && geodec_slots_wanted(s->slots, slot))
            geodec_disk_hurry(s->disk, slot);
        else if (!cancelled)
            geodec_disk_drop(s->disk, slot);
        geodec_slots_recalled(s->slots, slot, cancelled);
    }
}

enum { CHECK_EVERY = 16 };

/* Makes the blob of a slot that has the difference, from that of its base. */
static geodec_status apply(geodec_stream *s, int32_t slot)
{
    const geodec_blob_edge *e = &s->blobs.edge[s->edge[slot]];
    const double before = geodec_clock_seconds();
    uint8_t *const to = s->place[slot];
    const uint8_t *const from = s->place[s->base[slot]];
    const bool check = s->check_differences || s->counters.applied % CHECK_EVERY == 0;
    int32_t layer, expert;
    (void)geodec_slots_content(s->slots, slot, &layer, &expert);
    memcpy(s->difference, to, (size_t)geodec_blobs_room(&e->piece));
    memcpy(to, from, (size_t)s->blobs.slot_bytes);
    s->crc[slot] = s->crc[s->base[slot]];
    geodec_err_clear(&s->why);
    const geodec_status st = s->blobs.apply(s->blobs.apply_ctx, s->edge[slot], expert == e->b, check, s->difference, to,
                                            &s->crc[slot], &s->why);
    s->counters.applied++;
    s->counters.checked += check;
    s->counters.difference_bytes += geodec_blobs_room(&e->piece);
    s->counters.apply += geodec_clock_seconds() - before;
    return st;
}

/* Reports finished reads to the slots; waits for one if `wait`. Returns their number. */
static int64_t collect(geodec_stream *s, bool wait)
{
    geodec_disk_done done[RESULTS];
    const int64_t before = s->finished;
    int32_t n;
    do {
        n = geodec_disk_take(s->disk, done, RESULTS, wait);
        for (int32_t i = 0; i < n; i++) {
            bool ok = done[i].status == GEODEC_OK;
            if (done[i].status == GEODEC_INTERRUPTED) {
                s->finished++;
                geodec_slots_dropped(s->slots, done[i].slot);
                continue;
            }
            if (ok && s->blobs.n_edges > 0 && s->edge[done[i].slot] >= 0) {
                done[i].status = apply(s, done[i].slot);
                ok = done[i].status == GEODEC_OK;
            }
            /* what was only foretold will be read again if it is needed */
            if (!ok && s->demand[done[i].slot] && s->failed == GEODEC_OK) {
                s->failed = done[i].status;
                s->failure = done[i];
                (void)geodec_slots_content(s->slots, done[i].slot, &s->failed_layer, &s->failed_expert);
            }
            s->finished++;
            int32_t layer, expert;
            if (ok && geodec_slots_content(s->slots, done[i].slot, &layer, &expert))
                s->checked[(int64_t)layer * s->blobs.n_expert + expert] = true;
            geodec_slots_finished(s->slots, done[i].slot, ok);
        }
        wait = false;
    } while (n == RESULTS);
    return s->finished - before;
}

static geodec_status failure(const geodec_stream *s, geodec_err *err)
{
    if (s->limit > 0)
        GEODEC_FAIL(GEODEC_LIMIT,
                    "the limit of memory fell to %lld bytes: %d slots for experts, the smallest number, do not fit",
                    (long long)s->limit, (int)s->least);
    if (s->why.status != GEODEC_OK) {
        if (err) *err = s->why;
        return s->failed;
    }
    return geodec_disk_failed(s->disk, &s->failure, s->failed_layer, s->failed_expert, err);
}

/* Reads the most used experts, or all of them in the order of the file, and waits. */
static geodec_status warm_start(geodec_stream *s, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t n = s->blobs.n_layer * s->blobs.n_expert;
    int32_t *order = NULL;
    int64_t begun = 0;
    geodec_slots_read r;
    GEODEC_NEW(order, n);
    for (int32_t i = 0; i < n; i++) order[i] = i;
    if (s->usage.n_layer > 0 && s->n_slots < n) GEODEC_TRY(geodec_usage_order(&s->usage, order, err));
    for (int32_t i = 0; i < n; i++) {
        if (!geodec_slots_warm(s->slots, order[i] / s->blobs.n_expert, order[i] % s->blobs.n_expert, &r)) continue;
        r.demand = true; /* a failure ends the start */
        begun++;
        while (!submit(s, &r)) (void)collect(s, true);
        if (s->failed != GEODEC_OK) break;
        GEODEC_TRY(geodec_hooks_progress(hooks, "experts", i, n, err));
    }
    while (s->finished < begun && s->failed == GEODEC_OK) (void)collect(s, true);
    if (s->failed != GEODEC_OK) GEODEC_TRY(failure(s, err));
done:
    geodec_mem_free(order);
    return st;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Gives a slot back, with its memory; -1: none can leave now. */
static int32_t give_one(geodec_stream *s)
{
    const int32_t slot = geodec_slots_give(s->slots);
    if (slot >= 0) geodec_mem_discard(s->place[slot], s->blobs.slot_bytes);
    return slot;
}

/* Gives slots back until their memory is at least so many bytes. Returns the bytes. */
static int64_t give(geodec_stream *s, int64_t bytes)
{
    int64_t given = 0;
    while (given < bytes && geodec_slots_left(s->slots) > s->least) {
        if (give_one(s) < 0) break;
        given += s->blobs.slot_bytes;
        s->counters.given++;
    }
    return given;
}

int64_t geodec_stream_claim(geodec_stream *s, int64_t bytes)
{
    pthread_mutex_lock(&s->lock);
    int64_t missing = s->claimed + bytes - s->beside;
    if (missing > 0) {
        int64_t given = give(s, missing);
        /* slots that are being read can leave afterwards */
        while (given < missing && collect(s, true) > 0) given += give(s, missing - given);
        s->beside += given;
        missing -= given;
    }
    if (missing <= 0) s->claimed += bytes;
    pthread_mutex_unlock(&s->lock);
    return missing > 0 ? missing : 0;
}

geodec_stream_room geodec_stream_room_of(geodec_stream *s)
{
    pthread_mutex_lock(&s->lock);
    const int32_t left = geodec_slots_left(s->slots);
    const geodec_stream_room room = {.free = s->beside > s->claimed ? s->beside - s->claimed : 0,
                                     .lendable = left > s->least ? (left - s->least) * s->blobs.slot_bytes : 0,
                                     .left = left};
    pthread_mutex_unlock(&s->lock);
    return room;
}

static void take_back(geodec_stream *s)
{
    for (; s->n_lent > 0; s->n_lent--) geodec_slots_back(s->slots, s->lent[s->n_lent - 1]);
}

bool geodec_stream_lend(geodec_stream *s, int64_t bytes)
{
    pthread_mutex_lock(&s->lock);
    int64_t missing = s->claimed + bytes - s->beside;
    while (missing > 0 && geodec_slots_left(s->slots) > s->least) {
        const int32_t slot = give_one(s);
        if (slot >= 0) {
            missing -= s->blobs.slot_bytes;
            s->lent[s->n_lent++] = slot;
        } else if (collect(s, true) == 0) { /* slots that are being read can leave afterwards */
            break;
        }
    }
    if (missing > 0) take_back(s);
    pthread_mutex_unlock(&s->lock);
    return missing <= 0;
}

void geodec_stream_restore(geodec_stream *s)
{
    pthread_mutex_lock(&s->lock);
    take_back(s);
    pthread_mutex_unlock(&s->lock);
}

/* From time to time: whether a limit of memory fell below what this process has, or other processes of its control
 * groups or of the machine took the room that was left. */
static void look_at_limits(geodec_stream *s)
{
    if (!s->limits || s->began < s->next_look) return;
    s->next_look = s->began + s->look;
    const geodec_memory_limit l = geodec_memory_limit_of(s->limits);
    const int64_t limit = l.soft > 0 && (l.group == 0 || l.soft < l.group) ? l.soft : l.group;
    const int64_t over = limit > 0 ? geodec_memory_limit_resident() + HEADROOM - limit : 0;
    const int64_t room = geodec_memory_limit_room(&l), crowded = room >= 0 ? HEADROOM - room : 0;
    const int64_t excess = over > crowded ? over : crowded;
    if (excess <= 0) return;
    const int64_t given = give(s, excess);
    if (given > 0 && crowded > over)
        geodec_hooks_log(s->hooks, GEODEC_LOG_WARN,
                         "other processes leave %lld bytes of memory: %d of %d slots are left", (long long)room,
                         (int)geodec_slots_left(s->slots), (int)s->n_slots);
    else if (given > 0)
        geodec_hooks_log(s->hooks, GEODEC_LOG_WARN, "the limit of memory fell to %lld bytes: %d of %d slots are left",
                         (long long)limit, (int)geodec_slots_left(s->slots), (int)s->n_slots);
    if (l.group > 0 && geodec_slots_left(s->slots) <= s->least && geodec_memory_limit_anonymous() > l.group) {
        s->limit = l.group;
        s->failed = GEODEC_LIMIT;
    }
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* Huge pages, touched now, so that the budget is spent at the start or not at all. */
static geodec_status reserve(geodec_stream *s, geodec_err *err)
{
    const int64_t page = GEODEC_BLOB_PAGE, places = (int64_t)s->n_slots + s->spare;
    if (geodec_mem_mul(places, s->blobs.slot_bytes, &s->memory_bytes) != 0)
        GEODEC_FAIL(GEODEC_LIMIT, "%d slots of %lld bytes", s->n_slots, (long long)s->blobs.slot_bytes);
    s->memory = geodec_mem_map(s->memory_bytes);
    if (!s->memory)
        GEODEC_FAIL(GEODEC_NOMEM, "no memory for %d slots of %lld bytes", s->n_slots, (long long)s->blobs.slot_bytes);
    geodec_mem_populate(s->memory, s->memory_bytes);
    for (int64_t at = 0; at < s->memory_bytes; at += page) s->memory[at] = 0;
    for (int64_t i = 0; i < places; i++) s->place[i] = s->memory + i * s->blobs.slot_bytes;
    return GEODEC_OK;
}

int64_t geodec_stream_blob_bytes(const geodec_stream *s, int32_t layer)
{
    const geodec_blob_piece *p = geodec_blobs_at(&s->blobs, layer, 0);
    int64_t bytes = 0;
    for (int k = 0; k < GEODEC_BLOB_PIECES; k++) bytes += geodec_blobs_room(&p[k]);
    return bytes;
}

/* The bytes of the first blob of each layer. */
static geodec_status open_trace(geodec_stream *s, const char *path, geodec_slots_options *slots, geodec_err *err)
{
    int64_t blob[MOST_LAYERS];
    if (!path) return GEODEC_OK;
    for (int32_t i = 0; i < slots->n_layer; i++) blob[i] = geodec_stream_blob_bytes(s, i);
    GEODEC_PASS(geodec_trace_create(path, slots, blob, &s->trace, err));
    slots->observe = geodec_trace_observe;
    slots->observe_ctx = s->trace;
    return GEODEC_OK;
}

/* A table that is not there yet, or does not fit, begins anew. */
static geodec_status open_usage(geodec_stream *s, const geodec_stream_options *o, geodec_slots_options *slots,
                                bool *warm, geodec_err *err)
{
    geodec_err why = {0};
    char line[512];
    if (!o->usage) return GEODEC_OK;
    GEODEC_PASS(geodec_usage_new(slots->n_layer, slots->n_expert, o->fingerprint, &s->usage, err));
    geodec_usage found = {0};
    *warm = geodec_usage_fits(o->usage, slots->n_layer, slots->n_expert, o->fingerprint, &found, &why);
    if (*warm) {
        geodec_usage_clear(&s->usage);
        s->usage = found;
    } else {
        geodec_hooks_log(o->hooks, GEODEC_LOG_INFO, "table of uses begins anew: %s",
                         geodec_err_line(&why, line, sizeof line));
    }
    slots->usage = s->usage.frequency;
    s->usage_path = geodec_mem_strdup(o->usage);
    if (!s->usage_path) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a name");
    return GEODEC_OK;
}

static geodec_status open_disk(geodec_stream *s, const geodec_disk_options *o, geodec_err *err)
{
    const geodec_blobs *b = &s->blobs;
    if (b->n_files > 0)
        GEODEC_PASS(geodec_disk_open_files(b->path, b->file, b->n_files, o, &s->disk, err));
    else
        GEODEC_PASS(geodec_disk_open(b->path, o, &s->disk, err));
    return GEODEC_OK;
}

static geodec_status set_edges(geodec_stream *s, geodec_slots_edge **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_slots_edge *edge = NULL;
    int64_t most = 0;
    const int32_t n = s->blobs.n_edges;
    if (n == 0) goto done;
    GEODEC_NEW(edge, n);
    GEODEC_NEW_EACH(s->n_slots, s->edge, s->base, s->crc);
    for (int32_t i = 0; i < n; i++) {
        const geodec_blob_edge *e = &s->blobs.edge[i];
        const int64_t room = geodec_blobs_room(&e->piece);
        if (room > s->blobs.slot_bytes)
            GEODEC_THROW(GEODEC_INVAL, "a difference of %lld bytes and slots of %lld", (long long)room,
                         (long long)s->blobs.slot_bytes);
        most = room > most ? room : most;
        edge[i] = (geodec_slots_edge){.layer = e->layer, .a = e->a, .b = e->b, .bytes = room, .below = e->below};
    }
    GEODEC_NEW(s->difference, most);
    GEODEC_MOVE(*out, edge);
done:
    geodec_mem_free(edge);
    return st;
}

geodec_status geodec_stream_open(geodec_blobs *blobs, const geodec_stream_options *o, geodec_stream **out,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_slots_edge *edge = NULL;
    geodec_stream *s = NULL;
    GEODEC_NEW(s, 1);
    GEODEC_MOVE(s->blobs, *blobs);
    geodec_slots_options slots = o->slots;
    geodec_disk_options disk = o->disk;
    slots.n_layer = s->blobs.n_layer;
    slots.n_expert = s->blobs.n_expert;
    disk.n_slots = s->n_slots = slots.n_slots;
    s->hooks = o->hooks;
    s->beside = o->beside;
    s->least = o->least > 2 ? o->least : 2;
    s->limits = o->limits;
    s->look = o->look;
    s->spare = o->spare;
    uint8_t routed[MOST_LAYERS] = {0};
    bool warm = s->n_slots >= slots.n_layer * slots.n_expert;
    if (slots.n_layer > MOST_LAYERS) GEODEC_THROW(GEODEC_LIMIT, "%d layers", slots.n_layer);
    for (int32_t i = 0; i < slots.n_layer; i++) routed[i] = geodec_blobs_at(&s->blobs, i, 0)->bytes > 0;
    slots.routed = routed;
    if (pthread_mutex_init(&s->lock, NULL) != 0) GEODEC_THROW(GEODEC_NOMEM, "no lock for a stream");
    s->has_lock = true;
    GEODEC_NEW_EACH(s->n_slots, s->fresh, s->demand, s->lent);
    GEODEC_NEW(s->place, (int64_t)s->n_slots + s->spare);
    GEODEC_NEW(s->checked, (int64_t)s->blobs.n_layer * s->blobs.n_expert);
    GEODEC_TRY(open_usage(s, o, &slots, &warm, err));
    GEODEC_TRY(set_edges(s, &edge, err));
    slots.edge = edge;
    slots.n_edges = s->blobs.n_edges;
    s->check_differences = o->check_differences;
    GEODEC_TRY(open_trace(s, o->trace, &slots, err));
    GEODEC_TRY(geodec_slots_create(&slots, &s->slots, err));
    GEODEC_TRY(reserve(s, err));
    GEODEC_TRY(open_disk(s, &disk, err));
    if (warm) GEODEC_TRY(warm_start(s, o->hooks, err));
    if (disk.throttle > 0) geodec_slots_speed(s->slots, s->speed = (float)disk.throttle);
    *out = s;
    s = NULL;
done:
    geodec_mem_free(edge);
    geodec_stream_close(s);
    return st;
}

void geodec_stream_close(geodec_stream *s)
{
    if (!s) return;
    geodec_disk_close(s->disk);
    geodec_trace_abandon(s->trace);
    geodec_usage_clear(&s->usage);
    geodec_slots_destroy(s->slots);
    geodec_mem_unmap(s->memory, s->memory_bytes);
    geodec_blobs_clear(&s->blobs);
    if (s->has_lock) pthread_mutex_destroy(&s->lock);
    GEODEC_FREE(s->edge, s->base, s->crc, s->difference);
    GEODEC_FREE(s->usage_path, s->fresh, s->demand, s->lent, s->checked, s->place, s);
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

/* The speed of the disk so far, from the first reads on, and whenever it differs much. */
static void tell_speed(geodec_stream *s)
{
    enum { FIRST = 8 };
    static const double MUCH = 0.1;
    if (s->blobs.n_edges == 0) return;
    const geodec_disk_counters k = geodec_disk_counted(s->disk);
    if (k.reads < FIRST || !(k.busy > 0)) return;
    const double now = (double)k.bytes / k.busy;
    if (s->speed > 0 && fabs(now / (double)s->speed - 1) < MUCH) return;
    geodec_slots_speed(s->slots, s->speed = (float)now);
}

void geodec_stream_begin(geodec_stream *s, int32_t rows)
{
    pthread_mutex_lock(&s->lock);
    s->began = geodec_clock_seconds();
    s->before = (geodec_timeline_point){
        .rows = s->counters.rows, .bytes = geodec_disk_counted(s->disk).bytes, .stall = s->counters.stall};
    s->counters.rows += rows;
    if (s->trace) geodec_trace_rows(s->trace, rows);
    geodec_slots_pass(s->slots);
    tell_speed(s);
    look_at_limits(s);
}

void geodec_stream_end(geodec_stream *s)
{
    const double seconds = geodec_clock_seconds() - s->began;
    const geodec_timeline_point pass = {.passes = 1,
                                        .rows = s->counters.rows - s->before.rows,
                                        .bytes = geodec_disk_counted(s->disk).bytes - s->before.bytes,
                                        .seconds = seconds,
                                        .stall = s->counters.stall - s->before.stall};
    s->counters.passes += seconds;
    geodec_timeline_add(&s->timeline, &pass);
    pthread_mutex_unlock(&s->lock);
}

void geodec_stream_pace(geodec_stream *s, float least, float far) { geodec_slots_pace(s->slots, least, far); }

void geodec_stream_expect(geodec_stream *s, int32_t layer, int32_t n, const int32_t *expert, const float *share)
{
    geodec_slots_expect(s->slots, layer, n, expert, share);
}

void geodec_stream_foretell(geodec_stream *s, int32_t layer, int32_t n, const int32_t *expert, const float *probability)
{
    geodec_slots_foretell(s->slots, layer, n, expert, probability);
    recall(s);
    pump(s);
}

void geodec_stream_need(geodec_stream *s, int32_t layer, int32_t n, const int32_t *expert)
{
    (void)collect(s, false);
    geodec_slots_need(s->slots, layer, n, expert);
    recall(s);
    pump(s);
}

geodec_status geodec_stream_take(geodec_stream *s, geodec_stream_blob *blob, int32_t most, int32_t *n, geodec_err *err)
{
    int32_t slot[RESULTS];
    if (most > RESULTS) most = RESULTS;
    (void)collect(s, false);
    pump(s);
    for (;;) {
        if (s->failed != GEODEC_OK) return failure(s, err);
        *n = geodec_slots_take(s->slots, slot, most);
        if (*n > 0 || !geodec_slots_waiting(s->slots)) break;
        const double before = geodec_clock_seconds();
        (void)collect(s, true);
        s->counters.stall += geodec_clock_seconds() - before;
        pump(s);
    }
    for (int32_t i = 0; i < *n; i++) {
        int32_t layer;
        blob[i] = (geodec_stream_blob){.slot = slot[i], .data = s->place[slot[i]], .fresh = s->fresh[slot[i]]};
        (void)geodec_slots_content(s->slots, slot[i], &layer, &blob[i].expert);
        s->fresh[slot[i]] = false;
    }
    return GEODEC_OK;
}

void geodec_stream_release(geodec_stream *s, int32_t slot)
{
    geodec_slots_release(s->slots, slot);
    pump(s);
}

uint8_t *geodec_stream_spare(const geodec_stream *s) { return s->place[s->n_slots]; }

void geodec_stream_exchange(geodec_stream *s, geodec_stream_blob *blob)
{
    uint8_t *const filled = s->place[s->n_slots];
    s->place[s->n_slots] = s->place[blob->slot];
    blob->data = s->place[blob->slot] = filled;
}

int32_t geodec_stream_left(const geodec_stream *s) { return geodec_slots_left(s->slots); }

void geodec_stream_residents(geodec_stream *s, uint8_t *resident)
{
    const int32_t experts = s->blobs.n_expert;
    pthread_mutex_lock(&s->lock);
    for (int32_t i = 0; i < s->blobs.n_layer * experts; i++)
        resident[i] = geodec_slots_resident(s->slots, i / experts, i % experts);
    pthread_mutex_unlock(&s->lock);
}

geodec_stream_counters geodec_stream_counted(const geodec_stream *s)
{
    geodec_stream_counters c = s->counters;
    c.slots = geodec_slots_counted(s->slots);
    c.disk = geodec_disk_counted(s->disk);
    return c;
}

geodec_slots_counters geodec_stream_counted_layer(const geodec_stream *s, int32_t layer)
{
    return geodec_slots_counted_layer(s->slots, layer);
}

const geodec_timeline *geodec_stream_timeline(const geodec_stream *s) { return &s->timeline; }

/* A file that was cut off in its last page gives zeros to those who read it through a map, and no signal. */
static geodec_status check_length(const geodec_stream *s, geodec_err *err)
{
    for (int32_t i = 0; i == 0 || i < s->blobs.n_files; i++) {
        const char *path = s->blobs.path;
        const int64_t now = geodec_disk_bytes(s->disk, i, &path);
        const geodec_blob_file *file = s->blobs.n_files > 0 ? &s->blobs.file[i] : NULL;
        const int64_t then = !file ? s->blobs.file_bytes : file->length > 0 ? file->length : file->bytes;
        if (now >= 0 && now < then)
            GEODEC_FAIL(GEODEC_IO,
                        "%s: the file was cut off to %lld of %lld bytes while the model ran: the results may be wrong",
                        path, (long long)now, (long long)then);
    }
    return GEODEC_OK;
}

geodec_status geodec_stream_finish(geodec_stream *s, geodec_err *err)
{
    GEODEC_PASS(check_length(s, err));
    if (s->usage.n_layer > 0) {
        geodec_usage_add(&s->usage, s->slots);
        GEODEC_PASS(geodec_usage_write(s->usage_path, &s->usage, err));
    }
    if (s->trace) {
        const geodec_stream_counters k = geodec_stream_counted(s);
        const geodec_trace_totals totals = {.slots = k.slots,
                                            .rows = k.rows,
                                            .bytes = k.disk.bytes,
                                            .seconds = k.passes,
                                            .stall = k.stall,
                                            .busy = k.disk.busy};
        geodec_trace_writer *w = s->trace;
        s->trace = NULL;
        GEODEC_PASS(geodec_trace_commit(w, &totals, err));
    }
    return GEODEC_OK;
}
