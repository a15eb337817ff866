#include "lab/integer/listings.h"

#if defined(__AVX2__)
#include <immintrin.h>

geodec_ring_element geodec_listings_avx2(const geodec_ring_element w[2], const geodec_ring_element x[2], bool mended)
{
    const __m256i row = _mm256_loadu_si256((const __m256i *)(const void *)w);
    const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)x);
    const __m256i swapped =
        mended ? _mm256_shuffle_epi32(v, _MM_SHUFFLE(1, 0, 3, 2)) : _mm256_shuffle_epi32(v, _MM_SHUFFLE(2, 3, 0, 1));
    int64_t own[4], cross[4];
    _mm256_storeu_si256((__m256i *)(void *)own, _mm256_mul_epi32(row, v));
    _mm256_storeu_si256((__m256i *)(void *)cross, _mm256_mul_epi32(row, swapped));
    const int64_t ac = own[0] + own[2], bd = own[1] + own[3];
    return (geodec_ring_element){ac - 41 * bd, cross[0] + cross[1] + cross[2] + cross[3] + bd};
}
#else
geodec_ring_element geodec_listings_avx2(const geodec_ring_element w[2], const geodec_ring_element x[2], bool mended)
{
    (void)w;
    (void)x;
    (void)mended;
    return (geodec_ring_element){0, 0};
}
#endif
