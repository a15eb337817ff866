/* The exponential of small matrices against a long double Taylor series, at every degree, on every instruction set. */
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/expm.h"
#include "linalg/expm_exact.h"
#include "linalg/small_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MAX = EXPM_MAX };

static void fill(int kind, int n, double norm, uint64_t seed, double *a)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("expm", (uint64_t)n));
    double size = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double z = geodec_rng_normal(&r);
            a[i * n + j] = kind == 0   ? z
                           : kind == 1 ? (j > i    ? z * pow(4, j - i - n)
                                          : i == j ? 0.1 * z
                                                   : 0)
                           : i < n / 2 ? (double)(j == i + n / 2)
                                       : 0.3 * z;
        }
    for (int j = 0; j < n; j++) {
        double s = 0;
        for (int i = 0; i < n; i++) s += fabs(a[i * n + j]);
        size = fmax(size, s);
    }
    for (int i = 0; i < n * n; i++) a[i] *= norm / size;
}

/* 1e-15: the bound of the degrees is 1.1e-16, and each squaring doubles the rounding errors. */
Test(linalg, expm_of_small_matrices_is_exact_to_rounding)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 12, 16, 17, 24, 33, 34, 47, 64, 66};
    static const double norms[] = {1e-12, 1e-6, 1e-3, 0.02, 0.2, 0.9, 3};
    static double a[MAX * MAX], e[MAX * MAX];
    double worst = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
            for (int kind = 0; kind < 3; kind++) {
                const int n = sizes[s];
                fill(kind, n, norms[i], s, a);
                test_ok(geodec_expm(n, a, e, NULL, NULL), NULL);
                const double error = expm_error(n, a, e);
                cr_assert_lt(error, n <= GEODEC__EXPM_SMALL ? 1e-15 : 1e-14, "kind %d n %d norm %g: %g", kind, n,
                             norms[i], error);
                worst = fmax(worst, error);
            }
    cr_assert_gt(worst, 1e-17); /* the reference is not the thing itself */
}

Test(linalg, expm_has_the_same_bits_on_every_instruction_set)
{
    static const int sizes[] = {1, 3, 8, 11, 16, 29, 34, 42, 49, 57, 64};
    static double a[64 * 64], e[64 * 64], f[64 * 64];
    const geodec__small_kernels *best = geodec__small_best();
    const geodec__small_kernels *const all[] = {&geodec__small_scalar, &geodec__small_avx2, &geodec__small_avx512};
    int compared = 0;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        if (!all[k]->expm || (all[k] != &geodec__small_scalar && best == &geodec__small_scalar)) continue;
        if (all[k] == &geodec__small_avx512 && best != &geodec__small_avx512) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (double norm = 1e-5; norm < 50; norm *= 7) {
                const int64_t n = sizes[s];
                double x, y, *work = geodec_mem_new(geodec__expm_small_work(n) + 1, sizeof *work);
                fill(0, (int)n, norm, 7, a);
                cr_assert_eq(geodec__small_scalar.expm(n, a, e, work, &x), GEODEC__EXPM_OK);
                cr_assert_eq(all[k]->expm(n, a, f, work + 1, &y), GEODEC__EXPM_OK); /* work need not be aligned */
                cr_assert_eq(memcmp(e, f, (size_t)(n * n) * sizeof *e), 0, "%s n %d norm %g", all[k]->name, (int)n,
                             norm);
                cr_assert_eq(x, y);
                geodec_mem_free(work);
                compared++;
            }
    }
    cr_assert_gt(compared, 0);
}

/* A large corner: exp(A + E) with |E| <= u |A| is the bound of scaling and squaring. */
Test(linalg, expm_of_matrices_far_from_normal)
{
    for (double corner = 1e-3; corner < 1e12; corner *= 100) {
        const double a[4] = {0.5, corner, 0, 0.5}, grow = exp(0.5), tolerance = 1e-15 * (1 + corner);
        double e[4];
        test_ok(geodec_expm(2, a, e, NULL, NULL), NULL);
        cr_assert_float_eq(e[0], grow, tolerance);
        cr_assert_float_eq(e[1], grow * corner, tolerance * (1 + corner));
        cr_assert_eq(e[2], 0);
        cr_assert_float_eq(e[3], grow, tolerance);
    }
    double big[9] = {0, 1e300, 0, 0, 0, 1e300, 0, 0, 0}, e[9];
    cr_assert_eq(geodec_expm(3, big, e, NULL, NULL), GEODEC_NUMERIC);
    big[1] = INFINITY;
    cr_assert_eq(geodec_expm(3, big, e, NULL, NULL), GEODEC_NUMERIC);
}

/* All eigenvalues negative: a polynomial at -1.6 alone would lose ten times the rounding, and did without the shift. */
Test(linalg, expm_of_decaying_matrices_is_exact_to_rounding)
{
    static const int sizes[] = {1, 4, 9, 16};
    static double a[MAX * MAX], e[MAX * MAX];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int step = 1; step <= 40; step++) {
            const int n = sizes[s];
            fill(0, n, 0.05, (uint64_t)step, a);
            for (int i = 0; i < n; i++) a[i * n + i] -= 0.1 * step;
            test_ok(geodec_expm(n, a, e, NULL, NULL), NULL);
            cr_assert_lt(expm_error(n, a, e), 5e-16, "n %d at %g: %g", n, 0.1 * step, expm_error(n, a, e));
        }
}

Test(linalg, expm_product_is_the_sum_in_order_on_every_instruction_set)
{
    static double a[64 * 64], b[64 * 64], c[64 * 64], by_kernel[64 * 64];
    const geodec__small_kernels *best = geodec__small_best();
    const geodec__small_kernels *const all[] = {&geodec__small_scalar, &geodec__small_avx2, &geodec__small_avx512};
    for (int n = 1; n <= 64; n += n % 8 == 0 ? 1 : 7 - n % 8 + 1) { /* 1, 8, 9, 16, 17 .. 64 */
        fill(0, n, 1, 3, a);
        fill(0, n, 2, 4, b);
        geodec_expm_product(n, a, b, c);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double sum = 0, size = 0;
                for (int k = 0; k < n; k++) {
                    sum = fma(a[i * n + k], b[k * n + j], sum);
                    size += fabs(a[i * n + k] * b[k * n + j]);
                }
                if (n % 8 == 0)
                    cr_assert_eq(c[i * n + j], sum, "n %d, %d %d", n, i, j);
                else
                    cr_assert_leq(fabs(c[i * n + j] - sum), 1e-14 * size);
            }
        for (size_t k = 0; k < sizeof all / sizeof *all && n % 8 == 0; k++) {
            if (!all[k]->product || (all[k] != &geodec__small_scalar && best == &geodec__small_scalar)) continue;
            if (all[k] == &geodec__small_avx512 && best != &geodec__small_avx512) continue;
            all[k]->product(n, a, b, by_kernel);
            cr_assert_eq(memcmp(c, by_kernel, (size_t)(n * n) * sizeof *c), 0, "%s n %d", all[k]->name, n);
        }
    }
}
