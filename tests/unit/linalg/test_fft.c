/* The Fourier transform against its definition, and back. */
#include "base/mem.h"
#include "base/rng.h"
#include "linalg/fft.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

Test(fft, agrees_with_the_sum_at_any_length)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 8, 17, 60, 64, 97, 1000, 1024};
    const double pi = 3.14159265358979323846;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        const int64_t n = lengths[l];
        double *x = geodec_mem_new(6 * n, sizeof *x), *y = x + n, *re = y + n, *im = re + n, *a = im + n, *b = a + n;
        geodec_rng r = geodec_rng_stream(3, geodec_rng_id("fft", (uint64_t)n));
        geodec_err err = {0};
        geodec_fft *f;
        for (int64_t i = 0; i < n; i++) x[i] = re[i] = geodec_rng_normal(&r), y[i] = im[i] = geodec_rng_normal(&r);
        for (int64_t k = 0; k < n; k++) {
            for (int64_t t = 0; t < n; t++) {
                const double angle = -2 * pi * (double)(k * t % n) / (double)n;
                a[k] += x[t] * cos(angle) - y[t] * sin(angle);
                b[k] += x[t] * sin(angle) + y[t] * cos(angle);
            }
        }
        test_ok(geodec_fft_create(n, &f, &err), &err);
        geodec_fft_run(f, re, im);
        cr_assert_lt(test_max_abs_diff(re, a, n), 1e-11 * (double)n, "length %d", (int)n);
        cr_assert_lt(test_max_abs_diff(im, b, n), 1e-11 * (double)n, "length %d", (int)n);
        for (int64_t i = 0; i < n; i++) im[i] = -im[i];
        geodec_fft_run(f, re, im);
        for (int64_t i = 0; i < n; i++) re[i] /= (double)n, im[i] /= -(double)n;
        cr_assert_lt(fmax(test_max_abs_diff(re, x, n), test_max_abs_diff(im, y, n)), 1e-13 * (double)(n + 8));
        geodec_fft_destroy(f);
        geodec_mem_free(x);
    }
    geodec_fft *f;
    cr_assert_eq(geodec_fft_create(0, &f, NULL), GEODEC_RANGE);
}
