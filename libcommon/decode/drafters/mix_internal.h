/* The finaliser of MurmurHash3: every bit of the input reaches every bit of the output. For tables in memory. */
#ifndef GEODEC_DRAFTERS_MIX_INTERNAL_H
#define GEODEC_DRAFTERS_MIX_INTERNAL_H

#include <stdint.h>

static inline uint64_t geodec__mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

#endif
