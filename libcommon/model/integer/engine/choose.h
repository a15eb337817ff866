/* The next token from integer logits: argmax and sampling without floats.
 *
 * Sampling as decode/sampler.h describes it, with integers in place of real numbers: the weight of a token is
 * exp((z - max) / T) in Q30 (fixed/fixed.h), masses are exact sums, top-p keeps the shortest prefix whose mass reaches
 * p times that of all, and the token is the first one whose cumulative mass exceeds floor(u mass / 2^63), u being 63
 * random bits that depend on (seed, index) alone. */
#ifndef GEODEC_INTEGER_ENGINE_CHOOSE_H
#define GEODEC_INTEGER_ENGINE_CHOOSE_H

#include "integer/engine/network.h"

typedef struct geodec_choose_settings {
    geodec_network_factor inverse; /* 1 / T; multiplier 0: argmax */
    int32_t top_k;                 /* 0: all */
    uint32_t top_p;                /* Q30; 2^30: all */
    uint64_t seed;
} geodec_choose_settings;
/* T >= 0, 0 < top_p <= 1. */
geodec_choose_settings geodec_choose_settings_of(double temperature, int32_t top_k, double top_p, uint64_t seed);

typedef struct geodec_choose geodec_choose; /* work space */
geodec_status geodec_choose_create(const geodec_choose_settings *s, int32_t n_vocab, geodec_choose **out,
                                   geodec_err *err) GEODEC_MUST_USE;
void geodec_choose_destroy(geodec_choose *c); /* NULL ok */
/* Token of output index `index` from z [n_vocab] in Q16; INT32_MIN: excluded. -1: every token is excluded. */
int32_t geodec_choose_next(geodec_choose *c, int64_t index, const int32_t *z);
/* Weights of the tokens that can be sampled, 0 for the others: w [n_vocab]; returns their sum. */
uint64_t geodec_choose_weights(geodec_choose *c, const int32_t *z, uint32_t *w);

#endif
