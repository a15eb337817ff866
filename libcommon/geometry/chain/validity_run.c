#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "chain/metric_space.h"
#include "chain/validity.h"
#include "chain/validity_internal.h"
#include "geometry/space_closed.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

enum { NODES_MAX = 32 * GEODEC_VALIDITY_TAUS };

typedef struct run {
    const geodec_space *s;
    const geodec_validity_options *o;
    geodec_pool *pool;
    const geodec_hooks *hooks;
    geodec_validity *v;
    const double *delta0; /* [starts][n_eps][perturbations][n] or NULL */
    uint64_t seed;
    double *u;                    /* [starts][perturbations][n] unit directions, without delta0 */
    double eps;                   /* of the current evaluation */
    geodec_validity_miss *at_eps; /* [starts][perturbations] */
    geodec_validity_miss *all;    /* [starts][n_eps][perturbations] */
    /* Results of the search for the radii, between the lengths of the grid. */
    int n_nodes;
    double node_eps[NODES_MAX], *node_of_start; /* [NODES_MAX][starts], as means_of_starts */
    int64_t node_broken[NODES_MAX];
} run;

/* ---- reference paths and directions ----------------------------------------------------------------------------- */

static geodec_status reference_task(void *ctx, int64_t i, geodec_err *err)
{
    run *r = ctx;
    geodec_validity *v = r->v;
    const int64_t n = v->n, P = v->perturbations;
    GEODEC_PASS(geodec__validity_reference(r->s, r->o, v->x0 + i * n, v->v0 + i * n, v->x_T + i * n, v->phi + i * n * n,
                                           &v->status[i], err));
    for (int64_t p = 0; r->u && p < P; p++) {
        const uint64_t stream = geodec_rng_id("validity direction", (uint64_t)(i * P + p));
        GEODEC_PASS(geodec_validity_direction(r->s, v->x0 + i * n, r->seed, stream, r->u + (i * P + p) * n, err));
    }
    return GEODEC_OK;
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

static geodec_status one_error(const run *r, int64_t start, const double *d, geodec_validity_miss *out, geodec_err *err)
{
    const geodec_validity *v = r->v;
    const int64_t n = v->n;
    if (v->status[start] == GEODEC_PATH_NONFINITE) {
        *out = (geodec_validity_miss){-1, -1, -1};
        return GEODEC_OK;
    }
    const geodec_validity_start one = {v->x0 + start * n, v->v0 + start * n, v->x_T + start * n,
                                       v->phi + start * n * n};
    return geodec_validity_error(r->s, &r->o->path, &one, d, out, err);
}

/* Direction `task` (of starts x perturbations) at length r->eps. */
static geodec_status scaled_task(void *ctx, int64_t task, geodec_err *err)
{
    run *r = ctx;
    const int64_t n = r->v->n;
    double d[GEODEC_SPACE_DIM_MAX];
    for (int64_t i = 0; i < n; i++) d[i] = r->eps * r->u[task * n + i];
    return one_error(r, task / r->v->perturbations, d, &r->at_eps[task], err);
}

static geodec_status given_task(void *ctx, int64_t task, geodec_err *err)
{
    run *r = ctx;
    const int64_t per_start = r->v->n_eps * r->v->perturbations;
    return one_error(r, task / per_start, r->delta0 + task * r->v->n, &r->all[task], err);
}

/* All starts at g-length eps of the grid into at_eps. A sweep may divide the starts. */
static geodec_status errors_on_grid(run *r, double eps, geodec_err *err)
{
    const int64_t P = r->v->perturbations;
    const geodec_sweep_result result = {r->at_eps, 1, P * (int64_t)sizeof *r->at_eps};
    r->eps = eps;
    return geodec_sweep_run(r->o->sweep, r->pool, r->hooks, "perturbed paths", r->v->starts, P, scaled_task, r, &result,
                            1, err);
}

/* Mean error of a start over its unbroken paths, -1 if there are none. The broken paths are added to *broken, unless
 * the reference path is broken. */
static double mean_of_start(const run *r, int64_t i, const geodec_validity_miss *miss, int64_t *broken)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t p = 0; p < r->v->perturbations; p++) {
        if (miss[p].error < 0) {
            *broken += r->v->status[i] != GEODEC_PATH_NONFINITE;
            continue;
        }
        sum += miss[p].error;
        count++;
    }
    return count ? sum / (double)count : -1;
}

