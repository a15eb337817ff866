#include "lab/published/warp.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "lab/harness/kernels_internal.h"
#include "lab/published/warp_internal.h"
#include "linalg/chol.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

enum { N_MAX = GEODEC_PUBLISHED_MAX_N };

struct geodec_warp_published {
    const geodec_harness_manifold *m;
    const geodec__harness_kernels *kernels;
    geodec_harness_field field; /* through the manifold's table, the identity far away */
    int64_t samples, n;
    int64_t stencil;    /* 2 n + 1: the sample, then +h and -h along each axis */
    int64_t ld, packed; /* symbols of a pair i <= j take ld >= n places; packed = ld n (n+1) / 2 */
    double *x;          /* [samples][stencil][n] */
    double *g, *v, *d;  /* [samples][stencil][..] field with its eigenvectors (rows) and eigenvalues */
    double *gamma;      /* [samples][packed] of the table that is not warped */
    double *first;      /* [samples][packed] of the manifold */
    double *unit;       /* [samples][n][n] the accessor at the samples */
    double *inner2;     /* [samples] a point within the square root of this has this sample as its nearest */
};

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

/* Pairs i <= j, k last; packed was zero. */
static void pack(int64_t n, int64_t ld, const double *gamma, double *packed)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++, packed += ld)
            memcpy(packed, gamma + (i * n + j) * n, (size_t)n * sizeof *packed);
}

/* From the metrics of a stencil; d [n][n][n] is scratch. The harness's inverse has 1e-9 on its diagonal. */
static geodec_status symbols(int64_t n, int64_t ld, const double *g, double *packed, double *scratch, geodec_err *err)
{
    double *l = scratch, *inverse = l + n * n, *d = inverse + n * n, low[N_MAX];
    memcpy(l, g, (size_t)(n * n) * sizeof *l);
    for (int64_t i = 0; i < n; i++) l[i * n + i] += 1e-9;
    GEODEC_PASS(geodec_chol_factor(n, l, err));
    geodec_chol_inverse(n, l, inverse);
    const double scale = 0.25 / warp_h; /* 1/2 of the formula, 1/2h of the difference */
    for (int64_t a = 0; a < n; a++) {
        const double *plus = g + (1 + 2 * a) * n * n, *minus = plus + n * n;
        for (int64_t i = 0; i < n * n; i++) d[a * n * n + i] = scale * (plus[i] - minus[i]);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++, packed += ld) {
            const double *di = d + (i * n + j) * n, *dj = d + (j * n + i) * n;
            for (int64_t k = 0; k < n; k++) low[k] = di[k] + dj[k] - d[(k * n + i) * n + j];
            memset(packed, 0, (size_t)n * sizeof *packed);
            for (int64_t l2 = 0; l2 < n; l2++) {
                const double c = low[l2], *row = inverse + l2 * n;
                for (int64_t k = 0; k < n; k++) packed[k] += c * row[k];
            }
        }
    return GEODEC_OK;
}

static int64_t symbols_scratch(int64_t n) { return 2 * n * n + n * n * n; }

/* ---- shared by all facts ---------------------------------------------------------------------------------------- */

static geodec_status stencil_task(void *ctx, int64_t p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp_published *w = ctx;
    const int64_t n = w->n;
    double *scratch = NULL;
    GEODEC_NEW(scratch, geodec_harness_field_scratch(n) + symbols_scratch(n));
    for (int64_t t = 0; t < w->stencil; t++) {
        const int64_t at = p * w->stencil + t;
        double *x = w->x + at * n;
        bool far = false;
        memcpy(x, w->m->point + p * n, (size_t)n * sizeof *x);
        if (t > 0) x[(t - 1) / 2] += (t - 1) % 2 ? -warp_h : warp_h;
        GEODEC_TRY(geodec_harness_field_eigen(&w->field, x, w->d + at * n, w->v + at * n * n, &far, scratch, err));
        if (far) GEODEC_THROW(GEODEC_NUMERIC, "sample %lld is far from itself", (long long)p);
        geodec_eig_compose(n, w->d + at * n, w->v + at * n * n, w->g + at * n * n);
    }
    GEODEC_TRY(symbols(n, w->ld, w->g + p * w->stencil * n * n, w->gamma + p * w->packed, scratch, err));
    pack(n, w->ld, w->m->gamma + p * n * n * n, w->first + p * w->packed);
    GEODEC_TRY(geodec_harness_g_at(w->m, w->m->point + p * n, w->unit + p * n * n, err));
    double least = INFINITY;
    for (int64_t o = 0; o < w->samples; o++)
        if (o != p) least = fmin(least, geodec__gap2(n, w->m->point + p * n, w->m->point + o * n));
    w->inner2[p] = 0.25 * (1 - 1e-9) * least;
done:
    geodec_mem_free(scratch);
    return st;
}

