/* Tests whether attention is a heat kernel. For the heat kernel of a metric (Varadhan, Comm. Pure Appl. Math. 20 (1967)
 * 431)
 *
 *     -4 tau log p_tau(x, y) -> d(x, y)^2   and   g^-1 d_x log p_tau -> log_x(y) / 2 tau     (tau -> 0),
 *
 * so if a row's attention weight were one, the gradient of its logarithm in the row's state would point along the
 * geodesic to the key: log_x(y), the velocity with exp_x(log_x(y)) = y (geodec_logmap, geodec/geodesic.h). Measured:
 * the cosine of the gradient (lab/varadhan/attention_gradient.h: of log weight, of the score, and of the difference of
 * two keys, where the normalisation of the softmax cancels and the expected direction is log_x(a) - log_x(b)) with
 *
 *     log            log_x(a), in g(x)
 *     chord          a - x, in g(x): the metric taken as constant, as the published closed form does
 *     euclid         a - x, Euclidean
 *     stream         a - x in the whole stream, no chart
 *     shuffled       log_x(a) of the metric with its matrices permuted, in that metric     controls of the metric
 *     random         the same with each matrix rotated at random, its spectrum kept
 *     wrong_log, wrong_euclid, wrong_stream    towards another key c of the same row             controls of the key
 *     noise          a random direction, isotropic in g(x)                                       control: 0
 *
 * The gradient is a covector w: its cosine with a direction v in a metric g is w(v) / sqrt(w g^-1 w  v g v).
 *
 * Means and their 95 % intervals are over queries (and heads), the bootstrap samples texts. A direction that does
 * not exist (no logarithm is found) is counted and left out, and so is its partner in the paired difference. Planted
 * control: the covector is the derivative of -d(x, a)^2 / 2 by differences of the distance, which for the right
 * log_x(a) has the cosine 1 (first variation of arc length). */
#ifndef GEODEC_LAB_VARADHAN_VARADHAN_H
#define GEODEC_LAB_VARADHAN_VARADHAN_H

#include "artifact/artifact.h"
#include "lab/harness/split.h"
#include "linalg/stats.h"

enum { GEODEC_VARADHAN_FORMS = 3, GEODEC_VARADHAN_KEYS = 4 };

typedef enum geodec_varadhan_direction {
    GEODEC_VARADHAN_LOG,
    GEODEC_VARADHAN_CHORD,
    GEODEC_VARADHAN_EUCLID,
    GEODEC_VARADHAN_STREAM,
    GEODEC_VARADHAN_SHUFFLED,
    GEODEC_VARADHAN_RANDOM,
    GEODEC_VARADHAN_WRONG_LOG,
    GEODEC_VARADHAN_WRONG_EUCLID,
    GEODEC_VARADHAN_WRONG_STREAM,
    GEODEC_VARADHAN_NOISE,
    GEODEC_VARADHAN_DIRECTIONS
} geodec_varadhan_direction;
extern const char *const geodec_varadhan_names[]; /* "log", .. by number, then NULL */

/* Queries in a chart, those of a text contiguous. columns: the heads, and last all heads together. */
typedef struct geodec_varadhan_queries {
    int64_t queries, n, columns;
    const int32_t *text;    /* [queries] */
    const double *state;    /* [queries][1 + KEYS][n] the row's state x, then its keys a, b, c, d */
    const double *gradient; /* [queries][columns][FORMS][n] covectors: weight, score, pair */
    const double *along;    /* [queries][columns][FORMS][2] cosines `stream` and `wrong_stream`, or NULL */
} geodec_varadhan_queries;

typedef struct geodec_varadhan_options {
    int64_t planted;    /* queries with a planted covector, at most; default 8 */
    double rtol;        /* of the geodesics; default 1e-3 */
    double drift_max;   /* default 1e-2 */
    int64_t replicates; /* of the bootstrap; default 400 */
    double kernel; /* positive control: every gradient is replaced by this share of the one that a heat kernel of the
                      metric has and the rest of a random one, of the same length; below 0 (default): none is */
    uint64_t seed;
} geodec_varadhan_options;
geodec_varadhan_options geodec_varadhan_defaults(void);

/* First index of the two: 0 every head by itself, 1 all heads together. */
typedef struct geodec_varadhan {
    int64_t queries, texts;
    int64_t counted[GEODEC_VARADHAN_FORMS][GEODEC_VARADHAN_DIRECTIONS]; /* queries that have the direction */
    geodec_estimate cosine[2][GEODEC_VARADHAN_FORMS][GEODEC_VARADHAN_DIRECTIONS];
    /* log minus the other, at the queries that have both */
    geodec_estimate excess[2][GEODEC_VARADHAN_FORMS][GEODEC_VARADHAN_DIRECTIONS];
    double *head; /* [columns - 1][FORMS][DIRECTIONS] mean cosines of each head; owned */
    int64_t planted;
    geodec_estimate planted_cosine;
} geodec_varadhan;

/* Metric and split as three_metrics.h takes them. Bytes do not depend on threads. geodec_varadhan_clear frees *out.
 * GEODEC_RANGE, GEODEC_NUMERIC (not finite), GEODEC_INTERRUPTED. */
geodec_status geodec_varadhan_run(const geodec_varadhan_queries *q, const geodec_harness_sites *f,
                                  const geodec_harness_split *split, const geodec_varadhan_options *o,
                                  geodec_pool *pool, const geodec_hooks *hooks, geodec_varadhan *out,
                                  geodec_err *err) GEODEC_MUST_USE;
void geodec_varadhan_clear(geodec_varadhan *v);

extern const geodec_kind geodec_varadhan_kind;

#endif
