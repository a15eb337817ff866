/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011). A stream is (seed, stream id); value i
 * of a stream is a pure function of (seed, stream, i), so results never depend on the threads or on the order of the
 * work. */
#ifndef GEODEC_BASE_RNG_H
#define GEODEC_BASE_RNG_H

#include "geodec/err.h"

#include <stdint.h>

typedef struct geodec_rng {
    uint64_t seed;   /* key */
    uint64_t stream; /* high half of the counter */
    uint64_t next;   /* index of the next value */
} geodec_rng;

/* Stream ids are chosen by the caller; use geodec_rng_id("name", i) to separate purposes. */
geodec_rng geodec_rng_stream(uint64_t seed, uint64_t stream);
/* FNV-1a of the name mixed with an index: one stream for each purpose. */
uint64_t geodec_rng_id(const char *name, uint64_t index);

/* Value i of a stream, stateless. */
uint64_t geodec_rng_at(uint64_t seed, uint64_t stream, uint64_t i);
/* Values 0 to n - 1 of a stream, in a third of the time. */
void geodec_rng_fill(uint64_t seed, uint64_t stream, int64_t n, uint64_t *out);
double geodec_rng_uniform_at(uint64_t seed, uint64_t stream, uint64_t i);

uint64_t geodec_rng_u64(geodec_rng *r);
/* Uniform in [0,1), 53 bits. */
double geodec_rng_uniform(geodec_rng *r);
/* Uniform in 0..n-1, unbiased (rejection); n >= 1. */
uint64_t geodec_rng_below(geodec_rng *r, uint64_t n);
/* Standard normal by Box-Muller; two uniforms for each value; the stream is the only state. */
double geodec_rng_normal(geodec_rng *r);

#endif
