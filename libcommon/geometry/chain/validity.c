#include "chain/validity.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "chain/validity_internal.h"
#include "linalg/chol.h"

#include <math.h>
#include <string.h>

geodec_validity_options geodec_validity_defaults(void)
{
    return (geodec_validity_options){
        .path = geodec_geodesic_defaults(),
        .propagate = geodec_propagate_defaults(),
        .perturbations = 8,
        .n_eps = 11,
        .eps = {0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 5},
        .tau = {0.05, 0.1, 0.2},
        .bootstrap = 1000,
        .slope_min = 1.8,
        .floor = 1e-12,
    };
}

void geodec_validity_grid(geodec_validity_options *o, int64_t n, double low, double high)
{
    o->n_eps = n < GEODEC_VALIDITY_EPS_MAX ? n : GEODEC_VALIDITY_EPS_MAX;
    for (int64_t e = 0; e < o->n_eps; e++) o->eps[e] = low * pow(high / low, (double)e / (double)(o->n_eps - 1));
    o->eps[o->n_eps - 1] = high;
}

geodec_status geodec_validity_direction(const geodec_space *s, const double *x, uint64_t seed, uint64_t stream,
                                        double *u, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n;
    double *block = NULL;
    GEODEC_NEW(block, n * n + 2 * n);
    double *g = block, *z = g + n * n, *b = z + n;
    geodec_rng r = geodec_rng_stream(seed, stream);
    GEODEC_TRY(s->at(s, x, g, NULL, NULL, err));
    GEODEC_TRY(geodec_chol_factor(n, g, err));
    for (int64_t i = 0; i < n; i++) z[i] = geodec_rng_normal(&r);
    const double length = sqrt(geodec__dot(n, z, z));
    if (!(length > 0)) GEODEC_THROW(GEODEC_NUMERIC, "a normal sample of length zero");
    /* L L^T u = L (z / |z|) */
    for (int64_t i = 0; i < n; i++) b[i] = geodec__dot(i + 1, g + i * n, z) / length;
    geodec_chol_solve(n, g, 1, b);
    memcpy(u, b, (size_t)n * sizeof *u);
done:
    geodec_mem_free(block);
    return st;
}

geodec_status geodec__validity_reference(const geodec_space *s, const geodec_validity_options *o, const double *x0,
                                         const double *v0, double *x_T, double *phi, uint8_t *status, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, T = o->path.steps;
    double *block = NULL;
    geodec_path_report path;
    geodec_propagate_report report;
    GEODEC_NEW(block, (T + 1) * n * (n + 2));
    double *xs = block, *vs = xs + (T + 1) * n, *all = vs + (T + 1) * n;
    GEODEC_TRY(geodec_geodesic_path(s, &o->path, x0, v0, xs, vs, NULL, &path, err));
    *status = (uint8_t)path.status;
    if (x_T) memcpy(x_T, xs + T * n, (size_t)n * sizeof *xs);
    if (path.status == GEODEC_PATH_NONFINITE) goto done;
    GEODEC_TRY(geodec_propagate_path(s, &o->propagate, T, o->path.dl, T, xs, vs, all, NULL, &report, err));
    if (report.broken)
        *status = GEODEC_PATH_NONFINITE;
    else
        memcpy(phi, all + T * n * n, (size_t)(n * n) * sizeof *phi);
done:
    geodec_mem_free(block);
    return st;
}

