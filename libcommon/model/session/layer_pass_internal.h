/* Internal: passes layer by layer (layer_pass.c). */
#ifndef GEODEC_MODEL_LAYER_PASS_INTERNAL_H
#define GEODEC_MODEL_LAYER_PASS_INTERNAL_H

#include "session/model_internal.h"

enum {
    GEODEC__LAYER_PASS_ROWS = 256 /* of an expert at a time */
};

/* Bytes of the rows for which the smallest budget has room; 0: passes are batches. */
int64_t geodec__layer_pass_least_bytes(const geodec_session *s);
/* Rows of a chain of `wanted` that the budget has room for now, with what is captured of them (NULL: nothing); at least
 * max_batch. */
int32_t geodec__layer_pass_most(const geodec_session *s, int64_t wanted, const geodec_capture *c);
/* Whether the texts of a batch with `begin` can run, each within the context. */
geodec_status geodec__layer_pass_check(const geodec_session *s, const geodec_batch *b, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_forward of a chain. last: logits [n_vocab] of the last row alone. */
geodec_status geodec__layer_pass(geodec_session *s, const geodec_batch *b, float *logits, bool last,
                                 const geodec_capture *c, geodec_err *err) GEODEC_MUST_USE;

#endif
