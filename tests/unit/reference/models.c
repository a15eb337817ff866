#include "reference/models.h"

#include "base/mem.h"
#include "base/rng.h"
#include "session/prepare_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef enum attention_gate { NO_GATE, GATE_OF_HEADS, GATE_OF_ELEMENTS } attention_gate;

typedef struct description {
    const char *name;
    geodec_model_config config;
    /* norms */
    bool qk_norm, post_norms, v_norm, mixed_norm, hidden_norm, embed_norm, expert_norm, mixture_norms;
    bool qk_whole;             /* norms of query and key are of all heads together */
    bool qk_each;              /* norms of query and key have weights of each head */
    bool norm_biases;          /* of every norm */
    bool no_pre_norms, shares; /* neither half, or the feed-forward alone, has a norm before it */
    /* vectors */
    bool biases, feed_biases, head_bias, positions, divisors, hidden_scale, sinks;
    bool expert_bias, shared_factor;
    attention_gate gate;
    float stream_scale;
    float cut_at;               /* of the gates of all layers but the last; 0: none is cut */
    int32_t window, full_every; /* layers i with (i + 1) % full_every != 0 have the window and, with a local base, table
                                 * 1 */
    int32_t local_kv_heads, local_dim; /* of the layers with the window; 0: as the others */
    int32_t shared_keys;               /* so many last layers read the keys of the last before them with their window */
    int32_t still_every;               /* layers i with (i + 1) % still_every = 0 do not rotate */
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
    {.name = "layer norms with biases, a plain network, learned positions, biases everywhere",
     .config = {SIZES(2, 24, 4, 2, 6, 40, 50), .layer_norm = true, .plain = true, .activation = GEODEC_GELU_TANH,
                .tied = true},
     .norm_biases = true,
     .biases = true,
     .feed_biases = true,
     .head_bias = true,
     .positions = true,
     .still_every = 1},
    {.name = "parallel halves with one norm, ALiBi, clamps, a norm behind the embedding, scaled hidden vectors",
     .config = {SIZES(2, 24, 3, 1, 8, 40, 50), .layer_norm = true, .parallel = true, .plain = true,
                .activation = GEODEC_RELU2, .alibi = 6, .qkv_clamp = 1.1f},
     .shares = true,
     .embed_norm = true,
     .hidden_scale = true,
     .still_every = 1},
    {.name = "parallel halves with a norm each, xIELU, a softplus of each element, norms before the last matrices",
     .config = {SIZES(2, 24, 4, 2, 6, 37, 50), .parallel = true, .activation = GEODEC_XIELU, .gate_softplus = true,
                .value_scale = 0.7f},
     .qk_norm = true,
     .qk_each = true,
     .norm_biases = true,
     .mixed_norm = true,
     .hidden_norm = true,
     .gate = GATE_OF_ELEMENTS},
    {.name = "no norm before a half, sinks, chunks, a sigmoid of each head, clamps and norms of values, temperature",
     .config = {SIZES(3, 24, 4, 2, 6, 40, 50), .layer_norm = true, .activation = GEODEC_RELU, .chunks = true,
                .qkv_clamp = 2, .temperature = 0.4, .temperature_length = 4},
     .no_pre_norms = true,
     .post_norms = true,
     .qk_norm = true,
     .v_norm = true,
     .sinks = true,
     .gate = GATE_OF_HEADS,
     .window = 7,
     .full_every = 3},
    {.name = "the embedding added again, norms after the rotation, clamped networks with biases",
     .config = {SIZES(3, 24, 4, 2, 8, 40, 50), .embed_added = true, .qk_norm_rotated = true,
                .activation = GEODEC_SWIGLU_CLAMPED, .rope_pairs = GEODEC_ROPE_HALVES},
     .embed_norm = true,
     .qk_norm = true,
     .feed_biases = true,
     .stream_scale = 0.6f},
    {.name = "softmax of the chosen, biases of experts, sinks, YaRN, a scaled stream",
     .config = {SIZES(2, 24, 4, 2, 8, 20, 50), .n_expert = 6, .n_expert_used = 3, .gating = GEODEC_GATING_CHOSEN,
                .expert_keep_weights = true, .activation = GEODEC_SWIGLU_CLAMPED, .rope_scale = 0.25, .yarn = 1,
                .yarn_low = 0.5, .yarn_high = 2.5, .rope_magnitude = 1.2f, .rope_pairs = GEODEC_ROPE_HALVES},
     .biases = true,
     .feed_biases = true,
     .sinks = true,
     .stream_scale = 0.8f},
    {.name = "weights times the input of experts with biases, a layer without rotation, chunks, temperature there",
     .config = {SIZES(2, 24, 4, 2, 8, 20, 50), .n_expert = 5, .n_expert_used = 2, .d_ff_shared = 17,
                .gating = GEODEC_GATING_SIGMOID, .expert_keep_weights = true, .weighed_input = true, .chunks = true,
                .temperature = 0.3, .temperature_length = 5, .temperature_offset = 1, .temperature_still = true},
     .feed_biases = true,
     .window = 7,
     .full_every = 2,
     .still_every = 2},
    {.name = "experts of the block's input normed, a dense network beside them, a local table of other dimensions",
     .config = {SIZES(3, 24, 4, 2, 8, 20, 50), .n_expert = 5, .n_expert_used = 2, .d_ff_shared = 24, .feed_scale = 0.7f,
                .rope_base_local = 50, .rope_dim_local = 4, .rope_magnitude = 1.3f, .rope_pairs = GEODEC_ROPE_HALVES},
     .expert_norm = true,
     .window = 5,
     .full_every = 3},
    {.name = "experts chosen from the block's input, parallel halves",
     .config = {SIZES(2, 24, 4, 2, 8, 20, 50), .n_expert = 6, .n_expert_used = 2, .route_raw = true, .parallel = true,
                .activation = GEODEC_RELU, .layer_norm = true, .rope_pairs = GEODEC_ROPE_HALVES}},
    {.name = "adjugate experts of groups of three, fewer than are chosen",
     .config = {SIZES(2, 24, 4, 2, 8, 20, 50), .n_expert = 6, .n_expert_used = 4, .adjugate_group = 3,
                .d_ff_adjugate = 27, .adjugate_scale = 0.6f, .rope_pairs = GEODEC_ROPE_HALVES}},
    {.name = "norms of router, experts and the network beside them, before and after, factors of experts",
     .config = {SIZES(2, 24, 4, 2, 8, 20, 50), .n_expert = 6, .n_expert_used = 3, .d_ff_shared = 31,
                .activation = GEODEC_GELU_TANH, .rope_pairs = GEODEC_ROPE_HALVES},
     .post_norms = true,
     .mixture_norms = true,
     .expert_norm = true},
    {.name = "layers of different heads",
     .config = {SIZES(3, 24, 4, 2, 10, 40, 50), .rope_base_local = 100, .rope_dim_local = 6,
                .rope_pairs = GEODEC_ROPE_HALVES},
     .qk_norm = true,
     .v_norm = true,
     .gate = GATE_OF_HEADS,
     .local_kv_heads = 1,
     .local_dim = 6,
     .window = 5,
     .full_every = 3},
    {.name = "inputs of each layer, keys of earlier layers, a scaled stream",
     .config = {SIZES(6, 24, 4, 2, 8, 40, 50), .rope_base_local = 100, .rope_dim_local = 6, .d_inputs = 5,
                .activation = GEODEC_GELU_TANH, .embed_scale = 4.9f, .rope_pairs = GEODEC_ROPE_HALVES},
     .post_norms = true,
     .qk_norm = true,
     .v_norm = true,
     .stream_scale = 0.8f,
     .local_kv_heads = 1,
     .local_dim = 6,
     .window = 5,
     .full_every = 3,
     .shared_keys = 3},
    {.name = "three streams, a path beside attention, cut gates, inputs of each layer, keys of earlier layers",
     .config = {SIZES(5, 24, 4, 2, 8, 40, 50), .n_streams = 3, .laurel_rank = 5, .d_inputs = 6, .embed_scale = 4.9f,
                .activation = GEODEC_GELU_TANH, .attn_scale = 1, .final_softcap = 3, .rope_pairs = GEODEC_ROPE_HALVES},
     .post_norms = true,
     .qk_norm = true,
     .v_norm = true,
     .cut_at = 0.5f,
     .window = 5,
     .full_every = 3,
     .shared_keys = 2},
};

