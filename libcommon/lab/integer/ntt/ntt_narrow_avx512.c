/* Moduli of 30 bits in 16 lanes of 32 bits: Harvey's butterflies, Shoup's products from the even and the odd lanes. */
#include "lab/integer/ntt/ntt_internal.h"

#include <immintrin.h>

#define WORD uint32_t
#define TWORD uint32_t
#define V __m512i
#define LOG_LANES 4
#define RADIX 4
#define UP_TO_LOG(X) X(1) X(2) X(3) X(4)
#define PARTS 2
#define SETTLE 0

#include "base/unroll_internal.h"

typedef struct K {
    V q, two, mu;
} K;
typedef struct TW {
    V w, scaled, odd; /* odd: scaled, its odd lanes in the even ones */
} TW;

static void twiddle(uint64_t q, uint64_t w, uint64_t parts[GEODEC__NTT_PARTS])
{
    parts[0] = w;
    parts[1] = geodec_mulmod_quotient(w, 32, q, NULL);
}

INLINE K constants(const geodec__ntt_tables *t)
{
    const int q = (int)t->modulus->q;
    return (K){_mm512_set1_epi32(q), _mm512_set1_epi32((int)(2u * (unsigned)q)),
               _mm512_set1_epi64((long long)t->barrett.mu)};
}
INLINE TW one(const uint32_t *p)
{
    const V scaled = _mm512_set1_epi32((int)p[1]);
    return (TW){_mm512_set1_epi32((int)p[0]), scaled, scaled};
}
INLINE TW lanes(const uint32_t *p)
{
    const V scaled = _mm512_loadu_si512(p + 16);
    return (TW){_mm512_loadu_si512(p), scaled, _mm512_srli_epi64(scaled, 32)};
}
INLINE V take(const uint32_t *p) { return _mm512_loadu_si512(p); }
INLINE void put(const K *k, uint32_t *p, V x)
{
    (void)k;
    _mm512_storeu_si512(p, x);
}
INLINE V once(V x, V q) { return _mm512_min_epu32(x, _mm512_sub_epi32(x, q)); }
/* The high words of the even products and of the odd ones, in place. */
INLINE V merged(V even, V odd) { return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB); }
/* Compilers would add and subtract the two parts of a difference one by one, with one instruction more. */
INLINE V whole(V x)
{
    __asm__("" : "+v"(x));
    return x;
}
INLINE V times(const K *k, TW t, V x)
{
    const V high =
        merged(_mm512_mul_epu32(t.scaled, x), _mm512_mul_epu32(t.odd, _mm512_shuffle_epi32(x, _MM_PERM_DDBB)));
    return whole(_mm512_sub_epi32(_mm512_mullo_epi32(t.w, x), _mm512_mullo_epi32(high, k->q)));
}

#define ADD(a, b) _mm512_add_epi32(a, b)
#define SUB(a, b) _mm512_sub_epi32(a, b)
#include "lab/integer/ntt/ntt_harvey_body.h"

/* Tight Barrett of products below 2^60, in the low words. */
INLINE V reduced(const K *k, V p)
{
    const V t = _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(p, 28), k->mu), 33);
    return _mm512_sub_epi64(p, _mm512_mul_epu32(t, k->q));
}
INLINE V product(const K *k, V x, V y)
{
    const V even = reduced(k, _mm512_mul_epu32(x, y));
    const V odd = reduced(k, _mm512_mul_epu32(_mm512_srli_epi64(x, 32), _mm512_srli_epi64(y, 32)));
    return once(_mm512_mask_shuffle_epi32(even, 0xaaaa, odd, _MM_PERM_CCAA), k->q);
}

/* Rows and columns of a 16 x 16 block: pairs of words, pairs of double words, then blocks of 128 bits. */
INLINE void transpose(V x[16])
{
    V y[16];
    UNROLL
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 16; i += 4) {
        x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
        x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
        x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
        x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
    }
    UNROLL
    for (int j = 0; j < 4; j++) {
        const V a = _mm512_shuffle_i32x4(x[j], x[j + 4], 0x88), b = _mm512_shuffle_i32x4(x[j], x[j + 4], 0xdd);
        const V c = _mm512_shuffle_i32x4(x[j + 8], x[j + 12], 0x88),
                d = _mm512_shuffle_i32x4(x[j + 8], x[j + 12], 0xdd);
        y[j] = _mm512_shuffle_i32x4(a, c, 0x88);
        y[j + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
        y[j + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
        y[j + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
    UNROLL
    for (int i = 0; i < 16; i++) x[i] = y[i];
}

#include "lab/integer/ntt/ntt_body.h"

const geodec__ntt_kernel geodec__ntt_narrow_avx512 = KERNEL(GEODEC_NTT_AVX512);
