/* Derivatives of the matrix exponential in an eigenbasis, by divided differences of exp. */
#include "geometry/rbf_internal.h"
#include "linalg/blas.h"
#include "linalg/expm.h"

#include <math.h>
#include <string.h>

double geodec__expdiff_dd2(double x, double y)
{
    /* (e^x - e^y) / (x - y) = e^((x+y)/2) sinh(u) / u, u = (x-y)/2 */
    const double u = 0.5 * (x - y);
    const double u2 = u * u;
    const double ratio = u2 < 1e-4 ? 1 + u2 / 6 * (1 + u2 / 20 * (1 + u2 / 42)) : sinh(u) / u;
    return exp(0.5 * (x + y)) * ratio;
}

double geodec__expdiff_dd3(double x, double y, double z)
{
    double t;
    if (x > y) t = x, x = y, y = t;
    if (y > z) t = y, y = z, z = t;
    if (x > y) t = x, x = y, y = t;
    if (z - x > 1) return (geodec__expdiff_dd2(y, z) - geodec__expdiff_dd2(x, y)) / (z - x);
    /* exp[x,y,z] = e^m sum_k h_k(x-m, y-m, z-m) / (k+2)! with the complete homogeneous symmetric polynomials
     * h_k = e1 h_{k-1} - e2 h_{k-2} + e3 h_{k-3}; m makes e1 vanish. Deviations are below 1: 20 terms reach 1e-18. */
    const double m = (x + y + z) / 3, a = x - m, b = y - m, c = z - m;
    const double e2 = a * b + b * c + c * a, e3 = a * b * c;
    double h3 = 0, h2 = 0, h1 = 1, sum = 0.5, factorial = 2; /* h_{k-3}, h_{k-2}, h_{k-1} */
    for (int k = 1; k <= 20; k++) {
        const double h = -e2 * h2 + e3 * h3;
        factorial *= k + 2;
        sum += h / factorial;
        h3 = h2;
        h2 = h1;
        h1 = h;
    }
    return exp(m) * sum;
}

int64_t geodec__expdiff_scratch(int64_t n) { return 3 * n * n; }

/* out = v a v^T (into the eigenbasis) or v^T a v (back); a symmetric, out may be a. */
static void rotate(int64_t n, bool back, const double *v, const double *a, double *out, double *tmp)
{
    geodec_blas_gemm(false, !back, n, n, n, 1, a, n, v, n, 0, tmp, n);
    geodec_blas_gemm(back, false, n, n, n, 1, v, n, tmp, n, 0, out, n);
}

static void symmetrise(int64_t n, double *a)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            const double m = 0.5 * (a[i * n + j] + a[j * n + i]);
            a[i * n + j] = a[j * n + i] = m;
        }
}

void geodec__expdiff_first(int64_t n, const double *l, const double *v, int64_t n_dir, const double *dl_packed,
                           double *dl_eig, double *dg, double *scratch)
{
    const int64_t nn = n * n, packed = geodec_sym_packed(n);
    double *f = scratch, *tmp = scratch + nn, *full = scratch + 2 * nn;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) f[i * n + j] = f[j * n + i] = geodec__expdiff_dd2(l[i], l[j]);
    for (int64_t a = 0; a < n_dir; a++) {
        double *out = dg + a * nn;
        geodec_sym_unpack(n, dl_packed + a * packed, full);
        rotate(n, false, v, full, out, tmp);
        if (dl_eig) memcpy(dl_eig + a * nn, out, (size_t)nn * sizeof *out);
        for (int64_t i = 0; i < nn; i++) out[i] *= f[i];
        rotate(n, true, v, out, out, tmp);
        symmetrise(n, out);
    }
}

int64_t geodec__expdiff_second_scratch(int64_t n) { return n * n * n + 3 * n * n; }

void geodec__expdiff_second(int64_t n, const double *l, const double *v, const double *dl_eig, const double *d2l_packed,
                            double *d2g, double *scratch)
{
    const int64_t nn = n * n, packed = geodec_sym_packed(n);
    double *f3 = scratch; /* [i][k][j] = exp[l_i, l_k, l_j] */
    double *f = f3 + n * nn, *tmp = f + nn, *full = tmp + nn;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = i; k < n; k++) {
            f[i * n + k] = f[k * n + i] = geodec__expdiff_dd2(l[i], l[k]);
            for (int64_t j = k; j < n; j++) {
                const double d = geodec__expdiff_dd3(l[i], l[k], l[j]);
                f3[(i * n + k) * n + j] = f3[(i * n + j) * n + k] = d;
                f3[(k * n + i) * n + j] = f3[(k * n + j) * n + i] = d;
                f3[(j * n + i) * n + k] = f3[(j * n + k) * n + i] = d;
            }
        }
    double *out = d2g;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = a; b < n; b++, out += nn, d2l_packed += packed) {
            const double *da = dl_eig + a * nn, *db = dl_eig + b * nn;
            geodec_sym_unpack(n, d2l_packed, full);
            rotate(n, false, v, full, out, tmp);
            for (int64_t i = 0; i < nn; i++) out[i] *= f[i];
            for (int64_t i = 0; i < n; i++)
                for (int64_t k = 0; k < n; k++) {
                    const double *w = f3 + (i * n + k) * n, aik = da[i * n + k], bik = db[i * n + k];
                    for (int64_t j = 0; j < n; j++)
                        out[i * n + j] += w[j] * (aik * db[k * n + j] + bik * da[k * n + j]);
                }
            rotate(n, true, v, out, out, tmp);
            symmetrise(n, out);
        }
}
