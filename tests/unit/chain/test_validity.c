#include "base/mem.h"
#include "chain/validity.h"
#include "geometry/bumps.h"
#include "geometry/space_closed.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* The stored experiment on the sphere with exact Gamma and the variational propagator: every error, the end points and
 * the propagators; slope 2. */
Test(validity, golden_sphere)
{
    const char *file = test_shared("golden/ott/sphere_n4.h5");
    int64_t shape[8], starts, E, P;
    double *delta0 = test_h5(file, "/validity/delta0", shape, NULL), *points = test_h5(file, "/points", NULL, NULL),
           *seed_index = test_h5(file, "/validity/seed_index", NULL, NULL),
           *eps = test_h5(file, "/validity/eps", NULL, NULL), *v0 = test_h5(file, "/correct/v0", NULL, NULL),
           *want = test_h5(file, "/correct/rel_error", NULL, NULL), *phi = test_h5(file, "/correct/phi_T", NULL, NULL),
           *x_T = test_h5(file, "/correct/x_T", NULL, NULL), *mean = test_h5(file, "/correct/mean", NULL, NULL);
    starts = shape[0], E = shape[1], P = shape[2];
    double x0[16 * 4];
    for (int64_t i = 0; i < starts; i++) memcpy(x0 + i * 4, points + (int64_t)seed_index[i] * 4, 4 * sizeof *x0);
    geodec_space_conformal sphere;
    geodec_validity v;
    geodec_err err = {0};
    test_ok(geodec_space_conformal_init(&sphere, 4, 1, &err), &err);
    geodec_validity_options o = geodec_validity_defaults();
    o.path.steps = (int64_t)test_h5_attr(file, "/correct", "T");
    o.path.dl = test_h5_attr(file, "/correct", "dl");
    o.perturbations = P;
    o.n_eps = E;
    memcpy(o.eps, eps, (size_t)E * sizeof *eps);
    test_ok(geodec_validity_run(&sphere.base, &o, NULL, NULL, starts, x0, v0, delta0, 1, &v, &err), &err);
    cr_assert_lt(test_max_abs_diff(v.x_T, x_T, starts * 4), 1e-9);
    cr_assert_lt(test_max_abs_diff(v.phi, phi, starts * 16), 1e-6);
    for (int64_t i = 0; i < starts * E * P; i++)
        cr_assert_float_eq(v.error[i], want[i], 1e-5 * fabs(want[i]) + 1e-9, "%lld: %.9g, stored %.9g", (long long)i,
                           v.error[i], want[i]);
    for (int64_t e = 0; e < E; e++) cr_assert_float_eq(v.mean[e], mean[e], 1e-5 * mean[e]);
    cr_assert(v.slope_known && v.slope_ok);
    cr_assert(fabs(v.slope.value - 2) < 0.15, "slope %g", v.slope.value);
    for (int64_t e = 1; e < 6; e++) {
        const double slope = log(v.mean[e] / v.mean[e - 1]) / log(eps[e] / eps[e - 1]);
        cr_assert(fabs(slope - 2) < 0.15, "slope %g at eps %g", slope, eps[e]);
    }
    /* on the stored grid: 0.2, 0.2, 0.4 */
    cr_assert_eq(v.radius[0].value, 0.2);
    cr_assert_eq(v.radius[1].value, 0.2);
    cr_assert_eq(v.radius[2].value, 0.4);
    geodec_validity_clear(&v);
    double *all[] = {delta0, points, seed_index, eps, v0, want, phi, x_T, mean};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
}

