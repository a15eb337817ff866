#include "chain/geodesics.h"

#include "artifact/binding.h"
#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/validity.h"
#include "geometry/space_closed.h"
#include "linalg/knn.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

geodec_geodesics_options geodec_geodesics_defaults(void)
{
    return (geodec_geodesics_options){
        .paths = 64, .velocity = GEODEC_VELOCITY_SEQUENCE, .path = geodec_geodesic_defaults(), .control = 4, .seed = 1};
}

/* ---- starts ----------------------------------------------------------------------------------------------------- */

/* next [points]: the point one position later in the same sequence, -1 when it is not in the cloud. Points are in text
 * order (the cloud keeps it), so it can only be the next one. */
static geodec_status successors(const geodec_artifact *file, int64_t points, int32_t *next, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *sequence = NULL, *position = NULL;
    if (!geodec_artifact_has(file, "/sequence") || !geodec_artifact_has(file, "/position")) {
        GEODEC_THROW(GEODEC_NOTFOUND, "%s has no positions of its points in the text; --v0 random needs none",
                     geodec_artifact_path(file));
    }
    GEODEC_TRY(geodec_artifact_read(file, "/sequence", &sequence, err));
    GEODEC_TRY(geodec_artifact_read(file, "/position", &position, err));
    for (int64_t i = 1; i < points; i++) {
        if (sequence[i - 1] == sequence[i] ? position[i - 1] >= position[i] : sequence[i - 1] > sequence[i])
            GEODEC_THROW(GEODEC_FORMAT, "%s: points are not in text order", geodec_artifact_path(file));
    }
    for (int64_t i = 0; i < points; i++) {
        const bool follows =
            i + 1 < points && sequence[i + 1] == sequence[i] && (int64_t)position[i + 1] == (int64_t)position[i] + 1;
        next[i] = follows ? (int32_t)(i + 1) : -1;
    }
done:
    GEODEC_FREE(sequence, position);
    return st;
}

/* Finds the points nearest to the given starts: sets g->paths, g->point, g->next; *first is the index of the first path
 * of the slice. */
static geodec_status given_starts(const geodec_metric *m, const geodec_geodesics_options *o, geodec_geodesics *g,
                                  int64_t *first, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *d2 = NULL;
    const int64_t all = o->paths > 0 && o->paths < o->starts ? o->paths : o->starts;
    int64_t end;
    if (all < 1) GEODEC_THROW(GEODEC_RANGE, "no starts are given");
    GEODEC_TRY(geodec_shard_range(o->shard, all, first, &end, err));
    g->paths = end - *first;
    GEODEC_TRY(geodec_artifact_reserve(&geodec_geodesics_kind, g, err));
    GEODEC_NEW(d2, g->paths);
    GEODEC_TRY(geodec_knn_search(m->points, m->n, m->point, g->paths, o->x0 + *first * m->n, 1, g->point, d2, NULL,
                                 NULL, err));
    for (int64_t p = 0; p < g->paths; p++) g->next[p] = -1;
done:
    geodec_mem_free(d2);
    return st;
}

/* Chooses the starts of paths that begin at points of the metric. */
static geodec_status choose_starts(const geodec_metric *m, const geodec_artifact *file,
                                   const geodec_geodesics_options *o, geodec_geodesics *g, int64_t *first,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *next = NULL;
    int64_t *able = NULL, *chosen = NULL, count = 0;
    if (o->velocity == GEODEC_VELOCITY_GIVEN) return given_starts(m, o, g, first, err);
    GEODEC_NEW_EACH(m->points, next, able);
    if (o->velocity == GEODEC_VELOCITY_SEQUENCE)
        GEODEC_TRY(successors(file, m->points, next, err));
    else
        for (int64_t i = 0; i < m->points; i++) next[i] = -1;
    for (int64_t i = 0; i < m->points; i++)
        if (o->velocity == GEODEC_VELOCITY_RANDOM || next[i] >= 0) able[count++] = i;
    if (count == 0) {
        GEODEC_THROW(GEODEC_SCARCE,
                     "no point of %lld has its successor in the text among the points; paths along the text need one, "
                     "--v0 random none",
                     (long long)m->points);
    }
    const int64_t all = o->paths > 0 && o->paths < count ? o->paths : count;
    int64_t end;
    GEODEC_NEW(chosen, all);
    GEODEC_TRY(geodec__choose_subset(o->seed, geodec_rng_id("geodesic starts", 0), count, all, chosen, err));
    GEODEC_TRY(geodec_shard_range(o->shard, all, first, &end, err));
    g->paths = end - *first;
    GEODEC_TRY(geodec_artifact_reserve(&geodec_geodesics_kind, g, err));
    for (int64_t p = 0; p < g->paths; p++) {
        g->point[p] = (int32_t)able[chosen[*first + p]];
        g->next[p] = next[g->point[p]];
    }
done:
    GEODEC_FREE(next, able, chosen);
    return st;
}

