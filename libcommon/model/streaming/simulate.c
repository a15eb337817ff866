#include "streaming/simulate.h"

#include "base/mem.h"
#include "streaming/serial.h"

#include <math.h>
#include <string.h>

/* ---- the visits of a trace -------------------------------------------------------------------------------------- */

typedef struct visit {
    int64_t pass, at; /* at: in the list of experts */
    int32_t layer, n;
} visit;

typedef struct route {
    int64_t n_visits, n_needs;
    visit *visit;
    int32_t *expert;
    /* for Belady: the passes in which each (layer, expert) is needed */
    int64_t *first, *pass, *cursor; /* [keys + 1], [needs], [keys] */
    int32_t n_expert;
} route;

static void clear_route(route *r) { GEODEC_FREE(r->visit, r->expert, r->first, r->pass, r->cursor); }

static geodec_status read_route(const geodec_trace *t, route *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trace_cursor *c = NULL;
    geodec_trace_event e;
    int64_t pass = -1;
    const int64_t keys = (int64_t)t->slots.n_layer * t->slots.n_expert;
    r->n_expert = t->slots.n_expert;
    GEODEC_NEW(r->visit, t->visits);
    GEODEC_NEW(r->expert, t->needs);
    GEODEC_NEW(r->first, keys + 1);
    GEODEC_NEW(r->pass, t->needs);
    GEODEC_NEW(r->cursor, keys);
    GEODEC_TRY(geodec_trace_begin(t, &c, err));
    while (geodec_trace_next(c, &e)) {
        if (e.timed) continue;
        pass += e.call.call == GEODEC_SLOTS_PASS;
        if (e.call.call != GEODEC_SLOTS_NEED) continue;
        r->visit[r->n_visits++] = (visit){.pass = pass, .at = r->n_needs, .layer = e.call.layer, .n = e.call.n};
        memcpy(r->expert + r->n_needs, e.call.expert, (size_t)e.call.n * sizeof *r->expert);
        r->n_needs += e.call.n;
        for (int32_t i = 0; i < e.call.n; i++) r->first[(int64_t)e.call.layer * r->n_expert + e.call.expert[i] + 1]++;
    }
    for (int64_t k = 0; k < keys; k++) {
        r->first[k + 1] += r->first[k];
        r->cursor[k] = r->first[k];
    }
    for (int64_t v = 0; v < r->n_visits; v++)
        for (int32_t i = 0; i < r->visit[v].n; i++) {
            const int64_t k = (int64_t)r->visit[v].layer * r->n_expert + r->expert[r->visit[v].at + i];
            r->pass[r->cursor[k]++] = r->visit[v].pass;
        }
    for (int64_t k = 0; k < keys; k++) r->cursor[k] = r->first[k];
done:
    geodec_trace_end(c);
    return st;
}

/* The uses of a visit are past: next_use then gives later ones. */
static void pass_by(route *r, const visit *v)
{
    for (int32_t i = 0; i < v->n; i++) r->cursor[(int64_t)v->layer * r->n_expert + r->expert[v->at + i]]++;
}

static int64_t next_use(void *ctx, int32_t layer, int32_t expert)
{
    const route *const r = ctx;
    const int64_t k = (int64_t)layer * r->n_expert + expert;
    return r->cursor[k] < r->first[k + 1] ? r->pass[r->cursor[k]] : INT64_MAX;
}

/* ---- the disk --------------------------------------------------------------------------------------------------- */

typedef struct world {
    const geodec_trace *t;
    const geodec_simulate_options *o;
    route route;
    geodec_slots *s;
    geodec_serial *disk;
    int64_t visit; /* next */
    bool open;     /* a visit has begun and is not computed */
    double now;
    int64_t *bytes;          /* [n_slots] of the read */
    int32_t *layer, *taken;  /* [n_slots] of slots that are read; [n_expert] */
    float *probability;      /* [n_expert] ones */
    geodec_slots_edge *edge; /* with other limits; NULL: those of the trace */
    geodec_simulate_result result;
} world;

static double length_of(const world *w, int32_t slot)
{
    const double bytes = (double)w->bytes[slot];
    return w->o->latency + (w->o->bandwidth > 0 ? bytes / w->o->bandwidth : 0);
}

/* Bytes of a read that was served for so long; the latency counts as its beginning. */
static void count_bytes(world *w, int32_t slot, double served)
{
    const int64_t bytes = w->bytes[slot];
    const double length = length_of(w, slot);
    w->result.bytes += length > 0 ? llround((double)bytes * served / length) : bytes;
}

