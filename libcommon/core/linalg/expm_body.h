/* exp of a small matrix by scaling, a Taylor polynomial and squaring, written over simd_internal.h.
 *
 * Polynomials of degree 2, 4, 8, 16 and 24 take 1, 2, 3, 4 and 5 products and no division (J. Sastre, J. Ibanez, E.
 * Defez, Appl. Math. Comput. 340 (2019) 206); they agree with the series of exp to degree m = 2, 4, 8, 15 and 21. With
 * log(exp(-x) T(x)) = sum_{k>m} c_k x^k the computed matrix is exp(A + E), apart from rounding, with |E| <= sum |c_k|
 * |A^k|. With D = |A^2|^(1/2) <= |A|. For odd k |A^k| <= |A| D^(k-1); for even k |A^k| <= D^k <= |A| D^(k-1). So |E| /
 * |A| <= sum |c_k| D^(k-1), which is below 2^-53 as long as D <= theta_m. D is often far below the 1-norm. Where |A| is
 * far above D the terms cancel, so |A| may exceed its bound by at most a factor of CANCEL (no limit below 1). */
#include "base/simd_internal.h"
#include "linalg/small_internal.h"

#include <string.h>

/* Largest D at which the relative backward error is below 2^-53, computed from the c_k of these polynomials. */
static const double theta2 = 2.5809568029717673e-08, theta4 = 0.00033971688399769617, theta8 = 0.049912288711153226,
                    theta15 = 0.67642174954245136, theta21 = 1.6827156447863157;
#define CANCEL 4.0
/* exp(A) = e^m exp(A - m I), m the mean of the diagonal: a polynomial loses digits when all eigenvalues are negative.
 * Not used where exp(A - m I) could overflow and exp(A) does not. */
#define SHIFT_FROM 0.3
#define SHIFT_TO 300.0

/* ---- c = a b + d: [n][ld] each, ld a multiple of eight; d may be NULL ------------------------------------------- */

/* R rows of c by V vectors of columns, the last of them a half when tail is set. */
INLINE void tile(const int R, const int V, const int tail, int64_t n, int64_t ld, const double *a, const double *b,
                 const double *d, double *c)
{
    const int F = V - tail;
    vec s[8][5];
    hvec t[8];
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < F; v++) s[r][v] = d ? v_load(d + r * ld + VEC * v) : v_zero();
        t[r] = d ? h_load(d + r * ld + VEC * F) : h_zero();
    }
    for (int64_t k = 0; k < n; k++, b += ld) {
        vec bv[5];
        UNROLL
        for (int v = 0; v < F; v++) bv[v] = v_load(b + VEC * v);
        UNROLL
        for (int r = 0; r < R; r++) {
            const double x = a[r * ld + k];
            UNROLL
            for (int v = 0; v < F; v++) s[r][v] = v_fma(v_set1(x), bv[v], s[r][v]);
            if (tail) t[r] = h_fma(h_set1(x), h_load(b + VEC * F), t[r]);
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        UNROLL
        for (int v = 0; v < F; v++) v_store(c + r * ld + VEC * v, s[r][v]);
        if (tail) v_store(c + r * ld + VEC * F, v_widen(t[r]));
    }
}

INLINE void columns(const int R, const int V, const int tail, int64_t n, int64_t ld, const double *a, const double *b,
                    const double *d, double *c)
{
    int64_t i = 0;
    for (; i + R <= n; i += R) tile(R, V, tail, n, ld, a + i * ld, b, d ? d + i * ld : d, c + i * ld);
    if (R > 4 && i + 4 <= n) {
        tile(4, V, tail, n, ld, a + i * ld, b, d ? d + i * ld : d, c + i * ld);
        i += 4;
    }
    if (R > 2 && i + 2 <= n) {
        tile(2, V, tail, n, ld, a + i * ld, b, d ? d + i * ld : d, c + i * ld);
        i += 2;
    }
    for (; i < n; i++) tile(1, V, tail, n, ld, a + i * ld, b, d ? d + i * ld : d, c + i * ld);
}

#define COLUMNS(rows, vectors)                                                                                         \
    do {                                                                                                               \
        if (tail)                                                                                                      \
            columns(rows, vectors, 1, n, ld, a, b + j, d ? d + j : d, c + j);                                          \
        else                                                                                                           \
            columns(rows, vectors, 0, n, ld, a, b + j, d ? d + j : d, c + j);                                          \
    } while (0)

