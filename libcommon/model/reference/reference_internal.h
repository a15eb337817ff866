/* Internal: a sequence under evaluation, and the state of a block for its derivatives. */
#ifndef GEODEC_REFERENCE_REFERENCE_INTERNAL_H
#define GEODEC_REFERENCE_REFERENCE_INTERNAL_H

#include "reference/operators_internal.h"
#include "reference/reference.h"

struct geodec_reference {
    const geodec_model *model;
    geodec_pool *pool;
    const float *divisor; /* of table 0 */
    const int32_t *token; /* [n_token] the text of the maps, of the caller; NULL: unknown */
    int64_t n_token;
};

/* What blocks read beside the stream: values at rows 0 .. n-1, or tangents or cotangents of k sequences of rows
 * first .. n-1. */
typedef struct geodec__ref_beside {
    int32_t n_layer;
    const double *entry; /* [rows][d_model] the stream at boundary 0, of the caller; read where it is added again */
    double *gentry;      /* cotangents are added here instead */
    double *input;       /* [rows][n_layer d_inputs] of each block (inputs.c); NULL: none */
    double **k, **v; /* [n_layer] keys and values, [rows][numbers], of blocks whose keys later ones read; else NULL */
    bool complete;   /* of values: blocks do not write keys */
} geodec__ref_beside;

/* One block evaluated at a sequence: all that its derivatives need. The next block overwrites it. Every buffer is one
 * of `all`; buffers that an architecture does not use stay NULL. */
enum { GEODEC__REF_BUFFERS = 48 };
/* Experts of a layer, those of the router or the adjugate ones, and what a point has of them. */
typedef struct geodec__ref_bank {
    int64_t count, used; /* experts, and those of a row */
    int64_t most;        /* times that a row may have the same one */
    double *weight;      /* [n][used] */
    int32_t *id;         /* [n][used] best first */
    int32_t *slot;       /* [n][used] place of (row, rank) */
    int32_t *start;      /* [count + 1] first slot of each expert */
    int32_t *vary;       /* [count] first slot of each expert whose row is not constant */
    int32_t *owner;      /* [n used] used row + rank of a slot */
    double *gate, *up;   /* [slots][hidden numbers] */
    double *in;          /* [n][d_model] what they read, where derivatives need it */
    double *out;         /* [slots][d_model] */
} geodec__ref_bank;

typedef struct geodec__ref_tape {
    const geodec_reference *r;
    int64_t n;
    int64_t first; /* derivatives concern rows first .. n-1; the rows before are constant */
    geodec__ref_angles angles[2];
    geodec__ref_beside *value, *change; /* of the caller: at the point, and of the tangents or cotangents */
    void *all[GEODEC__REF_BUFFERS];
    int n_all;
    /* attention */
    double *x;                               /* [n][d_model] input of the block */
    double *z;                               /* [n][d_model] normalised (either half) */
    double *q_raw, *k_raw, *v_raw;           /* before the clamp */
    double *q0, *k0, *v0;                    /* before their norms */
    double *q, *k, *v;                       /* as attention sees them */
    double *mixed;                           /* [n][n_head head_dim] attention's result */
    double *gating;                          /* [n][rows of the gate] arguments of the gate's function */
    double *gated, *mixed_normed;            /* [n][n_head head_dim] the result after the gate, and after the norm */
    double *attn_out;                        /* [n][d_model] before the post-norm */
    struct geodec__ref_recurrent *recurrent; /* recurrent_internal.h; NULL without such layers */
    /* several streams (streams.c): those before the block, the first one behind its halves, and all before they are one
     * again; [n][K] m(z) before and behind the halves; B A h of the path beside attention */
    double *streams_in, *stream_out, *streams_left;
    double *modes_in, *modes_out;
    double *laurel; /* [n][d_model] */
    /* feed-forward */
    double *middle;     /* [n][d_model] stream between the halves */
    double *gate, *up;  /* [slots][width of the layer's networks]; slots: n, or n n_expert_used, ordered by expert and
                         * then by row */
    double *hidden_raw; /* [n][width of the dense network] before the norm of hidden vectors */
    double *hidden;     /* [n][d_ff] what the last matrix multiplies, for the widest network */
    double *ffn_out;    /* [n][d_model] before the post-norm */
    double *input;      /* [n][d_inputs] of the block */
    double *input_gate, *input_out; /* [n][d_inputs], [n][d_model] products of the block's input */
    /* experts */
    double *prob;                       /* [n][n_expert] */
    geodec__ref_bank experts, adjugate; /* the weights of the latter contain their factor */
    double *routed;                     /* [n][d_model] what the router reads, with a norm of its own */
    double *chosen_out;                 /* [n][d_model] the experts' sum before its norm */
    /* the network of every row beside its experts */
    double *shared_gate, *shared_up; /* [n][d_ff_shared] */
    double *shared_raw;              /* [n][d_model] before its norm, if it has one */
    double *shared_out;              /* [n][d_model] before its factor */
    double *shared_logit;            /* [n] whose sigmoid is the factor */
} geodec__ref_tape;

