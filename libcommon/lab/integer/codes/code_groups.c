/* Codes with a scale per 32 values: the block types of GGUF, plain rounding to few bits, and KIVI's 2 bits (Liu et al.
 * 2024: keys per channel, values per token). A last group may be shorter. */
#include "base/f16.h"
#include "gguf/gguf.h"
#include "lab/integer/codes/bits_internal.h"
#include "lab/integer/codes/codes_internal.h"

#include <math.h>

enum { GROUP = 32 };

static int64_t groups(int64_t dim) { return (dim + GROUP - 1) / GROUP; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- GGUF ------------------------------------------------------------------------------------------------------- */

static int64_t gguf_bytes(int32_t type, int64_t dim) { return groups(dim) * geodec_ggml_traits_of(type)->block_bytes; }

/* Values within what the type's scales can hold. */
static void gguf_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(c->kind->parameter);
    for (int64_t at = 0; at < c->dim; at += GROUP, bytes += t->block_bytes) {
        float block[GROUP] = {0};
        for (int64_t i = 0; i < least(c->dim - at, GROUP); i++)
            block[i] = fabsf(x[at + i]) < t->limit ? x[at + i] : copysignf(nextafterf(t->limit, 0), x[at + i]);
        t->encode(block, bytes, GROUP);
    }
}

static geodec_status gguf_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(c->kind->parameter);
    (void)err;
    for (int64_t at = 0; at < c->dim; at += GROUP, bytes += t->block_bytes) {
        float block[GROUP];
        t->decode(bytes, block, GROUP);
        memcpy(x + at, block, (size_t)least(c->dim - at, GROUP) * sizeof *x);
    }
    return GEODEC_OK;
}

const geodec_codes_method geodec__codes_gguf = {1, gguf_bytes, NULL, NULL, gguf_encode, gguf_decode};

/* ---- few bits: scale = the value of largest size / -2^(b-1), codes round(x / scale) + 2^(b-1) -------------------- */

static int64_t group_bytes(int32_t bits, int64_t dim)
{
    return groups(dim) * 2 + dim / GROUP * (GROUP * bits / 8) + (dim % GROUP * bits + 7) / 8;
}

static void group_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    const int bits = c->kind->parameter, half = 1 << (bits - 1);
    for (int64_t at = 0; at < c->dim; at += GROUP) {
        const int64_t n = least(c->dim - at, GROUP), size = 2 + (n * bits + 7) / 8;
        float top = 0;
        memset(bytes, 0, (size_t)size);
        for (int64_t i = 0; i < n; i++)
            if (fabsf(x[at + i]) > fabsf(top)) top = x[at + i];
        const float wanted = top / (float)-half;
        const uint16_t scale = geodec_f32_to_f16(fabsf(wanted) < 65504.0f ? wanted : copysignf(65504.0f, wanted));
        const double d = (double)geodec_f16_to_f32(scale);
        geodec__bits_put16(bytes, scale);
        for (int64_t i = 0; i < n; i++) {
            const double v = d == 0 ? half : (double)x[at + i] / d + half + 0.5, most = 2 * half - 1;
            geodec__bits_put(bytes + 2, i * bits, bits, (uint32_t)(v < 0 ? 0 : v > most ? most : v));
        }
        bytes += size;
    }
}

static geodec_status group_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    const int bits = c->kind->parameter, half = 1 << (bits - 1);
    (void)err;
    for (int64_t at = 0; at < c->dim; at += GROUP) {
        const int64_t n = least(c->dim - at, GROUP);
        const float d = geodec_f16_to_f32(geodec__bits_get16(bytes));
        for (int64_t i = 0; i < n; i++)
            x[at + i] = d * (float)((int)geodec__bits_get(bytes + 2, i * bits, bits) - half);
        bytes += 2 + (n * bits + 7) / 8;
    }
    return GEODEC_OK;
}

const geodec_codes_method geodec__codes_group = {1, group_bytes, NULL, NULL, group_encode, group_decode};