/* Evaluates one more length and stores the result; *mean is infinite when a path broke down. */
static geodec_status mean_at(void *ctx, double eps, double *mean, geodec_err *err)
{
    run *r = ctx;
    const int64_t P = r->v->perturbations;
    double sum = 0;
    int64_t count = 0, broken = 0;
    if (r->n_nodes == NODES_MAX) GEODEC_FAIL(GEODEC_NOCONV, "the search for a validity radius does not converge");
    r->eps = eps;
    GEODEC_PASS(geodec__tasks_run(r->pool, r->hooks, "perturbed paths", r->v->starts * P, scaled_task, r, err));
    double *of_start = r->node_of_start + r->n_nodes * r->v->starts;
    for (int64_t i = 0; i < r->v->starts; i++) {
        of_start[i] = mean_of_start(r, i, r->at_eps + i * P, &broken);
        if (of_start[i] < 0) continue;
        sum += of_start[i];
        count++;
    }
    r->node_eps[r->n_nodes] = eps;
    r->node_broken[r->n_nodes++] = broken;
    *mean = broken || !count ? INFINITY : sum / (double)count;
    return GEODEC_OK;
}

static geodec_status all_errors(run *r, geodec_err *err)
{
    geodec_validity *v = r->v;
    const int64_t P = v->perturbations, E = v->n_eps;
    if (r->delta0) {
        const geodec_sweep_result result = {r->all, 1, E * P * (int64_t)sizeof *r->all};
        GEODEC_PASS(geodec_sweep_run(r->o->sweep, r->pool, r->hooks, "perturbed paths", v->starts, E * P, given_task, r,
                                     &result, 1, err));
    }
    for (int64_t e = 0; e < E && !r->delta0; e++) {
        GEODEC_PASS(errors_on_grid(r, v->eps[e], err));
        for (int64_t i = 0; i < v->starts; i++)
            memcpy(r->all + (i * E + e) * P, r->at_eps + i * P, (size_t)P * sizeof *r->all);
    }
    for (int64_t i = 0; i < v->starts * E * P; i++) v->error[i] = r->all[i].error;
    return GEODEC_OK;
}

/* ---- summaries -------------------------------------------------------------------------------------------------- */

/* The lengths of the grid and of the search together, ascending: radii and their intervals are read from them. */
typedef struct lengths {
    int64_t n, starts;
    double *eps, *of_start; /* [n]; [starts][n] */
    int64_t *broken, *grid; /* [n]; [n_eps] index of each length of the grid */
} lengths;

static void lengths_clear(lengths *l)
{
    GEODEC_FREE(l->eps, l->of_start, l->broken, l->grid);
    *l = (lengths){0};
}

/* Length i: first the lengths of the grid, then those of the search. */
static double length_at(const run *r, int64_t i)
{
    return i < r->v->n_eps ? r->v->eps[i] : r->node_eps[i - r->v->n_eps];
}

static geodec_status lengths_make(const run *r, lengths *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_validity *v = r->v;
    const int64_t E = v->n_eps, P = v->perturbations;
    lengths l = {.n = E + r->n_nodes, .starts = v->starts};
    GEODEC_NEW(l.eps, l.n);
    GEODEC_NEW(l.of_start, l.starts * l.n);
    GEODEC_NEW(l.broken, l.n);
    GEODEC_NEW(l.grid, E);
    for (int64_t i = 0; i < l.n; i++) {
        const double eps = length_at(r, i);
        int64_t k = 0; /* its rank */
        for (int64_t j = 0; j < l.n; j++) k += length_at(r, j) < eps || (length_at(r, j) == eps && j < i);
        l.eps[k] = eps;
        if (i < E)
            l.grid[i] = k;
        else
            l.broken[k] = r->node_broken[i - E];
        for (int64_t s = 0; s < l.starts; s++)
            l.of_start[s * l.n + k] = i < E ? mean_of_start(r, s, r->all + (s * E + i) * P, &l.broken[k])
                                            : r->node_of_start[(i - E) * l.starts + s];
    }
    *out = l;
done:
    if (st != GEODEC_OK) lengths_clear(&l);
    return st;
}

