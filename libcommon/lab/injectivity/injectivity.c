#include "lab/injectivity/injectivity.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "chain/validity.h"
#include "geometry/curvature.h"
#include "geometry/propagate.h"
#include "geometry/space_closed.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/eig.h"
#include "linalg/stats.h"
#include "linalg/svd.h"

#include <math.h>
#include <string.h>

enum {
    MAX_N = GEODEC_SPACE_DIM_MAX,
    SECTIONAL_MAX_N = 24,
    PERMUTATIONS = 2000,
    NEIGHBOURS = 12,
    NEWTON = 12,
    CONNECT_STEPS = 8
};

geodec_injectivity_options geodec_injectivity_defaults(void)
{
    return (geodec_injectivity_options){.anchors = 16, .directions = 3, .steps = 32, .tau = 0.05, .seed = 1};
}

void geodec_injectivity_clear(geodec_injectivity *r)
{
    geodec_mem_free(r->anchor);
    *r = (geodec_injectivity){0};
}

static geodec_geodesic_options path_options(int64_t steps, double dl)
{
    geodec_geodesic_options o = geodec_geodesic_defaults();
    o.steps = steps;
    o.dl = dl;
    return o;
}

/* A geodesic with its flow. */
typedef struct ray {
    double *block, *xs, *vs, *phi, *flow;
    geodec_path_report report;
} ray;

static geodec_status ray_new(int64_t n, int64_t steps, ray *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t nodes = steps + 1;
    GEODEC_NEW(r->block, nodes * (2 * n + n * n + 4 * n * n));
    r->xs = r->block;
    r->vs = r->xs + nodes * n;
    r->phi = r->vs + nodes * n;
    r->flow = r->phi + nodes * n * n;
done:
    return st;
}

static geodec_status ray_shoot(const geodec_space *s, const double *x0, const double *v0, double length, int64_t steps,
                               ray *r, geodec_err *err)
{
    const geodec_geodesic_options o = path_options(steps, length / (double)steps);
    const geodec_propagate_options p = geodec_propagate_defaults();
    geodec_propagate_report report;
    GEODEC_PASS(geodec_geodesic_path(s, &o, x0, v0, r->xs, r->vs, NULL, &r->report, err));
    /* a path towards the chart's point at infinity has no propagator there: shorten it until it has one */
    for (;;) {
        GEODEC_PASS(
            geodec_propagate_path(s, &p, steps, o.dl, r->report.good, r->xs, r->vs, r->phi, r->flow, &report, err));
        if (!report.broken) break;
        if (r->report.good < 2) GEODEC_FAIL(GEODEC_NUMERIC, "no propagator at the start of a geodesic");
        r->report.status = GEODEC_PATH_NONFINITE;
        r->report.good /= 2;
    }
    return GEODEC_OK;
}

/* ---- conjugate points -------------------------------------------------------------------------------------------- */

/* L of g = L L^T at x */
static geodec_status frame(const geodec_space *s, const double *x, double *l, geodec_err *err)
{
    geodec_status st = s->at(s, x, l, NULL, NULL, err);
    if (st == GEODEC_OK) st = geodec_chol_factor(s->n, l, err);
    return st;
}

