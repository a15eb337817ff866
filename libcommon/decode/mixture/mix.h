/* Several distributions of one next token ("perspectives"), their divergence, and one distribution from all of them.
 *
 * Distributions are natural logarithms of probabilities in float64, [v] or [n][v]; -INFINITY is a probability of 0. All
 * entropies and divergences are in nats. Row 0 is the base: with it alone every function returns it unchanged. */
#ifndef GEODEC_PERSPECTIVE_MIXTURE_MIX_H
#define GEODEC_PERSPECTIVE_MIXTURE_MIX_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_MIX_MAX = 16 /* perspectives */ };

/* log softmax of logits / temperature. GEODEC_RANGE (v < 1, temperature not above 0), GEODEC_NUMERIC (a logit that is
 * NaN or +infinity, or none that is finite). */
geodec_status geodec_mix_log_softmax(int64_t v, const float *logits, double temperature, double *logp,
                                     geodec_err *err) GEODEC_MUST_USE;
/* - sum p ln p. */
double geodec_mix_entropy(int64_t v, const double *logp);
/* The most probable token; of equal ones the first. p may be NULL. */
int64_t geodec_mix_top(int64_t v, const double *logp, double *p);

/* Generalised Jensen-Shannon divergence H(mean p) - mean H(p_i), in [0, ln n] (Lin 1991). 0 for n = 1. */
double geodec_mix_js(int64_t n, int64_t v, const double *logp);
/* Mean over pairs of the divergence of two, in [0, ln 2]. 0 for n = 1. */
double geodec_mix_js_pairs(int64_t n, int64_t v, const double *logp);

/* exp(mean ln p_i), normalised: a token that one perspective excludes is excluded. GEODEC_NUMERIC when no token is
 * left. out [v] is not among the inputs. */
geodec_status geodec_mix_geometric(int64_t n, int64_t v, const double *logp, double *out,
                                   geodec_err *err) GEODEC_MUST_USE;
/* mean p_i. */
void geodec_mix_arithmetic(int64_t n, int64_t v, const double *logp, double *out);
/* (1 - w) a + w b, w in 0..1; out may be a or b. */
void geodec_mix_two(int64_t v, const double *a, const double *b, double w, double *out);

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

/* More perspectives are asked about a token by its base. Both tests are needed: max p = 0.6 allows an entropy of 4.8
 * nats with 32,768 tokens. */
typedef struct geodec_mix_rule {
    double least_top;     /* more perspectives are asked when max p is below this, or .. */
    double most_entropy;  /* .. when the entropy is above this */
    double tau;           /* mean pairwise divergence up to which the geometric mean is taken */
    double z_low, z_high; /* of the memory: its weight rises from 0 to 1 between them */
} geodec_mix_rule;
/* 0.6, 3.0 nats, 0.15 nats, and z from 5 (a find is accepted) to 100 (similarity 1). */
geodec_mix_rule geodec_mix_defaults(void);

/* Weight of a memory's answer with this z; 0 for NaN. */
double geodec_mix_weight(const geodec_mix_rule *r, double z);

typedef enum geodec_mix_way { GEODEC_MIX_BASE, GEODEC_MIX_GEOMETRIC, GEODEC_MIX_VOTE } geodec_mix_way;
typedef struct geodec_mix_report {
    geodec_mix_way way;
    double js, pairs;  /* nats */
    double confidence; /* 1 - js / ln n; 1 for n = 1 */
    double weight;     /* of the memory */
} geodec_mix_report;
/* One perspective: the base. Pairwise divergence up to tau: the geometric mean. Above: the arithmetic mean, mixed with
 * the distribution of the memory [v] by the weight of its z (memory NULL: without). GEODEC_RANGE (n outside 1..16,
 * v < 1), GEODEC_NUMERIC. */
geodec_status geodec_mix_decide(const geodec_mix_rule *r, int64_t n, int64_t v, const double *logp,
                                const double *memory, double z, double *out, geodec_mix_report *report,
                                geodec_err *err) GEODEC_MUST_USE;

#endif
