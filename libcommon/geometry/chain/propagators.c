#include "chain/propagators.h"

#include "artifact/binding.h"
#include "artifact/merge.h"
#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/stats.h"
#include "linalg/svd.h"

#include <math.h>
#include <string.h>

geodec_propagators_options geodec_propagators_defaults(void)
{
    return (geodec_propagators_options){.propagate = geodec_propagate_defaults(), .control = 4, .check = 1e-3};
}

/* Whether a path can be a control. Where the speed drifted, the step is too long and differences of the flow have the
 * same error. */
static bool resolved(const geodec_geodesics *g, int64_t i)
{
    return g->status[i] != GEODEC_PATH_NONFINITE && g->status[i] != GEODEC_PATH_DRIFT;
}

/* The resolved paths of the control, evenly spread over all paths; those in first .. end-1 are kept. */
static void choose_controls(const geodec_geodesics *g, geodec_propagators *p, int64_t wanted, int64_t first,
                            int64_t end)
{
    int64_t sound = 0, seen = 0, chosen = 0;
    for (int64_t i = 0; i < g->paths; i++) sound += resolved(g, i);
    const int64_t count = wanted < sound ? wanted : sound;
    for (int64_t i = 0; i < g->paths && chosen < count; i++) {
        if (!resolved(g, i) || seen++ != chosen * sound / count) continue;
        chosen++;
        if (i >= first && i < end) p->control_path[p->controls++] = (int32_t)i;
    }
}

typedef struct job {
    const geodec_space *s;
    const geodec_geodesics *g;
    const geodec_propagators_options *o;
    geodec_propagators *p;
    int64_t first;
} job;

static geodec_status control_task(void *ctx, int64_t c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *k = ctx;
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

/* Propagators of one path. A broken path keeps its start, with the identity there. */
static geodec_status path_task(void *ctx, int64_t i, geodec_err *err)
{
    const job *k = ctx;
    const geodec_geodesics *g = k->g;
    const int64_t S = g->nodes, n = g->n, nn = n * n;
    const double *xs = g->x + i * S * n, *vs = g->v + i * S * n;
    double *phi = k->p->phi + i * S * nn, *flow = k->p->flow ? k->p->flow + i * S * 4 * nn : NULL;
    GEODEC_PASS(geodec_propagate_path(k->s, &k->o->propagate, S - 1, g->dl, g->good[i], xs, vs, phi, flow,
                                      &k->p->report[i], err));
    if (k->p->report[i].broken) {
        g->status[i] = GEODEC_PATH_NONFINITE;
        g->good[i] = 0;
    }
    return GEODEC_OK;
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
    GEODEC_TRY(geodec_shard_range(o->shard, g->paths, &first, &end, err));
    GEODEC_NEW(p.control_path, o->control);
    choose_controls(g, &p, o->control, first, end);
    geodec_artifact_keep(&geodec_geodesics_kind, paths, "P", first, end);
    const int64_t P = g->paths;
    GEODEC_NEW(p.phi, P * S * nn);
    GEODEC_NEW(p.singular, P * n);
    GEODEC_NEW(p.report, P);
    GEODEC_NEW_EACH(o->control, p.control_gap, p.control_step);
    if (o->flow) GEODEC_NEW(p.flow, P * S * 4 * nn);
    job k = {s, g, o, &p, first};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "propagators", P, path_task, &k, err));
    for (int64_t i = 0; i < P; i++)
        GEODEC_TRY(geodec_svd_values(n, n, p.phi + (i * S + S - 1) * nn, p.singular + i * n, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "control by differences", p.controls, control_task, &k, err));
    p.paths = *paths;
    *paths = (geodec_geodesics){0};
    *out = p;
done:
    if (st != GEODEC_OK) geodec_propagators_clear(&p);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_propagators, m)