static geodec_status rows_of(const geodec_artifact *file, geodec_geodesics *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *row = NULL;
    GEODEC_TRY(geodec_artifact_read(file, "/activation_row", &row, err));
    for (int64_t p = 0; p < g->paths; p++) {
        g->activation_row[p] = row[g->point[p]];
        g->next_row[p] = g->next[p] >= 0 ? row[g->next[p]] : -1;
    }
done:
    geodec_mem_free(row);
    return st;
}

/* x0, v0 [paths][n]: unit speed. */
static geodec_status initial_states(const geodec_metric *m, const geodec_space *s, const geodec_geodesics_options *o,
                                    const geodec_geodesics *g, int64_t first, double *x0, double *v0, geodec_err *err)
{
    const int64_t n = m->n;
    if (o->velocity == GEODEC_VELOCITY_GIVEN) {
        memcpy(x0, o->x0 + first * n, (size_t)(g->paths * n) * sizeof *x0);
        memcpy(v0, o->v0 + first * n, (size_t)(g->paths * n) * sizeof *v0);
        return GEODEC_OK;
    }
    for (int64_t p = 0; p < g->paths; p++) {
        const double *x = m->point + g->point[p] * n;
        double *v = v0 + p * n;
        memcpy(x0 + p * n, x, (size_t)n * sizeof *x);
        if (g->next[p] < 0) {
            const uint64_t stream = geodec_rng_id("geodesic velocity", (uint64_t)g->point[p]);
            GEODEC_PASS(geodec_validity_direction(s, x, o->seed, stream, v, err));
            continue;
        }
        const double *to = m->point + g->next[p] * n;
        for (int64_t i = 0; i < n; i++) v[i] = to[i] - x[i];
        GEODEC_PASS_MSG(geodec_geodesic_unit(s, x, v, err), "point %d and its successor", (int)g->point[p]);
    }
    return GEODEC_OK;
}

/* ---- hull ------------------------------------------------------------------------------------------------------- */

typedef struct hull {
    const geodec_metric *metric;
    double radius2;
} hull;

static geodec_status inside_hull(const void *ctx, const double *x, bool *inside, geodec_err *err)
{
    const hull *h = ctx;
    const int64_t n = h->metric->n;
    (void)err;
    *inside = false;
    for (int64_t p = 0; p < h->metric->points && !*inside; p++) {
        const double *y = h->metric->point + p * n;
        double d2 = 0;
        for (int64_t i = 0; i < n; i++) d2 += (x[i] - y[i]) * (x[i] - y[i]);
        *inside = d2 <= h->radius2;
    }
    return GEODEC_OK;
}

static geodec_status hull_radius(const geodec_metric *m, double *radius, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *d = NULL;
    GEODEC_NEW(d, m->points);
    for (int64_t i = 0; i < m->points; i++) d[i] = m->knn_distance[i * m->k + m->k - 1];
    geodec_stats_sort(m->points, d);
    *radius = geodec_stats_percentile(m->points, d, 0.95);
done:
    geodec_mem_free(d);
    return st;
}

/* ---- paths ------------------------------------------------------------------------------------------------------ */

/* Integrates the first `controls` paths again with the adaptive integrator at rtol 1e-9. */
static geodec_status refine(const geodec_space *s, int64_t controls, geodec_pool *pool, const geodec_hooks *hooks,
                            const double *x0, const double *v0, geodec_geodesics *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t count = controls < 0 ? 0 : controls < g->paths ? controls : g->paths, row = g->nodes * g->n;
    double *block = NULL;
    geodec_path_report *report = NULL;
    geodec_geodesic_options fine = g->options;
    fine.method = GEODEC_GEODESIC_ADAPTIVE;
    fine.rtol = 1e-9;
    fine.inside = NULL;
    g->control_paths = count;
    if (count == 0) goto done;
    GEODEC_NEW(block, 2 * count * row);
    GEODEC_NEW(report, count);
    GEODEC_TRY(geodec_geodesic_batch(s, &fine, pool, hooks, count, x0, v0, block, block + count * row, NULL, NULL,
                                     report, err));
    for (int64_t p = 0; p < count; p++) {
        const int64_t last = report[p].good < g->good[p] ? report[p].good : g->good[p];
        for (int64_t i = 0; i < (last + 1) * g->n; i++)
            g->refinement_error = fmax(g->refinement_error, fabs(block[p * row + i] - g->x[p * row + i]));
    }
done:
    GEODEC_FREE(block, report);
    return st;
}

