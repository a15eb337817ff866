#include "base/f16.h"
#include "base/rng.h"
#include "gguf/code_books_internal.h"
#include "session/shape_internal.h"

#include <math.h>
#include <string.h>

enum { MOST = 256 /* values of a block of any type */ };

static void put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v & 0xffu);
    p[1] = (uint8_t)(v >> 8);
}

/* Uniform on 65536 points, mean 0, standard deviation sigma. */
static float uniform16(uint64_t bits, double sigma)
{
    return (float)(((double)(bits & 0xffffu) - 32767.5) * (sigma / 18918.613));
}

static void random_bytes(uint64_t seed, uint64_t stream, uint64_t first, uint8_t *out, int n)
{
    for (int i = 0; i < n; i += 8) {
        const uint64_t u = geodec_rng_at(seed, stream, first++);
        memcpy(out + i, &u, (size_t)(n - i < 8 ? n - i : 8));
    }
}

/* A block's scale: `sigma` is the deviation of scale times code; up to a quarter more or less, with random sign if the
 * codes are not symmetric, so that the mean over blocks is zero. */
static uint16_t scale_of(uint64_t u, double sigma, double code_deviation, bool either_sign)
{
    const double spread = 1.0 + 0.25 * (2.0 * (double)(u >> 40) / 16777216.0 - 1.0);
    const double s = sigma / code_deviation * spread;
    return geodec_f32_to_f16((float)(either_sign && (u & 1u) ? -s : s));
}

/* Every type has a function of this signature. */
#define FILL(name)                                                                                                     \
    static void fill_##name(const geodec_ggml_traits *type, uint64_t seed, uint64_t stream, int64_t index,             \
                            double sigma, uint8_t *out)

FILL(f32)
{
    (void)type;
    const uint64_t u = geodec_rng_at(seed, stream, (uint64_t)index);
    float v[4];
    for (int i = 0; i < 4; i++) v[i] = uniform16(u >> 16 * i, sigma);
    memcpy(out, v, sizeof v);
}

FILL(f16)
{
    (void)type;
    const uint64_t u = geodec_rng_at(seed, stream, (uint64_t)index);
    for (int i = 0; i < 4; i++) put16(out + 2 * i, geodec_f32_to_f16(uniform16(u >> 16 * i, sigma)));
}

FILL(bf16)
{
    (void)type;
    const uint64_t u = geodec_rng_at(seed, stream, (uint64_t)index);
    for (int i = 0; i < 4; i++) put16(out + 2 * i, geodec_f32_to_bf16(uniform16(u >> 16 * i, sigma)));
}

/* Scale, 32 signed codes; -128 is not used by encoders. */
FILL(q8_0)
{
    (void)type;
    const uint64_t at = (uint64_t)index * 5;
    put16(out, scale_of(geodec_rng_at(seed, stream, at), sigma, 73.6, false));
    random_bytes(seed, stream, at + 1, out + 2, 32);
    for (int i = 2; i < 34; i++)
        if (out[i] == 0x80) out[i] = 0x7f;
}

/* Scale, 32 codes of 4 bits less 8. */
FILL(q4_0)
{
    (void)type;
    const uint64_t at = (uint64_t)index * 3;
    put16(out, scale_of(geodec_rng_at(seed, stream, at), sigma, 4.64, true));
    random_bytes(seed, stream, at + 1, out + 2, 16);
}

/* Scale, fifth bits, 32 codes less 16. */
FILL(q5_0)
{
    (void)type;
    const uint64_t at = (uint64_t)index * 4;
    put16(out, scale_of(geodec_rng_at(seed, stream, at), sigma, 9.25, true));
    random_bytes(seed, stream, at + 1, out + 2, 20);
}

/* Scale and minimum's scale, 8 pairs of 6 bits, 256 codes of 4 bits: d sc q - dmin m. With m = sc and
 * dmin = 7.5 d the value is d sc (q - 7.5). */
