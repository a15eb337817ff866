#include "lab/validity/published.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/curvature.h"
#include "geometry/geodesic.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

typedef struct run {
    const geodec_harness_manifold *m; /* or */
    const geodec_space *s;
    const geodec_published_perturbations *p;
    geodec_validity_published *v;
    double *shift; /* [starts][n_eps][perturbations] */
} run;

static int64_t dimension(const run *r) { return r->m ? r->m->n : r->s->n; }

/* The path from x0; false when it is not finite at its end. */
static geodec_status path(const run *r, const double *x0, const double *v0, double *xs, double *vs, bool *finite,
                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = dimension(r), T = r->p->steps;
    if (r->m) {
        geodec_harness_geodesic(r->m, x0, v0, T, r->p->dl, xs, vs);
    } else {
        geodec_geodesic_options o = geodec_geodesic_defaults();
        geodec_path_report report;
        o.steps = T;
        o.dl = r->p->dl;
        st = geodec_geodesic_path(r->s, &o, x0, v0, xs, vs, NULL, &report, NULL);
        if (st == GEODEC_NUMERIC || (st == GEODEC_OK && report.status == GEODEC_PATH_NONFINITE)) {
            st = GEODEC_OK;
            *finite = false; /* out of the chart */
            goto done;
        }
        GEODEC_TRY(st);
    }
    *finite = geodec__finite(n, xs + T * n);
done:
    return st;
}

static geodec_status true_riemann(const void *ctx, const double *x, double *riem, geodec_err *err)
{
    geodec_curvature_invariants unused;
    return geodec_curvature_at(ctx, x, riem, NULL, &unused, err);
}

static double g_norm(int64_t n, const double *g, const double *v) { return sqrt(fmax(geodec__norm2(n, g, v), 0)); }

/* Error and shift of one perturbation d [n]; -1 where not finite. work: 2 (T+1) n + n^2 doubles. */
static geodec_status one_error(const run *r, int64_t start, const double *d, double *error, double *shift, double *work,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = dimension(r), T = r->p->steps;
    const double *x0 = r->p->x0 + start * n, *x_T = r->v->x_T + start * n, *phi = r->v->phi + start * n * n;
    double *xs = work, *vs = xs + (T + 1) * n, *g = vs + (T + 1) * n;
    double x[GEODEC_PUBLISHED_MAX_N], miss[GEODEC_PUBLISHED_MAX_N], plain[GEODEC_PUBLISHED_MAX_N],
        moved[GEODEC_PUBLISHED_MAX_N];
    bool finite;
    *error = *shift = -1;
    for (int64_t i = 0; i < n; i++) x[i] = x0[i] + d[i];
    GEODEC_TRY(path(r, x, r->p->v0 + start * n, xs, vs, &finite, err));
    if (!finite) goto done;
    const double *end = xs + T * n;
    if (r->m)
        GEODEC_TRY(geodec_harness_g_at(r->m, end, g, err));
    else
        GEODEC_TRY(r->s->at(r->s, end, g, NULL, NULL, err));
    for (int64_t i = 0; i < n; i++) {
        plain[i] = end[i] - x_T[i] - d[i];
        miss[i] = end[i] - x_T[i] - geodec__dot(n, phi + i * n, d);
        moved[i] = end[i] - x0[i];
    }
    const double length = fmax(g_norm(n, g, moved), 1e-9), e = g_norm(n, g, miss) / length,
                 f = g_norm(n, g, plain) / length;
    if (isfinite(e) && isfinite(f)) *error = e, *shift = f;
done:
    return st;
}

static geodec_status start_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const run *r = ctx;
    const int64_t n = dimension(r), T = r->p->steps, count = r->p->n_eps * r->p->perturbations;
    double *block = NULL;
    bool finite;
    GEODEC_NEW(block, (T + 1) * n * (n + 4) + n * n);
    double *xs = block, *vs = xs + (T + 1) * n, *phi = vs + (T + 1) * n, *work = phi + (T + 1) * n * n;
    GEODEC_TRY(path(r, r->p->x0 + i * n, r->p->v0 + i * n, xs, vs, &finite, err));
    if (finite && r->m)
        GEODEC_TRY(geodec_harness_propagator(r->m, xs, vs, T, r->p->dl, phi, err));
    else if (finite)
        GEODEC_TRY(geodec_harness_propagator_with(n, true_riemann, r->s, xs, vs, T, r->p->dl, phi, err));
    finite = finite && geodec__finite(n * n, phi + T * n * n);
    if (finite) {
        memcpy(r->v->x_T + i * n, xs + T * n, (size_t)n * sizeof *xs);
        memcpy(r->v->phi + i * n * n, phi + T * n * n, (size_t)(n * n) * sizeof *phi);
    }
    for (int64_t k = 0; k < count; k++) {
        double *error = r->v->error + i * count + k, *shift = r->shift + i * count + k;
        *error = *shift = -1;
        if (finite) GEODEC_TRY(one_error(r, i, r->p->delta0 + (i * count + k) * n, error, shift, work, err));
    }
done:
    geodec_mem_free(block);
    return st;
}

