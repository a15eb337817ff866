#include "lab/published/validity.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/curvature.h"
#include "geometry/geodesic.h"
#include "geometry/space_closed.h"
#include "io/foreign.h"
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
    const int64_t n = dimension(r), T = r->p->steps;
    const double *x0 = r->p->x0 + start * n, *x_T = r->v->x_T + start * n, *phi = r->v->phi + start * n * n;
    double *xs = work, *vs = xs + (T + 1) * n, *g = vs + (T + 1) * n;
    double x[GEODEC_PUBLISHED_MAX_N], miss[GEODEC_PUBLISHED_MAX_N], plain[GEODEC_PUBLISHED_MAX_N],
        moved[GEODEC_PUBLISHED_MAX_N];
    bool finite;
    *error = *shift = -1;
    for (int64_t i = 0; i < n; i++) x[i] = x0[i] + d[i];
    GEODEC_PASS(path(r, x, r->p->v0 + start * n, xs, vs, &finite, err));
    if (!finite) return GEODEC_OK;
    const double *end = xs + T * n;
    if (r->m)
        GEODEC_PASS(geodec_harness_g_at(r->m, end, g, err));
    else
        GEODEC_PASS(r->s->at(r->s, end, g, NULL, NULL, err));
    for (int64_t i = 0; i < n; i++) {
        plain[i] = end[i] - x_T[i] - d[i];
        miss[i] = end[i] - x_T[i] - geodec__dot(n, phi + i * n, d);
        moved[i] = end[i] - x0[i];
    }
    const double length = fmax(g_norm(n, g, moved), 1e-9), e = g_norm(n, g, miss) / length,
                 f = g_norm(n, g, plain) / length;
    if (isfinite(e) && isfinite(f)) *error = e, *shift = f;
    return GEODEC_OK;
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
    const int64_t max = (int64_t)1 << 30;
    if (n < 1 || n > GEODEC_PUBLISHED_MAX_N || p->starts < 1 || p->n_eps < 1 || p->perturbations < 1 || p->n_tau < 1 ||
        p->steps < 1 || p->steps > 100000 || !(p->dl > 0) || !isfinite(p->dl) || p->starts > max / p->n_eps ||
        p->starts * p->n_eps > max / p->perturbations)
        GEODEC_FAIL(GEODEC_RANGE, "published validity of %lld starts, %lld lengths, %lld perturbations, %lld steps",
                    (long long)p->starts, (long long)p->n_eps, (long long)p->perturbations, (long long)p->steps);
    for (int64_t e = 0; e < p->n_eps; e++)
        if (!(p->eps[e] > (e ? p->eps[e - 1] : 0)))
            GEODEC_FAIL(GEODEC_RANGE, "perturbation lengths must rise from above 0");
    if (!geodec__finite(p->starts * n, p->x0) || !geodec__finite(p->starts * n, p->v0) ||
        !geodec__finite(p->starts * p->n_eps * p->perturbations * n, p->delta0))
        GEODEC_FAIL(GEODEC_NUMERIC, "starts or perturbations that are not finite");
    return GEODEC_OK;
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
    GEODEC_NEW(v.x_T, p->starts * n);
    GEODEC_NEW(v.phi, p->starts * n * n);
    GEODEC_NEW_EACH(all, v.error, r.shift);
    GEODEC_NEW_EACH(p->n_eps, v.mean, v.median, v.p95, v.shift, v.broken);
    GEODEC_NEW(v.radius, p->n_tau);
    GEODEC_NEW_COPY(v.eps, p->eps, p->n_eps);
    GEODEC_NEW_COPY(v.tau, p->tau, p->n_tau);
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

/* ---- the draws --------------------------------------------------------------------------------------------------- */

void geodec_validity_published_draws_clear(geodec_validity_published_draws *d)
{
    GEODEC_FREE(d->point, d->g, d->gamma, d->x0, d->v0, d->delta0, d->eps, d->tau, d->index);
    geodec_harness_manifold_clear(&d->m);
    memset(d, 0, sizeof *d);
}

