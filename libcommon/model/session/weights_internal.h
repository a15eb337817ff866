/* The weights of an open model, bound to the file's map. Read by the forward pass and by the float64 reference. */
#ifndef GEODEC_MODEL_WEIGHTS_INTERNAL_H
#define GEODEC_MODEL_WEIGHTS_INTERNAL_H

#include "base/arena_internal.h"
#include "kernels/matrix_internal.h"
#include "recurrence/recurrence.h"
#include "session/model.h"
#include "session/recurrent_internal.h"
#include "streaming/store.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { GEODEC__EXPERT_GROUPS = 256 /* at most */ };

/* A norm of rows: y = (x - m) / sqrt(mean of (x - m)^2 + eps) * weight + bias, with m the mean of x if `centred` (layer
 * norm: Ba et al. 2016), else 0 (RMS norm: Zhang and Sennrich 2019). A row of several parts, as heads, is normed part
 * by part. */
typedef struct geodec__norm {
    const float *weight; /* [pad(part)], or [pad(width)] with `each`; ones if the file has none. NULL: no norm */
    const float *bias;   /* the same shape; NULL: none */
    int32_t width, part; /* numbers of a row, and of a part */
    bool each;           /* each part has weights of its own */
    bool centred;
    float eps;
} geodec__norm;

/* A recurrent layer (recurrent_internal.h). NULL, or data NULL, where there is no such part. Vectors are float32. */
typedef struct geodec__recurrent {
    geodec__mixer how;
    geodec_recurrence_shape shape;
    geodec__matrix in;
    geodec__matrix gate, alpha, beta; /* DELTA: Wz, Wa, Wb, each [..][d_model] */
    geodec__matrix x, dt;             /* SELECTIVE: Wx [dt's cols + 2 r][d], Wdt [heads][..] */
    geodec__matrix out;               /* beside attention: [d_model][d]; else it is the layer's o */
    const float *conv, *conv_bias;    /* [taps][width], [width] */
    const float *a;                   /* [d][stride] with SCAN, zero behind r; else [heads] */
    const float *dt_bias, *skip;      /* [heads]; D [heads] */
    geodec__norm norm;                /* of y: SELECTIVE: its groups; DELTA: its heads */
    geodec__norm dt_norm, b_norm, c_norm;
    bool grouped;      /* the rows of `in` */
    bool grouped_beta; /* beta has the rows of alpha too */
    bool dt_last;      /* Wx gives B, C, dt; else dt, B, C */
    bool beside;       /* both this and attention read x, and their outputs are added */
} geodec__recurrent;

/* NULL (or data NULL) where the architecture has no such part. Vectors are float32, padded with zeros. */
typedef struct geodec__layer {
    geodec__norm attn_norm, ffn_norm;           /* before attention and feed-forward */
    geodec__norm attn_post_norm, ffn_post_norm; /* of the block's output, before it is added (gemma) */
    geodec__norm q_norm, k_norm;                /* of each head, or of all together (olmoe) */
    geodec__norm expert_norm;                   /* of the layer's input, for the experts (arctic); with router_norm of
                                                 * the stream behind attention */
    geodec__norm router_norm;                   /* of that stream, for the router (gemma4) */
    geodec__norm expert_post_norm, shared_post_norm; /* of the experts' sum, of the shared network's output */
    geodec__norm v_norm;                             /* of each head's value */
    geodec__norm mixed_norm, hidden_norm; /* of attention's result and of the gated hidden vector, before o and
                                           * down (bitnet) */
    const float *q_bias, *k_bias, *v_bias, *o_bias;             /* [pad(rows)] */
    const float *gate_bias, *up_bias, *down_bias, *router_bias; /* [pad(rows)], with experts [n_expert][pad(rows)] */
    const float *hidden_scale;                                  /* [d_ff] divides the activation (mpt) */
    const float *sinks; /* [n_head] logits of a key without a value, in the sum of exponentials only */
    float xielu[4];     /* alpha of positive and negative numbers, beta, eps */
    float stream_scale; /* layer_output_scale; 0: 1 */
    geodec__matrix q, k, v, o;
    geodec__matrix input_gate, input_out; /* of the layer's own input (layer_inputs.c); data NULL: none */
    geodec__norm input_norm;
    const float *input_scale; /* [pad(d_model)] of the stream that its gate reads; NULL: 1 */
    /* of several streams (streams.c): R [K][d_model] behind a norm, P [K K][pad(K)], Q [K][pad(K)] */
    geodec__matrix streams_router;
    geodec__norm streams_norm;
    const float *streams_predict, *streams_correct;
    geodec__matrix laurel_in, laurel_out; /* A, B of the path beside attention (streams.c); data NULL: none */
    geodec__norm laurel_norm;
    bool cut; /* the gate is cut: max(0, g - mean(g) - cut_at deviation(g)) goes through the activation */
    float cut_at;
    geodec__matrix attn_gate; /* [n_head], or [n_head head_dim]: factors of attention's result, through a function */
    bool gated_query;         /* q [n_head][query, gate]: the factors are sigmoids of the gate */
    /* A recurrent layer: q, k [recur_rank][d_model], v, o and decay [d_model][d_model]. decay data NULL: attention. */
    geodec__matrix decay;
    const float *decay_bias;       /* [pad(d_model)] of the gates */
    geodec__norm read_norm;        /* of what is read from the state */
    geodec__recurrent recurrent;   /* in place of attention, unless it is beside it */
    const float *expert_place;     /* [n_expert][3] positions on the torus */
    geodec__matrix router;         /* data NULL in a dense layer */
    geodec__matrix gate, up, down; /* with experts: of expert 0; the others by geodec__expert. Of a store: data NULL */
    geodec__matrix adjugate_gate, adjugate_up, adjugate_down; /* of adjugate expert 0; data NULL: none */
    const float *expert_bias;   /* [pad(n_expert)] added to the scores for the choice only */
    const float *expert_factor; /* [pad(n_expert)] of the weights of the chosen; NULL: ones */
    /* The network of every row beside its experts, and the row [1][d_model] whose product's sigmoid is its factor (data
     * NULL: 1). */
    geodec__matrix shared_gate, shared_up, shared_down, shared_factor;
    /* First matrix [k][cols] of a factored slot, whose own matrix is then [rows][k]. data NULL: not factored; slots
     * that share it have the same data. */
    geodec__matrix basis[GEODEC_SLOTS];
    int32_t n_head, n_kv_head; /* of queries; of keys and values */
    int32_t head_dim, v_dim;   /* numbers of a query or key, of a value */
    int32_t d_ff;              /* of the network of every row; 0: none */
    int32_t kv_layer;          /* whose keys and values it reads: its own, or an earlier one's (gemma4) */
    int32_t window;            /* keys visible: the row itself and window - 1 before it; 0 = all */
    int32_t rope;              /* which table of angles: 0, 1 (gemma3's sliding layers), or -1: no rotation */
} geodec__layer;