static geodec_status summarise(const run *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_validity_published *v = r->v;
    double *sorted = NULL, x[3], y[3];
    int points = 0;
    GEODEC_NEW(sorted, v->starts * v->perturbations);
    for (int64_t e = 0; e < v->n_eps; e++) {
        int64_t count = 0;
        for (int64_t i = 0; i < v->starts; i++) {
            for (int64_t p = 0; p < v->perturbations; p++) {
                const int64_t at = (i * v->n_eps + e) * v->perturbations + p;
                if (v->error[at] >= 0)
                    sorted[count++] = v->error[at], v->shift[e] += r->shift[at];
                else
                    v->broken[e]++;
            }
        }
        if (count == 0) continue;
        v->shift[e] /= (double)count;
        v->mean[e] = geodec_stats_mean(count, sorted);
        geodec_stats_sort(count, sorted);
        v->median[e] = geodec_stats_percentile(count, sorted, 0.5);
        v->p95[e] = geodec_stats_percentile(count, sorted, 0.95);
        if (points < 3 && v->mean[e] > 1e-12) {
            x[points] = log(v->eps[e]);
            y[points++] = log(v->mean[e]);
        }
        for (int64_t t = 0; t < v->n_tau; t++)
            if (v->broken[e] == 0 && v->mean[e] <= v->tau[t]) v->radius[t] = fmax(v->radius[t], v->eps[e]);
    }
    geodec_stats_line line;
    if (points == 3 && geodec_stats_fit_line(3, x, y, NULL, &line, NULL) == GEODEC_OK) v->slope = line.slope;
done:
    geodec_mem_free(sorted);
    return st;
}

void geodec_validity_published_clear(geodec_validity_published *v)
{
    GEODEC_FREE(v->eps, v->tau, v->x_T, v->phi, v->error, v->mean, v->median, v->p95, v->shift, v->radius, v->broken);
    *v = (geodec_validity_published){0};
}

static geodec_status input_ok(const geodec_published_perturbations *p, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t max = (int64_t)1 << 30;
    if (n < 1 || n > GEODEC_PUBLISHED_MAX_N || p->starts < 1 || p->n_eps < 1 || p->perturbations < 1 || p->n_tau < 1 ||
        p->steps < 1 || p->steps > 100000 || !(p->dl > 0) || !isfinite(p->dl) || p->starts > max / p->n_eps ||
        p->starts * p->n_eps > max / p->perturbations)
        GEODEC_THROW(GEODEC_RANGE, "published validity of %lld starts, %lld lengths, %lld perturbations, %lld steps",
                     (long long)p->starts, (long long)p->n_eps, (long long)p->perturbations, (long long)p->steps);
    for (int64_t e = 0; e < p->n_eps; e++)
        if (!(p->eps[e] > (e ? p->eps[e - 1] : 0)))
            GEODEC_THROW(GEODEC_RANGE, "perturbation lengths must rise from above 0");
    if (!geodec__finite(p->starts * n, p->x0) || !geodec__finite(p->starts * n, p->v0) ||
        !geodec__finite(p->starts * p->n_eps * p->perturbations * n, p->delta0))
        GEODEC_THROW(GEODEC_NUMERIC, "starts or perturbations that are not finite");
done:
    return st;
}

static geodec_status compute(const geodec_harness_manifold *m, const geodec_space *s,
                             const geodec_published_perturbations *p, geodec_pool *pool, const geodec_hooks *hooks,
                             geodec_validity_published *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m ? m->n : s->n, all = p->starts * p->n_eps * p->perturbations;
    geodec_validity_published v = {
        .starts = p->starts, .n = n, .n_eps = p->n_eps, .perturbations = p->perturbations, .n_tau = p->n_tau};
    run r = {.m = m, .s = s, .p = p, .v = &v};
    GEODEC_TRY(input_ok(p, n, err));
    GEODEC_NEW(v.eps, p->n_eps);
    GEODEC_NEW(v.tau, p->n_tau);
    GEODEC_NEW(v.x_T, p->starts * n);
    GEODEC_NEW(v.phi, p->starts * n * n);
    GEODEC_NEW_EACH(all, v.error, r.shift);
    GEODEC_NEW_EACH(p->n_eps, v.mean, v.median, v.p95, v.shift, v.broken);
    GEODEC_NEW(v.radius, p->n_tau);
    memcpy(v.eps, p->eps, (size_t)p->n_eps * sizeof *v.eps);
    memcpy(v.tau, p->tau, (size_t)p->n_tau * sizeof *v.tau);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "published starts", p->starts, start_task, &r, err));
    GEODEC_TRY(summarise(&r, err));
    GEODEC_MOVE(*out, v);
done:
    geodec_mem_free(r.shift);
    geodec_validity_published_clear(&v);
    return st;
}

geodec_status geodec_validity_published_run(const geodec_harness_manifold *m, const geodec_published_perturbations *p,
                                            geodec_pool *pool, const geodec_hooks *hooks,
                                            geodec_validity_published *out, geodec_err *err)
{
    return compute(m, NULL, p, pool, hooks, out, err);
}

geodec_status geodec_validity_published_control(const geodec_space *s, const geodec_published_perturbations *p,
                                                geodec_pool *pool, const geodec_hooks *hooks,
                                                geodec_validity_published *out, geodec_err *err)
{
    return compute(NULL, s, p, pool, hooks, out, err);
}
