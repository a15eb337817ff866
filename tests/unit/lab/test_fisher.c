/* The effective rank of the Fisher metric: closed forms, and two models that are one function in different spaces. */
#include "base/mem.h"
#include "lab/fisher/rank.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

/* Two tokens: G0 = p (1-p) (a - b)(a - b)^T, of rank one. Many equal tokens, wide matrix: close to white, full rank. */
Test(fisher, control_has_the_rank_of_the_distribution)
{
    enum { D = 6, V = 20000 };
    geodec_err err = {0};
    const double two[5] = {0, 0.3, 0, 0.7, 0};
    double rank;
    geodec_linalg_init();
    test_ok(geodec_fisher_control(D, 5, two, 3, 1, 1, &rank, &err), &err);
    cr_assert_lt(fabs(rank - 1), 1e-12);
    double *uniform = geodec_mem_new(V, sizeof *uniform);
    for (int i = 0; i < V; i++) uniform[i] = 1.0 / V;
    test_ok(geodec_fisher_control(D, V, uniform, 2, 1, 1, &rank, &err), &err);
    cr_assert(rank > 5.99 && rank < 6);
    /* between: a Wishart matrix of nu = 12 degrees of freedom, E tr^2 / E tr of the square = (D nu + 2) / (D + nu + 1)
     */
    for (int i = 0; i < 13; i++) uniform[i] = 1.0 / 13;
    test_ok(geodec_fisher_control(D, 13, uniform, 2000, 1, 1, &rank, &err), &err);
    cr_assert_lt(fabs(rank / (74.0 / 19) - 1), 0.02, "%g", rank);
    cr_assert_eq(geodec_fisher_control(D, V, uniform, 0, 1, 1, &rank, NULL), GEODEC_RANGE);
    geodec_mem_free(uniform);
}

static geodec_fisher_figures of_model(const char *path, int32_t from, double *p)
{
    static const int32_t token[] = {1, 403, 407, 261, 378, 432, 383, 286, 261, 400, 428};
    enum { N = sizeof token / sizeof *token };
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_reference *r = NULL;
    geodec_fisher_figures f;
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_reference_create(m, NULL, &r, &err), &err);
    const int64_t d = geodec_model_configuration(m)->d_model;
    double *x = geodec_mem_new(N * d, sizeof *x), *y = geodec_mem_new(N * d, sizeof *y);
    test_ok(geodec_reference_embed(r, token, N, x, &err), &err);
    test_ok(geodec_reference_run(r, 0, from, N, x, NULL, y, &err), &err);
    test_ok(geodec_fisher_at(r, from, N, y, 1, 1, &f, p, &err), &err);
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_reference_destroy(r);
    geodec_model_close(m);
    return f;
}

/* rot256 is stories260K in a wider space, through an isometry: the metric's invariants are the same. */
Test(fisher, does_not_depend_on_the_space_around)
{
    const char *small = test_shared("models/stories260K-f32.gguf"),
               *wide = test_shared("models/stories260K-rot256-f32.gguf");
    double p[512], q[512];
    geodec_linalg_init();
    for (int32_t from = 2; from <= 5; from += 3) {
        const geodec_fisher_figures a = of_model(small, from, p), b = of_model(wide, from, q);
        cr_assert(a.check < 1e-4 && b.check < 1e-4);
        cr_assert(a.rank > 1 && a.rank < 64 && a.largest > 1.0 / 64 && a.largest < 1);
        cr_assert_lt(fabs(a.entropy - b.entropy), 1e-5);
        cr_assert_lt(fabs(a.trace - b.trace), 1e-5 * a.trace);
        cr_assert_lt(fabs(a.rank - b.rank), 1e-5 * a.rank);
        cr_assert_lt(fabs(a.largest - b.largest), 1e-5);
        for (int i = 0; i < 512; i++) cr_assert_lt(fabs(p[i] - q[i]), 1e-5);
    }
}
