/* The eigenproblem of small symmetric matrices: every size, awkward spectra, every instruction set. */
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/eig.h"
#include "linalg/small_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MAX = GEODEC__EIG_SMALL, KINDS = 9 };

/* 0 normal, 1 graded over 12 decades, 2 few different eigenvalues, 3 rank one, 4 tridiagonal already, 5 diagonal, 6
 * zero, 7 near overflow, 8 near underflow. */
static void fill(int kind, int n, double *a)
{
    geodec_rng r = geodec_rng_stream(21, (uint64_t)(kind * 100 + n));
    double x[MAX];
    for (int i = 0; i < n; i++) x[i] = geodec_rng_normal(&r);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            const double z = geodec_rng_normal(&r);
            a[i * n + j] = a[j * n + i] = kind == 1   ? z * pow(10, -12.0 * (i + j) / (2 * n))
                                          : kind == 2 ? (double)(i == j) + (i / 4 == j / 4)
                                          : kind == 3 ? x[i] * x[j]
                                          : kind == 4 ? (i - j < 2 ? z : 0)
                                          : kind == 5 ? (i == j ? z : 0)
                                          : kind == 6 ? 0
                                          : kind == 7 ? z * 1e306
                                          : kind == 8 ? z * 1e-305
                                                      : z;
        }
}

/* |A v - w v| and |V V^T - I|: 20 u n is the bound of the method and is not reached. */
Test(linalg, small_symmetric_eigenproblems)
{
    double a[MAX * MAX], v[MAX * MAX], w[MAX];
    for (int kind = 0; kind < KINDS; kind++)
        for (int n = 1; n <= MAX; n++) {
            geodec_err err = {0};
            fill(kind, n, a);
            test_ok(geodec_eig_sym(n, a, w, v, &err), &err);
            const double size = fmax(test_max_abs(a, (int64_t)n * n), 1e-307), scale = 1 / size;
            for (int k = 0; k < n; k++) {
                cr_assert(k == 0 || w[k - 1] <= w[k]);
                for (int i = 0; i < n; i++) {
                    double s = 0, dot = 0;
                    for (int j = 0; j < n; j++) {
                        s += a[i * n + j] * scale * v[k * n + j];
                        dot += v[k * n + j] * v[i * n + j];
                    }
                    cr_assert_lt(fabs(s - w[k] * scale * v[k * n + i]), 20 * 1.2e-16 * n + 1e-17, "kind %d n %d: %g",
                                 kind, n, fabs(s - w[k] * scale * v[k * n + i]));
                    cr_assert_lt(fabs(dot - (i == k)), 20 * 1.2e-16 * n);
                }
            }
            memcpy(v, a, sizeof v);
            double w2[MAX];
            test_ok(geodec_eig_sym(n, v, w2, v, &err), &err); /* in place */
            cr_assert_arr_eq(w, w2, (size_t)n * sizeof *w);
        }
}

Test(linalg, small_eigenproblems_have_the_same_bits_on_every_instruction_set)
{
    const geodec__small_kernels *best = geodec__small_best();
    const geodec__small_kernels *const all[] = {&geodec__small_avx2, &geodec__small_avx512};
    double a[MAX * MAX], v[MAX * MAX], w[MAX], v2[MAX * MAX], w2[MAX];
    double *work = geodec_mem_new(geodec__eig_small_work(MAX) + 1, sizeof *work);
    for (size_t k = 0; k < 2; k++) {
        if (best == &geodec__small_scalar || (k == 1 && best != all[1])) continue;
        for (int kind = 0; kind < KINDS; kind++)
            for (int n = 1; n <= MAX; n++) {
                fill(kind, n, a);
                cr_assert(geodec__small_scalar.eig(n, a, w, v, work));
                cr_assert(all[k]->eig(n, a, w2, v2, work + 1)); /* work need not be aligned */
                cr_assert_arr_eq(w, w2, (size_t)n * sizeof *w, "%s kind %d n %d", all[k]->name, kind, n);
                cr_assert_arr_eq(v, v2, (size_t)(n * n) * sizeof *v, "%s kind %d n %d", all[k]->name, kind, n);
            }
    }
    geodec_mem_free(work);
}