/* Mean over the chosen starts (index [starts], NULL = each start once) at each length; 0 if there are none. */
static void mean_curve(const lengths *l, const int64_t *index, double *curve)
{
    for (int64_t k = 0; k < l->n; k++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t i = 0; i < l->starts; i++) {
            const double m = l->of_start[(index ? index[i] : i) * l->n + k];
            if (m < 0) continue;
            sum += m;
            count++;
        }
        curve[k] = count ? sum / (double)count : 0;
    }
}

/* Log-log slope over the three smallest eps whose mean is above the floor; false when there are fewer. */
static bool slope_of(const geodec_validity *v, const double *curve, double floor, double *slope)
{
    double x[3], y[3];
    int k = 0;
    for (int64_t e = 0; e < v->n_eps && k < 3; e++) {
        if (!(curve[e] > floor)) continue;
        x[k] = log(v->eps[e]);
        y[k++] = log(curve[e]);
    }
    geodec_stats_line line;
    if (k < 3 || geodec_stats_fit_line(3, x, y, NULL, &line, NULL) != GEODEC_OK) return false;
    *slope = line.slope;
    return true;
}

/* Radius on the curve: the largest eps with mean <= tau and no broken path, then straight in log-log. */
static double radius_of(const lengths *l, const double *curve, double tau, bool interpolate, int64_t *last)
{
    int64_t at = -1;
    for (int64_t k = 0; k < l->n; k++)
        if (curve[k] <= tau && l->broken[k] == 0) at = k;
    *last = at;
    if (at < 0) return l->eps[0];
    if (at == l->n - 1 || !interpolate || !(curve[at] > 0) || !(curve[at + 1] > tau) || l->broken[at + 1])
        return l->eps[at];
    const double t = log(tau / curve[at]) / log(curve[at + 1] / curve[at]);
    return l->eps[at] * pow(l->eps[at + 1] / l->eps[at], t);
}

static void interval(int64_t n, double *x, double *low, double *high)
{
    geodec_stats_sort(n, x);
    *low = geodec_stats_percentile(n, x, 0.025);
    *high = geodec_stats_percentile(n, x, 0.975);
}

/* Every interval is of the estimate itself: the same function of the same lengths, on resampled starts. */
static geodec_status bootstrap(const run *r, const lengths *l, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_validity *v = r->v;
    const int64_t B = r->o->bootstrap, E = v->n_eps;
    int64_t *index = NULL, last;
    double *block = NULL;
    if (B < 2) goto done;
    GEODEC_NEW(index, v->starts);
    GEODEC_NEW(block, B * (E + 1 + GEODEC_VALIDITY_TAUS) + E + l->n);
    double *curves = block /* [E][B] */, *slopes = curves + E * B, *radii = slopes + B /* [taus][B] */,
           *curve = radii + GEODEC_VALIDITY_TAUS * B, *on_grid = curve + l->n;
    int64_t with_slope = 0;
    for (int64_t b = 0; b < B; b++) {
        geodec_stats_resample(r->seed, geodec_rng_id("validity bootstrap", 0), (uint64_t)b, v->starts, index);
        mean_curve(l, index, curve);
        for (int64_t e = 0; e < E; e++) curves[e * B + b] = on_grid[e] = curve[l->grid[e]];
        if (slope_of(v, on_grid, r->o->floor, &slopes[with_slope])) with_slope++;
        for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++)
            radii[t * B + b] = radius_of(l, curve, v->tau[t], !r->delta0, &last);
    }
    for (int64_t e = 0; e < E; e++) interval(B, curves + e * B, &v->mean_low[e], &v->mean_high[e]);
    if (v->slope_known && with_slope > 1) interval(with_slope, slopes, &v->slope.low, &v->slope.high);
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) interval(B, radii + t * B, &v->radius[t].low, &v->radius[t].high);
done:
    GEODEC_FREE(index, block);
    return st;
}

