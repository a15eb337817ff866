#include "base/sha256.h"

void geodec_sha256_init(geodec_sha256 *h) { sha256_init(&h->ctx); }

void geodec_sha256_update(geodec_sha256 *h, const void *data, size_t n) { sha256_update(&h->ctx, n, data); }

void geodec_sha256_hex(geodec_sha256 *h, char hex[GEODEC_SHA256_HEX])
{
    static const char digit[] = "0123456789abcdef";
    uint8_t d[SHA256_DIGEST_SIZE];
    sha256_digest(&h->ctx, sizeof d, d);
    for (size_t i = 0; i < sizeof d; i++) {
        hex[2 * i] = digit[d[i] >> 4];
        hex[2 * i + 1] = digit[d[i] & 15];
    }
    hex[2 * sizeof d] = '\0';
}

void geodec_sha256_of(const void *data, size_t n, char hex[GEODEC_SHA256_HEX])
{
    geodec_sha256 h;
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, data, n);
    geodec_sha256_hex(&h, hex);
}