#define IN(m) GEODEC_IN(geodec_propagators, m)
#define NAMED(m, names) GEODEC_NAMED(geodec_propagators, m, names)
#define ROW(m) GEODEC_OF_ROW(geodec_propagate_report, m)
#define OF_FLOW GEODEC_WHEN(geodec_propagators, of_flow)
static const geodec_field fields[] = {
    {"/phi", GEODEC_F64, "P,S,n,n", 0, "1", "dx(t_k)/dx(0) at fixed coordinate velocity (variational equation)", 0,
     AT(phi)},
    {"/flow", GEODEC_F64, "P,S,m,m", GEODEC_FIELD_OPTIONAL, "1", "d(x,v)(t_k)/d(x,v)(0)", 0, AT(flow)},
    {"/singular", GEODEC_F64, "P,n", 0, "1", "singular values of Phi_T, falling", 0, AT(singular)},
    {"/symplectic", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1",
     "|F^T Omega_T F - Omega_0| / |Omega_0|, largest entries", 0, ROW(symplectic), OF_FLOW},
    {"/volume", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1", "|ln det F + ln det g(x_T) - ln det g(x_0)|", 0,
     ROW(volume), OF_FLOW},
    {"/norm", GEODEC_F64, "P", GEODEC_FIELD_OPTIONAL, "1",
     "largest h |A|_F of a step; the Magnus series converges below pi", 0, ROW(norm), OF_FLOW},
    {"/control_path", GEODEC_I32, "C", 0, "1", "control: paths compared with central differences of the flow", 0,
     AT(control_path)},
    {"/control_gap", GEODEC_F64, "C", 0, "1", "max |Phi_T - differences| on them", 0, AT(control_gap)},
    {"/x", GEODEC_F64, "P,S,n", 0, "activation", "nodes of the path (principal coordinates)", 0, AT(paths.x)},
    {"/v", GEODEC_F64, "P,S,n", 0, "activation", "dx/dt", 0, AT(paths.v)},
    {"/status", GEODEC_U8, "P", 0, "1", "0 ok, 1 non-finite, 2 speed drift, 3 left hull", 0, AT(paths.status)},
    {"/good", GEODEC_I32, "P", 0, "1", "last valid node; later ones repeat it", 0, AT(paths.good)},
    {"/point", GEODEC_I32, "P", 0, "1", "point of the metric the path begins at", 0, AT(paths.point)},
    {"/next", GEODEC_I32, "P", 0, "1", "point its velocity aims at, -1 for a random direction", 0, AT(paths.next)},
    {"/activation_row", GEODEC_I32, "P", 0, "1", "row of the activations of the start", 0, AT(paths.activation_row)},
    {"/next_row", GEODEC_I32, "P", 0, "1", "row of the activations of the successor, -1 without", 0,
     AT(paths.next_row)},
};

static const char *const denses[] = {[GEODEC_DENSE_HERMITE] = "hermite", [GEODEC_DENSE_INTEGRATE] = "integrate", NULL};

static const geodec_attr attrs[] = {
    {"scheme", GEODEC_ATTR_STR, 0, "exponential integrator; published = the harness's rule", IN(scheme)},
    {"order", GEODEC_ATTR_I64, 0, "its order; 0 = not the derivative of the flow", IN(order)},
    {"dense", GEODEC_ATTR_STR, 0, "inner nodes: hermite or integrate", NAMED(options.dense, denses)},
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes", IN(paths.dl)},
    {"path_method", GEODEC_ATTR_STR, 0, "how the paths were made: `method` of the geodesics",
     NAMED(paths.options.method, geodec__geodesics_methods)},
    {"path_rtol", GEODEC_ATTR_F64, 0, "its tolerance", IN(paths.options.rtol)},
    {"velocity", GEODEC_ATTR_STR, 0, "initial velocities: sequence, random or given",
     NAMED(paths.velocity, geodec__geodesics_velocity_names)},
    {"n_ok", GEODEC_ATTR_I64, GEODEC_ATTR_SUM | GEODEC_FIELD_OPTIONAL,
     "paths with status ok: those of the largest residuals and of phi_minus_identity", IN(ok)},
    {"symplectic_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL,
     "largest residual of the symplectic form", IN(largest.symplectic), OF_FLOW},
    {"volume_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL, "largest residual of the volume",
     IN(largest.volume), OF_FLOW},
    {"norm_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX | GEODEC_FIELD_OPTIONAL, "largest h |A|_F", IN(largest.norm),
     OF_FLOW},
    {"control_gap_largest", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "control: largest |Phi_T - differences of the flow|",
     IN(gap_largest)},
    {"phi_minus_identity", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED,
     "median |Phi_T - I|_F / |I|_F over the paths with status ok: what Phi adds to a shift; 0 without", IN(shift)},
};

