/* The router of a layer, applied to any residual stream: for looking ahead, and for the gate probabilities of a trace.
 *
 * The logits of a layer at the stream that enters its feed-forward half are, bit for bit, those from which a pass
 * chooses its experts. At an earlier stream they are a guess. A router has its own rows and may be used between the
 * layers of a pass on the thread that runs it. */
#ifndef GEODEC_MODEL_ROUTER_H
#define GEODEC_MODEL_ROUTER_H

#include "session/model.h"

typedef struct geodec_router geodec_router;

/* For up to max_rows rows a call. The session is borrowed: its kernels, arithmetic and threads are used.
 * GEODEC_UNSUPPORTED: a dense model. */
geodec_status geodec_router_create(geodec_session *s, int32_t max_rows, geodec_router **out,
                                   geodec_err *err) GEODEC_MUST_USE;
void geodec_router_destroy(geodec_router *r);
/* Whether a layer has a router. */
bool geodec_router_has(const geodec_router *r, int32_t layer);
/* logits [n][n_expert] of a layer for n residual streams [d_model]: RMS norm before the feed-forward, then the router.
 * The layer must have one; n <= max_rows. */
void geodec_router_logits(geodec_router *r, int32_t layer, const float *const *stream, int32_t n, float *logits);
/* Probabilities [n] by softmax over logits [n], in place. */
void geodec_router_softmax(float *x, int32_t n);

#endif