static geodec_status read_draws(const char *path, geodec_validity_published_draws *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    double steps_read, sigma = GEODEC_PUBLISHED_SPHERE_SIGMA;
    st = geodec_foreign_read(path, "/validity/sample_points", 2, shape, NULL, &d->point, err);
    d->sphere = st == GEODEC_NOTFOUND;
    if (d->sphere)
        GEODEC_TRY(geodec_foreign_read(path, "/points", 2, shape, NULL, &d->point, err));
    else
        GEODEC_TRY(st);
    const int64_t samples = shape[0], n = shape[1];
    shape[2] = shape[3] = n, shape[1] = n;
    GEODEC_TRY(geodec_foreign_read(path, d->sphere ? "/g" : "/validity/g_field", 3, shape, NULL, &d->g, err));
    GEODEC_TRY(geodec_foreign_read(path, d->sphere ? "/gamma_fd" : "/validity/gamma", 4, shape, NULL, &d->gamma, err));
    if (!d->sphere) GEODEC_TRY(geodec_foreign_attr(path, "/", "sigma", &sigma, err));
    GEODEC_TRY(geodec_harness_manifold_table(samples, n, d->point, d->g, d->gamma, sigma, &d->m, err));
    geodec_published_perturbations *p = &d->p;
    shape[0] = shape[1] = shape[2] = -1, shape[3] = n;
    GEODEC_TRY(geodec_foreign_read(path, "/validity/delta0", 4, shape, NULL, &d->delta0, err));
    p->starts = shape[0], p->n_eps = shape[1], p->perturbations = shape[2];
    GEODEC_TRY(geodec_foreign_read_i64(path, "/validity/seed_index", 1, (int64_t[]){p->starts}, 0, samples - 1,
                                       &d->index, err));
    GEODEC_TRY(geodec_foreign_read(path, "/validity/v0", 2, (int64_t[]){p->starts, n}, NULL, &d->v0, err));
    GEODEC_TRY(geodec_foreign_read(path, "/validity/eps", 1, (int64_t[]){p->n_eps}, NULL, &d->eps, err));
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(path, "/validity/tau", 1, shape, NULL, &d->tau, err));
    p->n_tau = shape[0];
    GEODEC_TRY(geodec_foreign_attr(path, "/validity", "T", &steps_read, err));
    GEODEC_TRY(geodec_foreign_attr(path, "/validity", "dl", &p->dl, err));
    if (!(steps_read >= 1 && steps_read <= 100000)) GEODEC_THROW(GEODEC_RANGE, "%s: %g steps", path, steps_read);
    p->steps = (int64_t)steps_read;
    GEODEC_NEW(d->x0, p->starts * n);
    for (int64_t i = 0; i < p->starts; i++)
        memcpy(d->x0 + i * n, d->point + d->index[i] * n, (size_t)n * sizeof *d->x0);
    p->x0 = d->x0, p->v0 = d->v0, p->delta0 = d->delta0, p->eps = d->eps, p->tau = d->tau;
done:
    return st;
}

geodec_status geodec_validity_published_draws_read(const char *path, geodec_validity_published_draws *out,
                                                   geodec_err *err)
{
    *out = (geodec_validity_published_draws){.path = path};
    const geodec_status st = read_draws(path, out, err); /* in place: the manifold stays where it is */
    if (st != GEODEC_OK) geodec_validity_published_draws_clear(out);
    return st;
}

