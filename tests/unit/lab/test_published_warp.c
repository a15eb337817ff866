/* The published curvature warp: the plain and the fast computation against each other and against the goldens. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "lab/published/warp_internal.h"
#include "linalg/eig.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct draws {
    double *query, *holdout, *target, *neighbour;
    int64_t q[64], h[64];
    geodec_warp_published_draws d;
} draws;

static void read_draws(const char *path, const char *group, draws *r)
{
    char name[64];
    int64_t shape[8];
    (void)snprintf(name, sizeof name, "%s/query_index", group);
    r->query = test_h5(path, name, shape, NULL);
    cr_assert_leq(shape[0], 64);
    r->d = (geodec_warp_published_draws){.facts = shape[0], .query = r->q, .holdout = r->h};
    (void)snprintf(name, sizeof name, "%s/holdout_index", group);
    r->holdout = test_h5(path, name, shape, NULL);
    cr_assert_leq(shape[0], 64);
    r->d.holdouts = shape[0];
    (void)snprintf(name, sizeof name, "%s/target_index", group);
    r->target = test_h5(path, name, NULL, NULL);
    (void)snprintf(name, sizeof name, "%s/spill_neighbour_index", group);
    r->neighbour = test_h5(path, name, NULL, NULL);
    for (int64_t i = 0; i < r->d.facts; i++) r->q[i] = (int64_t)r->query[i];
    for (int64_t i = 0; i < r->d.holdouts; i++) r->h[i] = (int64_t)r->holdout[i];
}

static void free_draws(draws *r)
{
    geodec_mem_free(r->query);
    geodec_mem_free(r->holdout);
    geodec_mem_free(r->target);
    geodec_mem_free(r->neighbour);
}

static void fit(const char *path, geodec_harness_manifold *m)
{
    geodec_err err = {0};
    int64_t shape[8];
    double *point = test_h5(path, "/cloud/points", shape, NULL);
    const geodec_harness_options o = geodec_harness_defaults();
    test_ok(geodec_harness_manifold_fit(shape[0], shape[1], point, &o, NULL, NULL, m, &err), &err);
    geodec_mem_free(point);
}

static geodec_warp_published_config config_of(geodec_warp_published_variant v)
{
    const bool first = v == GEODEC_PUBLISHED_WARP_V1;
    return (geodec_warp_published_config){
        .variant = v, .alpha = first ? 0.7 : 0.35, .extent = 1.2, .steps = 16, .dl = 0.1};
}

/* Largest relative deviation where both are finite and the golden is no blow-up; both must agree on what is one. A
 * spillover is a difference of two errors over one of them: rounding leaves about 1e-11 of it, which `floor` lets pass.
 */
static double worst(int64_t n, const double *got, const double *want, const uint8_t *used, double floor)
{
    double w = 0;
    for (int64_t i = 0; i < n; i++) {
        if (used && !used[i]) continue;
        const bool blown = !(fabs(want[i]) <= 1e6);
        cr_assert_eq(blown, !(fabs(got[i]) <= 1e6), "value %lld: %g instead of %g", (long long)i, got[i], want[i]);
        if (!blown) w = fmax(w, fabs(got[i] - want[i]) / fmax(fabs(want[i]), floor));
    }
    return w;
}

static void check_attr(const char *path, const char *group, const char *name, double got, double limit)
{
    const double want = test_h5_attr(path, group, name);
    if (isnan(want)) {
        cr_assert(isnan(got), "%s of %s is %g, not NaN", name, path, got);
        return;
    }
    if (fabs(want) > 1e6) { /* dominated by one blow-up */
        cr_assert(fabs(got) > 1e6);
        return;
    }
    cr_assert(fabs(got - want) <= limit * fabs(want), "%s of %s is %.10g, not %.10g", name, path, got, want);
}

