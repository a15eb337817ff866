/* States of other programs in float64, which activations keep as float32 (24 bits). Far from zero these are too few:
 * states around 30,000 that differ by .01 become a coarse grid with repeated points. Differences between states are
 * what the geometry uses, so the median of each coordinate is subtracted first where rounding would change them. */
#ifndef GEODEC_CHAIN_ROUNDING_H
#define GEODEC_CHAIN_ROUNDING_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether the medians must be subtracted from x [rows][d]: in some coordinate the median rounding error is more than
 * 1e-5 of the median distance from the median. median [d] receives the medians. GEODEC_NOMEM. */
geodec_status geodec_rounding_judge(int64_t rows, int64_t d, const double *x, double *median, bool *needed,
                                    geodec_err *err) GEODEC_MUST_USE;
/* y [rows][d] = x less shift [d] (NULL: nothing), as float32. GEODEC_FORMAT: a value beyond float32. */
geodec_status geodec_rounding_apply(int64_t rows, int64_t d, const double *x, const double *shift, float *y,
                                    geodec_err *err) GEODEC_MUST_USE;
/* *merged: rows that differ in x [rows][d] and not in y [rows][d] (by 64-bit hashes). */
geodec_status geodec_rounding_merged(int64_t rows, int64_t d, const double *x, const float *y, int64_t *merged,
                                     geodec_err *err) GEODEC_MUST_USE;

#endif
