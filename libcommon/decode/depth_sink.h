/* The depth sink l* of a model, measured: the first layer at which the explained variance of the residual stream has
 * reached its plateau. The papers place it near 2/3 of the depth and name no procedure; here:
 *
 *     states of texts the model writes itself (GEODEC_DEPTH_TEXTS of at most GEODEC_DEPTH_LENGTH tokens, temperature 1,
 *     a fixed seed), in context, without the first position; w_1 >= w_2 >= .. the spectrum of their covariance after
 *     l blocks; E_l = sum_{i<=k} w_i / sum_i w_i, with the k that explains 95 % after the last block;
 *     l* = min { l >= 1 : E_l >= max_m E_m - 1e-3 }. */
#ifndef GEODEC_DECODE_DEPTH_SINK_H
#define GEODEC_DECODE_DEPTH_SINK_H

#include "model/model.h"

enum { GEODEC_DEPTH_TEXTS = 8, GEODEC_DEPTH_LENGTH = 64 };

typedef struct geodec_depth_sink {
    int32_t layer;      /* l*, 1 .. n_layer: blocks that lie before it */
    int32_t components; /* k */
    int64_t states;     /* of a layer */
} geodec_depth_sink;

/* explained [n_layer]: E_1 .. E_n_layer; may be NULL. GEODEC_UNSUPPORTED: the model cannot begin a text. */
GEODEC_API geodec_status geodec_depth_sink_measure(const geodec_model *m, geodec_depth_sink *out, double *explained,
                                                   geodec_err *err) GEODEC_MUST_USE;

#endif
