/* Internal: shared by the model's files: weights bound to the map, and the state of a session. */
#ifndef GEODEC_MODEL_MODEL_INTERNAL_H
#define GEODEC_MODEL_MODEL_INTERNAL_H

#include "kernels/kernels_internal.h"
#include "kernels/products_internal.h"
#include "session/prepare_internal.h"
#include "session/weights_internal.h"

/* Reads and limits every hyper-parameter. */
geodec_status geodec__config_read(const geodec_gguf *g, geodec_model_config *c, geodec_err *err) GEODEC_MUST_USE;
/* What the keys say of single layers: windows, rotation, constants of activations. layer [n_layer], zero before. */
geodec_status geodec__config_layers(const geodec_gguf *g, const geodec_model_config *c, geodec__layer *layer,
                                    geodec_err *err) GEODEC_MUST_USE;
/* Binds every tensor to its place; refuses wrong shapes, missing and unexpected tensors. Needs gguf and config. */
geodec_status geodec__weights_bind(geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* Calls fn for every matrix that a pass multiplies by, an expert at a time. Includes a tied head, not an embedding that
 * is only looked up. */
void geodec__weights_each(const geodec_model *m, void (*fn)(void *ctx, const geodec__matrix *w), void *ctx);
/* Compares two matrices, or structures that begin with one, by their place in the file: for qsort and bsearch. */
static inline int geodec__weights_by_place(const void *a, const void *b)
{
    const geodec__matrix *x = a, *y = b;
    return (x->data > y->data) - (x->data < y->data);
}

/* Matrices that are not in the file: factors of low rank, copied into one block of the model's memory. */
/* Bytes of a float16 (half) or float32 matrix in the block; the next one starts on a vector boundary. */
int64_t geodec__factors_room(int64_t rows, int64_t cols, bool half);
/* Copies x [rows][cols] to *at, describes it in *out (which borrows *at) and advances *at. GEODEC_NUMERIC: a number
 * that is not finite in that type. */
geodec_status geodec__factors_put(const float *x, int64_t rows, int64_t cols, bool half, uint8_t **at,
                                  geodec__matrix *out, geodec_err *err) GEODEC_MUST_USE;

/* A cache of low rank (lowkv.h). */
typedef struct geodec__low {
    int32_t k_group, v_group; /* 0: not projected */
    int64_t k_rank, v_rank;
    float *k_out;  /* [n_layer][n_kv_head head_dim][k_rank] */
    uint8_t *data; /* owns the layers' new matrices */
} geodec__low;
void geodec__lowkv_free(geodec__low *low);

/* One matrix of a job: y = w x. */
typedef struct geodec__side {
    geodec__matrix w;
    const float *const *x;
    float *const *y;
    const float *bias; /* [rows] NULL: none */
    /* set by geodec__jobs_run: the weights' panels (format NULL: in floats) or columns (data NULL: none), and x rounded
     * for them, or packed for many rows in floats (NULL: unchanged) */
    geodec__panels panels;
    geodec__columns columns;
    const uint8_t *made;
    bool placed; /* the caller set w.data and panels: the weights are in a slot (streamed.h) */
} geodec__side;

/* One matrix product of a dispatch; with up.w.data set, the fused half of a feed-forward: main.y = act(main) * up, act
 * as the configuration says. */
typedef struct geodec__job {
    geodec__side main, up;
    int64_t n;                  /* rows */
    bool plain;                 /* without up: main.y = act(main) */
    const float *scale;         /* [n] factors of main and up, before act; NULL: none */
    const geodec__layer *layer; /* with act */
} geodec__job;

static inline geodec__job geodec__job_of(geodec__matrix w, const float *const *x, float *const *y, int64_t n)
{
    return (geodec__job){.main = {.w = w, .x = x, .y = y}, .n = n};
}

/* State of one worker for a tile of attention: queries of at most `queries` heads of rows. */
typedef struct geodec__attend_scratch {
    float *data;                 /* owns the floats below and the queries' scores */
    float *k, *v;                /* [GEODEC__KEYS * attend_dim + 16] a block as floats */
    float *low;                  /* the same for coefficients of a block, before they are rearranged; NULL without */
    float *total, *split;        /* [queries][state] */
    geodec__attend_query *query; /* [queries] */
    geodec__attend_query **list; /* [queries] those that see the block */
} geodec__attend_scratch;

/* Scratch memory of one worker. */
typedef struct geodec__worker {
    float *weights; /* scratch of a product (kernels_internal.h) */
    uint8_t *panel; /* one panel, while the weights are not packed */
    geodec__attend_scratch attend;
    geodec__job *job;    /* as a member of a team (team_internal.h): [max(3, n_expert)] */
    int32_t *expert_end; /* [n_expert] */
} geodec__worker;

/* A layer's part of a block of the cache. Layout: see cache.c. */
typedef struct geodec__cache_shape {
    int64_t offset, bytes;    /* in a block */
    int64_t k_heads, v_heads; /* pieces: key heads, or groups of them whose coefficients are cached (lowkv.h) */
    int64_t k_dim, v_dim;     /* numbers of a row in a piece */
    int64_t k_step, v_step;   /* distance of pieces */
    int64_t v;                /* offset of the values */
    int64_t k_scale, v_scale; /* offset of a piece's scales */
} geodec__cache_shape;

typedef struct geodec__cache {
    uint8_t *data; /* [blocks][block] */
    int64_t bytes, block;
    int64_t blocks;             /* in memory */
    int32_t layers, *place;     /* layers with keys of their own; [n_layer] index among them, -1 for others */
    int64_t seen;               /* rows that any of them sees, with the row's own; INT64_MAX: all */
    geodec__cache_shape *shape; /* [n_layer] of others: that of the layer whose keys they read */
    int64_t k_width, v_width;   /* numbers of a row in the widest layer */
    int64_t widest;             /* numbers of the widest piece's row */
} geodec__cache;

typedef struct geodec__attnres geodec__attnres;
typedef struct geodec__rewrite geodec__rewrite;

struct geodec_session {
    const geodec_model *model;
    const geodec__kernels *kernels;
    geodec_pool *pool;
    geodec_arithmetic arithmetic;
    geodec_kv_type kv;
    int32_t n_ctx, max_batch, length, n_blocks;
    int32_t max_pass; /* rows of a pass by layers (layer_pass.c), at least max_batch */
    int32_t back;     /* rows by which it can go back at once, if it drops any (geodec__session_forgets) */
    geodec_counters counters;
    struct geodec_engine *engine; /* integer arithmetic (integer_session.h): then most of the rest is not used */
    const struct geodec_engine_scores_source *scores; /* of the engine; NULL: direct sums */
    void *scores_ctx;
    int32_t *integer_logits; /* [max_batch][n_vocab] Q16 */
    geodec__cache cache;
    int64_t attend_dim;           /* dimensions of attention: of the widest head, or the coefficients of a value */
    float **both_row;             /* [max_batch][2 n_head head_dim] queries and gates of each head; NULL: apart */
    float **wide_row;             /* [max_batch][n_head][attend_dim] queries padded with zeros; NULL: unpadded */
    float *partial;               /* states of splits that are tasks of their own (attention.c), NULL with one worker */
    double *rope_step;            /* [tables][rope_dim/2] */
    int32_t rope_first, rope_end; /* positions whose angles are in the tables */
    int32_t rope_rows;            /* of a table: position p is in row p % rope_rows */
    float *cosine, *sine; /* [tables][rope_rows][rope_dim/2], times the magnitude; which table: geodec__layer.rope */
    /* activations, row strides padded: residual (of several streams: geodec__streams_width), normalised, query, key and
     * value of the batch, attention, feed-forward
     */
    float **decay_row;               /* [max_batch][d_model] of recurrent layers; NULL without */
    float **gating_row;              /* [max_batch][n_head head_dim] of attention's gate; NULL without */
    float **inputs_row, **inner_row; /* [max_batch][n_layer d_inputs], [d_inputs]; NULL without (layer_inputs.c) */
    float **entry_row;               /* [max_batch][d_model] embeddings that are added again; NULL without */
    float **own_row;                 /* [max_batch][d_model] input of experts with a norm of their own; NULL without */
    float *alibi;                    /* [n_head] slopes; NULL without */
    struct geodec__recur *recur;     /* states of recurrent layers (recurrence_states_internal.h), NULL without */
    struct geodec__recurrent_rows *recurrent; /* rows of such layers (recurrent.c), NULL without */
    float **x_row, **norm_row, **query_row, **key_row, **value_row, **mixed_row, **gate_row, **up_row, **down_row;
    /* of dense layers and shared networks of a mixture: gate and up [max_batch][max(d_ff_dense, d_ff_shared)], result
     * of the shared network [max_batch][d_model]; NULL without them */
    float **dense_gate_row, **dense_up_row, **shared_row;
    float **low_row; /* [3 max_batch] projected inputs of factored slots; NULL without any */
    geodec_watch watch;
    void *watch_ctx;
    geodec_watch_update watch_update;
    void *watch_update_ctx;
    float **update_row;       /* [max_batch] output of a half layer; NULL without observer */
    geodec__rewrite *rewrite; /* NULL: off */
    geodec__attnres *attnres; /* NULL: off */
    const float **input;      /* [max(max_batch, assignments)] rows gathered for a product */
    float **output;           /* [max_batch] selected rows of logits */
    bool *want;               /* [max_batch] all false between calls */
    int32_t *parent, *depth;  /* [max_batch] of the current batch; in a chain the parent of row i is i - 1 */
    /* experts */
    float **router_row;   /* [max_batch][2 pad(n_expert)] logits, scores */
    int32_t *expert_id;   /* [max_batch][n_layer][n_expert_used] best first */
    float *expert_weight; /* the same shape */
    int32_t *expert_end;  /* [n_expert] where each expert's gathered rows end */
    float *place_weight;  /* of the gathered rows, where weights multiply the input; NULL otherwise */
    /* of adjugate experts, of the current layer; NULL without: [max_batch][n_expert_used] ids (-1: one that came before
     * in the row, or none) and weights; hidden numbers of the gathered rows */
    int32_t *adjugate_id;
    float *adjugate_weight, **adjugate_gate_row, **adjugate_up_row;
    int32_t *assigned;                 /* [max_batch][n_expert_used] index of (row, rank) among the gathered rows */
    struct geodec__foreseen *foreseen; /* streamed_ahead.c; NULL: no foreseer */
    struct geodec__priced *priced;     /* streamed_price.c; NULL: nothing streams */
    struct geodec__resident_price *resident_price; /* NULL: passes are not followed */
    int32_t *needed;                               /* [n_expert] of a layer, while experts stream */
    int64_t claimed;                               /* bytes of the budget, while experts stream */
    geodec_status status;                          /* of the pass, while experts stream */
    geodec_err failure;
    geodec__job *job;    /* [max(3, n_expert)] */
    const uint8_t *then; /* weights that are read after the jobs; NULL: unknown (geodec__jobs_then) */
    geodec__prepare *copies;
    geodec__prepare *columns; /* NULL if this instruction set does not use them */
    /* products in integers: NULL where the model has no weights for them */
    geodec__prepare *prepared;
    const geodec__product *product;
    uint8_t *made; /* [made_size][made_bytes] inputs of one dispatch, rounded or packed, 32 numbers at a time */
    int64_t made_size, made_bytes;
    geodec__worker *worker; /* [threads] */
    int n_workers;
    int32_t team_rows; /* division of passes of several rows by rows (team_internal.h) */
    /* of a member's view: */
    struct geodec__team *team;      /* NULL outside of one */
    int32_t first;                  /* its first row in the batch */
    bool continued;                 /* rows of its text ran before it in the same pass (layer_pass.c) */
    const struct geodec_tail *tail; /* while it runs (tail.h); NULL: every row takes its own experts */
};

/* Zeros behind n rows of `width` numbers, up to a whole vector, as a product needs them: rows used for more than one
 * width keep those of a longer one. */
static inline void geodec__rows_end(float *const *row, int64_t n, int64_t width)
{
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = width; i < geodec__pad(width); i++) row[r][i] = 0;
}

