#include "reference/models.h"

#include "base/mem.h"
#include "base/rng.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

typedef struct description {
    const char *name;
    geodec_model_config config;
    bool biases, qk_norm, post_norms, divisors;
    bool qk_whole; /* norms of query and key are of all heads together */
    bool expert_bias, shared_factor;
    int32_t window,
        full_every; /* layers i with (i + 1) % full_every != 0 have the window and, with a local base, table 1 */
} description;

#define SIZES(layers, width, heads, kv, dim, ff, vocab) SIZES_ROTATED(layers, width, heads, kv, dim, dim, ff, vocab)
#define SIZES_ROTATED(layers, width, heads, kv, dim, rotated, ff, vocab)                                               \
    .n_layer = (layers), .d_model = (width), .n_head = (heads), .n_kv_head = (kv), .head_dim = (dim),                  \
    .rope_dim = (rotated), .d_ff = (ff), .n_vocab = (vocab), .n_ctx = 512, .rms_eps = 1e-5f, .rope_base = 10000

static const description kinds[MODEL_KINDS] = {
    {.name = "llama", .config = {SIZES(3, 24, 4, 2, 6, 37, 53), .tied = true}},
    {.name = "llama, divisors and linear scale",
     .config = {SIZES(2, 20, 2, 1, 10, 24, 41), .rope_scale = 0.25},
     .divisors = true},
    {.name = "qwen2", .config = {SIZES(2, 24, 4, 2, 6, 40, 60), .rope_pairs = GEODEC_ROPE_HALVES}, .biases = true},
    {.name = "qwen3", .config = {SIZES(2, 24, 3, 1, 12, 40, 60), .rope_pairs = GEODEC_ROPE_HALVES}, .qk_norm = true},
    {.name = "gemma2",
     .config = {SIZES(3, 24, 4, 2, 8, 40, 60), .rope_pairs = GEODEC_ROPE_HALVES, .activation = GEODEC_GELU_TANH,
                .attn_scale = 0.4, .attn_softcap = 3, .final_softcap = 2, .embed_scale = 4.9f, .tied = true},
     .post_norms = true,
     .window = 5,
     .full_every = 2},
    {.name = "gemma3",
     .config = {SIZES(4, 24, 4, 1, 8, 40, 60), .rope_pairs = GEODEC_ROPE_HALVES, .activation = GEODEC_GELU_TANH,
                .rope_base_local = 100, .rope_scale = 0.125, .embed_scale = 4.9f, .tied = true},
     .post_norms = true,
     .qk_norm = true,
     .window = 4,
     .full_every = 3},
    {.name = "phi3",
     .config = {SIZES(2, 24, 4, 4, 8, 32, 50), .rope_pairs = GEODEC_ROPE_HALVES, .rope_magnitude = 1.19f,
                .rope_n_ctx_original = 256},
     .divisors = true},
    {.name = "phi3, part of a head rotated",
     .config = {SIZES_ROTATED(2, 24, 3, 3, 8, 6, 32, 50), .rope_pairs = GEODEC_ROPE_HALVES}},
    {.name = "mixtral", .config = {SIZES(2, 24, 4, 2, 6, 20, 50), .n_expert = 5, .n_expert_used = 2}},
    {.name = "qwen3moe",
     .config = {SIZES(2, 24, 4, 2, 8, 16, 50), .n_expert = 6, .n_expert_used = 3, .rope_pairs = GEODEC_ROPE_HALVES,
                .expert_scale = 1.5f},
     .qk_norm = true},
    {.name = "olmoe",
     .config = {SIZES(2, 24, 4, 2, 6, 16, 50), .n_expert = 7, .n_expert_used = 3, .rope_pairs = GEODEC_ROPE_HALVES,
                .expert_keep_weights = true},
     .qk_norm = true,
     .qk_whole = true},
    {.name = "sigmoids, groups, a bias of the choice, a shared network, a dense layer",
     .config = {SIZES_ROTATED(3, 24, 4, 2, 8, 4, 14, 50), .n_expert = 8, .n_expert_used = 3, .d_ff_dense = 33,
                .d_ff_shared = 21, .n_dense = 1, .gating = GEODEC_GATING_SIGMOID, .n_expert_group = 4,
                .n_expert_group_used = 2, .expert_scale = 2.5f, .rope_pairs = GEODEC_ROPE_HALVES},
     .qk_norm = true,
     .expert_bias = true},
    {.name = "a shared network with a factor",
     .config = {SIZES(2, 24, 4, 2, 6, 16, 50), .n_expert = 6, .n_expert_used = 2, .d_ff_shared = 39,
                .expert_keep_weights = true, .rope_pairs = GEODEC_ROPE_HALVES},
     .biases = true,
     .shared_factor = true},
    {.name = "norms of query and key after the rotation",
     .config = {SIZES_ROTATED(2, 24, 4, 2, 8, 6, 40, 50), .qk_norm_rotated = true, .rope_pairs = GEODEC_ROPE_HALVES},
     .qk_norm = true},
    {.name = "scaled residuals and logits, kept sigmoids",
     .config = {SIZES(2, 24, 4, 2, 6, 16, 50), .n_expert = 6, .n_expert_used = 3, .gating = GEODEC_GATING_SIGMOID,
                .expert_keep_weights = true, .attn_scale = 0.2, .embed_scale = 3, .residual_scale = 0.4f,
                .logit_scale = 1.75f, .tied = true}},
};

