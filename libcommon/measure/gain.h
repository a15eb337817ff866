/* Gain of one drafter on another, paired by text: both were measured on the same prompts (geodec_bench_count), in one
 * run or in two, so that texts which are easy for both do not widen the interval of the difference.
 *
 * The figure is tokens a pass: in the loop decided / target passes; at every position 1 + accepted / positions, the
 * tokens that a pass would give there. Intervals are 95 % percentile bootstraps over texts, with the same resamples for
 * both drafters and their difference. */
#ifndef GEODEC_MEASURE_GAIN_H
#define GEODEC_MEASURE_GAIN_H

#include "base/err.h"
#include "measure/bench.h"

#include <stdio.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_gain {
    int32_t gamma, budget; /* as in geodec_bench_row */
    bool sampled, every_position;
    geodec_estimate tokens, control, difference; /* tokens a pass; difference = tokens - control */
} geodec_gain;

/* The rows that drafter `name` of the benchdecode artifact at `path` and drafter `control` of that at `control_path`
 * have in common, in the first one's order. *out [*n], owned by the caller: geodec_mem_free. GEODEC_NOTFOUND: no such
 * drafter or no common row; GEODEC_VERSION: no counts by text; GEODEC_FORMAT: counts that cannot be; GEODEC_INVAL: the
 * texts differ (their number, or the tokens that plain decoding makes of them). */
GEODEC_API geodec_status geodec_gain_measure(const char *path, const char *name, const char *control_path,
                                             const char *control, uint64_t seed, int32_t resamples, geodec_gain **out,
                                             int64_t *n, geodec_err *err) GEODEC_MUST_USE;

/* A table, a row a setting. */
GEODEC_API geodec_status geodec_gain_print(FILE *out, const geodec_gain *gain, int64_t n,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