geodec_status geodec_warp_published_create(const geodec_harness_manifold *m, geodec_pool *pool,
                                           const geodec_hooks *hooks, geodec_warp_published **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, s = m->samples, t = 2 * n + 1;
    geodec_warp_published *w = NULL;
    GEODEC_NEW(w, 1);
    *w = (geodec_warp_published){.m = m,
                                 .samples = s,
                                 .n = n,
                                 .stencil = t,
                                 .ld = (n + LANES - 1) / LANES * LANES,
                                 .kernels = geodec__harness_kernels_best()};
    w->packed = w->ld * n * (n + 1) / 2;
    GEODEC_NEW(w->x, s * t * n);
    GEODEC_NEW_EACH(s * t * n * n, w->g, w->v);
    GEODEC_NEW(w->d, s * t * n);
    GEODEC_NEW_EACH(s * w->packed, w->gamma, w->first);
    GEODEC_NEW(w->unit, s * n * n);
    GEODEC_NEW(w->inner2, s);
    GEODEC_TRY(geodec_harness_field_init(&w->field, s, n, m->point, m->g, warp_sigma, false, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "warp: stencil of sample", s, stencil_task, w, err));
    GEODEC_MOVE(*out, w);
done:
    geodec_warp_published_destroy(w);
    return st;
}

void geodec_warp_published_destroy(geodec_warp_published *w)
{
    if (!w) return;
    geodec_harness_field_clear(&w->field);
    GEODEC_FREE(w->x, w->g, w->v, w->d, w->gamma, w->first, w->unit, w->inner2, w);
}

/* ---- one fact's warp --------------------------------------------------------------------------------------------- */

typedef struct fact {
    const geodec_warp_published *w;
    const geodec_warp_published_config *c;
    const double *centre;
    double dir[N_MAX];    /* w of warp.h; all zero for a target that is the query */
    uint8_t *known;       /* [samples] 1: metric of the sample there, 2: symbols too */
    double *g;            /* [samples][n][n] */
    double *gamma;        /* [samples][packed] */
    double *at, *scratch; /* [stencil][n][n]; as needed */
} fact;

/* Lowest eigenvalue of V^T (diag(d) - c z z^T) V, which is below `floor` <= d[0]: from the right, where 1 / S is
 * concave, so Newton's steps are monotone. */
static double lowest(int64_t n, const double *d, const double *z, double c, double floor)
{
    double x = floor;
    for (int step = 0; step < 60; step++) {
        double s = 0, ds = 0;
        for (int64_t i = 0; i < n; i++) {
            const double q = 1 / (d[i] - x), u = c * z[i] * z[i] * q;
            s += u;
            ds += u * q;
        }
        const double next = x + s * (1 - s) / ds;
        if (!(fabs(next - x) > 1e-15 * (fabs(x) + d[0])) || !(next <= x)) return next;
        x = next;
    }
    return x;
}

static geodec_status clip(int64_t n, double *a, double floor, double *scratch, geodec_err *err)
{
    double d[N_MAX];
    GEODEC_PASS(geodec_eig_sym_ws(n, a, d, scratch, scratch + n * n, err));
    for (int64_t i = 0; i < n; i++) d[i] = fmax(d[i], floor);
    geodec_eig_compose(n, d, scratch, a);
    return GEODEC_OK;
}

