/* Corrects the checksums of an HDF5 file after a mutation, so that a search gets past them: superblock (and its end of
 * file), object headers, headers of B-trees. */
#ifndef GEODEC_TESTS_FUZZ_H5_REPAIR_H
#define GEODEC_TESTS_FUZZ_H5_REPAIR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t h5_turn(uint32_t x, int k) { return x << k | x >> (32 - k); }

/* Bob Jenkins' lookup3 (public domain), bytes in any alignment, initial value 0: HDF5's metadata checksum. */
static inline uint32_t h5_checksum(const uint8_t *p, size_t n)
{
    uint32_t v[3];
    v[0] = v[1] = v[2] = 0xdeadbeefu + (uint32_t)n;
    if (n == 0) return v[2];
    for (;; p += 12, n -= 12) {
        for (size_t i = 0; i < (n < 12 ? n : 12); i++) v[i / 4] += (uint32_t)p[i] << (8 * (i % 4));
        if (n <= 12) break;
        static const int mix[6] = {4, 6, 8, 16, 19, 4};
        for (int k = 0; k < 6; k++) {
            uint32_t *a = &v[k % 3], *b = &v[(k + 1) % 3], *c = &v[(k + 2) % 3];
            *a -= *c;
            *a ^= h5_turn(*c, mix[k]);
            *c += *b;
        }
    }
    static const int last[7] = {14, 11, 25, 16, 4, 14, 24};
    for (int k = 0; k < 7; k++) {
        uint32_t *to = &v[(2 + k) % 3], from = v[(1 + k) % 3];
        *to ^= from;
        *to -= h5_turn(from, last[k]);
    }
    return v[2];
}

static inline void h5_put(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(v >> (8 * i) & 0xffu);
}

/* data: the file after a user block of `base` bytes. */
static inline void h5_repair(uint8_t *data, size_t n, size_t base)
{
    enum { SUPERBLOCK = 48, TREE_HEADER = 38 };
    if (n < SUPERBLOCK || memcmp(data, "\x89HDF\r\n\x1a\n", 8) != 0) return;
    if (data[8] >= 2) {
        h5_put(data + 28, base + n, 8);
        h5_put(data + 44, h5_checksum(data, 44), 4);
    }
    for (size_t at = SUPERBLOCK; at + TREE_HEADER <= n; at++) {
        size_t length = 0;
        if (memcmp(data + at, "BTHD", 4) == 0) {
            length = TREE_HEADER - 4;
        } else if (memcmp(data + at, "OHDR", 4) == 0) {
            const int flags = data[at + 5], wide = 1 << (flags & 3);
            size_t head = 6 + (flags & 0x20 ? 16U : 0U) + (flags & 0x10 ? 4U : 0U), body = 0;
            if (at + head + (size_t)wide > n) continue;
            for (int i = 0; i < wide && i < 4; i++) body |= (size_t)data[at + head + (size_t)i] << (8 * i);
            length = head + (size_t)wide + body;
        } else {
            continue;
        }
        if (length <= n && at <= n - length && n - length - at >= 4)
            h5_put(data + at + length, h5_checksum(data + at, length), 4);
    }
}

#endif
