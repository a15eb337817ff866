/* Multi-perspective decoding: where a model is unsure of a token, its last layers run again with other experts or with
 * a disturbed residual stream, and one distribution is made of all (mixture/mix.h).
 *
 *     P0  the model itself, the base
 *     P1  SECOND   the experts of ranks 2 .. k + 1 in place of 1 .. k
 *     P2  JITTER   x += sigma rms(x) N(0, 1) in each number of the stream x before the last m layers
 *     P3  DROPOUT  each number of x becomes 0 with probability p, the others x / (1 - p)
 *     ANTIPODE, RANDOM  other choices of experts (session/tail.h)
 *
 * The text is committed by P0 alone: the others see the states of the recurrent layers and the cache as they were
 * before the token, and leave nothing there. Random numbers are functions of (seed, kind, position, index), so a text
 * is reproducible. Experts must be resident; with experts that stream it is refused. */
#ifndef GEODEC_DECODE_PERSPECTIVES_H
#define GEODEC_DECODE_PERSPECTIVES_H

#include "geodec/decode.h"
#include "mixture/mix.h"

typedef enum geodec_perspective {
    GEODEC_PERSPECTIVE_SECOND,
    GEODEC_PERSPECTIVE_JITTER,
    GEODEC_PERSPECTIVE_DROPOUT,
    GEODEC_PERSPECTIVE_ANTIPODE,
    GEODEC_PERSPECTIVE_RANDOM,
    GEODEC_PERSPECTIVE_KINDS
} geodec_perspective;

/* A memory's answer for a state: log p of each token in logp [n_vocab], and the z of what was found; z NaN: nothing. */
typedef void (*geodec_perspectives_recall)(void *ctx, const float *state, double *logp, double *z);

typedef struct geodec_perspectives_options {
    geodec_mix_rule rule;
    int32_t n; /* perspectives beside the base, 0 .. GEODEC_MIX_MAX - 1 */
    geodec_perspective kind[GEODEC_MIX_MAX - 1];
    int32_t layers; /* m, 1 or more; more than the model has are all */
    double sigma, dropout;
    uint64_t seed;
    bool always;                       /* ask at every token, whatever the rule says: for measurements */
    geodec_perspectives_recall recall; /* NULL: no memory. state [d_model]: the residual stream after all blocks */
    void *recall_ctx;
} geodec_perspectives_options;
/* Reads "default" (second, jitter and dropout; 5 layers; sigma 0.01, dropout 0.1), or kinds joined by "+" and settings
 * m=N, sigma=X, dropout=X, tau=X, top=X, entropy=X joined by ",": "second+jitter,m=3". "base": the base alone.
 * GEODEC_INVAL. */
geodec_status geodec_perspectives_parse(const char *text, geodec_perspectives_options *out,
                                        geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_perspectives_counters {
    int64_t tokens;                    /* whose distribution was wanted */
    int64_t asked, by_top, by_entropy; /* tokens with more perspectives, by the rule's tests (both may hold) */
    int64_t geometric, arithmetic;     /* of those asked */
    int64_t changed;                   /* the most probable token is another one than the base's */
    double js, pairs;                  /* sums over those asked, nats */
    double base_seconds, more_seconds; /* processor time of the passes of the base, and of the rest */
} geodec_perspectives_counters;

typedef struct geodec_perspectives geodec_perspectives;

/* The session is borrowed. A kind that chooses experts is left out where the last layers have none. GEODEC_RANGE
 * (options), GEODEC_UNSUPPORTED (session/tail.h), GEODEC_NOMEM. */
geodec_status geodec_perspectives_create(geodec_session *s, const geodec_perspectives_options *o,
                                         geodec_perspectives **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_perspectives_destroy(geodec_perspectives *p); /* NULL ok */
/* Perspectives in use, with the base. */
int32_t geodec_perspectives_n(const geodec_perspectives *p);
geodec_perspectives_counters geodec_perspectives_counted(const geodec_perspectives *p);

/* What became of a token. Arrays are valid until the next call. */
typedef struct geodec_perspectives_token {
    const float *logits; /* [n_vocab] of the base */
    const double *base;  /* [n_vocab] its log p */
    const double *mixed; /* [n_vocab] log p of all: the base's where none was asked */
    const float *state;  /* [d_model] after all blocks */
    bool asked;
    bool by_top, by_entropy; /* what the rule says, also with `always` */
    geodec_mix_report report;
} geodec_perspectives_token;
/* Forwards a token, which joins the session, and asks the perspectives about the next one if the rule says so. Where
 * the cache has no room for them, the base alone answers. Errors of geodec_forward, GEODEC_NUMERIC (logits that are not
 * finite). */
geodec_status geodec_perspectives_next(geodec_perspectives *p, int32_t token, geodec_perspectives_token *out,
                                       geodec_err *err) GEODEC_MUST_USE;

/* For geodec_decode: rows of logits are those of the base, bit for bit, where no perspective is asked, else log p of
 * the mixture. Rows are computed one after another, so drafts save nothing; chains only (GEODEC_UNSUPPORTED for trees).
 * p is borrowed. */
geodec_target geodec_perspectives_target(geodec_perspectives *p, int32_t max_batch);

#endif
