#include "linalg/expm.h"

#include "base/mem.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/small_internal.h"

#include <lapack.h>
#include <math.h>
#include <string.h>

/* Coefficients of the Pade numerators p_m; q_m(x) = p_m(-x). */
static const double pade3[] = {120, 60, 12, 1};
static const double pade5[] = {30240, 15120, 3360, 420, 30, 1};
static const double pade7[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
static const double pade9[] = {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1};
static const double pade13[] = {64764752532480000,
                                32382376266240000,
                                7771770303897600,
                                1187353796428800,
                                129060195264000,
                                10559470521600,
                                670442572800,
                                33522128640,
                                1323241920,
                                40840800,
                                960960,
                                16380,
                                182,
                                1};

/* Largest 1-norms at which each degree has a backward error below 2^-53. */
static const struct {
    const double *b;
    int degree;
    double theta;
} low[] = {
    {pade3, 3, 1.495585217958292e-2},
    {pade5, 5, 2.539398330063230e-1},
    {pade7, 7, 9.504178996162932e-1},
    {pade9, 9, 2.097847961257068},
};
static const double theta13 = 5.371920351148152;

enum { EXPM_MAX_N = 4096, EXPM_MATRICES = 8 };

int64_t geodec__expm_small_work(int64_t n)
{
    return GEODEC__EXPM_BUFFERS * n * ((n + 7) / 8 * 8) + 8; /* for alignment to 8 doubles */
}

int64_t geodec_expm_scratch(int64_t n)
{
    if (n < 1 || n > EXPM_MAX_N) return 0;
    if (n <= GEODEC__EXPM_SMALL) return geodec__expm_small_work(n);
    return EXPM_MATRICES * n * n + (n * (int64_t)sizeof(lapack_int) + 7) / 8;
}

static void multiply(int64_t n, const double *a, const double *b, double *c)
{
    geodec_blas_gemm(false, false, n, n, n, 1, a, n, b, n, 0, c, n);
}

static double norm1(int64_t n, const double *a)
{
    double best = 0;
    for (int64_t j = 0; j < n; j++) {
        double s = 0;
        for (int64_t i = 0; i < n; i++) s += fabs(a[i * n + j]);
        if (!(s <= best)) best = s; /* propagates NaN */
    }
    return best;
}

/* out = sum_k c[2k] A^2k with powers[k-1] = A^2k; the odd part passes coefficients shifted by one. */
static void even_sum(int64_t n, const double *c, int terms, double *const *power, double *out)
{
    const int64_t nn = n * n;
    memset(out, 0, (size_t)nn * sizeof *out);
    for (int64_t i = 0; i < n; i++) out[i * n + i] = c[0];
    for (int k = 1; k < terms; k++)
        for (int64_t i = 0; i < nn; i++) out[i] += c[2 * k] * power[k - 1][i];
}

/* U and V of r = (V - U)^-1 (V + U), degree 3..9. */
static void pade_low(int64_t n, const double *b, int degree, const double *a, double *const *power, double *tmp,
                     double *u, double *v)
{
    const int terms = degree / 2 + 1;
    multiply(n, a, a, power[0]);
    for (int k = 2; k < terms; k++) multiply(n, power[0], power[k - 2], power[k - 1]);
    even_sum(n, b + 1, terms, power, tmp);
    multiply(n, a, tmp, u);
    even_sum(n, b, terms, power, v);
}

/* Degree 13 with six products: A6 (b13 A6 + b11 A4 + b9 A2) + b7 A6 + .. */
static void pade_high(int64_t n, const double *a, double *const *power, double *tmp, double *tmp2, double *u, double *v)
{
    const double *b = pade13;
    const int64_t nn = n * n;
    multiply(n, a, a, power[0]);
    multiply(n, power[0], power[0], power[1]);
    multiply(n, power[0], power[1], power[2]);
    const double *a2 = power[0], *a4 = power[1], *a6 = power[2];
    for (int64_t i = 0; i < nn; i++) tmp[i] = b[13] * a6[i] + b[11] * a4[i] + b[9] * a2[i];
    multiply(n, a6, tmp, tmp2);
    for (int64_t i = 0; i < nn; i++) tmp2[i] += b[7] * a6[i] + b[5] * a4[i] + b[3] * a2[i];
    for (int64_t i = 0; i < n; i++) tmp2[i * n + i] += b[1];
    multiply(n, a, tmp2, u);
    for (int64_t i = 0; i < nn; i++) tmp[i] = b[12] * a6[i] + b[10] * a4[i] + b[8] * a2[i];
    multiply(n, a6, tmp, v);
    for (int64_t i = 0; i < nn; i++) v[i] += b[6] * a6[i] + b[4] * a4[i] + b[2] * a2[i];
    for (int64_t i = 0; i < n; i++) v[i * n + i] += b[0];
}

void geodec_expm_product(int64_t n, const double *a, const double *b, double *c)
{
    if (n % 8 == 0 && n <= GEODEC__EXPM_SMALL)
        geodec__small_best()->product(n, a, b, c);
    else
        multiply(n, a, b, c);
}

geodec_status geodec_expm(int64_t n, const double *a, double *e, double *scratch, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *own = NULL;
    if (n < 1 || n > EXPM_MAX_N) GEODEC_THROW(GEODEC_RANGE, "exponential of dimension %lld", (long long)n);
    if (!scratch) {
        GEODEC_NEW(own, geodec_expm_scratch(n));
        scratch = own;
    }
    if (n <= GEODEC__EXPM_SMALL) {
        double norm_small = 0;
        switch (geodec__small_best()->expm(n, a, e, scratch, &norm_small)) {
        case GEODEC__EXPM_NOT_FINITE:
            GEODEC_THROW(GEODEC_NUMERIC, "exponential of a matrix that is not finite");
        case GEODEC__EXPM_OVERFLOW:
            GEODEC_THROW(GEODEC_NUMERIC, "exponential of a matrix of norm %g overflows", norm_small);
        case GEODEC__EXPM_OK:
            break;
        }
        goto done;
    }
    const int64_t nn = n * n;
    double *scaled = scratch, *u = scratch + nn, *v = scratch + 2 * nn, *tmp = scratch + 3 * nn;
    double *power[4] = {scratch + 4 * nn, scratch + 5 * nn, scratch + 6 * nn, scratch + 7 * nn};
    lapack_int *pivot = (lapack_int *)(void *)(scratch + EXPM_MATRICES * nn);

    const double norm = norm1(n, a);
    if (!isfinite(norm)) GEODEC_THROW(GEODEC_NUMERIC, "exponential of a matrix that is not finite");
    int squarings = 0;
    size_t t = 0;
    while (t < sizeof low / sizeof *low && norm > low[t].theta) t++;
    if (t < sizeof low / sizeof *low) {
        pade_low(n, low[t].b, low[t].degree, a, power, tmp, u, v);
    } else {
        if (norm > theta13) (void)frexp(norm / theta13, &squarings);
        if (squarings > 60) GEODEC_THROW(GEODEC_NUMERIC, "exponential of a matrix of norm %g overflows", norm);
        const double factor = ldexp(1, -squarings);
        for (int64_t i = 0; i < nn; i++) scaled[i] = a[i] * factor;
        pade_high(n, scaled, power, tmp, power[3], u, v);
    }
    /* (V - U) e = V + U. The solver is column-major, so it gets the transposed system: its e^T is our e. */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            tmp[j * n + i] = v[i * n + j] - u[i * n + j];
            e[j * n + i] = v[i * n + j] + u[i * n + j];
        }
    const lapack_int order = (lapack_int)n;
    lapack_int info = 0;
    LAPACK_dgesv(&order, &order, tmp, &order, pivot, e, &order, &info);
    if (info != 0) GEODEC_THROW(GEODEC_NUMERIC, "exponential: singular Pade denominator");
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            const double x = e[i * n + j];
            e[i * n + j] = e[j * n + i];
            e[j * n + i] = x;
        }
    for (int s = 0; s < squarings; s++) {
        multiply(n, e, e, tmp);
        memcpy(e, tmp, (size_t)nn * sizeof *e);
    }
    for (int64_t i = 0; i < nn; i++)
        if (!isfinite(e[i])) GEODEC_THROW(GEODEC_NUMERIC, "exponential of a matrix of norm %g overflows", norm);