static geodec_status percentiles(const run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_validity *v = r->v;
    const int64_t P = v->perturbations, E = v->n_eps;
    double *sorted = NULL;
    GEODEC_NEW(sorted, v->starts * P);
    for (int64_t e = 0; e < E; e++) {
        int64_t count = 0;
        v->broken[e] = 0;
        for (int64_t i = 0; i < v->starts; i++) {
            for (int64_t p = 0; p < P; p++) {
                const geodec_validity_miss *m = &r->all[(i * E + e) * P + p];
                if (m->error >= 0) {
                    sorted[count++] = m->error;
                    v->shift[e] += m->shift;
                    v->miss[e] += m->miss;
                } else if (v->status[i] != GEODEC_PATH_NONFINITE) {
                    v->broken[e]++;
                }
            }
        }
        v->shift[e] /= count ? (double)count : 1;
        v->miss[e] /= count ? (double)count : 1;
        geodec_stats_sort(count, sorted);
        v->median[e] = count ? geodec_stats_percentile(count, sorted, 0.5) : 0;
        v->p95[e] = count ? geodec_stats_percentile(count, sorted, 0.95) : 0;
    }
done:
    geodec_mem_free(sorted);
    return st;
}

/* The mean curve on the grid, and the radii that lie within it; for the others the search evaluates more lengths. */
static geodec_status curve_and_search(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_validity *v = r->v;
    lengths l = {0};
    GEODEC_TRY(lengths_make(r, &l, err));
    mean_curve(&l, NULL, v->mean);
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) {
        int64_t at;
        double found;
        (void)radius_of(&l, v->mean, v->tau[t], false, &at);
        v->censored[t] = at < 0               ? GEODEC_CENSORED_BELOW
                         : at == v->n_eps - 1 ? GEODEC_CENSORED_ABOVE
                                              : GEODEC_CENSORED_NONE;
        if (v->censored[t] == GEODEC_CENSORED_NONE && !r->delta0)
            GEODEC_TRY(geodec__validity_refine(mean_at, r, v->tau[t], v->eps[at], v->mean[at], v->eps[at + 1],
                                               v->broken[at + 1] ? INFINITY : v->mean[at + 1], &found, err));
    }
done:
    lengths_clear(&l);
    return st;
}

/* Only rounding: every error is at the floor, and no path broke down. */
static bool is_flat(const geodec_validity *v, double floor)
{
    for (int64_t e = 0; e < v->n_eps; e++)
        if (!(v->mean[e] <= floor) || v->broken[e]) return false;
    return true;
}

static geodec_status summarise(run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_validity *v = r->v;
    lengths l = {0};
    double *curve = NULL;
    GEODEC_TRY(percentiles(r, err));
    GEODEC_TRY(curve_and_search(r, err));
    memcpy(v->mean_low, v->mean, (size_t)v->n_eps * sizeof *v->mean);
    memcpy(v->mean_high, v->mean, (size_t)v->n_eps * sizeof *v->mean);
    v->flat = is_flat(v, r->o->floor);
    v->slope_known = slope_of(v, v->mean, r->o->floor, &v->slope.value);
    if (!v->slope_known) v->slope.value = NAN;
    v->slope_ok = v->slope_known && v->slope.value >= r->o->slope_min;
    v->slope.low = v->slope.high = v->slope.value;
    GEODEC_TRY(lengths_make(r, &l, err));
    GEODEC_NEW(curve, l.n);
    mean_curve(&l, NULL, curve);
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) {
        int64_t at;
        const double radius = radius_of(&l, curve, v->tau[t], !r->delta0, &at);
        v->radius[t] = (geodec_validity_estimate){radius, radius, radius};
    }
    GEODEC_TRY(bootstrap(r, &l, err));
done:
    lengths_clear(&l);
    geodec_mem_free(curve);
    return st;
}

/* ---- the experiment --------------------------------------------------------------------------------------------- */

void geodec_validity_clear(geodec_validity *v)
{
    double *arrays[] = {v->x0,       v->v0,        v->x_T,    v->phi, v->error, v->eps, v->mean,
                        v->mean_low, v->mean_high, v->median, v->p95, v->shift, v->miss};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) geodec_mem_free(arrays[i]);
    GEODEC_FREE(v->status, v->broken);
    *v = (geodec_validity){0};
}