geodec_status geodec_validity_error(const geodec_space *s, const geodec_geodesic_options *o,
                                    const geodec_validity_start *start, const double *d, geodec_validity_miss *out,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, T = o->steps;
    double *block = NULL;
    geodec_path_report report;
    *out = (geodec_validity_miss){-1, -1, -1};
    GEODEC_NEW(block, 2 * (T + 1) * n + n * n + 4 * n);
    double *xs = block, *vs = xs + (T + 1) * n, *g = vs + (T + 1) * n, *x = g + n * n, *miss = x + n, *shift = miss + n,
           *moved = shift + n;
    for (int64_t i = 0; i < n; i++) x[i] = start->x0[i] + d[i];
    st = geodec_geodesic_path(s, o, x, start->v0, xs, vs, NULL, &report, NULL);
    if (st == GEODEC_NUMERIC) { /* the moved start lies outside the chart */
        st = GEODEC_OK;
        goto done;
    }
    GEODEC_TRY(st);
    const double *end = xs + T * n;
    if (report.status == GEODEC_PATH_NONFINITE) goto done;
    GEODEC_TRY(s->at(s, end, g, NULL, NULL, err)); /* the space has already been evaluated there */
    for (int64_t i = 0; i < n; i++) {
        miss[i] = end[i] - start->x_T[i] - geodec__dot(n, start->phi + i * n, d);
        shift[i] = end[i] - start->x_T[i] - d[i];
        moved[i] = end[i] - start->x0[i];
    }
    const double length = sqrt(geodec__norm2(n, g, moved)), m = sqrt(geodec__norm2(n, g, miss)),
                 e = sqrt(geodec__norm2(n, g, shift));
    if (length > 0 && isfinite(m / length) && isfinite(e / length))
        *out = (geodec_validity_miss){.error = m / length, .shift = e / length, .miss = m};
done:
    geodec_mem_free(block);
    return st;
}

geodec_status geodec__validity_refine(geodec__mean_error_fn fn, void *ctx, double tau, double low, double mean_low,
                                      double high, double mean_high, double *radius, geodec_err *err)
{
    double mean = 0;
    for (bool halve = false; high > 1.01 * low; halve = !halve) {
        double t = 0.5;
        if (!halve && mean_low > 0 && isfinite(mean_high)) {
            t = log(tau / mean_low) / log(mean_high / mean_low);
            t = t > 0.02 && t < 0.98 ? t : t <= 0.02 ? 0.02 : t >= 0.98 ? 0.98 : 0.5;
        }
        const double eps = low * pow(high / low, t);
        GEODEC_PASS(fn(ctx, eps, &mean, err));
        if (fabs(mean / tau - 1) <= 0.02) { /* second order: eps is within 1 % */
            low = eps;
            break;
        }
        if (mean <= tau) {
            low = eps;
            mean_low = mean;
        } else {
            high = eps;
            mean_high = mean;
        }
    }
    *radius = low;
    return GEODEC_OK;
}

typedef struct one_start {
    const geodec_space *s;
    const geodec_geodesic_options *o;
    const geodec_validity_start *start;
    int64_t n_directions;
    const double *u;
    double length; /* 0 = relative error */
    double *d;     /* [n] scratch */
} one_start;

static geodec_status mean_of_start(void *ctx, double eps, double *mean, geodec_err *err)
{
    const one_start *c = ctx;
    const int64_t n = c->s->n;
    double sum = 0;
    for (int64_t k = 0; k < c->n_directions && isfinite(sum); k++) {
        geodec_validity_miss m;
        for (int64_t i = 0; i < n; i++) c->d[i] = eps * c->u[k * n + i];
        GEODEC_PASS(geodec_validity_error(c->s, c->o, c->start, c->d, &m, err));
        sum += m.error < 0 ? INFINITY : c->length > 0 ? m.miss / c->length : m.error;
    }
    *mean = sum / (double)c->n_directions;
    return GEODEC_OK;
}