/* Passes decisions of the slots on to the disk. */
static void pump(world *w)
{
    geodec_slots_read r;
    for (int32_t slot; (slot = geodec_slots_recall(w->s)) >= 0;) {
        const bool needed = geodec_slots_wanted(w->s, slot);
        if (needed)
            geodec_serial_hurry(w->disk, slot, w->now);
        else
            count_bytes(w, slot, geodec_serial_drop(w->disk, slot, w->now));
        geodec_slots_recalled(w->s, slot, !needed);
    }
    while (geodec_slots_next(w->s, &r)) {
        w->layer[r.slot] = r.layer;
        w->bytes[r.slot] = r.edge >= 0 ? w->t->slots.edge[r.edge].bytes : w->t->blob[r.layer];
        geodec_serial_put(w->disk, r.slot, r.demand, r.worth, w->now, length_of(w, r.slot));
    }
}

/* The next read ends, at the latest at `until`; false: none does. */
static bool finish_read(world *w, double until)
{
    double at;
    const int32_t slot = geodec_serial_next(w->disk, until, &at);
    if (slot < 0) return false;
    w->now = fmax(w->now, at);
    count_bytes(w, slot, length_of(w, slot));
    geodec_slots_finished(w->s, slot, true);
    pump(w);
    return true;
}

