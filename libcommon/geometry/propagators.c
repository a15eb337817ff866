#include "geometry/propagators.h"

#include "base/mem.h"
#include "geometry/tasks.h"
#include "geometry/vec.h"
#include "linalg/svd.h"

#include <math.h>
#include <string.h>

geodec_propagators_options geodec_propagators_defaults(void)
{
    return (geodec_propagators_options){.propagate = geodec_propagate_defaults(), .control = 4};
}

void geodec_propagators_clear(geodec_propagators *p)
{
    geodec_geodesics_clear(&p->paths);
    geodec_mem_free(p->phi);
    geodec_mem_free(p->flow);
    geodec_mem_free(p->singular);
    geodec_mem_free(p->report);
    geodec_mem_free(p->control_path);
    geodec_mem_free(p->control_gap);
    *p = (geodec_propagators){0};
}

/* The unbroken paths of the control, evenly spread over all; kept are those in first .. end-1. */
static void choose_controls(const geodec_geodesics *g, geodec_propagators *p, int64_t wanted, int64_t first,
                            int64_t end)
{
    int64_t sound = 0, seen = 0, chosen = 0;
    for (int64_t i = 0; i < g->paths; i++) sound += g->status[i] != GEODEC_PATH_NONFINITE;
    const int64_t count = wanted < sound ? wanted : sound;
    for (int64_t i = 0; i < g->paths && chosen < count; i++) {
        if (g->status[i] == GEODEC_PATH_NONFINITE || seen++ != chosen * sound / count) continue;
        chosen++;
        if (i >= first && i < end) p->control_path[p->controls++] = (int32_t)i;
    }
}

typedef struct control {
    const geodec_space *s;
    const geodec_geodesics *g;
    geodec_propagators *p;
    int64_t first;
} control;

static geodec_status control_task(void *ctx, int64_t c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const control *k = ctx;
    const int64_t n = k->g->n, nn = n * n, S = k->g->nodes, path = k->p->control_path[c] - k->first;
    double *other = NULL;
    GEODEC_NEW(other, nn);
    GEODEC_TRY(geodec_propagate_by_differences(k->s, &k->g->options, k->g->x + path * S * n, k->g->v + path * S * n, 0,
                                               other, err));
    const double *phi = k->p->phi + (path * S + S - 1) * nn;
    for (int64_t i = 0; i < nn; i++) other[i] -= phi[i];
    k->p->control_gap[c] = geodec__largest(nn, other);
done:
    geodec_mem_free(other);
    return st;
}

typedef struct by_rule {
    const geodec_propagators_options *o;
    const geodec_geodesics *g;
    double *phi;
} by_rule;

static geodec_status rule_task(void *ctx, int64_t path, geodec_err *err)
{
    const by_rule *r = ctx;
    const int64_t S = r->g->nodes, n = r->g->n;
    return r->o->rule(r->o->rule_ctx, S - 1, r->g->dl, r->g->x + path * S * n, r->g->v + path * S * n,
                      r->phi + path * S * n * n, err);
}

geodec_status geodec_propagators_compute(const geodec_space *s, geodec_geodesics *paths,
                                         const geodec_propagators_options *o, geodec_pool *pool,
                                         const geodec_hooks *hooks, geodec_propagators *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_propagators p = {.options = o->propagate};
    const geodec_geodesics *g = paths;
    const int64_t S = g->nodes, n = g->n, nn = n * n;
    int64_t *good = NULL, first, end;
    if (s->n != n)
        GEODEC_THROW(GEODEC_FORMAT, "paths of dimension %lld in a metric of dimension %d", (long long)n, (int)s->n);
    if (o->control < 0) GEODEC_THROW(GEODEC_RANGE, "%lld paths in the control", (long long)o->control);
    if (o->rule && o->flow) GEODEC_THROW(GEODEC_UNSUPPORTED, "the rule '%s' has no flow", o->rule_name);
    if (o->rule) p.rule = o->rule_name;
    GEODEC_TRY(geodec_shard_range(o->shard, g->paths, &first, &end, err));
    GEODEC_NEW(p.control_path, o->control);
    choose_controls(g, &p, o->control, first, end);
    geodec_geodesics_keep(paths, first, end);
    const int64_t P = g->paths;
    GEODEC_NEW(good, P);
    GEODEC_NEW(p.phi, P * S * nn);
    GEODEC_NEW(p.singular, P * n);
    GEODEC_NEW(p.report, P);
    GEODEC_NEW(p.control_gap, o->control);
    if (o->flow) GEODEC_NEW(p.flow, P * S * 4 * nn);
    for (int64_t i = 0; i < P; i++) good[i] = g->good[i];
    if (o->rule) {
        by_rule r = {o, g, p.phi};
        GEODEC_TRY(geodec__tasks_run(pool, hooks, "propagator of path", P, rule_task, &r, err));
    } else {
        GEODEC_TRY(geodec_propagate_batch(s, &o->propagate, pool, hooks, P, S - 1, g->dl, good, g->x, g->v, p.phi,
                                          p.flow, p.report, err));
    }
    for (int64_t i = 0; i < P; i++)
        GEODEC_TRY(geodec_svd_values(n, n, p.phi + (i * S + S - 1) * nn, p.singular + i * n, err));
    control k = {s, g, &p, first};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "control by differences", p.controls, control_task, &k, err));
    p.paths = *paths;
    *paths = (geodec_geodesics){0};
    *out = p;
    p = (geodec_propagators){0};
done:
    geodec_mem_free(good);
    geodec_propagators_clear(&p);
    return st;
}
