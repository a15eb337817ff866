/* Weights of the block types as vectors of 16 floats, on x86: the values of the type table's decoders
 * (gguf/types_internal.h has the layouts), bit for bit, since there every product is exact. Included by kernels_body.h.
 * The including file also gives
 *   lanes   16 bytes, once for every 128 bits of a vector: l_load(p), l_half(v, which) of 32 bytes, l_xor(a, byte)
 *   ivec    16 integers: i_spread(lanes, place) each byte becomes byte `place` of its integer, the others zero;
 *           i_and(a, mask) i_shl(a, n) i_float(a)
 * A code is never moved to the low end of its integer. It is converted where it lies, 2^k times too large, and the
 * scale it is multiplied with is as much smaller: both are powers of two, so nothing is rounded. */

#include <immintrin.h>

enum { WIDEST_STEP = 4 /* vectors that come out of a row together */ };

/* Values of a block, and of a step: the part of it that is decoded together. */
INLINE int block_values(const int type)
{
    return type == GEODEC_GGML_Q4_K || type == GEODEC_GGML_Q5_K || type == GEODEC_GGML_Q6_K ? 256 : 32;
}
INLINE int block_step(const int type) { return block_values(type) == 256 ? 64 : 32; }
INLINE int block_bytes(const int type)
{
    switch (type) {
    case GEODEC_GGML_Q4_0:
    case GEODEC_GGML_IQ4_NL:
        return 18;
    case GEODEC_GGML_Q4_1:
        return 20;
    case GEODEC_GGML_Q5_0:
        return 22;
    case GEODEC_GGML_Q5_1:
        return 24;
    case GEODEC_GGML_Q8_0:
        return 34;
    case GEODEC_GGML_Q4_K:
        return 144;
    case GEODEC_GGML_Q5_K:
        return 176;
    default: /* Q6_K */
        return 210;
    }
}

/* Scales and minima of a K-quant's groups, as large as the step wants them; the minima are to be added. */
typedef struct fine {
    float scale[16], min[8];
} fine;

INLINE uint64_t load_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE uint32_t load_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE __m256 half_all(const uint8_t *p) { return _mm256_cvtph_ps(_mm_set1_epi16((int16_t)(p[0] | p[1] << 8))); }
INLINE __m256 eight_bytes(uint64_t v)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)v)));
}

/* The twelve bytes of scales: see geodec__k_scale_min. Even groups lie in the low nibbles, odd ones in the high. */
INLINE void fine_affine(const uint8_t *p, const bool five, fine *f)
{
    const uint32_t a = load_u32(p + 4), b = load_u32(p + 8), c = load_u32(p + 12);
    const uint64_t high = (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u);
    const uint64_t high_min = (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u);
    const __m256 unit =
        five ? _mm256_set1_ps(0x1p-24f)
             : _mm256_setr_ps(0x1p-16f, 0x1p-20f, 0x1p-16f, 0x1p-20f, 0x1p-16f, 0x1p-20f, 0x1p-16f, 0x1p-20f);
    const __m256 d = _mm256_mul_ps(half_all(p), unit), dmin = _mm256_xor_ps(half_all(p + 2), _mm256_set1_ps(-0.0f));
    _mm256_storeu_ps(f->scale, _mm256_mul_ps(d, eight_bytes((a & 0x3f3f3f3fu) | high << 32)));
    _mm256_storeu_ps(f->min, _mm256_mul_ps(dmin, eight_bytes((b & 0x3f3f3f3fu) | high_min << 32)));
}

INLINE void fine_signed(const uint8_t *scales, const uint8_t *half, fine *f)
{
    const __m256 d = _mm256_mul_ps(half_all(half), _mm256_set1_ps(0x1p-24f));
    const __m128i s = _mm_loadu_si128((const __m128i *)(const void *)scales);
    _mm256_storeu_ps(f->scale, _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(s))));
    _mm256_storeu_ps(f->scale + 8, _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(s, 8)))));
}

INLINE void fine_of(const int type, const uint8_t *block, fine *f)
{
    if (type == GEODEC_GGML_Q4_K) fine_affine(block, false, f);
    if (type == GEODEC_GGML_Q5_K) fine_affine(block, true, f);
    if (type == GEODEC_GGML_Q6_K) fine_signed(block + 192, block + 208, f);
}

