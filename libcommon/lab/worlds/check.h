/* The closed forms of a world against differences: the control of the truth. */
#ifndef GEODEC_LAB_WORLDS_CHECK_H
#define GEODEC_LAB_WORLDS_CHECK_H

#include "lab/worlds/worlds.h"

typedef struct geodec_world_check {
    int64_t rows;        /* compared; 0 without a geometry */
    double acceleration; /* largest tangential part of y'' of a geodesic of unit speed in R^D, by differences, times the
                          * root of the set's variance (errors of the differences: about 1e-8); field and warp: 0, not
                          * compared */
    int64_t curved;      /* rows of them, of sets with a chart */
    double curvature;    /* largest |scalar curvature of the chart's metric - closed form| times the set's variance */
    /* warp: distance of the end of the query's geodesic to the target over its length, in the Euclidean metric: without
     * the warp, and integrated in the warped metric (expected: before (1 - strength)) */
    double before, after;
} geodec_world_check;

/* At `rows` rows, evenly spread, at most all. GEODEC_NUMERIC, GEODEC_NOMEM. */
geodec_status geodec_world_check_rows(const geodec_world *w, int64_t rows, geodec_world_check *out,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