static geodec_status options_ok(const geodec_validity_options *o, int64_t starts, geodec_err *err)
{
    if (starts < 1 || o->perturbations < 1 || starts > INT32_MAX / o->perturbations)
        GEODEC_FAIL(GEODEC_RANGE, "%lld starts with %lld perturbations", (long long)starts,
                    (long long)o->perturbations);
    if (o->n_eps < 3 || o->n_eps > GEODEC_VALIDITY_EPS_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "%lld perturbation lengths; 3 to %d are allowed", (long long)o->n_eps,
                    GEODEC_VALIDITY_EPS_MAX);
    for (int64_t e = 0; e < o->n_eps; e++)
        if (!(o->eps[e] > (e ? o->eps[e - 1] : 0)) || !isfinite(o->eps[e]))
            GEODEC_FAIL(GEODEC_RANGE, "perturbation lengths must rise from above 0");
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++)
        if (!(o->tau[t] > 0)) GEODEC_FAIL(GEODEC_RANGE, "tolerance %g is not positive", o->tau[t]);
    if (o->bootstrap < 0 || o->bootstrap > 1000000)
        GEODEC_FAIL(GEODEC_RANGE, "%lld bootstrap replicates", (long long)o->bootstrap);
    return GEODEC_OK;
}

/* Over the starts with a sound path. */
static geodec_status measure_noise(run *r, geodec_err *err)
{
    const int64_t n = r->v->n;
    int64_t sound = 0;
    double g[GEODEC_RBF_MAX_N * GEODEC_RBF_MAX_N], sum = 0;
    for (int64_t i = 0; i < r->v->starts; i++) {
        double trace = 0;
        if (r->v->status[i] == GEODEC_PATH_NONFINITE) continue;
        GEODEC_PASS(r->s->at(r->s, r->v->x0 + i * n, g, NULL, NULL, err));
        for (int64_t k = 0; k < n; k++) trace += g[k * n + k];
        sum += r->o->noise * sqrt(trace);
        sound++;
    }
    r->v->noise_length = sum / (double)sound;
    return GEODEC_OK;
}

geodec_status geodec_validity_run(const geodec_space *s, const geodec_validity_options *o, geodec_pool *pool,
                                  const geodec_hooks *hooks, int64_t starts, const double *x0, const double *v0,
                                  const double *delta0, uint64_t seed, geodec_validity *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_validity v = {0};
    run r = {.s = s, .o = o, .pool = pool, .hooks = hooks, .v = &v, .delta0 = delta0, .seed = seed};
    GEODEC_TRY(options_ok(o, starts, err));
    const int64_t n = s->n, E = o->n_eps, P = o->perturbations;
    v.starts = starts, v.n = n, v.n_eps = E, v.perturbations = P;
    GEODEC_NEW_EACH(starts * n, v.x0, v.v0, v.x_T);
    GEODEC_NEW(v.phi, starts * n * n);
    GEODEC_NEW(v.status, starts);
    GEODEC_NEW(v.error, starts * E * P);
    double **curves[] = {&v.eps, &v.mean, &v.mean_low, &v.mean_high, &v.median, &v.p95, &v.shift, &v.miss};
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) GEODEC_NEW(*curves[i], E);
    GEODEC_NEW(v.broken, E);
    GEODEC_NEW(r.at_eps, starts * P);
    GEODEC_NEW(r.all, starts * E * P);
    GEODEC_NEW(r.node_of_start, NODES_MAX * starts);
    if (!delta0) GEODEC_NEW(r.u, starts * P * n);
    memcpy(v.x0, x0, (size_t)(starts * n) * sizeof *x0);
    memcpy(v.v0, v0, (size_t)(starts * n) * sizeof *v0);
    memcpy(v.eps, o->eps, (size_t)E * sizeof *v.eps);
    memcpy(v.tau, o->tau, sizeof v.tau);
    const int64_t size = sizeof(double);
    const geodec_sweep_result reference[] = {
        {v.status, 1, 1}, {v.x_T, 1, n * size}, {v.phi, 1, n * n * size}, {r.u, r.u ? 1 : 0, P * n * size}};
    GEODEC_TRY(geodec_sweep_run(o->sweep, pool, hooks, "reference paths", starts, 1, reference_task, &r, reference,
                                sizeof reference / sizeof *reference, err));
    int64_t sound = 0;
    for (int64_t i = 0; i < starts; i++) sound += v.status[i] != GEODEC_PATH_NONFINITE;
    if (!sound && !geodec_sweep_partial(o->sweep))
        GEODEC_THROW(GEODEC_NUMERIC, "every one of the %lld reference paths breaks down", (long long)starts);
    GEODEC_TRY(all_errors(&r, err));
    if (!geodec_sweep_partial(o->sweep)) {
        GEODEC_TRY(summarise(&r, err));
        if (o->noise > 0) GEODEC_TRY(measure_noise(&r, err));
    }
    *out = v;
    v = (geodec_validity){0};
