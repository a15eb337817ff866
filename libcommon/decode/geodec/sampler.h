/* Samples one token from a logit row. The token is a pure function of (options, output index, row): each absolute
 * output index has its own uniform number, so plain and speculative decoding of one request sample the same tokens.
 *
 * Processing order: temperature, top-k, renormalise, top-p, renormalise, min-p (keeps tokens of at least min_p of the
 * most probable one's mass). Candidates are ordered by (logit descending,
 * id ascending); top-p keeps the shortest prefix whose mass reaches top_p; the token is the first candidate whose
 * cumulative mass exceeds uniform * total, summed in double in that order. temperature 0 is greedy: geodec_argmax,
 * lowest id on ties. */
#ifndef GEODEC_SAMPLER_H
#define GEODEC_SAMPLER_H

#include "geodec/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_sampling {
    double temperature; /* >= 0 */
    int32_t top_k;      /* 0 = all */
    double top_p;       /* in (0,1]; 1 = all. Ignored, like top_k and min_p, when greedy */
    uint64_t seed;      /* seed of the request */
    bool integers;      /* rows are multiples of 2^-16: sampled with integers alone (integer/engine/choose.h) */
    double min_p;       /* in [0,1]; 0 = all. Not in integers */
} geodec_sampling;

/* Greedy. */
GEODEC_API geodec_sampling geodec_sampler_default(void);
typedef struct geodec_sampler geodec_sampler; /* options and work space; one thread at a time */

/* GEODEC_INVAL for options out of range. */
GEODEC_API geodec_status geodec_sampler_create(const geodec_sampling *options, int32_t n_vocab, geodec_sampler **out,
                                               geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_sampler_destroy(geodec_sampler *s);

/* row [n_vocab]; tokens with -inf are excluded. GEODEC_NUMERIC when no candidate is left or the largest logit is not
 * finite. */
GEODEC_API geodec_status geodec_sampler_next(geodec_sampler *s, int64_t index, const float *row, int32_t *id,
                                             geodec_err *err) GEODEC_MUST_USE;

/* The distribution that tokens are sampled from: p [n_vocab], sum 1. */
GEODEC_API geodec_status geodec_sampler_distribution(geodec_sampler *s, const float *row, double *p,
                                                     geodec_err *err) GEODEC_MUST_USE;

enum { GEODEC_LOGIT_BIASES = 64 };

typedef struct geodec_logit_bias {
    int32_t id;
    double add; /* -INFINITY: never */
} geodec_logit_bias;

typedef struct geodec_penalty_options {
    double repeat;              /* 0 and 1: none; > 0 */
    double frequency, presence; /* 0: none */
    int64_t window;             /* tokens looked back at; 0: the whole text */
    int32_t n_bias;
    geodec_logit_bias bias[GEODEC_LOGIT_BIASES];
} geodec_penalty_options;

#endif
