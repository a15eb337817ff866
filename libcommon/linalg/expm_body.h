/* exp of a small matrix by scaling, a Taylor polynomial and squaring, written once over vec64.h.
 *
 * Polynomials of degree 2, 4, 8, 12 and 18 take 1, 2, 3, 4 and 5 products and no division (P. Bader, S. Blanes,
 * F. Casas, Mathematics 7 (2019) 1174; degree 8 goes back to J. Sastre). With log(exp(-x) T_m(x)) = sum_{k>m} c_k x^k
 * the computed matrix is, rounding apart, exp(A + E) with |E| <= sum |c_k| |A^k|. Put D = |A^2|^(1/2) <= |A|. For odd k
 * |A^k| <= |A| D^(k-1); for even k |A^k| <= D^k <= |A| D^(k-1). So |E| / |A| <= sum |c_k| D^(k-1), which is below 2^-53
 * as long as D <= theta_m. D is often far below the 1-norm itself. Where |A| is far above D the terms cancel, so |A|
 * may exceed its bound by a factor of CANCEL at most (never mind below 1). */
#include "linalg/expm_internal.h"
#include "linalg/vec64.h"

#include <string.h>

/* Largest D at which a degree has a relative backward error below 2^-53. */
static const double theta2 = 2.5809568029717673e-08, theta4 = 0.00033971688399769617, theta8 = 0.049912288711153226,
                    theta12 = 0.299615891381158, theta18 = 1.0908637192900361;
#define CANCEL 4.0

/* ---- c = a b + d: [n][ld] each, ld a multiple of eight; d may be NULL ------------------------------------------- */

