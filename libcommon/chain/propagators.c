#include "chain/propagators.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/svd.h"

#include <math.h>
#include <string.h>

geodec_propagators_options geodec_propagators_defaults(void)
{
    return (geodec_propagators_options){.propagate = geodec_propagate_defaults(), .control = 4, .check = 1e-3};
}

/* A path whose speed drifted is no geodesic: its step is too long, and differences of the flow would only repeat that.
 * A rule other than the flow's own is compared on every path. */
static bool resolved(const geodec_geodesics *g, bool rule, int64_t i)
{
    return g->status[i] != GEODEC_PATH_NONFINITE && (rule || g->status[i] != GEODEC_PATH_DRIFT);
}

/* The resolved paths of the control, evenly spread over all; kept are those in first .. end-1. */
static void choose_controls(const geodec_geodesics *g, bool rule, geodec_propagators *p, int64_t wanted, int64_t first,
                            int64_t end)
{
    int64_t sound = 0, seen = 0, chosen = 0;
    for (int64_t i = 0; i < g->paths; i++) sound += resolved(g, rule, i);
    const int64_t count = wanted < sound ? wanted : sound;
    for (int64_t i = 0; i < g->paths && chosen < count; i++) {
        if (!resolved(g, rule, i) || seen++ != chosen * sound / count) continue;
        chosen++;
        if (i >= first && i < end) p->control_path[p->controls++] = (int32_t)i;
    }
}

typedef struct control {
    const geodec_space *s;
    const geodec_geodesics *g;
    const geodec_propagators_options *o;
    geodec_propagators *p;
    int64_t first;
} control;

static geodec_status control_task(void *ctx, int64_t c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const control *k = ctx;
    const int64_t n = k->g->n, nn = n * n, S = k->g->nodes, path = k->p->control_path[c] - k->first;
    double *other = NULL;
    GEODEC_NEW(other, 3 * nn);
    double *gap = other + nn, *half = gap + nn;
    const double *x0 = k->g->x + path * S * n, *v0 = k->g->v + path * S * n;
    const double *phi = k->p->phi + (path * S + S - 1) * nn;
    GEODEC_TRY(geodec_propagate_by_differences(k->s, &k->g->options, x0, v0, 0, other, err));
    for (int64_t i = 0; i < nn; i++) gap[i] = other[i] - phi[i];
    k->p->control_gap[c] = geodec__largest(nn, gap);
    if (!(k->p->control_gap[c] > k->o->check)) goto done;
    geodec_geodesic_options finer = k->g->options;
    finer.steps *= 2;
    finer.dl /= 2;
    GEODEC_TRY(geodec_propagate_by_differences(k->s, &finer, x0, v0, 0, half, err));
    for (int64_t i = 0; i < nn; i++) half[i] -= other[i];
    k->p->control_step[c] = geodec__largest(nn, half);
done:
    geodec_mem_free(other);
    return st;
}

typedef struct sound_paths {
    const geodec_space *s;
    const geodec_propagators_options *o;
    const geodec_geodesics *g;
    geodec_propagators *p;
} sound_paths;

/* Propagators of one path. A broken one keeps its start, and the identity there. */
static geodec_status path_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const sound_paths *k = ctx;
    const geodec_geodesics *g = k->g;
    const int64_t S = g->nodes, n = g->n, nn = n * n;
    const double *xs = g->x + i * S * n, *vs = g->v + i * S * n;
    double *phi = k->p->phi + i * S * nn, *flow = k->p->flow ? k->p->flow + i * S * 4 * nn : NULL;
    GEODEC_TRY(geodec_propagate_path(k->s, &k->o->propagate, S - 1, g->dl, g->good[i], xs, vs, phi, flow,
                                     &k->p->report[i], err));
    if (k->p->report[i].broken) {
        g->status[i] = GEODEC_PATH_NONFINITE;
        g->good[i] = 0;
    }
done:
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
    int64_t first, end;
    if (s->n != n)
        GEODEC_THROW(GEODEC_FORMAT, "paths of dimension %lld in a metric of dimension %d", (long long)n, (int)s->n);
    if (o->control < 0) GEODEC_THROW(GEODEC_RANGE, "%lld paths in the control", (long long)o->control);
    if (o->rule && o->flow) GEODEC_THROW(GEODEC_UNSUPPORTED, "the rule '%s' has no flow", o->rule_name);
    if (o->rule) p.rule = o->rule_name;
    GEODEC_TRY(geodec_shard_range(o->shard, g->paths, &first, &end, err));
    GEODEC_NEW(p.control_path, o->control);
    choose_controls(g, o->rule != NULL, &p, o->control, first, end);
    geodec_geodesics_keep(paths, first, end);
    const int64_t P = g->paths;
    GEODEC_NEW(p.phi, P * S * nn);
    GEODEC_NEW(p.singular, P * n);
    GEODEC_NEW(p.report, P);
    GEODEC_NEW(p.control_gap, o->control);
    GEODEC_NEW(p.control_step, o->control);
    if (o->flow) GEODEC_NEW(p.flow, P * S * 4 * nn);
    if (o->rule) {
        by_rule r = {o, g, p.phi};
        GEODEC_TRY(geodec__tasks_run(pool, hooks, "propagator of path", P, rule_task, &r, err));
    } else {
        sound_paths r = {s, o, g, &p};
        GEODEC_TRY(geodec__tasks_run(pool, hooks, "propagators", P, path_task, &r, err));
    }
    for (int64_t i = 0; i < P; i++)
        GEODEC_TRY(geodec_svd_values(n, n, p.phi + (i * S + S - 1) * nn, p.singular + i * n, err));
    control k = {s, g, o, &p, first};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "control by differences", p.controls, control_task, &k, err));
    p.paths = *paths;
    *paths = (geodec_geodesics){0};
    *out = p;
    p = (geodec_propagators){0};
done:
    geodec_propagators_clear(&p);
    return st;
}
