/* The logarithm map where it is known in closed form, and where there is none. */
#include "base/rng.h"
#include "geodec/geodesic.h"
#include "geometry/closed_forms.h"
#include "geometry/geodesic.h"
#include "geometry/space_closed.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 3 };

/* On the sphere and in hyperbolic space: y = exp_x(v) by the exact geodesic, so w must be v, as far as pi / 3. */
Test(logmap, the_velocity_of_an_exact_geodesic_is_found_again)
{
    const double curvatures[] = {1, -1};
    for (int c = 0; c < 2; c++) {
        geodec_err err = {0};
        geodec_space_conformal s;
        geodec_logmap_options o = geodec_logmap_defaults();
        o.rtol = 1e-10;
        o.tolerance = 1e-9;
        test_ok(geodec_space_conformal_init(&s, N, curvatures[c], &err), &err);
        for (int i = 0; i < 20; i++) {
            geodec_rng r = geodec_rng_stream(3, geodec_rng_id("logmap", (uint64_t)i));
            double x[N], v[N], y[N], w[N], g[N * N];
            bool found;
            for (int a = 0; a < N; a++) x[a] = 0.5 * (geodec_rng_uniform(&r) - 0.5);
            for (int a = 0; a < N; a++) v[a] = geodec_rng_normal(&r);
            test_ok(s.base.at(&s.base, x, g, NULL, NULL, &err), &err);
            double norm = 0;
            for (int a = 0; a < N; a++) norm += g[a * N + a] * v[a] * v[a];
            const double length = i / 19.0 * 3.141592653589793 / 3;
            for (int a = 0; a < N; a++) v[a] *= (length + 1e-3) / sqrt(norm);
            test_ok(closed_geodesic(&s, x, v, 1, y, &err), &err);
            test_ok(geodec_logmap(&s.base, &o, x, y, w, &found, &err), &err);
            cr_assert(found, "curvature %g, length %g", curvatures[c], length);
            cr_assert_lt(test_max_abs_diff(w, v, N), 1e-7 * (1 + test_max_abs(v, N)), "curvature %g, length %g: %g",
                         curvatures[c], length, test_max_abs_diff(w, v, N));
        }
    }
}

/* By steps of Runge and Kutta: the end of a geodesic of these steps, so w has their error of fourth order, 16 times
 * less with half the step. */
Test(logmap, by_fixed_steps)
{
    geodec_err err = {0};
    geodec_space_conformal s;
    const double x[N] = {0.1, -0.2, 0.15}, v[N] = {0.3, 0.2, -0.25};
    double y[N], w[N], error[2];
    bool found;
    geodec_geodesic_options o = geodec_geodesic_defaults();
    test_ok(geodec_space_conformal_init(&s, N, 1, &err), &err);
    test_ok(closed_geodesic(&s, x, v, 1, y, &err), &err);
    for (int i = 0; i < 2; i++) {
        o.steps = 4 << i;
        o.dl = 1 / (double)o.steps;
        test_ok(geodec_logmap_by(&s.base, &o, 1e-12, 20, x, y, w, &found, &err), &err);
        cr_assert(found);
        error[i] = test_max_abs_diff(w, v, N);
    }
    cr_assert(error[0] < 1e-4 && error[0] / error[1] > 12 && error[0] / error[1] < 22, "%g %g", error[0], error[1]);
    o.steps = GEODEC_LOGMAP_STEPS + 1;
    cr_assert_eq(geodec_logmap_by(&s.base, &o, 1e-12, 20, x, y, w, &found, NULL), GEODEC_RANGE);
    o.steps = 0;
    cr_assert_eq(geodec_logmap_by(&s.base, &o, 1e-12, 20, x, y, w, &found, NULL), GEODEC_RANGE);
}

/* In a flat space it is the chord, from one geodesic. */
Test(logmap, flat_space_and_one_point)
{
    geodec_err err = {0};
    geodec_space_constant s;
    const double g[N * N] = {2, 0.5, 0, 0.5, 1, 0, 0, 0, 3}, x[N] = {1, -2, 0.5}, y[N] = {-3, 4, 2};
    geodec_logmap_options o = geodec_logmap_defaults();
    double w[N];
    bool found;
    test_ok(geodec_space_constant_init(&s, N, g, &err), &err);
    o.rounds = 1;
    test_ok(geodec_logmap(&s.base, &o, x, y, w, &found, &err), &err);
    cr_assert(found);
    for (int i = 0; i < N; i++) cr_assert_float_eq(w[i], y[i] - x[i], 1e-12);
    test_ok(geodec_logmap(&s.base, &o, x, x, w, &found, &err), &err);
    cr_assert(found && test_max_abs(w, N) == 0);
}

/* Outside the hyperbolic ball there is no point to reach: not found, no error; a start there is one. */
Test(logmap, what_cannot_be_reached)
{
    geodec_err err = {0};
    geodec_space_conformal s;
    const geodec_logmap_options o = geodec_logmap_defaults();
    const double x[N] = {0};
    double w[N];
    bool found = true;
    test_ok(geodec_space_conformal_init(&s, N, -1, &err), &err);
    test_ok(geodec_logmap(&s.base, &o, x, (const double[]){3, 0, 0}, w, &found, &err), &err);
    cr_assert_not(found);
    cr_assert_eq(geodec_logmap(&s.base, &o, (const double[]){3, 0, 0}, x, w, &found, NULL), GEODEC_NUMERIC);
}
