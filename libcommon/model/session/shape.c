#include "session/shape.h"

#include "base/mem.h"
#include "base/rng.h"
#include "gguf/quantize.h"
#include "session/shape_internal.h"
#include "tokenizer/vocab_train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const geodec_shape shapes[] = {
    {.name = "smollm2-135m",
     .title = "SmolLM2-135M",
     .arch = "llama",
     .n_layer = 30,
     .d_model = 576,
     .n_head = 9,
     .n_kv_head = 3,
     .head_dim = 64,
     .d_ff = 1536,
     .n_vocab = 49152,
     .n_ctx = 8192,
     .rope_base = 100000,
     .rms_eps = 1e-5f,
     .tied = true},
    {.name = "llama-3.2-1b",
     .title = "Llama-3.2-1B",
     .arch = "llama",
     .n_layer = 16,
     .d_model = 2048,
     .n_head = 32,
     .n_kv_head = 8,
     .head_dim = 64,
     .d_ff = 8192,
     .n_vocab = 128256,
     .n_ctx = 131072,
     .rope_base = 500000,
     .rms_eps = 1e-5f,
     .tied = true},
    {.name = "olmoe-1b-7b",
     .title = "OLMoE-1B-7B",
     .arch = "olmoe",
     .n_layer = 16,
     .d_model = 2048,
     .n_head = 16,
     .n_kv_head = 16,
     .head_dim = 128,
     .d_ff = 1024,
     .n_vocab = 50304,
     .n_ctx = 4096,
     .n_expert = 64,
     .n_expert_used = 8,
     .rope_base = 10000,
     .rms_eps = 1e-5f,
     .qk_norm = true},
};

const geodec_shape *geodec_shape_at(int i)
{
    return i >= 0 && i < (int)(sizeof shapes / sizeof *shapes) ? &shapes[i] : NULL;
}

const geodec_shape *geodec_shape_named(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0) return &shapes[i];
    return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static geodec_status put_keys(geodec_gguf_writer *w, const geodec_shape *s, const char *type, uint64_t seed,
                              geodec_err *err)
{
    char text[256], key[96];
#define KEY(suffix) ((void)snprintf(key, sizeof key, "%s.%s", s->arch, suffix), key)
#define U32(suffix, v) GEODEC_PASS(geodec_gguf_put_u32(w, KEY(suffix), (uint32_t)(v), err))
    GEODEC_PASS(geodec_gguf_put_str(w, "general.architecture", s->arch, err));
    (void)snprintf(text, sizeof text, "%s shape, random weights (%s, seed %llu)", s->title, type,
                   (unsigned long long)seed);
    GEODEC_PASS(geodec_gguf_put_str(w, "general.name", text, err));
    (void)snprintf(text, sizeof text,
                   "Random weights and a made-up vocabulary in the shape of %s, for measurements of speed only: its "
                   "text means nothing and it is not that model.",
                   s->title);
    GEODEC_PASS(geodec_gguf_put_str(w, "general.description", text, err));
    U32("block_count", s->n_layer);
    U32("embedding_length", s->d_model);
    U32("feed_forward_length", s->d_ff);
    U32("attention.head_count", s->n_head);
    U32("attention.head_count_kv", s->n_kv_head);
    U32("rope.dimension_count", s->head_dim);
    U32("context_length", s->n_ctx);
    U32("vocab_size", s->n_vocab);
    if (s->n_expert) {
        U32("expert_count", s->n_expert);
        U32("expert_used_count", s->n_expert_used);
    }
    GEODEC_PASS(geodec_gguf_put_f32(w, KEY("rope.freq_base"), (float)s->rope_base, err));
    GEODEC_PASS(geodec_gguf_put_f32(w, KEY("attention.layer_norm_rms_epsilon"), s->rms_eps, err));
#undef U32
#undef KEY
    return GEODEC_OK;
}

/* ---- vocabulary ------------------------------------------------------------------------------------------------- */

enum { PIECE = 12 };

/* Strings of letters, shorter ones first: "a" .. "z", "aa", "ba", ... Each longer one is a pair of earlier pieces, so
 * the tokenizer can merge into it. */
static void letters(int64_t i, char out[PIECE])
{
    int64_t count = 26;
    int n = 1;
    for (; i >= count; n++, count *= 26) i -= count;
    for (int k = 0; k < n; k++, i /= 26) out[k] = (char)('a' + i % 26);
    out[n] = '\0';
}