INLINE __m256i bytes32(const uint8_t *p) { return _mm256_loadu_si256((const __m256i *)(const void *)p); }
INLINE __m256i bytes_shr(__m256i a, const int n, const int mask)
{
    return _mm256_and_si256(_mm256_srli_epi16(a, n), _mm256_set1_epi8((char)mask));
}
INLINE __m256i bytes_shl(__m256i a, const int n, const int mask)
{
    return _mm256_and_si256(_mm256_slli_epi16(a, n), _mm256_set1_epi8((char)mask));
}

/* 16 bytes of nibbles as 32: the low ones first. */
INLINE __m256i nibbles32(const uint8_t *p)
{
    const __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_and_si256(_mm256_srlv_epi32(both, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4)), _mm256_set1_epi8(15));
}

/* Bytes of 255 where the bit of 32 is not set. */
INLINE __m256i bits_clear(const uint8_t *p)
{
    const __m256i all = _mm256_set1_epi32((int)load_u32(p)), place = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i own =
        _mm256_shuffle_epi8(all, _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303));
    return _mm256_cmpeq_epi8(_mm256_and_si256(own, place), _mm256_setzero_si256());
}

/* Two vectors from 32 signed bytes. */
INLINE void spread_bytes(__m256i v, vec scale0, vec scale1, vec w[2])
{
    w[0] = v_mul(i_float(i_spread(l_half(v, 0), 3)), scale0);
    w[1] = v_mul(i_float(i_spread(l_half(v, 1), 3)), scale1);
}
INLINE void spread_affine(__m256i v, vec scale, vec min, vec w[2])
{
    w[0] = v_fma(i_float(i_spread(l_half(v, 0), 3)), scale, min);
    w[1] = v_fma(i_float(i_spread(l_half(v, 1), 3)), scale, min);
}

/* The 32 values of a block. */
INLINE void unpack_legacy(const int type, const uint8_t *p, vec w[2])
{
    const vec d = scale_f16(p);
    switch (type) {
    case GEODEC_GGML_Q8_0: {
        const vec s = v_mul(d, v_set1(0x1p-24f));
        w[0] = v_mul(i_float(i_spread(l_load(p + 2), 3)), s);
        w[1] = v_mul(i_float(i_spread(l_load(p + 18), 3)), s);
        break;
    }
    case GEODEC_GGML_Q4_0: { /* less eight is the same as the nibble's top bit turned over and taken as a sign */
        const vec s = v_mul(d, v_set1(0x1p-28f));
        const ivec v = i_spread(l_xor(l_load(p + 2), 0x88), 3);
        w[0] = v_mul(i_float(i_shl(v, 4)), s);
        w[1] = v_mul(i_float(i_and(v, 0xf0000000u)), s);
        break;
    }
    case GEODEC_GGML_Q4_1: {
        const vec m = scale_f16(p + 2);
        const ivec v = i_spread(l_load(p + 4), 2);
        w[0] = v_fma(i_float(i_and(v, 0x000f0000u)), v_mul(d, v_set1(0x1p-16f)), m);
        w[1] = v_fma(i_float(i_and(v, 0x00f00000u)), v_mul(d, v_set1(0x1p-20f)), m);
        break;
    }
    case GEODEC_GGML_Q5_0: { /* less sixteen: negative where the fifth bit is not set */
        const vec s = v_mul(d, v_set1(0x1p-24f));
        const __m256i top = _mm256_and_si256(bits_clear(p + 2), _mm256_set1_epi8((char)0xf0));
        spread_bytes(_mm256_or_si256(nibbles32(p + 6), top), s, s, w);
        break;
    }
    case GEODEC_GGML_Q5_1: {
        const __m256i top = _mm256_andnot_si256(bits_clear(p + 4), _mm256_set1_epi8(0x10));
        spread_affine(_mm256_or_si256(nibbles32(p + 8), top), v_mul(d, v_set1(0x1p-24f)), scale_f16(p + 2), w);
        break;
    }
    default: { /* IQ4_NL */
        const vec s = v_mul(d, v_set1(0x1p-24f));
        const __m256i table = _mm256_broadcastsi128_si256(
            _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113));
        spread_bytes(_mm256_shuffle_epi8(table, nibbles32(p + 2)), s, s, w);
        break;
    }
    }
}

