/* Byte order: a GGUF is little-endian on every host. */
#ifndef GEODEC_GGUF_ORDER_INTERNAL_H
#define GEODEC_GGUF_ORDER_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Copies n numbers of `width` bytes from the order of the file to that of the host, or back. */
static inline void geodec__order_copy(void *out, const void *in, size_t n, size_t width)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n) memcpy(out, in, n * width);
#else
    uint8_t *to = out;
    const uint8_t *from = in;
    for (size_t i = 0; i < n * width; i++) to[i] = from[i - i % width + (width - 1 - i % width)];
#endif
}

#endif