/* A wrong linear map (the identity) is of first order and fails the check; the right one is of second order. */
Test(validity, slope_tells_a_wrong_map_from_a_right_one)
{
    geodec_validity v;
    geodec_err err = {0};
    geodec_validity_options o = geodec_validity_defaults();
    o.bootstrap = 200;
    test_ok(geodec_validity_sphere(3, &o, NULL, NULL, 6, 1, &v, &err), &err);
    cr_assert(v.slope_known && v.slope_ok && fabs(v.slope.value - 2) < 0.1, "slope %g", v.slope.value);
    cr_assert(v.slope.low <= v.slope.value && v.slope.value <= v.slope.high);
    for (int64_t e = 0; e < v.n_eps; e++) cr_assert(v.mean_low[e] <= v.mean[e] && v.mean[e] <= v.mean_high[e]);
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) {
        cr_assert_eq(v.censored[t], GEODEC_CENSORED_NONE);
        cr_assert(v.radius[t].low <= v.radius[t].value && v.radius[t].value <= v.radius[t].high);
    }
    cr_assert(v.radius[0].value < v.radius[1].value && v.radius[1].value < v.radius[2].value);
    /* with u fixed and the map replaced by I, halving eps halves the error */
    geodec_space_conformal sphere;
    test_ok(geodec_space_conformal_init(&sphere, 3, 1, &err), &err);
    double eye[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, u[3];
    geodec_validity_miss e[2];
    const geodec_validity_start wrong = {v.x0, v.v0, v.x_T, eye}, right = {v.x0, v.v0, v.x_T, v.phi};
    test_ok(geodec_validity_direction(&sphere.base, v.x0, 1, 7, u, &err), &err);
    for (int w = 0; w < 2; w++) {
        for (int k = 0; k < 2; k++) {
            double d[3];
            for (int i = 0; i < 3; i++) d[i] = u[i] * (k ? 0.005 : 0.01);
            test_ok(geodec_validity_error(&sphere.base, &o.path, w ? &right : &wrong, d, &e[k], &err), &err);
        }
        const double slope = log2(e[0].error / e[1].error);
        cr_assert(fabs(slope - (w ? 2 : 1)) < 0.1, "map %d: slope %g", w, slope);
        cr_assert(fabs(log2(e[0].shift / e[1].shift) - 1) < 0.1);
        if (!w) cr_assert_eq(e[0].error, e[0].shift);
    }
    geodec_validity_clear(&v);
}

/* Estimate and interval are one function: of one start every resample is the start itself, and nothing is left between
 * them; and the error at the radius is the tolerance. */
Test(validity, interval_and_radius_have_one_estimator)
{
    geodec_validity v, at;
    geodec_err err = {0};
    geodec_validity_options o = geodec_validity_defaults();
    o.bootstrap = 50;
    test_ok(geodec_validity_sphere(3, &o, NULL, NULL, 1, 5, &v, &err), &err);
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) {
        cr_assert_eq(v.censored[t], GEODEC_CENSORED_NONE);
        cr_assert(v.radius[t].low == v.radius[t].value && v.radius[t].value == v.radius[t].high, "%g [%g, %g]",
                  v.radius[t].value, v.radius[t].low, v.radius[t].high);
    }
    o.n_eps = GEODEC_VALIDITY_TAUS;
    o.bootstrap = 0;
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) o.eps[t] = v.radius[t].value;
    test_ok(geodec_validity_sphere(3, &o, NULL, NULL, 1, 5, &at, &err), &err);
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++)
        cr_assert(fabs(at.mean[t] / v.tau[t] - 1) < 0.005, "error %g at eps* of %g", at.mean[t], v.tau[t]);
    geodec_validity_clear(&v);
    geodec_validity_clear(&at);
}

Test(validity, directions_have_unit_length_in_the_metric)
{
    const bumps b = bumps_make(3);
    const double x[BUMPS_N] = {0.2, 0.1, -0.3, 0};
    double g[BUMPS_N * BUMPS_N], u[BUMPS_N], mean[BUMPS_N] = {0};
    geodec_err err = {0};
    test_ok(b.base.at(&b.base, x, g, NULL, NULL, &err), &err);
    for (uint64_t k = 0; k < 400; k++) {
        test_ok(geodec_validity_direction(&b.base, x, 5, k, u, &err), &err);
        double q = 0;
        for (int i = 0; i < BUMPS_N; i++) {
            mean[i] += u[i] / 400;
            for (int j = 0; j < BUMPS_N; j++) q += u[i] * g[i * BUMPS_N + j] * u[j];
        }
        cr_assert_float_eq(q, 1, 1e-12);
    }
    for (int i = 0; i < BUMPS_N; i++) cr_assert_lt(fabs(mean[i]), 0.2);
}

