/* Hypervectors: 10,000 bits that are bound, summed and compared as wholes (Kanerva 2009, "Hyperdimensional
 * computing").
 *
 * Two random vectors differ in half of their bits, so their similarity is 0 with a standard deviation of 0.01. All
 * results are the same with each instruction set. */
#ifndef GEODEC_PERSPECTIVE_MEMORY_HV_H
#define GEODEC_PERSPECTIVE_MEMORY_HV_H

#include "base/err.h"
#include "kernels/settings.h"

#include <stdint.h>

enum {
    GEODEC_HV_BITS = 10000,
    GEODEC_HV_WORDS = 157,       /* of 64 bits */
    GEODEC_HV_COUNTS = 64 * 157, /* counters of a sum, those of the padding included */
    GEODEC_HV_COUNT_MAX = 32767
};

/* Bit i is bit i % 64 of word i / 64. The last 48 bits are padding and 0. */
typedef struct geodec_hv {
    uint64_t word[GEODEC_HV_WORDS];
} geodec_hv;

/* Vector `index` of a codebook: random bits, a pure function of (seed, stream, index). Streams: geodec_rng_id. */
void geodec_hv_code(uint64_t seed, uint64_t stream, uint64_t index, geodec_hv *out);
/* out = a XOR b: associative, and its own inverse. out may be a or b. */
void geodec_hv_bind(const geodec_hv *a, const geodec_hv *b, geodec_hv *out);
/* Inverts each bit with this probability: noise `index` of (seed, stream). */
void geodec_hv_noise(double probability, uint64_t seed, uint64_t stream, uint64_t index, geodec_hv *v);
/* Number of bits that differ. An instruction set that the processor lacks counts as the best below it. */
int32_t geodec_hv_distance(const geodec_hv *a, const geodec_hv *b, geodec_isa isa);
/* 1 - 2 distance / 10,000. */
double geodec_hv_similarity(int32_t distance);

/* Sums of vectors: count [GEODEC_HV_COUNTS], one counter a bit, zero at first. Each vector adds 1 where its bit is set
 * and -1 where it is not. Counters stop at +-32,767; those of the padding stay 0. */
void geodec_hv_add(int16_t *count, const geodec_hv *v, geodec_isa isa);
/* The bits whose counter is positive; where it is 0, the bit of `tie`: the majority of the added vectors. */
void geodec_hv_majority(const int16_t *count, const geodec_hv *tie, geodec_hv *out, geodec_isa isa);

#endif
