#include "base/choose.h"
#include "base/mem.h"
#include "base/tasks.h"
#include "chain/validity.h"
#include "geometry/bumps.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(tasks, subsets_are_random_and_rising)
{
    int64_t pick[30], count[100] = {0};
    geodec_err err = {0};
    for (uint64_t t = 0; t < 4000; t++) {
        test_ok(geodec__choose_subset(1, t, 100, 30, pick, &err), &err);
        for (int i = 0; i < 30; i++) {
            cr_assert(pick[i] >= 0 && pick[i] < 100);
            if (i) cr_assert_gt(pick[i], pick[i - 1]);
            count[pick[i]]++;
        }
    }
    for (int i = 0; i < 100; i++) cr_assert(llabs(count[i] - 1200) < 150, "%d: %d", i, (int)count[i]); /* 5 sd = 145 */
    cr_assert_eq(geodec__choose_subset(1, 0, 5, 6, pick, NULL), GEODEC_RANGE);
    test_ok(geodec__choose_subset(1, 0, 30, 30, pick, &err), &err);
    for (int i = 0; i < 30; i++) cr_assert_eq(pick[i], i);
}

Test(tasks, orders_are_permutations)
{
    int64_t order[50], first[50] = {0};
    for (uint64_t t = 0; t < 5000; t++) {
        bool seen[50] = {false};
        geodec__choose_order(3, t, 50, order);
        for (int i = 0; i < 50; i++) {
            cr_assert(order[i] >= 0 && order[i] < 50 && !seen[order[i]]);
            seen[order[i]] = true;
        }
        first[order[0]]++;
    }
    for (int i = 0; i < 50; i++) cr_assert(llabs(first[i] - 100) < 60);
}

typedef struct stopper {
    int64_t ran, stop_at;
} stopper;

static geodec_status count_task(void *ctx, int64_t task, geodec_err *err)
{
    (void)task;
    (void)err;
    ((stopper *)ctx)->ran++;
    return GEODEC_OK;
}

static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what;
    (void)total;
    return done >= ((stopper *)ctx)->stop_at;
}

Test(tasks, can_be_interrupted)
{
    stopper s = {.stop_at = 10};
    const geodec_hooks hooks = {.ctx = &s, .progress = stop};
    cr_assert_eq(geodec__tasks_run(NULL, &hooks, "counting", 1000, count_task, &s, NULL), GEODEC_INTERRUPTED);
    cr_assert(s.ran >= 10 && s.ran < 100, "%d", (int)s.ran);
    s = (stopper){.stop_at = 2000};
    cr_assert_eq(geodec__tasks_run(NULL, &hooks, "counting", 1000, count_task, &s, NULL), GEODEC_OK);
    cr_assert_eq(s.ran, 1000);
}

/* Allocating inside `at`, as a field does, so that running out of memory can happen in the middle of a path. */
typedef struct hungry {
    geodec_space base;
    bumps inner;
} hungry;

static geodec_status hungry_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const hungry *h = (const hungry *)s;
    double *scratch = NULL;
    GEODEC_NEW(scratch, 1);
    GEODEC_TRY(h->inner.base.at(&h->inner.base, x, g, dg, gamma, err));
done:
    geodec_mem_free(scratch);
    return st;
}

/* Whichever allocation fails, the call ends with GEODEC_NOMEM: never with a path that seems to have broken down, never
 * with a leak (the sanitizer build looks). */
Test(tasks, every_failing_allocation_is_reported)
{
    enum { N = BUMPS_N, T = 3 };
    const hungry space = {.base = {.n = N, .name = "hungry", .at = hungry_at, .fd_step = 1e-4}, .inner = bumps_make(1)};
    const geodec_space *s = &space.base;
    const double x0[N] = {0.1, 0, 0.2, 0}, v0[N] = {0.3, 0.1, 0, 0.2};
    for (int method = 0; method < 2; method++) {
        geodec_validity_options o = geodec_validity_defaults();
        o.path.method = method ? GEODEC_GEODESIC_ADAPTIVE : GEODEC_GEODESIC_RK4;
        o.path.steps = T;
        o.perturbations = 1;
        o.n_eps = 3;
        o.bootstrap = 2;
        for (int t = 0; t < GEODEC_VALIDITY_TAUS; t++) o.tau[t] = 1e9; /* no bisection */
        int64_t k = 1;
        for (bool done = false; !done; k += 1 + k / 16) {
            geodec_validity v = {0};
            geodec_err err = {0};
            geodec_mem_fail_after(k);
            const geodec_status st = geodec_validity_run(s, &o, NULL, NULL, 1, x0, v0, NULL, 1, &v, &err);
            geodec_mem_fail_after(0);
            done = st == GEODEC_OK;
            if (done) {
                for (int64_t i = 0; i < 3; i++)
                    cr_assert_gt(v.error[i], 0, "method %d: allocation %d was swallowed", method, (int)k);
                cr_assert_eq(v.status[0], GEODEC_PATH_OK);
            } else {
                cr_assert_eq(st, GEODEC_NOMEM, "method %d, allocation %d: %s", method, (int)k, geodec_status_name(st));
            }
            geodec_validity_clear(&v);
        }
        cr_assert_gt(k, 50);
    }
}