/* Values 64 part .. of a block. */
INLINE void unpack_k(const int type, const uint8_t *p, const int part, const fine *f, vec w[4])
{
    const vec s0 = v_set1(f->scale[2 * part]), s1 = v_set1(f->scale[2 * part + 1]);
    if (type == GEODEC_GGML_Q6_K) { /* two quarters of a half: see decode_q6_k */
        const int half = part / 2, k = part % 2 * 2;
        const __m256i high = bytes32(p + 128 + 32 * half);
        const vec scale[4] = {v_set1(f->scale[4 * part]), v_set1(f->scale[4 * part + 1]),
                              v_set1(f->scale[4 * part + 2]), v_set1(f->scale[4 * part + 3])};
        UNROLL
        for (int i = 0; i < 2; i++) {
            const __m256i low = bytes32(p + 64 * half + 32 * i);
            const __m256i top =
                k + i < 2 ? bytes_shl(high, 4 - 2 * (k + i), 0x30) : bytes_shr(high, 2 * (k + i) - 4, 0x30);
            const __m256i v = _mm256_or_si256(bytes_shr(low, 2 * k, 15), top);
            spread_bytes(_mm256_sub_epi8(v, _mm256_set1_epi8(32)), scale[2 * i], scale[2 * i + 1], w + 2 * i);
        }
        return;
    }
    const vec m0 = v_set1(f->min[2 * part]), m1 = v_set1(f->min[2 * part + 1]);
    if (type == GEODEC_GGML_Q4_K) {
        const ivec a = i_spread(l_load(p + 16 + 32 * part), 2), b = i_spread(l_load(p + 32 + 32 * part), 2);
        w[0] = v_fma(i_float(i_and(a, 0x000f0000u)), s0, m0);
        w[1] = v_fma(i_float(i_and(b, 0x000f0000u)), s0, m0);
        w[2] = v_fma(i_float(i_and(a, 0x00f00000u)), s1, m1);
        w[3] = v_fma(i_float(i_and(b, 0x00f00000u)), s1, m1);
        return;
    }
    const __m256i low = bytes32(p + 48 + 32 * part), high = bytes32(p + 16);
    UNROLL
    for (int i = 0; i < 2; i++) {
        const int g = 2 * part + i;
        const __m256i top = g < 4 ? bytes_shl(high, 4 - g, 0x10) : bytes_shr(high, g - 4, 0x10);
        spread_affine(_mm256_or_si256(bytes_shr(low, 4 * i, 15), top), i ? s1 : s0, i ? m1 : m0, w + 2 * i);
    }
}

INLINE void unpack(const int type, const uint8_t *block, const int part, const fine *f, vec w[WIDEST_STEP])
{
    if (block_step(type) == 64)
        unpack_k(type, block, part, f, w);
    else
        unpack_legacy(type, block, w);
}

INLINE void decode_block_row(const int type, const uint8_t *row, int64_t cols, float *out)
{
    const int values = block_values(type), step = block_step(type);
    fine f;
    for (int64_t c = 0; c < cols; c += values, row += block_bytes(type)) {
        fine_of(type, row, &f);
        UNROLL
        for (int part = 0; part < values / step; part++, out += step) {
            vec w[WIDEST_STEP];
            unpack(type, row, part, &f, w);
            UNROLL
            for (int i = 0; i < step / 16; i++) v_store(out + 16 * i, w[i]);
        }
    }
}

/* The sums of a tile: R weight rows against B rows of x. */
INLINE void sum_blocks(const int type, const int64_t ahead, const int R, const int B, const uint8_t *w,
                       int64_t row_bytes, int64_t cols, const float *const *x, vec *sum)
{
    const int values = block_values(type), step = block_step(type), bytes = block_bytes(type);
    const uint8_t *asked = w + ahead;
    fine f[MAX_TILE];
    for (int64_t c = 0; c < cols; c += values, w += bytes) {
        if (ahead) {
            UNROLL
            for (int k = 0; k < R * bytes; k += 64) {
                if (B == 1)
                    __builtin_prefetch(asked + k, 0, 0);
                else
                    __builtin_prefetch(asked + k, 0, 2);
            }
            asked += R * bytes;
        }
        if (step == 64) {
            UNROLL
            for (int j = 0; j < R; j++) fine_of(type, w + j * row_bytes, &f[j]);
        }
        UNROLL
        for (int part = 0; part < values / step; part++) {
            UNROLL
            for (int j = 0; j < R; j++) {
                vec v[WIDEST_STEP];
                unpack(type, w + j * row_bytes, part, &f[j], v);
                UNROLL
                for (int i = 0; i < step / 16; i++) {
                    UNROLL
                    for (int r = 0; r < B; r++)
                        sum[r * R + j] = v_fma(v_load(x[r] + c + part * step + 16 * i), v[i], sum[r * R + j]);
                }
            }
        }
    }
}
