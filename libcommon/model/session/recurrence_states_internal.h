/* Internal: states of a session's recurrent layers.
 *
 * The state of a layer is that of its convolution, then that of its steps (recurrence.h; either may be absent). All
 * recurrent layers of a model have one shape. Numbers are float32; those of a decay recurrence are float16 in sessions
 * whose cache is not float32.
 *
 * A state has no positions to truncate. The session therefore keeps, for every token, what it adds to each state (its
 * row of the convolution, and g, b, v, k of the steps), and whole states at distances of at least GEODEC__RECUR_KEEP
 * tokens. A pass first brings the states to the session's length: they are those after the last pass, or are computed
 * again from the nearest ones with the same operations, so that no bit depends on drafts, trees or earlier returns. A
 * session that was loaded from a file has the states at its length then, but neither rows nor states before it.
 *
 * A session that forgets (model_internal.h) keeps the newest rows alone, a pass writes over the oldest, and the states
 * before the rows that are left are dropped. So does a session whose rows of all tokens would take more than
 * GEODEC__RECUR_MOST bytes, unless they are of a decay recurrence alone. Let a pass end at token e, after at most m =
 * max_batch rows. States are kept before a pass when the last ones are 256 tokens back, so at most 255 + m tokens are
 * between two of them; with back + 256 + m rows there are states between the oldest row and e - back, which can be
 * returned to. After a longer pass (layer_pass.c) only its end can be, until the next one. */
#ifndef GEODEC_MODEL_RECURRENCE_STATES_INTERNAL_H
#define GEODEC_MODEL_RECURRENCE_STATES_INTERNAL_H

#include "session/model_internal.h"

enum {
    GEODEC__RECUR_KEEP = 256,
    GEODEC__RECUR_MOST = 1 << 30,
    GEODEC__RECUR_BLOCK = 256 /* channels of a task of the convolution */
};

typedef struct geodec__recur {
    int32_t layers;                   /* recurrent ones */
    int32_t *place;                   /* [n_layer] index among them, -1 for others */
    geodec_recurrence_shape shape;    /* of each */
    bool half;                        /* states in float16 */
    int64_t stride, heads;            /* of the steps' state [d][stride] */
    int64_t unit;                     /* channels of a task: whole heads, and whole vectors */
    int64_t row;                      /* floats that a token adds in a layer: its row of the convolution [width], g
                                       * [heads], b [heads] (DELTA), v [d], k [keys][stride] */
    int64_t window, state;            /* bytes of a layer's rows of the convolution; of its state with them */
    float *log;                       /* mapped [rows][layers][row]: that of token t at t % rows */
    int32_t rows;                     /* n_ctx if all are kept */
    uint8_t *now, *after;             /* [layers][state] at `position`; after the last pass, a chain */
    int32_t position, after_position; /* after_position < 0: none */
    uint8_t *kept;                    /* mapped [most][layers][state]: ascending from `oldest`, around the end */
    int32_t *kept_at;                 /* [most] */
    int32_t oldest, n_kept, most;
    int32_t floor;  /* shorter lengths need the text again: their rows in the log or the cache were written over, or the
                     * session was loaded there (session_state.h) */
    int32_t *text;  /* mapped [n_ctx] tokens */
    float *scratch; /* [workers][(1 + max_batch) stride] */
    /* of a run, [max_batch] rows each: what the tokens add, in the log; queries and results */
    float **in, **g, **b, **v, **k, **q, **y;
    const float **tap; /* [max_batch][taps] */
} geodec__recur;

/* Nothing for a model without recurrent layers. GEODEC_NOMEM, GEODEC_LIMIT. */
geodec_status geodec__recurrence_create(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__recurrence_destroy(geodec_session *s);
/* Before a pass that begins at token `begin`, the session's length or less: if that is below the floor, the text so far
 * is read again, with the same bits. Nothing for other sessions. Errors of geodec_forward, which leave the session as
 * it was. */
geodec_status geodec__recurrence_read_again(geodec_session *s, int32_t begin, geodec_err *err) GEODEC_MUST_USE;
/* Before a pass of n rows: states at the session's length. token [n]: the text from there, NULL: as before. */
void geodec__recurrence_begin(geodec_session *s, const int32_t *token, int32_t n);
/* Work on channels first .. end - 1 of the rows of a run, before or after their steps. */
typedef struct geodec__recur_run geodec__recur_run;
typedef void (*geodec__recur_fn)(const geodec__recur_run *w, int64_t first, int64_t end);
struct geodec__recur_run {
    geodec_session *s;
    const geodec__layer *layer;
    int64_t n;
    geodec__recur_fn before, after; /* NULL: nothing */
    float *const *z, *const *dt;    /* [n] rows that they read */
    /* set by geodec__recurrence_step */
    const void *from;
    void *to;
    geodec_recurrence_rows rows;
};

/* In a pass: points in, g, b, v, k at the places of n rows of a layer in the log, for the caller to fill, and y at
 * mixed_row. k is zero behind the rank. */
void geodec__recurrence_rows(geodec_session *s, int32_t layer, int64_t n);
/* The convolution of the rows in `in`, then SiLU if asked for, into out [n] of [pad(width)]; weights as in the layer.
 */
void geodec__recurrence_convolve(geodec_session *s, int32_t layer, int64_t n, bool chain, bool silu, float *const *out);
/* The steps of the rows, with queries in q, into y. */
void geodec__recurrence_step(geodec__recur_run *w, int32_t index, bool chain);
/* The decay recurrence of a layer: gates, keys and values from the products in decay_row, key_row, value_row; what is
 * read by query_row, normalised, to mixed_row. */
void geodec__recurrence_run(geodec_session *s, int32_t layer, int64_t n, bool chain);
/* After a pass of n rows that succeeded, before the length grows. */
void geodec__recurrence_end(geodec_session *s, int64_t n, bool chain);
/* The length becomes base + n; rows base + row[i] of the log become base + i (row NULL: nothing moves). */
void geodec__recurrence_truncate(geodec_session *s, int32_t base, const int32_t *row, int32_t n);

#endif
