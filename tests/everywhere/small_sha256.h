/* SHA-256 (FIPS 180-4) for builds without nettle: those for another architecture. hash.c checks it against libcommon's.
 */
#ifndef EVERYWHERE_SMALL_SHA256_H
#define EVERYWHERE_SMALL_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct small_sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
};

static inline uint32_t small_sha256_turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline void small_sha256_block(struct small_sha256 *h)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) {
        const uint8_t *b = h->block + 4 * i;
        w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (small_sha256_turn(a, 7) ^ small_sha256_turn(a, 18) ^ a >> 3) +
               (small_sha256_turn(b, 17) ^ small_sha256_turn(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++) s[i] = h->state[i];
    for (int i = 0; i < 64; i++) {
        const uint32_t a = s[0], e = s[4];
        const uint32_t one = s[7] + (small_sha256_turn(e, 6) ^ small_sha256_turn(e, 11) ^ small_sha256_turn(e, 25)) +
                             ((e & s[5]) ^ (~e & s[6])) + k[i] + w[i];
        const uint32_t two = (small_sha256_turn(a, 2) ^ small_sha256_turn(a, 13) ^ small_sha256_turn(a, 22)) +
                             ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; j--) s[j] = s[j - 1];
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++) h->state[i] += s[i];
}

static inline void small_sha256_init(struct small_sha256 *h)
{
    *h = (struct small_sha256){
        .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

static inline void small_sha256_update(struct small_sha256 *h, size_t n, const uint8_t *data)
{
    for (size_t i = 0; i < n; i++) {
        h->block[h->length++ % 64] = data[i];
        if (h->length % 64 == 0) small_sha256_block(h);
    }
}

/* The first n bytes of the digest; h is then ready for another message. */
static inline void small_sha256_digest(struct small_sha256 *h, size_t n, uint8_t *digest)
{
    const uint64_t bits = 8 * h->length;
    uint8_t last[8], byte = 0x80;
    for (int i = 0; i < 8; i++) last[i] = (uint8_t)(bits >> (56 - 8 * i));
    small_sha256_update(h, 1, &byte);
    for (byte = 0; h->length % 64 != 56;) small_sha256_update(h, 1, &byte);
    small_sha256_update(h, 8, last);
    for (size_t i = 0; i < n && i < 32; i++) digest[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
    small_sha256_init(h);
}

#endif