done:
    geodec_mem_free(own);
    return st;
}

static geodec_status through_eig(int64_t n, const double *a, double *out, int logarithm, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *w = NULL, *v = NULL;
    if (n < 1 || n > EXPM_MAX_N) GEODEC_THROW(GEODEC_RANGE, "matrix function of dimension %lld", (long long)n);
    GEODEC_NEW(w, n);
    GEODEC_NEW(v, n * n);
    GEODEC_TRY(geodec_eig_sym(n, a, w, v, err));
    for (int64_t i = 0; i < n; i++) {
        if (logarithm && !(w[i] > 0)) {
            GEODEC_THROW(GEODEC_NUMERIC, "logarithm of a matrix with the eigenvalue %g", w[i]);
        }
        w[i] = logarithm ? log(w[i]) : exp(w[i]);
        if (!isfinite(w[i])) GEODEC_THROW(GEODEC_NUMERIC, "matrix function overflows");
    }
    geodec_eig_compose(n, w, v, out);
done:
    GEODEC_FREE(w, v);
    return st;
}

geodec_status geodec_expm_sym(int64_t n, const double *a, double *e, geodec_err *err)
{
    return through_eig(n, a, e, 0, err);
}

geodec_status geodec_logm_spd(int64_t n, const double *a, double *l, geodec_err *err)
{
    return through_eig(n, a, l, 1, err);
}

int64_t geodec_sym_packed(int64_t n) { return n * (n + 1) / 2; }

void geodec_sym_pack(int64_t n, const double *a, double *packed)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) *packed++ = a[i * n + j];
}

void geodec_sym_unpack(int64_t n, const double *packed, double *a)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) a[i * n + j] = a[j * n + i] = *packed++;
}