/* Not inlined: one copy of the tiles with a start value, one without. */
static __attribute__((noinline)) void multiply(int64_t n, int64_t ld, const double *a, const double *b, const double *d,
                                               double *c)
{
    const int64_t most = VEC_SIZE == 1 ? 5 : 2; /* vectors per tile that fit the registers */
    int64_t left = ld / VEC;
    for (int64_t j = 0; left > 0;) {
        /* 6, 7 and 8 vectors as halves, which avoids a narrow last strip */
        const int64_t vectors = left <= most ? left : left < 2 * most ? (left + 1) / 2 : most;
        const int tail = vectors == left && n % VEC > 0 && n % VEC <= HALF;
        switch (vectors) {
        case 1:
            COLUMNS(6, 1);
            break;
        case 2:
            COLUMNS(VEC_SIZE == 1 ? 8 : 3, 2);
            break;
#if defined(__AVX512F__)
        case 3:
            COLUMNS(8, 3);
            break;
        case 4:
            COLUMNS(6, 4);
            break;
        default:
            COLUMNS(5, 5);
            break;
#else
        default:
            break;
#endif
        }
        j += vectors * VEC;
        left -= vectors;
    }
}
#undef COLUMNS

/* ---- element by element; count is a multiple of eight ------------------------------------------------------------ */

static void add_diagonal(int64_t n, int64_t ld, double x, double *a)
{
    for (int64_t i = 0; i < n; i++) a[i * ld + i] += x;
}

/* The largest of best and the eight lanes; NaN propagates. */
INLINE double largest(vec s, double best)
{
    double x[VEC];
    v_store(x, s);
    for (int c = 0; c < VEC; c++)
        if (!(x[c] <= best)) best = x[c];
    return best;
}

static double norm1(int64_t n, int64_t ld, const double *a)
{
    double best = 0;
    for (int64_t j = 0; j < n; j += VEC) {
        vec s = v_zero();
        for (int64_t i = 0; i < n; i++) s = v_add(s, v_abs(v_load(a + i * ld + j)));
        best = largest(s, best);
    }
    return best;
}

/* Rows of n values to rows of ld; returns the 1-norm. */
static double widen(int64_t n, int64_t ld, const double *a, double *out)
{
    double best = 0;
    for (int64_t j = 0; j < n; j += VEC) {
        vec s = v_zero();
        if (n - j >= VEC) {
            for (int64_t i = 0; i < n; i++) {
                const vec x = v_load(a + i * n + j);
                v_store(out + i * ld + j, x);
                s = v_add(s, v_abs(x));
            }
        } else {
            for (int64_t i = 0; i < n; i++) {
                const vec x = v_load_n(a + i * n + j, n - j);
                v_store(out + i * ld + j, x);
                s = v_add(s, v_abs(x));
            }
        }
        best = largest(s, best);
    }
    return best;
}

/* factor a, back to rows of n. False when a value is not finite. */
static int narrow(int64_t n, int64_t ld, const double *a, double factor, double *out)
{
    const vec f = v_set1(factor);
    vec s = v_zero(); /* 0 unless one is not finite */
    for (int64_t i = 0; i < n; i++, a += ld, out += n) {
        int64_t j = 0;
        for (; j + VEC <= n; j += VEC) {
            const vec x = v_mul(f, v_load(a + j));
            s = v_fma(x, v_zero(), s);
            v_store(out + j, x);
        }
        if (j < n) {
            const vec x = v_mul(f, v_load_n(a + j, n - j));
            s = v_fma(x, v_zero(), s);
            v_store_n(out + j, x, n - j);
        }
    }
    return v_sum(s) == 0;
}

/* ---- the polynomials: p[0] = A, p[1] = A^2, the result in p[5] ----------------------------------------------------
 */

static void taylor2(int64_t n, int64_t ld, double *const *p)
{
    for (int64_t i = 0; i < n * ld; i += VEC) v_store(p[5] + i, v_fma(v_set1(0.5), v_load(p[1] + i), v_load(p[0] + i)));
    add_diagonal(n, ld, 1, p[5]);
}

static void taylor4(int64_t n, int64_t ld, double *const *p)
{
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i);
        v_store(p[2] + i, v_fma(v_set1(1.0 / 24), a2, v_mul(v_set1(1.0 / 6), a)));
        v_store(p[3] + i, v_fma(v_set1(0.5), a2, a));
    }
    multiply(n, ld, p[1], p[2], p[3], p[5]);
    add_diagonal(n, ld, 1, p[5]);
}

