#if defined(__AVX2__)
#include "lab/perspective/memory/hv_internal.h"

#include <immintrin.h>
#include <string.h>

static __m256i load(const void *p) { return _mm256_loadu_si256(p); }

/* Bits of each byte, from a table of half bytes (Mula, Kurz and Lemire 2018), summed in four words. */
static __m256i ones(__m256i x)
{
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4),
                  low = _mm256_set1_epi8(15);
    const __m256i bytes = _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(x, low)),
                                          _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
    return _mm256_sad_epu8(bytes, _mm256_setzero_si256());
}

static int32_t distance_avx2(const uint64_t *a, const uint64_t *b)
{
    enum { WHOLE = GEODEC_HV_WORDS / 4 * 4 };
    __m256i sum = _mm256_setzero_si256();
    for (int i = 0; i < WHOLE; i += 4) sum = _mm256_add_epi64(sum, ones(_mm256_xor_si256(load(a + i), load(b + i))));
    int64_t part[4];
    _mm256_storeu_si256((__m256i *)(void *)part, sum);
    int64_t n = part[0] + part[1] + part[2] + part[3];
    for (int i = WHOLE; i < GEODEC_HV_WORDS; i++) n += __builtin_popcountll(a[i] ^ b[i]);
    return (int32_t)n;
}

static void add_avx2(int16_t *count, const uint64_t *v)
{
    const __m256i bit = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                                          (short)-32768),
                  minus = _mm256_set1_epi16(-1), least = _mm256_set1_epi16(-GEODEC_HV_COUNT_MAX);
    for (int i = 0; i < GEODEC_HV_COUNTS; i += 16) {
        const __m256i sixteen = _mm256_set1_epi16((short)(v[i / 64] >> (i % 64) & 0xffff));
        const __m256i set = _mm256_cmpeq_epi16(_mm256_and_si256(sixteen, bit), bit); /* -1 where the bit is set */
        const __m256i step = _mm256_sub_epi16(minus, _mm256_add_epi16(set, set));
        const __m256i sum = _mm256_max_epi16(_mm256_adds_epi16(load(count + i), step), least);
        _mm256_storeu_si256((__m256i *)(void *)(count + i), sum);
    }
    memset(count + GEODEC_HV_BITS, 0, GEODEC__HV_PADDING * sizeof *count);
}

/* One bit for each of 32 lanes of 16 bits, which are all ones or zero. */
static uint64_t mask_of(__m256i low, __m256i high)
{
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), 0xd8);
    return (uint32_t)_mm256_movemask_epi8(bytes);
}

static void majority_avx2(const int16_t *count, const uint64_t *tie, uint64_t *out)
{
    const __m256i zero = _mm256_setzero_si256();
    for (int w = 0; w < GEODEC_HV_WORDS; w++, count += 64) {
        const __m256i a = load(count), b = load(count + 16), c = load(count + 32), d = load(count + 48);
        const uint64_t more = mask_of(_mm256_cmpgt_epi16(a, zero), _mm256_cmpgt_epi16(b, zero)) |
                              mask_of(_mm256_cmpgt_epi16(c, zero), _mm256_cmpgt_epi16(d, zero)) << 32;
        const uint64_t none = mask_of(_mm256_cmpeq_epi16(a, zero), _mm256_cmpeq_epi16(b, zero)) |
                              mask_of(_mm256_cmpeq_epi16(c, zero), _mm256_cmpeq_epi16(d, zero)) << 32;
        out[w] = more | (none & tie[w]);
    }
    out[GEODEC_HV_WORDS - 1] &= GEODEC__HV_LAST;
}

const geodec__hv_ops geodec__hv_avx2 = {"avx2", distance_avx2, add_avx2, majority_avx2};
#else
typedef int geodec__hv_no_avx2; /* built for another architecture */
#endif