done:
    GEODEC_FREE(r.at_eps, r.all, r.u, r.node_of_start);
    geodec_validity_clear(&v);
    return st;
}

geodec_status geodec_validity_sphere(int32_t n, const geodec_validity_options *o, geodec_pool *pool,
                                     const geodec_hooks *hooks, int64_t starts, uint64_t seed, geodec_validity *out,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_space_conformal sphere;
    double *x0 = NULL, *v0 = NULL;
    GEODEC_TRY(geodec_space_conformal_init(&sphere, n, 1, err));
    GEODEC_TRY(options_ok(o, starts, err));
    GEODEC_NEW_EACH(starts * n, x0, v0);
    for (int64_t i = 0; i < starts; i++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("sphere start", (uint64_t)i));
        double *x = x0 + i * n;
        for (int64_t k = 0; k < n; k++) x[k] = geodec_rng_normal(&r);
        const double length = sqrt(geodec__dot(n, x, x)), radius = pow(geodec_rng_uniform(&r), 1 / (double)n);
        for (int64_t k = 0; k < n; k++) x[k] *= radius / length;
        GEODEC_TRY(geodec_validity_direction(&sphere.base, x, seed, geodec_rng_id("sphere velocity", (uint64_t)i),
                                             v0 + i * n, err));
    }
    GEODEC_TRY(geodec_validity_run(&sphere.base, o, pool, hooks, starts, x0, v0, NULL, seed, out, err));
done:
    GEODEC_FREE(x0, v0);
    return st;
}

geodec_status geodec_validity_starts(const geodec_metric *m, const geodec_space *s, int64_t starts, uint64_t seed,
                                     double *x0, double *v0, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    int64_t *chosen = NULL;
    if (starts < 1 || starts > m->points)
        GEODEC_THROW(GEODEC_RANGE, "%lld starts from %lld points", (long long)starts, (long long)m->points);
    GEODEC_NEW(chosen, starts);
    GEODEC_TRY(geodec__choose_subset(seed, geodec_rng_id("validity starts", 0), m->points, starts, chosen, err));
    for (int64_t i = 0; i < starts; i++) {
        const double *x = m->point + chosen[i] * n;
        memcpy(x0 + i * n, x, (size_t)n * sizeof *x);
        GEODEC_TRY(
            geodec_validity_direction(s, x, seed, geodec_rng_id("validity velocity", (uint64_t)i), v0 + i * n, err));
    }
done:
    geodec_mem_free(chosen);
    return st;
}

geodec_metric_type geodec_validity_case_kind(int which)
{
    static const geodec_metric_type kinds[GEODEC_VALIDITY_CASES] = {GEODEC_METRIC_HYPERBOLIC, GEODEC_METRIC_FLAT,
                                                                    GEODEC_METRIC_GAUSSIAN_FISHER};
    return kinds[which];
}

geodec_status geodec_validity_case(int which, int32_t n, const geodec_validity_options *o, geodec_pool *pool,
                                   const geodec_hooks *hooks, int64_t starts, uint64_t seed, geodec_validity *out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_metric_type kind = geodec_validity_case_kind(which);
    const geodec_metric_options metric = geodec_metric_defaults();
    const int64_t dim = kind == GEODEC_METRIC_GAUSSIAN_FISHER ? 2 : n;
    geodec_metric m = {0};
    geodec_metric_space space = {0};
    double *x0 = NULL, *v0 = NULL;
    GEODEC_TRY(options_ok(o, starts, err));
    GEODEC_TRY(geodec_metric_test_space(kind, starts > 8 ? starts : 8, dim, 0, seed, &metric, pool, hooks, &m, err));
    GEODEC_TRY(geodec_metric_space_init(&m, &space, err));
    GEODEC_NEW_EACH(starts * dim, x0, v0);
    GEODEC_TRY(geodec_validity_starts(&m, space.space, starts, seed, x0, v0, err));
    GEODEC_TRY(geodec_validity_run(space.space, o, pool, hooks, starts, x0, v0, NULL, seed, out, err));
done:
    geodec_metric_clear(&m);
    geodec_metric_space_clear(&space);
    GEODEC_FREE(x0, v0);
    return st;
}