static void taylor8(int64_t n, int64_t ld, double *const *p)
{
    const double r = sqrt(177), x3 = 2.0 / 3, x1 = x3 * (1 + r) / 88, x2 = x3 * (1 + r) / 352,
                 x4 = (-271 + 29 * r) / (315 * x3), x5 = 11 * (-1 + r) / (1260 * x3), x6 = 11 * (-9 + r) / (5040 * x3),
                 x7 = (89 - r) / (5040 * x3 * x3), y2 = (857 - 58 * r) / 630;
    for (int64_t i = 0; i < n * ld; i += VEC)
        v_store(p[2] + i, v_fma(v_set1(x2), v_load(p[1] + i), v_mul(v_set1(x1), v_load(p[0] + i))));
    multiply(n, ld, p[1], p[2], NULL, p[3]); /* A4 */
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i), a4 = v_load(p[3] + i);
        v_store(p[2] + i, v_fma(v_set1(x3), a2, a4));
        v_store(p[3] + i, v_fma(v_set1(x7), a4, v_fma(v_set1(x6), a2, v_mul(v_set1(x5), a))));
        v_store(p[4] + i, v_fma(v_set1(y2), a2, a));
    }
    add_diagonal(n, ld, x4, p[3]);
    multiply(n, ld, p[2], p[3], p[4], p[5]);
    add_diagonal(n, ld, 1, p[5]);
}

/* The coefficients solve [x^k] T = 1/k! for k <= 15 and 21; from the paper's values by Newton's method in 60 digits. */
static const double c15[15] = {0,
                               0.00040187616102010357,
                               0.002945531440279683,
                               -0.008709066576837676,
                               0.4017568440673568,
                               0.03230762888122312,
                               5.7689885130261445,
                               0.02338576034271299,
                               0.23810703738709874,
                               2.2242091724963737,
                               -5.792361707073261,
                               -0.04130276365929783,
                               10.408017352313543,
                               -63.317124558833704,
                               0.3484665863364574};

/* Y = A2 (c1 A2 + c2 A), Z = (Y + c3 A2 + c4 A) (Y + c5 A2), U = Z + c6 Y + c7 A2 (not stored), T = (U + c8 A2 + c9 A)
 * (U + c10 Y + c11 A) + c12 U + c13 Y + c14 A2 + A + I. */
static void taylor15(int64_t n, int64_t ld, double *const *p)
{
    const double *c = c15;
    for (int64_t i = 0; i < n * ld; i += VEC)
        v_store(p[2] + i, v_fma(v_set1(c[1]), v_load(p[1] + i), v_mul(v_set1(c[2]), v_load(p[0] + i))));
    multiply(n, ld, p[1], p[2], NULL, p[3]); /* Y */
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i), y = v_load(p[3] + i);
        v_store(p[2] + i, v_fma(v_set1(c[4]), a, v_fma(v_set1(c[3]), a2, y)));
        v_store(p[4] + i, v_fma(v_set1(c[5]), a2, y));
    }
    multiply(n, ld, p[2], p[4], NULL, p[5]); /* Z */
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i), y = v_load(p[3] + i), z = v_load(p[5] + i);
        const vec u = v_fma(v_set1(c[6]), y, v_fma(v_set1(c[7]), a2, z));
        v_store(p[2] + i, v_fma(v_set1(c[9]), a, v_fma(v_set1(c[8]), a2, u)));
        v_store(p[4] + i, v_fma(v_set1(c[10]), y, v_fma(v_set1(c[11]), a, u)));
        v_store(p[5] + i, v_fma(v_set1(c[12]), u, v_fma(v_set1(c[13]), y, v_fma(v_set1(c[14]), a2, a))));
    }
    multiply(n, ld, p[2], p[4], p[5], p[5]);
    add_diagonal(n, ld, 1, p[5]);
}

static const double c21[21] = {0,
                               1.1616588344448803e-06,
                               4.50085273957301e-06,
                               5.3747088031148206e-05,
                               0.0020054039772929013,
                               0.06974348269544424,
                               0.9418613214806352,
                               0.002852960512714315,
                               -0.007544837153586671,
                               1.8297735045004238,
                               0.03151382711608315,
                               0.1392249143769798,
                               -0.002269101241269351,
                               -0.05394098846866402,
                               0.3112216227982407,
                               9.343851261938047,
                               0.6865706355662834,
                               3.2333701630853797,
                               -5.726379787260966,
                               -0.014135500993096671,
                               -0.16384131147120157};

/* Y = A3 (c1 A3 + c2 A2 + c3 A), Z = (Y + c4 A3 + c5 A2 + c6 A) (Y + c7 A3 + c8 A2), U = Z + c9 Y + c10 A3 + c11 A2,
 * T = (U + c12 A3 + c13 A2 + c14 A) (U + c15 Y + c16 A) + c17 U + c18 Y + c19 A3 + c20 A2 + A + I. */
