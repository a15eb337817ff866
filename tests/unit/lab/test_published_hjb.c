/* The published residual against the goldens. */
#include "base/mem.h"
#include "lab/published/hjb.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void residuals(const char *path)
{
    geodec_err err = {0};
    int64_t shape[8];
    double *point = test_h5(path, "/cloud/points", shape, NULL);
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_harness_manifold m;
    test_ok(geodec_harness_manifold_fit(shape[0], shape[1], point, &o, NULL, NULL, &m, &err), &err);
    static const char *const classes[] = {"geodesic", "nn_walk", "straight"};
    for (int c = 0; c < 3; c++) {
        char name[64];
        (void)snprintf(name, sizeof name, "/hjb/%s/xs", classes[c]);
        double *xs = test_h5(path, name, shape, NULL);
        const int64_t paths = shape[0], nodes = shape[1], n = shape[2], inner = nodes - 2;
        double *part = geodec_mem_new(3 * paths * inner, sizeof *part), *kinetic = part + paths * inner,
               *curvature = kinetic + paths * inner;
        for (int64_t p = 0; p < paths; p++)
            test_ok(geodec_hjb_published(&m, nodes, xs + p * nodes * n, part + p * inner, kinetic + p * inner,
                                         curvature + p * inner, &err),
                    &err);
        (void)snprintf(name, sizeof name, "/hjb/%s/kinetic", classes[c]);
        goldens_compare(path, name, paths * inner, kinetic, 1e-10);
        /* the total of a straight line is rounding too */
        (void)snprintf(name, sizeof name, "/hjb/%s/total", classes[c]);
        double *total = test_h5(path, name, NULL, NULL);
        for (int64_t i = 0; i < paths * inner; i++) cr_assert_leq(fabs(part[i] - total[i]), 1e-10 * total[i] + 1e-20);
        geodec_mem_free(total);
        const double largest = test_max_abs(curvature, paths * inner);
        (void)fprintf(stderr, "golden %s/hjb/%s/curvature: largest %.2e (limit 1e-20)\n", strrchr(path, '/') + 1,
                      classes[c], largest);
        cr_assert_lt(largest, 1e-20);
        geodec_mem_free(xs);
        geodec_mem_free(part);
    }
    cr_assert_eq(geodec_hjb_published(&m, 2, point, NULL, NULL, NULL, &err), GEODEC_RANGE);
    geodec_harness_manifold_clear(&m);
    geodec_mem_free(point);
}
Test(published_hjb, goldens) { goldens_each(residuals); }
