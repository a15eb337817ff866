/* The power of a rule from worlds in which the effect is present: recovery, the least effect that is seen, and the
 * share of worlds of the published size in which the rule finds it.
 *
 * A trial is a world of one strength and seed through the whole pipeline: the measured value, and whether the rule of
 * the headline or of the claims found the effect. Trials of one strength are a level.
 *
 *     share found    with its Wilson interval (Wilson, J. Am. Stat. Assoc. 22 (1927) 209), z = 1.96. A world that could
 *                    not be measured was not found
 *     fitted         the shares made monotone in the strength: isotonic least squares, weights the numbers of trials
 *                    (pool adjacent violators; Barlow et al., Statistical Inference under Order Restrictions, 1972)
 *     least          the least strength with a fitted share of GEODEC_POWER_LEAST, linear between two levels. Where
 *                    nothing was found at the lower one, the upper one: the curve between them is not known.
 *                    Infinite if no level has such a share
 *     power          the fitted share at a size, linear between levels; NaN above the largest strength and below the
 *                    least. Its interval is the Wilson interval of the nearest level that is not above the size
 *     recovery       least squares of the measured value on the strength, over the trials that were measured; the
 *                    interval is 1.96 standard errors, `spread` the root of the mean square about the line */
#ifndef GEODEC_LAB_POWER_POWER_H
#define GEODEC_LAB_POWER_POWER_H

#include "base/err.h"

#include <stdint.h>

#define GEODEC_POWER_LEAST 0.8

typedef struct geodec_power_trial {
    double strength, measured; /* measured: NaN where there is no value */
    int found;                 /* 1 found, 0 not found, -1 not measured */
} geodec_power_trial;

typedef struct geodec_power_level {
    double strength, mean, sd; /* of the measured values; NaN without any (sd: with fewer than 2) */
    int64_t n, failed, found;
    double share, low, high, fitted;
} geodec_power_level;

typedef struct geodec_power {
    int64_t n, failed, levels;
    geodec_power_level *level; /* [levels], rising strength; owned */
    double least, power, power_low, power_high;
    double slope, slope_low, slope_high, spread; /* NaN with fewer than 3 measured trials or one strength */
    double none;                                 /* share found at strength 0; NaN where it was not tried */
} geodec_power;

/* GEODEC_RANGE (no trials, a strength that is not finite), GEODEC_NOMEM. */
geodec_status geodec_power_fit(int64_t n, const geodec_power_trial *trial, double size, geodec_power *out,
                               geodec_err *err) GEODEC_MUST_USE;
void geodec_power_clear(geodec_power *p); /* all zero is allowed */

#endif
