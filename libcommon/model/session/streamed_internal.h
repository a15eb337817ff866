/* Internal: the experts of a model on a stream (streamed.h), as the forward pass sees them. */
#ifndef GEODEC_MODEL_STREAMED_INTERNAL_H
#define GEODEC_MODEL_STREAMED_INTERNAL_H

#include "session/expert_source_internal.h"
#include "session/model_internal.h"
#include "session/streamed.h"

#include "io/file.h"

/* Foretelling by routers (streamed_ahead.c). Index [2]: what the residual stream lacks: the attention alone; also the
 * experts of the layer before. */
enum { GEODEC__AHEAD_ROWS = 16 /* rows that are asked one by one, or at a time */ };
typedef struct geodec__ahead {
    int32_t n_expert;
    float *input; /* [GEODEC__AHEAD_ROWS][padded d_model] of a router; its rows: */
    float *norm[GEODEC__AHEAD_ROWS];
    const float *in[GEODEC__AHEAD_ROWS];
    int32_t *order;           /* [n_expert] */
    float *sorted;            /* [n_expert] their probabilities */
    float *likely;            /* [n_expert] probability that some row uses the expert */
    int32_t *ranked;          /* [n_layer][2][n_expert] what was foretold of one row, not yet counted */
    bool *asked;              /* [n_layer][2] */
    int64_t *hit;             /* [n_layer][2][n_expert] by rank */
    int64_t *seen;            /* [n_layer][2] */
    int64_t passes;           /* until now; and when it was decided what is read ahead: */
    double needed, computing; /* experts not in memory, seconds, of all passes until then */
    bool needless, rare;      /* all experts are in memory; nearly all that are needed */
    double missing, visits;   /* when that was decided */
    float least, far;         /* the same: geodec_stream_pace */
    /* Seconds of the passes that were timed: before the first layer, between the layers, and, as a part of both, of
     * passing on what is foretold, which begins reads */
    bool timing;
    int64_t timed;
    double before, between, telling;
} geodec__ahead;
geodec_status geodec__streamed_ahead_create(const geodec_model *m, geodec__ahead **out,
                                            geodec_err *err) GEODEC_MUST_USE;
void geodec__streamed_ahead_free(geodec__ahead *a);

/* A session's foreseer, and which rows of the last pass are still in the text. */
typedef struct geodec__foreseen {
    geodec_foreseer by;
    int32_t observed;     /* rows of the text that it was shown */
    int32_t base, n;      /* the text's rows base .. base + n - 1 are these rows of the last pass: */
    int32_t *row, *token; /* [max_batch]; the tokens of those rows of the last pass */
    float *early, *mixed; /* [GEODEC__AHEAD_ROWS][n_layer][n_expert]; [n_expert] */
    float *later;         /* [n_layer][n_expert] expected after the pass */
    bool asked;           /* early is of this pass */
} geodec__foreseen;
/* The rows of a pass are appended at s->length; or some of them stay, in this order. */
void geodec__streamed_appended(geodec_session *s, const geodec_batch *b);
void geodec__streamed_compacted(geodec_session *s, int32_t base, const int32_t *row, int32_t n);
/* Expects what plain decoding expects when the row `at` of the text is its newest token; that row and those before it
 * are final. Without a foreseer it does nothing. */
void geodec__streamed_expect_row(geodec_session *s, int32_t at);
/* The rows of a pass layer by layer were appended, whose streams x [n][d_model] and experts [n][n_layer][n_expert_used]
 * these are; the last rows of the session's own are theirs. forgotten: they are not any more. */
