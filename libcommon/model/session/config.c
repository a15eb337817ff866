/* Reads and limits every hyper-parameter. The keys are named after the architecture: "llama.block_count". */
#include "recurrence/recurrence.h"
#include "session/arch_internal.h"
#include "session/model_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Beyond any published model, and small enough that no product below overflows 64 bits. */
enum {
    MAX_LAYERS = 1024,
    MAX_WIDTH = 1 << 17,
    MAX_HEADS = 1 << 12,
    MAX_HEAD_DIM = 1 << 12,
    MAX_FF = 1 << 20,
    MAX_CONTEXT = 1 << 24,
    MAX_VOCAB = 1 << 24,
    MAX_EXPERTS = 1 << 12,
    KEY = 128
};

typedef struct keys {
    const geodec_gguf *g;
    const char *path;
    const geodec__arch *arch;
    geodec_err *err;
    char name[KEY]; /* the current key, for messages */
} keys;

/* Whether the file has <architecture>.<suffix>. */
static bool has(keys *k, const char *suffix)
{
    (void)snprintf(k->name, sizeof k->name, "%s.%s", k->arch->name, suffix);
    return geodec_gguf_has(k->g, k->name);
}

static geodec_status missing(const char *path, const char *key, geodec_err *err)
{
    GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s' is missing", path, key);
}

static geodec_status not_part(const keys *k)
{
    return geodec_err_set(k->err, GEODEC_UNSUPPORTED, __func__, __LINE__,
                          "%s: key '%s' is not part of architecture '%s'", k->path, k->name, k->arch->name);
}

/* The integer of the current key. One for each layer is read where all are equal: converters write both forms. */
static geodec_status read_equal(keys *k, int64_t *v)
{
    geodec_err *err = k->err;
    int64_t n;
    bool same;
    if (geodec_gguf_array_length(k->g, k->name, &n, NULL) != GEODEC_OK)
        return geodec_gguf_get_i64(k->g, k->name, v, err);
    GEODEC_PASS(geodec_gguf_array_same(k->g, k->name, v, &same, err));
    if (!same && k->arch->mixer != GEODEC__MIXER_NONE) { /* 0 in layers without such a part */
        int32_t all[MAX_LAYERS];
        *v = 0;
        if (n > MAX_LAYERS) GEODEC_FAIL(GEODEC_LIMIT, "%s: key '%s': %lld values", k->path, k->name, (long long)n);
        GEODEC_PASS(geodec_gguf_array_i32(k->g, k->name, all, n, err));
        for (int64_t i = 0; i < n; i++)
            if (all[i] > *v) *v = all[i];
        return GEODEC_OK;
    }
    if (!same)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': %lld values that are not all equal are not supported", k->path,
                    k->name, (long long)n);
    return GEODEC_OK;
}

/* An integer from lo to hi; a missing key is an error when otherwise < 0, else gives that value. */
static geodec_status read_int(keys *k, const char *suffix, int64_t lo, int64_t hi, int64_t otherwise, int32_t *out)
{
    geodec_err *err = k->err;
    int64_t v;
    if (!has(k, suffix)) {
        if (otherwise < 0) GEODEC_PASS(missing(k->path, k->name, err));
        *out = (int32_t)otherwise;
        return GEODEC_OK;
    }
    GEODEC_PASS(read_equal(k, &v));
    if (v < lo || v > hi)
        GEODEC_FAIL(v > hi ? GEODEC_LIMIT : GEODEC_FORMAT, "%s: key '%s': %lld is outside %lld to %lld", k->path,
                    k->name, (long long)v, (long long)lo, (long long)hi);
    *out = (int32_t)v;
    return GEODEC_OK;
}

/* A number in 0 .. limit, 0 only when `otherwise` is 0. otherwise: the value of a missing key; < 0: the key is
 * required. */
static geodec_status read_float(keys *k, const char *suffix, double limit, double otherwise, double *out)
{
    geodec_err *err = k->err;
    double v;
    if (!has(k, suffix)) {
        if (otherwise < 0) GEODEC_PASS(missing(k->path, k->name, err));
        *out = otherwise;
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec_gguf_get_f64(k->g, k->name, &v, err));
    if (!((v > 0 || (v == 0 && otherwise == 0)) && v <= limit))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %g is outside 0 to %g", k->path, k->name, v, limit);
    *out = v;
    return GEODEC_OK;
}

