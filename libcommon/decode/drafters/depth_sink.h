/* The depth sink l* of a model, measured: the first layer at which the explained variance of the residual stream has
 * reached its plateau. The manuscript (geodesic speculative decoding, 2026) places it near 2/3 of the depth and gives
 * no procedure; here:
 *
 *     w_1 >= w_2 >= ..   spectrum of the covariance of the states after l blocks
 *     E_l = sum_{i<=k} w_i / sum_i w_i, with the k that explains 95 % after the last block
 *     l*  = min { l >= 1 : E_l >= max_m E_m - 1e-3 }
 *
 * The states are those of texts sampled from the model (GEODEC_DEPTH_TEXTS of at most GEODEC_DEPTH_LENGTH tokens,
 * temperature 1, a fixed seed), in context, without the first position. */
#ifndef GEODEC_DRAFTERS_DEPTH_SINK_H
#define GEODEC_DRAFTERS_DEPTH_SINK_H

#include "artifact/artifact.h"
#include "session/model.h"

enum { GEODEC_DEPTH_TEXTS = 8, GEODEC_DEPTH_LENGTH = 64 };

typedef struct geodec_depth_sink {
    int32_t layer;      /* l*, 1 .. n_layer: number of blocks up to it */
    int32_t components; /* k */
    int64_t states;     /* states of each layer */
} geodec_depth_sink;

/* explained [n_layer]: E_1 .. E_n_layer; may be NULL. GEODEC_UNSUPPORTED: the model cannot begin a text. */
geodec_status geodec_depth_sink_measure(const geodec_model *m, geodec_depth_sink *out, double *explained,
                                        geodec_err *err) GEODEC_MUST_USE;

/* A stored measurement: its texts and every spectrum, so that a layer can be measured again. */
typedef struct geodec_depth {
    geodec_depth_sink sink;
    int32_t n_layer;
    int64_t width;     /* values of a spectrum: the smaller of states and d_model */
    double *explained; /* [n_layer] */
    double *spectrum;  /* [n_layer][width] shares of the variance, falling */
    int32_t token[GEODEC_DEPTH_TEXTS][GEODEC_DEPTH_LENGTH], n[GEODEC_DEPTH_TEXTS]; /* the texts */
} geodec_depth;
geodec_status geodec_depth_measure(const geodec_model *m, geodec_depth *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_depth_clear(geodec_depth *d); /* all zero is allowed */

/* The probe: runs the stored texts through the first l* blocks of a model and returns the largest difference between
 * the spectrum there and the stored one. The same model gives 0 on the same machine, and less than GEODEC_DEPTH_PROBE
 * on others. GEODEC_FORMAT: layers, width or tokens are not those of this model. */
#define GEODEC_DEPTH_PROBE 1e-6
geodec_status geodec_depth_probe(const geodec_model *m, const geodec_depth *stored, double *difference,
                                 geodec_err *err) GEODEC_MUST_USE;

extern const geodec_kind geodec_depth_kind;
/* Fills a new artifact; the caller commits it. */
geodec_status geodec_depth_write(const geodec_depth *d, geodec_artifact *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_depth_read(const geodec_artifact *in, geodec_depth *out, geodec_err *err) GEODEC_MUST_USE;

#endif
