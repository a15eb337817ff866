/* The measurement of the nearest-record search: results that do not depend on the machine. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/lookup/lookup.h"
#include "support/support.h"

#include <criterion/criterion.h>

static void cloud(int64_t points, geodec_metric *m)
{
    enum { N = 3 };
    geodec_rng r = geodec_rng_stream(3, geodec_rng_id("lookup cloud test", 0));
    geodec_metric_options o = geodec_metric_defaults();
    double *x = geodec_mem_new(points * N, sizeof *x);
    geodec_err err = {0};
    for (int64_t i = 0; i < points * N; i++) x[i] = (double)(1 + 4 * (i % N)) * geodec_rng_normal(&r); /* 1, 5, 9 */
    o.k = 8;
    o.force_k = true;
    o.shrink = 0;
    o.ridge_relative = 1e-3;
    test_ok(geodec_metric_fit(points, N, x, &o, NULL, NULL, m, &err), &err);
    geodec_mem_free(x);
}

Test(lookup_speed, a_cloud_at_its_own_condition_and_at_given_ones)
{
    static const double conditions[] = {0, 1, 1e2, 1e4};
    geodec_metric m = {0};
    geodec_err err = {0};
    double euclid[4];
    cloud(300, &m);
    for (int c = 0; c < 4; c++) {
        geodec_lookup_speed r = {.condition = conditions[c]}, again = r;
        test_ok(geodec_lookup_speed_cloud(&m, 1, true, &r, &err), &err);
        test_ok(geodec_lookup_speed_cloud(&m, 1, true, &again, &err), &err);
        cr_assert(r.kind == GEODEC_LOOKUP_CLOUD && r.records == 300 && r.n == 3);
        if (c == 0)
            cr_assert(r.condition > 2 && r.condition < 81, "%g", r.condition); /* the variances are 1 : 25 : 81 */
        else
            cr_assert_eq(r.condition, conditions[c]);
        cr_assert_eq(r.recall, 1);
        cr_assert(r.computed >= 1 && r.computed < 150, "%g", r.computed);
        cr_assert(r.computed == again.computed && r.recall_euclid == again.recall_euclid);
        cr_assert(r.single_us > 0 && r.batch_us > 0 && r.exhaustive_us > 0 && r.screen_us > 0 && r.euclid_us > 0);
        euclid[c] = r.recall_euclid;
    }
    cr_assert_gt(euclid[1], 0.9); /* in the identity halfway points have two nearest ones, and rounding decides */
    cr_assert_lt(euclid[3], 0.7);
    geodec_metric_clear(&m);
    cloud(15, &m);
    geodec_lookup_speed r = {.condition = 1};
    cr_assert_eq(geodec_lookup_speed_cloud(&m, 1, true, &r, &err), GEODEC_SCARCE);
    geodec_metric_clear(&m);
}

Test(lookup_speed, synthetic_records)
{
    geodec_err err = {0};
    for (int k = 0; k < GEODEC_LOOKUP_KINDS; k++) {
        geodec_lookup_speed r = {.kind = (geodec_lookup_queries)k, .records = 200, .n = 5, .condition = 1e3};
        test_ok(geodec_lookup_speed_measure(1, true, &r, &err), &err);
        cr_assert_eq(r.recall, 1);
        cr_assert_lt(r.recall_euclid, 1);
    }
}
