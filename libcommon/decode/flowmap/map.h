/* What the other folders use beyond geodec/flowmap.h. */
#ifndef GEODEC_FLOWMAP_MAP_H
#define GEODEC_FLOWMAP_MAP_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "chain/activations.h"
#include "chain/cloud.h"
#include "geodec/flowmap.h"

#include <stdbool.h>
#include <stdint.h>

extern const geodec_kind geodec_flowmap_kind;

/* ---- making ----------------------------------------------------------------------------------------------------- */

/* decays: numbers from 0 to below 1, separated by commas; charts: learned, euclidean, features or random. GEODEC_INVAL
 * names the option. */
geodec_status geodec_flowmap_words(const char *decays, const char *charts, geodec_flowmap_options *o,
                                   geodec_err *err) GEODEC_MUST_USE;
/* The directions of a cloud of the same model's last layer; *cloud owns them. GEODEC_CHECKSUM, GEODEC_INVAL. */
geodec_status geodec_flowmap_directions(const char *path, const geodec_activations *states, geodec_provenance *p,
                                        geodec_cloud *cloud, geodec_flowmap_options *o,
                                        geodec_err *err) GEODEC_MUST_USE;

/* Bytes of all arrays that are stored. */
int64_t geodec_flowmap_bytes(const geodec_flowmap *map);

/* ---- using ------------------------------------------------------------------------------------------------------ */

/* The stored texts: token, number of its text (may be NULL) and argmax of each position, [geodec_flowmap_positions]. */
int64_t geodec_flowmap_positions(const geodec_flowmap *map);
void geodec_flowmap_texts(const geodec_flowmap *map, int32_t *token, int32_t *sequence, int32_t *argmax);
/* The model's most probable tokens after each position: choice, probability [geodec_flowmap_positions][1 +
 * GEODEC_FLOW_CHOICES], the argmax first; -1 and 0 where the map has none (the first position of a text). The map must
 * have probabilities. */
void geodec_flowmap_probabilities(const geodec_flowmap *map, int32_t *choice, uint8_t *probability);

/* z [m] of one state h [d]. */
void geodec_flowmap_state(const geodec_flowmap *map, const float *h, float *z);
/* Updates the running features f [features] with z; first = start of a text. */
void geodec_flowmap_advance(const geodec_flowmap *map, const float *z, bool first, float *f);

/* The key [dims] of a token after features f. */
void geodec_flowmap_key(const geodec_flowmap *map, const float *f, int32_t token, int8_t *key);

typedef struct geodec_flowmap_hit {
    int32_t distance; /* squared, in key units */
    int32_t node;
} geodec_flowmap_hit;
/* The k nearest nodes of a token's bucket (ties: lower node first), nearest first; returns their number. Nodes of text
 * `skip` are left out (-1: none). k <= GEODEC_FLOW_NEAR_MAX. scratch: geodec_flowmap_room(map) values. */
int64_t geodec_flowmap_room(const geodec_flowmap *map);
int32_t geodec_flowmap_nearest(const geodec_flowmap *map, int32_t token, const int8_t *key, int32_t k, int32_t skip,
                               int32_t *scratch, geodec_flowmap_hit *hit);
/* As geodec_flowmap_nearest, without some of the nearest: only nodes of about `leaves` leaves (of
 * GEODEC_FLOW_LEAF_NODES nodes) of the bucket are searched, those whose bounding boxes are nearest. Smaller buckets are
 * searched as a whole. Its time grows little with the bucket. leaves >= 1. */
enum { GEODEC_FLOW_LEAF_NODES = 32 };
int32_t geodec_flowmap_nearby(const geodec_flowmap *map, int32_t token, const int8_t *key, int32_t k, int64_t leaves,
                              int32_t *scratch, geodec_flowmap_hit *hit);
/* Calibrated probability of a raw score 0..1 at a depth 0, 1, .. */
double geodec_flowmap_reliability(const geodec_flowmap *map, int32_t depth, double score);

#endif
