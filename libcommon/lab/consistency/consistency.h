/* Consistency of a metric: whether lengths measured on one half of the texts hold for the states of the other half. (It
 * replaces the "axiom" phase of the manuscript, whose score lies in (0.55, 0.99] for any geometry.)
 *
 * Texts are divided into two halves (base/split.h). The metric of the first half is the log-Euclidean field through the
 * inverse local covariances of its states (metric.h, rbf.h). For each state x of the second half two predictions of the
 * field at x are compared with g, the inverse local covariance of x's own k nearest neighbours among the states of the
 * second half. No state is on both sides, and both halves are about equally dense.
 *
 *   order  of the k (k - 1) / 2 pairs of neighbours, at most a share tau is ordered differently by the length
 *          |y - x|_field than by |y - x|_g
 *   step   the length of the step v to the next state of x's text: | |v|_field / |v|_g - 1 | <= tau
 *
 * consistency = the share of the states of the second half for which both hold; of states without a next one, order
 * alone. Controls replace the field: the same matrices permuted among the states of the first half (shuffled),
 * each rotated at random with its spectrum kept (random), and one matrix for all, their log-Euclidean mean (constant).
 * A value above `shuffled` shows knowledge of the place; above `random`, of directions. 95 % intervals by bootstrap
 * over the second half's texts. */
#ifndef GEODEC_LAB_CONSISTENCY_CONSISTENCY_H
#define GEODEC_LAB_CONSISTENCY_CONSISTENCY_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "base/split.h"
#include "chain/cloud.h"
#include "chain/metric.h"
#include "linalg/stats.h"

typedef enum geodec_consistency_metric {
    GEODEC_CONSISTENT_FITTED,
    GEODEC_CONSISTENT_SHUFFLED,
    GEODEC_CONSISTENT_RANDOM,
    GEODEC_CONSISTENT_CONSTANT,
    GEODEC_CONSISTENT_METRICS
} geodec_consistency_metric;
extern const char *const geodec_consistency_names[]; /* "fitted", .. by number, then NULL */

typedef struct geodec_consistency_options {
    double tau;                   /* in (0, 1); default 0.25 */
    geodec_metric_options metric; /* of both halves */
    int64_t replicates;           /* of the bootstrap; default 1000 */
    uint64_t seed;
} geodec_consistency_options;
geodec_consistency_options geodec_consistency_defaults(void);

/* Results; [METRICS] arrays are indexed by the metric. */
typedef struct geodec_consistency {
    int64_t points, n, k;
    int64_t fitted, held_out; /* states of the first and second half; those in gaps are in neither */
    int64_t steps;            /* held-out states with a next one */
    int64_t units;            /* texts of the second half */
    double tau;
    int64_t *row;                                     /* [held_out] of the points */
    double *discordance;                              /* [METRICS][held_out] share of pairs in another order */
    double *step_ratio;                               /* [METRICS][held_out] |v|_field / |v|_g; 0 = no next state */
    geodec_estimate order[GEODEC_CONSISTENT_METRICS]; /* share of held_out */
    geodec_estimate step[GEODEC_CONSISTENT_METRICS];  /* share of steps */
    geodec_estimate score[GEODEC_CONSISTENT_METRICS]; /* the consistency */
    geodec_estimate gain[GEODEC_CONSISTENT_METRICS];  /* score of the fitted metric less this one's, paired by text */
} geodec_consistency;

/* x [points][n], states of a text in order; unit [points]: units of the halves (base/split.h), rows of
 * GEODEC_SPLIT_NONE are left out; the state after a state is the next row of the same text [points]. 1 <= n <= 64.
 * GEODEC_SCARCE (too few states or texts in a half), GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_INTERRUPTED. Bytes do not
 * depend on threads. */
geodec_status geodec_consistency_run(int64_t points, int64_t n, const double *x, const int32_t *text,
                                     const int32_t *unit, const geodec_consistency_options *o, geodec_pool *pool,
                                     const geodec_hooks *hooks, geodec_consistency *out,
                                     geodec_err *err) GEODEC_MUST_USE;
void geodec_consistency_clear(geodec_consistency *c);

extern const geodec_kind geodec_consistency_kind;
/* Fills a new artifact; the caller commits. source: the cloud of the points, row by row. */
geodec_status geodec_consistency_write(const geodec_consistency *c, const geodec_cloud *source,
                                       const geodec_split *split, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures in words. */
void geodec_consistency_say(const geodec_hooks *hooks, const geodec_consistency *r);

#endif