/* Radius of a start: the mean error there is tau; and it is censored where it must be. */
Test(validity, radius_solves_for_the_tolerance)
{
    geodec_validity v;
    geodec_err err = {0};
    geodec_space_conformal sphere;
    geodec_validity_options o = geodec_validity_defaults();
    o.bootstrap = 0;
    test_ok(geodec_space_conformal_init(&sphere, 4, 1, &err), &err);
    test_ok(geodec_validity_sphere(4, &o, NULL, NULL, 2, 3, &v, &err), &err);
    const geodec_validity_start start = {v.x0, v.v0, v.x_T, v.phi};
    double u[5 * 4], r1, r2;
    geodec_censored flag;
    for (uint64_t k = 0; k < 5; k++)
        test_ok(geodec_validity_direction(&sphere.base, v.x0, 2, k, u + 4 * k, &err), &err);
    test_ok(geodec_validity_radius(&sphere.base, &o.path, &start, 5, u, 0, 0.01, 1e-3, 5, &r1, &flag, &err), &err);
    cr_assert_eq(flag, GEODEC_CENSORED_NONE);
    double sum = 0;
    for (int k = 0; k < 5; k++) {
        double d[4];
        geodec_validity_miss e;
        for (int i = 0; i < 4; i++) d[i] = r1 * u[4 * k + i];
        test_ok(geodec_validity_error(&sphere.base, &o.path, &start, d, &e, &err), &err);
        sum += e.error / 5;
    }
    cr_assert(fabs(sum / 0.01 - 1) < 0.025, "%g at %g", sum, r1);
    test_ok(geodec_validity_radius(&sphere.base, &o.path, &start, 5, u, 0, 0.01, 1e-4, 1e-3, &r2, &flag, &err), &err);
    cr_assert(flag == GEODEC_CENSORED_ABOVE && r2 == 1e-3);
    test_ok(geodec_validity_radius(&sphere.base, &o.path, &start, 5, u, 0, 1e-9, 0.01, 1, &r2, &flag, &err), &err);
    cr_assert(flag == GEODEC_CENSORED_BELOW && r2 == 0.01);
    geodec_validity_clear(&v);
}

/* With two lengths above the floor there is no slope, and that is no pass. */
Test(validity, an_unknown_slope_does_not_pass)
{
    geodec_validity v;
    geodec_err err = {0};
    geodec_validity_options o = geodec_validity_defaults();
    o.bootstrap = 0;
    o.n_eps = 3;
    o.eps[0] = 0.01, o.eps[1] = 0.1, o.eps[2] = 0.2;
    test_ok(geodec_validity_sphere(3, &o, NULL, NULL, 2, 1, &v, &err), &err);
    cr_assert(v.slope_known && v.slope_ok);
    o.floor = 0.5 * (v.mean[0] + v.mean[1]);
    geodec_validity_clear(&v);
    test_ok(geodec_validity_sphere(3, &o, NULL, NULL, 2, 1, &v, &err), &err);
    cr_assert(!v.slope_known && !v.slope_ok && !v.flat && isnan(v.slope.value));
    geodec_validity_clear(&v);
}