static geodec_status read_float32(keys *k, const char *suffix, double limit, float otherwise, float *out)
{
    double v;
    const geodec_status st = read_float(k, suffix, limit, (double)otherwise, &v);
    if (st == GEODEC_OK) *out = (float)v;
    return st;
}

static geodec_status read_heads(keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    int32_t value_length;
    GEODEC_PASS(read_int(k, "attention.head_count", 1, MAX_HEADS, -1, &c->n_head));
    GEODEC_PASS(read_int(k, "attention.head_count_kv", 1, MAX_HEADS, c->n_head, &c->n_kv_head));
    if (c->n_head % c->n_kv_head)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d does not divide the %d heads", k->path, k->name, c->n_kv_head,
                    c->n_head);
    if (!has(k, "attention.key_length") && c->d_model % c->n_head)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s.attention.head_count': %d does not divide the width %d", k->path,
                    k->arch->name, c->n_head, c->d_model);
    GEODEC_PASS(read_int(k, "attention.key_length", 1, MAX_HEAD_DIM, c->d_model / c->n_head, &c->head_dim));
    if (c->head_dim > MAX_HEAD_DIM) GEODEC_FAIL(GEODEC_LIMIT, "%s: heads of %d dimensions", k->path, c->head_dim);
    GEODEC_PASS(read_int(k, "attention.value_length", 1, MAX_HEAD_DIM, c->head_dim, &value_length));
    if (value_length != c->head_dim)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': %d differs from the key length %d", k->path, k->name,
                    value_length, c->head_dim);
    GEODEC_PASS(read_int(k, "rope.dimension_count", 2, c->head_dim, c->head_dim, &c->rope_dim));
    if (c->rope_dim % 2) GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d is odd", k->path, k->name, c->rope_dim);
    return GEODEC_OK;
}