geodec_status geodec__reference_tape_create(const geodec_reference *r, int64_t n, int64_t first, geodec__ref_tape *out,
                                            geodec_err *err) GEODEC_MUST_USE;
void geodec__reference_tape_destroy(geodec__ref_tape *t);

/* Block l: x [K][n][d_model] becomes its result, and the tape is filled; t->value is read, and gets the keys of the
 * block. K streams lie one behind the other (streams.c), and behind the last block x is the first of them alone. Errors
 * name the block. The derivatives work on dx and gx [K][k][n - first][d_model] in place, and need the tape of this
 * block; t->change are the tangents of what is read beside the stream, or the cotangents, which are added to. */
geodec_status geodec__reference_block(geodec__ref_tape *t, int32_t l, double *x, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_block_jvp(const geodec__ref_tape *t, int32_t l, int64_t k, double *dx,
                                          geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_block_vjp(const geodec__ref_tape *t, int32_t l, int64_t k, double *gx,
                                          geodec_err *err) GEODEC_MUST_USE;

/* beside.c. create: zeros of so many rows. check: whether the map between two boundaries can be evaluated for n rows.
 * at: the values at the stream x [n][d_model] of boundary `from`, which become t->value; token [n]: the text, where
 * check needs it. */
geodec_status geodec__reference_beside_create(const geodec_reference *r, int64_t rows, geodec__ref_beside *out,
                                              geodec_err *err) GEODEC_MUST_USE;
void geodec__reference_beside_destroy(geodec__ref_beside *b);
geodec_status geodec__reference_beside_check(const geodec_reference *r, int32_t from, int32_t to, int64_t n,
                                             geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_beside_at(geodec__ref_tape *t, int32_t from, int32_t to, const int32_t *token,
                                          const double *x, geodec__ref_beside *out, geodec_err *err) GEODEC_MUST_USE;

/* inputs.c: inputs of all blocks [n][n_layer d_inputs] from the stream x at boundary 0. jvp: of k tangents of n rows.
 * vjp overwrites ginput and adds to gx. Then a block's input, added to x in place at its end. */
geodec_status geodec__reference_inputs(const geodec_reference *r, const int32_t *token, int64_t n, const double *x,
                                       double *input, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_inputs_jvp(const geodec_reference *r, int64_t n, const double *x, int64_t k,
                                           const double *dx, double *dinput, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_inputs_vjp(const geodec_reference *r, int64_t n, const double *x, int64_t k,
                                           double *ginput, double *gx, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_input(geodec__ref_tape *t, const geodec__layer *l, int32_t index, double *x,
                                      geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_input_jvp(const geodec__ref_tape *t, const geodec__layer *l, int32_t index, int64_t k,
                                          double *dx, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_input_vjp(const geodec__ref_tape *t, const geodec__layer *l, int32_t index, int64_t k,
                                          double *gx, geodec_err *err) GEODEC_MUST_USE;

/* The halves of a block. Forward adds to x [n][d_model] and fills the tape; jvp and vjp work on dx and gx
 * [k][n - first][d_model] in place (the residual connection is included) and need the tape of this block. Rows first ..
 * n-1 depend on each other and on constant rows only, so their derivatives are a closed system. */
geodec_status geodec__reference_mix(geodec__ref_tape *t, const geodec__layer *l, double *x,
                                    geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_mix_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                        geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_mix_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gx,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Whether the feed-forward half reads the block's input too, beside the stream after attention. If so, jvp reads its
 * tangents dinput, and vjp adds to ginput, both of the shape of dx; otherwise they may be NULL. */
bool geodec__reference_reads_input(const geodec__ref_tape *t, const geodec__layer *l);
geodec_status geodec__reference_feed(geodec__ref_tape *t, const geodec__layer *l, double *x,
                                     geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_feed_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                         const double *dinput, double *dx, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_feed_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *ginput,
                                         double *gx, geodec_err *err) GEODEC_MUST_USE;

/* Streams of the residual, 1 at least. */
int64_t geodec__reference_streams(const geodec_reference *r);
/* Of a block, before its halves (predict), behind them (correct), and behind the first one (laurel): nothing where the
 * layer has no such part. dp and gp: of the stream that the first half reads; laurel adds to gp, correct sets it. */
geodec_status geodec__reference_predict(geodec__ref_tape *t, const geodec__layer *l, double *x,
                                        geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_predict_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                            geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_predict_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gx,
                                            geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_correct(geodec__ref_tape *t, const geodec__layer *l, double *x,
                                        geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_correct_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *dp, double *dx, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_correct_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gp,
                                            double *gx, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_laurel(geodec__ref_tape *t, const geodec__layer *l, double *x,
                                       geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_laurel_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                           const double *dp, double *dx, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_laurel_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gp,
                                           double *gx, geodec_err *err) GEODEC_MUST_USE;
/* The other streams from the first one, at boundary 0: x [K][n][d_model], of which the first stream is given, and the
 * derivatives at its n rows. unite: one stream again, in the place of the first; its vjp sets the others. */
geodec_status geodec__reference_spread(const geodec_reference *r, int64_t n, double *x,
                                       geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_spread_jvp(const geodec_reference *r, int64_t n, const double *x, int64_t k, double *dx,
                                           geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_spread_vjp(const geodec_reference *r, int64_t n, const double *x, int64_t k, double *gx,
                                           geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_unite(geodec__ref_tape *t, double *x, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_unite_jvp(const geodec__ref_tape *t, int64_t k, double *dx,
                                          geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_unite_vjp(const geodec__ref_tape *t, int64_t k, double *gx,
                                          geodec_err *err) GEODEC_MUST_USE;

/* z [n][d] = N(x), or x without a norm: entry of a half. */
void geodec__reference_enter(int64_t n, int64_t d, const geodec__norm *norm, const double *x, double *z);
void geodec__reference_enter_jvp(int64_t n, int64_t d, const geodec__norm *norm, const double *x, int64_t k,
                                 const double *dx, double *dz);
void geodec__reference_enter_vjp(int64_t n, int64_t d, const geodec__norm *norm, const double *x, int64_t k,
                                 const double *gz, double *gx);

/* Queries, keys or values from t->z, in the tape. Derivatives: dy [k][n - first][rows] of dz, and gz [k][n -
 * first][d_model] += that of gy, which is overwritten; scratch has gz's size. attended.c uses them too. */
typedef enum geodec__ref_projected { GEODEC__REF_QUERY, GEODEC__REF_KEY, GEODEC__REF_VALUE } geodec__ref_projected;
geodec_status geodec__reference_project(const geodec__ref_tape *t, const geodec__layer *l, geodec__ref_projected which,
                                        geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_project_jvp(const geodec__ref_tape *t, const geodec__layer *l,
                                            geodec__ref_projected which, int64_t k, const double *dz, double *dy,
                                            geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_project_vjp(const geodec__ref_tape *t, const geodec__layer *l,
                                            geodec__ref_projected which, int64_t k, double *gy, double *scratch,
                                            double *gz, geodec_err *err) GEODEC_MUST_USE;
geodec__ref_attention geodec__reference_attention_of(const geodec__ref_tape *t, const geodec__layer *l);

/* Attention's result t->mixed becomes the argument of the output matrix, *out [n][n_head head_dim] in the tape. jvp
 * works on d_o and vjp on go [k][n - first][n_head head_dim] in place, dz and gz are those of t->z; scratch has gz's
 * size. */
geodec_status geodec__reference_gate(const geodec__ref_tape *t, const geodec__layer *l, const double **out,
                                     geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_gate_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, const double *dz,
                                         double *d_o, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_gate_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *go,
                                         double *scratch, double *gz, geodec_err *err) GEODEC_MUST_USE;

/* One feed-forward network over m rows: y [m][d_model] from z, the point's gate and up [m][d_ff]. */
typedef struct geodec__ref_ffn {
    geodec__matrix gate, up, down; /* data of up NULL: no gate, and `gate` is the first matrix */
    const float *gate_bias, *up_bias, *down_bias;
    geodec__ref_activation activation;
    bool cut; /* the gate is cut at cut_at */
    double cut_at;
    const float *scale;       /* [d_ff] divides the hidden vectors; NULL: none */
    const geodec__norm *norm; /* of the hidden vectors; NULL or without weights: none */
    int64_t m;
    double *g, *u, *h; /* written by forward, read by the derivatives; h: the argument of the norm */
} geodec__ref_ffn;
/* hidden [m][d_ff] scratch. */
geodec_status geodec__reference_ffn_run(const geodec_reference *r, const geodec__ref_ffn *f, const double *z,
                                        double *hidden, double *y, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_ffn_jvp(const geodec_reference *r, const geodec__ref_ffn *f, int64_t k,
                                        const double *dz, double *dy, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_ffn_vjp(const geodec_reference *r, const geodec__ref_ffn *f, int64_t k,
                                        const double *gy, double *gz, geodec_err *err) GEODEC_MUST_USE;

/* The expert network: t->ffn_out [n][d_model] from `in`, with experts chosen by `routed`, which may be the same.
 * Derivatives are [k][n - first][d_model]; grouted and gin are added to. */
geodec_status geodec__reference_experts(geodec__ref_tape *t, const geodec__layer *l, const double *routed,
                                        const double *in, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_experts_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *drouted, const double *din, double *dy,
                                            geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_experts_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *gy, double *grouted, double *gin,
                                            geodec_err *err) GEODEC_MUST_USE;

/* The adjugate experts are added: to ffn_out, and to dy; gy becomes the cotangent of what they read, and grouted is
 * added to. A layer without them changes nothing. */
geodec_status geodec__reference_adjugate(geodec__ref_tape *t, const geodec__layer *l, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_adjugate_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                             const double *drouted, double *dy, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_adjugate_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gy,
                                             double *grouted, geodec_err *err) GEODEC_MUST_USE;

/* The shared network is added: to ffn_out, to dy and to gz, [..][d_model] as above. A layer without one changes
 * nothing. */
geodec_status geodec__reference_shared(geodec__ref_tape *t, const geodec__layer *l, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_shared_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                           const double *dz, double *dy, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_shared_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                           const double *gy, double *gz, geodec_err *err) GEODEC_MUST_USE;
/* y *= the factor of the sum of experts and shared network, over n values. */
void geodec__reference_scale_mixture(const geodec__ref_tape *t, const geodec__layer *l, int64_t n, double *y);

/* The head on m rows of the stream: logits [m][n_vocab]. The derivatives take x, and logits as the forward pass made
 * them (read only with a final soft-cap; may be NULL without). */
geodec_status geodec__reference_head(const geodec_reference *r, int64_t m, const double *x, double *logits,
                                     geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_head_jvp(const geodec_reference *r, int64_t m, const double *x, const double *logits,
                                         int64_t k, const double *dx, double *dlogits, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_head_vjp(const geodec_reference *r, int64_t m, const double *x, const double *logits,
                                         int64_t k, const double *glogits, double *gx, geodec_err *err) GEODEC_MUST_USE;

/* Rows of attention's queries and of its gate, which are 0 without a gate. */
static inline int64_t geodec__reference_query_rows(const geodec__layer *l)
{
    return l->gated_query ? l->o.cols : l->q.rows;
}
static inline int64_t geodec__reference_gate_rows(const geodec__layer *l)
{
    return l->gated_query ? l->o.cols : l->attn_gate.data ? l->attn_gate.rows : 0;
}

/* y [n][rows] = W z of n rows, W the queries' matrix or the gate's, which may be parts of one (gated_query.c); and
 * gz [n][d_model] = W' gy. */
geodec_status geodec__reference_queries(const geodec__ref_tape *t, const geodec__layer *l, bool gate, int64_t n,
                                        const double *z, double *y, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_queries_vjp(const geodec__ref_tape *t, const geodec__layer *l, bool gate, int64_t n,
                                            double *gy, double *gz, geodec_err *err) GEODEC_MUST_USE;

/* out[0 .. count-1]: zeroed arrays of size[i] values each, in one piece of memory; the caller frees out[0], which is
 * NULL before. */
geodec_status geodec__reference_scratch(int count, const int64_t *size, double **out, geodec_err *err) GEODEC_MUST_USE;

/* dst += src over n values. */
void geodec__reference_add(int64_t n, const double *src, double *dst);
/* y [n][width] += bias [width], if there is one. */
void geodec__reference_bias(int64_t n, int64_t width, const float *bias, double *y);
geodec__ref_activation geodec__reference_activation(const geodec__ref_tape *t, const geodec__layer *l);
/* x *= the factor of what each half of a block adds. */
void geodec__reference_scale(const geodec__ref_tape *t, int64_t n, double *x);

#endif
