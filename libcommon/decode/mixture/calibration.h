/* Is a confidence the share of right answers? Expected calibration error (Naeini et al. 2015; Guo et al. 2017, "On
 * Calibration of Modern Neural Networks").
 *
 *     ECE = sum over bins of (n_b / n) |share right in b - mean confidence in b|,  equal bins of [0, 1]
 *
 * An ECE of n answers is never 0, even of a calibrated set: the report has what it would be by chance. */
#ifndef GEODEC_PERSPECTIVE_MIXTURE_CALIBRATION_H
#define GEODEC_PERSPECTIVE_MIXTURE_CALIBRATION_H

#include "linalg/stats.h"

enum { GEODEC_CALIBRATION_BINS = 15, GEODEC_CALIBRATION_BINS_MAX = 1000 };

typedef struct geodec_calibration {
    geodec_estimate ece;        /* with the 95 % bootstrap interval over answers */
    double chance, chance_high; /* mean and 97.5 % percentile of the ECE if each confidence were right */
    double confidence, right;   /* means */
    double brier;               /* mean (confidence - right)^2 */
} geodec_calibration;

/* confidence [n] in 0..1, of which 1 belongs to the last bin; right [n] 0 or 1. replicates: of the bootstrap and of
 * chance. The answers of one text depend on each other; resampled one by one, the interval is then too narrow.
 * GEODEC_RANGE (n < 1, bins outside 1..1000, replicates < 1), GEODEC_NUMERIC (a confidence outside 0..1),
 * GEODEC_NOMEM. */
geodec_status geodec_calibration_measure(int64_t n, const double *confidence, const uint8_t *right, int32_t bins,
                                         int64_t replicates, uint64_t seed, geodec_calibration *out,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
