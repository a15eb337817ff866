#include "base/mem.h"
#include "experiments/library.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

/* All twenty settings of the golden file, decision by decision. */
Test(library, golden_streams)
{
    const char *path = test_shared("golden/ott/library_convergence.h5");
    if (!path) return;
    static const char *const spreads[] = {"0.1", "0.25", "0.5", "1.0"}, *const radii[] = {"0.5", "1.0", "2.0", "3.0",
                                                                                          "4.0"};
    for (int s = 0; s < 4; s++) {
        char name[96];
        int64_t shape[8];
        (void)snprintf(name, sizeof name, "/queries_sd%s", spreads[s]);
        double *query = test_h5(path, name, shape, NULL);
        uint8_t *hit = geodec_mem_new(shape[0], 1);
        int64_t *assigned = geodec_mem_new(shape[0], sizeof *assigned);
        for (int r = 0; r < 5; r++) {
            geodec_err err = {0};
            geodec_library_summary out;
            char group[64];
            (void)snprintf(group, sizeof group, "/sd%s_r%s", spreads[s], radii[r]);
            (void)snprintf(name, sizeof name, "%s/hit", group);
            double *want = test_h5(path, name, NULL, NULL);
            (void)snprintf(name, sizeof name, "%s/assigned", group);
            double *record = test_h5(path, name, NULL, NULL);
            test_ok(
                geodec_library_run(shape[0], shape[1], query, strtod(radii[r], NULL), NULL, hit, assigned, &out, &err),
                &err);
            for (int64_t q = 0; q < shape[0]; q++) {
                cr_assert_eq(hit[q], (uint8_t)want[q], "%s query %lld", group, (long long)q);
                cr_assert_eq(assigned[q], (int64_t)record[q], "%s query %lld", group, (long long)q);
            }
            cr_assert_eq(out.stored, (int64_t)test_h5_attr(path, group, "stored"));
            cr_assert_float_eq(out.hit_rate, test_h5_attr(path, group, "hit_rate"), 1e-12);
            cr_assert_float_eq(out.second_half, test_h5_attr(path, group, "second_half_hit"), 1e-12);
            cr_assert_float_eq(out.hit_rate + (double)out.stored / (double)out.queries, 1, 1e-12);
            geodec_mem_free(want);
            geodec_mem_free(record);
        }
        geodec_mem_free(query);
        geodec_mem_free(hit);
        geodec_mem_free(assigned);
    }
}

Test(library, exponent_of_growth)
{
    enum { Q = 1024 };
    static double query[Q];
    geodec_err err = {0};
    geodec_library_summary out;
    for (int i = 0; i < Q; i++) query[i] = i; /* nothing repeats */
    test_ok(geodec_library_run(Q, 1, query, 0.5, NULL, NULL, NULL, &out, &err), &err);
    cr_assert_eq(out.stored, Q);
    cr_assert_float_eq(out.exponent, 1, 1e-9);
    for (int i = 0; i < Q; i++) query[i] = 0; /* all is one */
    test_ok(geodec_library_run(Q, 1, query, 0.5, NULL, NULL, NULL, &out, &err), &err);
    cr_assert_eq(out.stored, 1);
    cr_assert_float_eq(out.exponent, 0, 1e-9);
    query[7] = NAN;
    cr_assert_eq(geodec_library_run(Q, 1, query, 0.5, NULL, NULL, NULL, &out, &err), GEODEC_NUMERIC);
    cr_assert_eq(geodec_library_run(0, 1, query, 0.5, NULL, NULL, NULL, &out, &err), GEODEC_RANGE);
}