/* R rows of c by V vectors of columns, the last of them a half when tail is set. */
INLINE void tile(const int R, const int V, const int tail, int64_t n, int64_t ld, const double *a, const double *b,
                 const double *d, double *c)
{
    const int F = V - tail;
    vec s[8][5];
    half t[8];
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

/* Not inlined: one copy of the tiles with a start value and one without. */
static __attribute__((noinline)) void multiply(int64_t n, int64_t ld, const double *a, const double *b, const double *d,
                                               double *c)
{
    const int64_t most = VEC_SIZE == 1 ? 5 : 2; /* vectors a tile has registers for */
    int64_t left = ld / VEC;
    for (int64_t j = 0; left > 0;) {
        /* 6, 7 and 8 vectors as halves, so that no narrow strip is left over */
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

static double norm1(int64_t n, int64_t ld, const double *a)
{
    double best = 0;
    for (int64_t j = 0; j < n; j += VEC) {
        double column[VEC];
        vec s = v_zero();
        if (n - j >= VEC) {
            for (int64_t i = 0; i < n; i++) s = v_add(s, v_abs(v_load(a + i * ld + j)));
        } else {
            for (int64_t i = 0; i < n; i++) s = v_add(s, v_abs(v_load_n(a + i * ld + j, n - j)));
        }
        v_store(column, s);
        for (int c = 0; c < VEC; c++)
            if (!(column[c] <= best)) best = column[c]; /* keeps NaN */
    }
    return best;
}

/* Rows of n values to rows of ld, times a power of two. */
static void widen(int64_t n, int64_t ld, const double *a, double factor, double *out)
{
    const vec f = v_set1(factor);
    for (int64_t i = 0; i < n; i++, a += n, out += ld) {
        int64_t j = 0;
        for (; j + VEC <= n; j += VEC) v_store(out + j, v_mul(f, v_load(a + j)));
        if (j < n) v_store(out + j, v_mul(f, v_load_n(a + j, n - j)));
    }
}

/* Back to rows of n. */
static void narrow(int64_t n, int64_t ld, const double *a, double *out)
{
    for (int64_t i = 0; i < n; i++, a += ld, out += n) {
        int64_t j = 0;
        for (; j + VEC <= n; j += VEC) v_store(out + j, v_load(a + j));
        if (j < n) v_store_n(out + j, v_load(a + j), n - j);
    }
}

static int all_finite(int64_t count, const double *a)
{
    vec s = v_zero();
    for (int64_t i = 0; i < count; i += VEC) s = v_fma(v_load(a + i), v_zero(), s); /* 0 unless one is not finite */
    return v_sum(s) == 0;
}

/* ---- the polynomials: p[0] = A, p[1] = A^2, the result in p[5], of degree 18 in p[0]
 * --------------------------------------------------- */

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

static const double c12[4][4] = {
    {-0.01860232051462055322, -0.00500702322573317730, -0.57342012296052226390, -0.13339969394389205970},
    {4.6, 0.99287510353848683614, -0.13244556105279963884, 0.0017299},
    {0.21169311829980944294, 0.15822438471572672537, 0.16563516943672741501, 0.01078627793157924250},
    {0, -0.13181061013830184015, -0.02027855540589259079, -0.00675951846863086359}};

/* A6 = B3 + B4^2, T = B1 + (B2 + A6) A6. */
static void taylor12(int64_t n, int64_t ld, double *const *p)
{
    multiply(n, ld, p[1], p[0], NULL, p[2]); /* A^3 */
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i), a3 = v_load(p[2] + i);
        UNROLL
        for (int q = 0; q < 4; q++)
            v_store(p[q + 1] + i,
                    v_fma(v_set1(c12[q][3]), a3, v_fma(v_set1(c12[q][2]), a2, v_mul(v_set1(c12[q][1]), a))));
    }
    add_diagonal(n, ld, c12[0][0], p[1]);
    add_diagonal(n, ld, c12[2][0], p[3]);
    multiply(n, ld, p[4], p[4], p[3], p[0]); /* A6 */
    for (int64_t i = 0; i < n * ld; i += VEC) v_store(p[2] + i, v_add(v_load(p[2] + i), v_load(p[0] + i)));
    add_diagonal(n, ld, c12[1][0], p[2]);
    multiply(n, ld, p[2], p[0], p[1], p[5]);
}

/* Coefficients of I, A, A^2, A^3, A^6 in B1 .. B5. */
static const double c18[5][5] = {
    {0, -0.10036558103014462001, -0.00802924648241156960, -0.00089213849804572995, 0},
    {0, 0.39784974949964507614, 1.36783778460411719922, 0.49828962252538267755, -0.00063789819459472330},
    {-10.9676396052962062593, 1.68015813878906197182, 0.05717798464788655127, -0.00698210122488052084,
     0.00003349750170860705},
    {-0.09043168323908105619, -0.06764045190713819075, 0.06759613017704596460, 0.02955525704293155274,
     -0.00001391802575160607},
    {0, 0, -0.09233646193671185927, -0.01693649390020817171, -0.00001400867981820361}};

/* A9 = B1 B5 + B4, T = B2 + (B3 + A9) A9. */
static void taylor18(int64_t n, int64_t ld, double *const *p)
{
    multiply(n, ld, p[1], p[0], NULL, p[2]); /* A^3 */
    multiply(n, ld, p[2], p[2], NULL, p[3]); /* A^6 */
    for (int64_t i = 0; i < n * ld; i += VEC) {
        const vec a = v_load(p[0] + i), a2 = v_load(p[1] + i), a3 = v_load(p[2] + i), a6 = v_load(p[3] + i);
        UNROLL
        for (int q = 0; q < 5; q++) {
            vec s = v_mul(v_set1(c18[q][2]), a2);
            if (q < 4) s = v_fma(v_set1(c18[q][1]), a, s);
            s = v_fma(v_set1(c18[q][3]), a3, s);
            if (q > 0) s = v_fma(v_set1(c18[q][4]), a6, s);
            v_store(p[q] + i, s);
        }
    }
    add_diagonal(n, ld, c18[2][0], p[2]);
    add_diagonal(n, ld, c18[3][0], p[3]);
    multiply(n, ld, p[0], p[4], p[3], p[5]); /* A9 */
    for (int64_t i = 0; i < n * ld; i += VEC) v_store(p[2] + i, v_add(v_load(p[2] + i), v_load(p[5] + i)));
    multiply(n, ld, p[2], p[5], p[1], p[0]);
}

static int fits(double theta, double d, double norm) { return d <= theta && norm <= fmax(1, CANCEL * theta); }

static geodec__expm_result KERNEL(int64_t n, const double *a, double *e, double *work, double *norm)
{
    const int64_t ld = (n + VEC - 1) / VEC * VEC;
    double *p[GEODEC__EXPM_BUFFERS];
    work += (64 - (uintptr_t)work % 64) % 64 / sizeof *work;
    for (int i = 0; i < GEODEC__EXPM_BUFFERS; i++) p[i] = work + i * n * ld;
    const double whole = norm1(n, n, a);
    *norm = whole;
    if (!isfinite(whole)) return GEODEC__EXPM_NOT_FINITE;
    if (whole > ldexp(theta18, 60)) return GEODEC__EXPM_OVERFLOW;
    widen(n, ld, a, 1, p[0]);
    multiply(n, ld, p[0], p[0], NULL, p[1]);
    const double root = sqrt(norm1(n, ld, p[1])), d = root < whole ? root : whole;
    double *result = p[5], *spare = p[0];
    if (fits(theta2, d, whole)) {
        taylor2(n, ld, p);
    } else if (fits(theta4, d, whole)) {
        taylor4(n, ld, p);
    } else if (fits(theta8, d, whole)) {
        taylor8(n, ld, p);
    } else if (fits(theta12, d, whole)) {
        taylor12(n, ld, p);
    } else {
        const double size = fmax(d / theta18, whole / (CANCEL * theta18));
        int squarings = 0;
        if (size > 1) {
            if (frexp(size, &squarings) == 0.5) squarings--;
            const vec f = v_set1(ldexp(1, -squarings)), f2 = v_set1(ldexp(1, -2 * squarings));
            for (int64_t i = 0; i < n * ld; i += VEC) {
                v_store(p[0] + i, v_mul(f, v_load(p[0] + i)));
                v_store(p[1] + i, v_mul(f2, v_load(p[1] + i)));
            }
        }
        taylor18(n, ld, p);
        result = p[0];
        spare = p[5];
        for (; squarings > 0; squarings--) {
            multiply(n, ld, result, result, NULL, spare);
            double *const t = result;
            result = spare;
            spare = t;
        }
    }
    if (!all_finite(n * ld, result)) return GEODEC__EXPM_OVERFLOW;
    narrow(n, ld, result, e);
    return GEODEC__EXPM_OK;
}
