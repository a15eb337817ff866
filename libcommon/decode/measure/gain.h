/* Gain of one drafter over another, paired by text. Both were measured on the same prompts (geodec_bench_count), in one
 * run or in two. Pairing removes the variation between texts from the interval of the difference.
 *
 * The figure is tokens per pass: decided / target passes in the loop; 1 + accepted / positions at every position, the
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
    geodec_estimate tokens, control, difference; /* tokens per pass; difference = tokens - control */
} geodec_gain;

/* Compares drafter `name` of the benchdecode artifact at `path` with drafter `control` of the one at `control_path`, in
 * the rows that both have, in the order of the first. *out [*n], owned by the caller: geodec_mem_free. GEODEC_NOTFOUND:
 * no such drafter or no common row; GEODEC_VERSION: no counts by text; GEODEC_FORMAT: invalid counts; GEODEC_INVAL: the
 * texts differ (in number, or in the tokens of plain decoding). */
geodec_status geodec_gain_measure(const char *path, const char *name, const char *control_path, const char *control,
                                  uint64_t seed, int32_t resamples, geodec_gain **out, int64_t *n,
                                  geodec_err *err) GEODEC_MUST_USE;

/* Prints a table with one row per setting. */
geodec_status geodec_gain_print(FILE *out, const geodec_gain *gain, int64_t n, geodec_err *err) GEODEC_MUST_USE;

#endif