/* In flat space nothing is measurable: the check reports it and fits no slope to rounding. */
Test(validity, flat_space_has_no_slope)
{
    geodec_space_torus torus;
    geodec_validity v;
    geodec_err err = {0};
    geodec_validity_options o = geodec_validity_defaults();
    const double x0[4] = {0, 0, 1, 1}, v0[4] = {1, 0, 0.5, 0.5};
    test_ok(geodec_space_torus_init(&torus, 2, (double[]){1, 1}, &err), &err);
    test_ok(geodec_validity_run(&torus.base, &o, NULL, NULL, 2, x0, v0, NULL, 1, &v, &err), &err);
    cr_assert(!v.slope_known && !v.slope_ok && v.flat && isnan(v.slope.value));
    for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++)
        cr_assert(v.censored[t] == GEODEC_CENSORED_ABOVE && v.radius[t].value == 5);
    geodec_validity_clear(&v);
    /* paths into the origin of the polar chart break down: counted, and an error only when all do */
    geodec_space polar;
    geodec_space_polar_init(&polar);
    const double px[4] = {1, 0, 2, 0}, pv[4] = {-1, 0, 0.3, 0.4};
    test_ok(geodec_validity_run(&polar, &o, NULL, NULL, 2, px, pv, NULL, 1, &v, &err), &err);
    cr_assert_eq(v.status[0], GEODEC_PATH_NONFINITE);
    cr_assert_eq(v.status[1], GEODEC_PATH_OK);
    cr_assert_gt(v.broken[v.n_eps - 1], 0);
    for (int64_t i = 0; i < 2 * v.n_eps * v.perturbations; i++) cr_assert(isfinite(v.error[i]));
    geodec_validity_clear(&v);
    cr_assert_eq(geodec_validity_run(&polar, &o, NULL, NULL, 1, px, pv, NULL, 1, &v, NULL), GEODEC_NUMERIC);
    o.eps[1] = o.eps[0];
    cr_assert_eq(geodec_validity_run(&polar, &o, NULL, NULL, 2, px, pv, NULL, 1, &v, NULL), GEODEC_RANGE);
}

Test(validity, one_and_three_threads_agree_bit_for_bit)
{
    geodec_validity v[2];
    geodec_err err = {0};
    geodec_pool *pool;
    geodec_validity_options o = geodec_validity_defaults();
    o.bootstrap = 100;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int t = 0; t < 2; t++) test_ok(geodec_validity_sphere(3, &o, t ? pool : NULL, NULL, 5, 9, &v[t], &err), &err);
    geodec_pool_destroy(pool);
    const size_t bytes = (size_t)(5 * v[0].n_eps * v[0].perturbations) * sizeof(double);
    cr_assert_eq(memcmp(v[0].error, v[1].error, bytes), 0);
    cr_assert_eq(memcmp(&v[0].slope, &v[1].slope, sizeof v[0].slope), 0);
    cr_assert_eq(memcmp(v[0].radius, v[1].radius, sizeof v[0].radius), 0);
    geodec_validity_clear(&v[0]);
    geodec_validity_clear(&v[1]);
}

/* Known spaces: second order where there is curvature, rounding where there is none. */
Test(validity, cases_known_in_closed_form)
{
    geodec_err err = {0};
    geodec_validity_options o = geodec_validity_defaults();
    o.bootstrap = 20;
    for (int w = 0; w < GEODEC_VALIDITY_CASES; w++) {
        geodec_validity v;
        test_ok(geodec_validity_case(w, 5, &o, NULL, NULL, 6, 3, &v, &err), &err);
        const geodec_metric_type kind = geodec_validity_case_kind(w);
        cr_assert_eq(v.n, kind == GEODEC_METRIC_GAUSSIAN_FISHER ? 2 : 5);
        if (kind == GEODEC_METRIC_FLAT) {
            cr_assert(!v.slope_known && !v.slope_ok && v.flat && v.mean[10] < 1e-12);
        } else {
            cr_assert(v.slope_known && fabs(v.slope.value - 2) < 0.15, "%s: slope %g", geodec_metric_type_name(kind),
                      v.slope.value);
        }
        geodec_validity_clear(&v);
    }
}

