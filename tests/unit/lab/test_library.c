#include "base/mem.h"
#include "lab/library/library.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* All twenty settings of the golden file, decision by decision. */
Test(library, golden_streams)
{
    const char *path = test_shared("golden/ott/library_convergence.h5");
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

/* A stream that walks round a ring many times: hits come from the second round on, next states are predictable, and
 * the controls show how much of that is due to the ring. */
Test(library, sweep_of_a_repeating_stream)
{
    enum { Q = 600, ROUND = 50 };
    static double x[2 * Q], y[2 * Q];
    static uint8_t has[Q];
    geodec_err err = {0};
    geodec_library_sweep s, again;
    geodec_library_options o = geodec_library_defaults();
    geodec_pool *pool;
    for (int i = 0; i < Q; i++) {
        for (int a = 0; a < 2; a++) {
            const double t = 6.283185307179586 * (i + 0.001 * sin(i)) / ROUND,
                         u = 6.283185307179586 * (i + 1 + 0.001 * sin(i + 1)) / ROUND;
            x[2 * i + a] = a ? sin(t) : cos(t);
            y[2 * i + a] = a ? sin(u) : cos(u);
        }
        has[i] = i + 1 < Q;
    }
    double step = 0;
    for (int i = 0; i < 2 * (Q - 1); i++) step += (y[i] - x[i]) * (y[i] - x[i]) / (Q - 1);
    const geodec_successors next = {
        .points = Q, .k = 2, .known = Q - 1, .has = has, .coordinate = y, .rms_step = sqrt(step)};
    o.target = 0.9;
    o.n_radii = 3;
    memcpy(o.radius, (double[]){1, 8, 200}, 3 * sizeof(double));
    test_ok(geodec_library_sweep_run(Q, 2, x, &next, &o, NULL, NULL, &s, &err), &err);
    /* at the largest radius of the sweep, still far below the step: one round stored */
    cr_assert_eq(s.summary[s.n_radii - 1].stored, ROUND);
    cr_assert_eq(s.summary[s.n_radii - 1].second_half, 1);
    cr_assert_lt(s.quality[(s.n_radii - 1) * 4 + GEODEC_LIBRARY_COPY], 0.1);
    cr_assert_lt(s.quality[(s.n_radii - 1) * 4 + GEODEC_LIBRARY_TRANSPORT], 0.1);
    cr_assert_float_eq(s.quality[(s.n_radii - 1) * 4 + GEODEC_LIBRARY_IDENTITY], 1, 0.01);
    cr_assert_gt(s.quality[(s.n_radii - 1) * 4 + GEODEC_LIBRARY_RANDOM], 5);
    /* noise of the same covariance is nowhere near: its target needs a much larger radius */
    cr_assert_gt(s.target_radius[GEODEC_LIBRARY_GAUSSIAN], 5 * s.target_radius[GEODEC_LIBRARY_TEXT]);
    for (int w = 0; w < GEODEC_LIBRARY_STREAMS; w++) cr_assert(s.target_summary[w].hit_rate >= 0.9);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_library_sweep_run(Q, 2, x, &next, &o, pool, NULL, &again, &err), &err);
    geodec_pool_destroy(pool);
    cr_assert_eq(memcmp(s.quality, again.quality, (size_t)(4 * s.n_radii) * sizeof(double)), 0);
    cr_assert_eq(memcmp(s.target_radius, again.target_radius, sizeof s.target_radius), 0);
    for (int64_t i = 0; i < GEODEC_LIBRARY_STREAMS * s.n_radii; i++)
        cr_assert_eq(s.summary[i].stored, again.summary[i].stored);
    geodec_library_sweep_clear(&s);
    geodec_library_sweep_clear(&again);
    o.radius[1] = o.radius[0];
    cr_assert_eq(geodec_library_sweep_run(Q, 2, x, &next, &o, NULL, NULL, &s, &err), GEODEC_RANGE);
    o = geodec_library_defaults();
    memset(x, 0, sizeof x);
    cr_assert_eq(geodec_library_sweep_run(Q, 2, x, NULL, &o, NULL, NULL, &s, &err), GEODEC_SCARCE);
}