/* Median over the paths with status ok of |Phi_T - I|_F / |I|_F; 0 without such a path. */
static geodec_status median_shift(int64_t P, int64_t S, int64_t n, const double *phis, const uint8_t *status,
                                  double *median, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t nn = n * n;
    int64_t ok = 0;
    double *shift = NULL;
    *median = 0;
    if (P == 0) goto done;
    GEODEC_NEW(shift, P);
    for (int64_t i = 0; i < P; i++) {
        if (status[i] != GEODEC_PATH_OK) continue;
        const double *phi = phis + (i * S + S - 1) * nn;
        double sum = 0;
        for (int64_t k = 0; k < nn; k++) {
            const double d = phi[k] - (k % (n + 1) == 0 ? 1 : 0);
            sum += d * d;
        }
        shift[ok++] = sqrt(sum / (double)n);
    }
    if (ok > 0) GEODEC_TRY(geodec_stats_median(ok, shift, median, err));
done:
    geodec_mem_free(shift);
    return st;
}

static geodec_status derive(geodec_merge *whole, const char *attr, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t P, S, n;
    double *phi = NULL;
    uint8_t *status = NULL;
    (void)attr; /* there is one */
    GEODEC_TRY(geodec_merge_dim(whole, "P", &P, err));
    GEODEC_TRY(geodec_merge_dim(whole, "S", &S, err));
    GEODEC_TRY(geodec_merge_dim(whole, "n", &n, err));
    GEODEC_TRY(geodec_merge_read(whole, "/phi", &phi, err));
    GEODEC_TRY(geodec_merge_read(whole, "/status", &status, err));
    GEODEC_TRY(median_shift(P, S, n, phi, status, value, err));
done:
    GEODEC_FREE(phi, status);
    return st;
}

static const geodec_extent extents[] = {
    {"P", IN(paths.paths)}, {"S", IN(paths.nodes)}, {"n", IN(paths.n)}, {"C", IN(controls)}, {"m", IN(paths.n), 2, 0}};

const geodec_kind geodec_propagators_kind = {
    .name = "propagators",
    .major = 1,
    .minor = 2,
    .tool = "geodec-propagate",
    .purpose = "linear propagators along geodesics",
    GEODEC_TABLES(fields, attrs, extents),
    .shards = "P,C",
    .derive = derive,
    .rows = {"P", sizeof(geodec_propagate_report), offsetof(geodec_propagators, report), false},
};

void geodec_propagators_clear(geodec_propagators *p)
{
    geodec_geodesics_clear(&p->paths); /* the table does not have all of them */
    geodec_artifact_clear(&geodec_propagators_kind, p);
    geodec_mem_free(p->control_step);
    *p = (geodec_propagators){0};
}

geodec_status geodec_propagators_write(const geodec_propagators *p, geodec_artifact *a, geodec_err *err)
{
    const geodec_geodesics *g = &p->paths;
    geodec_propagators file = *p;
    file.of_flow = !p->rule; /* another rule has no flow with invariants */
    file.scheme = p->rule ? p->rule : geodec_magnus_name(p->options.scheme);
    file.order = p->rule ? 0 : geodec_magnus_order(p->options.scheme);
    file.largest = (geodec_propagate_report){0};
    file.gap_largest = 0;
    file.ok = 0;
    for (int64_t i = 0; i < g->paths; i++) {
        if (g->status[i] != GEODEC_PATH_OK) continue;
        file.ok++;
        file.largest.symplectic = fmax(file.largest.symplectic, p->report[i].symplectic);
        file.largest.volume = fmax(file.largest.volume, p->report[i].volume);
        file.largest.norm = fmax(file.largest.norm, p->report[i].norm);
    }
    for (int64_t c = 0; c < p->controls; c++) file.gap_largest = fmax(file.gap_largest, p->control_gap[c]);
    GEODEC_PASS(median_shift(g->paths, g->nodes, g->n, p->phi, g->status, &file.shift, err));
    GEODEC_PASS(geodec_artifact_save(a, &file, err));
    return GEODEC_OK;
}

geodec_status geodec_propagators_read(const geodec_artifact *a, geodec_propagators *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_propagators p = {.options = geodec_propagate_defaults(), .paths.options = geodec_geodesic_defaults()};
    const char *scheme;
    GEODEC_TRY(geodec_artifact_load(a, &p, err));
    GEODEC_TRY(geodec__geodesics_check(&p.paths, geodec_artifact_path(a), err));
    GEODEC_TRY(geodec_artifact_get_str(a, "scheme", &scheme, err));
    GEODEC_TRY_MSG(geodec_magnus_find(scheme, &p.options.scheme, err), "%s", geodec_artifact_path(a));
    p.paths.options.steps = p.paths.nodes - 1;
    p.paths.options.dl = p.paths.dl;
    *out = p;
done:
    if (st != GEODEC_OK) geodec_propagators_clear(&p);
    return st;
}
