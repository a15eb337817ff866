/* Vector forms of the work on rows against the scalar reference: random numbers of all sizes, and the limits. */
#include "base/mem.h"
#include "base/rng.h"
#include "integer/engine/rows_internal.h"
#include "kernels/settings.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

enum { N = 1000 };

/* A number of up to `bits` bits; most of them are small. */
static int64_t number(uint64_t seed, int64_t i, int bits)
{
    const uint64_t r = geodec_rng_at(seed, 1, (uint64_t)i), shape = geodec_rng_at(seed, 2, (uint64_t)i);
    const int64_t v = (int64_t)(r >> (64 - bits) >> shape % (uint64_t)bits);
    return shape >> 32 & 1 ? -v : v;
}

static const geodec__rows_ops *const plain = &geodec__rows_scalar;
static const geodec_isa set[] = {GEODEC_ISA_AVX2, GEODEC_ISA_AVX512};

/* A test for each set that this processor has. */
#define ROWS_TEST(name)                                                                                                \
    static void test_##name(const geodec__rows_ops *f);                                                                \
    Test(rows, name)                                                                                                   \
    {                                                                                                                  \
        for (int i = 0; i < 2; i++)                                                                                    \
            if (geodec_kernels_isa_available(set[i])) test_##name(geodec__rows_for(set[i]));                           \
    }                                                                                                                  \
    static void test_##name(const geodec__rows_ops *f)

ROWS_TEST(rounding)
{
    for (int bits = 7; bits <= 15; bits += 8)
        for (int64_t n = 1; n <= 200; n++)
            for (int wide = 2; wide <= 63; wide++) {
                int64_t y[200];
                geodec_rounded_block a[8] = {0}, b[8] = {0};
                geodec_rounded p = {.block = a}, q = {.block = b};
                for (int64_t i = 0; i < n; i++) y[i] = number((uint64_t)(n + 1000 * wide), i, wide);
                if (n % 50 == 0) y[n / 2] = INT64_MIN;
                if (n % 50 == 1) y[n / 2] = INT64_MAX;
                if (n % 50 == 2) memset(y, 0, sizeof y);
                plain->round(y, n, 24, bits, &p);
                f->round(y, n, 24, bits, &q);
                cr_assert_eq(p.exponent, q.exponent);
                cr_assert_eq(p.n_digits, q.n_digits);
                cr_assert_arr_eq(a, b, sizeof a, "%lld numbers of %d bits", (long long)n, wide);
                for (int64_t i = 0; i < n; i++) cr_assert_leq(abs(a[i / 32].v[i % 32]), bits == 7 ? 127 : 32639);
            }
}

ROWS_TEST(norms)
{
    for (int64_t n = 1; n < 100; n += 7)
        for (int bits = 3; bits <= 30; bits++) {
            int64_t x[100], y[100], z[100];
            int32_t w[100];
            for (int64_t i = 0; i < n; i++) {
                x[i] = number((uint64_t)bits, i, bits) + (i == 0);
                w[i] = (int32_t)number(77, i, 31);
            }
            cr_assert_eq(plain->reach(x, n), f->reach(x, n));
            for (int shift = 0; shift < 5; shift++) {
                uint64_t ss = plain->squares(x, n, shift);
                cr_assert_eq(ss, f->squares(x, n, shift));
                if (ss == 0) ss = 1;
                const geodec_fixed_rms r = geodec_fixed_rms_of(ss, n);
                plain->scale(r, x, shift, w, n, y);
                f->scale(r, x, shift, w, n, z);
                cr_assert_arr_eq(y, z, (size_t)n * sizeof *y, "%d bits, shift %d, k %d", bits, shift, r.k);
            }
        }
}

ROWS_TEST(gates)
{
    int64_t x[N], y[N], up[N];
    for (int gelu = 0; gelu < 2; gelu++)
        for (int bits = 2; bits <= 62; bits++) {
            for (int64_t i = 0; i < N; i++) {
                x[i] = y[i] = number(3, i + (int64_t)bits * N, bits);
                up[i] = number(4, i, i % 16 < 12 ? 31 : 62);
            }
            plain->gate(x, up, N - bits, gelu);
            f->gate(y, up, N - bits, gelu);
            for (int64_t i = 0; i < N; i++) cr_assert_eq(x[i], y[i], "%d bits, number %lld", bits, (long long)i);
        }
    /* every divisor of the sigmoid on a grid of the exponential's arguments */
    for (int64_t at = -21 * 16777216LL; at < 21 * 16777216LL; at += (int64_t)N * 97) {
        for (int64_t i = 0; i < N; i++) {
            x[i] = y[i] = at + 97 * i;
            up[i] = INT32_MAX;
        }
        plain->gate(x, up, N, false);
        f->gate(y, up, N, false);
        cr_assert_arr_eq(x, y, sizeof x);
    }
}