static geodec_status first_kind(const fact *f, int64_t at, double r2, double *out, geodec_err *err)
{
    const geodec_warp_published *w = f->w;
    const int64_t n = w->n;
    const double *g = w->g + at * n * n, *d = w->d + at * n, *v = w->v + at * n * n;
    const double c = f->c->alpha * (1 - exp(-r2 / (2 * f->c->extent * f->c->extent)));
    double z[N_MAX], u[N_MAX], s = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[i * n + j] = g[i * n + j] - c * f->dir[i] * f->dir[j];
    if (!(d[0] > warp_v1_floor) || c < 0) return clip(n, out, warp_v1_floor, f->scratch, err);
    for (int64_t i = 0; i < n; i++) {
        z[i] = geodec__dot(n, v + i * n, f->dir);
        s += c * z[i] * z[i] / (d[i] - warp_v1_floor);
    }
    if (s <= 1) return GEODEC_OK; /* nothing falls below the floor */
    const double low = lowest(n, d, z, c, warp_v1_floor);
    double norm2 = 0;
    memset(u, 0, sizeof u);
    for (int64_t i = 0; i < n; i++) {
        const double q = z[i] / (d[i] - low), *row = v + i * n;
        norm2 += q * q;
        for (int64_t j = 0; j < n; j++) u[j] += q * row[j];
    }
    const double lift = (warp_v1_floor - low) / norm2;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) out[i * n + j] += lift * (u[i] * u[j]);
    return GEODEC_OK;
}

