#include "base/crc32c.h"

#include "base/cpu_internal.h"
#include "base/crc32c_internal.h"

#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

enum {
    /* Bytes of each of the three streams. The instruction takes three cycles, and a new one can start in each. */
    LONG_LOG2 = 13,
    SHORT_LOG2 = 8,
    LONG = 1 << LONG_LOG2,
    SHORT = 1 << SHORT_LOG2,
};
static const uint32_t POLYNOMIAL = 0x82f63b78u; /* bits reversed */

/* The register after a number of zero bytes is a linear function of the register before: one table for each of its four
 * bytes. */
typedef uint32_t shift_table[4][256];

static struct {
    uint32_t byte[8][256]; /* byte[k][b]: b followed by k zero bytes */
    shift_table past_long, past_short;
    bool has_instruction;
} tables;

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static uint32_t apply(const uint32_t matrix[32], uint32_t x)
{
    uint32_t y = 0;
    for (int i = 0; x; i++, x >>= 1)
        if (x & 1) y ^= matrix[i];
    return y;
}

/* The table of 2^log2_bytes zero bytes, by repeated squaring of the matrix of one. */
static void make_shift(int log2_bytes, shift_table out)
{
    uint32_t matrix[32], square[32];
    for (int i = 0; i < 32; i++) {
        const uint32_t x = (uint32_t)1 << i;
        matrix[i] = tables.byte[0][x & 0xff] ^ x >> 8;
    }
    for (int k = 0; k < log2_bytes; k++) {
        for (int i = 0; i < 32; i++) square[i] = apply(matrix, matrix[i]);
        memcpy(matrix, square, sizeof matrix);
    }
    for (int j = 0; j < 4; j++)
        for (uint32_t b = 0; b < 256; b++) out[j][b] = apply(matrix, b << 8 * j);
}

static void make_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t x = b;
        for (int k = 0; k < 8; k++) x = x & 1 ? x >> 1 ^ POLYNOMIAL : x >> 1;
        tables.byte[0][b] = x;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++) {
            const uint32_t x = tables.byte[k - 1][b];
            tables.byte[k][b] = x >> 8 ^ tables.byte[0][x & 0xff];
        }
    make_shift(LONG_LOG2, tables.past_long);
    make_shift(SHORT_LOG2, tables.past_short);
    tables.has_instruction = geodec__cpu() & GEODEC__CPU_CRC32;
}

static void need_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_tables);
}

bool geodec__crc32c_has_instruction(void)
{
    need_tables();
    return tables.has_instruction;
}

/* ---- the two ways ----------------------------------------------------------------------------------------------- */

static uint64_t eight_bytes(const uint8_t *p)
{
    uint64_t x = 0;
    for (int k = 0; k < 8; k++) x |= (uint64_t)p[k] << 8 * k;
    return x;
}

uint32_t geodec__crc32c_table(uint32_t crc, const void *data, int64_t bytes)
{
    need_tables();
    const uint8_t *p = data;
    uint32_t c = ~crc;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        const uint64_t x = eight_bytes(p) ^ c;
        c = 0;
        for (int k = 0; k < 8; k++) c ^= tables.byte[7 - k][x >> 8 * k & 0xff];
    }
    for (; bytes > 0; bytes--, p++) c = c >> 8 ^ tables.byte[0][(c ^ *p) & 0xff];
    return ~c;
}

#if defined(__x86_64__)
static uint64_t load(const uint8_t *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t shift(shift_table t, uint64_t c)
{
    return t[0][c & 0xff] ^ t[1][c >> 8 & 0xff] ^ t[2][c >> 16 & 0xff] ^ t[3][c >> 24 & 0xff];
}

/* Three times n bytes. */
__attribute__((target("sse4.2"))) static uint64_t three_streams(uint64_t c, const uint8_t *p, int n, shift_table past)
{
    uint64_t c1 = 0, c2 = 0;
    for (int i = 0; i < n; i += 8) {
        c = _mm_crc32_u64(c, load(p + i));
        c1 = _mm_crc32_u64(c1, load(p + n + i));
        c2 = _mm_crc32_u64(c2, load(p + 2 * n + i));
    }
    return shift(past, shift(past, c) ^ c1) ^ c2;
}

__attribute__((target("sse4.2"))) uint32_t geodec__crc32c_instruction(uint32_t crc, const void *data, int64_t bytes)
{
    need_tables();
    const uint8_t *p = data;
    uint64_t c = ~crc;
    for (; bytes >= 3 * LONG; bytes -= 3 * LONG, p += 3 * LONG) c = three_streams(c, p, LONG, tables.past_long);
    for (; bytes >= 3 * SHORT; bytes -= 3 * SHORT, p += 3 * SHORT) c = three_streams(c, p, SHORT, tables.past_short);
    for (; bytes >= 8; bytes -= 8, p += 8) c = _mm_crc32_u64(c, load(p));
    for (; bytes > 0; bytes--, p++) c = _mm_crc32_u8((uint32_t)c, *p);
    return ~(uint32_t)c;
}
#else
uint32_t geodec__crc32c_instruction(uint32_t crc, const void *data, int64_t bytes)
{
    return geodec__crc32c_table(crc, data, bytes);
}
#endif

uint32_t geodec_crc32c(uint32_t crc, const void *data, int64_t bytes)
{
    return geodec__crc32c_has_instruction() ? geodec__crc32c_instruction(crc, data, bytes)
                                            : geodec__crc32c_table(crc, data, bytes);
}
