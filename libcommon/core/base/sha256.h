/* SHA-256 (FIPS 180-4), streaming, based on nettle. */
#ifndef GEODEC_BASE_SHA256_H
#define GEODEC_BASE_SHA256_H

#include "base/err.h"

#include <nettle/sha2.h>
#include <stddef.h>
#include <stdint.h>

enum { GEODEC_SHA256_BYTES = 32, GEODEC_SHA256_HEX = 65 /* 64 hex digits and a zero */ };

typedef struct geodec_sha256 {
    struct sha256_ctx ctx;
} geodec_sha256;

void geodec_sha256_init(geodec_sha256 *h);
void geodec_sha256_update(geodec_sha256 *h, const void *data, size_t n);
/* The digest as bytes; h must be initialised again before it is reused. */
void geodec_sha256_bytes(geodec_sha256 *h, uint8_t digest[GEODEC_SHA256_BYTES]);
/* Lower-case hex digest; h must be initialised again before it is reused. */
void geodec_sha256_hex(geodec_sha256 *h, char hex[GEODEC_SHA256_HEX]);
/* Digest of one buffer. */
void geodec_sha256_of(const void *data, size_t n, char hex[GEODEC_SHA256_HEX]);

#endif
