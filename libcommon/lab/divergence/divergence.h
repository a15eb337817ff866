/* Value of a metric on hidden states as a measure of the model's output: how well lengths d^T g d / 2 between
 * neighbouring states order the true divergences KL(p || q) of their next-token distributions (Spearman's rank
 * correlation).
 *
 * KL is measured for two moves: within the chart alone, the part that a metric in the chart can describe, and by
 * replacing the state with the neighbour itself, which differs outside the chart too. Controls of every metric: the
 * same figure for plain lengths and for the Fisher metric without its directions (tr G / n times the length). */
#ifndef GEODEC_LAB_DIVERGENCE_DIVERGENCE_H
#define GEODEC_LAB_DIVERGENCE_DIVERGENCE_H

#include "artifact/artifact.h"
#include "linalg/stats.h"

enum { GEODEC_DIVERGENCE_KINDS = 16 };

typedef struct geodec_divergence {
    int64_t pairs, kinds;
    const char *name[GEODEC_DIVERGENCE_KINDS];              /* borrowed */
    int64_t control;                                        /* kind the differences are to */
    const double *kl;                                       /* [2][pairs]: within the chart, whole state; borrowed */
    const double *predicted;                                /* [kinds][2][pairs], same unit; borrowed */
    geodec_estimate rank[GEODEC_DIVERGENCE_KINDS][2];       /* rank correlation */
    geodec_estimate difference[GEODEC_DIVERGENCE_KINDS][2]; /* to the control kind's, same resamples */
    double ratio[GEODEC_DIVERGENCE_KINDS][2];               /* median of kl / predicted; 0 where predicted is */
} geodec_divergence;

/* Fills the three last members. group [pairs]: texts, which the bootstrap samples whole; pairs of a group are
 * contiguous. GEODEC_SCARCE (pairs < 3), GEODEC_RANGE (kinds), GEODEC_NUMERIC (not finite, constant). */
geodec_status geodec_divergence_compute(geodec_divergence *d, const int32_t *group, int64_t replicates, uint64_t seed,
                                        geodec_err *err) GEODEC_MUST_USE;

extern const geodec_kind geodec_divergence_kind;
/* Fills a new artifact; the caller commits. */
geodec_status geodec_divergence_write(const geodec_divergence *d, int64_t layer, int64_t n, double explained,
                                      geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

#endif