/* Log-Euclidean update; *same = nothing changed. */
static geodec_status second_kind(const fact *f, int64_t at, double r2, double *out, bool *same, geodec_err *err)
{
    const geodec_warp_published *w = f->w;
    const int64_t n = w->n;
    const double *g = w->g + at * n * n, *d = w->d + at * n, *x = w->x + at * n;
    const double r = sqrt(r2) / fmax(f->c->extent, 1e-9), bump = r < 1 ? (1 - r * r) * (1 - r * r) : 0;
    double v[N_MAX], radial[N_MAX], e[N_MAX], rr, s2;
    *same = true;
    memcpy(out, g, (size_t)(n * n) * sizeof *out);
    if (!(bump > 0)) return GEODEC_OK;
    for (int64_t i = 0; i < n; i++) radial[i] = x[i] - f->centre[i];
    memcpy(v, f->dir, (size_t)n * sizeof *v);
    rr = geodec__norm2(n, g, radial);
    if (!(rr < 1e-12)) {
        double vr = 0;
        for (int64_t i = 0; i < n; i++) vr += v[i] * geodec__dot(n, g + i * n, radial);
        for (int64_t i = 0; i < n; i++) v[i] -= vr / rr * radial[i];
    }
    s2 = geodec__norm2(n, g, v);
    if (s2 < 1e-12) return GEODEC_OK;
    *same = false;
    const double c = f->c->alpha * bump / s2;
    double *a = f->scratch, *rows = a + n * n;
    for (int64_t i = 0; i < n; i++) e[i] = log(d[i]);
    geodec_eig_compose(n, e, w->v + at * n * n, a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[i * n + j] -= c * (v[i] * v[j]);
    GEODEC_PASS(geodec_eig_sym_ws(n, a, e, rows, rows + n * n, err));
    for (int64_t i = 0; i < n; i++) e[i] = fmax(exp(e[i]), warp_v2_floor);
    geodec_eig_compose(n, e, rows, out);
    return GEODEC_OK;
}

static geodec_status warped_at(const fact *f, int64_t at, double *out, bool *same, geodec_err *err)
{
    const int64_t n = f->w->n;
    const double *x = f->w->x + at * n;
    const double r2 = geodec__gap2(n, x, f->centre);
    if (f->c->variant == GEODEC_PUBLISHED_WARP_V2) return second_kind(f, at, r2, out, same, err);
    *same = false;
    return first_kind(f, at, r2, out, err);
}

/* Metric of a sample in the warped table. */
static geodec_status sample_metric(fact *f, int64_t p, const double **g, geodec_err *err)
{
    const int64_t n2 = f->w->n * f->w->n;
    bool same;
    if (!f->known[p]) {
        GEODEC_PASS(warped_at(f, p * f->w->stencil, f->g + p * n2, &same, err));
        f->known[p] = 1;
    }
    *g = f->g + p * n2;
    return GEODEC_OK;
}

static geodec_status sample_symbols(fact *f, int64_t p, const double **gamma, geodec_err *err)
{
    const geodec_warp_published *w = f->w;
    const int64_t n2 = w->n * w->n;
    if (f->known[p] < 2) {
        bool same = true;
        for (int64_t t = 0; t < w->stencil; t++) {
            bool unchanged;
            GEODEC_PASS(warped_at(f, p * w->stencil + t, f->at + t * n2, &unchanged, err));
            same &= unchanged;
        }
        memcpy(f->g + p * n2, f->at, (size_t)n2 * sizeof *f->g);
        if (same)
            memcpy(f->gamma + p * w->packed, w->gamma + p * w->packed, (size_t)w->packed * sizeof *f->gamma);
        else
            GEODEC_PASS_MSG(symbols(w->n, w->ld, f->at, f->gamma + p * w->packed, f->scratch, err), "sample %lld",
                            (long long)p);
        f->known[p] = 2;
    }
    *gamma = f->gamma + p * w->packed;
    return GEODEC_OK;
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static void accel(int64_t n, int64_t ld, const double *packed, const double *v, double *a)
{
    memset(a, 0, (size_t)n * sizeof *a);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++, packed += ld) {
            const double c = (i == j ? -1 : -2) * v[i] * v[j];
            for (int64_t k = 0; k < n; k++) a[k] += c * packed[k];
        }
}

/* The nearest sample. Where rounding could decide, geodec_harness_field_nearest does: it sums in the harness's order.
 */
static int64_t nearest(const geodec_warp_published *w, const double *y)
{
    enum { BLOCK = 512 };
    const geodec_harness_field *f = &w->field;
    double d2[BLOCK], least = INFINITY, second = INFINITY;
    int64_t best = 0;
    for (int64_t first = 0; first < f->sites; first += BLOCK) {
        const int64_t last = first + BLOCK < f->padded ? first + BLOCK : f->padded;
        w->kernels->distances(f->padded, first, last, w->n, f->site_t, y, d2);
        for (int64_t p = first; p < last && p < f->sites; p++) {
            const double d = d2[p - first];
            if (!(d < second)) continue;
            if (d < least) {
                second = least;
                least = d;
                best = p;
            } else {
                second = d;
            }
        }
    }
    return second > least * (1 + 1e-12) ? best : geodec_harness_field_nearest(w->samples, w->n, w->m->point, y);
}

/* Symbols of the sample nearest to y: of the warped table, or of the manifold (f NULL). *cell is the last one used. */
static geodec_status visit(const geodec_warp_published *w, fact *f, const double *y, int64_t *cell,
                           const double **gamma, geodec_err *err)
{
    if (!(geodec__gap2(w->n, y, w->m->point + *cell * w->n) < w->inner2[*cell])) *cell = nearest(w, y);
    if (f) return sample_symbols(f, *cell, gamma, err);
    *gamma = w->first + *cell * w->packed;
    return GEODEC_OK;
}

/* End of the path from sample `from` with velocity v. */
static geodec_status path_end(const geodec_warp_published *w, fact *f, int64_t from, double *v, int64_t steps,
                              double dl, double *x, geodec_err *err)
{
    const int64_t n = w->n;
    int64_t cell = from;
    double y[N_MAX], k[4][N_MAX], u[4][N_MAX];
    memset(x, 0, N_MAX * sizeof *x);
    memset(v + n, 0, (size_t)(N_MAX - n) * sizeof *v);
    memcpy(x, w->m->point + from * n, (size_t)n * sizeof *x);
    for (int64_t t = 0; t < steps; t++) {
        const double *gamma;
        if (n <= LANES) {
            double centre[LANES] = {0};
            GEODEC_PASS(visit(w, f, x, &cell, &gamma, err));
            memcpy(centre, w->m->point + cell * n, (size_t)n * sizeof *centre);
            t += w->kernels->steps(n, gamma, centre, w->inner2[cell], x, v, steps - t, dl);
            if (t == steps) break;
        }
        for (int s = 0; s < 4; s++) {
            const double c = s == 0 ? 0 : (s == 3 ? dl : 0.5 * dl);
            for (int64_t i = 0; i < n; i++) {
                u[s][i] = s == 0 ? v[i] : v[i] + c * k[s - 1][i];
                y[i] = s == 0 ? x[i] : x[i] + c * u[s - 1][i];
            }
            GEODEC_PASS(visit(w, f, y, &cell, &gamma, err));
            accel(n, w->ld, gamma, u[s], k[s]);
        }
        for (int64_t i = 0; i < n; i++) {
            x[i] += dl / 6 * (u[0][i] + 2 * u[1][i] + 2 * u[2][i] + u[3][i]);
            v[i] += dl / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
        }
    }
    return GEODEC_OK;
}

/* ---- before ------------------------------------------------------------------------------------------------------ */

struct geodec_warp_published_before {
    const geodec_warp_published *w;
    geodec_warp_published_draws draws;
    int64_t steps;
    double dl;
    geodec_warp_published_outcome shape; /* target, neighbour, pre */
    double *holdout;                     /* [facts][holdouts] errors */
};

static geodec_status before_error(const geodec_warp_published_before *b, int64_t from, int64_t to, double *error,
                                  double *scratch, geodec_err *err)
{
    const geodec_warp_published *w = b->w;
    const int64_t n = w->n;
    const double *target = w->m->point + to * n;
    double v[N_MAX], x[N_MAX], middle[N_MAX], *g = scratch;
    (void)geodec__warp_direction(n, w->unit + from * n * n, w->m->point + from * n, target, v);
    GEODEC_PASS(path_end(w, NULL, from, v, b->steps, b->dl, x, err));
    for (int64_t i = 0; i < n; i++) middle[i] = 0.5 * (x[i] + target[i]);
    *error = NAN;
    if (w->m->sigma > 0 && !geodec__finite(n, middle)) return GEODEC_OK;
    if (w->m->sigma > 0)
        GEODEC_PASS(geodec_harness_field_at(&w->m->accessor, middle, g, g + n * n, err));
    else
        GEODEC_PASS(geodec_harness_g_at(w->m, middle, g, err));
    *error = geodec__warp_length(n, g, x, target);
    return GEODEC_OK;
}

static geodec_status before_task(void *ctx, int64_t f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp_published_before *b = ctx;
    const int64_t n = b->w->n, q = b->draws.query[f], t = b->shape.target[f];
    double *scratch = NULL;
    GEODEC_NEW(scratch, n * n + geodec_harness_field_scratch(n));
    GEODEC_TRY(before_error(b, q, t, &b->shape.pre[f], scratch, err));
    for (int64_t i = 0; i < b->draws.holdouts; i++) {
        const int64_t h = b->draws.holdout[i];
        if (h == q || h == t) continue;
        GEODEC_TRY(before_error(b, h, b->shape.neighbour[f], b->holdout + f * b->draws.holdouts + i, scratch, err));
    }
done:
    geodec_mem_free(scratch);
    return st;
}

geodec_status geodec_warp_published_prepare(const geodec_warp_published *w, const geodec_warp_published_draws *draws,
                                            int64_t steps, double dl, geodec_pool *pool, const geodec_hooks *hooks,
                                            geodec_warp_published_before **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp_published_before *b = NULL;
    if (steps < 1 || !isfinite(dl)) GEODEC_THROW(GEODEC_RANGE, "%lld steps of %g", (long long)steps, dl);
    GEODEC_TRY(geodec__warp_check(w->samples, draws, err));
    GEODEC_NEW(b, 1);
    *b = (geodec_warp_published_before){.w = w, .draws = *draws, .steps = steps, .dl = dl};
    GEODEC_TRY(geodec__warp_begin(w->m, draws, &b->shape, err));
    GEODEC_NEW(b->holdout, draws->facts * draws->holdouts);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "warp: paths of fact", draws->facts, before_task, b, err));
    GEODEC_MOVE(*out, b);