/* Positions of several axes are for images; those of a text are equal. */
static geodec_status refuse_sections(keys *k)
{
    enum { MOST = 4 };
    geodec_err *err = k->err;
    int32_t part[MOST] = {0};
    int64_t n;
    if (k->arch->sections || !has(k, "rope.dimension_sections")) return GEODEC_OK;
    GEODEC_PASS(geodec_gguf_array_length(k->g, k->name, &n, err));
    if (n > MOST) GEODEC_FAIL(GEODEC_LIMIT, "%s: key '%s': %lld sections", k->path, k->name, (long long)n);
    GEODEC_PASS(geodec_gguf_array_i32(k->g, k->name, part, n, err));
    if (part[0] > 0 && part[1] > 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': rotations by sections are not supported", k->path, k->name);
    return GEODEC_OK;
}

/* Query scale, soft-caps, windows. */
static geodec_status read_attention(keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    GEODEC_PASS(read_float(k, "attention.scale", 1e6, 0, &c->attn_scale));
    if (c->attn_scale == 0 && a->layers_of_wide_scale == c->n_layer)
        c->attn_scale = 1 / sqrt((double)(c->d_model / c->n_head));
    GEODEC_PASS(read_float32(k, "attn_logit_softcapping", 1e6, a->attn_softcap, &c->attn_softcap));
    if (c->attn_softcap != 0 && !a->capped_attention) GEODEC_PASS(not_part(k));
    GEODEC_PASS(read_float32(k, "final_logit_softcapping", 1e6, a->final_softcap, &c->final_softcap));
    if (c->final_softcap != 0 && !a->scaled_embedding) GEODEC_PASS(not_part(k));
    GEODEC_PASS(read_int(k, "attention.sliding_window", 0, INT32_MAX, a->default_window, &c->window));
    if (c->window > 0 && a->windows == GEODEC__NEVER) GEODEC_PASS(not_part(k));
    if (c->window == 0 && a->windows == GEODEC__ALWAYS)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': architecture '%s' needs a window", k->path, k->name, a->name);
    GEODEC_PASS(read_int(k, "attention.sliding_window_pattern", 0, MAX_LAYERS, a->window_period, &c->window_period));
    if (c->window == 0 && has(k, "attention.sliding_window_pattern"))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s' without '%s.attention.sliding_window'", k->path, k->name, a->name);
    return GEODEC_OK;
}

/* Base, linear scaling, magnitude. The divisors are tensors (weights.c). */
static geodec_status read_rope(keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    const char *kind = "linear"; /* the format's default */
    double factor, magnitude, base_local;
    GEODEC_PASS(refuse_sections(k));
    GEODEC_PASS(read_float(k, "rope.freq_base", 1e12, 10000, &c->rope_base));
    GEODEC_PASS(read_float(k, "rope.freq_base_swa", 1e12, a->rope_base_local > 0 ? a->rope_base_local : c->rope_base,
                           &base_local));
    if (a->rope_base_local > 0)
        c->rope_base_local = base_local;
    else if (base_local != c->rope_base)
        GEODEC_PASS(not_part(k));
    if (has(k, "rope.scaling.type")) GEODEC_PASS(geodec_gguf_get_str(k->g, k->name, &kind, err));
    const bool linear = strcmp(kind, "linear") == 0, none = strcmp(kind, "none") == 0,
               two = strcmp(kind, "longrope") == 0 && a->divisors == GEODEC__DIVISORS_TWO;
    if (!linear && !none && !two)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': scaling '%.40s' is not supported", k->path, k->name, kind);
    GEODEC_PASS(read_float(k, "rope.scale_linear", 1e6, 0, &factor)); /* the older name */
    GEODEC_PASS(read_float(k, "rope.scaling.factor", 1e6, factor, &factor));
    if (factor != 0 && factor != 1) {
        if (two)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': a factor of %g contradicts scaling 'longrope'", k->path,
                        k->name, factor);
        if (linear) c->rope_scale = 1 / factor;
    }
    GEODEC_PASS(read_float(k, "rope.scaling.attn_factor", 1e3, 0, &magnitude));
    if (magnitude != 1) c->rope_magnitude = (float)magnitude;
    if (a->divisors == GEODEC__DIVISORS_TWO)
        GEODEC_PASS(
            read_int(k, "rope.scaling.original_context_length", 1, MAX_CONTEXT, c->n_ctx, &c->rope_n_ctx_original));
    return GEODEC_OK;
}

/* Gating, groups, weights. */
static geodec_status read_gating(keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    int32_t gating, groups;
    bool norm = !a->keep_weights;
    GEODEC_PASS(read_int(k, "expert_gating_func", 0, INT32_MAX, 0, &gating));
    if (gating > (a->sigmoid ? 2 : 1))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': gating function %d is not supported (1, softmax%s)", k->path,
                    k->name, gating, a->sigmoid ? ", and 2, sigmoid, are" : ", is");
    c->expert_sigmoid = a->sigmoid && gating != 1;
    GEODEC_PASS(read_int(k, "expert_group_count", 0, GEODEC__EXPERT_GROUPS, 0, &groups));
    if (groups > 1) {
        if (c->n_expert % groups || c->n_expert / groups < 2)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d experts are not %d equal groups of two or more", k->path,
                        k->name, c->n_expert, groups);
        GEODEC_PASS(read_int(k, "expert_group_used_count", 1, groups, -1, &c->n_expert_group_used));
        if (c->n_expert_group_used * (c->n_expert / groups) < c->n_expert_used)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d groups have fewer than %d experts", k->path, k->name,
                        c->n_expert_group_used, c->n_expert_used);
        c->n_expert_group = groups;
    }
    if (has(k, "expert_weights_norm")) GEODEC_PASS(geodec_gguf_get_bool(k->g, k->name, &norm, err));
    c->expert_keep_weights = !norm;
    GEODEC_PASS(read_float32(k, "expert_weights_scale", 1e6, 0, &c->expert_scale));
    if (c->expert_scale == 1) c->expert_scale = 0;
    return GEODEC_OK;
}