geodec_status geodec_geodesics_compute(const geodec_metric *metric, const geodec_space *s,
                                       const geodec_artifact *metric_file, const geodec_geodesics_options *o,
                                       geodec_pool *pool, const geodec_hooks *hooks, geodec_geodesics *out,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesics g = {
        .nodes = o->path.steps + 1, .n = metric->n, .velocity = o->velocity, .options = o->path, .dl = o->path.dl};
    double *start = NULL;
    geodec_path_report *report = NULL;
    hull h = {.metric = metric};
    int64_t first;
    if (o->paths < 0 || o->control < 0 || o->path.steps < 1)
        GEODEC_THROW(GEODEC_RANGE, "%lld paths of %lld steps, %lld in the control", (long long)o->paths,
                     (long long)o->path.steps, (long long)o->control);
    GEODEC_TRY(choose_starts(metric, metric_file, o, &g, &first, err));
    GEODEC_TRY(rows_of(metric_file, &g, err));
    const int64_t P = g.paths, n = g.n;
    GEODEC_NEW(report, P);
    GEODEC_NEW(start, 2 * P * n);
    GEODEC_TRY(initial_states(metric, s, o, &g, first, start, start + P * n, err));
    if (o->hull_radius >= 0) {
        g.hull_radius = o->hull_radius;
        if (g.hull_radius == 0) GEODEC_TRY(hull_radius(metric, &g.hull_radius, err));
        h.radius2 = g.hull_radius * g.hull_radius;
        g.options.inside = inside_hull;
        g.options.inside_ctx = &h;
    }
    GEODEC_TRY(geodec_geodesic_batch(s, &g.options, pool, hooks, P, start, start + P * n, g.x, g.v, g.speed2, NULL,
                                     report, err));
    g.options.inside = NULL;
    g.options.inside_ctx = NULL;
    for (int64_t p = 0; p < P; p++) {
        g.drift[p] = report[p].drift;
        g.status[p] = (uint8_t)report[p].status;
        g.good[p] = (int32_t)report[p].good;
    }
    GEODEC_TRY(refine(s, o->control - first, pool, hooks, start, start + P * n, &g, err));
    *out = g;
done:
    if (st != GEODEC_OK) geodec_geodesics_clear(&g);
    GEODEC_FREE(start, report);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_geodesics, m)
#define IN(m) GEODEC_IN(geodec_geodesics, m)
static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "P,S,n", 0, "activation", "nodes of the path (principal coordinates)", 0, AT(x)},
    {"/v", GEODEC_F64, "P,S,n", 0, "activation", "dx/dt; g-unit at the start, so t is arc length", 0, AT(v)},
    {"/speed2", GEODEC_F64, "P,S", 0, "1", "g(v,v), constant on a geodesic", 0, AT(speed2)},
    {"/drift", GEODEC_F64, "P", 0, "1", "max |g(v,v) / g(v0,v0) - 1|", 0, AT(drift)},
    {"/status", GEODEC_U8, "P", 0, "1", "0 ok, 1 non-finite, 2 speed drift, 3 left hull", 0, AT(status)},
    {"/good", GEODEC_I32, "P", 0, "1", "last valid node; later ones repeat it", 0, AT(good)},
    {"/point", GEODEC_I32, "P", 0, "1", "point of the metric the path begins at", 0, AT(point)},
    {"/next", GEODEC_I32, "P", 0, "1", "point its velocity aims at, -1 for a random direction", 0, AT(next)},
    {"/activation_row", GEODEC_I32, "P", 0, "1", "row of the activations of the start", 0, AT(activation_row)},
    {"/next_row", GEODEC_I32, "P", 0, "1", "row of the activations of the successor, -1 without", 0, AT(next_row)},
};

const char *const geodec__geodesics_velocity_names[] = {"sequence", "random", "given", NULL};
#define NAME_OF(NAME, name, order, text) #name,
const char *const geodec__geodesics_methods[] = {GEODEC_GEODESIC_TABLE(NAME_OF) NULL};

