/* A metric and its two controls: the same matrices permuted among the points, and each matrix rotated at random with
 * its spectrum kept. Points of held-out texts are left out of all three. */
#ifndef GEODEC_LAB_HARNESS_THREE_METRICS_H
#define GEODEC_LAB_HARNESS_THREE_METRICS_H

#include "lab/harness/split.h"

typedef struct geodec_three_metrics {
    const geodec_space *own, *shuffled, *random;
    geodec_rbf *field[3]; /* owners; the first NULL where `own` is another's */
} geodec_three_metrics;

/* Fits the three metrics, with sites, held_out and seed of the options. Zero before; GEODEC_SCARCE (fewer than 2
 * points), GEODEC_RANGE (n), GEODEC_NUMERIC.
 */
geodec_status geodec_three_metrics_make(const geodec_harness_sites *f, int64_t n, const geodec_harness_split *o,
                                        geodec_three_metrics *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_three_metrics_clear(geodec_three_metrics *m);

#endif
