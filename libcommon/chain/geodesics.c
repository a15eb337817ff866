#include "chain/geodesics.h"

#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/validity.h"
#include "linalg/knn.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

geodec_geodesics_options geodec_geodesics_defaults(void)
{
    return (geodec_geodesics_options){
        .paths = 64, .velocity = GEODEC_VELOCITY_SEQUENCE, .path = geodec_geodesic_defaults(), .control = 4, .seed = 1};
}

void geodec_geodesics_keep(geodec_geodesics *g, int64_t first, int64_t end)
{
    const size_t row = (size_t)(g->nodes * g->n) * sizeof *g->x, nodes = (size_t)g->nodes * sizeof *g->speed2;
    const struct {
        void *data;
        size_t size;
    } all[] = {{g->x, row},
               {g->v, row},
               {g->speed2, nodes},
               {g->drift, sizeof *g->drift},
               {g->status, sizeof *g->status},
               {g->good, sizeof *g->good},
               {g->point, sizeof *g->point},
               {g->next, sizeof *g->next},
               {g->activation_row, sizeof *g->activation_row},
               {g->next_row, sizeof *g->next_row}};
    g->paths = end - first;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].data)
            memmove(all[i].data, (char *)all[i].data + (size_t)first * all[i].size, (size_t)g->paths * all[i].size);
}

/* ---- starts ----------------------------------------------------------------------------------------------------- */

static int compare_keys(int64_t sequence_a, int64_t position_a, int64_t sequence_b, int64_t position_b)
{
    if (sequence_a != sequence_b) return sequence_a < sequence_b ? -1 : 1;
    return position_a < position_b ? -1 : position_a > position_b;
}

/* next [points]: the point one position later in the same sequence, -1 when it is not in the cloud. Points are in text
 * order (the cloud keeps it), so it can only be the next one. */
static geodec_status successors(const geodec_artifact *file, int64_t points, int32_t *next, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *sequence = NULL, *position = NULL;
    if (!geodec_artifact_has(file, "/sequence") || !geodec_artifact_has(file, "/position")) {
        GEODEC_THROW(GEODEC_NOTFOUND, "%s has no positions of its points in the text; use random velocities",
                     geodec_artifact_path(file));
    }
    GEODEC_TRY(geodec_artifact_read(file, "/sequence", &sequence, err));
    GEODEC_TRY(geodec_artifact_read(file, "/position", &position, err));
    for (int64_t i = 1; i < points; i++) {
        if (compare_keys(sequence[i - 1], position[i - 1], sequence[i], position[i]) >= 0)
            GEODEC_THROW(GEODEC_FORMAT, "%s: points are not in text order", geodec_artifact_path(file));
    }
    for (int64_t i = 0; i < points; i++) {
        const bool follows =
            i + 1 < points && sequence[i + 1] == sequence[i] && (int64_t)position[i + 1] == (int64_t)position[i] + 1;
        next[i] = follows ? (int32_t)(i + 1) : -1;
    }
done:
    geodec_mem_free(sequence);
    geodec_mem_free(position);
    return st;
}

/* The same for given starts. */
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
    GEODEC_NEW(g->point, g->paths);
    GEODEC_NEW(g->next, g->paths);
    GEODEC_NEW(d2, g->paths);
    GEODEC_TRY(geodec_knn_search(m->points, m->n, m->point, g->paths, o->x0 + *first * m->n, 1, g->point, d2, NULL,
                                 NULL, err));
    for (int64_t p = 0; p < g->paths; p++) g->next[p] = -1;
done:
    geodec_mem_free(d2);
    return st;
}