static void taylor21(int64_t n, int64_t ld, double *const *p)
{
    const double *c = c21;
    multiply(n, ld, p[1], p[0], NULL, p[2]); /* A^3 */
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i), a3 = v_load(p[2] + i);
        v_store(p[4] + i, v_fma(v_set1(c[1]), a3, v_fma(v_set1(c[2]), a2, v_mul(v_set1(c[3]), a))));
    }
    multiply(n, ld, p[2], p[4], NULL, p[3]); /* Y */
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i), a3 = v_load(p[2] + i), y = v_load(p[3] + i);
        v_store(p[4] + i, v_fma(v_set1(c[6]), a, v_fma(v_set1(c[5]), a2, v_fma(v_set1(c[4]), a3, y))));
        v_store(p[5] + i, v_fma(v_set1(c[8]), a2, v_fma(v_set1(c[7]), a3, y)));
    }
    multiply(n, ld, p[4], p[5], NULL, p[6]); /* Z */
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i), a3 = v_load(p[2] + i), y = v_load(p[3] + i);
        const vec u = v_fma(v_set1(c[9]), y, v_fma(v_set1(c[10]), a3, v_fma(v_set1(c[11]), a2, v_load(p[6] + i))));
        const vec rest = v_fma(v_set1(c[18]), y, v_fma(v_set1(c[19]), a3, v_fma(v_set1(c[20]), a2, a)));
        v_store(p[3] + i, v_fma(v_set1(c[14]), a, v_fma(v_set1(c[13]), a2, v_fma(v_set1(c[12]), a3, u))));
        v_store(p[4] + i, v_fma(v_set1(c[15]), y, v_fma(v_set1(c[16]), a, u)));
        v_store(p[5] + i, v_fma(v_set1(c[17]), u, rest));
    }
    multiply(n, ld, p[3], p[4], p[5], p[5]);
    add_diagonal(n, ld, 1, p[5]);
}

static int fits(double theta, double d, double norm) { return d <= theta && norm <= fmax(1, CANCEL * theta); }

static void product(int64_t n, const double *a, const double *b, double *c) { multiply(n, n, a, b, NULL, c); }

static geodec__expm_result expm(int64_t n, const double *a, double *e, double *work, double *norm)
{
    const int64_t ld = (n + VEC - 1) / VEC * VEC;
    double *p[GEODEC__EXPM_BUFFERS];
    work += (64 - (uintptr_t)work % 64) % 64 / sizeof *work;
    for (int i = 0; i < GEODEC__EXPM_BUFFERS; i++) p[i] = work + i * n * ld;
    double whole = widen(n, ld, a, p[0]), factor = 1;
    *norm = whole;
    if (!isfinite(whole)) return GEODEC__EXPM_NOT_FINITE;
    if (whole > ldexp(theta21, 60)) return GEODEC__EXPM_OVERFLOW;
    if (whole > SHIFT_FROM && whole < SHIFT_TO) {
        double mean = 0;
        for (int64_t k = 0; k < n; k++) mean += p[0][k * ld + k];
        mean /= (double)n;
        if (fabs(mean) > SHIFT_FROM) {
            add_diagonal(n, ld, -mean, p[0]);
            whole += fabs(mean);
            factor = exp(mean);
        }
    }
    multiply(n, ld, p[0], p[0], NULL, p[1]);
    const double root = sqrt(norm1(n, ld, p[1])), d = root < whole ? root : whole;
    double *result = p[5], *scratch = p[0];
    if (fits(theta2, d, whole)) {
        taylor2(n, ld, p);
    } else if (fits(theta4, d, whole)) {
        taylor4(n, ld, p);
    } else if (fits(theta8, d, whole)) {
        taylor8(n, ld, p);
    } else if (fits(theta15, d, whole)) {
        taylor15(n, ld, p);
    } else {
        const double size = fmax(d / theta21, whole / (CANCEL * theta21));
        int squarings = 0;
        if (size > 1) {
            if (frexp(size, &squarings) == 0.5) squarings--;
            const vec f = v_set1(ldexp(1, -squarings)), f2 = v_set1(ldexp(1, -2 * squarings));
            for (int64_t i = 0; i < n * ld; i += VEC) {
                v_store(p[0] + i, v_mul(f, v_load(p[0] + i)));
                v_store(p[1] + i, v_mul(f2, v_load(p[1] + i)));
            }
        }
        taylor21(n, ld, p);
        for (; squarings > 0; squarings--) {
            multiply(n, ld, result, result, NULL, scratch);
            double *const t = result;
            result = scratch;
            scratch = t;
        }
    }
    return narrow(n, ld, result, factor, e) ? GEODEC__EXPM_OK : GEODEC__EXPM_OVERFLOW;
}