/* Computes: reads end meanwhile. */
static void compute(world *w, double seconds)
{
    const double until = w->now + seconds;
    while (finish_read(w, until)) {
    }
    w->now = until;
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

/* Waits for the experts of the visit and computes them. */
static geodec_status close_visit(world *w, geodec_err *err)
{
    if (!w->open) return GEODEC_OK;
    w->open = false;
    while (geodec_slots_waiting(w->s)) {
        const int32_t n = geodec_slots_take(w->s, w->taken, w->route.n_expert);
        if (n > 0) {
            compute(w, n * w->o->expert_seconds);
            for (int32_t i = 0; i < n; i++) geodec_slots_release(w->s, w->taken[i]);
            pump(w);
            continue;
        }
        const double from = w->now;
        if (!finish_read(w, INFINITY)) GEODEC_FAIL(GEODEC_INTERNAL, "the simulated run waits for no read");
        w->result.stall += w->now - from;
    }
    return GEODEC_OK;
}

static void open_visit(world *w)
{
    const visit *const v = &w->route.visit[w->visit++];
    compute(w, w->o->layer_seconds);
    pass_by(&w->route, v);
    geodec_slots_need(w->s, v->layer, v->n, w->route.expert + v->at);
    w->open = true;
    for (int32_t i = 0; i < w->o->ahead && w->visit + i < w->route.n_visits; i++) {
        const visit *const next = v + 1 + i;
        geodec_slots_foretell(w->s, next->layer, next->n, w->route.expert + next->at, w->probability);
    }
    pump(w);
}

static geodec_status step(world *w, const geodec_trace_event *e, geodec_err *err)
{
    geodec_slots_read r;
    const geodec_slots_event *const c = &e->call;
    if (e->timed) return GEODEC_OK;
    switch (c->call) {
    case GEODEC_SLOTS_PASS:
        GEODEC_PASS(close_visit(w, err));
        compute(w, w->o->pass_seconds);
        geodec_slots_pass(w->s);
        w->result.rows += e->rows;
        pump(w);
        break;
    case GEODEC_SLOTS_FORETELL:
        if (w->o->ahead >= 0) break;
        geodec_slots_foretell(w->s, c->layer, c->n, c->expert, c->probability);
        pump(w);
        break;
    case GEODEC_SLOTS_PACE:
        if (w->o->prefetch_least < 0) geodec_slots_pace(w->s, c->probability[0], c->probability[1]);
        break;
    case GEODEC_SLOTS_SPEED:
        if (!(w->o->bandwidth > 0)) geodec_slots_speed(w->s, c->probability[0]);
        break;
    case GEODEC_SLOTS_EXPECT:
        geodec_slots_expect(w->s, c->layer, c->n, c->expert, c->probability);
        break;
    case GEODEC_SLOTS_NEED:
        GEODEC_PASS(close_visit(w, err));
        open_visit(w);
        break;
    case GEODEC_SLOTS_WARM:
        if (geodec_slots_warm(w->s, c->layer, c->expert[0], &r)) geodec_slots_finished(w->s, r.slot, true);
        break;
    default:
        break; /* when reads ended there does not matter here; nor does what was given up: n_slots is chosen */
    }
    return GEODEC_OK;
}

geodec_simulate_options geodec_simulate_recorded(const geodec_trace *t)
{
    const geodec_trace_totals *const r = &t->totals;
    const double computing = r->seconds - r->stall;
    return (geodec_simulate_options){.eviction = t->slots.eviction,
                                     .n_slots = t->slots.n_slots,
                                     .shared = t->slots.shared,
                                     .prefetch_least = -1,
                                     .prefetch_most = t->slots.prefetch_most,
                                     .ahead = -1,
                                     .bandwidth = r->busy > 0 ? (double)r->bytes / r->busy : 0,
                                     .layer_seconds =
                                         computing > 0 && t->visits > 0 ? computing / (double)t->visits : 0};
}

static geodec_status check_run(const geodec_simulate_options *o, geodec_err *err)
{
    const double part[5] = {o->bandwidth, o->latency, o->pass_seconds, o->layer_seconds, o->expert_seconds};
    for (int i = 0; i < 5; i++)
        if (!(part[i] >= 0 && part[i] < 1e18)) GEODEC_FAIL(GEODEC_RANGE, "a speed or time of %g", part[i]);
    return GEODEC_OK;
}

/* Differences of experts are read where the trace says so, or always. */
static geodec_status set_edges(world *w, geodec_slots_options *slots, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (w->o->differences == GEODEC_SIMULATE_WHOLE) slots->n_edges = 0;
    if (w->o->differences != GEODEC_SIMULATE_ALWAYS || slots->n_edges == 0) goto done;
    GEODEC_NEW_COPY(w->edge, slots->edge, slots->n_edges);
    for (int32_t i = 0; i < slots->n_edges; i++) w->edge[i].below = INFINITY;
    slots->edge = w->edge;
done:
    return st;
}

geodec_status geodec_simulate_run(const geodec_trace *t, const geodec_simulate_options *o, geodec_simulate_result *out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trace_cursor *c = NULL;
    geodec_trace_event e;
    world w = {.t = t, .o = o};
    geodec_slots_options slots = t->slots;
    GEODEC_TRY(check_run(o, err));
    GEODEC_TRY(read_route(t, &w.route, err));
    slots.eviction = o->eviction;
    slots.n_slots = o->n_slots;
    slots.shared = o->shared;
    if (o->prefetch_least >= 0) {
        slots.prefetch_least = o->prefetch_least;
        slots.prefetch_far = o->prefetch_far;
    }
    slots.prefetch_most = o->prefetch_most;
    GEODEC_TRY(set_edges(&w, &slots, err));
    slots.next_use = next_use;
    slots.next_use_ctx = &w.route;
    GEODEC_TRY(geodec_slots_create(&slots, &w.s, err));
    if (o->bandwidth > 0) geodec_slots_speed(w.s, (float)o->bandwidth);
    GEODEC_TRY(geodec_serial_create(o->n_slots, &w.disk, err));
    GEODEC_NEW(w.layer, o->n_slots);
    GEODEC_NEW(w.bytes, o->n_slots);
    GEODEC_NEW(w.taken, t->slots.n_expert);
    GEODEC_NEW(w.probability, t->slots.n_expert);
    for (int32_t i = 0; i < t->slots.n_expert; i++) w.probability[i] = 1;
    GEODEC_TRY(geodec_trace_begin(t, &c, err));
    while (geodec_trace_next(c, &e)) GEODEC_TRY(step(&w, &e, err));
    GEODEC_TRY(close_visit(&w, err));
    w.result.seconds = w.now;
    while (finish_read(&w, INFINITY)) {
    } /* prefetches at the end: their bytes count, their time does not */
    w.result.busy = geodec_serial_busy(w.disk);
    w.result.slots = geodec_slots_counted(w.s);
    *out = w.result;
done:
    geodec_trace_end(c);
    geodec_slots_destroy(w.s);
    clear_route(&w.route);
    geodec_serial_destroy(w.disk);
    GEODEC_FREE(w.layer, w.bytes, w.edge, w.taken, w.probability);
    return st;
}

geodec_status geodec_simulate_bound(const geodec_trace *t, int32_t n_slots, geodec_simulate_result *out,
                                    geodec_err *err)
{
    geodec_simulate_options o = geodec_simulate_recorded(t);
    o.eviction = GEODEC_EVICTION_BELADY;
    o.n_slots = n_slots;
    o.shared = true;
    o.prefetch_most = 0;
    return geodec_simulate_run(t, &o, out, err);
}
