/* Rows of the common block types decoded with vectors: the values of the type table's decoders (gguf/types_internal.h
 * has the layouts), bit for bit, since every product is exact. Included by kernels_body.h. */

typedef uint8_t codes __attribute__((vector_size(16)));

INLINE codes codes_load(const uint8_t *p)
{
    codes v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Sixteen codes, less `zero`, as floats. */
INLINE vec codes_float(codes q, uint8_t zero)
{
    uint8_t t[16];
    q -= zero;
    memcpy(t, &q, sizeof t);
    return load_i8(t);
}

/* 16 where the bit of that lane (lowest first) is set, else 0. */
INLINE codes fifth_bits(const uint8_t *bits)
{
    static const uint8_t place[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint64_t spread[2] = {bits[0] * UINT64_C(0x0101010101010101), bits[1] * UINT64_C(0x0101010101010101)};
    codes v;
    memcpy(&v, spread, sizeof v);
    return (codes)((v & codes_load(place)) != 0) & 16;
}

INLINE float half_scale(const uint8_t *p) { return geodec_f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }

INLINE void decode_legacy(const int type, const uint8_t *p, int64_t cols, float *out)
{
    const bool five = type == GEODEC_GGML_Q5_0 || type == GEODEC_GGML_Q5_1;
    const bool affine = type == GEODEC_GGML_Q4_1 || type == GEODEC_GGML_Q5_1;
    const int head = affine ? 4 : 2, bytes = head + (five ? 20 : 16);
    for (int64_t b = 0; b < cols / 32; b++, p += bytes, out += 32) {
        const vec d = scale_f16(p);
        const codes q = codes_load(p + head + (five ? 4 : 0));
        codes low = q & 15, high = q >> 4;
        if (five) {
            low |= fifth_bits(p + head);
            high |= fifth_bits(p + head + 2);
        }
        const uint8_t zero = affine ? 0 : five ? 16 : 8;
        vec v0 = v_mul(d, codes_float(low, zero)), v1 = v_mul(d, codes_float(high, zero));
        if (affine) {
            const vec m = scale_f16(p + 2);
            v0 = v_add(v0, m);
            v1 = v_add(v1, m);
        }
        v_store(out, v0);
        v_store(out + 16, v1);
    }
}

/* Q4_K and Q5_K. The twelve bytes of scales: see gguf/types_internal.h. */
INLINE void decode_affine_k(const int type, const uint8_t *p, int64_t cols, float *out)
{
    const bool five = type == GEODEC_GGML_Q5_K;
    for (int64_t b = 0; b < cols / 256; b++, p += five ? 176 : 144) {
        const float d = half_scale(p), dmin = half_scale(p + 2);
        const uint8_t *s = p + 4, *q = p + (five ? 48 : 16);
        for (int g = 0; g < 8; g++, out += 32) {
            const int scale = g < 4 ? s[g] & 63 : (s[g + 4] & 15) | (s[g - 4] >> 6) << 4;
            const int min = g < 4 ? s[g + 4] & 63 : (s[g + 4] >> 4) | (s[g] >> 6) << 4;
            const vec a = v_set1(d * (float)scale), m = v_set1(dmin * (float)min);
            for (int half = 0; half < 2; half++) {
                const codes bytes = codes_load(q + 32 * (g / 2) + 16 * half);
                codes v = g % 2 ? bytes >> 4 : bytes & 15;
                if (five) v |= (codes_load(p + 16 + 16 * half) >> (uint8_t)g & 1) << 4;
                v_store(out + 16 * half, v_sub(v_mul(a, codes_float(v, 0)), m));
            }
        }
    }
}

INLINE void decode_q6_k(const uint8_t *p, int64_t cols, float *out)
{
    for (int64_t b = 0; b < cols / 256; b++, p += 210) {
        const float d = half_scale(p + 208);
        for (int g = 0; g < 16; g++, out += 16) {
            const int half = g / 8, k = g % 8 / 2, at = 16 * (g % 2);
            const codes low = codes_load(p + 64 * half + 32 * (k % 2) + at),
                        high = codes_load(p + 128 + 32 * half + at);
            const codes v = (k < 2 ? low & 15 : low >> 4) | (high >> (uint8_t)(2 * k) & 3) << 4;
            v_store(out, v_mul(v_set1(d * (float)(int8_t)p[192 + g]), codes_float(v, 32)));
        }
    }
}

static void decode_blocks(const geodec_ggml_traits *t, const uint8_t *row, int64_t cols, float *out)
{
    switch (t->type) {
    case GEODEC_GGML_Q4_0:
        decode_legacy(GEODEC_GGML_Q4_0, row, cols, out);
        break;
    case GEODEC_GGML_Q4_1:
        decode_legacy(GEODEC_GGML_Q4_1, row, cols, out);
        break;
    case GEODEC_GGML_Q5_0:
        decode_legacy(GEODEC_GGML_Q5_0, row, cols, out);
        break;
    case GEODEC_GGML_Q5_1:
        decode_legacy(GEODEC_GGML_Q5_1, row, cols, out);
        break;
    case GEODEC_GGML_Q4_K:
        decode_affine_k(GEODEC_GGML_Q4_K, row, cols, out);
        break;
    case GEODEC_GGML_Q5_K:
        decode_affine_k(GEODEC_GGML_Q5_K, row, cols, out);
        break;
    case GEODEC_GGML_Q6_K:
        decode_q6_k(row, cols, out);
        break;
    default:
        t->decode(row, out, cols);
        break;
    }
}