FILL(q4_k)
{
    (void)type;
    const uint64_t at = (uint64_t)index * 18;
    uint8_t sc[8];
    random_bytes(seed, stream, at, sc, 8);
    for (int j = 0; j < 8; j++) sc[j] = (uint8_t)(32u | (sc[j] & 31u));
    const float d = geodec_f16_to_f32(scale_of(geodec_rng_at(seed, stream, at + 1), sigma, 48.4 * 4.61, false));
    put16(out, geodec_f32_to_f16(d));
    put16(out + 2, geodec_f32_to_f16(7.5f * d));
    for (int j = 0; j < 4; j++) {
        const unsigned low = sc[j], high = sc[j + 4];
        out[4 + j] = out[8 + j] = (uint8_t)(low | (high >> 4) << 6);
        out[12 + j] = (uint8_t)((high & 15u) * 0x11u);
    }
    random_bytes(seed, stream, at + 2, out + 16, 128);
}

/* Low 4 and high 2 bits of 256 codes less 32, 16 signed scales, a scale. */
FILL(q6_k)
{
    (void)type;
    const uint64_t at = (uint64_t)index * 27;
    random_bytes(seed, stream, at, out, 128 + 64 + 16);
    for (int j = 192; j < 208; j++) { /* 64 .. 127 of either sign */
        const int magnitude = 64 + (out[j] & 63);
        out[j] = (uint8_t)(int8_t)(out[j] & 64u ? -magnitude : magnitude);
    }
    put16(out + 208, scale_of(geodec_rng_at(seed, stream, at + 26), sigma, 97.2 * 18.5, false));
}

/* Scale, 8 scales of 6 bits less 32 (16 .. 31 of either sign), 256 places of levels. */
FILL(iq4_xs)
{
    (void)type;
    const uint64_t at = (uint64_t)index * 18;
    const uint64_t s = geodec_rng_at(seed, stream, at + 1);
    put16(out, scale_of(geodec_rng_at(seed, stream, at), sigma, 67.44 * 23.95, false));
    memset(out + 2, 0, 6);
    for (int g = 0; g < 8; g++) {
        const unsigned magnitude = 16u + (unsigned)(s >> 8 * g & 15u),
                       code = s >> (8 * g + 4) & 1u ? 32u + magnitude : 32u - magnitude;
        out[2 + g / 4] = (uint8_t)(out[2 + g / 4] | (code >> 4) << 2 * (g % 4));
        out[4 + g / 2] = (uint8_t)(out[4 + g / 2] | (code & 15u) << 4 * (g % 2));
    }
    random_bytes(seed, stream, at + 2, out + 8, 128);
}

/* Whether the upper of two scales, so that the mean square of both is that of `scale`. */
static bool upper(uint64_t u, double scale, double lower, double higher)
{
    return (double)(u >> 40) / 16777216.0 * (higher * higher - lower * lower) < scale * scale - lower * lower;
}

/* Exponent, 32 floats of 4 bits. */
FILL(mxfp4)
{
    (void)type;
    const uint64_t at = (uint64_t)index * 3;
    const double scale = sigma / 5.852;
    const int e = (int)floor(log2(scale));
    out[0] = (uint8_t)(128 + e + upper(geodec_rng_at(seed, stream, at), scale, exp2(e), exp2(e + 1)));
    random_bytes(seed, stream, at + 1, out + 1, 16);
}

/* Four floats of 7 bits, 64 of 4 bits. */
FILL(nvfp4)
{
    (void)type;
    const uint64_t at = (uint64_t)index * 8;
    const double scale = sigma / 5.852;
    uint8_t low = 0;
    while (low < 0x7d && (double)geodec__e4m3_half((uint8_t)(low + 1)) <= scale) low++;
    for (uint64_t g = 0; g < 4; g++)
        out[g] = (uint8_t)(low + upper(geodec_rng_at(seed, stream, at + g), scale, (double)geodec__e4m3_half(low),
                                       (double)geodec__e4m3_half((uint8_t)(low + 1))));
    random_bytes(seed, stream, at + 4, out + 4, 32);
}

