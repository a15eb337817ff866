#include "base/sha256.h"

#include <nettle/base16.h>

void geodec_sha256_init(geodec_sha256 *h) { sha256_init(&h->ctx); }

void geodec_sha256_update(geodec_sha256 *h, const void *data, size_t n) { sha256_update(&h->ctx, n, data); }

void geodec_sha256_bytes(geodec_sha256 *h, uint8_t digest[GEODEC_SHA256_BYTES])
{
    sha256_digest(&h->ctx, GEODEC_SHA256_BYTES, digest);
}

void geodec_sha256_hex(geodec_sha256 *h, char hex[GEODEC_SHA256_HEX])
{
    uint8_t d[GEODEC_SHA256_BYTES];
    geodec_sha256_bytes(h, d);
    base16_encode_update(hex, sizeof d, d);
    hex[2 * sizeof d] = '\0';
}

void geodec_sha256_of(const void *data, size_t n, char hex[GEODEC_SHA256_HEX])
{
    geodec_sha256 h;
    geodec_sha256_init(&h);
    geodec_sha256_update(&h, data, n);
    geodec_sha256_hex(&h, hex);
}