void geodec__streamed_passed(geodec_session *s, const geodec_batch *b, const float *const *x, const int32_t *expert);
void geodec__streamed_forgotten(geodec_session *s);
/* A session begins to follow its text; ends. */
geodec_status geodec__streamed_follow(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__streamed_unforeseen(geodec_session *s);

/* Slots that begin with these experts [n_layer][n_expert] and follow a run that is not made (streamed_follower.c). */
typedef struct geodec__follower geodec__follower;
typedef struct geodec__follower_reads {
    int64_t blobs, layers; /* read; with a read */
} geodec__follower_reads;
geodec_status geodec__streamed_follower_create(const geodec_session *s, const uint8_t *resident, geodec__follower **out,
                                               geodec_err *err) GEODEC_MUST_USE;
void geodec__streamed_follower_free(geodec__follower *f);
/* A pass over these rows (NULL: the first n) of the session's last pass. */
geodec__follower_reads geodec__streamed_follower_pass(geodec__follower *f, geodec_session *s, const int32_t *row,
                                                      int32_t n);
/* geodec_slots_expect. */
void geodec__streamed_follower_expect(geodec__follower *f, int32_t layer, int32_t n, const int32_t *expert,
                                      const float *share);
double geodec__streamed_follower_bytes(const geodec__follower *f);

/* Prices of drafts (streamed_price.c): around a pass of n rows that succeeded, and when rows of it are left out. */
geodec_status geodec__streamed_price_create(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__streamed_price_destroy(geodec_session *s);
void geodec__streamed_price_begin(geodec_session *s);
void geodec__streamed_price_end(geodec_session *s, int32_t n);
/* A pass layer by layer, of n rows with these experts, all of which stay. */
void geodec__streamed_price_passed(geodec_session *s, int32_t n, int32_t *expert);
/* What a foreseer expects after a pass, or, plain, after a row of it that plain decoding would have run alone: the
 * prices follow the same eviction. */
void geodec__streamed_price_expect(geodec_session *s, bool plain, int32_t layer, int32_t n, const int32_t *expert,
                                   const float *share);
void geodec__streamed_price_compacted(geodec_session *s, int32_t base, const int32_t *row, int32_t n);

typedef struct geodec__streamed {
    geodec_streaming options;
    geodec_streamed_plan plan; /* with the stream */
    int32_t n_layer;
    geodec_stream *stream;        /* NULL before the first session */
    geodec__expert_source source; /* its blobs go to the stream */
    geodec_file_map map;          /* of a store that is read through a map */
    geodec__ahead *ahead;
    int32_t *edge_file, *edge_layer;   /* of each difference of the blobs; NULL without */
    struct geodec__by_trits *by_trits; /* products of another form than exact; NULL: exact */
    int64_t slot_bytes;
} geodec__streamed;

/* Ternary experts (streamed_trits.c). edges: adds the differences to the blobs, as the options say. open: for a session
 * with other products than exact. run: of the experts that were taken. */
geodec_status geodec__streamed_trits_edges(geodec__streamed *t, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__streamed_trits_open(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__streamed_trits_run(geodec_session *s, int32_t index, const geodec_stream_blob *blob, int32_t n);
void geodec__streamed_trits_free(struct geodec__by_trits *b); /* NULL ok */

/* A session begins; with the first one the slots are reserved. */
geodec_status geodec__streamed_open(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
/* A session ends: its bytes of the budget are free. */
void geodec__streamed_leave(geodec_session *s);
void geodec__streamed_free(geodec__streamed *t);
/* Bytes of the largest panel of an expert; 0: none has panels. */
int64_t geodec__streamed_widest(const geodec__streamed *t);
/* Around a pass; only while the model streams. */
void geodec__streamed_begin(geodec_session *s, const geodec_batch *b);
void geodec__streamed_end(geodec_session *s);
/* Before the first layer, with the rows of the last pass still in place: foretells all layers. */
void geodec__streamed_foresee(geodec_session *s, const geodec_batch *b);
/* Decides from which probability on experts are read. */
void geodec__streamed_pace(geodec_session *s, bool by_layers);
/* Before the attention of a layer: foretells experts. */
void geodec__streamed_ahead(geodec_session *s, int32_t index, int64_t n);
/* When a layer's experts are chosen and their reads have begun: foretells those of the next layer. */
void geodec__streamed_ahead_next(geodec_session *s, int32_t index, int64_t n);
/* Counts what became of it: id [n_expert_used] are the experts of a pass of one row. */
void geodec__streamed_learn(geodec_session *s, int32_t index, const int32_t *id);
/* While a pass runs layer by layer (layer_pass.c). each: calls fn with the `count` experts s->needed (ascending) of a
 * layer in memory, in their order. An error goes to s->failure. compute: such an expert of the n rows of s->input, to
 * down_row. */
typedef void (*geodec__streamed_fn)(void *ctx, const geodec_stream_blob *b);
void geodec__streamed_each(geodec_session *s, int32_t index, int32_t count, geodec__streamed_fn fn, void *ctx);
void geodec__streamed_compute(geodec_session *s, int32_t index, const geodec_stream_blob *blob, int32_t n);
/* The products of the experts of a layer, whose rows are grouped (experts.c). An error goes to s->failed. */
void geodec__streamed_run(geodec_session *s, int32_t index, int64_t n);

#endif