/* Part `at` of a row, x [part]; y may be x. Without a norm nothing happens. */
static inline void geodec__norm_part(const geodec__kernels *k, const geodec__norm *w, int64_t at, const float *x,
                                     float *y)
{
    const int64_t from = w->each ? at * w->part : 0;
    if (!w->weight) return;
    if (w->centred) {
        k->layer_norm(x, w->weight + from, w->bias ? w->bias + from : NULL, w->part, w->eps, y);
        return;
    }
    k->rms_norm(x, w->weight + from, w->part, w->eps, y);
    for (int32_t i = 0; w->bias && i < w->part; i++) y[i] += w->bias[from + i];
}
/* A whole row, x [width]. */
static inline void geodec__norm_row(const geodec__kernels *k, const geodec__norm *w, const float *x, float *y)
{
    for (int64_t i = 0; w->weight && i < w->width; i += w->part) geodec__norm_part(k, w, i / w->part, x + i, y + i);
}

/* Pointers to n rows of zeros, and the rows behind them in the same memory; freed with geodec_mem_free. */
geodec_status geodec__session_rows(float ***row, int64_t n, int64_t width, geodec_err *err) GEODEC_MUST_USE;
/* Lines of geodec_model_print on all that a pass depends on beside the weights. */
void geodec__model_print_shape(FILE *out, const geodec_model *m);
/* Whether rows that no window sees any more, and what they added to recurrent states, are written over. */
bool geodec__session_forgets(const geodec_session *s);
/* The shortest length that the cache still serves once rows before `end` were written. */
int64_t geodec__cache_floor(const geodec_session *s, int64_t end);
/* Zeros in place of rows that were dropped, in the last block of the text. */
void geodec__cache_blank(geodec_session *s);
/* The part of a layer with keys of its own in a block, s->cache.shape[layer].bytes bytes. */
uint8_t *geodec__cache_layer(const geodec_session *s, int64_t layer, int64_t block);
/* Halves of a layer of a pass over n rows of x_row. attend: to the normalised stream behind the attention, in norm_row.
 * feed: the feed-forward, or the experts; finish: adds its output to x_row, that in down_row or (experts) of the
 * experts. norm: writes the normalised rows to norm_row, and points s->input at them. */
