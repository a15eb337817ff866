#include "chain/field_needs.h"

#include "artifact/binding.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/pilot.h"

#include <string.h>

/* The control of a stage takes a part of the budget, because it is a small part of the work. */
static const double control_share = 0.3;

static void add_size(geodec_needs *needs, const geodec_size *size)
{
    geodec_needs_memory(needs, "results", (double)size->fields);
}

/* Items of a slice. */
static geodec_status slice(geodec_shard shard, int64_t all, int64_t *first, int64_t *count, geodec_err *err)
{
    int64_t end;
    *count = 0;
    GEODEC_PASS(geodec_shard_range(shard, all, first, &end, err));
    *count = end - *first;
    return GEODEC_OK;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

typedef struct symbols {
    const geodec_space *s;
    int64_t points;
    const double *x;
    geodec_christoffel_options o;
    bool control; /* at every item */
    geodec_pool *pool;
    const geodec_hooks *hooks;
} symbols;

static geodec_status symbols_trial(void *ctx, int64_t items, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const symbols *p = ctx;
    geodec_christoffel_options o = p->o;
    geodec_christoffel c = {0};
    double *x = NULL, *table = NULL;
    const int64_t n = p->s->n, n3 = n * n * n;
    GEODEC_NEW(x, items * n);
    if (o.table) GEODEC_NEW(table, items * n3);
    for (int64_t i = 0; i < items; i++) {
        const int64_t from = i * p->points / items;
        memcpy(x + i * n, p->x + from * n, (size_t)n * sizeof *x);
        if (table) memcpy(table + i * n3, o.table + from * n3, (size_t)n3 * sizeof *table);
    }
    o.table = table;
    o.shard = (geodec_shard){0, 0};
    o.control = p->control ? items : 1;
    GEODEC_TRY(geodec_christoffel_compute(p->s, items, x, &o, p->pool, p->hooks, &c, err));
done:
    geodec_christoffel_clear(&c);
    GEODEC_FREE(x, table);
    return st;
}

geodec_status geodec_christoffel_needs(const geodec_space *s, int64_t points, const double *x,
                                       const geodec_christoffel_options *o, double budget, geodec_pool *pool,
                                       const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                       geodec_err *err)
{
    symbols p = {.s = s, .points = points, .x = x, .o = *o, .pool = pool, .hooks = hooks};
    geodec_pilot plain, both;
    int64_t first = 0, count = 0;
    GEODEC_PASS(slice(o->shard, points, &first, &count, err));
    const int64_t controls = geodec__min(o->control, points) * count / points;
    const geodec_size_dim dims[] = {{"M", count}, {"n", s->n}, {"C", controls}};
    GEODEC_PASS(geodec_size_of(&geodec_christoffel_kind, 3, dims, NULL, size, err));
    GEODEC_PASS(
        geodec_pilot_run(symbols_trial, &p, geodec__min(4, points), points, (1 - control_share) * budget, &plain, err));
    p.control = true;
    GEODEC_PASS(geodec_pilot_run(symbols_trial, &p, geodec__min(4, points), geodec__min(64, points),
                                 control_share * budget, &both, err));
    const double control = both.item > plain.item ? both.item - plain.item : 0;
    geodec_needs_size(needs, "points", (double)count);
    geodec_needs_size(needs, "dimension", (double)s->n);
    geodec_needs_size(needs, "controls", (double)controls);
    geodec_needs_size(needs, "pilot_points", (double)plain.items);
    add_size(needs, size);
    geodec_needs_time(needs, "points", plain.fixed, plain.item * (double)count);
    geodec_needs_time(needs, "controls", 0, control * (double)controls);
    return GEODEC_OK;
}

/* ---- curvature --------------------------------------------------------------------------------------------------- */

typedef struct curvature {
    const geodec_metric *metric;
    const geodec_space *s;
    geodec_riemann_options o;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} curvature;

static geodec_status curvature_trial(void *ctx, int64_t items, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const curvature *p = ctx;
    geodec_riemann_options o = p->o;
    geodec_riemann r = {0};
    o.shard = (geodec_shard){0, 0};
    o.given = geodec__min(o.given, items);
    o.samples = o.midpoints = items; /* twice as many points */
    o.control = 0;
    GEODEC_TRY(geodec_riemann_compute(p->metric, p->s, NULL, &o, p->pool, p->hooks, &r, err));
done:
    geodec_riemann_clear(&r);
    return st;
}

geodec_status geodec_riemann_needs(const geodec_metric *metric, const geodec_space *s, const geodec_geodesics *paths,
                                   const geodec_riemann_options *o, double budget, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size, geodec_err *err)
{
    curvature p = {.metric = metric, .s = s, .o = *o, .pool = pool, .hooks = hooks};
    geodec_pilot pilot;
    const int64_t n = s->n, samples = o->samples > 0 ? geodec__min(o->samples, metric->points) : metric->points;
    const int64_t edges = geodec__min(o->midpoints, samples);
    int64_t all = o->x ? o->given : samples + edges, first = 0, count = 0;
    for (int64_t i = 0; paths && i < paths->paths; i++) all += paths->good[i] > paths->good[i] / 2 ? 2 : 1;
    GEODEC_PASS(slice(o->shard, all, &first, &count, err));
    const geodec_size_dim dims[] = {{"Q", count}, {"n", n}};
    GEODEC_PASS(geodec_size_of(&geodec_riemann_kind, 2, dims, o->tensors ? "/riemann" : NULL, size, err));
    const int64_t most = o->x ? o->given : metric->points, each = o->x ? 1 : 2;
    if (most < 1) GEODEC_FAIL(GEODEC_RANGE, "curvature at %lld points", (long long)most);
    GEODEC_PASS(geodec_pilot_run(curvature_trial, &p, geodec__min(2, most), most, budget, &pilot, err));
    geodec_needs_size(needs, "points", (double)count);
    geodec_needs_size(needs, "dimension", (double)n);
    geodec_needs_size(needs, "pilot_points", (double)(each * pilot.items));
    /* the numbers of the file that are rows of invariants are in memory as rows */
    const double rows = (double)count * ((double)sizeof(geodec_curvature_invariants) - 8 * 8);
    geodec_needs_memory(needs, "results", (double)size->fields + (rows > 0 ? rows : 0));
    geodec_needs_time(needs, "points", pilot.fixed, pilot.item * (double)count / (double)each);
    if (o->control > 0 && !o->x && metric->kind == GEODEC_METRIC_MAHALANOBIS) { /* at fewer sites */
        const double sites = (double)geodec_riemann_noise_sites(metric) / (double)metric->points;
        const double controls = (double)(o->control + geodec__min(o->midpoints, o->control));
        geodec_needs_size(needs, "controls", controls);
        geodec_needs_time(needs, "controls", 0, pilot.item * controls * sites / (double)each);
    }
    return GEODEC_OK;
}

/* ---- geodesics --------------------------------------------------------------------------------------------------- */

typedef struct paths {
    const geodec_metric *metric;
    const geodec_space *s;
    const geodec_artifact *file;
    geodec_geodesics_options o;
    bool control;
    geodec_pool *pool;
    const geodec_hooks *hooks;
    int64_t made; /* paths of the last trial */
} paths;

static geodec_status paths_trial(void *ctx, int64_t items, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    paths *p = ctx;
    geodec_geodesics_options o = p->o;
    geodec_geodesics g = {0};
    o.shard = (geodec_shard){0, 0};
    o.paths = items;
    o.control = p->control ? items : 0;
    GEODEC_TRY(geodec_geodesics_compute(p->metric, p->s, p->file, &o, p->pool, p->hooks, &g, err));
    p->made = g.paths;
done:
    geodec_geodesics_clear(&g);
    return st;
}

/* The number of paths of all slices: starts that have a successor are only known from the file. */
static geodec_status count_paths(const geodec_metric *m, const geodec_artifact *file, const geodec_geodesics_options *o,
                                 int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *sequence = NULL, *position = NULL;
    int64_t able = o->velocity == GEODEC_VELOCITY_GIVEN ? o->starts : m->points;
    if (o->velocity == GEODEC_VELOCITY_SEQUENCE && geodec_artifact_has(file, "/sequence") &&
        geodec_artifact_has(file, "/position")) {
        GEODEC_TRY(geodec_artifact_read(file, "/sequence", &sequence, err));
        GEODEC_TRY(geodec_artifact_read(file, "/position", &position, err));
        able = 0;
        for (int64_t i = 1; i < m->points; i++)
            able += sequence[i] == sequence[i - 1] && (int64_t)position[i] == (int64_t)position[i - 1] + 1;
    }
    *count = o->paths > 0 ? geodec__min(o->paths, able) : able;
done:
    GEODEC_FREE(sequence, position);
    return st;
}

geodec_status geodec_geodesics_needs(const geodec_metric *metric, const geodec_space *s,
                                     const geodec_artifact *metric_file, const geodec_geodesics_options *o,
                                     double budget, geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs,
                                     geodec_size *size, geodec_err *err)
{
    paths p = {.metric = metric, .s = s, .file = metric_file, .o = *o, .pool = pool, .hooks = hooks};
    geodec_pilot plain, both = {0};
    int64_t all, first = 0, count = 0;
    GEODEC_PASS(count_paths(metric, metric_file, o, &all, err));
    if (all < 1) return paths_trial(&p, 1, err); /* the stage says why */
    GEODEC_PASS(slice(o->shard, all, &first, &count, err));
    const geodec_size_dim dims[] = {{"P", count}, {"S", o->path.steps + 1}, {"n", s->n}};
    GEODEC_PASS(geodec_size_of(&geodec_geodesics_kind, 3, dims, NULL, size, err));
    const int64_t controls = o->control > first ? geodec__min(o->control - first, count) : 0;
    GEODEC_PASS(geodec_pilot_run(paths_trial, &p, geodec__min(4, all), all,
                                 controls > 0 ? (1 - control_share) * budget : budget, &plain, err));
    p.control = true;
    if (controls > 0)
        GEODEC_PASS(geodec_pilot_run(paths_trial, &p, geodec__min(2, all), geodec__min(16, all), control_share * budget,
                                     &both, err));
    const double control = both.item > plain.item ? both.item - plain.item : 0;
    geodec_needs_size(needs, "paths", (double)count);
    geodec_needs_size(needs, "steps", (double)o->path.steps);
    geodec_needs_size(needs, "dimension", (double)s->n);
    geodec_needs_size(needs, "controls", (double)controls);
    geodec_needs_size(needs, "pilot_paths", (double)plain.items);
    add_size(needs, size);
    geodec_needs_time(needs, "paths", plain.fixed, plain.item * (double)count);
    geodec_needs_time(needs, "controls", 0, control * (double)controls);
    return GEODEC_OK;
}

geodec_status geodec_geodesics_some(const geodec_geodesics *all, int64_t count, geodec_geodesics *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesics g = {.paths = count,
                          .nodes = all->nodes,
                          .n = all->n,
                          .dl = all->dl,
                          .velocity = all->velocity,
                          .options = all->options,
                          .hull_radius = all->hull_radius};
    const int64_t row = all->nodes * all->n;
    GEODEC_TRY(geodec_artifact_reserve(&geodec_geodesics_kind, &g, err));
    for (int64_t i = 0; i < count; i++) {
        const int64_t p = i * all->paths / count;
        memcpy(g.x + i * row, all->x + p * row, (size_t)row * sizeof *g.x);
        memcpy(g.v + i * row, all->v + p * row, (size_t)row * sizeof *g.v);
        if (all->speed2) /* propagators are stored without */
            memcpy(g.speed2 + i * g.nodes, all->speed2 + p * g.nodes, (size_t)g.nodes * sizeof *g.speed2);
        if (all->drift) g.drift[i] = all->drift[p];
        g.status[i] = all->status[p];
        g.good[i] = all->good[p];
        g.point[i] = all->point[p];
        g.next[i] = all->next[p];
        g.activation_row[i] = all->activation_row[p];
        g.next_row[i] = all->next_row[p];
    }
    GEODEC_MOVE(*out, g);
done:
    geodec_geodesics_clear(&g);
    return st;
}

/* ---- propagators ------------------------------------------------------------------------------------------------- */

typedef struct flows {
    const geodec_space *s;
    const geodec_geodesics *all;
    geodec_propagators_options o;
    bool control;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} flows;

static geodec_status flows_trial(void *ctx, int64_t items, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const flows *p = ctx;
    geodec_propagators_options o = p->o;
    geodec_geodesics g = {0};
    geodec_propagators r = {0};
    o.shard = (geodec_shard){0, 0};
    o.control = p->control ? items : 0;
    GEODEC_TRY(geodec_geodesics_some(p->all, items, &g, err));
    GEODEC_TRY(geodec_propagators_compute(p->s, &g, &o, p->pool, p->hooks, &r, err));
done:
    geodec_geodesics_clear(&g);
    geodec_propagators_clear(&r);
    return st;
}

geodec_status geodec_propagators_needs(const geodec_space *s, const geodec_geodesics *g,
                                       const geodec_propagators_options *o, double budget, geodec_pool *pool,
                                       const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                       geodec_err *err)
{
    flows p = {.s = s, .all = g, .o = *o, .pool = pool, .hooks = hooks};
    geodec_pilot plain, both = {0};
    int64_t first = 0, count = 0;
    GEODEC_PASS(slice(o->shard, g->paths, &first, &count, err));
    const int64_t controls = geodec__min(o->control, g->paths) * count / g->paths;
    const geodec_size_dim dims[] = {{"P", count}, {"S", g->nodes}, {"n", g->n}, {"m", 2 * g->n}, {"C", controls}};
    GEODEC_PASS(geodec_size_of(&geodec_propagators_kind, 5, dims,
                               o->flow ? "/flow /symplectic /volume /norm" : "/symplectic /volume /norm", size, err));
    GEODEC_PASS(geodec_pilot_run(flows_trial, &p, geodec__min(4, g->paths), g->paths,
                                 controls > 0 ? (1 - control_share) * budget : budget, &plain, err));
    p.control = true;
    if (controls > 0)
        GEODEC_PASS(geodec_pilot_run(flows_trial, &p, geodec__min(2, g->paths), geodec__min(16, g->paths),
                                     control_share * budget, &both, err));
    const double control = both.item > plain.item ? both.item - plain.item : 0;
    geodec_needs_size(needs, "paths", (double)count);
    geodec_needs_size(needs, "steps", (double)(g->nodes - 1));
    geodec_needs_size(needs, "dimension", (double)g->n);
    geodec_needs_size(needs, "controls", (double)controls);
    geodec_needs_size(needs, "pilot_paths", (double)plain.items);
    /* the paths are an input, which is in memory already */
    const double own = (double)(count * g->nodes * g->n * 2 * (int64_t)sizeof(double));
    geodec_needs_memory(needs, "results", (double)size->fields - own);
    geodec_needs_time(needs, "paths", plain.fixed, plain.item * (double)count);
    geodec_needs_time(needs, "controls", 0, control * (double)controls);
    return GEODEC_OK;
}
