/* What follows each point of a cloud in its text: the state of the next token, in the cloud's coordinates. It need not
 * be a point of the cloud itself (duplicates and thinned points are followed too). */
#ifndef GEODEC_GEOMETRY_SUCCESSORS_H
#define GEODEC_GEOMETRY_SUCCESSORS_H

#include "geometry/cloud.h"

typedef struct geodec_successors {
    int64_t points, k, known; /* known: points that have one */
    uint8_t *has;             /* [points] the text goes on and its next row was kept */
    double *coordinate;       /* [points][k] of the next state; 0 where there is none */
    double rms_step;          /* sqrt of the mean squared distance to the next state, over the known ones */
    int32_t *argmax; /* [points] what the model says next at the point itself; NULL when the file has no argmax */
} geodec_successors;

/* states: the activations the cloud was made from, still open: rows, tokens and places in the text are compared.
 * GEODEC_CHECKSUM when they are others, GEODEC_NOTFOUND (the cloud's layer), GEODEC_NUMERIC (not finite). */
GEODEC_API geodec_status geodec_successors_read(const geodec_cloud *cloud, const geodec_activations *states,
                                                geodec_pool *pool, geodec_successors *out,
                                                geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_successors_clear(geodec_successors *s);

#endif