/* First reflection of the polar factor of dx(t)/dv0 in orthonormal frames. */
static geodec_status conjugate_on(const geodec_space *s, const ray *r, double reach, int64_t steps, double *t,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, n2 = n * n;
    double *block = NULL;
    GEODEC_NEW(block, 9 * n2 + n);
    double *l0 = block, *l = l0 + n2, *j = l + n2, *tmp = j + n2, *u = tmp + n2, *vt = u + n2, *q = vt + n2,
           *last = q + n2, *start = last + n2, *sv = start + n2;
    double least = 0;
    *t = reach;
    GEODEC_TRY(frame(s, r->xs, l0, err));
    for (int64_t i = 0; i < n; i++) start[i * n + i] = 1;
    geodec_chol_solve_lower(n, l0, n, start); /* row a: L0^-1 e_a, so start = L0^-T */
    for (int64_t k = 1; k <= r->report.good; k++) {
        const double *f = r->flow + k * 4 * n2;
        GEODEC_TRY(frame(s, r->xs + k * n, l, err));
        for (int64_t a = 0; a < n; a++) memcpy(tmp + a * n, f + a * 2 * n + n, (size_t)n * sizeof *tmp);
        geodec_blas_gemm(false, false, n, n, n, 1, tmp, n, start, n, 0, q, n);
        geodec_blas_gemm(true, false, n, n, n, 1, l, n, q, n, 0, j, n);
        if (!geodec__finite(n2, j)) break;
        GEODEC_TRY(geodec_svd_thin(n, n, j, u, sv, vt, err));
        geodec_blas_gemm(false, false, n, n, n, 1, u, n, vt, n, 0, q, n);
        if (k > 1) {
            const double turn = geodec__dot(n2, q, last);
            if (turn < (double)n - 1) {
                const double dl = reach / (double)steps;
                *t = dl * ((double)(k - 1) + least / (least + sv[n - 1]));
                break;
            }
        }
        memcpy(last, q, (size_t)n2 * sizeof *last);
        least = sv[n - 1];
    }
done:
    geodec_mem_free(block);
    return st;
}

geodec_status geodec_injectivity_conjugate(const geodec_space *s, const double *x0, const double *v0, double reach,
                                           int64_t steps, double *t, double *good, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    ray r = {0};
    GEODEC_TRY(ray_new(s->n, steps, &r, err));
    GEODEC_TRY(ray_shoot(s, x0, v0, reach, steps, &r, err));
    GEODEC_TRY(conjugate_on(s, &r, reach, steps, t, err));
    if (good) *good = reach * (double)r.report.good / (double)steps;
done:
    geodec_mem_free(r.block);
    return st;
}

/* ---- other geodesics to the same point --------------------------------------------------------------------------- */

static double g_length(const geodec_space *s, const double *x, const double *v)
{
    double g[MAX_N * MAX_N];
    return s->at(s, x, g, NULL, NULL, NULL) == GEODEC_OK ? sqrt(fmax(geodec__norm2(s->n, g, v), 0)) : INFINITY;
}

/* Solves exp_p(w) = q from the given w by Levenberg's damping of Newton's method. *solved: |exp_p(w) - q| below 1e-7 of
 * |w| in g. Breakdowns are no errors. Few steps are enough: other solutions differ by 1 %, not by 1e-7. */
static void connect(const geodec_space *s, const double *p, const double *q, ray *r, double *w, bool *solved)
{
    const int64_t n = s->n, steps = CONNECT_STEPS;
    double miss[MAX_N], next[MAX_N], step[MAX_N], a[MAX_N * MAX_N], damping = 1e-12, best = INFINITY;
    *solved = false;
    memcpy(next, w, (size_t)n * sizeof *next);
    for (int k = 0; k < NEWTON; k++) {
        double size = INFINITY;
        if (geodec__finite(n, next) && ray_shoot(s, p, next, 1, steps, r, NULL) == GEODEC_OK &&
            r->report.good == steps) {
            const double *end = r->xs + steps * n;
            for (int64_t i = 0; i < n; i++) miss[i] = q[i] - end[i];
            size = g_length(s, q, miss);
        }
        if (!(size < best)) { /* worse, or broken: back, with more damping */
            damping = fmax(damping * 100, 1e-6);
            if (damping > 1e6 || best == INFINITY) return;
            for (int64_t i = 0; i < n; i++) next[i] = w[i] + (step[i] *= 0.25);
            continue;
        }
        best = size;
        damping *= 0.01;
        memcpy(w, next, (size_t)n * sizeof *next);
        if (best <= 1e-7 * g_length(s, p, w)) {
            *solved = true;
            return;
        }
        const double *f = r->flow + steps * 4 * n * n;
        double top = 0;
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t j = 0; j < n; j++) sum += f[j * 2 * n + n + i] * miss[j];
            step[i] = sum;
            for (int64_t c = 0; c < n; c++) {
                double v = 0;
                for (int64_t j = 0; j < n; j++) v += f[j * 2 * n + n + i] * f[j * 2 * n + n + c];
                a[i * n + c] = v;
            }
            top = fmax(top, a[i * n + i]);
        }
        for (int64_t i = 0; i < n; i++) a[i * n + i] += (damping + 1e-14) * top;
        if (geodec_chol_factor(n, a, NULL) != GEODEC_OK) return;
        geodec_chol_solve(n, a, 1, step);
        for (int64_t i = 0; i < n; i++) next[i] = w[i] + step[i];
    }
}

