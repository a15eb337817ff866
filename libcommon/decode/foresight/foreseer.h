/* A flow map as the foreseer of streamed experts (session/streamed.h). */
#ifndef GEODEC_FORESIGHT_FORESEER_H
#define GEODEC_FORESIGHT_FORESEER_H

#include "flowmap/map.h"
#include "foresight/mixture.h"
#include "session/streamed.h"

typedef struct geodec_foreseer_map {
    geodec_flowmap map;     /* with routes */
    geodec_mixture mixture; /* with routers */
    bool mixed;             /* there is one */
} geodec_foreseer_map;
/* Reads flowmap.h5, baked from an export of this model, and the mixture of foresight.h5 (NULL: none).
 * GEODEC_UNSUPPORTED: the map has no routes; GEODEC_CHECKSUM: another model. */
geodec_status geodec_foreseer_map_open(const char *map, const char *foresight, const geodec_model *m,
                                       geodec_foreseer_map *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_foreseer_map_close(geodec_foreseer_map *f); /* f may be all zero */
/* For geodec_streaming.foreseer, with the map as its ctx. */
geodec_status geodec_foreseer_of(void *map, geodec_foreseer *out, geodec_err *err) GEODEC_MUST_USE;

#endif
