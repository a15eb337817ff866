#include "records/records_needs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pilot.h"
#include "chain/field_needs.h"
#include "records/lookup.h"

#include <string.h>

enum { QUERIES = 32, FEW = 8 /* records of the shorter lookup */ };

typedef struct trial {
    const geodec_propagators *all;
    const geodec_space *s;
    const geodec_artifact *activations;
    const geodec_records_options *o;
    geodec_pool *pool;
    const geodec_hooks *hooks;
    geodec_records last; /* of the last trial */
} trial;

/* Propagators of some paths. */
static geodec_status some(const geodec_propagators *all, int64_t items, geodec_propagators *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_propagators p = {.options = all->options, .rule = all->rule};
    const geodec_geodesics *g = &all->paths;
    const int64_t size = g->nodes * g->n * g->n;
    GEODEC_TRY(geodec_geodesics_some(g, items, &p.paths, err));
    GEODEC_NEW(p.phi, items * size);
    GEODEC_NEW(p.singular, items * g->n);
    GEODEC_NEW(p.report, items);
    for (int64_t i = 0; i < items; i++)
        memcpy(p.phi + i * size, all->phi + i * g->paths / items * size, (size_t)size * sizeof *p.phi);
    GEODEC_MOVE(*out, p);
done:
    geodec_propagators_clear(&p);
    return st;
}

static geodec_status make(void *ctx, int64_t items, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    trial *t = ctx;
    geodec_propagators p = {0};
    geodec_records_clear(&t->last);
    GEODEC_TRY(some(t->all, items, &p, err));
    GEODEC_TRY(geodec_records_compute(&p, t->s, t->activations, t->o, t->pool, t->hooks, &t->last, err));
done:
    geodec_propagators_clear(&p);
    return st;
}

/* Processor seconds of a lookup among r. */
static geodec_status time_lookup(const trial *t, const geodec_records *r, int64_t count, const double *x,
                                 double *seconds, geodec_err *err)
{
    geodec_lookup_trial ignored;
    const double begin = geodec_clock_process_seconds();
    GEODEC_PASS(geodec_lookup_try(r, t->s, count, x, t->pool, t->hooks, &ignored, err));
    *seconds = (geodec_clock_process_seconds() - begin) / (double)count;
    return GEODEC_OK;
}

geodec_status geodec_records_needs(const geodec_propagators *p, const geodec_space *s,
                                   const geodec_artifact *activations, const geodec_records_options *o, int64_t count,
                                   const double *x, double budget, geodec_pool *pool, const geodec_hooks *hooks,
                                   geodec_needs *needs, double *bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    trial t = {.all = p, .s = s, .activations = activations, .o = o, .pool = pool, .hooks = hooks};
    const int64_t paths = p->paths.paths, queries = count < QUERIES ? count : QUERIES;
    double few = 0, many = 0;
    geodec_pilot pilot;
    GEODEC_TRY(geodec_pilot_run(make, &t, paths < 4 ? paths : 4, paths, budget, &pilot, err));
    int64_t ok = 0;
    for (int64_t i = 0; i < paths; i++) ok += p->paths.status[i] == GEODEC_PATH_OK;
    const double records = (double)ok, each = (double)geodec_records_bytes(&t.last) / (double)t.last.records;
    const int64_t made = t.last.records;
    if (queries > 0) {
        GEODEC_TRY(time_lookup(&t, &t.last, queries, x, &many, err));
        t.last.records = made < FEW ? made : FEW;
        GEODEC_TRY(time_lookup(&t, &t.last, queries, x, &few, err));
    }
    const double record = made > t.last.records && many > few ? (many - few) / (double)(made - t.last.records) : 0;
    t.last.records = made;
    *bytes = each * records;
    geodec_needs_size(needs, "records", records);
    geodec_needs_size(needs, "dimension", s->n);
    geodec_needs_size(needs, "queries", (double)count);
    geodec_needs_size(needs, "pilot_paths", (double)pilot.items);
    geodec_needs_memory(needs, "results", *bytes);
    geodec_needs_time(needs, "records", pilot.fixed, pilot.item * (double)paths);
    geodec_needs_time(needs, "lookups", 0, (double)count * (many + record * (records - (double)made)));
done:
    geodec_records_clear(&t.last);
    return st;
}
