/* A llama-family transformer read from GGUF: RMSNorm, RoPE on adjacent pairs, grouped-query attention, SwiGLU, optional
 * top-k experts (softmax over all, top-k, renormalise), tied or separate head.
 *
 * Batch invariance. The logits of a token depend on the token and its ancestors only: they are bit-identical alone, in
 * any batch, in prefill, in a chain or as a tree node, and with any number of threads. Every output element is one dot
 * product in a fixed order of its inputs; nothing is split by batch row or thread. */
#ifndef GEODEC_MODEL_MODEL_H
#define GEODEC_MODEL_MODEL_H

#include "base/err.h"
#include "base/pool.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_model_config {
    int32_t n_layer, d_model, n_head, n_kv_head, head_dim, rope_dim;
    int32_t d_ff;                    /* of the dense FFN, or of one expert */
    int32_t n_vocab, n_ctx;          /* n_ctx: the file's context length; sessions may be longer or shorter */
    int32_t n_expert, n_expert_used; /* 0 for dense */
    float rms_eps;
    double rope_base; /* 10000 when the file has none */
    bool tied;        /* no output.weight: the head is token_embd */
} geodec_model_config;

typedef struct geodec_model geodec_model; /* immutable after open; may be shared between sessions and threads */

GEODEC_API geodec_status geodec_model_open(const char *path, geodec_model **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_model_close(geodec_model *m);
GEODEC_API const geodec_model_config *geodec_model_configuration(const geodec_model *m);
GEODEC_API const geodec_tokenizer *geodec_model_tokenizer(const geodec_model *m);
GEODEC_API const char *geodec_model_fingerprint(const geodec_model *m); /* geodec_gguf_tensor_digest */
GEODEC_API const char *geodec_model_name(const geodec_model *m);        /* general.name or the file's name */
GEODEC_API const geodec_gguf *geodec_model_gguf(const geodec_model *m);

/* Instruction sets; AUTO takes the best the CPU has. */
typedef enum geodec_isa { GEODEC_ISA_AUTO, GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512 } geodec_isa;
GEODEC_API bool geodec_isa_available(geodec_isa isa);
GEODEC_API const char *geodec_isa_name(geodec_isa isa);

/* A session: KV cache, work space, counters. One thread at a time. */
typedef struct geodec_session geodec_session;
typedef struct geodec_session_options {
    int32_t n_ctx;     /* cache rows; 0 = the model's */
    int32_t max_batch; /* rows of one forward call; 0 = 64 */
    geodec_isa isa;
    geodec_pool *pool; /* NULL = caller's thread; must outlive the session */
} geodec_session_options;
GEODEC_API geodec_status geodec_session_create(const geodec_model *m, const geodec_session_options *o,
                                               geodec_session **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_session_destroy(geodec_session *s);
GEODEC_API const geodec_model *geodec_session_model(const geodec_session *s);
GEODEC_API int32_t geodec_session_n_ctx(const geodec_session *s);
GEODEC_API geodec_isa geodec_session_isa(const geodec_session *s); /* the one in use */

/* One forward pass over n rows, appended to the KV cache at rows length .. length+n-1.
 * parent == NULL: a chain; row i follows row i-1 (row 0 follows the cache).
 * parent[i] in -1 .. i-1: a tree; row i sees the cache as it was before the call, its ancestors and itself;
 *   its position is length + depth (root depth 0, i.e. parent -1 = follows the cache). */
typedef struct geodec_batch {
    int32_t n;             /* 1 .. max_batch */
    const int32_t *token;  /* [n] */
    const int32_t *parent; /* [n] or NULL */
    const bool *want;      /* [n] rows whose logits are wanted, NULL = all */
} geodec_batch;

/* Residual stream after `layer` blocks (0 = embedding, n_layer = input of the final norm) for every row of the batch.
 */
typedef struct geodec_capture {
    int32_t n_layers;
    const int32_t *layer; /* [n_layers] in 0 .. n_layer */
    float *state;         /* [n_layers][n][d_model] */
} geodec_capture;

/* logits [n][n_vocab] (rows not wanted are left untouched), or NULL for none; capture may be NULL.
 * Errors: GEODEC_LIMIT (context full, batch too large), GEODEC_RANGE (token id, parent). On error the cache is
 * unchanged. */
GEODEC_API geodec_status geodec_forward(geodec_session *s, const geodec_batch *b, float *logits,
                                        const geodec_capture *capture, geodec_err *err) GEODEC_MUST_USE;
/* Prefill: any number of tokens in chunks of max_batch; logits of the last row only ([n_vocab], may be NULL). */
GEODEC_API geodec_status geodec_prefill(geodec_session *s, const int32_t *token, int64_t n, float *last_logits,
                                        geodec_err *err) GEODEC_MUST_USE;

/* KV cache. */
GEODEC_API int32_t geodec_session_length(const geodec_session *s);
GEODEC_API void geodec_session_truncate(geodec_session *s, int32_t length); /* length <= current */
/* After a tree pass that started at `base`: keeps rows base+row[0], base+row[1], ... (ascending) as base, base+1, ...
 * and truncates to base+n. */
GEODEC_API void geodec_session_compact(geodec_session *s, int32_t base, const int32_t *row, int32_t n);

/* Counted in geodec_forward itself. */
typedef struct geodec_counters {
    int64_t passes; /* calls of geodec_forward */
    int64_t rows;   /* rows over all calls */
} geodec_counters;
GEODEC_API geodec_counters geodec_session_counters(const geodec_session *s);

/* Chosen experts of the last forward call: ids and weights [n][n_layer][n_expert_used], for routing goldens and traces.
 * NULL for a dense model. Valid until the next call. */
GEODEC_API const int32_t *geodec_session_expert_ids(const geodec_session *s);
GEODEC_API const float *geodec_session_expert_weights(const geodec_session *s);

/* Index of the largest value; ties and NaN-free input assumed: the lowest index wins. The one argmax of the project. */
GEODEC_API int32_t geodec_argmax(const float *x, int64_t n);

#endif
