/* The neighbours artifact: the nearest points of each query, written by geodec-knn. */
#ifndef GEODEC_NEIGHBOURS_NEIGHBOURS_H
#define GEODEC_NEIGHBOURS_NEIGHBOURS_H

#include "artifact/artifact.h"

#include <stdbool.h>
#include <stdint.h>

extern const geodec_kind geodec_neighbours_kind;

typedef struct geodec_neighbours {
    int64_t queries, k;
    int64_t points, d;
    bool of_others;                /* queries of another file; otherwise the points themselves, each without itself */
    int32_t *index;                /* [queries][k] rows of the points, nearest first, ties by row */
    double *distance;              /* [queries][k] Euclidean */
    double mean_nearest, mean_kth; /* means over the queries */
    /* the control (search.h): rows searched again by the definition, and how many of them were not the same */
    int64_t checked, differ;
} geodec_neighbours;

/* Writes the dimensions, before rows are appended. */
geodec_status geodec_neighbours_begin(const geodec_neighbours *n, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;
/* Appends rows: index, distance [rows][k]. */
geodec_status geodec_neighbours_append(geodec_artifact *a, int64_t rows, const int32_t *index, const double *distance,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Writes the attributes after the rows; the caller commits. */
geodec_status geodec_neighbours_finish(const geodec_neighbours *n, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

#endif
