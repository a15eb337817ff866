/* A world where the next state is a rotation of the state about a centre: known in closed form. */
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "lab/substitution/substitution.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { D = 3, N = 2, RECORDS = 400, QUERIES = 90 };

static void step(const double *x, double *y)
{
    y[0] = 0.2 + 0.8 * (x[0] - 0.2) - 0.6 * x[1];
    y[1] = 0.6 * (x[0] - 0.2) + 0.8 * x[1];
    y[2] = x[2];
}

Test(substitution, what_is_exact_is_exact_and_the_rest_is_near)
{
    geodec_err err = {0};
    static double from[RECORDS * D], to[RECORDS * D], query[QUERIES * D], truth[QUERIES * D], site[RECORDS * N],
        log_g[RECORDS * 3];
    static int32_t token[GEODEC_SUBSTITUTES * QUERIES], wanted[QUERIES], text[QUERIES];
    const double basis[N * D] = {1, 0, 0, 0, 1, 0}, mean[D] = {0};
    geodec_rng r = geodec_rng_stream(5, 5);
    geodec_rbf *field = NULL;
    geodec_linalg_init();
    for (int i = 0; i < RECORDS; i++) {
        for (int a = 0; a < D; a++) from[i * D + a] = 2 * geodec_rng_uniform(&r) - 1;
        from[i * D + 2] = 0.5;
        step(from + i * D, to + i * D);
        memcpy(site + i * N, from + i * D, N * sizeof *site);
    }
    for (int q = 0; q < QUERIES; q++) {
        for (int a = 0; a < D; a++) query[q * D + a] = 1.6 * geodec_rng_uniform(&r) - 0.8;
        query[q * D + 2] = 0.5;
        step(query + q * D, truth + q * D);
        text[q] = q / 3;
        wanted[q] = q % 4;
        for (int k = 0; k < GEODEC_SUBSTITUTES; k++) token[k * QUERIES + q] = k == GEODEC_SUBSTITUTE_STAY ? 9 : q % 2;
    }
    test_ok(geodec_rbf_create(RECORDS, N, site, log_g, 0.3, &field, &err), &err); /* g = I */
    const geodec_substitution_data s = {RECORDS, QUERIES, N, D, basis, mean, from, to, query, truth, field};
    geodec_substitution_predictions p, again;
    geodec_substitution f;
    geodec_pool *pool = NULL;
    test_ok(geodec_substitution_predict(&s, 1e-12, 1, NULL, NULL, &p, &err), &err);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_substitution_predict(&s, 1e-12, 1, pool, NULL, &again, &err), &err);
    cr_assert_eq(memcmp(p.state, again.state, sizeof(double) * GEODEC_SUBSTITUTES * QUERIES * D), 0);
    test_ok(geodec_substitution_figures(&s, &p, token, wanted, text, 100, 1, &f, &err), &err);
    enum { ALL = GEODEC_SUBSTITUTION_SHARES - 1 };
    cr_assert_float_eq(f.error[GEODEC_SUBSTITUTE_STAY][ALL].value, 1, 1e-12);
    cr_assert_lt(f.error[GEODEC_SUBSTITUTE_LINEAR][ALL].value, 1e-8);
    /* in the flat metric the nearest is the nearest by Euclid, and Phi = I: the propagator is the shift */
    const int64_t Q = QUERIES;
    cr_assert_eq(memcmp(p.state + GEODEC_SUBSTITUTE_COPY * Q * D, p.state + GEODEC_SUBSTITUTE_COPY_NEAR * Q * D,
                        sizeof(double) * QUERIES * D),
                 0);
    cr_assert_lt(test_max_abs_diff(p.state + GEODEC_SUBSTITUTE_SHIFT * Q * D,
                                   p.state + GEODEC_SUBSTITUTE_PROPAGATOR * Q * D, Q * D),
                 1e-9);
    cr_assert(p.broken == 0 && f.broken == 0);
    cr_assert_lt(f.error[GEODEC_SUBSTITUTE_COPY][ALL].value, 0.2);
    cr_assert_lt(f.error[GEODEC_SUBSTITUTE_COPY][0].value, f.error[GEODEC_SUBSTITUTE_COPY][ALL].value);
    cr_assert_gt(f.error[GEODEC_SUBSTITUTE_OTHER][ALL].value, 0.8);
    cr_assert(f.radius[0] < f.radius[1] && f.radius[3] < f.radius[ALL]);
    cr_assert_eq(f.agree[GEODEC_SUBSTITUTE_STAY][ALL].value, 0);
    cr_assert_float_eq(f.agree[GEODEC_SUBSTITUTE_COPY][ALL].value, 0.5,
                       0.02); /* q % 2 == q % 4 for half of the queries */
    f.full_us = 100, f.head_us = 10, f.lookup_us = 5;
    cr_assert_float_eq(geodec_substitution_speedup(&f, 0), 100.0 / 105, 1e-12);
    cr_assert_float_eq(geodec_substitution_speedup(&f, 0.5), 100 / (0.5 * 15 + 0.5 * 105), 1e-12);
    geodec_substitution_clear(&p);
    geodec_substitution_clear(&again);
    query[4] = INFINITY;
    cr_assert_eq(geodec_substitution_predict(&s, 1e-12, 1, NULL, NULL, &p, NULL), GEODEC_NUMERIC);
    geodec_pool_destroy(pool);
    geodec_rbf_destroy(field);
}
