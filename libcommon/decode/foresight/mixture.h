/* Mixtures of what a flow map foretells before a pass (early) with what a layer's router says of an earlier stream
 * during it (late): for each layer
 *     x_e = exp(weight logit_e) (early_e + 0.01) / (1.01 - early_e)
 *     share_e = x_e / (x_e + t), with the t at which the shares sum to the experts used
 * The weight of each layer and stream is the one of 1/2, 3/4, 1, 3/2, 2, 3, 4, 6 under which the experts that a text
 * used are most probable when the shares are calibrated: P(used) by the share is measured on the same text, which must
 * not be the map's own. */
#ifndef GEODEC_FORESIGHT_MIXTURE_H
#define GEODEC_FORESIGHT_MIXTURE_H

#include "flowmap/map.h"
#include "foresight/routes.h"

/* Streams GEODEC_ROUTES_BLOCK, _EXPERTS and _EARLIER, in this order. */
enum { GEODEC_MIXTURES = 3 };

typedef struct geodec_mixture {
    int64_t layers, positions; /* positions: tokens of the text of the fit */
    float *weight;             /* [MIXTURES][layers] */
    float *reliability;        /* [MIXTURES][layers][GEODEC_ROUTE_BINS] */
} geodec_mixture;

/* Reads all windows of the recorder. GEODEC_SCARCE: fewer than 16 positions; GEODEC_UNSUPPORTED: no routes;
 * GEODEC_INVAL: the map is of a model of another shape. */
geodec_status geodec_mixture_fit(geodec_routes_recorder *r, const geodec_model_config *c, const geodec_flowmap *map,
                                 const geodec_hooks *hooks, geodec_mixture *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_mixture_clear(geodec_mixture *m);
/* Whether the routes of a map have the shape of a model. GEODEC_UNSUPPORTED, GEODEC_INVAL. */
geodec_status geodec_mixture_match(const geodec_flowmap *map, const geodec_model_config *c,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Shares [experts] of one layer. out may be early. */
void geodec_mixture_shares(int64_t experts, int64_t used, float weight, const float *early, const float *logit,
                           float *out);
/* Probabilities [experts]: the shares of geodec_mixture_shares, with the weight and the calibration of a stream. m
 * NULL: weight 1, and shares of at most 1. */
void geodec_mixture_apply(const geodec_mixture *m, geodec_routes_stream stream, int64_t layer, int64_t experts,
                          int64_t used, const float *early, const float *logit, float *out);

#endif
