#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/apply.h"
#include "linalg/small_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* The definition, one element at a time. a [n][n] row-major. */
static void reference(int64_t n, const double *a, int64_t count, const double *x, double *y)
{
    for (int64_t b = 0; b < count; b++)
        for (int64_t i = 0; i < n; i++) {
            double sum[2] = {0, 0};
            for (int64_t j = 0; j < n; j++) sum[j % 2] = fma(a[i * n + j], x[b * n + j], sum[j % 2]);
            y[b * n + i] = sum[0] + sum[1];
        }
}

/* Every kernel the processor has gives the reference's bits, for every size and count, and writes nothing beyond. */
Test(apply, kernels_agree_with_the_reference)
{
    enum { MAX = GEODEC_APPLY_MAX_N, COUNT = 21 };
    static double a[MAX * MAX], x[COUNT * MAX], y[COUNT * MAX + 1], want[COUNT * MAX];
    geodec_rng r = geodec_rng_stream(4, geodec_rng_id("apply", 0));
    const int64_t sizes[] = {1, 2, 3, 5, 6, 7, 8, 9, 12, 15, 16, 17, 23, 24, 25, 31, 32, 34, 64, 100, 128};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t n = sizes[s];
        for (int64_t i = 0; i < n * n; i++) a[i] = geodec_rng_normal(&r);
        for (int64_t i = 0; i < COUNT * n; i++) x[i] = geodec_rng_normal(&r);
        reference(n, a, COUNT, x, want);
        geodec_apply p;
        geodec_err err = {0};
        test_ok(geodec_apply_init(n, a, &p, &err), &err);
        const geodec__small_kernels *all[] = {&geodec__small_scalar, NULL, p.kernels};
#if defined(__x86_64__)
        if (geodec__cpu() & GEODEC__CPU_AVX2) all[1] = &geodec__small_avx2;
#endif
        for (int k = 0; k < 3; k++)
            for (int64_t count = 0; count <= COUNT; count++) {
                if (!all[k]) continue;
                for (int64_t i = 0; i <= count * n; i++) y[i] = -7;
                p.kernels = all[k];
                geodec_apply_many(&p, count, x, y);
                cr_assert_eq(memcmp(y, want, (size_t)(count * n) * sizeof *y), 0, "%s n %lld count %lld", all[k]->name,
                             (long long)n, (long long)count);
                cr_assert_eq(y[count * n], -7);
            }
        geodec_apply_clear(&p);
    }
    geodec_apply p;
    cr_assert_eq(geodec_apply_init(0, a, &p, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_apply_init(MAX + 1, a, &p, NULL), GEODEC_RANGE);
}