static void goldens(const char *path)
{
    geodec_err err = {0};
    geodec_harness_manifold m;
    geodec_warp_published *w = NULL;
    fit(path, &m);
    test_ok(geodec_warp_published_create(&m, NULL, NULL, &w, &err), &err);
    for (int v = 0; v < 2; v++) {
        const char *group = v ? "/warp/v2" : "/warp/v1";
        char name[64];
        draws r = {0};
        geodec_warp_published_before *b = NULL;
        geodec_warp_published_outcome o = {0};
        const geodec_warp_published_config c = config_of(v ? GEODEC_PUBLISHED_WARP_V2 : GEODEC_PUBLISHED_WARP_V1);
        read_draws(path, group, &r);
        test_ok(geodec_warp_published_prepare(w, &r.d, c.steps, c.dl, NULL, NULL, &b, &err), &err);
        test_ok(geodec_warp_published_run(w, b, &c, NULL, NULL, &o, &err), &err);
        for (int64_t f = 0; f < o.facts; f++) {
            cr_assert_eq(o.target[f], (int64_t)r.target[f]);
            cr_assert_eq(o.neighbour[f], (int64_t)r.neighbour[f]);
        }
        (void)snprintf(name, sizeof name, "%s/used", group);
        double *used = test_h5(path, name, NULL, NULL);
        for (int64_t i = 0; i < o.facts * o.holdouts; i++) cr_assert_eq(o.used[i], (uint8_t)used[i]);
        (void)snprintf(name, sizeof name, "%s/pre_err", group);
        goldens_compare(path, name, o.facts, o.pre, 1e-8);
        (void)snprintf(name, sizeof name, "%s/post_err", group);
        double *post = test_h5(path, name, NULL, NULL);
        (void)snprintf(name, sizeof name, "%s/spillover", group);
        double *spill = test_h5(path, name, NULL, NULL);
        const double wp = worst(o.facts, o.post, post, NULL, 0),
                     ws = worst(o.facts * o.holdouts, o.spillover, spill, o.used, 1e-6);
        const char *slash = strrchr(path, '/');
        (void)fprintf(stderr, "golden %s%s: worst relative deviation: post_err %.2e, spillover %.2e (limit 1e-04)\n",
                      slash ? slash + 1 : path, group, wp, ws);
        cr_assert_leq(wp, 1e-4);
        cr_assert_leq(ws, 1e-4);
        const geodec_warp_published_summary *s = &o.summary;
        cr_assert_eq(s->nan_post, (int64_t)test_h5_attr(path, group, "n_nan_post"));
        cr_assert_eq(s->nan_spill, (int64_t)test_h5_attr(path, group, "n_nan_spill"));
        cr_assert_eq(s->spills, (int64_t)test_h5_attr(path, group, "n_spill"));
        check_attr(path, group, "pre_mean", s->pre_mean, 1e-8);
        check_attr(path, group, "post_mean", s->post_mean, 1e-4);
        check_attr(path, group, "improvement", s->improvement, 1e-4);
        check_attr(path, group, "improvement_finite_only", s->improvement_finite, 1e-4);
        check_attr(path, group, "spill_mean", s->spill_mean, 1e-4);
        check_attr(path, group, "spill_p95", s->spill_p95, 1e-4);
        check_attr(path, group, "spill_mean_finite", s->spill_mean_finite, 1e-4);
        check_attr(path, group, "spill_p95_finite", s->spill_p95_finite, 1e-4);
        geodec_mem_free(used);
        geodec_mem_free(post);
        geodec_mem_free(spill);
        geodec_warp_published_release(b);
        geodec_warp_published_clear(&o);
        free_draws(&r);
    }
    geodec_warp_published_destroy(w);
    geodec_harness_manifold_clear(&m);
}
Test(published_warp, goldens) { goldens_each(goldens); }

/* The published warp step by step: a whole new table of metrics and symbols for every fact. */
typedef struct warp {
    const geodec_warp_published_config *c;
    const geodec_harness_field *field; /* through the table, the identity far away */
    const double *centre, *w;
    double *scratch;
} warp;

static geodec_status eigen(int64_t n, double *g, double *d, double *scratch, geodec_err *err)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) g[i * n + j] = 0.5 * (g[i * n + j] + g[j * n + i]);
    return geodec_eig_sym_ws(n, g, d, g, scratch, err);
}