/* Whether another geodesic, not longer, connects p and exp_p(r v): searched from the straight line of the chart. */
static bool is_met(const geodec_space *s, const double *p, const double *v, const double *end, double r, ray *work)
{
    const int64_t n = s->n;
    double w[MAX_N], gap[MAX_N];
    bool solved;
    for (int64_t i = 0; i < n; i++) w[i] = end[i] - p[i];
    connect(s, p, end, work, w, &solved);
    if (!solved) return false;
    for (int64_t i = 0; i < n; i++) gap[i] = w[i] - r * v[i];
    return g_length(s, p, gap) > 1e-2 * r && g_length(s, p, w) <= r * (1 - 1e-6);
}

/* The least r at which it is met, by bisection over the nodes; the reach when the end is not met. */
static void meeting_on(const geodec_space *s, const ray *of, double reach, int64_t steps, ray *work, double *t)
{
    const int64_t n = s->n;
    const double dl = reach / (double)steps;
    int64_t low = 0, high = of->report.good;
    *t = reach;
    if (high < 2 || !is_met(s, of->xs, of->vs, of->xs + high * n, dl * (double)high, work)) return;
    while (high - low > 1) {
        const int64_t mid = low + (high - low) / 2;
        if (is_met(s, of->xs, of->vs, of->xs + mid * n, dl * (double)mid, work))
            high = mid;
        else
            low = mid;
    }
    *t = dl * (double)high;
}

/* Half the length of the shortest loop found: along the periods of the chart, and where a ray returns to its start. */
static void loops(const geodec_space *s, const double *p, const double *period, const ray *rays, int64_t count,
                  double reach, int64_t steps, ray *work, double *half)
{
    const int64_t n = s->n;
    double w[MAX_N], q[MAX_N];
    bool solved;
    for (int64_t i = 0; period && i < n; i++) {
        if (!(period[i] > 0)) continue;
        memset(w, 0, sizeof w);
        memcpy(q, p, (size_t)n * sizeof *q);
        w[i] = period[i];
        q[i] += period[i];
        connect(s, p, q, work, w, &solved);
        if (solved) *half = fmin(*half, 0.5 * g_length(s, p, w));
    }
    for (int64_t d = 0; d < count; d++) {
        double far = 0, near = INFINITY;
        int64_t at = 0;
        for (int64_t k = 1; k <= rays[d].report.good; k++) {
            for (int64_t i = 0; i < n; i++) w[i] = rays[d].xs[k * n + i] - p[i];
            const double size = g_length(s, p, w);
            if (size > far) {
                far = size;
                near = INFINITY; /* a return is counted from the farthest point on */
            } else if (size < near) {
                near = size;
                at = k;
            }
        }
        if (at == 0 || near > 0.5 * far) continue;
        const double t = reach * (double)at / (double)steps;
        for (int64_t i = 0; i < n; i++) w[i] = t * rays[d].vs[i];
        connect(s, p, p, work, w, &solved);
        const double length = g_length(s, p, w);
        if (solved && length > 0.25 * t) *half = fmin(*half, 0.5 * length);
    }
}

/* ---- sectional curvature ----------------------------------------------------------------------------------------- */

