/* The published curvature warp: the plain and the fast computation against each other and against the goldens. */
#include "base/mem.h"
#include "lab/warp/published.h"
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

/* A synthetic cloud, several strengths (none among them) and widths: both computations give the same figures. */
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
        test_ok(geodec_warp_published_plain(&m, &d, &c, &plain, &err), &err);
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
    cr_assert_eq(geodec_warp_published_plain(&m, &d, &c, &out, &err), GEODEC_RANGE);
    geodec_warp_published_release(b);
    geodec_warp_published_destroy(w);
    geodec_harness_manifold_clear(&m);
}
