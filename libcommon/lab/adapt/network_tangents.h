/* A PERSPECTIVE model in float64, evaluated with a tangent: the loss of windows of text, and its derivative in a
 * direction of adapters of low rank on the projections of the gates (perspective/dual). The experts of a row are those
 * of its value; where a small change would choose others, the loss is not differentiable, and the derivative is that of
 * the chosen ones. */
#ifndef GEODEC_LAB_ADAPT_NETWORK_TANGENTS_H
#define GEODEC_LAB_ADAPT_NETWORK_TANGENTS_H

#include "base/pool.h"
#include "train/layout.h"

#include <stdint.h>

typedef struct geodec_network_options {
    int64_t rank;        /* of an adapter, 1 to 256 */
    int32_t first, last; /* recurrent layers that have one, counted among the recurrent layers from 0; last included */
    int64_t length;      /* most tokens of a window, at least 2 */
    int threads;         /* that evaluate at once, >= 1 */
} geodec_network_options;

typedef struct geodec_network geodec_network;
/* params [layout->total]: copied. GEODEC_UNSUPPORTED: no recurrent layers, a router by scores with more than one
 * expert, rotation of a part of the heads; GEODEC_RANGE, GEODEC_NOMEM. */
geodec_status geodec_network_create(const geodec_layout *layout, const float *params, const geodec_network_options *o,
                                    geodec_network **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_network_destroy(geodec_network *n); /* NULL ok */

/* Numbers of all adapters: for each adapted layer A [rank][d], then B [d][rank]. */
int64_t geodec_network_size(const geodec_network *n);
/* The start: A ~ N(0, 1 / d), B = 0 (perspective/dual/adapt_forward.h). */
void geodec_network_start(const geodec_network *n, uint64_t seed, double *x);
/* Coordinates of the experts of all layers [places][3], as in the file, and their replacement. */
int64_t geodec_network_places(const geodec_network *n);
void geodec_network_read_places(const geodec_network *n, double *place);

/* Tokens of a window and their targets (-1: not counted). */
typedef struct geodec_network_window {
    int64_t n;
    const int32_t *token, *target;
} geodec_network_window;

/* Sum of -ln p(target) in nats over a window and its derivative along v; *counted: targets. x [size] adapters, NULL:
 * none; v [size] or NULL (derivative 0); place [places][3]: of the experts, NULL: those of the model. worker < threads:
 * the room that is used; one call at a time may use it. GEODEC_RANGE (a window that is too long, a token). */
geodec_status geodec_network_loss(geodec_network *n, int worker, const geodec_network_window *w, const double *x,
                                  const double *v, const double *place, double *loss, double *derivative,
                                  int64_t *counted, geodec_err *err) GEODEC_MUST_USE;

/* Adds B A to the gates' projections and writes the places (NULL: unchanged) into params [layout->total]. */
void geodec_network_merge(const geodec_network *n, const double *x, const double *place, float *params);

#endif