/* Width of the shared network, and which layers have experts. */
static geodec_status read_dense_parts(keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    int32_t count = 0, length = 0;
    if (a->shared != GEODEC__SHARED_NONE) {
        GEODEC_PASS(
            read_int(k, "expert_shared_count", 0, MAX_EXPERTS, a->shared == GEODEC__SHARED_PRODUCT ? 1 : 0, &count));
        GEODEC_PASS(read_int(k, "expert_shared_feed_forward_length", 0, MAX_FF, 0, &length));
        int64_t width = length > 0 ? length : (int64_t)count * c->d_ff;
        if (a->shared == GEODEC__SHARED_PRODUCT) width = (int64_t)count * (length > 0 ? length : c->d_ff);
        if (a->shared == GEODEC__SHARED_DENSE && length == 0) {
            GEODEC_PASS(read_int(k, "feed_forward_length", 1, MAX_FF, -1, &length));
            width = length;
        }
        if (width > MAX_FF)
            GEODEC_FAIL(GEODEC_LIMIT, "%s: key '%s': %lld numbers of shared experts are more than %d", k->path, k->name,
                        (long long)width, (int)MAX_FF);
        c->d_ff_shared = (int32_t)width;
    }
    if (a->recurrent) GEODEC_PASS(read_int(k, "feed_forward_length", 1, MAX_FF, -1, &c->d_ff_dense));
    if (a->dense_layers) {
        GEODEC_PASS(read_int(k, "leading_dense_block_count", 0, c->n_layer, 0, &c->n_dense));
        GEODEC_PASS(read_int(k, "interleave_moe_layer_step", 0, c->n_layer, 0, &c->expert_step));
        if (c->expert_step == 1) c->expert_step = 0;
        if (c->n_dense > 0 || c->expert_step > 0)
            GEODEC_PASS(read_int(k, "feed_forward_length", 1, MAX_FF, -1, &c->d_ff_dense));
    }
    return GEODEC_OK;
}

/* One of n words; a missing key gives the first. */
static geodec_status read_word(keys *k, const char *suffix, const char *const *word, int n, int *out)
{
    geodec_err *err = k->err;
    const char *text;
    *out = 0;
    if (!has(k, suffix)) return GEODEC_OK;
    GEODEC_PASS(geodec_gguf_get_str(k->g, k->name, &text, err));
    for (int i = 0; i < n; i++)
        if (strcmp(text, word[i]) == 0) {
            *out = i;
            return GEODEC_OK;
        }
    GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': '%.40s' is not supported", k->path, k->name, text);
}

/* PERSPECTIVE models: recurrences, and the choice of experts. */
static geodec_status read_recurrence(keys *k, geodec_model_config *c)
{
    static const char *const routes[] = {"softmax", "mod", "angle"}, *const places[] = {"post", "pre"};
    geodec_err *err = k->err;
    int route, place;
    double least = 0;
    if (!k->arch->recurrent) return GEODEC_OK;
    GEODEC_PASS(read_int(k, "recurrence.rank", 0, GEODEC_RECURRENCE_RANK, -1, &c->recur_rank));
    GEODEC_PASS(read_int(k, "recurrence.period", 1, MAX_LAYERS, -1, &c->recur_period));
    if (has(k, "recurrence.log_decay_min")) GEODEC_PASS(geodec_gguf_get_f64(k->g, k->name, &least, err));
    if (!(least <= 0 && least > -80))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %g is outside -80 to 0", k->path, k->name, least);
    c->recur_log_decay_min = (float)least;
    GEODEC_PASS(read_word(k, "expert_route", routes, 3, &route));
    GEODEC_PASS(read_word(k, "expert_route_at", places, 2, &place));
    if (has(k, "expert_lattice")) {
        int64_t n, product = 1;
        GEODEC_PASS(geodec_gguf_array_length(k->g, k->name, &n, err));
        if (n != GEODEC_TORUS_AXES)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %lld axes, not %d", k->path, k->name, (long long)n,
                        GEODEC_TORUS_AXES);
        GEODEC_PASS(geodec_gguf_array_i32(k->g, k->name, c->expert_lattice, n, err));
        for (int a = 0; a < GEODEC_TORUS_AXES && product <= MAX_EXPERTS; a++)
            product *= c->expert_lattice[a] > 0 ? c->expert_lattice[a] : MAX_EXPERTS + 1;
        if (product != c->n_expert)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': not a lattice of %d experts", k->path, k->name, c->n_expert);
    }
    c->route = (geodec_route)route;
    c->route_before = place == 1;
    if (c->n_expert > 0 && c->route != GEODEC_ROUTE_SCORES && c->n_expert_used != 1)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s.expert_used_count': %d experts of a torus; only 1 is supported",
                    k->path, k->arch->name, c->n_expert_used);
    return GEODEC_OK;
}