/* A model and all it owns. */
enum { MOST = 300 };
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

/* each: parts have weights of their own. */
static geodec__norm norm_of_parts(owner *o, const description *k, int64_t width, int64_t part, bool each, double centre)
{
    const int64_t n = each ? width : part;
    return (geodec__norm){.weight = vector(o, n, centre, 0.2),
                          .bias = k->norm_biases ? vector(o, n, 0, 0.3) : NULL,
                          .width = (int32_t)width,
                          .part = (int32_t)part,
                          .each = each,
                          .centred = k->config.layer_norm,
                          .eps = k->config.rms_eps};
}

static geodec__norm norm(owner *o, const description *k, int64_t width, double centre)
{
    return norm_of_parts(o, k, width, width, false, centre);
}

/* count rows, each padded. */
static float *rows(owner *o, int64_t n, int64_t count)
{
    float *x = vector(o, geodec__pad(n) * count, 0, 0.4);
    for (int64_t i = 0; i < count; i++)
        for (int64_t at = n; at < geodec__pad(n); at++) x[i * geodec__pad(n) + at] = 0;
    return x;
}

static geodec__matrix matrix(owner *o, int64_t cols, int64_t rows, int64_t count)
{
    return (geodec__matrix){.data = (const uint8_t *)vector(o, cols * rows * count, 0, 1.2 / sqrt((double)cols)),
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = cols * (int64_t)sizeof(float),
                            .type = GEODEC_GGML_F32};
}

