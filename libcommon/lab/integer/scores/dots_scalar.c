/* The reference: a vector is one word of 64 bits. */
#include <stdint.h>
#include <string.h>

#define DOTS geodec__dots_scalar
#define ISA GEODEC_ISA_SCALAR
#define V uint64_t
#define LANES 1

static inline V load(const void *p)
{
    V x;
    memcpy(&x, p, sizeof x);
    return x;
}
static inline V zero(void) { return 0; }
static inline V add(V a, V b) { return a + b; }
static inline V shifted(V x, int bits) { return x >> bits; }
static inline V top(V x) { return x >> 32; }
static inline V low(V x, int bits) { return x & (((V)1 << bits) - 1); }
static inline V mul(V a, V b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }
static inline V signed_mul(V a, V b) { return (V)((int64_t)(int32_t)(uint32_t)a * (int32_t)(uint32_t)b); }
static inline uint64_t total(V x) { return x; }

#include "lab/integer/scores/dots_body.h"