void geodec__forward_attend(geodec_session *s, int32_t index, int64_t n, bool chain);
void geodec__forward_feed(geodec_session *s, int32_t index, int64_t n);
void geodec__forward_finish(geodec_session *s, int32_t index, int64_t n, bool experts);
void geodec__forward_norm(geodec_session *s, const geodec__norm *norm, int64_t n);
/* layer_inputs.c: inputs of each layer of n tokens, whose embeddings are in x_row; their part of a layer, at its end.
 */
enum { GEODEC__INPUTS_AT_ONCE = 256 };
geodec_status geodec__layer_inputs_create(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__layer_inputs_embed(geodec_session *s, const int32_t *token, int64_t n);
void geodec__layer_inputs_run(geodec_session *s, const geodec__layer *l, int32_t index, int64_t n);
/* streams.c: a residual of several streams (config.n_streams > 0) and a path of low rank beside attention. width:
 * numbers of a row of x_row. of: a stream of a row. enter: the others from the first; predict, correct: before and
 * behind the halves of a layer; leave: one stream again, in the place of the first. laurel: the path's output from the
 * normed input in s->input, and its addition to the stream behind attention; nothing in layers without one. */
enum { GEODEC__STREAMS = 8 /* at most */ };
int64_t geodec__streams_width(const geodec_model *m);
float *geodec__streams_of(const geodec_session *s, int64_t row, int64_t stream);
void geodec__streams_enter(geodec_session *s, int64_t n);
void geodec__streams_predict(geodec_session *s, const geodec__layer *l, int64_t n);
void geodec__streams_correct(geodec_session *s, const geodec__layer *l, int64_t n);
void geodec__streams_leave(geodec_session *s, int64_t n);
void geodec__streams_laurel(geodec_session *s, const geodec__layer *l, int64_t n);
void geodec__streams_add_laurel(const geodec_session *s, const geodec__layer *l, int64_t row);
/* Embeddings of a batch into x_row. */
void geodec__forward_embed(geodec_session *s, const geodec_batch *b);
/* Copies what is captured of a layer: n rows of s, which are rows first .. of a batch of `all`. */
void geodec__forward_capture(const geodec_session *s, const geodec_capture *capture, int32_t layer, int64_t first,
                             int64_t n, int64_t all);
/* A layer of a pass over n rows of x_row, and logits of those that the batch wants (packed or not: forward.c). */
void geodec__forward_layer(geodec_session *s, int32_t index, int64_t n, bool chain);
void geodec__forward_head(geodec_session *s, const geodec_batch *b, float *logits, bool packed);
/* Bytes of the cache and the work space. */
int64_t geodec__session_bytes(const geodec_session *s);
/* Announces the matrix that is read after the next geodec__jobs_run, whose end prefetches it. Optional. */
void geodec__jobs_then(geodec_session *s, geodec__matrix w);
/* Runs all jobs in one dispatch to the pool (or here when they are small). */
void geodec__jobs_run(geodec_session *s, int64_t n_jobs);
/* Feed-forward of all n rows with experts, chosen here unless the architecture did so before: reads norm, writes each
 * choice's output to down. */
void geodec__experts_run(geodec_session *s, const geodec__layer *layer, int32_t index, int64_t n);
/* Jobs of a dispatch at most, apart from those of experts. */
enum { GEODEC__JOBS = 5 };
/* Runs the layer's router on n rows, which leaves a score of every expert in `out`: logits, or for a torus the negative
 * squared distance. */
void geodec__router_scores(geodec_session *s, const geodec__layer *layer, const float *const *in, float *const *out,
                           int64_t n);
/* Router and choice of the experts of all n rows of s->input. */
void geodec__experts_route(geodec_session *s, const geodec__layer *layer, int32_t index, int64_t n);
/* Biases and factors of an expert's job, whose rows begin at `first` of the gathered ones: of gate and up, or of down.
 */
void geodec__experts_adjust(const geodec_session *s, const geodec__layer *l, int32_t e, int32_t first, bool gated,
                            geodec__job *j);
/* Chooses for row r. p [2 pad(n_expert)]: the router's scores, overwritten. id, weight [n_expert_used], best first;
 * ties go to the lowest id. */
void geodec__experts_choose(const geodec_session *s, const geodec__layer *layer, int64_t r, float *p, int32_t *id,
                            float *weight);
/* Numbers by which the experts of a row are chosen, largest first, from its logits in p, which may change: p itself or
 * behind it. */
const float *geodec__experts_order(const geodec_session *s, const geodec__layer *layer, float *p);
/* Norm of n streams and logits of the layer's router, in the rows given. */
void geodec__router_run(geodec_session *s, int32_t layer, const float *const *stream, float *const *norm,
                        const float **in, float *const *out, int64_t n);
/* After the experts of all n rows, the adjugate experts; the sums of the former are then in norm. */
void geodec__experts_adjugate(geodec_session *s, const geodec__layer *layer, int32_t index, int64_t n);
/* The shared network of all n rows, for the sum; reads norm. */
void geodec__experts_shared(geodec_session *s, const geodec__layer *layer, int64_t n);
/* Adds an expert's output y [d_model], or the shared network's of a row, to a sum. */
void geodec__experts_add(const geodec_session *s, float weight, const float *y, float *sum);
void geodec__experts_add_shared(const geodec_session *s, const geodec__layer *l, int64_t row, float *sum);
/* The weighted sum of a row's experts and shared network after that; overwrites the row of norm and returns it. */
float *geodec__experts_sum(geodec_session *s, int32_t index, int64_t row);
/* Rotates query and key rows, scales the query, appends key and value to the cache, and writes every head's weighted
 * sum of values to mixed. */
void geodec__attention_run(geodec_session *s, int32_t layer, int64_t n, bool chain);
/* Work space; needs the workers. */
geodec_status geodec__attention_create(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__attention_destroy(geodec_session *s);
/* Cache memory, touched as it fills; refuses more than this machine's memory. */
geodec_status geodec__cache_create(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__cache_destroy(geodec_session *s);
/* Stores the key [k_dim], the value [v_dim] or both of a row, of a head or of a group of heads with coefficients. */
void geodec__cache_put_key(geodec_session *s, int64_t layer, int64_t head, int64_t row, const float *k);
void geodec__cache_put_value(geodec_session *s, int64_t layer, int64_t head, int64_t row, const float *v);
void geodec__cache_put(geodec_session *s, int64_t layer, int64_t head, int64_t row, const float *k, const float *v);
/* A block in place, with the keys of one piece and the values of another. */
geodec__attend_keys geodec__cache_pieces(const geodec_session *s, int64_t layer, int64_t k_head, int64_t v_head,
                                         int64_t block);
/* A block's keys [k_dim][GEODEC__KEYS] and its first `rows` values [rows][v_dim] as float32; the last vector of values
 * is written whole. */
void geodec__cache_decode_keys(const geodec_session *s, const geodec__attend_keys *keys, float *k);
void geodec__cache_decode_values(const geodec_session *s, const geodec__attend_keys *keys, int64_t rows, float *v);
void geodec__cache_decode(const geodec_session *s, const geodec__attend_keys *keys, int64_t rows, float *k, float *v);
/* Decodes one row into lane `lane` of such arrays k and v. */
void geodec__cache_row(const geodec_session *s, int64_t layer, int64_t head, int64_t row, int64_t lane, float *k,
                       float *v);
/* Decodes the key of one row, its numbers `step` apart; and the value of one row. */
void geodec__cache_key(const geodec_session *s, int64_t layer, int64_t head, int64_t row, float *k, int64_t step);
void geodec__cache_value(const geodec_session *s, int64_t layer, int64_t head, int64_t row, float *v);
/* shape: sets the shape of the cache's pieces. keys: rebuilds the keys of n positions from coefficients [k_rank][step],
 * rotates them and writes them into lanes of k [head_dim][GEODEC__KEYS]. */
void geodec__lowkv_shape(const geodec_model *m, int32_t layer, geodec__cache_shape *a);
void geodec__lowkv_keys(const geodec_session *s, int32_t layer, int64_t head, int64_t position, int64_t n,
                        const float *coefficient, int64_t step, float *k);
/* Around a pass that succeeded, while s->resident_price is set (resident_price.h). */
void geodec__resident_price_begin(geodec_session *s);
void geodec__resident_price_end(geodec_session *s, const geodec_batch *b);
void geodec__resident_price_destroy(geodec_session *s);
/* create: tables of angles. reach: computes their rows of positions begin .. end - 1, at most max_batch of them if the
 * session forgets. apply: rotates `heads` heads of x by one table. */
geodec_status geodec__rope_create(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__rope_reach(geodec_session *s, int32_t begin, int32_t end);
void geodec__rope_apply(const geodec_session *s, const geodec__layer *l, float *x, int32_t heads, int64_t position);

/* recurrent.c. Nothing for models without layers of those kinds. widest: numbers of the widest row that their products
 * read. */
geodec_status geodec__recurrent_create(geodec_session *s, geodec_err *err) GEODEC_MUST_USE;
void geodec__recurrent_destroy(geodec_session *s);
int64_t geodec__recurrent_widest(const geodec_model *m);
int64_t geodec__recurrent_bytes(const geodec_session *s);
/* From the normalised stream in s->input to mixed_row, the output matrix's input. */
void geodec__recurrent_run(geodec_session *s, int32_t index, int64_t n, bool chain);
/* Of a layer that attends too: from the normalised stream in norm_row; the output is added to down_row. */
void geodec__recurrent_beside(geodec_session *s, int32_t index, int64_t n, bool chain);

/* rewrite.c: shows the observer the rows of a layer that n new ones complete, and stores what it leaves. */
void geodec__rewrite_run(geodec_session *s, int32_t layer, int64_t n);
void geodec__rewrite_destroy(geodec__rewrite *w);
/* attnres.h. Off leaves s->attnres NULL. */
geodec_status geodec__attnres_create(geodec_session *s, const geodec_attnres *how, geodec_err *err) GEODEC_MUST_USE;
void geodec__attnres_destroy(geodec__attnres *a);
const geodec_attnres *geodec__attnres_how(const geodec__attnres *a);
/* Only while attnres is on. begin: x of the row holds its embedding. add: adds the output y of half a layer to x and
 * recombines the stream. */
void geodec__attnres_begin(geodec_session *s, int64_t row);
void geodec__attnres_add(geodec_session *s, int64_t row, int32_t layer, bool feed, const float *y);

#endif
