#include "linalg/fft.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

struct geodec_fft {
    int64_t n, m;                  /* length; power of two, n itself or at least 2n - 1 */
    double *turn_re, *turn_im;     /* [m / 2] exp(-2 pi i k / m) */
    double *chirp_re, *chirp_im;   /* [n] exp(-pi i k^2 / n); lengths that are no power of two */
    double *kernel_re, *kernel_im; /* [m] transform of the conjugate chirp */
    double *work_re, *work_im;     /* [m] */
    double *block;                 /* of all these */
};

/* Radix 2, in place, decimation in time. */
static void power_of_two(const geodec_fft *f, double *re, double *im)
{
    const int64_t m = f->m;
    for (int64_t i = 1, j = 0; i < m; i++) {
        int64_t bit = m >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            const double a = re[i], b = im[i];
            re[i] = re[j], im[i] = im[j];
            re[j] = a, im[j] = b;
        }
    }
    for (int64_t len = 2; len <= m; len *= 2) {
        const int64_t half = len / 2, stride = m / len;
        for (int64_t at = 0; at < m; at += len) {
            for (int64_t k = 0; k < half; k++) {
                const double c = f->turn_re[k * stride], s = f->turn_im[k * stride];
                double *const ar = re + at + k, *const ai = im + at + k;
                const double br = ar[half] * c - ai[half] * s, bi = ar[half] * s + ai[half] * c;
                ar[half] = *ar - br, ai[half] = *ai - bi;
                *ar += br, *ai += bi;
            }
        }
    }
}

geodec_status geodec_fft_create(int64_t n, geodec_fft **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const double pi = 3.14159265358979323846264338327950;
    geodec_fft *f = NULL;
    if (n < 1 || n > (int64_t)1 << 28) GEODEC_THROW(GEODEC_RANGE, "a Fourier transform of length %lld", (long long)n);
    GEODEC_NEW(f, 1);
    f->n = n;
    f->m = 1;
    while (f->m < n) f->m *= 2;
    const int plain = f->m == n;
    if (!plain)
        while (f->m < 2 * n - 1) f->m *= 2;
    const int64_t half = f->m / 2 + 1, m = f->m;
    GEODEC_NEW(f->block, 2 * half + (plain ? 0 : 2 * n + 4 * m));
    f->turn_re = f->block, f->turn_im = f->turn_re + half;
    for (int64_t k = 0; k < f->m / 2; k++) {
        const double angle = -2 * pi * (double)k / (double)f->m;
        f->turn_re[k] = cos(angle);
        f->turn_im[k] = sin(angle);
    }
    if (!plain) {
        f->chirp_re = f->turn_im + half, f->chirp_im = f->chirp_re + n;
        f->kernel_re = f->chirp_im + n, f->kernel_im = f->kernel_re + m;
        f->work_re = f->kernel_im + m, f->work_im = f->work_re + m;
        for (int64_t k = 0; k < n; k++) { /* k^2 < 2^56 */
            const double angle = -pi * (double)(k * k % (2 * n)) / (double)n;
            f->chirp_re[k] = cos(angle);
            f->chirp_im[k] = sin(angle);
            f->kernel_re[k] = f->chirp_re[k];
            f->kernel_im[k] = -f->chirp_im[k];
            if (k) f->kernel_re[f->m - k] = f->kernel_re[k], f->kernel_im[f->m - k] = f->kernel_im[k];
        }
        power_of_two(f, f->kernel_re, f->kernel_im);
    }
    *out = f;
    f = NULL;
done:
    geodec_fft_destroy(f);
    return st;
}

void geodec_fft_destroy(geodec_fft *f)
{
    if (!f) return;
    GEODEC_FREE(f->block, f);
}

void geodec_fft_run(geodec_fft *f, double *re, double *im)
{
    const int64_t n = f->n, m = f->m;
    if (!f->chirp_re) {
        power_of_two(f, re, im);
        return;
    }
    double *wr = f->work_re, *wi = f->work_im;
    for (int64_t k = 0; k < n; k++) {
        wr[k] = re[k] * f->chirp_re[k] - im[k] * f->chirp_im[k];
        wi[k] = re[k] * f->chirp_im[k] + im[k] * f->chirp_re[k];
    }
    memset(wr + n, 0, (size_t)(m - n) * sizeof *wr);
    memset(wi + n, 0, (size_t)(m - n) * sizeof *wi);
    power_of_two(f, wr, wi);
    for (int64_t k = 0; k < m; k++) { /* product with the kernel, conjugated for the inverse */
        const double a = wr[k], b = wi[k];
        wr[k] = a * f->kernel_re[k] - b * f->kernel_im[k];
        wi[k] = -(a * f->kernel_im[k] + b * f->kernel_re[k]);
    }
    power_of_two(f, wr, wi);
    for (int64_t k = 0; k < n; k++) {
        const double a = wr[k] / (double)m, b = -wi[k] / (double)m;
        re[k] = a * f->chirp_re[k] - b * f->chirp_im[k];
        im[k] = a * f->chirp_im[k] + b * f->chirp_re[k];
    }
}