/* B_bd = R(u, b, u, d), whose largest eigenvalue over vectors normal to u is the largest curvature of a plane with u.
 */
static void with_vector(int64_t n, const double *low, const double *u, double *b)
{
    const int64_t n2 = n * n, n3 = n2 * n;
    memset(b, 0, (size_t)n2 * sizeof *b);
    for (int64_t a = 0; a < n; a++)
        for (int64_t q = 0; q < n; q++)
            for (int64_t c = 0; c < n; c++)
                for (int64_t d = 0; d < n; d++) b[q * n + d] += u[a] * u[c] * low[a * n3 + q * n2 + c * n + d];
}

geodec_status geodec_injectivity_sectional(const geodec_space *s, const double *x, uint64_t seed, double *k_max,
                                           double *k_operator, geodec_err *err)
{
    enum { STARTS = 6, ROUNDS = 30 };
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n, pairs = n * (n - 1) / 2;
    double *block = NULL;
    geodec_curvature_invariants inv;
    *k_max = *k_operator = 0;
    if (n < 2) goto done;
    if (n > SECTIONAL_MAX_N)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "dimension %lld is above %d", (long long)n, SECTIONAL_MAX_N);
    GEODEC_NEW(block, 2 * n4 + 4 * n2 + 2 * n + pairs * pairs + pairs);
    double *r = block, *t = r + n4, *l = t + n4, *e = l + n2, *b = e + n2, *vec = b + n2, *w = vec + n2, *u = w + n,
           *op = u + n, *ow = op + pairs * pairs;
    GEODEC_TRY(geodec_curvature_at(s, x, r, NULL, &inv, err));
    GEODEC_TRY(frame(s, x, l, err));
    for (int64_t i = 0; i < n; i++) e[i * n + i] = 1;
    geodec_chol_solve_lower(n, l, n, e); /* e = L^-T: columns are the frame */
    /* each product contracts the last index with the frame and brings it to the front; the upper index takes L^T */
    geodec_blas_gemm(true, true, n, n3, n, 1, e, n, r, n, 0, t, n3);
    geodec_blas_gemm(true, true, n, n3, n, 1, e, n, t, n, 0, r, n3);
    geodec_blas_gemm(true, true, n, n3, n, 1, e, n, r, n, 0, t, n3);
    geodec_blas_gemm(true, true, n, n3, n, 1, l, n, t, n, 0, r, n3);
    *k_max = inv.sectional_max;
    geodec_rng g = geodec_rng_stream(seed, geodec_rng_id("sectional", 0));
    for (int start = 0; start < STARTS; start++) {
        double size = 0, last = -INFINITY;
        for (int64_t i = 0; i < n; i++) u[i] = geodec_rng_normal(&g);
        size = sqrt(geodec__dot(n, u, u));
        for (int64_t i = 0; i < n; i++) u[i] /= size;
        for (int k = 0; k < ROUNDS; k++) {
            with_vector(n, r, u, b);
            /* u itself has the value 0, which must not be the largest where the curvature of all planes with u is
             * negative */
            const double away = 2 * geodec__largest(n2, b) * (double)n;
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++) b[i * n + j] -= away * u[i] * u[j];
            GEODEC_TRY(geodec_eig_sym(n, b, w, vec, err));
            *k_max = fmax(*k_max, w[n - 1]);
            if (w[n - 1] - last <= 1e-12 * fabs(w[n - 1])) break;
            last = w[n - 1];
            memcpy(u, vec + (n - 1) * n, (size_t)n * sizeof *u);
        }
    }
    for (int64_t a = 0, p = 0; a < n; a++)
        for (int64_t q = a + 1; q < n; q++, p++)
            for (int64_t c = 0, o = 0; c < n; c++)
                for (int64_t d = c + 1; d < n; d++, o++)
                    op[p * pairs + o] = 0.5 * (r[a * n3 + q * n2 + c * n + d] + r[c * n3 + d * n2 + a * n + q]);
    GEODEC_TRY(geodec_eig_values(pairs, op, ow, err));
    *k_operator = fmax(ow[pairs - 1], *k_max);
