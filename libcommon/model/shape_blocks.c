#include "base/f16.h"
#include "base/rng.h"
#include "gguf/gguf.h"
#include "model/shape_internal.h"

#include <math.h>
#include <string.h>

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

/* A block's scale: `sigma` is the deviation of scale times code; up to a quarter more or less, and of either sign where
 * the codes are not symmetric, so that the mean over blocks is zero. */
static uint16_t scale_of(uint64_t u, double sigma, double code_deviation, bool either_sign)
{
    const double spread = 1.0 + 0.25 * (2.0 * (double)(u >> 40) / 16777216.0 - 1.0);
    const double s = sigma / code_deviation * spread;
    return geodec_f32_to_f16((float)(either_sign && (u & 1u) ? -s : s));
}

static void fill_f32(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out)
{
    const uint64_t u = geodec_rng_at(seed, stream, (uint64_t)index);
    float v[4];
    for (int i = 0; i < 4; i++) v[i] = uniform16(u >> 16 * i, sigma);
    memcpy(out, v, sizeof v);
}

static void fill_f16(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out)
{
    const uint64_t u = geodec_rng_at(seed, stream, (uint64_t)index);
    for (int i = 0; i < 4; i++) put16(out + 2 * i, geodec_f32_to_f16(uniform16(u >> 16 * i, sigma)));
}

static void fill_bf16(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out)
{
    const uint64_t u = geodec_rng_at(seed, stream, (uint64_t)index);
    for (int i = 0; i < 4; i++) put16(out + 2 * i, geodec_f32_to_bf16(uniform16(u >> 16 * i, sigma)));
}

/* Scale, 32 signed codes; -128 is not used by encoders. */
static void fill_q8_0(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out)
{
    const uint64_t at = (uint64_t)index * 5;
    put16(out, scale_of(geodec_rng_at(seed, stream, at), sigma, 73.6, false));
    random_bytes(seed, stream, at + 1, out + 2, 32);
    for (int i = 2; i < 34; i++)
        if (out[i] == 0x80) out[i] = 0x7f;
}

/* Scale, 32 codes of 4 bits less 8. */
static void fill_q4_0(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out)
{
    const uint64_t at = (uint64_t)index * 3;
    put16(out, scale_of(geodec_rng_at(seed, stream, at), sigma, 4.64, true));
    random_bytes(seed, stream, at + 1, out + 2, 16);
}

/* Scale, fifth bits, 32 codes less 16. */
static void fill_q5_0(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out)
{
    const uint64_t at = (uint64_t)index * 4;
    put16(out, scale_of(geodec_rng_at(seed, stream, at), sigma, 9.25, true));
    random_bytes(seed, stream, at + 1, out + 2, 20);
}

/* Scale and minimum's scale, 8 pairs of 6 bits, 256 codes of 4 bits: d sc q - dmin m. With m = sc and
 * dmin = 7.5 d the value is d sc (q - 7.5). */
static void fill_q4_k(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out)
{
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
static void fill_q6_k(uint64_t seed, uint64_t stream, int64_t index, double sigma, uint8_t *out)
{
    const uint64_t at = (uint64_t)index * 27;
    random_bytes(seed, stream, at, out, 128 + 64 + 16);
    for (int j = 192; j < 208; j++) { /* 64 .. 127 of either sign */
        const int magnitude = 64 + (out[j] & 63);
        out[j] = (uint8_t)(int8_t)(out[j] & 64u ? -magnitude : magnitude);
    }
    put16(out + 208, scale_of(geodec_rng_at(seed, stream, at + 26), sigma, 97.2 * 18.5, false));
}

static const geodec__random_blocks table[] = {
    {GEODEC_GGML_F32, 4, fill_f32},   {GEODEC_GGML_F16, 4, fill_f16},   {GEODEC_GGML_BF16, 4, fill_bf16},
    {GEODEC_GGML_Q8_0, 1, fill_q8_0}, {GEODEC_GGML_Q4_0, 1, fill_q4_0}, {GEODEC_GGML_Q5_0, 1, fill_q5_0},
    {GEODEC_GGML_Q4_K, 1, fill_q4_k}, {GEODEC_GGML_Q6_K, 1, fill_q6_k},
};

int geodec__shape_group_elements(const geodec__random_blocks *b)
{
    return b->blocks * geodec_ggml_traits_of(b->type)->block;
}
int geodec__shape_group_bytes(const geodec__random_blocks *b)
{
    return b->blocks * geodec_ggml_traits_of(b->type)->block_bytes;
}

const geodec__random_blocks *geodec__shape_random_blocks_of(int type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].type == type) return &table[i];
    return NULL;
}

/* ---- which type ------------------------------------------------------------------------------------------------- */

/* llama.cpp's choice of layers that get more bits: the first and last eighth and every third between. */
static bool more_bits(int32_t layer, int32_t n)
{
    return layer < n / 8 || layer >= 7 * n / 8 || (layer - n / 8) % 3 == 2;
}

static bool fits(int type, int64_t cols) { return cols % geodec_ggml_traits_of(type)->block == 0; }

int geodec__shape_type(const char *file_type, geodec__role role, int64_t cols, int32_t layer, int32_t n_layer)
{
    static const struct {
        const char *name;
        int type;
    } names[] = {{"f32", GEODEC_GGML_F32},    {"f16", GEODEC_GGML_F16},   {"bf16", GEODEC_GGML_BF16},
                 {"q8_0", GEODEC_GGML_Q8_0},  {"q4_0", GEODEC_GGML_Q4_0}, {"q6_k", GEODEC_GGML_Q6_K},
                 {"q4_k_m", GEODEC_GGML_Q4_K}};
    int type = -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, file_type) == 0) type = names[i].type;
    if (type == GEODEC_GGML_Q4_0 || type == GEODEC_GGML_Q4_K) {
        const bool mixed = type == GEODEC_GGML_Q4_K && (role == ROLE_ATTN_V || role == ROLE_FFN_DOWN);
        if (role == ROLE_OUTPUT || (mixed && more_bits(layer, n_layer))) type = GEODEC_GGML_Q6_K;
    }
    if (type == GEODEC_GGML_Q4_K && !fits(type, cols)) type = GEODEC_GGML_Q5_0;
    if (type == GEODEC_GGML_Q6_K && !fits(type, cols)) type = GEODEC_GGML_Q8_0;
    return type;
}