static const geodec_attr attrs[] = {
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes", IN(dl)},
    {"method", GEODEC_ATTR_STR, 0, GEODEC_GEODESIC_ITEMS,
     GEODEC_NAMED(geodec_geodesics, options.method, geodec__geodesics_methods)},
    {"rtol", GEODEC_ATTR_F64, 0, "tolerance of the adaptive method, relative to the path's length", IN(options.rtol)},
    {"drift_max", GEODEC_ATTR_F64, 0, "largest speed drift with status ok", IN(options.drift_max)},
    {"velocity", GEODEC_ATTR_STR, 0, "sequence (towards the next state of the text), random or given",
     GEODEC_NAMED(geodec_geodesics, velocity, geodec__geodesics_velocity_names)},
    {"hull_radius", GEODEC_ATTR_F64, 0, "a node farther than this from every point has left the hull; 0 = no hull",
     IN(hull_radius)},
    {"n_ok", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths with status ok", IN(count[GEODEC_PATH_OK])},
    {"n_nonfinite", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths that broke down", IN(count[GEODEC_PATH_NONFINITE])},
    {"n_drift", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths whose speed drifted", IN(count[GEODEC_PATH_DRIFT])},
    {"n_left_hull", GEODEC_ATTR_I64, GEODEC_ATTR_SUM, "paths that left the hull", IN(count[GEODEC_PATH_LEFT_HULL])},
    {"drift_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest speed drift", IN(drift_largest)},
    {"control_paths", GEODEC_ATTR_I64, GEODEC_ATTR_SUM,
     "control: paths integrated again by the adaptive method at rtol 1e-9", IN(control_paths)},
    {"refinement_error", GEODEC_ATTR_F64, GEODEC_ATTR_MAX,
     "largest distance of their coordinates from that, unit of the points", IN(refinement_error)},
};

static const geodec_extent extents[] = {{"P", IN(paths)}, {"S", IN(nodes)}, {"n", IN(n)}};

const geodec_kind geodec_geodesics_kind = {
    .name = "geodesics",
    .major = 1,
    .minor = 0,
    .tool = "geodec-geodesic",
    .purpose = "geodesics of the smooth field from points of the cloud",
    GEODEC_TABLES(fields, attrs, extents),
    .shards = "P",
};

void geodec_geodesics_clear(geodec_geodesics *g)
{
    geodec_artifact_clear(&geodec_geodesics_kind, g);
    *g = (geodec_geodesics){0};
}

/* A copy to which the figures of its paths are added. */
static geodec_geodesics summed(const geodec_geodesics *g)
{
    geodec_geodesics file = *g;
    memset(file.count, 0, sizeof file.count);
    file.drift_largest = 0;
    for (int64_t p = 0; p < g->paths; p++) {
        file.count[g->status[p] & 3]++;
        file.drift_largest = g->drift[p] > file.drift_largest ? g->drift[p] : file.drift_largest;
    }
    return file;
}

geodec_status geodec_geodesics_write(const geodec_geodesics *g, geodec_artifact *a, geodec_err *err)
{
    const geodec_geodesics file = summed(g);
    return geodec_artifact_save(a, &file, err);
}

geodec_status geodec__geodesics_check(const geodec_geodesics *g, const char *path, geodec_err *err)
{
    if (g->paths < 1 || g->nodes < 2 || g->n < 1 || g->n > GEODEC_SPACE_DIM_MAX)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: %lld paths of %lld nodes in dimension %lld", path, (long long)g->paths,
                    (long long)g->nodes, (long long)g->n);
    if (!(g->dl > 0)) GEODEC_FAIL(GEODEC_FORMAT, "%s: dl = %g", path, g->dl);
    for (int64_t p = 0; p < g->paths; p++) {
        if (g->good[p] < 0 || g->good[p] >= g->nodes || g->status[p] > GEODEC_PATH_LEFT_HULL)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: path %lld is valid up to node %d, status %d", path, (long long)p,
                        (int)g->good[p], (int)g->status[p]);
    }
    return GEODEC_OK;
}

geodec_status geodec_geodesics_read(const geodec_artifact *a, geodec_geodesics *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesics g = {.options = geodec_geodesic_defaults()};
    GEODEC_TRY(geodec_artifact_load(a, &g, err));
    GEODEC_TRY(geodec__geodesics_check(&g, geodec_artifact_path(a), err));
    g.options.steps = g.nodes - 1;
    g.options.dl = g.dl;
    *out = g;
done:
    if (st != GEODEC_OK) geodec_geodesics_clear(&g);
    return st;
}

void geodec_geodesics_say(const geodec_hooks *hooks, const geodec_geodesics *g)
{
    const geodec_geodesics s = summed(g);
    double ok = 0;
    for (int64_t p = 0; p < g->paths; p++)
        if (g->status[p] == GEODEC_PATH_OK) ok = fmax(ok, g->drift[p]);
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "%lld paths of length %g: %lld ok, %lld broke down, %lld drifted, %lld left the hull; speed drift "
                     "at most %.1e (%.1e with status ok); %lld again at rtol 1e-9 agree within %.1e",
                     (long long)g->paths, g->dl * (double)(g->nodes - 1), (long long)s.count[GEODEC_PATH_OK],
                     (long long)s.count[GEODEC_PATH_NONFINITE], (long long)s.count[GEODEC_PATH_DRIFT],
                     (long long)s.count[GEODEC_PATH_LEFT_HULL], s.drift_largest, ok, (long long)g->control_paths,
                     g->refinement_error);
}