/* The pieces are the mark of a word's start, then strings of letters. */
static geodec_status put_vocabulary(geodec_gguf_writer *w, int32_t n_vocab, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t n = n_vocab - GEODEC_VOCAB_FIRST_PIECE;
    char(*text)[PIECE] = NULL;
    const char **piece = NULL;
    size_t *length = NULL;
    float *score = NULL;
    geodec_tokenizer *t = NULL;
    GEODEC_NEW_EACH(n, text, piece, length, score);
    for (int32_t i = 0; i < n; i++) {
        if (i == 0)
            (void)snprintf(text[i], PIECE, "\xe2\x96\x81");
        else
            letters(i - 1, text[i]);
        piece[i] = text[i];
        length[i] = strlen(text[i]);
        score[i] = i == 0 ? 0.0f : (float)(1 - i);
    }
    GEODEC_TRY(geodec_vocab_create(n, piece, length, score, &t, err));
    GEODEC_TRY(geodec_tokenizer_put(t, w, err));
done:
    geodec_tokenizer_destroy(t);
    GEODEC_FREE(text, piece, length, score);
    return st;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

enum { NAME = 64, TENSORS_A_LAYER = 16 };

typedef struct tensor {
    char name[NAME];
    int type;
    bool norm;
    double deviation;
    int64_t cols, rows, count;
} tensor;

typedef struct plan {
    const geodec_shape *s;
    const char *type;
    tensor *tensor;
    int64_t n;
} plan;

/* -1: no such type. */
static int type_of(const char *type, const geodec_quantize_facts *facts, const char *name, int64_t cols)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_named(type);
    if (!t || t->encode) return geodec_quantize_type(type, facts, name, cols);
    return cols % t->block ? GEODEC_GGML_F16 : t->type;
}

static void add(plan *p, int32_t layer, const char *suffix, int64_t cols, int64_t rows, int64_t count)
{
    const geodec_quantize_facts facts = {.n_layer = p->s->n_layer,
                                         .n_expert = p->s->n_expert,
                                         .tied = p->s->tied,
                                         .heads_a_key = p->s->n_head / p->s->n_kv_head};
    tensor *t = &p->tensor[p->n++];
    if (layer < 0)
        (void)snprintf(t->name, NAME, "%s.weight", suffix);
    else
        (void)snprintf(t->name, NAME, "blk.%d.%s.weight", layer, suffix);
    t->norm = strstr(suffix, "norm") != NULL;
    t->type =
        t->norm || strcmp(suffix, "ffn_gate_inp") == 0 ? GEODEC_GGML_F32 : type_of(p->type, &facts, t->name, cols);
    /* an embedding below the outputs of the layers would give all tokens of a context nearly the same state, and the
     * same experts */
    t->deviation = t->norm                                                         ? 0.0577
                   : layer < 0 && strcmp(suffix, "token_embd") == 0 && !p->s->tied ? 1
                                                                                   : 1 / sqrt((double)cols);
    t->cols = cols;
    t->rows = rows;
    t->count = count;
}

static void plan_all(plan *p)
{
    const geodec_shape *s = p->s;
    const int64_t d = s->d_model, q = (int64_t)s->n_head * s->head_dim, kv = (int64_t)s->n_kv_head * s->head_dim,
                  f = s->d_ff;
    add(p, -1, "token_embd", d, s->n_vocab, 1);
    add(p, -1, "output_norm", d, 1, 1);
    if (!s->tied) add(p, -1, "output", d, s->n_vocab, 1);
    for (int32_t i = 0; i < s->n_layer; i++) {
        add(p, i, "attn_norm", d, 1, 1);
        add(p, i, "attn_q", d, q, 1);
        add(p, i, "attn_k", d, kv, 1);
        add(p, i, "attn_v", d, kv, 1);
        add(p, i, "attn_output", q, d, 1);
        if (s->qk_norm) {
            add(p, i, "attn_q_norm", q, 1, 1);
            add(p, i, "attn_k_norm", kv, 1, 1);
        }
        add(p, i, "ffn_norm", d, 1, 1);
        if (s->n_expert) {
            add(p, i, "ffn_gate_inp", d, s->n_expert, 1);
            add(p, i, "ffn_gate_exps", d, f, s->n_expert);
            add(p, i, "ffn_up_exps", d, f, s->n_expert);
            add(p, i, "ffn_down_exps", f, d, s->n_expert);
        } else {
            add(p, i, "ffn_gate", d, f, 1);
            add(p, i, "ffn_up", d, f, 1);
            add(p, i, "ffn_down", f, d, 1);
        }
    }
}