static geodec_status warped(const void *ctx, const double *x, double *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const warp *w = ctx;
    const int64_t n = w->field->n;
    double d[GEODEC_PUBLISHED_MAX_N], v[GEODEC_PUBLISHED_MAX_N], radial[GEODEC_PUBLISHED_MAX_N], r2 = 0;
    double *a = w->scratch, *eig = a + n * n;
    GEODEC_TRY(geodec_harness_field_at(w->field, x, g, w->scratch, err));
    for (int64_t i = 0; i < n; i++) {
        radial[i] = x[i] - w->centre[i];
        r2 += radial[i] * radial[i];
    }
    const double alpha = w->c->alpha, extent = w->c->extent;
    if (w->c->variant == GEODEC_PUBLISHED_WARP_V1) {
        const double c = alpha * (1 - exp(-r2 / (2 * extent * extent)));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) a[i * n + j] = g[i * n + j] - c * (w->w[i] * w->w[j]);
        GEODEC_TRY(eigen(n, a, d, eig, err));
        for (int64_t i = 0; i < n; i++) d[i] = fmax(d[i], warp_v1_floor);
        geodec_eig_compose(n, d, a, g);
        goto done;
    }
    const double r = sqrt(r2) / fmax(extent, 1e-9), bump = r < 1 ? (1 - r * r) * (1 - r * r) : 0;
    memcpy(v, w->w, (size_t)n * sizeof *v);
    const double rr = geodec__norm2(n, g, radial);
    if (!(rr < 1e-12)) {
        double vr = 0;
        for (int64_t i = 0; i < n; i++) vr += v[i] * geodec__dot(n, g + i * n, radial);
        for (int64_t i = 0; i < n; i++) v[i] -= vr / rr * radial[i];
    }
    const double s2 = geodec__norm2(n, g, v), c = bump > 0 && !(s2 < 1e-12) ? alpha * bump / s2 : 0;
    memcpy(a, g, (size_t)(n * n) * sizeof *a);
    GEODEC_TRY(eigen(n, a, d, eig, err));
    for (int64_t i = 0; i < n; i++) d[i] = log(fmax(d[i], 1e-12));
    geodec_eig_compose(n, d, a, g);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[i * n + j] = g[i * n + j] - c * (v[i] * v[j]);
    GEODEC_TRY(eigen(n, a, d, eig, err));
    for (int64_t i = 0; i < n; i++) d[i] = fmax(exp(d[i]), warp_v2_floor);
    geodec_eig_compose(n, d, a, g);
done:
    return st;
}

/* Error of the path from sample `from` towards `to` in m. */
static geodec_status path_error(const geodec_harness_manifold *m, const geodec_warp_published_config *c, int64_t from,
                                int64_t to, double *xs, double *error, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    const double *x0 = m->point + from * n, *target = m->point + to * n, *end = xs + c->steps * n;
    double v[GEODEC_PUBLISHED_MAX_N], middle[GEODEC_PUBLISHED_MAX_N];
    double *g = NULL;
    GEODEC_NEW(g, n * n);
    for (int64_t i = 0; i < n; i++) v[i] = target[i] - x0[i];
    GEODEC_TRY(geodec_harness_unit(m, x0, v, err));
    geodec_harness_geodesic(m, x0, v, c->steps, c->dl, xs, NULL);
    for (int64_t i = 0; i < n; i++) middle[i] = 0.5 * (end[i] + target[i]);
    *error = NAN;
    if (m->sigma > 0 && !geodec__finite(n, middle)) goto done; /* the smooth accessor takes no such point */
    GEODEC_TRY(geodec_harness_g_at(m, middle, g, err));
    *error = geodec__warp_length(n, g, end, target);
done:
    geodec_mem_free(g);
    return st;
}

