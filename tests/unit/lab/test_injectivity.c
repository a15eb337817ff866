#include "geometry/geodesic.h"
#include "geometry/rbf.h"
#include "geometry/space_closed.h"
#include "lab/injectivity/injectivity.h"
#include "lab/published/injectivity.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

/* pi on the sphere in every dimension: for odd n the zero has even multiplicity and the determinant keeps its sign. */
Test(injectivity, sphere_is_conjugate_at_pi)
{
    for (int32_t n = 2; n <= 8; n++) {
        geodec_space_conformal s;
        geodec_err err = {0};
        double x[8] = {1}, v[8] = {0, 1}, t, good;
        test_ok(geodec_space_conformal_init(&s, n, 1, &err), &err);
        if (n > 2) v[2] = 0.7;
        test_ok(geodec_geodesic_unit(&s.base, x, v, &err), &err);
        test_ok(geodec_injectivity_conjugate(&s.base, x, v, 3.6, 180, &t, &good, &err), &err);
        cr_assert_float_eq(t, M_PI, 1e-3, "n %d: %.6f", (int)n, t);
        test_ok(geodec_injectivity_conjugate(&s.base, x, v, 3.0, 180, &t, &good, &err), &err);
        cr_assert_float_eq(t, 3.0, 0);
    }
}

Test(injectivity, known_spaces)
{
    geodec_err err = {0};
    geodec_space_conformal s;
    geodec_space_torus torus;
    geodec_injectivity r;
    double x[30], k, top, side[3] = {0.8, 1.1, 2}, period[3] = {1, 1, 1};
    geodec_injectivity_options o = geodec_injectivity_defaults();
    for (int i = 0; i < 30; i++) x[i] = 0.3 * sin(1.1 * i * i + 0.4);
    test_ok(geodec_space_conformal_init(&s, 3, -1, &err), &err);
    o.anchors = 3;
    o.reach = 2;
    test_ok(geodec_injectivity_run(&s.base, 10, x, NULL, &o, NULL, NULL, &r, &err), &err);
    cr_assert_eq(r.found, 0);
    cr_assert_lt(r.sphere, 1e-3);
    cr_assert_lt(r.torus, 1e-6);
    cr_assert_eq(r.hyperbolic, 0);
    for (int i = 0; i < 3; i++) {
        cr_assert_float_eq(r.anchor[i].k_max, -1, 1e-4);
        cr_assert(isinf(r.anchor[i].bound));
    }
    geodec_injectivity_clear(&r);
    test_ok(geodec_space_torus_init(&torus, 3, side, &err), &err);
    test_ok(geodec_injectivity_run(&torus.base, 10, x, period, &o, NULL, NULL, &r, &err), &err);
    for (int i = 0; i < 3; i++) cr_assert_float_eq(r.anchor[i].radius, 0.4, 1e-6);
    geodec_injectivity_clear(&r);
    test_ok(geodec_space_conformal_init(&s, 4, 2, &err), &err);
    test_ok(geodec_injectivity_sectional(&s.base, x, 1, &k, &top, &err), &err);
    cr_assert_float_eq(k, 2, 1e-4);
    cr_assert_float_eq(top, 2, 1e-4);
}

/* The largest curvature lies in no coordinate plane of the frame; a scan of planes finds no larger value. */
Test(injectivity, sectional_maximum)
{
    enum { SITES = 6, N = 3, PACKED = 6 };
    geodec_err err = {0};
    geodec_rbf *f = NULL;
    double site[SITES * N], log_g[SITES * PACKED], x[N] = {0.1, -0.2, 0.15}, k, top;
    for (int i = 0; i < SITES * N; i++) site[i] = sin(2.3 * i * i + 0.1);
    for (int i = 0; i < SITES * PACKED; i++) log_g[i] = 0.6 * cos(1.9 * i * i);
    test_ok(geodec_rbf_create(SITES, N, site, log_g, 0.9, &f, &err), &err);
    test_ok(geodec_injectivity_sectional(geodec_rbf_space(f), x, 3, &k, &top, &err), &err);
    /* in three dimensions every two-form is a plane, so the operator's eigenvalue is attained */
    cr_assert_float_eq(k, top, 1e-6 * fabs(top));
    geodec_rbf_destroy(f);
}

Test(injectivity, held_out_figures)
{
    const double raw[5] = {1, 2, 3, 4, 5}, y[5] = {2, 4, 6, 8, 10};
    const uint8_t use[5] = {1, 0, 1, 1, 1};
    geodec_injectivity_held_out h;
    geodec_injectivity_leave_one_out(5, raw, y, NULL, 1, &h);
    cr_assert_float_eq(h.C, 2, 1e-12);
    cr_assert_float_eq(h.r_out, 1, 1e-12);
    cr_assert_float_eq(h.mape_out, 0, 1e-12);
    cr_assert_gt(h.mape_constant, 0.3);
    cr_assert_lt(h.p, 0.05);
    geodec_injectivity_leave_one_out(5, raw, y, use, 1, &h);
    cr_assert_eq(h.count, 4);
    geodec_injectivity_leave_one_out(2, raw, y, NULL, 1, &h);
    cr_assert_eq(h.C, 0);
}

/* A cloud on a grid has a nearest distance without doubt; the universal formula is another number. */
Test(injectivity, nearest_distances)
{
    enum { P = 4096, N = 2 };
    static double x[P * N];
    geodec_err err = {0};
    double nn[4];
    for (int i = 0; i < P; i++) {
        x[2 * i] = i % 64;
        x[2 * i + 1] = i / 64;
    }
    test_ok(geodec_injectivity_nearest(P, N, x, 1, NULL, nn, &err), &err);
    cr_assert_float_eq(nn[1], 1, 1e-12);
    cr_assert_float_eq(nn[3] / nn[2], 1, 0.1); /* the closed form is for many points */
    cr_assert_float_eq(geodec_injectivity_published_universal(8, 64, 1), 3.0111, 1e-3);
    cr_assert_eq(geodec_injectivity_nearest(10, N, x, 1, NULL, nn, &err), GEODEC_SCARCE);
}
