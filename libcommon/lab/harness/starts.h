/* Starts of predictions along trajectories: states with one before and at least one after. */
#ifndef GEODEC_LAB_HARNESS_STARTS_H
#define GEODEC_LAB_HARNESS_STARTS_H

#include "lab/harness/split.h"

/* Row of x and the path's end. */
typedef struct geodec__starts_row {
    int64_t row, end;
    int32_t text;
} geodec__starts_row;

/* Starts of a place (-1: all) in one part of the texts, in order; out NULL counts. */
GEODEC_API int64_t geodec__starts_gather(const geodec_trajectories *t, const geodec_harness_split *o, int64_t place,
                                         bool held_out, geodec__starts_row *out);
/* Keeps a random choice of the starts, in their order; keep <= 0: all. */
GEODEC_API void geodec__starts_choose(geodec__starts_row *s, int64_t *count, int64_t keep, uint64_t seed,
                                      int64_t number);

#endif