done:
    geodec_mem_free(block);
    return st;
}

/* ---- the heat-kernel estimate ------------------------------------------------------------------------------------ */

static double kernel_at(const geodec_space *s, const double *x, const double *y, double tau)
{
    double mid[MAX_N], v[MAX_N];
    for (int64_t i = 0; i < s->n; i++) {
        mid[i] = 0.5 * (x[i] + y[i]);
        v[i] = y[i] - x[i];
    }
    const double d = g_length(s, mid, v);
    return exp(-d * d / (4 * tau));
}

static geodec_status raw_estimate(const geodec_space *s, int64_t points, const double *point, int64_t anchor,
                                  double tau, double *raw, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n;
    double near[NEIGHBOURS], z[MAX_N], w[MAX_N], mean[MAX_N] = {0}, *grad = NULL, *cov = NULL, size = 0;
    int64_t index[NEIGHBOURS], count = 0;
    GEODEC_NEW(grad, NEIGHBOURS * n);
    GEODEC_NEW(cov, n * n);
    const double *x = point + anchor * n;
    double g[MAX_N * MAX_N], v[MAX_N];
    GEODEC_TRY(s->at(s, x, g, NULL, NULL, err));
    for (int64_t j = 0; j < points; j++) { /* nearest in the anchor's metric, ties by index */
        if (j == anchor) continue;
        for (int64_t i = 0; i < n; i++) v[i] = point[j * n + i] - x[i];
        geodec__keep_nearest(NEIGHBOURS, &count, near, index, geodec__norm2(n, g, v), j);
    }
    if (count < 3) GEODEC_THROW(GEODEC_RANGE, "%lld points are too few", (long long)points);
    memcpy(z, x, (size_t)n * sizeof *z);
    for (int64_t q = 0; q < count; q++) {
        const double *y = point + index[q] * n, a = kernel_at(s, x, y, tau);
        size += a * a;
        for (int64_t i = 0; i < n; i++) {
            z[i] = x[i] + s->fd_step;
            const double up = kernel_at(s, z, y, tau);
            z[i] = x[i] - s->fd_step;
            grad[q * n + i] = (up - kernel_at(s, z, y, tau)) / (2 * s->fd_step);
            z[i] = x[i];
            mean[i] += grad[q * n + i] / (double)count;
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double c = 0;
            for (int64_t q = 0; q < count; q++) c += (grad[q * n + i] - mean[i]) * (grad[q * n + j] - mean[j]);
            cov[i * n + j] = c / (double)(count - 1);
        }
    GEODEC_TRY(geodec_eig_values(n, cov, w, err));
    *raw = w[n - 1] > 0 && size > 0 ? M_PI / (sqrt(w[n - 1]) * sqrt(size)) : 0;
done:
    GEODEC_FREE(grad, cov);
    return st;
}

static double pearson(int64_t count, const double *x, const double *y)
{
    double mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (int64_t i = 0; i < count; i++) {
        mx += x[i] / (double)count;
        my += y[i] / (double)count;
    }
    for (int64_t i = 0; i < count; i++) {
        xx += (x[i] - mx) * (x[i] - mx);
        yy += (y[i] - my) * (y[i] - my);
        xy += (x[i] - mx) * (y[i] - my);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

void geodec_injectivity_leave_one_out(int64_t total, const double *raw_all, const double *target_all,
                                      const uint8_t *use, uint64_t seed, geodec_injectivity_held_out *out)
{
    int64_t count = 0;
    *out = (geodec_injectivity_held_out){0};
    double *raw = geodec_mem_new(total, sizeof *raw), *y = geodec_mem_new(total, sizeof *y),
           *held = geodec_mem_new(total, sizeof *held);
    if (!raw || !y || !held) goto done;
    for (int64_t i = 0; i < total; i++) {
        if (use && !use[i]) continue;
        raw[count] = raw_all[i];
        y[count++] = target_all[i];
    }
    out->count = count;
    if (count < 3) goto done;
    double xx = 0, xy = 0, sum = 0;
    for (int64_t i = 0; i < count; i++) {
        xx += raw[i] * raw[i];
        xy += raw[i] * y[i];
        sum += y[i];
    }
    if (!(xx > 0)) goto done;
    out->C = xy / xx;
    const double each = 1 / (double)count;
    for (int64_t i = 0; i < count; i++) {
        const double rest = xx - raw[i] * raw[i];
        held[i] = rest > 0 ? (xy - raw[i] * y[i]) / rest * raw[i] : 0;
        out->mape_in += each * fabs(out->C * raw[i] - y[i]) / y[i];
        out->mape_out += each * fabs(held[i] - y[i]) / y[i];
        out->mape_constant += each * fabs((sum - y[i]) / (double)(count - 1) - y[i]) / y[i];
    }
    out->r_in = pearson(count, raw, y);
    out->r_out = pearson(count, held, y);
    int64_t reached = 0;
    for (uint64_t k = 0; k < PERMUTATIONS; k++) {
        geodec_rng g = geodec_rng_stream(seed, geodec_rng_id("injectivity-permutation", k));
        memcpy(held, raw, (size_t)count * sizeof *held);
        for (int64_t i = count - 1; i > 0; i--) {
            const int64_t j = (int64_t)geodec_rng_below(&g, (uint64_t)i + 1);
            const double swap = held[i];
            held[i] = held[j];
            held[j] = swap;
        }
        reached += fabs(pearson(count, held, y)) >= fabs(out->r_in) - 1e-12;
    }
    out->p = (double)(reached + 1) / (PERMUTATIONS + 1);
done:
    GEODEC_FREE(raw, y, held);
}

/* ---- one anchor -------------------------------------------------------------------------------------------------- */

typedef struct job {
    const geodec_space *s;
    const geodec_injectivity_options *o;
    const double *point, *period;
    int64_t points;
    double reach, kernel;
    geodec_injectivity_anchor *anchor;
} job;

static geodec_status validity_of(const job *j, const ray *r, geodec_injectivity_anchor *a, geodec_err *err)
{
    enum { DIRECTIONS = 4 };
    const int64_t n = j->s->n, steps = j->o->steps, half = steps / 2;
    double u[DIRECTIONS * MAX_N];
    geodec_censored censored;
    const geodec_geodesic_options o = path_options(half, j->reach / (double)steps);
    const geodec_validity_start start = {r->xs, r->vs, r->xs + half * n, r->phi + half * n * n};
    for (int d = 0; d < DIRECTIONS; d++)
        GEODEC_PASS(geodec_validity_direction(
            j->s, r->xs, j->o->seed, geodec_rng_id("injectivity-validity", (uint64_t)(a->point * DIRECTIONS + d)),
            u + d * n, err));
    GEODEC_PASS(geodec_validity_radius(j->s, &o, &start, DIRECTIONS, u, 0, j->o->tau, 1e-4 * j->reach, 4 * j->reach,
                                       &a->validity, &censored, err));
    a->validity_censored = censored != GEODEC_CENSORED_NONE;
    return GEODEC_OK;
}

static geodec_status anchor_task(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *j = ctx;
    geodec_injectivity_anchor *a = &j->anchor[task];
    const int64_t n = j->s->n, D = j->o->directions, steps = j->o->steps;
    const double *x = j->point + a->point * n;
    ray *rays = NULL, work = {0};
    double v[MAX_N], t, k, top;
    GEODEC_NEW(rays, D);
    GEODEC_TRY(ray_new(n, CONNECT_STEPS, &work, err));
    a->conjugate = a->meeting = j->reach;
    a->half_loop = INFINITY;
    a->k_max = a->k_operator = -INFINITY;
    for (int64_t d = 0; d < D; d++) {
        GEODEC_TRY(ray_new(n, steps, &rays[d], err));
        GEODEC_TRY(geodec_validity_direction(j->s, x, j->o->seed,
                                             geodec_rng_id("injectivity", (uint64_t)(a->point * D + d)), v, err));
        GEODEC_TRY(ray_shoot(j->s, x, v, j->reach, steps, &rays[d], err));
        a->broken += rays[d].report.status != GEODEC_PATH_OK;
        GEODEC_TRY(conjugate_on(j->s, &rays[d], j->reach, steps, &t, err));
        a->conjugate = fmin(a->conjugate, t);
        meeting_on(j->s, &rays[d], j->reach, steps, &work, &t);
        a->meeting = fmin(a->meeting, t);
        for (int64_t node = d ? steps / 4 : 0; n <= SECTIONAL_MAX_N && node <= rays[d].report.good; node += steps / 4) {
            GEODEC_TRY(geodec_injectivity_sectional(j->s, rays[d].xs + node * n, j->o->seed, &k, &top, err));
            a->k_max = fmax(a->k_max, k);
            a->k_operator = fmax(a->k_operator, top);
        }
    }
    loops(j->s, x, j->period, rays, D, j->reach, steps, &work, &a->half_loop);
    a->radius = fmin(j->reach, fmin(fmin(a->conjugate, a->meeting), a->half_loop));
    a->censored = a->radius >= j->reach;
    a->bound = a->k_max > 0 ? M_PI / sqrt(a->k_max) : INFINITY;
    if (j->points > 3) GEODEC_TRY(raw_estimate(j->s, j->points, j->point, a->point, j->kernel, &a->raw, err));
    a->validity_censored = true;
    a->validity = 0;
    if (rays[0].report.good >= steps / 2) GEODEC_TRY(validity_of(j, &rays[0], a, err));
done:
    for (int64_t d = 0; rays && d < D; d++) geodec_mem_free(rays[d].block);
    GEODEC_FREE(rays, work.block);
    return st;
}

/* ---- controls ---------------------------------------------------------------------------------------------------- */

static geodec_status controls(int32_t n, geodec_injectivity *r, geodec_err *err)
{
    geodec_space_conformal c;
    geodec_space_torus torus;
    double x[MAX_N] = {0}, v[MAX_N] = {0}, side[MAX_N], period[MAX_N], t, good;
    geodec_injectivity_anchor a = {0};
    const geodec_injectivity_options o = {.directions = 3, .steps = 64, .tau = 0.05, .seed = 1};
    /* sphere: along the equator |x| = 1, where the chart is the same everywhere */
    const int32_t m = n < 2 ? 2 : n;
    GEODEC_PASS(geodec_space_conformal_init(&c, m, 1, err));
    x[0] = 1;
    v[1] = 1;
    GEODEC_PASS(geodec_geodesic_unit(&c.base, x, v, err));
    GEODEC_PASS(geodec_injectivity_conjugate(&c.base, x, v, 3.6, 180, &t, &good, err));
    r->sphere = fabs(t / M_PI - 1);
    GEODEC_PASS(geodec_space_conformal_init(&c, m, -1, err));
    x[0] = 0;
    job j = {.s = &c.base, .o = &o, .point = x, .points = 1, .reach = 3, .kernel = 1, .anchor = &a};
    GEODEC_PASS(anchor_task(&j, 0, err));
    r->hyperbolic = !a.censored;
    for (int32_t i = 0; i < m; i++) {
        side[i] = 1 + 0.5 * i;
        period[i] = 1;
    }
    GEODEC_PASS(geodec_space_torus_init(&torus, m, side, err));
    a = (geodec_injectivity_anchor){0};
    j.s = &torus.base;
    j.period = period;
    GEODEC_PASS(anchor_task(&j, 0, err));
    r->torus = fabs(a.radius / 0.5 - 1);
    return GEODEC_OK;
}

static geodec_status medians(geodec_injectivity *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    GEODEC_NEW(x, r->anchors);
    for (int k = 0; k < 3; k++) {
        for (int64_t i = 0; i < r->anchors; i++)
            x[i] = k == 0 ? r->anchor[i].radius : k == 1 ? fmin(r->anchor[i].bound, 1e300) : r->anchor[i].validity;
        double m;
        GEODEC_TRY(geodec_stats_median(r->anchors, x, &m, err));
        if (k == 0) r->median_radius = m;
        if (k == 1) r->median_bound = m >= 1e300 ? INFINITY : m;
        if (k == 2) r->median_validity = m;
    }
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_injectivity_run(const geodec_space *s, int64_t points, const double *point, const double *period,
                                     const geodec_injectivity_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                     geodec_injectivity *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_injectivity r = {0};
    double *x = NULL, *y = NULL, g[MAX_N * MAX_N], v[MAX_N];
    uint8_t *use = NULL;
    const int64_t n = s->n;
    if (n < 1 || n > MAX_N) GEODEC_THROW(GEODEC_RANGE, "dimension %lld is outside 1..%d", (long long)n, MAX_N);
    if (o->anchors < 1 || o->directions < 1 || o->steps < 8)
        GEODEC_THROW(GEODEC_RANGE, "%lld anchors, %lld directions, %lld steps are too few", (long long)o->anchors,
                     (long long)o->directions, (long long)o->steps);
    if (points < 4)
        GEODEC_THROW(GEODEC_SCARCE, "%lld points; the injectivity radius needs at least 4", (long long)points);
    r.anchors = o->anchors < points ? o->anchors : points;
    GEODEC_NEW_EACH(r.anchors, r.anchor, x, y, use);
    for (int64_t i = 0; i < r.anchors; i++) {
        const int64_t p = r.anchor[i].point = i * points / r.anchors;
        x[i] = INFINITY;
        GEODEC_TRY(s->at(s, point + p * n, g, NULL, NULL, err));
        for (int64_t q = 0; q < points; q++) {
            if (q == p) continue;
            for (int64_t k = 0; k < n; k++) v[k] = point[q * n + k] - point[p * n + k];
            x[i] = fmin(x[i], sqrt(fmax(geodec__norm2(n, g, v), 0)));
        }
    }
    double nearest;
    GEODEC_TRY(geodec_stats_median(r.anchors, x, &nearest, err));
    r.reach = o->reach > 0 ? o->reach : 4 * nearest;
    r.kernel = o->kernel > 0 ? o->kernel : nearest * nearest / 8;
    if (!(r.reach > 0))
        GEODEC_THROW(GEODEC_SCARCE, "most anchors coincide with another point; a distance needs different points");
    job j = {s, o, point, period, points, r.reach, r.kernel, r.anchor};
    const geodec_sweep_result result = {r.anchor, 1, sizeof *r.anchor};
    GEODEC_TRY(geodec_sweep_run(o->sweep, pool, hooks, "anchors", r.anchors, 1, anchor_task, &j, &result, 1, err));
    if (geodec_sweep_partial(o->sweep)) goto give;
    for (int64_t i = 0; i < r.anchors; i++) {
        const geodec_injectivity_anchor *a = &r.anchor[i];
        r.found += !a->censored;
        r.below_bound += !a->censored && a->radius < a->bound * (1 - 1e-3);
        x[i] = a->raw;
        y[i] = a->validity;
        use[i] = !a->validity_censored;
    }
    geodec_injectivity_leave_one_out(r.anchors, x, y, use, o->seed, &r.on_validity);
    for (int64_t i = 0; i < r.anchors; i++) {
        y[i] = r.anchor[i].radius;
        use[i] = !r.anchor[i].censored;
    }
    geodec_injectivity_leave_one_out(r.anchors, x, y, use, o->seed, &r.on_radius);
    GEODEC_TRY(medians(&r, err));
    GEODEC_TRY(controls((int32_t)n, &r, err));
give:
    GEODEC_MOVE(*out, r);
done:
    GEODEC_FREE(r.anchor, x, y, use);
    return st;
}