geodec_status geodec_validity_published_sphere(geodec_validity_published_draws *d, int64_t bootstrap, uint64_t seed,
                                               geodec_pool *pool, const geodec_hooks *hooks,
                                               geodec_validity_published *rule, geodec_validity *correct,
                                               geodec_err *err)
{
    const int64_t n = d->m.n;
    const geodec_published_perturbations *p = &d->p;
    geodec_space_conformal sphere;
    geodec_validity_options o = geodec_validity_defaults();
    GEODEC_PASS(geodec_space_conformal_init(&sphere, (int32_t)n, 1, err));
    if (p->n_tau != GEODEC_VALIDITY_TAUS || p->n_eps > GEODEC_VALIDITY_EPS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: %lld tolerances, %lld lengths", d->path, (long long)p->n_tau,
                    (long long)p->n_eps);
    for (int64_t i = 0; i < p->starts; i++) {
        double square = 0, length = 0;
        for (int64_t k = 0; k < n; k++) {
            square += d->x0[i * n + k] * d->x0[i * n + k];
            length += d->v0[i * n + k] * d->v0[i * n + k];
        }
        length = sqrt(length) * 2 / (1 + square);
        if (!(length > 0)) GEODEC_FAIL(GEODEC_NUMERIC, "%s: velocity %lld is zero", d->path, (long long)i);
        for (int64_t k = 0; k < n; k++) d->v0[i * n + k] /= length;
    }
    GEODEC_PASS(geodec_validity_published_control(&sphere.base, p, pool, hooks, rule, err));
    o.path.steps = p->steps;
    o.path.dl = p->dl;
    o.perturbations = p->perturbations;
    o.n_eps = p->n_eps;
    o.bootstrap = bootstrap;
    memcpy(o.eps, p->eps, (size_t)p->n_eps * sizeof *o.eps);
    memcpy(o.tau, p->tau, sizeof o.tau);
    GEODEC_PASS(
        geodec_validity_run(&sphere.base, &o, pool, hooks, p->starts, p->x0, p->v0, p->delta0, seed, correct, err));
    return GEODEC_OK;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

/* The pointers are NULL without controls. */
typedef struct report {
    geodec_validity_published v;
    const double *control_mean, *control_slope, *correct_mean, *correct_slope;
    const geodec_validity_estimate *correct_radius;
} report;
static const geodec_rows radii = {"3", sizeof(geodec_validity_estimate), offsetof(report, correct_radius), false};
#define AT(m) GEODEC_AT(report, m)
#define IN(m) GEODEC_IN(report, m)

static const geodec_field fields[] = {
    {"/eps", GEODEC_F64, "E", 0, "1", "Euclidean lengths of the perturbations", 0, AT(v.eps)},
    {"/tau", GEODEC_F64, "K", 0, "1", "tolerances of the radii", 0, AT(v.tau)},
    {"/x_T", GEODEC_F64, "A,n", 0, "activation", "ends of the published geodesics", 0, AT(v.x_T)},
    {"/phi", GEODEC_F64, "A,n,n", 0, "1", "published propagators", 0, AT(v.phi)},
    {"/error", GEODEC_F64, "A,E,U", 0, "1", "|x_T' - (x_T + Phi_T d)| / |x_T' - x0| in g(x_T'); -1 = not finite", 0,
     AT(v.error)},
    {"/mean", GEODEC_F64, "E", 0, "1", "mean error", 0, AT(v.mean)},
    {"/median", GEODEC_F64, "E", 0, "1", "median error", 0, AT(v.median)},
    {"/p95", GEODEC_F64, "E", 0, "1", "95th percentile", 0, AT(v.p95)},
    {"/broken", GEODEC_I64, "E", 0, "1", "errors that are not finite: they take no part", 0, AT(v.broken)},
    {"/radius", GEODEC_F64, "K", 0, "1", "eps*: largest eps of the grid whose mean error is at most tau", 0,
     AT(v.radius)},
    {"/shift", GEODEC_F64, "E", 0, "1", "control: mean error of the plain shift x_T + d (Phi = I)", 0, AT(v.shift)},
    {"/control/mean", GEODEC_F64, "E", GEODEC_FIELD_OPTIONAL, "1",
     "control: mean error of the published rule with exact geodesics and true curvature", 0, AT(control_mean)},
    {"/control/correct", GEODEC_F64, "E", GEODEC_FIELD_OPTIONAL, "1",
     "control: mean error of the right linear map on the same samples", 0, AT(correct_mean)},
    {"/control/correct_radius", GEODEC_F64, "3", GEODEC_FIELD_OPTIONAL, "1", "control: its radii on the grid", 0,
     GEODEC_OF_ROWS(&radii, geodec_validity_estimate, value, 0, 0)},
};

static const geodec_attr attrs[] = {
    {"slope", GEODEC_ATTR_F64, 0,
     "log-log slope of the mean error over the smallest three eps; a right linear map has 2; 0 = not measurable",
     IN(v.slope)},
    {"control_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "of the published rule with exact geometry",
     AT(control_slope)},
    {"correct_slope", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "of the right linear map", AT(correct_slope)},
};

static const geodec_extent extents[] = {
    {"A", IN(v.starts)}, {"E", IN(v.n_eps)}, {"U", IN(v.perturbations)}, {"K", IN(v.n_tau)}, {"n", IN(v.n)}};

const geodec_kind geodec_validity_published_kind = {
    GEODEC_ABOUT("validity-ref", 1, 0, "geodec-published validity",
                 "validity radius as the published harness measures it"),
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_validity_published_write(const geodec_validity_published *v,
                                              const geodec_validity_published *control, const geodec_validity *correct,
                                              geodec_artifact *a, geodec_err *err)
{
    if ((control == NULL) != (correct == NULL) ||
        (control && (control->n_eps != v->n_eps || correct->n_eps != v->n_eps)))
        GEODEC_FAIL(GEODEC_INVAL, "the controls have another shape than the experiment");
    report r = {.v = *v};
    if (control)
        r = (report){*v, control->mean, &control->slope, correct->mean, &correct->slope.value, correct->radius};
    GEODEC_PASS(geodec_artifact_save(a, &r, err));
    return GEODEC_OK;
}