/* Recurrent layers other than the decay recurrence. */
static geodec_status read_recurrent(keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__mixer how = k->arch->mixer;
    if (how == GEODEC__MIXER_NONE) return GEODEC_OK;
    if (how == GEODEC__MIXER_SHORT)
        return read_int(k, "shortconv.l_cache", 2, GEODEC_RECURRENCE_TAPS, -1, &c->ssm_taps);
    GEODEC_PASS(read_int(k, "ssm.conv_kernel", 2, GEODEC_RECURRENCE_TAPS, -1, &c->ssm_taps));
    GEODEC_PASS(read_int(k, "ssm.inner_size", 1, MAX_WIDTH, -1, &c->ssm_inner));
    GEODEC_PASS(read_int(k, "ssm.state_size", 1, GEODEC_RECURRENCE_RANK, -1, &c->ssm_state));
    GEODEC_PASS(read_int(k, "ssm.time_step_rank", 1, MAX_WIDTH, -1, &c->ssm_rank));
    GEODEC_PASS(read_int(k, "ssm.group_count", 0, MAX_HEADS, 0, &c->ssm_groups));
    if (c->ssm_groups == 0) c->ssm_groups = 1;
    return GEODEC_OK;
}

static geodec_status read_experts(keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    const bool must = a->experts == GEODEC__ALWAYS;
    GEODEC_PASS(read_int(k, "expert_count", must ? 1 : 0, MAX_EXPERTS, must ? -1 : 0, &c->n_expert));
    if (c->n_expert > 0 && a->experts == GEODEC__NEVER)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': architecture '%s' has no experts", k->path, k->name, a->name);
    if (c->n_expert == 0) {
        GEODEC_PASS(read_int(k, "expert_used_count", 0, 0, 0, &c->n_expert_used));
        GEODEC_PASS(read_int(k, "feed_forward_length", 1, MAX_FF, -1, &c->d_ff));
        return GEODEC_OK;
    }
    GEODEC_PASS(read_int(k, "expert_used_count", 1, c->n_expert, -1, &c->n_expert_used));
    const bool own = has(k, "expert_feed_forward_length") || a->expert_width;
    GEODEC_PASS(read_int(k, own ? "expert_feed_forward_length" : "feed_forward_length", 1, MAX_FF, -1, &c->d_ff));
    GEODEC_PASS(read_gating(k, c));
    GEODEC_PASS(read_dense_parts(k, c));
    return GEODEC_OK;
}

/* Factors of the embedding, of the residual stream and of the logits. */
static geodec_status read_scales(keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    bool trained = true;
    if (k->arch->scaled_embedding) c->embed_scale = (float)sqrt((double)c->d_model);
    if (!k->arch->scales && !k->arch->recurrent) return GEODEC_OK;
    GEODEC_PASS(read_float32(k, "embedding_scale", 1e6, 0, &c->embed_scale));
    if (c->embed_scale == 1) c->embed_scale = 0;
    if (!k->arch->scales) return GEODEC_OK;
    GEODEC_PASS(read_float32(k, "residual_scale", 1e6, 0, &c->residual_scale));
    GEODEC_PASS(read_float32(k, "logit_scale", 1e6, -1, &c->logit_scale));
    float *const all[] = {&c->residual_scale, &c->logit_scale};
    for (int i = 0; i < 2; i++)
        if (*all[i] == 1) *all[i] = 0;
    if (has(k, "rope.scaling.finetuned")) GEODEC_PASS(geodec_gguf_get_bool(k->g, k->name, &trained, err));
    if (!trained) GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': no rotation is not supported", k->path, k->name);
    return GEODEC_OK;
}