static void add_matrices(owner *o, const description *k, bool routed, geodec__layer *l)
{
    const geodec_model_config *c = &k->config;
    const int64_t d = c->d_model, q = (int64_t)l->n_head * l->head_dim, kv = (int64_t)l->n_kv_head * l->head_dim,
                  experts = routed ? c->n_expert : 1, f = c->n_expert > 0 && !routed ? c->d_ff_dense : c->d_ff;
    l->q = matrix(o, d, q, 1);
    l->k = matrix(o, d, kv, 1);
    l->v = matrix(o, d, kv, 1);
    l->o = matrix(o, q, d, 1);
    l->gate = matrix(o, d, f, experts);
    if (!c->plain) l->up = matrix(o, d, f, experts);
    l->down = matrix(o, f, d, experts);
    if (k->gate != NO_GATE) l->attn_gate = matrix(o, d, k->gate == GATE_OF_HEADS ? l->n_head : q, 1);
}

static void add_experts(owner *o, const description *k, geodec__layer *l)
{
    const geodec_model_config *c = &k->config;
    const int64_t d = c->d_model;
    l->router = matrix(o, d, c->n_expert, 1);
    if (k->expert_bias) l->expert_bias = vector(o, c->n_expert, 0, 0.3);
    if (c->d_ff_shared > 0) {
        l->shared_gate = matrix(o, d, c->d_ff_shared, 1);
        l->shared_up = matrix(o, d, c->d_ff_shared, 1);
        l->shared_down = matrix(o, c->d_ff_shared, d, 1);
    }
    if (c->d_ff_adjugate > 0) {
        l->adjugate_gate = matrix(o, d, c->d_ff_adjugate, c->n_expert / c->adjugate_group);
        l->adjugate_up = matrix(o, d, c->d_ff_adjugate, c->n_expert / c->adjugate_group);
        l->adjugate_down = matrix(o, c->d_ff_adjugate, d, c->n_expert / c->adjugate_group);
    }
    if (k->shared_factor) l->shared_factor = matrix(o, d, 1, 1);
    if (k->feed_biases) l->router_bias = vector(o, c->n_expert, 0, 0.3);
    if (k->expert_norm) l->expert_norm = norm(o, k, d, 1);
    if (k->mixture_norms) {
        l->router_norm = norm(o, k, d, 0.5);
        l->expert_post_norm = norm(o, k, d, 0.5);
        l->shared_post_norm = norm(o, k, d, 0.5);
        l->expert_factor = vector(o, c->n_expert, 1, 0.3);
    }
}

