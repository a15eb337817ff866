#include "base/mem.h"
#include "base/rng.h"
#include "streaming/simulate.h"

#include <math.h>

typedef struct source {
    const geodec_simulate_traffic *o;
    double *sum;    /* [n_expert] of the probabilities up to a rank */
    int32_t *order; /* [n_layer][n_expert] expert of a rank */
    int32_t *expert, *slot;
    uint8_t *drawn;
} source;

static int32_t draw(const source *f, int32_t layer, geodec_rng *r)
{
    const int32_t n = f->o->slots.n_expert;
    const double u = geodec_rng_uniform(r) * f->sum[n - 1];
    int32_t low = 0, high = n - 1;
    while (low < high) {
        const int32_t mid = (low + high) / 2;
        if (f->sum[mid] > u)
            high = mid;
        else
            low = mid + 1;
    }
    return f->order[(int64_t)layer * n + low];
}

static void set_ranks(source *f)
{
    const geodec_simulate_traffic *const o = f->o;
    for (int32_t k = 0; k < o->slots.n_expert; k++) f->sum[k] = (k ? f->sum[k - 1] : 0) + pow(k + 1, -o->zipf);
    for (int32_t l = 0; l < o->slots.n_layer; l++) {
        int32_t *const order = f->order + (int64_t)l * o->slots.n_expert;
        geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("ranks", (uint64_t)l));
        for (int32_t k = 0; k < o->slots.n_expert; k++) {
            const int32_t j = (int32_t)geodec_rng_below(&r, (uint64_t)k + 1);
            order[k] = order[j];
            order[j] = k;
        }
    }
}

/* A visit in which reads end at once. */
static void run_visit(source *f, geodec_slots *s, int32_t layer, geodec_rng *r)
{
    geodec_slots_read read;
    for (int32_t n = 0; n < f->o->used;) {
        const int32_t e = draw(f, layer, r);
        if (f->drawn[e]) continue;
        f->drawn[e] = 1;
        f->expert[n++] = e;
    }
    for (int32_t i = 0; i < f->o->used; i++) f->drawn[f->expert[i]] = 0;
    geodec_slots_need(s, layer, f->o->used, f->expert);
    while (geodec_slots_waiting(s)) {
        while (geodec_slots_next(s, &read)) geodec_slots_finished(s, read.slot, true);
        const int32_t n = geodec_slots_take(s, f->slot, f->o->slots.n_expert);
        for (int32_t i = 0; i < n; i++) geodec_slots_release(s, f->slot[i]);
    }
}

geodec_status geodec_simulate_generate(const char *path, const geodec_simulate_traffic *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_slots *s = NULL;
    geodec_trace_writer *w = NULL;
    int64_t *blob = NULL;
    source f = {.o = o};
    geodec_slots_options slots = o->slots;
    const int32_t L = slots.n_layer, E = slots.n_expert;
    if (L < 1 || E < 1 || (int64_t)L * E > GEODEC_SLOTS_KEYS_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "%d layers of %d experts", (int)L, (int)E);
    if (o->used < 1 || o->used > E) GEODEC_THROW(GEODEC_RANGE, "%d used experts of %d", (int)o->used, (int)E);
    if (!(o->zipf >= 0 && o->zipf <= 4)) GEODEC_THROW(GEODEC_RANGE, "an exponent of %g is not in [0, 4]", o->zipf);
    if (o->blob < 1 || o->blob > (int64_t)1 << 40)
        GEODEC_THROW(GEODEC_RANGE, "an expert of %lld bytes", (long long)o->blob);
    GEODEC_NEW(blob, L);
    for (int32_t l = 0; l < L; l++) blob[l] = o->blob;
    GEODEC_NEW(f.sum, E);
    GEODEC_NEW(f.drawn, E);
    GEODEC_NEW_EACH(E, f.expert, f.slot);
    GEODEC_NEW(f.order, (int64_t)L * E);
    set_ranks(&f);
    slots.usage = NULL;
    slots.routed = NULL;
    GEODEC_TRY(geodec_trace_create(path, &slots, blob, &w, err));
    slots.observe = geodec_trace_observe;
    slots.observe_ctx = w;
    GEODEC_TRY(geodec_slots_create(&slots, &s, err));
    for (int64_t pass = 0; pass < o->passes; pass++) {
        geodec_slots_pass(s);
        for (int32_t l = 0; l < L; l++) {
            geodec_rng r =
                geodec_rng_stream(o->seed, geodec_rng_id("traffic", (uint64_t)pass * (uint64_t)L + (uint64_t)l));
            run_visit(&f, s, l, &r);
        }
    }
    const geodec_slots_counters c = geodec_slots_counted(s);
    const geodec_trace_totals totals = {.slots = c, .rows = o->passes, .bytes = c.demand_reads * o->blob};
    geodec_trace_writer *const whole = w;
    w = NULL;
    GEODEC_TRY(geodec_trace_commit(whole, &totals, err));
done:
    geodec_trace_abandon(w);
    geodec_slots_destroy(s);
    GEODEC_FREE(f.sum, f.order, f.expert, f.slot, f.drawn, blob);
    return st;
}
