#include "session/tail.h"

#include "session/recurrence_states_internal.h"

#include <string.h>

bool geodec_session_tail_routes(const geodec_session *s, int32_t first)
{
    for (int32_t i = first; !s->engine && i < s->n_blocks; i++)
        if (s->model->layer[i].router.data) return true;
    return false;
}

static geodec_status check(const geodec_session *s, const geodec_tail *t, geodec_err *err)
{
    const char *why = s->engine                                ? "integer arithmetic"
                      : s->model->streamed                     ? "experts that stream"
                      : s->rewrite                             ? "rewritten tokens"
                      : s->attnres                             ? "attention over layers"
                      : s->model->config.n_streams > 0         ? "a residual of several streams"
                      : s->n_blocks < s->model->config.n_layer ? "some of the model's blocks"
                                                               : NULL;
    if (why) GEODEC_FAIL(GEODEC_UNSUPPORTED, "the last layers of a session with %s do not run again", why);
    if (t->first < 0 || t->first >= s->n_blocks) GEODEC_FAIL(GEODEC_RANGE, "block %d of %d", t->first, s->n_blocks);
    if (s->length < 1) GEODEC_FAIL(GEODEC_RANGE, "the session has no token yet");
    if (t->n < 1 || t->n > s->max_batch || t->route[0] != GEODEC_TAIL_ROUTE_OWN)
        GEODEC_FAIL(GEODEC_RANGE, "%d rows; this session takes 1 to %d, the first with its own experts", t->n,
                    s->max_batch);
    if (s->length - 1 + t->n > s->n_ctx)
        GEODEC_FAIL(GEODEC_LIMIT, "context full: %d rows after %d tokens do not fit in %d", t->n, s->length - 1,
                    s->n_ctx);
    return GEODEC_OK;
}

/* The rows are siblings in a tree that begins before the last token. Row 0 stores again what that token stored; the
 * others come after it in the cache and in the log, where nothing is read until it is written. */
geodec_status geodec_session_tail(geodec_session *s, const geodec_tail *t, float *logits, geodec_err *err)
{
    const int64_t d = s->model->config.d_model;
    GEODEC_PASS(check(s, t, err));
    GEODEC_PASS(geodec__recurrence_read_again(s, s->length - 1, err));
    const int32_t length = s->length, after = s->recur ? s->recur->after_position : -1;
    const geodec_watch watch = s->watch;
    const geodec_watch_update watch_update = s->watch_update;
    s->watch = NULL;
    s->watch_update = NULL;
    s->length = length - 1;
    if (s->recur) {
        s->recur->after_position = -1; /* states before the token: they are not swapped with those after it */
        geodec__recurrence_begin(s, NULL, t->n);
    }
    geodec__rope_reach(s, s->length, length);
    geodec__prepare_pass(s->model, s->copies, s->pool, false);
    geodec__prepare_pass(s->model, s->prepared, s->pool, false);
    for (int32_t r = 0; r < t->n; r++) {
        s->parent[r] = -1;
        s->depth[r] = 0;
        memcpy(s->x_row[r], t->stream + r * d, (size_t)d * sizeof(float));
    }
    s->tail = t;
    for (int32_t layer = t->first; layer < s->n_blocks; layer++) geodec__forward_layer(s, layer, t->n, t->n == 1);
    s->tail = NULL;
    geodec__forward_head(s, &(geodec_batch){.n = t->n}, logits, false);
    s->length = length;
    if (s->recur) s->recur->after_position = after;
    s->watch = watch;
    s->watch_update = watch_update;
    return GEODEC_OK;
}