static inline bool geodec__layer_recurs(const geodec__layer *l) { return l->recurrent.how != GEODEC__MIXER_NONE; }
static inline bool geodec__layer_attends(const geodec__layer *l)
{
    return l->q.data && (!geodec__layer_recurs(l) || l->recurrent.beside);
}

static inline bool geodec__layer_feeds(const geodec__layer *l) { return l->down.rows > 0; }

/* Layouts into which matrices are moved (prepare_internal.h). */
typedef enum geodec__prepare_kind {
    GEODEC__PREPARE_PANELS,
    GEODEC__PREPARE_COPIES,
    GEODEC__PREPARE_COLUMNS,
    GEODEC__PREPARE_KINDS
} geodec__prepare_kind;

struct geodec_model {
    geodec_gguf *gguf;
    geodec_tokenizer *tokenizer;
    geodec_model_config config;
    const char *name;
    const char **unread; /* [n_unread] names of tensors that are not used */
    int64_t n_unread;
    geodec__arena arena;         /* decoded vectors, and targets of geodec__matrix.expert */
    geodec_store *store;         /* the file is a store: its experts are not in memory. NULL otherwise */
    struct geodec__trits *trits; /* with store: it is one of ternary experts. NULL otherwise */
    geodec__norm output_norm, embed_norm;
    struct {
        geodec__matrix table, project;           /* [n_vocab][n_layer d_inputs]; [n_layer d_inputs][d_model] */
        geodec__norm norm;                       /* of each layer's part */
    } inputs;                                    /* of each layer (layer_inputs.c); data NULL: none */
    geodec__matrix streams_enter, streams_leave; /* [K - 1] of [d_model][d_model] (streams.c); data NULL: one stream */
    const float *head_bias;                      /* [pad(n_vocab)] */
    geodec__matrix positions;                    /* [n_ctx][d_model] learned; data NULL: none */
    const float *rope_divisor[2]; /* short and long: [rope_dim/2] divides the frequency of each pair; NULL = ones */
    geodec__matrix embedding, head;
    geodec__layer *layer; /* [n_layer] */
    /* Made on first use, guarded by the mutex: matrices in other layouts (NULL before the first session), and the
     * fingerprint. */
    pthread_mutex_t *lazy;
    struct geodec__prepare *prepared[GEODEC__PREPARE_KINDS][GEODEC_ARITHMETICS];
    char fingerprint[GEODEC_SHA256_HEX]; /* of the file; empty until computed */
    uint8_t *factors;                    /* memory of factored slots (factors.h), NULL without */
    int64_t factor_rank;                 /* largest k */
    struct geodec__low *low;             /* a cache of low rank (lowkv.h), NULL without */
    struct geodec_network *network;      /* for integer arithmetic; NULL before its first session */
    struct geodec__streamed *streamed;   /* experts on disk (streamed.h), NULL: resident */
};

/* Whether any layer is recurrent. */
bool geodec__model_recurs(const geodec_model *m);
/* GEODEC_UNSUPPORTED for a model whose experts are not in memory: every user of their matrices calls it first. */
geodec_status geodec__model_resident(const geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* Dimensions that a table rotates. */
int32_t geodec__rope_dim(const geodec_model_config *c, int32_t table);
/* The factor of pair i's frequency, with a scale. */
static inline double geodec__rope_scale_of(const geodec_model_config *c, int64_t i)
{
    const double width = c->yarn_high - c->yarn_low > 0.001 ? c->yarn_high - c->yarn_low : 0.001;
    const double at = ((double)i - c->yarn_low) / width, part = at < 0 ? 1 : at > 1 ? 0 : 1 - at;
    return c->yarn == 0 ? c->rope_scale : c->rope_scale * (1 - part) + part;
}
/* Radians that pair i of table t rotates per position, in a session of n_ctx positions. */
double geodec__rope_step(const geodec_model *m, int32_t n_ctx, int32_t table, int64_t i);

#endif
