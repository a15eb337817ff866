/* The course of a streamed run: a bounded number of points, each the sum of as many passes. When there are too many,
 * neighbours are joined and each later point covers twice the passes. */
#ifndef GEODEC_STREAMING_TIMELINE_H
#define GEODEC_STREAMING_TIMELINE_H

#include "geodec/err.h"

#include <stdint.h>

enum { GEODEC_TIMELINE_POINTS = 256 };

typedef struct geodec_timeline_point {
    int64_t passes, rows, bytes; /* bytes read */
    double seconds, stall;       /* of the passes; waiting for a read */
} geodec_timeline_point;

/* All zero: empty. */
typedef struct geodec_timeline {
    int32_t n;
    int64_t stride; /* passes of a point; the last one may have fewer. 0 when empty */
    geodec_timeline_point point[GEODEC_TIMELINE_POINTS];
} geodec_timeline;

void geodec_timeline_add(geodec_timeline *t, const geodec_timeline_point *pass);

#endif