/* Types without an encoder whose bytes may be any but for a binary16 scale; the deviation of a block where it is 1. */
static const struct {
    int type;
    double deviation;
    int at, minimum; /* of the scale, and of 1.5 times it */
} scaled[] = {
    {GEODEC_GGML_IQ4_NL, 67.43, 0, -1}, {GEODEC_GGML_Q2_K, 13.87, 80, 82},   {GEODEC_GGML_Q3_K, 43.35, 108, -1},
    {GEODEC_GGML_IQ3_S, 140.3, 0, -1},  {GEODEC_GGML_IQ3_XXS, 142.4, 0, -1}, {GEODEC_GGML_IQ2_S, 56.36, 0, -1},
    {GEODEC_GGML_IQ2_XS, 55.88, 0, -1}, {GEODEC_GGML_IQ2_XXS, 53.39, 0, -1}, {GEODEC_GGML_IQ1_M, 7.2, -1, -1},
    {GEODEC_GGML_IQ1_S, 7.2, 0, -1},    {GEODEC_GGML_Q2_0, 1.225, 0, -1},    {GEODEC_GGML_Q1_0, 1.0, 0, -1},
};

FILL(scaled)
{
    const uint64_t at = (uint64_t)index * 16; /* 110 bytes at most */
    random_bytes(seed, stream, at + 1, out, type->block_bytes);
    for (size_t k = 0; k < sizeof scaled / sizeof *scaled; k++) {
        if (scaled[k].type != type->type) continue;
        const uint16_t d = scale_of(geodec_rng_at(seed, stream, at), sigma, scaled[k].deviation, true);
        if (scaled[k].at >= 0) put16(out + scaled[k].at, d);
        if (scaled[k].minimum >= 0) put16(out + scaled[k].minimum, geodec_f32_to_f16(1.5f * geodec_f16_to_f32(d)));
        for (int g = 0; g < 4 && scaled[k].at < 0; g++) /* IQ1_M */
            out[49 + 2 * g] = (uint8_t)((out[49 + 2 * g] & 15u) | (d >> 4 * g & 15u) << 4);
    }
}

/* Any other type: a block of uniform values, rounded. */
FILL(rounded)
{
    float x[MOST];
    for (int i = 0; i < type->block; i++)
        x[i] = uniform16(geodec_rng_at(seed, stream, (uint64_t)(index * type->block + i)), sigma);
    type->nearest(x, out, type->block);
}

/* Types whose bytes are generated without rounding. */
static const struct {
    int type, blocks; /* blocks of a group */
    void (*fill)(const geodec_ggml_traits *, uint64_t, uint64_t, int64_t, double, uint8_t *);
} makers[] = {
    {GEODEC_GGML_F32, 4, fill_f32},     {GEODEC_GGML_F16, 4, fill_f16},     {GEODEC_GGML_BF16, 4, fill_bf16},
    {GEODEC_GGML_Q8_0, 1, fill_q8_0},   {GEODEC_GGML_Q4_0, 1, fill_q4_0},   {GEODEC_GGML_Q5_0, 1, fill_q5_0},
    {GEODEC_GGML_Q4_K, 1, fill_q4_k},   {GEODEC_GGML_Q6_K, 1, fill_q6_k},   {GEODEC_GGML_IQ4_XS, 1, fill_iq4_xs},
    {GEODEC_GGML_MXFP4, 1, fill_mxfp4}, {GEODEC_GGML_NVFP4, 1, fill_nvfp4},
};

geodec__random_blocks geodec__shape_random_blocks_of(int type)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    geodec__random_blocks b = {
        .type = t, .elements = t->block, .bytes = t->block_bytes, .fill = t->encode ? fill_rounded : fill_scaled};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (makers[i].type == type) {
            b.elements *= makers[i].blocks;
            b.bytes *= makers[i].blocks;
            b.fill = makers[i].fill;
        }
    return b;
}