/* Steps that are too long for the place are halved until the propagators no longer change, and no further. */
Test(validity, the_step_settles)
{
    geodec_space_conformal sphere;
    geodec_err err = {0};
    test_ok(geodec_space_conformal_init(&sphere, 3, 1, &err), &err);
    geodec_validity_options o = geodec_validity_defaults();
    o.path.steps = 4;
    o.path.dl = 0.4;
    const double x0[] = {0.1, 0.2, -0.3, 0, 0.5, 0.1}, v0[] = {0.5, 0, 0, 0.2, 0.3, 0.4};
    int halvings = -1;
    double change = -1, worse = -1;
    test_ok(geodec_validity_settle(&sphere.base, &o, NULL, NULL, 2, x0, v0, 1e-6, 8, &halvings, &change, &err), &err);
    cr_assert(halvings >= 1 && halvings <= 6, "%d halvings", halvings);
    cr_assert(change > 0 && change <= 1e-6, "change %g", change);
    cr_assert_eq(o.path.steps, (int64_t)4 << halvings);
    cr_assert_eq(o.path.dl, ldexp(0.4, -halvings));
    /* one halving less was not enough */
    geodec_validity_options short_of = geodec_validity_defaults();
    short_of.path.steps = 4;
    short_of.path.dl = 0.4;
    test_ok(
        geodec_validity_settle(&sphere.base, &short_of, NULL, NULL, 2, x0, v0, 1e-6, halvings, &halvings, &worse, &err),
        &err);
    cr_assert_gt(worse, 1e-6);
    cr_assert_eq(short_of.path.steps, o.path.steps);
    /* flat space needs none */
    geodec_space_torus flat;
    test_ok(geodec_space_torus_init(&flat, 3, (double[]){1, 1, 1}, &err), &err);
    geodec_validity_options plain = geodec_validity_defaults();
    test_ok(geodec_validity_settle(&flat.base, &plain, NULL, NULL, 2, x0, v0, 1e-6, 8, &halvings, &change, &err), &err);
    cr_assert_eq(halvings, 0);
    cr_assert_eq(plain.path.steps, geodec_validity_defaults().path.steps);
}

/* On the sphere's conformal chart g = c(x) I, so an error of deviation s in each direction has the length s sqrt(n c).
 */
Test(validity, length_of_the_noise_is_that_of_the_metric)
{
    enum { D = 3, COUNT = 4 };
    geodec_space_conformal sphere;
    geodec_validity v;
    geodec_err err = {0};
    geodec_validity_options o = geodec_validity_defaults();
    double x0[COUNT * D] = {0, 0, 0, 0.3, 0, 0, 0, -0.5, 0.1, 0.2, 0.2, -0.2}, v0[COUNT * D], g[D * D], want = 0;
    o.bootstrap = 0;
    o.noise = 0.25;
    test_ok(geodec_space_conformal_init(&sphere, D, 1, &err), &err);
    for (int i = 0; i < COUNT; i++) {
        test_ok(geodec_validity_direction(&sphere.base, x0 + i * D, 2, (uint64_t)i, v0 + i * D, &err), &err);
        test_ok(sphere.base.at(&sphere.base, x0 + i * D, g, NULL, NULL, &err), &err);
        want += 0.25 * sqrt(D * g[0]) / COUNT;
    }
    test_ok(geodec_validity_run(&sphere.base, &o, NULL, NULL, COUNT, x0, v0, NULL, 1, &v, &err), &err);
    cr_assert_float_eq(v.noise_length, want, 1e-12 * want);
    geodec_validity_clear(&v);
    o.noise = 0;
    test_ok(geodec_validity_run(&sphere.base, &o, NULL, NULL, COUNT, x0, v0, NULL, 1, &v, &err), &err);
    cr_assert_eq(v.noise_length, 0.0, "unknown");
    geodec_validity_clear(&v);
}
