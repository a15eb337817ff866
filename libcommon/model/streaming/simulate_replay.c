#include "base/mem.h"
#include "streaming/simulate.h"

/* One recorded call; false: the machine does otherwise. */
static bool repeat(geodec_slots *s, const geodec_slots_event *e, int32_t *slots, geodec_slots_read *r)
{
    int32_t slot;
    switch (e->call) {
    case GEODEC_SLOTS_PASS:
        geodec_slots_pass(s);
        return true;
    case GEODEC_SLOTS_FORETELL:
        geodec_slots_foretell(s, e->layer, e->n, e->expert, e->probability);
        return true;
    case GEODEC_SLOTS_PACE:
        geodec_slots_pace(s, e->probability[0], e->probability[1]);
        return true;
    case GEODEC_SLOTS_EXPECT:
        geodec_slots_expect(s, e->layer, e->n, e->expert, e->probability);
        return true;
    case GEODEC_SLOTS_NEED:
        geodec_slots_need(s, e->layer, e->n, e->expert);
        return true;
    case GEODEC_SLOTS_TAKE:
        return geodec_slots_take(s, slots, e->n) == e->n;
    case GEODEC_SLOTS_RELEASE:
        geodec_slots_release(s, e->slot);
        return true;
    case GEODEC_SLOTS_SPEED:
        geodec_slots_speed(s, e->probability[0]);
        return true;
    case GEODEC_SLOTS_NEXT:
        return geodec_slots_next(s, r) && r->edge + 1 == e->n;
    case GEODEC_SLOTS_FINISHED:
        geodec_slots_finished(s, e->slot, e->yes);
        return true;
    case GEODEC_SLOTS_RECALLED:
        slot = geodec_slots_recall(s);
        geodec_slots_recalled(s, e->slot, e->yes);
        return slot == e->slot;
    case GEODEC_SLOTS_DROPPED:
        geodec_slots_dropped(s, e->slot);
        return true;
    case GEODEC_SLOTS_WARM:
        return geodec_slots_warm(s, e->layer, e->expert[0], r);
    case GEODEC_SLOTS_GIVE:
        return geodec_slots_give(s) == e->slot;
    case GEODEC_SLOTS_BACK:
        geodec_slots_back(s, e->slot);
        return true;
    case GEODEC_SLOTS_CALLS:
        break;
    }
    return false;
}

/* Bytes of the reads. One that was broken off has them only in part; so may have one whose slot was given back, or that
 * was under way at the end. */
typedef struct traffic {
    int64_t *slot; /* [n_slots] of the read under way, 0: none */
    int64_t whole, dropped;
} traffic;

static void count(const geodec_trace *t, const geodec_slots_event *e, const geodec_slots_read *r, traffic *b)
{
    if (e->call == GEODEC_SLOTS_NEXT || e->call == GEODEC_SLOTS_WARM)
        b->slot[r->slot] = r->edge >= 0 ? t->slots.edge[r->edge].bytes : t->blob[r->layer];
    if (e->call == GEODEC_SLOTS_FINISHED) b->whole += b->slot[e->slot];
    if (e->call == GEODEC_SLOTS_DROPPED || e->call == GEODEC_SLOTS_GIVE) b->dropped += b->slot[e->slot];
    if (e->call == GEODEC_SLOTS_FINISHED || e->call == GEODEC_SLOTS_DROPPED || e->call == GEODEC_SLOTS_GIVE)
        b->slot[e->slot] = 0;
}

static geodec_status replay(const geodec_trace *t, geodec_slots_counters *out, traffic *bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_slots *s = NULL;
    geodec_trace_cursor *c = NULL;
    geodec_trace_event e;
    geodec_slots_read r;
    int32_t *slots = NULL;
    int64_t passes = 0;
    if (t->slots.eviction == GEODEC_EVICTION_BELADY)
        GEODEC_THROW(GEODEC_UNSUPPORTED,
                     "a run with the policy belady has no replay: its decisions are not in the trace");
    GEODEC_TRY(geodec_slots_create(&t->slots, &s, err));
    GEODEC_NEW(slots, t->slots.n_expert);
    GEODEC_NEW(bytes->slot, t->slots.n_slots);
    GEODEC_TRY(geodec_trace_begin(t, &c, err));
    while (geodec_trace_next(c, &e)) {
        if (e.timed) continue;
        passes += e.call.call == GEODEC_SLOTS_PASS;
        if (!repeat(s, &e.call, slots, &r))
            GEODEC_THROW(GEODEC_CHECK, "pass %lld of the trace: the slots decide otherwise than recorded",
                         (long long)passes);
        count(t, &e.call, &r, bytes);
    }
    for (int32_t i = 0; i < t->slots.n_slots; i++) bytes->dropped += bytes->slot[i];
    *out = geodec_slots_counted(s);
done:
    geodec_trace_end(c);
    GEODEC_FREE(slots, bytes->slot);
    geodec_slots_destroy(s);
    return st;
}

geodec_status geodec_simulate_replay(const geodec_trace *t, geodec_slots_counters *out, geodec_err *err)
{
    traffic bytes = {0};
    GEODEC_PASS(replay(t, out, &bytes, err));
    return GEODEC_OK;
}

geodec_status geodec_simulate_check(const geodec_trace *t, geodec_err *err)
{
    geodec_slots_counters c;
    traffic bytes = {0};
    GEODEC_PASS(replay(t, &c, &bytes, err));
    const geodec_slots_counters *const r = &t->totals.slots;
    const struct {
        const char *name;
        int64_t replayed, recorded;
    } row[] = {
        {"passes", c.passes, r->passes},
        {"visits", c.visits, r->visits},
        {"needed", c.needed, r->needed},
        {"resident", c.resident, r->resident},
        {"in_time", c.in_time, r->in_time},
        {"late", c.late, r->late},
        {"missed", c.missed, r->missed},
        {"demand_reads", c.demand_reads, r->demand_reads},
        {"prefetch_reads", c.prefetch_reads, r->prefetch_reads},
        {"wasted", c.wasted, r->wasted},
        {"cancelled", c.cancelled, r->cancelled},
        {"evictions", c.evictions, r->evictions},
        {"failed", c.failed, r->failed},
        {"differences", c.differences, r->differences},
        {"alone", c.alone, r->alone},
        {"cheaper", c.cheaper, r->cheaper},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].replayed != row[i].recorded)
            GEODEC_FAIL(GEODEC_CHECK, "the replay counts %lld %s, the run %lld", (long long)row[i].replayed,
                        row[i].name, (long long)row[i].recorded);
    /* Only stores of ternary experts are read in whole blobs: direct reads of a GGUF are rounded out to pages. */
    if (t->slots.n_edges > 0 && c.failed == 0 && t->totals.bytes > 0 &&
        (t->totals.bytes < bytes.whole || t->totals.bytes > bytes.whole + bytes.dropped))
        GEODEC_FAIL(GEODEC_CHECK, "the replay reads %lld bytes%s, the run %lld", (long long)bytes.whole,
                    bytes.dropped > 0 ? " or more" : "", (long long)t->totals.bytes);
    return GEODEC_OK;
}