/* A model and all it owns. */
enum { MOST = 200 };
typedef struct owner {
    geodec_model m; /* first: the model is the owner */
    pthread_mutex_t lazy;
    void *all[MOST];
    int n;
    geodec_rng rng;
} owner;

const char *models_name(int kind) { return kinds[kind].name; }

/* n values about `centre`, spread by `spread`; memory of the model. */
static float *vector(owner *o, int64_t n, double centre, double spread)
{
    float *x = geodec_mem_new(geodec__pad(n), sizeof *x);
    cr_assert(x && o->n < MOST);
    o->all[o->n++] = x;
    for (int64_t i = 0; i < n; i++) x[i] = (float)(centre + spread * geodec_rng_normal(&o->rng));
    return x;
}

static geodec__norm norm(owner *o, const geodec_model_config *c, int64_t width, int64_t part, double centre)
{
    return (geodec__norm){
        .weight = vector(o, part, centre, 0.2), .width = (int32_t)width, .part = (int32_t)part, .eps = c->rms_eps};
}

static geodec__matrix matrix(owner *o, int64_t cols, int64_t rows, int64_t count)
{
    return (geodec__matrix){.data = (const uint8_t *)vector(o, cols * rows * count, 0, 1.2 / sqrt((double)cols)),
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = cols * (int64_t)sizeof(float),
                            .type = GEODEC_GGML_F32};
}

static geodec__layer layer(owner *o, const description *k, int32_t i)
{
    const geodec_model_config *c = &k->config;
    const bool routed = c->n_expert > 0 && i >= c->n_dense;
    const int64_t d = c->d_model, q = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim,
                  experts = routed ? c->n_expert : 1, f = c->n_expert > 0 && !routed ? c->d_ff_dense : c->d_ff;
    geodec__layer l = {.attn_norm = norm(o, c, d, d, 1),
                       .ffn_norm = norm(o, c, d, d, 1),
                       .q = matrix(o, d, q, 1),
                       .k = matrix(o, d, kv, 1),
                       .v = matrix(o, d, kv, 1),
                       .o = matrix(o, q, d, 1),
                       .gate = matrix(o, d, f, experts),
                       .up = matrix(o, d, f, experts),
                       .down = matrix(o, f, d, experts)};
    if (routed) l.router = matrix(o, d, c->n_expert, 1);
    if (routed && k->expert_bias) l.expert_bias = vector(o, c->n_expert, 0, 0.3);
    if (routed && c->d_ff_shared > 0) {
        l.shared_gate = matrix(o, d, c->d_ff_shared, 1);
        l.shared_up = matrix(o, d, c->d_ff_shared, 1);
        l.shared_down = matrix(o, c->d_ff_shared, d, 1);
    }
    if (routed && k->shared_factor) l.shared_factor = matrix(o, d, 1, 1);
    if (k->post_norms) {
        l.attn_post_norm = norm(o, c, d, d, 0.5);
        l.ffn_post_norm = norm(o, c, d, d, 0.5);
    }
    if (k->qk_norm) {
        l.q_norm = norm(o, c, q, k->qk_whole ? q : c->head_dim, 1);
        l.k_norm = norm(o, c, kv, k->qk_whole ? kv : c->head_dim, 1);
    }
    if (k->biases) {
        l.q_bias = vector(o, q, 0, 0.5);
        l.k_bias = vector(o, kv, 0, 0.5);
        l.v_bias = vector(o, kv, 0, 0.5);
        l.o_bias = vector(o, d, 0, 0.5);
    }
    if (k->full_every && (i + 1) % k->full_every != 0) {
        l.window = k->window;
        l.rope = c->rope_base_local != 0;
    }
    return l;
}

geodec_model *models_create(int kind)
{
    const description *k = &kinds[kind];
    owner *o = geodec_mem_new(1, sizeof *o);
    cr_assert(o);
    o->rng = geodec_rng_stream(17, geodec_rng_id("reference model", (uint64_t)kind));
    geodec_model *m = &o->m;
    pthread_mutex_init(&o->lazy, NULL);
    m->lazy = &o->lazy;
    m->config = k->config;
    m->config.arch = k->name;
    m->name = k->name;
    m->output_norm = norm(o, &m->config, m->config.d_model, m->config.d_model, 1);
    m->embedding = matrix(o, m->config.d_model, m->config.n_vocab, 1);
    m->head = m->config.tied ? m->embedding : matrix(o, m->config.d_model, m->config.n_vocab, 1);
    for (int i = 0; k->divisors && i < 2; i++) {
        float *divisor = vector(o, m->config.rope_dim / 2, 0, 1);
        for (int32_t p = 0; p < m->config.rope_dim / 2; p++) divisor[p] = 1 + fabsf(divisor[p]);
        m->rope_divisor[i] = divisor;
    }
    m->layer = geodec_mem_new(m->config.n_layer, sizeof *m->layer);
    cr_assert(m->layer && o->n < MOST);
    o->all[o->n++] = m->layer;
    for (int32_t i = 0; i < m->config.n_layer; i++) m->layer[i] = layer(o, k, i);
    return m;
}

void models_destroy(geodec_model *m)
{
    owner *o = (owner *)m;
    for (int i = 0; i < o->n; i++) geodec_mem_free(o->all[i]);
    pthread_mutex_destroy(&o->lazy);
    geodec_mem_free(o);
}

void models_tokens(const geodec_model *m, int32_t *token, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        token[i] = (int32_t)(geodec_rng_at(3, geodec_rng_id(m->name, 0), (uint64_t)i) % (uint64_t)m->config.n_vocab);
}