/* Points at which paths begin: g->paths, g->point, g->next; *first: number of the first path of the slice. */
static geodec_status choose_starts(const geodec_metric *m, const geodec_artifact *file,
                                   const geodec_geodesics_options *o, geodec_geodesics *g, int64_t *first,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *next = NULL;
    int64_t *able = NULL, *chosen = NULL, count = 0;
    if (o->velocity == GEODEC_VELOCITY_GIVEN) return given_starts(m, o, g, first, err);
    GEODEC_NEW(next, m->points);
    GEODEC_NEW(able, m->points);
    if (o->velocity == GEODEC_VELOCITY_SEQUENCE)
        GEODEC_TRY(successors(file, m->points, next, err));
    else
        for (int64_t i = 0; i < m->points; i++) next[i] = -1;
    for (int64_t i = 0; i < m->points; i++)
        if (o->velocity == GEODEC_VELOCITY_RANDOM || next[i] >= 0) able[count++] = i;
    if (count == 0) {
        GEODEC_THROW(GEODEC_SCARCE,
                     "no point of %lld has its successor in the text among the points; paths along the text need one",
                     (long long)m->points);
    }
    const int64_t all = o->paths > 0 && o->paths < count ? o->paths : count;
    int64_t end;
    GEODEC_NEW(chosen, all);
    GEODEC_TRY(geodec__choose_subset(o->seed, geodec_rng_id("geodesic starts", 0), count, all, chosen, err));
    GEODEC_TRY(geodec_shard_range(o->shard, all, first, &end, err));
    g->paths = end - *first;
    GEODEC_NEW(g->point, g->paths);
    GEODEC_NEW(g->next, g->paths);
    for (int64_t p = 0; p < g->paths; p++) {
        g->point[p] = (int32_t)able[chosen[*first + p]];
        g->next[p] = next[g->point[p]];
    }
done:
    geodec_mem_free(next);
    geodec_mem_free(able);
    geodec_mem_free(chosen);
    return st;
}

static geodec_status rows_of(const geodec_artifact *file, geodec_geodesics *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *row = NULL;
    GEODEC_TRY(geodec_artifact_read(file, "/activation_row", &row, err));
    GEODEC_NEW(g->activation_row, g->paths);
    GEODEC_NEW(g->next_row, g->paths);
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
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    if (o->velocity == GEODEC_VELOCITY_GIVEN) {
        memcpy(x0, o->x0 + first * n, (size_t)(g->paths * n) * sizeof *x0);
        memcpy(v0, o->v0 + first * n, (size_t)(g->paths * n) * sizeof *v0);
        goto done;
    }
    for (int64_t p = 0; p < g->paths; p++) {
        const double *x = m->point + g->point[p] * n;
        double *v = v0 + p * n;
        memcpy(x0 + p * n, x, (size_t)n * sizeof *x);
        if (g->next[p] < 0) {
            const uint64_t stream = geodec_rng_id("geodesic velocity", (uint64_t)g->point[p]);
            GEODEC_TRY(geodec_validity_direction(s, x, o->seed, stream, v, err));
            continue;
        }
        const double *to = m->point + g->next[p] * n;
        for (int64_t i = 0; i < n; i++) v[i] = to[i] - x[i];
        GEODEC_TRY_MSG(geodec_geodesic_unit(s, x, v, err), "point %d and its successor", (int)g->point[p]);
    }
done:
    return st;
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

/* The first `controls` paths again by the adaptive integrator at rtol 1e-9. */
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
    geodec_mem_free(block);
    geodec_mem_free(report);
    return st;
}

geodec_status geodec_geodesics_compute(const geodec_metric *metric, const geodec_space *s,
                                       const geodec_artifact *metric_file, const geodec_geodesics_options *o,
                                       geodec_pool *pool, const geodec_hooks *hooks, geodec_geodesics *out,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesics g = {.n = metric->n, .velocity = o->velocity, .options = o->path, .dl = o->path.dl};
    double *start = NULL;
    geodec_path_report *report = NULL;
    hull h = {.metric = metric};
    int64_t first;
    if (o->paths < 0 || o->control < 0 || o->path.steps < 1)
        GEODEC_THROW(GEODEC_RANGE, "%lld paths of %lld steps, %lld in the control", (long long)o->paths,
                     (long long)o->path.steps, (long long)o->control);
    GEODEC_TRY(choose_starts(metric, metric_file, o, &g, &first, err));
    GEODEC_TRY(rows_of(metric_file, &g, err));
    g.nodes = o->path.steps + 1;
    const int64_t P = g.paths, S = g.nodes, n = g.n;
    GEODEC_NEW(g.x, P * S * n);
    GEODEC_NEW(g.v, P * S * n);
    GEODEC_NEW(g.speed2, P * S);
    GEODEC_NEW(g.drift, P);
    GEODEC_NEW(g.status, P);
    GEODEC_NEW(g.good, P);
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
    g = (geodec_geodesics){0};
done:
    geodec_geodesics_clear(&g);
    geodec_mem_free(start);
    geodec_mem_free(report);
    return st;
}