static void add_inner_norms(owner *o, const description *k, geodec__layer *l)
{
    const geodec_model_config *c = &k->config;
    const int64_t d = c->d_model;
    if (k->post_norms) {
        l->attn_post_norm = norm(o, k, d, 0.5);
        l->ffn_post_norm = norm(o, k, d, 0.5);
    }
    if (k->qk_norm) {
        l->q_norm = norm_of_parts(o, k, l->q.rows, k->qk_whole ? l->q.rows : l->head_dim, k->qk_each, 1);
        l->k_norm = norm_of_parts(o, k, l->k.rows, k->qk_whole ? l->k.rows : l->head_dim, k->qk_each, 1);
    }
    if (k->v_norm) l->v_norm = norm_of_parts(o, k, l->v.rows, l->head_dim, false, 1);
    if (k->mixed_norm) l->mixed_norm = norm(o, k, l->o.cols, 1);
    if (k->hidden_norm) l->hidden_norm = norm(o, k, l->down.cols, 1);
}

static void add_vectors(owner *o, const description *k, geodec__layer *l)
{
    static const float xielu[4] = {0.8f, -0.4f, 0.5f, -0.25f};
    const int64_t experts = l->router.data ? k->config.n_expert : 1;
    if (k->biases) {
        l->q_bias = vector(o, l->q.rows, 0, 0.5);
        l->k_bias = vector(o, l->k.rows, 0, 0.5);
        l->v_bias = vector(o, l->v.rows, 0, 0.5);
        l->o_bias = vector(o, l->o.rows, 0, 0.5);
    }
    if (k->feed_biases) {
        l->gate_bias = rows(o, l->gate.rows, experts);
        if (l->up.data) l->up_bias = rows(o, l->up.rows, experts);
        l->down_bias = rows(o, l->down.rows, experts);
    }
    if (k->hidden_scale) l->hidden_scale = vector(o, l->gate.rows, 1.5, 0.2);
    if (k->sinks) l->sinks = vector(o, l->n_head, 0, 1);
    memcpy(l->xielu, xielu, sizeof xielu);
}

/* The router's product is divided by the width, which its weights make good. */
static void add_streams(owner *o, const description *k, geodec__layer *l)
{
    const int64_t d = k->config.d_model, streams = k->config.n_streams, rank = k->config.laurel_rank;
    if (streams == 0) return;
    l->streams_router = matrix(o, d, streams, 1);
    for (int64_t i = 0; i < d * streams; i++) ((float *)(uintptr_t)l->streams_router.data)[i] *= (float)d;
    l->streams_norm = norm(o, k, d, 1);
    l->streams_predict = rows(o, streams, streams * streams);
    l->streams_correct = rows(o, streams, streams);
    l->laurel_in = matrix(o, d, rank, 1);
    l->laurel_out = matrix(o, rank, d, 1);
    l->laurel_norm = norm(o, k, d, 0.5);
    l->input_scale = vector(o, d, 1, 0.2);
}

static bool slides(const description *k, int32_t i) { return k->full_every && (i + 1) % k->full_every != 0; }

