#include "lab/integer/codes/block_v1.h"

#include "lab/integer/codes/bits_internal.h"

#include <math.h>
#include <string.h>

enum { CODES = GEODEC_BLOCK_V1_CODES, BYTES = GEODEC_BLOCK_V1_BYTES, FIRST = 7, STRIDE = 17 };

uint8_t geodec_block_v1_crc8(const uint8_t *bytes, int64_t n)
{
    unsigned crc = 0;
    for (int64_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int b = 0; b < 8; b++) crc = (crc << 1 ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
    }
    return (uint8_t)crc;
}

static int64_t place(int64_t i) { return FIRST + STRIDE * i % CODES; }

void geodec_block_v1_encode(const float *x, int64_t k, uint8_t block[BYTES])
{
    float scale = 0;
    memset(block, 0, BYTES);
    for (int64_t i = 0; i < k; i++) scale = fabsf(x[i]) > scale ? fabsf(x[i]) : scale;
    if (!(scale > 0)) scale = 1;
    geodec__bits_put_f32(block, scale);
    for (int64_t i = 0; i < k; i++) {
        const float quotient = x[i] / scale, product = quotient * 127.0f;
        const int size = (int)((double)fabsf(product) + 0.5);
        block[place(i)] = (uint8_t)(int8_t)(product < 0 ? -size : size);
    }
    block[BYTES - 1] = geodec_block_v1_crc8(block, BYTES - 1);
}

geodec_status geodec_block_v1_decode(const uint8_t block[BYTES], int64_t k, float *x, geodec_err *err)
{
    const uint8_t crc = geodec_block_v1_crc8(block, BYTES - 1);
    if (crc != block[BYTES - 1])
        GEODEC_FAIL(GEODEC_CHECKSUM, "a key block has CRC-8 %02x, its bytes give %02x", block[BYTES - 1], crc);
    const float scale = geodec__bits_get_f32(block);
    if (block[4] || block[5] || block[6])
        GEODEC_FAIL(GEODEC_FORMAT, "a key block with exponent %d, basis %d, reserved byte %d; only 0 is defined",
                    (int8_t)block[4], block[5], block[6]);
    if (!(scale > 0) || !isfinite(scale)) GEODEC_FAIL(GEODEC_FORMAT, "a key block with a scale of %g", (double)scale);
    for (int64_t i = k; i < CODES; i++)
        if (block[place(i)]) GEODEC_FAIL(GEODEC_FORMAT, "a key block of more than %lld codes", (long long)k);
    for (int64_t i = 0; i < k; i++) x[i] = (float)(int8_t)block[place(i)] * scale / 127.0f;
    return GEODEC_OK;
}

int64_t geodec_block_v1_blocks(int64_t n) { return (n + CODES - 1) / CODES; }

int64_t geodec_block_v1_split(int64_t n, int64_t i)
{
    const int64_t blocks = geodec_block_v1_blocks(n);
    return n / blocks + (i < n % blocks);
}

void geodec_block_v1_encode_vector(const float *x, int64_t n, uint8_t *blocks)
{
    for (int64_t i = 0; i < geodec_block_v1_blocks(n); i++) {
        geodec_block_v1_encode(x, geodec_block_v1_split(n, i), blocks + BYTES * i);
        x += geodec_block_v1_split(n, i);
    }
}

geodec_status geodec_block_v1_decode_vector(const uint8_t *blocks, int64_t n, float *x, geodec_err *err)
{
    for (int64_t i = 0; i < geodec_block_v1_blocks(n); i++) {
        const int64_t k = geodec_block_v1_split(n, i);
        GEODEC_PASS_MSG(geodec_block_v1_decode(blocks + BYTES * i, k, x, err), "block %lld", (long long)i);
        x += k;
    }
    return GEODEC_OK;
}
