/* Routes: the experts that a model uses along a text, with what was known before. A recorder reads windows of tokens
 * and keeps, for each row, the router's logits, the last residual stream, and what the routers say of earlier streams.
 *
 * Streams, with x_l the residual stream before block l and y_l the same after its attention or recurrence: the experts
 * of block l are chosen from y_l, or from x_l in models with route_before. Earlier are x_l (one attention before),
 * y_(l-1) (one block before: its experts have not run), x_(l-1) (one block and one attention before) and x_(l-2). */
#ifndef GEODEC_FORESIGHT_ROUTES_H
#define GEODEC_FORESIGHT_ROUTES_H

#include "export/export.h"
#include "session/model.h"

typedef enum geodec_routes_stream {
    GEODEC_ROUTES_NOW,     /* the choice itself */
    GEODEC_ROUTES_BLOCK,   /* x_l */
    GEODEC_ROUTES_EXPERTS, /* y_(l-1); first layer: as x_l */
    GEODEC_ROUTES_EARLIER, /* x_(l-1); first layer: as x_l */
    GEODEC_ROUTES_FURTHER, /* x_(l-2), or x_0 */
    GEODEC_ROUTES_STREAMS
} geodec_routes_stream;

/* The rows of a window; borrowed until the next one is read. */
typedef struct geodec_routes {
    int32_t n;                           /* rows */
    int64_t document;                    /* from 0 */
    const int32_t *token;                /* [n] */
    int32_t *expert;                     /* [n][n_layer][n_expert_used], most probable first */
    float *embedding;                    /* [n][d_model] the stream before the first block */
    float *state;                        /* [n][d_model] the stream after the last one */
    float *logit[GEODEC_ROUTES_STREAMS]; /* [n][n_layer][n_expert] */
} geodec_routes;

typedef struct geodec_routes_recorder geodec_routes_recorder;

/* Windows of up to `window` rows. GEODEC_UNSUPPORTED: a dense model; GEODEC_RANGE: window. The source is borrowed. */
geodec_status geodec_routes_open(const geodec_model *m, const geodec_export_source *source, int32_t window,
                                 geodec_arithmetic arithmetic, geodec_kv_type kv, geodec_pool *pool,
                                 geodec_routes_recorder **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_routes_close(geodec_routes_recorder *r);
/* Whether a layer has experts. */
bool geodec_routes_layer(const geodec_routes_recorder *r, int32_t layer);
/* The next window; *out NULL at the end of the source. A window that continues a document begins with BOS, if the
 * document does. */
geodec_status geodec_routes_next(geodec_routes_recorder *r, const geodec_routes **out, geodec_err *err) GEODEC_MUST_USE;

#endif