done:
    geodec_warp_published_release(b);
    return st;
}

void geodec_warp_published_release(geodec_warp_published_before *b)
{
    if (!b) return;
    geodec_warp_published_clear(&b->shape);
    GEODEC_FREE(b->holdout, b);
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct running {
    const geodec_warp_published_before *b;
    const geodec_warp_published_config *c;
    geodec_warp_published_outcome *o;
} running;

static geodec_status after_error(fact *f, int64_t from, int64_t to, double *error, geodec_err *err)
{
    const geodec_warp_published *w = f->w;
    const int64_t n = w->n;
    const double *target = w->m->point + to * n, *g;
    double v[N_MAX], x[N_MAX], middle[N_MAX];
    GEODEC_PASS(sample_metric(f, from, &g, err));
    (void)geodec__warp_direction(n, g, w->m->point + from * n, target, v);
    GEODEC_PASS(path_end(w, f, from, v, f->c->steps, f->c->dl, x, err));
    for (int64_t i = 0; i < n; i++) middle[i] = 0.5 * (x[i] + target[i]);
    GEODEC_PASS(sample_metric(f, nearest(w, middle), &g, err));
    *error = geodec__warp_length(n, g, x, target);
    return GEODEC_OK;
}

static geodec_status fact_task(void *ctx, int64_t at, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const running *r = ctx;
    const geodec_warp_published_before *b = r->b;
    const geodec_warp_published *w = b->w;
    const int64_t n = w->n, q = b->draws.query[at], t = b->shape.target[at];
    fact f = {.w = w, .c = r->c, .centre = w->m->point + q * n};
    GEODEC_NEW(f.known, w->samples);
    GEODEC_NEW(f.g, w->samples * n * n);
    GEODEC_NEW(f.gamma, w->samples * w->packed);
    GEODEC_NEW(f.at, w->stencil * n * n);
    GEODEC_NEW(f.scratch, symbols_scratch(n) + geodec_harness_field_scratch(n));
    if (geodec__warp_direction(n, w->unit + q * n * n, f.centre, w->m->point + t * n, f.dir) < 1e-12)
        memset(f.dir, 0, sizeof f.dir);
    r->o->pre[at] = b->shape.pre[at];
    GEODEC_TRY(after_error(&f, q, t, &r->o->post[at], err));
    for (int64_t i = 0; i < b->draws.holdouts; i++) {
        const int64_t h = b->draws.holdout[i], k = at * b->draws.holdouts + i;
        double after;
        if (!geodec__warp_uses(w->m, r->c, q, t, h)) continue;
        GEODEC_TRY(after_error(&f, h, b->shape.neighbour[at], &after, err));
        if (!(b->holdout[k] > 1e-9)) continue;
        r->o->used[k] = 1;
        r->o->spillover[k] = warp_spill(b->holdout[k], after);
    }
done:
    GEODEC_FREE(f.known, f.g, f.gamma, f.at, f.scratch);
    return st;
}

geodec_status geodec_warp_published_run(const geodec_warp_published *w, const geodec_warp_published_before *b,
                                        const geodec_warp_published_config *c, geodec_pool *pool,
                                        const geodec_hooks *hooks, geodec_warp_published_outcome *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp_published_outcome o = {0};
    if (b->w != w || c->steps != b->steps || c->dl != b->dl)
        GEODEC_THROW(GEODEC_INVAL, "paths were prepared for %lld steps of %g", (long long)b->steps, b->dl);
    if (!(c->extent > 0) || !isfinite(c->extent) || !isfinite(c->alpha))
        GEODEC_THROW(GEODEC_RANGE, "alpha %g, extent %g", c->alpha, c->extent);
    GEODEC_TRY(geodec__warp_outcome(b->draws.facts, b->draws.holdouts, &o, err));
    memcpy(o.target, b->shape.target, (size_t)o.facts * sizeof *o.target);
    memcpy(o.neighbour, b->shape.neighbour, (size_t)o.facts * sizeof *o.neighbour);
    running r = {.b = b, .c = c, .o = &o};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "warp: fact", o.facts, fact_task, &r, err));
    GEODEC_TRY(geodec__warp_summary(&o, err));
    GEODEC_MOVE(*out, o);
done:
    geodec_warp_published_clear(&o);
    return st;
}