/* Features of other models that would change the function if they were ignored, by the two values without effect. */
static geodec_status refuse_features(keys *k)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    enum { MOST = 16 };
    const struct {
        bool known; /* read elsewhere */
        double harmless[2];
        const char *suffix[MOST];
    } features[] = {
        {false,
         {0, 0},
         {"router_logit_softcapping", "use_parallel_residual", "swin_norm", "expert_chunk_feed_forward_length",
          "attention.clamp_kqv", "attention.max_alibi_bias", "attention.temperature_length",
          "attention.temperature_scale", "attention.shared_kv_layers", "attention.key_length_swa",
          "attention.value_length_swa", "rope.dimension_count_swa"}},
        {a->shared != GEODEC__SHARED_NONE, {0, 0}, {"expert_shared_count", "expert_shared_feed_forward_length"}},
        {a->dense_layers, {0, 0}, {"leading_dense_block_count"}},
        {a->dense_layers, {0, 1}, {"interleave_moe_layer_step"}},
        {a->next_tokens, {0, 0}, {"nextn_predict_layers"}},
        {a->scales, {0, 1}, {"logit_scale", "residual_scale"}},
        {a->scales || a->recurrent, {0, 1}, {"embedding_scale"}},
        {a->experts != GEODEC__NEVER, {0, 1}, {"expert_group_count"}},
        {false,
         {0, 1},
         {"moe_every_n_layers", "attention.output_scale", "attention.value_scale", "rope.scaling.alpha"}},
        {false, {1, 1}, {"attention.causal"}},
    };
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        for (int f = 0; f < MOST && features[i].suffix[f] && !features[i].known; f++) {
            double v;
            if (!has(k, features[i].suffix[f])) continue;
            GEODEC_PASS(geodec_gguf_get_f64(k->g, k->name, &v, err));
            if (v != features[i].harmless[0] && v != features[i].harmless[1])
                GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': %g is not supported", k->path, k->name, v);
        }
    return GEODEC_OK;
}

geodec_status geodec__config_read(const geodec_gguf *g, geodec_model_config *out, geodec_err *err)
{
    static const char arch_key[] = "general.architecture";
    keys k = {.g = g, .path = geodec_gguf_path(g), .err = err};
    geodec_model_config c = {0};
    const char *arch;
    char names[400];
    if (!geodec_gguf_has(g, arch_key)) GEODEC_PASS(missing(k.path, arch_key, err));
    GEODEC_PASS(geodec_gguf_get_str(g, arch_key, &arch, err));
    k.arch = geodec__arch_find(arch);
    if (!k.arch)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': architecture '%.60s' is not supported (%s are)", k.path,
                    arch_key, arch, geodec__arch_names(names, sizeof names));
    c.arch = k.arch->name;
    c.rope_pairs = k.arch->adjacent_pairs ? GEODEC_ROPE_ADJACENT : GEODEC_ROPE_HALVES;
    c.activation = k.arch->activation;
    c.qk_norm_whole = k.arch->qk_norm == GEODEC__QK_WHOLE;
    c.qk_norm_rotated = k.arch->qk_norm_rotated;
    GEODEC_PASS(read_int(&k, "block_count", 1, MAX_LAYERS, -1, &c.n_layer));
    if (k.arch->next_tokens) GEODEC_PASS(read_int(&k, "nextn_predict_layers", 0, c.n_layer - 1, 0, &c.n_layer_next));
    c.n_layer -= c.n_layer_next;
    GEODEC_PASS(read_int(&k, "embedding_length", 1, MAX_WIDTH, -1, &c.d_model));
    GEODEC_PASS(read_int(&k, "context_length", 1, MAX_CONTEXT, -1, &c.n_ctx));
    GEODEC_PASS(read_heads(&k, &c));
    GEODEC_PASS(read_float32(&k, "attention.layer_norm_rms_epsilon", 1, -1, &c.rms_eps));
    GEODEC_PASS(read_experts(&k, &c));
    GEODEC_PASS(read_recurrence(&k, &c));
    GEODEC_PASS(read_recurrent(&k, &c));
    GEODEC_PASS(read_attention(&k, &c));
    GEODEC_PASS(read_rope(&k, &c));
    GEODEC_PASS(read_scales(&k, &c));
    GEODEC_PASS(read_int(&k, "vocab_size", 1, MAX_VOCAB, 0, &c.n_vocab));
    GEODEC_PASS(refuse_features(&k));
    *out = c;
    return GEODEC_OK;
}
