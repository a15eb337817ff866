/* Decode substitution: predicts the hidden state of the next step from records of earlier steps, without a pass.
 *
 * A record is a pair of consecutive states of real text (r, r'). For a state x of a held-out text, whose true successor
 * is x', the next state is predicted
 *
 *     stay        x
 *     linear      x + A (1, x)                 ridge regression on the records: no lookup at all
 *     copy        r' of the g-nearest record   lookup in the chart, metric at x
 *     copy_near   r' of the Euclid-nearest     in the chart
 *     copy_whole  r' of the Euclid-nearest     of the whole stream
 *     shift       r' + (x - r)                 of the g-nearest
 *     propagator  r' + Phi (x - r) in the chart, Phi = dx(1)/dx(0) along the geodesic from r with velocity r' - r
 *     other       r' of a record sampled at random: the control
 *
 * and measured by |prediction - x'| in mean lengths of a step, and by whether the head's argmax of the prediction
 * equals that of x'. Figures are also given for the queries nearest to their record alone, by share: those that a cache
 * with a radius would answer. */
#ifndef GEODEC_LAB_SUBSTITUTION_SUBSTITUTION_H
#define GEODEC_LAB_SUBSTITUTION_SUBSTITUTION_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "geometry/rbf.h"
#include "linalg/stats.h"

typedef enum geodec_substitution_method {
    GEODEC_SUBSTITUTE_STAY,
    GEODEC_SUBSTITUTE_LINEAR,
    GEODEC_SUBSTITUTE_COPY,
    GEODEC_SUBSTITUTE_COPY_NEAR,
    GEODEC_SUBSTITUTE_COPY_WHOLE,
    GEODEC_SUBSTITUTE_SHIFT,
    GEODEC_SUBSTITUTE_PROPAGATOR,
    GEODEC_SUBSTITUTE_OTHER,
    GEODEC_SUBSTITUTES
} geodec_substitution_method;

typedef struct geodec_substitution_data {
    int64_t records, queries, n, d;
    const double *basis, *mean;  /* [n][d], [d]: the chart */
    const double *from, *to;     /* [records][d] */
    const double *query, *truth; /* [queries][d] */
    const geodec_rbf *field;     /* the metric, in the chart */
} geodec_substitution_data;

typedef struct geodec_substitution_predictions {
    double *state;    /* [GEODEC_SUBSTITUTES][queries][d] */
    double *distance; /* [queries] g-distance to the record */
    int64_t *record;  /* [queries] the g-nearest */
    int64_t broken;   /* queries whose record's path broke down, or |Phi|_F > 100: counted as copy in propagator */
} geodec_substitution_predictions;
/* ridge: of the regression, in mean variances. GEODEC_SCARCE (fewer than 2 records), GEODEC_NUMERIC (not finite),
 * GEODEC_INTERRUPTED. The same bytes for any number of threads. */
geodec_status geodec_substitution_predict(const geodec_substitution_data *s, double ridge, uint64_t seed,
                                          geodec_pool *pool, const geodec_hooks *hooks,
                                          geodec_substitution_predictions *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_substitution_clear(geodec_substitution_predictions *p);

enum { GEODEC_SUBSTITUTION_SHARES = 5 /* 5, 10, 25, 50 and 100 % of the queries */ };
typedef struct geodec_substitution {
    int64_t records, queries, n, broken;
    double radius[GEODEC_SUBSTITUTION_SHARES];                             /* largest g-distance of the share */
    geodec_estimate error[GEODEC_SUBSTITUTES][GEODEC_SUBSTITUTION_SHARES]; /* sum |error| / sum |step| */
    geodec_estimate agree[GEODEC_SUBSTITUTES][GEODEC_SUBSTITUTION_SHARES]; /* share of queries with the true token */
    /* CPU times of one query on one thread, microseconds; 0 = not measured. A decoder that substitutes a share p is
     * faster by full / (lookup + p head + (1 - p) full). The publication assumes half of full for a hit. A substituted
     * token is wrong with probability 1 - agree; all later states then belong to the wrong text. */
    double full_us, head_us, lookup_us;
} geodec_substitution;
/* token [GEODEC_SUBSTITUTES][queries] of the predictions, wanted [queries] of the true states; text [queries], queries
 * of a text follow each other. */
geodec_status geodec_substitution_figures(const geodec_substitution_data *s, const geodec_substitution_predictions *p,
                                          const int32_t *token, const int32_t *wanted, const int32_t *text,
                                          int64_t replicates, uint64_t seed, geodec_substitution *out,
                                          geodec_err *err) GEODEC_MUST_USE;
double geodec_substitution_speedup(const geodec_substitution *s, double share);

extern const geodec_kind geodec_substitution_kind;
/* Fills a new artifact; the caller commits. split: what was held out (geodec_split_name). */
geodec_status geodec_substitution_write(const geodec_substitution *s, const char *split, geodec_artifact *a,
                                        geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures in words. */
void geodec_substitution_say(const geodec_hooks *hooks, const geodec_substitution *s);

#endif