static geodec_status fact(const geodec_harness_manifold *m, const geodec_harness_field *field,
                          const geodec_warp_published_draws *set, const geodec_warp_published_config *c, int64_t f,
                          double *table, geodec_warp_published_outcome *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, q = set->query[f], t = o->target[f];
    geodec_harness_manifold after = {0};
    double *g = table, *gamma = g + m->samples * n * n, *xs = gamma + m->samples * n * n * n,
           *field_scratch = xs + (c->steps + 1) * n, *scratch = field_scratch + geodec_harness_field_scratch(n);
    double w[GEODEC_PUBLISHED_MAX_N];
    warp u = {.c = c, .field = field, .centre = m->point + q * n, .w = w, .scratch = field_scratch};
    GEODEC_TRY(path_error(m, c, q, t, xs, &o->pre[f], err));
    GEODEC_TRY(geodec_harness_g_at(m, u.centre, g, err));
    if (geodec__warp_direction(n, g, u.centre, m->point + t * n, w) < 1e-12) memset(w, 0, sizeof w);
    for (int64_t p = 0; p < m->samples; p++) {
        const double *x = m->point + p * n;
        GEODEC_TRY(warped(&u, x, g + p * n * n, err));
        GEODEC_TRY(geodec_harness_field_christoffel(n, warped, &u, x, g + p * n * n, warp_h, gamma + p * n * n * n,
                                                    scratch, err));
    }
    GEODEC_TRY(geodec_harness_manifold_table(m->samples, n, m->point, g, gamma, 0, &after, err));
    GEODEC_TRY(path_error(&after, c, q, t, xs, &o->post[f], err));
    for (int64_t i = 0; i < set->holdouts; i++) {
        const int64_t h = set->holdout[i], at = f * set->holdouts + i;
        double before, behind;
        if (!geodec__warp_uses(m, c, q, t, h)) continue;
        GEODEC_TRY(path_error(m, c, h, o->neighbour[f], xs, &before, err));
        GEODEC_TRY(path_error(&after, c, h, o->neighbour[f], xs, &behind, err));
        if (!(before > 1e-9)) continue;
        o->used[at] = 1;
        o->spillover[at] = warp_spill(before, behind);
    }
done:
    geodec_harness_manifold_clear(&after);
    return st;
}

static geodec_status run_plain(const geodec_harness_manifold *m, const geodec_warp_published_draws *set,
                               const geodec_warp_published_config *c, geodec_warp_published_outcome *out,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    geodec_warp_published_outcome o = {0};
    geodec_harness_field field = {0};
    double *table = NULL;
    if (c->steps < 1 || !(c->extent > 0))
        GEODEC_THROW(GEODEC_RANGE, "%lld steps, extent %g", (long long)c->steps, c->extent);
    GEODEC_TRY(geodec__warp_check(m->samples, set, err));
    GEODEC_TRY(geodec__warp_begin(m, set, &o, err));
    GEODEC_TRY(geodec_harness_field_init(&field, m->samples, n, m->point, m->g, warp_sigma, false, err));
    GEODEC_NEW(table, m->samples * n * n * (n + 1) + (c->steps + 1) * n + geodec_harness_field_scratch(n) +
                          geodec_harness_field_christoffel_scratch(n));
    for (int64_t f = 0; f < set->facts; f++)
        GEODEC_TRY_MSG(fact(m, &field, set, c, f, table, &o, err), "fact %lld", (long long)f);
    GEODEC_TRY(geodec__warp_summary(&o, err));
    GEODEC_MOVE(*out, o);
done:
    geodec_warp_published_clear(&o);
    geodec_harness_field_clear(&field);
    geodec_mem_free(table);
    return st;
}

