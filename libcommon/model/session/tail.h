/* The last layers of a model once more for the last token, with other streams or other experts: what a session would
 * have said (multi-perspective decoding, decode/perspectives.h). Nothing of it stays in the session. */
#ifndef GEODEC_MODEL_TAIL_H
#define GEODEC_MODEL_TAIL_H

#include "session/model.h"

/* Which experts a row takes in the layers that run again. SECOND: those of ranks 2 to k + 1 in place of 1 to k (all of
 * them, if there are no more). ANTIPODE: those nearest to the opposite point of the torus; of a router with scores,
 * those of the lowest scores. RANDOM: k different ones, each set as likely, a pure function of (seed, position, layer).
 */
typedef enum geodec_tail_route {
    GEODEC_TAIL_ROUTE_OWN,
    GEODEC_TAIL_ROUTE_SECOND,
    GEODEC_TAIL_ROUTE_ANTIPODE,
    GEODEC_TAIL_ROUTE_RANDOM
} geodec_tail_route;

typedef struct geodec_tail {
    int32_t first; /* the first block that runs again, 0 .. n_layer - 1 */
    int32_t n;     /* rows, 1 .. max_batch */
    /* [n][d_model] residual streams after `first` blocks (as a capture has them). Row 0 is the one that the pass of the
     * last token had, and its route is OWN: it is computed again so that the session stays as it is, bit for bit. */
    const float *stream;
    const geodec_tail_route *route; /* [n] */
    uint64_t seed;                  /* of RANDOM */
} geodec_tail;

/* Does a layer from `first` on choose experts? Without one, routes do nothing. */
bool geodec_session_tail_routes(const geodec_session *s, int32_t first);
/* logits [n][n_vocab]; those of row 0 are the logits of the last token, bit for bit. Row i has the position of the last
 * token, and sees what it saw. GEODEC_RANGE (first, n, an empty session, the route of row 0), GEODEC_LIMIT (the cache
 * has no room for n - 1 rows more), GEODEC_UNSUPPORTED (integer arithmetic, experts that stream, rewritten
 * tokens, attention over layers, a residual of several streams, fewer blocks than the model has). */
geodec_status geodec_session_tail(geodec_session *s, const geodec_tail *t, float *logits,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
