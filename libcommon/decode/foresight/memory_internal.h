/* Internal: the experts of the rows that a run has seen, by token. Texts repeat their subjects, and the map does not
 * know them. A row: its token, the token before it, its key in the map (flowmap/map.h) and the experts of its layers.
 */
#ifndef GEODEC_FORESIGHT_MEMORY_INTERNAL_H
#define GEODEC_FORESIGHT_MEMORY_INTERNAL_H

#include "flowmap/map.h"

typedef struct geodec__foresight_memory geodec__foresight_memory;
/* Keeps the last rows: 16384, or as many as 4 MB hold. */
geodec_status geodec__foresight_memory_create(const geodec_flowmap *map, geodec__foresight_memory **out,
                                              geodec_err *err) GEODEC_MUST_USE;
void geodec__foresight_memory_destroy(geodec__foresight_memory *m); /* NULL ok */
/* key [dims]; expert [layers][used], others than 0 .. experts - 1 are left out. */
void geodec__foresight_memory_add(geodec__foresight_memory *m, int32_t token, int32_t before, const int8_t *key,
                                  const int32_t *expert);
/* Adds to weight [layers][experts], as geodec_flowmap_route_beyond does for nodes, the rows that followed the latest
 * ones of this token. scale: as that returned it; nearest: squared distance of the nearest node. */
void geodec__foresight_memory_vote(const geodec__foresight_memory *m, int32_t token, int32_t before, const int8_t *key,
                                   float scale, float nearest, float *weight);

#endif