ROWS_TEST(attention)
{
    int32_t raw[N], exponent[N], a[N], b[N];
    for (int kind = 0; kind < 200; kind++) {
        const int64_t n = 1 + kind * 4;
        int32_t top = INT32_MIN, least = INT32_MAX;
        for (int64_t i = 0; i < n; i++) {
            raw[i] = (int32_t)number(5 + (uint64_t)kind, i, 31);
            exponent[i] = (int32_t)number(6, i, kind % 3 ? 4 : 7);
            least = exponent[i] < least ? exponent[i] : least;
        }
        plain->scores(raw, exponent, n, 1400000000, 40 - kind % 9, a);
        f->scores(raw, exponent, n, 1400000000, 40 - kind % 9, b);
        cr_assert_arr_eq(a, b, (size_t)n * sizeof *a);
        for (int64_t i = 0; i < n; i++) top = a[i] > top ? a[i] : top;
        cr_assert_eq(plain->weights(a, exponent, n, top, least, raw), f->weights(a, exponent, n, top, least, b));
        cr_assert_arr_eq(raw, b, (size_t)n * sizeof *raw);
    }
    int64_t x[N];
    for (int64_t i = 0; i < N; i++) x[i] = number(9, i, 62);
    for (int64_t n = N - 9; n <= N; n++) {
        plain->logits(x, n, a);
        f->logits(x, n, b);
        cr_assert_arr_eq(a, b, (size_t)n * sizeof *a);
    }
}

ROWS_TEST(heads)
{
    geodec_fixed_turn turn[N / 2];
    int64_t x[N], y[N];
    int16_t v[N] = {0}, w[N] = {0};
    for (int i = 0; i < N / 2; i++) turn[i] = geodec_fixed_turn_of(geodec_rng_at(1, 2, (uint64_t)i));
    for (int64_t n = 1; n < 40; n++)
        for (int halves = 0; halves < 2; halves++) {
            for (int64_t i = 0; i < 2 * n; i++) x[i] = y[i] = number(8, i, 30);
            plain->rotate(turn, n, halves, x);
            f->rotate(turn, n, halves, y);
            cr_assert_arr_eq(x, y, (size_t)(2 * n) * sizeof *x);
        }
    for (int shift = -63; shift <= 64; shift++) {
        const int64_t n = N - (shift & 15);
        for (int64_t i = 0; i < N; i++) x[i] = number(9, i, 62);
        plain->store(x, n, shift, v);
        f->store(x, n, shift, w);
        cr_assert_arr_eq(v, w, sizeof v, "shift %d", shift);
    }
    for (int shift = -2; shift < 130; shift++)
        for (int bits = 20; bits <= 62; bits += 7) {
            int64_t acc[100];
            const int64_t inverse = (int64_t)(geodec_rng_at(3, 3, (uint64_t)shift) >> (shift % 4 ? 30 : 20));
            for (int64_t i = 0; i < 100; i++) acc[i] = number(10, i, bits);
            plain->share(acc, 100 - shift % 9, inverse, shift, x);
            f->share(acc, 100 - shift % 9, inverse, shift, y);
            cr_assert_arr_eq(x, y, (size_t)(100 - shift % 9) * sizeof *x, "shift %d, %d bits", shift, bits);
        }
    for (int64_t i = 0; i < N; i++) x[i] = y[i] = number(11, i, 61);
    int64_t to[N];
    for (int64_t i = 0; i < N; i++) to[i] = i % 7 ? number(12, i, 62) : INT64_MIN;
    plain->add(x, to, N - 3);
    f->add(y, to, N - 3);
    cr_assert_arr_eq(x, y, sizeof x);
}

ROWS_TEST(sums_of_heads)
{
    enum { MOST = 9 };
    for (int64_t dim = 1; dim <= 200; dim += dim < 40 ? 1 : 13) {
        int16_t q[200], k[200 * MOST];
        int32_t w[MOST], a[MOST + 1], b[MOST + 1];
        int64_t x[201] = {0}, y[201] = {0};
        for (int64_t d = 0; d < dim; d++) q[d] = (int16_t)(number(1, d, 15) >> 4);
        for (int64_t i = 0; i < dim * MOST; i++) k[i] = (int16_t)number(2, i, 15);
        for (int i = 0; i < MOST; i++) w[i] = i == 3 ? 0 : (int32_t)(geodec_rng_at(7, 7, (uint64_t)i) >> 34);
        for (int64_t n = 0; n <= MOST; n++) {
            memset(a, 1, sizeof a);
            memset(b, 1, sizeof b);
            plain->dots(q, k, n, dim, a);
            f->dots(q, k, n, dim, b);
            cr_assert_arr_eq(a, b, sizeof a, "%lld keys of %lld numbers", (long long)n, (long long)dim);
            plain->mix(w, k, n, dim, x);
            f->mix(w, k, n, dim, y);
            cr_assert_arr_eq(x, y, sizeof x);
        }
    }
}

/* The largest weights and values, in more rows than any set adds at a time. */
ROWS_TEST(largest_sums_of_heads)
{
    enum { MOST = 200, DIM = 80 };
    int16_t *v = geodec_mem_new((int64_t)MOST * DIM, sizeof *v);
    int32_t w[MOST];
    for (int64_t i = 0; i < MOST * DIM; i++) v[i] = (int16_t)(i % DIM < 40 ? INT16_MAX : -INT16_MAX);
    for (int low = 0; low < 3; low++) {
        int64_t x[DIM] = {0}, y[DIM] = {0};
        for (int i = 0; i < MOST; i++) w[i] = (1 << 30) - (low == 1 ? 1 : low == 2 ? i % 3 : 0);
        for (int64_t n = 60; n <= MOST; n += n < 70 ? 1 : 31) {
            plain->mix(w, v, n, DIM, x);
            f->mix(w, v, n, DIM, y);
            cr_assert_arr_eq(x, y, sizeof x, "%lld rows", (long long)n);
        }
    }
    geodec_mem_free(v);
}