geodec_status geodec_validity_radius(const geodec_space *s, const geodec_geodesic_options *o,
                                     const geodec_validity_start *start, int64_t n_directions, const double *u,
                                     double length, double tau, double eps_min, double eps_max, double *radius,
                                     geodec_censored *censored, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *d = NULL, low = 0, high = 0, mean_low = 0, mean_high = 0;
    if (n_directions < 1 || !(length >= 0) || !(tau > 0) || !(eps_min > 0) || !(eps_max > eps_min) ||
        !isfinite(eps_max))
        GEODEC_THROW(GEODEC_RANGE, "%lld directions, tau %g, eps in [%g, %g]", (long long)n_directions, tau, eps_min,
                     eps_max);
    GEODEC_NEW(d, s->n);
    one_start c = {s, o, start, n_directions, u, length, d};
    geodec_censored flag = GEODEC_CENSORED_NONE;
    double eps = sqrt(eps_min * eps_max), mean, value = 0;
    while (!(low > 0 && high > 0)) { /* bracket by quadrupling from the middle of the range */
        GEODEC_TRY(mean_of_start(&c, eps, &mean, err));
        if (mean <= tau) {
            low = eps, mean_low = mean;
            if (eps >= eps_max) {
                flag = GEODEC_CENSORED_ABOVE;
                break;
            }
            eps = fmin(4 * eps, eps_max);
        } else {
            high = eps, mean_high = mean;
            if (eps <= eps_min) {
                flag = GEODEC_CENSORED_BELOW;
                break;
            }
            eps = fmax(eps / 4, eps_min);
        }
    }
    if (flag == GEODEC_CENSORED_NONE)
        GEODEC_TRY(geodec__validity_refine(mean_of_start, &c, tau, low, mean_low, high, mean_high, &value, err));
    else
        value = flag == GEODEC_CENSORED_ABOVE ? eps_max : eps_min;
    *radius = value;
    *censored = flag;
done:
    geodec_mem_free(d);
    return st;
}

/* ---- the step length --------------------------------------------------------------------------------------------- */

typedef struct settle {
    const geodec_space *s;
    geodec_validity_options o; /* of the current pass */
    int64_t n;
    const double *x0, *v0;
    double *phi;     /* [starts][n][n] */
    uint8_t *status; /* [starts] */
} settle;

static geodec_status propagator_task(void *ctx, int64_t i, geodec_err *err)
{
    settle *w = ctx;
    const int64_t n = w->n;
    return geodec__validity_reference(w->s, &w->o, w->x0 + i * n, w->v0 + i * n, NULL, w->phi + i * n * n,
                                      &w->status[i], err);
}

/* Largest relative change of a propagator in the Frobenius norm; a path that breaks down at only one of the two steps
 * counts as 1. */
static double change_of(const settle *w, int64_t starts, const double *before, const uint8_t *status_before)
{
    double worst = 0;
    for (int64_t i = 0; i < starts; i++) {
        const bool broken = w->status[i] == GEODEC_PATH_NONFINITE, was = status_before[i] == GEODEC_PATH_NONFINITE;
        double difference = 0, size = 0;
        if (broken != was) worst = fmax(worst, 1);
        if (broken || was) continue;
        for (int64_t j = i * w->n * w->n; j < (i + 1) * w->n * w->n; j++) {
            difference += (w->phi[j] - before[j]) * (w->phi[j] - before[j]);
            size += w->phi[j] * w->phi[j];
        }
        worst = fmax(worst, sqrt(difference / size));
    }
    return worst;
}

geodec_status geodec_validity_settle(const geodec_space *s, geodec_validity_options *o, geodec_pool *pool,
                                     const geodec_hooks *hooks, int64_t starts, const double *x0, const double *v0,
                                     double tolerance, int most, int *halvings, double *change, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t size = starts * s->n * s->n;
    settle w = {.s = s, .o = *o, .n = s->n, .x0 = x0, .v0 = v0};
    double *before = NULL;
    uint8_t *status_before = NULL;
    GEODEC_NEW(w.phi, size);
    GEODEC_NEW(w.status, starts);
    GEODEC_NEW(before, size);
    GEODEC_NEW(status_before, starts);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "step length", starts, propagator_task, &w, err));
    *change = 0;
    for (*halvings = 0; *halvings < most; ++*halvings) {
        memcpy(before, w.phi, (size_t)size * sizeof *before);
        memcpy(status_before, w.status, (size_t)starts * sizeof *w.status);
        *o = w.o;
        w.o.path.steps *= 2;
        w.o.path.dl /= 2;
        GEODEC_TRY(geodec__tasks_run(pool, hooks, "step length", starts, propagator_task, &w, err));
        *change = change_of(&w, starts, before, status_before);
        if (*change <= tolerance) goto done;
    }
    *o = w.o;
done:
    GEODEC_FREE(w.phi, w.status, before, status_before);
    return st;
}