/* ---- KIVI: n values `step` apart: fp16 minimum, fp16 scale = (largest - smallest) / (2^b - 1), codes ------------- */

static int64_t span_bytes(int bits, int64_t n) { return 4 + (n * bits + 7) / 8; }

static uint16_t half_of(float v) { return geodec_f32_to_f16(fabsf(v) < 65504.0f ? v : copysignf(65504.0f, v)); }

static void span_encode(int bits, int64_t n, const float *x, int64_t step, uint8_t *bytes)
{
    const int most = (1 << bits) - 1;
    float low = x[0], high = x[0];
    memset(bytes, 0, (size_t)span_bytes(bits, n));
    for (int64_t i = 1; i < n; i++) {
        low = x[i * step] < low ? x[i * step] : low;
        high = x[i * step] > high ? x[i * step] : high;
    }
    geodec__bits_put16(bytes, half_of(low));
    geodec__bits_put16(bytes + 2, half_of((float)(((double)high - (double)low) / most)));
    const double from = (double)geodec_f16_to_f32(geodec__bits_get16(bytes));
    const double scale = (double)geodec_f16_to_f32(geodec__bits_get16(bytes + 2));
    for (int64_t i = 0; i < n; i++) {
        const double v = scale > 0 ? ((double)x[i * step] - from) / scale + 0.5 : 0;
        geodec__bits_put(bytes + 4, i * bits, bits, (uint32_t)(v < 0 ? 0 : v > most ? most : v));
    }
}

static void span_decode(int bits, int64_t n, const uint8_t *bytes, float *x, int64_t step)
{
    const float from = geodec_f16_to_f32(geodec__bits_get16(bytes));
    const float scale = geodec_f16_to_f32(geodec__bits_get16(bytes + 2));
    for (int64_t i = 0; i < n; i++) x[i * step] = from + scale * (float)geodec__bits_get(bytes + 4, i * bits, bits);
}

static int64_t channel_bytes(int32_t bits, int64_t dim) { return dim * span_bytes(bits, GEODEC_CODES_ROWS_MAX); }

static void channel_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    const int bits = c->kind->parameter;
    for (int64_t i = 0; i < c->dim; i++, bytes += span_bytes(bits, GEODEC_CODES_ROWS_MAX))
        span_encode(bits, GEODEC_CODES_ROWS_MAX, x + i, c->dim, bytes);
}

static geodec_status channel_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    const int bits = c->kind->parameter;
    (void)err;
    for (int64_t i = 0; i < c->dim; i++, bytes += span_bytes(bits, GEODEC_CODES_ROWS_MAX))
        span_decode(bits, GEODEC_CODES_ROWS_MAX, bytes, x + i, c->dim);
    return GEODEC_OK;
}

const geodec_codes_method geodec__codes_channel = {GEODEC_CODES_ROWS_MAX, channel_bytes, NULL, NULL,
                                                   channel_encode,        channel_decode};

static int64_t token_bytes(int32_t bits, int64_t dim)
{
    return dim / GROUP * span_bytes(bits, GROUP) + (dim % GROUP ? span_bytes(bits, dim % GROUP) : 0);
}

static void token_encode(const geodec_codes *c, const float *x, uint8_t *bytes)
{
    const int bits = c->kind->parameter;
    for (int64_t at = 0; at < c->dim; at += GROUP, bytes += span_bytes(bits, GROUP))
        span_encode(bits, least(c->dim - at, GROUP), x + at, 1, bytes);
}

static geodec_status token_decode(const geodec_codes *c, const uint8_t *bytes, float *x, geodec_err *err)
{
    const int bits = c->kind->parameter;
    (void)err;
    for (int64_t at = 0; at < c->dim; at += GROUP, bytes += span_bytes(bits, GROUP))
        span_decode(bits, least(c->dim - at, GROUP), bytes, x + at, 1);
    return GEODEC_OK;
}

const geodec_codes_method geodec__codes_token = {1, token_bytes, NULL, NULL, token_encode, token_decode};
