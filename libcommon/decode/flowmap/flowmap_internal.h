/* Internal: shared by the files of the flow map. */
#ifndef GEODEC_FLOWMAP_FLOWMAP_INTERNAL_H
#define GEODEC_FLOWMAP_FLOWMAP_INTERNAL_H

#include "flowmap/map.h"
#include "flowmap/scan_internal.h"

/* Checks sizes and every index, then lays out the keys and the text of each node. `name` for messages. */
geodec_status geodec__flowmap_finish(geodec_flowmap *map, const char *name, geodec_err *err) GEODEC_MUST_USE;
/* The fingerprints of model and tokenizer from an artifact. GEODEC_FORMAT if one is not a SHA-256. */
geodec_status geodec__flowmap_fingerprints(const geodec_artifact *a, geodec_flowmap *map,
                                           geodec_err *err) GEODEC_MUST_USE;
/* Whether all parameters are in range. */
bool geodec__flowmap_vote_ok(const geodec_flowmap_vote *v);
/* Builds only the layout; frees an older one. */
geodec_status geodec__flowmap_layout(geodec_flowmap *map, geodec_err *err) GEODEC_MUST_USE;
void geodec__flowmap_unlay(geodec_flowmap *map);
/* Standardises f into out; computes the key of standardised features. */
void geodec__flowmap_standardise(const geodec_flowmap *map, const float *f, float *out);
void geodec__flowmap_state_key(const geodec_flowmap *map, const float *f, int32_t token, int8_t *key);

/* Computes the charts of all tokens and the keys of all nodes from standardised features and states in bucket order
 * (row i of feature and state belongs to node i: features before it, state at it). Fills chart_of, chart, chart_scale,
 * chart_offset, charts and key. */
geodec_status geodec__flowmap_charts(geodec_flowmap *map, const geodec_flowmap_options *o, const float *feature,
                                     const int64_t *feature_row, const float *state, const int64_t *state_row,
                                     geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;
/* Predicts positions of the map's own texts, leaving out the text of each position, and fills reliability. z
 * [positions][m]. */
geodec_status geodec__flowmap_calibrate(geodec_flowmap *map, int64_t wanted, const float *z,
                                        geodec_flowmap_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Weighted isotonic regression of n <= 64 values in place; changes weight. */
void geodec__flowmap_rise(int n, double *value, double *weight);

enum { GEODEC__FLOW_ROUTE_LAYERS = 1 << 12, GEODEC__FLOW_ROUTE_MOST = 512 /* bytes of a code: a bit of each layer */ };
/* Routes (route.h). bake: table and codes, if the file has the experts of its rows; node_of: node of each row or -1.
 * Memory: 2 bytes a choice. finish: checks what was read or baked, and makes the rest; no routes: nothing. calibrate:
 * needs finish and the layout. clear: what finish made. */
geodec_status geodec__flowmap_route_bake(geodec_flowmap *map, const geodec_activations *a, const int32_t *node_of,
                                         geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__flowmap_route_finish(geodec_flowmap *map, const char *name, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__flowmap_route_calibrate(geodec_flowmap *map, int64_t wanted, geodec_pool *pool,
                                              const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;
void geodec__flowmap_route_clear(geodec_flowmap *map);

#endif
