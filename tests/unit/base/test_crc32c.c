/* CRC-32C: the vectors of RFC 3720, appendix B.4, and of the literature; both ways agree on every length and place. */
#include "base/crc32c.h"
#include "base/crc32c_internal.h"
#include "base/rng.h"

#include <criterion/criterion.h>
#include <string.h>

static uint32_t bitwise(const uint8_t *p, int64_t n)
{
    uint32_t c = ~(uint32_t)0;
    for (int64_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    }
    return ~c;
}

static void check(const void *data, int64_t n, uint32_t expected)
{
    cr_assert_eq(geodec_crc32c(0, data, n), expected);
    cr_assert_eq(geodec__crc32c_table(0, data, n), expected);
    if (geodec__crc32c_has_instruction()) cr_assert_eq(geodec__crc32c_instruction(0, data, n), expected);
}

Test(crc32c, published_vectors)
{
    uint8_t b[32];
    memset(b, 0, sizeof b);
    check(b, 32, 0x8a9136aau);
    memset(b, 0xff, sizeof b);
    check(b, 32, 0x62a8ab43u);
    for (int i = 0; i < 32; i++) b[i] = (uint8_t)i;
    check(b, 32, 0x46dd794eu);
    for (int i = 0; i < 32; i++) b[i] = (uint8_t)(31 - i);
    check(b, 32, 0x113fdb5cu);
    static const uint8_t command[48] = {0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
                                        0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
                                        0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0};
    check(command, 48, 0xd9963a56u); /* an iSCSI SCSI Read (10) command */
    check("123456789", 9, 0xe3069283u);
    check("", 0, 0);
}

Test(crc32c, both_ways_agree_on_every_length_and_place)
{
    enum { N = 60000 };
    static uint8_t data[N];
    geodec_rng r = geodec_rng_stream(1, geodec_rng_id("crc32c", 0));
    for (int i = 0; i < N; i++) data[i] = (uint8_t)geodec_rng_u64(&r);
    for (int n = 0; n < 1600; n++) check(data + n % 9, n, bitwise(data + n % 9, n));
    for (int k = 0; k < 60; k++) {
        const int64_t at = (int64_t)geodec_rng_below(&r, 64), n = N - 64 - (int64_t)geodec_rng_below(&r, 40000);
        check(data + at, n, bitwise(data + at, n));
        /* in pieces */
        const int64_t first = (int64_t)geodec_rng_below(&r, (uint64_t)n);
        cr_assert_eq(geodec_crc32c(geodec_crc32c(0, data + at, first), data + at + first, n - first),
                     bitwise(data + at, n));
    }
}

Test(crc32c, one_flipped_bit_changes_it)
{
    uint8_t data[3 * 8192 + 100] = {0};
    const uint32_t plain = geodec_crc32c(0, data, sizeof data);
    for (size_t i = 0; i < sizeof data; i += 97) {
        data[i] ^= 16;
        cr_assert_neq(geodec_crc32c(0, data, sizeof data), plain);
        data[i] ^= 16;
    }
}
