/* Stands in for nettle's header in builds for another architecture (mk/everywhere.mk): what libcommon/core/base uses of
 * it.
 */
#ifndef EVERYWHERE_NETTLE_BASE16_H
#define EVERYWHERE_NETTLE_BASE16_H

#include <stddef.h>
#include <stdint.h>

static inline void base16_encode_update(char *out, size_t n, const uint8_t *in)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = "0123456789abcdef"[in[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[in[i] & 15];
    }
}

#endif