enum { BUFFER = 4 << 20, TASK_GROUPS = 1024 };

/* One piece of a tensor, filled by all threads. */
typedef struct piece {
    const tensor *t;
    geodec__random_blocks blocks;
    uint64_t seed, stream;
    int64_t first, n; /* groups */
    double sigma;
    uint8_t *out;
} piece;

static void fill_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const piece *p = ctx;
    const int64_t begin = task * TASK_GROUPS, end = begin + TASK_GROUPS < p->n ? begin + TASK_GROUPS : p->n;
    for (int64_t i = begin; i < end; i++) {
        uint8_t *out = p->out + i * p->blocks.bytes;
        p->blocks.fill(p->blocks.type, p->seed, p->stream, p->first + i, p->sigma, out);
        if (!p->t->norm) continue;
        for (int k = 0; k < p->blocks.elements; k++) { /* float32 */
            float v;
            memcpy(&v, out + 4 * k, sizeof v);
            v += 1.0f;
            memcpy(out + 4 * k, &v, sizeof v);
        }
    }
}

static geodec_status stream_tensor(geodec_gguf_writer *w, const tensor *t, uint64_t seed, geodec_pool *pool,
                                   uint8_t *buffer, geodec_err *err)
{
    const geodec__random_blocks blocks = geodec__shape_random_blocks_of(t->type);
    const int64_t groups = t->cols * t->rows * t->count / blocks.elements;
    piece p = {.t = t,
               .blocks = blocks,
               .seed = seed,
               .stream = geodec_rng_id(t->name, 0),
               .sigma = t->deviation,
               .out = buffer};
    for (; p.first < groups; p.first += p.n) {
        p.n = groups - p.first < BUFFER / blocks.bytes ? groups - p.first : BUFFER / blocks.bytes;
        geodec_pool_run_dynamic(pool, (p.n + TASK_GROUPS - 1) / TASK_GROUPS, fill_task, &p);
        GEODEC_PASS(geodec_gguf_stream(w, buffer, (size_t)(p.n * blocks.bytes), err));
    }
    return GEODEC_OK;
}

static geodec_status check(const char *path, const geodec_shape *s, const char *type, geodec_err *err)
{
    const char *slash = strrchr(path, '/');
    if (!strstr(slash ? slash + 1 : path, "random"))
        GEODEC_FAIL(GEODEC_INVAL, "%s: the name of a file with random weights must contain 'random'", path);
    if (type_of(type, &(geodec_quantize_facts){0}, "blk.0.attn_q.weight", 256) < 0)
        GEODEC_FAIL(GEODEC_NOTFOUND, "no random weights of type '%s'", type);
    if (s->n_vocab <= GEODEC_VOCAB_FIRST_PIECE + 1 || s->n_layer < 1 || s->n_layer > 1024 || s->d_model % 32 ||
        s->d_ff % 32)
        GEODEC_FAIL(GEODEC_INVAL, "shape '%s': too small or not a multiple of 32", s->name);
    return GEODEC_OK;
}

geodec_status geodec_shape_write(const char *path, const geodec_shape *s, const char *type, uint64_t seed,
                                 geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf_writer *w = NULL;
    uint8_t *buffer = NULL;
    plan p = {.s = s, .type = type};
    GEODEC_TRY(check(path, s, type, err));
    GEODEC_NEW(p.tensor, (int64_t)TENSORS_A_LAYER * s->n_layer + 3);
    GEODEC_NEW(buffer, BUFFER);
    plan_all(&p);
    GEODEC_TRY(geodec_gguf_writer_create(path, &w, err));
    GEODEC_TRY(put_keys(w, s, type, seed, err));
    GEODEC_TRY(put_vocabulary(w, s->n_vocab, err));
    for (int64_t i = 0; i < p.n; i++) {
        const tensor *t = &p.tensor[i];
        const int64_t dim[3] = {t->cols, t->rows, t->count};
        GEODEC_TRY(geodec_gguf_plan_tensor(w, t->name, t->type, t->count > 1 ? 3 : t->rows > 1 ? 2 : 1, dim, err));
    }
    for (int64_t i = 0; i < p.n; i++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "tensors", i, p.n, err));
        GEODEC_TRY(stream_tensor(w, &p.tensor[i], seed, pool, buffer, err));
    }
    st = geodec_gguf_writer_commit(w, err);
    w = NULL;
    GEODEC_TRY(st);
done:
    geodec_gguf_writer_abandon(w);
    GEODEC_FREE(buffer, p.tensor);
    return st;
}