/* A made-up cloud, several strengths (none among them) and widths: both computations give the same figures. */
static void compare(int64_t points, int64_t n, double scale)
{
    enum { P = 40, N = 6, F = 5, H = 7 };
    geodec_err err = {0};
    double point[P * N];
    for (int64_t i = 0; i < points * n; i++)
        point[i] = scale * sin(1.7 * (double)(i * i) + 0.3) * (1 + (double)(i % n) / (double)n);
    const int64_t query[F] = {0, 7, 11, 3, 7}, holdout[H] = {1, 2, 3, 9, 14, 15, 11};
    const geodec_warp_published_draws d = {.facts = F, .holdouts = H, .query = query, .holdout = holdout};
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_harness_manifold m;
    geodec_warp_published *w = NULL;
    geodec_warp_published_before *b = NULL;
    test_ok(geodec_harness_manifold_fit(points, n, point, &o, NULL, NULL, &m, &err), &err);
    test_ok(geodec_warp_published_create(&m, NULL, NULL, &w, &err), &err);
    test_ok(geodec_warp_published_prepare(w, &d, 12, 0.1, NULL, NULL, &b, &err), &err);
    int64_t moved = 0, used = 0;
    for (int i = 0; i < 12; i++) {
        const geodec_warp_published_config c = {.variant = i % 2 ? GEODEC_PUBLISHED_WARP_V2 : GEODEC_PUBLISHED_WARP_V1,
                                                .alpha = (double[]){0, 0.05, 0.9}[i / 2 % 3],
                                                .extent = i < 6 ? 0.4 : 2.5,
                                                .steps = 12,
                                                .dl = 0.1};
        geodec_warp_published_outcome fast = {0}, plain = {0};
        test_ok(geodec_warp_published_run(w, b, &c, NULL, NULL, &fast, &err), &err);
        test_ok(run_plain(&m, &d, &c, &plain, &err), &err);
        cr_assert_arr_eq(fast.used, plain.used, F * H);
        cr_assert_leq(worst(F, fast.pre, plain.pre, NULL, 0), 1e-9);
        cr_assert_leq(worst(F, fast.post, plain.post, NULL, 0), 1e-6);
        cr_assert_leq(worst(F * H, fast.spillover, plain.spillover, fast.used, 1e-6), 1e-6);
        for (int j = 0; j < F; j++) moved += fabs(fast.post[j] - fast.pre[j]) > 1e-3 * fast.pre[j] ? 1 : 0;
        used += fast.summary.spills;
        geodec_warp_published_clear(&fast);
        geodec_warp_published_clear(&plain);
    }
    cr_assert_gt(moved, 0);
    cr_assert_gt(used, 0);
    geodec_warp_published_release(b);
    geodec_warp_published_destroy(w);
    geodec_harness_manifold_clear(&m);
}
Test(published_warp, fast_is_plain)
{
    compare(20, 3, 1.5); /* eigenvalues below the floor or not */
    compare(24, 6, 1.0);
    compare(40, 4, 0.3);
}

Test(published_warp, bad_input_is_refused)
{
    enum { P = 12, N = 3 };
    geodec_err err = {0};
    double point[P * N];
    for (int i = 0; i < P * N; i++) point[i] = sin(1.7 * i * i + 0.3);
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_harness_manifold m;
    geodec_warp_published *w = NULL;
    geodec_warp_published_before *b = NULL;
    geodec_warp_published_outcome out = {0};
    test_ok(geodec_harness_manifold_fit(P, N, point, &o, NULL, NULL, &m, &err), &err);
    test_ok(geodec_warp_published_create(&m, NULL, NULL, &w, &err), &err);
    int64_t query[1] = {12}, holdout[1] = {1};
    const geodec_warp_published_draws d = {.facts = 1, .holdouts = 1, .query = query, .holdout = holdout};
    cr_assert_eq(geodec_warp_published_prepare(w, &d, 4, 0.1, NULL, NULL, &b, &err), GEODEC_RANGE);
    query[0] = 2;
    holdout[0] = -1;
    cr_assert_eq(geodec_warp_published_prepare(w, &d, 4, 0.1, NULL, NULL, &b, &err), GEODEC_RANGE);
    holdout[0] = 1;
    test_ok(geodec_warp_published_prepare(w, &d, 4, 0.1, NULL, NULL, &b, &err), &err);
    geodec_warp_published_config c = {.alpha = 0.1, .extent = 1, .steps = 5, .dl = 0.1};
    cr_assert_eq(geodec_warp_published_run(w, b, &c, NULL, NULL, &out, &err), GEODEC_INVAL);
    c.steps = 4;
    c.extent = 0;
    cr_assert_eq(geodec_warp_published_run(w, b, &c, NULL, NULL, &out, &err), GEODEC_RANGE);
    cr_assert_eq(run_plain(&m, &d, &c, &out, &err), GEODEC_RANGE);
    geodec_warp_published_release(b);
    geodec_warp_published_destroy(w);
    geodec_harness_manifold_clear(&m);
}