static geodec__layer layer(owner *o, const description *k, int32_t i)
{
    const geodec_model_config *c = &k->config;
    const bool routed = c->n_expert > 0 && i >= c->n_dense;
    geodec__layer l = {.stream_scale = k->stream_scale,
                       .n_head = c->n_head,
                       .n_kv_head = c->n_kv_head,
                       .head_dim = c->head_dim,
                       .v_dim = c->head_dim,
                       .d_ff = c->n_expert > 0 ? c->d_ff_dense : c->d_ff,
                       .kv_layer = i};
    if (k->local_dim > 0 && slides(k, i)) {
        l.n_kv_head = k->local_kv_heads;
        l.head_dim = l.v_dim = k->local_dim;
    }
    if (!k->no_pre_norms) l.attn_norm = norm(o, k, c->d_model, 1);
    if (!k->no_pre_norms && !k->shares) l.ffn_norm = norm(o, k, c->d_model, 1);
    add_matrices(o, k, routed, &l);
    if (routed) add_experts(o, k, &l);
    add_inner_norms(o, k, &l);
    add_vectors(o, k, &l);
    add_streams(o, k, &l);
    l.cut = k->cut_at != 0 && i < c->n_layer - 1;
    l.cut_at = k->cut_at;
    if (slides(k, i)) {
        l.window = k->window;
        l.rope = c->rope_base_local != 0;
    }
    for (int32_t own = c->n_layer - k->shared_keys; i >= own; own--) {
        l.kv_layer = own - 1;
        if (slides(k, own - 1) == slides(k, i)) break;
    }
    if (l.kv_layer != i) {
        l.k = l.v = (geodec__matrix){0};
        l.k_norm = l.v_norm = (geodec__norm){0};
    }
    if (c->d_inputs > 0) {
        l.input_gate = matrix(o, c->d_model, c->d_inputs, 1);
        l.input_out = matrix(o, c->d_inputs, c->d_model, 1);
        l.input_norm = norm(o, k, c->d_model, 0.5);
    }
    if (k->still_every && (i + 1) % k->still_every == 0) l.rope = -1;
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
    m->output_norm = norm(o, k, m->config.d_model, 1);
    m->embedding = matrix(o, m->config.d_model, m->config.n_vocab, 1);
    m->head = m->config.tied ? m->embedding : matrix(o, m->config.d_model, m->config.n_vocab, 1);
    if (k->embed_norm) m->embed_norm = norm(o, k, m->config.d_model, 1);
    if (k->config.d_inputs > 0) {
        const int64_t all = (int64_t)m->config.n_layer * m->config.d_inputs;
        m->inputs.table = matrix(o, all, m->config.n_vocab, 1);
        m->inputs.project = matrix(o, m->config.d_model, all, 1);
        m->inputs.norm = norm_of_parts(o, k, all, m->config.d_inputs, false, 1);
    }
    if (k->positions) m->positions = matrix(o, m->config.d_model, m->config.n_ctx, 1);
    if (k->head_bias) m->head_bias = vector(o, m->config.n_vocab, 0, 0.5);
    if (m->config.n_streams > 0) {
        m->streams_enter = matrix(o, m->config.d_model, m->config.d_model, m->config.n_streams - 1);
        m->streams_leave = matrix(o, m->config.d_model, m->config.d_model, m->config.n_streams - 1);
    }
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
    for (int kind = 0; kind < GEODEC__PREPARE_KINDS; kind++) /* of sessions */
        for (int a = 0; a < GEODEC_ARITHMETICS; a++) geodec__prepare_free(m->prepared[kind][a]);
    for (int i = 0; i < o->n; i++) geodec_mem_free(o->all[i]);
    pthread_mutex_destroy(&o->lazy);
    geodec_mem_free(o);
}

bool models_start_at(const geodec_model *m, int32_t boundary)
{
    const bool alone = !m->config.embed_added && m->config.n_streams == 0;
    return alone || boundary == 0 || boundary == m->config.n_layer;
}

geodec_reference *models_reference(const geodec_model *m, const int32_t *token, int64_t n)
{
    geodec_err err = {0};
    geodec_reference *any = NULL, *own = NULL;
    test_ok(geodec_reference_create(m, NULL, &any, &err), &err);
    test_ok(geodec_reference_of_text(any, token, n, &own, &err), &err);
    geodec_reference_destroy(any);
    return own;
}

void models_tokens(const geodec_model *m, int32_t *token, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        token[i] = (int32_t)(geodec_rng_at(3, geodec_rng_id(m->name, 0), (uint64_t)i) % (uint64_t)m->config.n_vocab);
}
