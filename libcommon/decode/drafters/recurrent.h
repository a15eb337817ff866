/* A small recurrent net that predicts a model's next token from the model's last state. It gives a probability
 * distribution, where the flow map uses votes of neighbours (Cheng et al. 2024, Recurrent Drafter; use of the state as
 * in EAGLE, Li et al. 2024, but without a forward pass).
 *
 *     c_0     = b + f W                             f: the state before the newest token x_0 and its running means
 *     a_k     = relu(c_k + T_0[x_k] + T_1[x_(k-1)] + T_2[x_(k-2)])
 *     h_k     = a_k + relu(a_k A + e)
 *     P(x_(k+1)) = softmax(h_k U + u)               over the classes, the most frequent tokens of the texts
 *     c_(k+1) = h_k R                               in place of the state that no pass has computed
 *
 * k counts drafts after the last state. f = (s, m_1, m_2), s = h / sqrt(mean h^2 + 1e-5), m <- t m + (1 - t) s with t =
 * 0.5, 0.9, started at the first s. The net is fitted to stored texts by Adam, over four tokens along each text. The
 * loss is the cross-entropy against the model's own probabilities (of the exported best logits) and the sampled token.
 * A tenth of the texts is held out for the figures.
 *
 * No model is needed: all inputs are arrays. */
#ifndef GEODEC_DRAFTERS_RECURRENT_H
#define GEODEC_DRAFTERS_RECURRENT_H

#include "base/hooks.h"
#include "base/pool.h"
#include "chain/activations.h"
#include "decode/drafter.h"

#include <stdbool.h>
#include <stdint.h>

extern const geodec_kind geodec_recurrent_kind;

enum {
    GEODEC_RECURRENT_STEPS = 4, /* tokens along a text in the fit */
    GEODEC_RECURRENT_BACK = 3,  /* tokens of context of a step */
    GEODEC_RECURRENT_PARTS = 3, /* parts of f, each as wide as a state */
    GEODEC_RECURRENT_WIDTH_MAX = 512,
    GEODEC_RECURRENT_CLASSES_MAX = 4096,
};

/* The arrays of the weights, which lie in this order in `weight`, row-major. */
typedef struct geodec_recurrent_arrays {
    float *start;  /* [width] b */
    float *input;  /* [3 d][width] W */
    float *token;  /* [BACK][classes + 1][width] T; the last row: no token, or a token without a class */
    float *hidden; /* [width][width] A */
    float *bias;   /* [width] e */
    float *carry;  /* [width][width] R */
    float *head;   /* [width][classes] U */
    float *prior;  /* [classes] u */
} geodec_recurrent_arrays;

typedef struct geodec_recurrent {
    int64_t d, vocab, width, classes;
    int32_t *token_of; /* [classes] rising */
    int32_t *class_of; /* [vocab]; `classes` = none */
    double cover;      /* share of the texts' tokens that have a class */
    int64_t weights;
    float *weight; /* [weights] */
} geodec_recurrent;
void geodec_recurrent_clear(geodec_recurrent *r);
/* Number of weights of a net of these sizes. */
int64_t geodec_recurrent_count(const geodec_recurrent *r);
/* Pointers to the arrays in `weight`. */
geodec_recurrent_arrays geodec_recurrent_parts(const geodec_recurrent *r);

/* ---- fitting ---------------------------------------------------------------------------------------------------- */

typedef struct geodec_recurrent_options {
    int64_t width;   /* default 256, a multiple of 16 */
    int64_t classes; /* at most; default 2048 */
    double epochs;   /* default 5 */
    double rate;     /* peak learning rate of Adam; default 0.004 */
    double sampled;  /* weight of the sampled token in the target; default 0.2 */
    uint64_t seed;
} geodec_recurrent_options;
geodec_recurrent_options geodec_recurrent_defaults(void);

/* Figures on the held-out texts: mean of - log P(sampled token), in nats, for drafts 1, 2, .. after the last state,
 * each after the tokens of the text. Controls: bigram and unigram counts of the other texts, add-one smoothed. */
typedef struct geodec_recurrent_summary {
    int64_t places, fitted;                     /* held-out places, places of the fit */
    double loss[GEODEC_RECURRENT_STEPS], first; /* first: share of places whose most probable token is the sampled
                                                   one */
    double bigram, unigram;
} geodec_recurrent_summary;

/* The result is the same for any number of threads. Memory: 12 d bytes per row. GEODEC_RANGE: options; GEODEC_NOTFOUND:
 * the last layer is not exported; GEODEC_FORMAT: rows that do not form texts; GEODEC_SCARCE: too few rows;
 * GEODEC_NUMERIC. */
geodec_status geodec_recurrent_fit(const geodec_activations *a, const geodec_recurrent_options *o,
                                   geodec_recurrent *out, geodec_recurrent_summary *summary, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact of geodec_recurrent_kind; the caller commits. */
geodec_status geodec_recurrent_write(const geodec_recurrent *r, const geodec_recurrent_summary *s, geodec_artifact *out,
                                     geodec_err *err) GEODEC_MUST_USE;
/* Sizes, tokens and weights are checked: a net read from a file gives finite probabilities. */
geodec_status geodec_recurrent_read(const geodec_artifact *in, geodec_recurrent *out, geodec_err *err) GEODEC_MUST_USE;

/* ---- using ------------------------------------------------------------------------------------------------------ */

/* f [3 d] after one more state h [d]; first = start of a text. */
void geodec_recurrent_advance(int64_t d, const float *h, bool first, float *f);
/* c_0 [width]. */
void geodec_recurrent_start(const geodec_recurrent *r, const float *f, float *c);
/* h_k [width] from c_k and x_k, x_(k-1), x_(k-2) (-1 = none). c is overwritten. */
void geodec_recurrent_step(const geodec_recurrent *r, float *c, const int32_t x[GEODEC_RECURRENT_BACK], float *h);
/* p [classes], of sum 1. */
void geodec_recurrent_probabilities(const geodec_recurrent *r, const float *h, float *p);
/* c_(k+1) [width]. */
void geodec_recurrent_carry(const geodec_recurrent *r, const float *h, float *c);
/* x [n] <- exp(x - max) / sum. */
void geodec_recurrent_softmax(int64_t n, float *x);

/* ---- the drafter ------------------------------------------------------------------------------------------------ */

/* Computes the probabilities of every class after every draft, from the state before the newest token. A draft costs a
 * product with each matrix of the net, so this drafter is slow compared with table look-ups. net is borrowed and may be
 * shared. Sources: the number of drafts after the last state: "1", "2", "3", "4+". */
geodec_status geodec_recurrent_drafter_create(const geodec_recurrent *net, geodec_drafter **out,
                                              geodec_err *err) GEODEC_MUST_USE;

#endif
