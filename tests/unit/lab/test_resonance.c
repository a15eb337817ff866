#include "geometry/space_closed.h"
#include "lab/resonance/resonance.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

/* On the sphere Phi and the flow are derivatives of the true paths: the error relative to the shift of the end falls
 * with the move, and leaving the move as it was is far worse. Times are positive and no batch beats the floor by much.
 */
Test(resonance, true_trajectories_of_the_sphere)
{
    geodec_space_conformal sphere;
    const double x0[4] = {0.2, -0.1, 0.3, 0.1};
    double v0[4] = {1, 0.5, -0.3, 0.2};
    geodec_err err = {0};
    test_ok(geodec_space_conformal_init(&sphere, 4, 1, &err), &err);
    test_ok(geodec_geodesic_unit(&sphere.base, x0, v0, &err), &err);
    geodec_resonance_options o = geodec_resonance_defaults();
    o.seconds = 1e-4;
    o.directions = 6;
    o.path.dl = 0.05;
    geodec_resonance r;
    test_ok(geodec_resonance_compute(&sphere.base, x0, v0, &o, &r, &err), &err);
    cr_assert_eq(r.broken, 0);
    for (int z = 0; z < 2; z++) {
        cr_assert_float_eq(r.slope[z], 1, 0.1, "size %d: order %g", z, r.slope[z]);
        cr_assert_lt(r.error[z][0], 1e-3);
        cr_assert_gt(r.control[z][0], 100 * r.error[z][0]);
        for (int b = 0; b < GEODEC_RESONANCE_BATCHES; b++) {
            cr_assert(r.loop_us[z][b] > 0 && r.gemm_us[z][b] > 0 && r.kernel_us[z][b] > 0);
            cr_assert_gt(r.kernel_us[z][b], 0.5 * r.floor_us[z]);
        }
    }
    for (int b = 0; b < GEODEC_RESONANCE_BATCHES; b++) cr_assert_lt(r.same_product[b], 1e-15);
    geodec_resonance again;
    test_ok(geodec_resonance_compute(&sphere.base, x0, v0, &o, &again, &err), &err);
    for (int z = 0; z < 2; z++)
        for (int k = 0; k < GEODEC_RESONANCE_MOVES; k++) cr_assert_eq(r.error[z][k], again.error[z][k]);
    o.repeats = 0;
    cr_assert_eq(geodec_resonance_compute(&sphere.base, x0, v0, &o, &r, NULL), GEODEC_RANGE);
}

/* The printed ratios are those of the times of the harness; one row was disturbed. */
Test(resonance, published_table)
{
    const double printed[] = {14.6, 97.9, 27.4, 44.5, 60.0};
    const geodec_resonance_published_row p = geodec_resonance_published_explain();
    for (int b = 0; b < GEODEC_RESONANCE_BATCHES; b++) cr_assert_float_eq(p.speedup[b], printed[b], 0.05);
    cr_assert_float_eq(p.overhead, 1.11, 0.005);
    cr_assert_float_eq(p.steady[1], 2.6, 0.05);
    cr_assert_float_eq(p.steady[4], p.speedup[4], 1e-12);
}
