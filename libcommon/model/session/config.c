/* Reads and limits every hyper-parameter. The keys are named after the architecture: "llama.block_count". */
#include "recurrence/recurrence.h"
#include "session/keys_internal.h"
#include "session/model_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes of attention from latent vectors, which is attention with one key head. */
static geodec_status read_latent(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const bool own = geodec__key_has(k, "attention.key_length_mla") || geodec__key_has(k, "attention.value_length_mla");
    const int32_t even = own ? -1 : c->d_model / c->n_head; /* without these keys the general ones say it */
    int32_t key;
    GEODEC_PASS(geodec__key_int(k, "attention.kv_lora_rank", 1, GEODEC__MAX_HEAD_DIM, -1, &c->d_latent));
    if (geodec_gguf_find(k->g, "blk.0.attn_q_a.weight"))
        GEODEC_PASS(geodec__key_int(k, "attention.q_lora_rank", 1, GEODEC__MAX_WIDTH, -1, &c->d_latent_query));
    GEODEC_PASS(geodec__key_int(k, own ? "attention.value_length_mla" : "attention.value_length", 1,
                                GEODEC__MAX_HEAD_DIM, even, &c->d_latent_value));
    GEODEC_PASS(geodec__key_int(k, own ? "attention.key_length_mla" : "attention.key_length", 1, GEODEC__MAX_HEAD_DIM,
                                even, &key));
    GEODEC_PASS(geodec__key_int(k, "rope.dimension_count", 2, key, -1, &c->rope_dim));
    if (c->rope_dim % 2) GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d is odd", k->path, k->name, c->rope_dim);
    c->d_latent_key = key - c->rope_dim;
    c->n_kv_head = 1;
    c->head_dim = c->d_latent + c->rope_dim;
    c->attn_scale = 1 / sqrt((double)key);
    return GEODEC_OK;
}

static geodec_status read_heads(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    int32_t each[GEODEC__MAX_LAYERS];
    const bool hybrid = geodec__arch_has_gaps(k->arch); /* layers may have no attention, and no feed-forward */
    const int64_t least = hybrid ? 0 : 1;
    GEODEC_PASS(
        geodec__key_each(k, "attention.head_count", least, GEODEC__MAX_HEADS, hybrid ? 0 : -1, c, each, &c->n_head));
    if (k->arch->latent != GEODEC__LATENT_NONE) return read_latent(k, c);
    GEODEC_PASS(
        geodec__key_each(k, "attention.head_count_kv", least, GEODEC__MAX_HEADS, c->n_head, c, each, &c->n_kv_head));
    if (c->n_head == 0 || c->n_kv_head == 0) { /* no attention at all: the numbers are not used */
        c->n_head = c->n_kv_head = 1;
        c->head_dim = c->rope_dim = 2;
        return GEODEC_OK;
    }
    if (!geodec__key_has(k, "attention.key_length") && c->d_model % c->n_head)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s.attention.head_count': %d does not divide the width %d", k->path,
                    k->arch->name, c->n_head, c->d_model);
    GEODEC_PASS(
        geodec__key_int(k, "attention.key_length", 1, GEODEC__MAX_HEAD_DIM, c->d_model / c->n_head, &c->head_dim));
    if (c->head_dim > GEODEC__MAX_HEAD_DIM)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: heads of %d dimensions", k->path, c->head_dim);
    GEODEC_PASS(geodec__key_int(k, "rope.dimension_count", 2, c->head_dim, c->head_dim, &c->rope_dim));
    if (c->rope_dim % 2) GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d is odd", k->path, k->name, c->rope_dim);
    return GEODEC_OK;
}

/* Positions of several axes are for images; those of a text are equal. */
static geodec_status read_sections(geodec__keys *k, geodec_model_config *c)
{
    enum { MOST = 4 };
    geodec_err *err = k->err;
    int32_t part[MOST] = {0};
    int64_t n;
    if (k->arch->sections || !geodec__key_has(k, "rope.dimension_sections")) return GEODEC_OK;
    GEODEC_PASS(geodec_gguf_array_length(k->g, k->name, &n, err));
    if (n > MOST) GEODEC_FAIL(GEODEC_LIMIT, "%s: key '%s': %lld sections", k->path, k->name, (long long)n);
    GEODEC_PASS(geodec_gguf_array_i32(k->g, k->name, part, n, err));
    if (part[0] <= 0 || part[1] <= 0) return GEODEC_OK;
    c->rope_pairs = GEODEC_ROPE_HALVES;
    if (!k->arch->section_halves)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': rotations by sections are not supported", k->path, k->name);
    return GEODEC_OK;
}

/* A soft-cap, of which 0 says that there is none. */
static geodec_status read_cap(geodec__keys *k, const char *suffix, float otherwise, float *cap)
{
    return geodec__key_float32(k, suffix, 1e6, geodec__key_has(k, suffix) ? 0 : otherwise, cap);
}

/* Factor of the scores, soft-cap, clamp, ALiBi. */
static geodec_status read_scores(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    double scale = a->attn_scale;
    if (a->scale_key) GEODEC_PASS(geodec__key_float(k, "attention.scale", 1e6, 0, &c->attn_scale));
    if (a->attn_scale != 0 && a->attn_scale != 1)
        GEODEC_PASS(geodec__key_float(k, "attention.output_scale", 1e6, scale, &scale));
    if (c->attn_scale == 0) c->attn_scale = scale;
    if (a->scale_by_width) c->attn_scale = 1.0 / c->head_dim;
    if (c->attn_scale == 0 && a->layers_of_wide_scale == c->n_layer)
        c->attn_scale = 1 / sqrt((double)(c->d_model / c->n_head));
    if (a->capped_attention) GEODEC_PASS(read_cap(k, "attn_logit_softcapping", a->attn_softcap, &c->attn_softcap));
    if (a->clamped) GEODEC_PASS(geodec__key_float32(k, "attention.clamp_kqv", 1e6, 0, &c->qkv_clamp));
    if (a->layers_of_alibi == 0 || a->layers_of_alibi == c->n_layer) c->alibi = a->alibi;
    if (c->alibi < 0) GEODEC_PASS(geodec__key_float32(k, "attention.max_alibi_bias", 64, 0, &c->alibi));
    GEODEC_PASS(geodec__key_float32(k, "attention.value_scale", 1e6, 0, &c->value_scale));
    if (c->value_scale == 1) c->value_scale = 0;
    c->gate_softplus = a->gate_softplus;
    return GEODEC_OK;
}

/* The factor of queries by position. */
static geodec_status read_temperature(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    int32_t length = 0;
    if (k->arch->temperature == GEODEC__TEMPERATURE_NONE) return GEODEC_OK;
    if (k->arch->temperature == GEODEC__TEMPERATURE_STILL) {
        c->temperature = 0.1;
        c->temperature_length = 8192;
        c->temperature_offset = 1;
        c->temperature_still = true;
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec__key_float(k, "attention.temperature_scale", 1e6, 0, &c->temperature));
    GEODEC_PASS(geodec__key_int(k, "rope.scaling.original_context_length", 1, GEODEC__MAX_CONTEXT, c->n_ctx, &length));
    GEODEC_PASS(
        geodec__key_int(k, "attention.temperature_length", 0, GEODEC__MAX_CONTEXT, length, &c->temperature_length));
    if (c->temperature_length == 0) c->temperature_length = length;
    return GEODEC_OK;
}

/* Windows of sliding layers, and which layers slide. */
static geodec_status read_windows(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    static const char pattern[] = "attention.sliding_window_pattern";
    if (a->windows == GEODEC__NEVER || (a->layers_of_windows > 0 && a->layers_of_windows != c->n_layer))
        return GEODEC_OK;
    GEODEC_PASS(geodec__key_int(k, "attention.sliding_window", 0, INT32_MAX, a->default_window, &c->window));
    if (c->window == 0 && a->windows == GEODEC__ALWAYS)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': architecture '%s' needs a window", k->path, k->name, a->name);
    if (c->window > 0 && a->fixed_window > 0) c->window = a->fixed_window;
    c->chunks = a->chunks;
    c->window_period = a->window_period;
    if (!geodec__key_has(k, pattern)) return GEODEC_OK;
    if (c->window == 0)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s' without '%s.attention.sliding_window'", k->path, k->name, a->name);
    int64_t n;
    /* a flag for each layer: geodec__config_layers */
    if (geodec_gguf_array_length(k->g, k->name, &n, NULL) == GEODEC_OK) {
        c->window_period = -1;
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec__key_int(k, pattern, 0, GEODEC__MAX_LAYERS, a->window_period, &c->window_period));
    if (a->window_period == 1) c->window_period = c->window_period == 0; /* one flag for all layers, no period */
    return GEODEC_OK;
}

/* The ramp of YaRN (Peng et al. 2023): pairs of fewer than one turn in the original context are scaled, those of more
 * than 32 are not. */
static geodec_status read_yarn(geodec__keys *k, geodec_model_config *c, double factor, double many, double *magnitude)
{
    geodec_err *err = k->err;
    double fast, slow;
    int32_t context;
    GEODEC_PASS(geodec__key_int(k, "rope.scaling.original_context_length", 1, GEODEC__MAX_CONTEXT, c->n_ctx, &context));
    GEODEC_PASS(geodec__key_float(k, "rope.scaling.yarn_beta_fast", 1e6, 32, &fast));
    GEODEC_PASS(geodec__key_float(k, "rope.scaling.yarn_beta_slow", 1e6, 1, &slow));
    const double base = 2 * log(c->rope_base), turns = (double)context / (2 * 3.14159265358979323846);
    c->yarn = 1;
    c->yarn_low = floor(c->rope_dim * log(turns / fast) / base);
    c->yarn_high = ceil(c->rope_dim * log(turns / slow) / base);
    if (c->yarn_low < 0) c->yarn_low = 0;
    if (c->yarn_high > c->rope_dim - 1) c->yarn_high = c->rope_dim - 1;
    if (factor > 1 && !(k->arch->latent == GEODEC__LATENT_EVEN && many > 0)) {
        const double part = 0.1 * log(factor);
        *magnitude = (*magnitude > 0 ? *magnitude : 1) * (1 + part) / (many > 0 ? 1 + many * part : 1);
    }
    return GEODEC_OK;
}

/* Base, scaling, magnitude. The divisors are tensors (weights.c). */
static geodec_status read_rope(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    const char *kind = "linear"; /* the format's default */
    double factor, magnitude, alpha, many, local;
    const bool scaled = a->latent == GEODEC__LATENT_SCALED || a->latent == GEODEC__LATENT_EVEN;
    GEODEC_PASS(read_sections(k, c));
    GEODEC_PASS(geodec__key_float(k, "rope.freq_base", 1e12, 10000, &c->rope_base));
    GEODEC_PASS(geodec__key_float(k, "rope.scaling.alpha", 1e6, 0, &alpha));
    if (alpha > 0) c->rope_base *= pow(alpha, c->head_dim / (c->head_dim - 2.0));
    if (a->windows != GEODEC__NEVER) {
        const double otherwise = a->rope_base_local > 0 ? a->rope_base_local : c->rope_base;
        GEODEC_PASS(geodec__key_float(k, "rope.freq_base_swa", 1e12, otherwise, &local));
        const bool unscaled = a->rope_base_local > 0 || a->local_unscaled;
        if (unscaled || local != c->rope_base) c->rope_base_local = local;
        c->rope_local_scaled = c->rope_base_local > 0 && !unscaled;
    }
    if (c->rope_base_local > 0)
        GEODEC_PASS(geodec__key_int(k, "rope.dimension_count_swa", 2, c->head_dim, c->rope_dim, &c->rope_dim_local));
    if (a->half_rotated) c->rope_dim = c->rope_dim / 4 * 2;
    if (geodec__key_has(k, "rope.scaling.type")) GEODEC_PASS(geodec_gguf_get_str(k->g, k->name, &kind, err));
    const bool linear = strcmp(kind, "linear") == 0, none = strcmp(kind, "none") == 0, yarn = strcmp(kind, "yarn") == 0,
               two = strcmp(kind, "longrope") == 0 && a->divisors == GEODEC__DIVISORS_TWO;
    if (!linear && !none && !two && !yarn)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': scaling '%.40s' is not supported", k->path, k->name, kind);
    GEODEC_PASS(geodec__key_float(k, "rope.scale_linear", 1e6, 0, &factor)); /* the older name */
    GEODEC_PASS(geodec__key_float(k, "rope.scaling.factor", 1e6, factor, &factor));
    if (factor != 0 && factor != 1) {
        if (two)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': a factor of %g contradicts scaling 'longrope'", k->path,
                        k->name, factor);
        if (linear || yarn) c->rope_scale = 1 / factor;
    }
    GEODEC_PASS(geodec__key_float(k, "rope.scaling.attn_factor", 1e3, 0, &magnitude));
    if (yarn && c->rope_local_scaled) /* their ramp would be another one */
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s.rope.freq_base_swa': a base of sliding layers contradicts 'yarn'",
                    k->path, a->name);
    const double given = magnitude > 0 ? magnitude : 1;
    GEODEC_PASS(geodec__key_float(k, "rope.scaling.yarn_log_multiplier", 1e6, 0, &many));
    if (scaled) many *= 10; /* converters write a tenth for these */
    if (yarn) GEODEC_PASS(read_yarn(k, c, factor, many, &magnitude));
    if (scaled && factor > 0 && (linear || yarn)) { /* the scores grow by the square */
        const double part = 0.1 * log(factor), turned = yarn ? magnitude > 0 ? magnitude : 1 : given * (1 + part);
        c->attn_scale *= pow(turned * (1 + many * part), 2);
    }
    if (magnitude != 1) c->rope_magnitude = (float)magnitude;
    if (a->divisors == GEODEC__DIVISORS_TWO)
        GEODEC_PASS(geodec__key_int(k, "rope.scaling.original_context_length", 1, GEODEC__MAX_CONTEXT, c->n_ctx,
                                    &c->rope_n_ctx_original));
    return GEODEC_OK;
}

/* Gating, groups, weights. */
static geodec_status read_gating(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    int32_t gating = 0, groups;
    bool norm = !a->keep_weights;
    if (!a->fixed_gating) GEODEC_PASS(geodec__key_int(k, "expert_gating_func", 0, INT32_MAX, 0, &gating));
    if (gating == 0) gating = a->gating > 0 ? (int32_t)a->gating : GEODEC_GATING_SOFTMAX;
    if (gating > GEODEC_GATING_CHOSEN)
        GEODEC_FAIL(GEODEC_UNSUPPORTED,
                    "%s: key '%s': gating function %d is not supported (1, softmax, 2, sigmoid, and 3, softmax of the "
                    "chosen, are)",
                    k->path, k->name, gating);
    c->gating = (geodec_gating)gating;
    GEODEC_PASS(geodec__key_int(k, "expert_group_count", 0, GEODEC__EXPERT_GROUPS, 0, &groups));
    if (groups > 1) {
        if (c->n_expert % groups || c->n_expert / groups < 2)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d experts are not %d equal groups of two or more", k->path,
                        k->name, c->n_expert, groups);
        GEODEC_PASS(geodec__key_int(k, "expert_group_used_count", 1, groups, -1, &c->n_expert_group_used));
        if (c->n_expert_group_used * (c->n_expert / groups) < c->n_expert_used)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d groups have fewer than %d experts", k->path, k->name,
                        c->n_expert_group_used, c->n_expert_used);
        c->n_expert_group = groups;
    }
    if (!a->fixed_weights) {
        if (geodec__key_has(k, "expert_weights_norm")) GEODEC_PASS(geodec_gguf_get_bool(k->g, k->name, &norm, err));
        GEODEC_PASS(geodec__key_float32(k, "expert_weights_scale", 1e6, 0, &c->expert_scale));
    }
    c->expert_keep_weights = !norm || c->gating == GEODEC_GATING_CHOSEN;
    if (c->expert_scale == 1) c->expert_scale = 0;
    c->route_raw = a->route_raw;
    c->weighed_input = a->weighed_input;
    c->feed_scale = a->feed_scale;
    return GEODEC_OK;
}

/* Adjugate experts: groups of experts, a width, a factor. */
static geodec_status read_adjugate(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    if (!k->arch->adjugate) return GEODEC_OK;
    GEODEC_PASS(geodec__key_int(k, "expert_chunk_feed_forward_length", 0, GEODEC__MAX_FF, 0, &c->d_ff_adjugate));
    if (c->d_ff_adjugate == 0) c->d_ff_adjugate = c->head_dim;
    GEODEC_PASS(geodec__key_int(k, "experts_per_group", 1, c->n_expert, -1, &c->adjugate_group));
    if (c->n_expert % c->adjugate_group)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %d experts are not groups of %d", k->path, k->name, c->n_expert,
                    c->adjugate_group);
    if (!geodec__key_has(k, "expert_group_scale")) GEODEC_PASS(geodec__key_missing(k->path, k->name, err));
    return geodec__key_float32(k, "expert_group_scale", 1e6, 0, &c->adjugate_scale);
}

/* Whether any layer has such a tensor. */
static bool any_layer_has(const geodec__keys *k, const geodec_model_config *c, const char *suffix)
{
    char name[GEODEC__KEY];
    for (int32_t i = 0; i < c->n_layer; i++) {
        (void)snprintf(name, sizeof name, "blk.%d.%s", i, suffix);
        if (geodec_gguf_find(k->g, name)) return true;
    }
    return false;
}

/* Width of the shared network, and which layers have experts. */
static geodec_status read_dense_parts(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    int32_t count = 0, length = 0, dense = 0;
    const bool must = a->mixture_norms;
    GEODEC_PASS(geodec__key_int(k, "feed_forward_length", must ? 1 : 0, GEODEC__MAX_FF, must ? -1 : 0, &dense));
    if (a->shared == GEODEC__SHARED_FFN) {
        c->d_ff_shared = a->own_input ? c->d_model : dense;
    } else if (a->shared != GEODEC__SHARED_NONE) {
        GEODEC_PASS(geodec__key_int(k, "expert_shared_count", 0, GEODEC__MAX_EXPERTS,
                                    a->shared == GEODEC__SHARED_PRODUCT ? 1 : 0, &count));
        GEODEC_PASS(geodec__key_int(k, "expert_shared_feed_forward_length", 0, GEODEC__MAX_FF, 0, &length));
        int64_t width = length;
        if (a->shared == GEODEC__SHARED_COUNT && length == 0) width = (int64_t)count * c->d_ff;
        if (a->shared == GEODEC__SHARED_ONE && length == 0) width = c->d_ff;
        if (a->shared == GEODEC__SHARED_PRODUCT) width = (int64_t)count * (length > 0 ? length : c->d_ff);
        if (a->shared == GEODEC__SHARED_DENSE && length == 0) {
            GEODEC_PASS(geodec__key_int(k, "feed_forward_length", 1, GEODEC__MAX_FF, -1, &length));
            width = length;
        }
        if (width > GEODEC__MAX_FF)
            GEODEC_FAIL(GEODEC_LIMIT, "%s: key '%s': %lld numbers of shared experts are more than %d", k->path, k->name,
                        (long long)width, (int)GEODEC__MAX_FF);
        c->d_ff_shared = (int32_t)width;
        if (a->bare && width > 0 && !any_layer_has(k, c, "ffn_down_shexp.weight")) c->d_ff_shared = c->d_model;
    }
    c->d_ff_dense = dense; /* of the layers without a router */
    if (a->recurrent) GEODEC_PASS(geodec__key_int(k, "feed_forward_length", 1, GEODEC__MAX_FF, -1, &c->d_ff_dense));
    if (a->dense_layers) GEODEC_PASS(geodec__key_int(k, "leading_dense_block_count", 0, c->n_layer, 0, &c->n_dense));
    if (a->dense_steps) GEODEC_PASS(geodec__key_int(k, "interleave_moe_layer_step", 0, c->n_layer, 0, &c->expert_step));
    if (c->expert_step == 1) c->expert_step = 0;
    if (c->n_dense > 0 || c->expert_step > 0)
        GEODEC_PASS(geodec__key_int(k, "feed_forward_length", 1, GEODEC__MAX_FF, -1, &c->d_ff_dense));
    return GEODEC_OK;
}

/* PERSPECTIVE models: recurrences, and the choice of experts. */
static geodec_status read_recurrence(geodec__keys *k, geodec_model_config *c)
{
    static const char *const routes[] = {"softmax", "mod", "angle"}, *const places[] = {"post", "pre"};
    geodec_err *err = k->err;
    int route, place;
    double least = 0;
    if (!k->arch->recurrent) return GEODEC_OK;
    GEODEC_PASS(geodec__key_int(k, "recurrence.rank", 0, GEODEC_RECURRENCE_RANK, -1, &c->recur_rank));
    GEODEC_PASS(geodec__key_int(k, "recurrence.period", 1, GEODEC__MAX_LAYERS, -1, &c->recur_period));
    if (geodec__key_has(k, "recurrence.log_decay_min")) GEODEC_PASS(geodec_gguf_get_f64(k->g, k->name, &least, err));
    if (!(least <= 0 && least > -80))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %g is outside -80 to 0", k->path, k->name, least);
    c->recur_log_decay_min = (float)least;
    GEODEC_PASS(geodec__key_word(k, "expert_route", routes, 3, &route));
    GEODEC_PASS(geodec__key_word(k, "expert_route_at", places, 2, &place));
    if (geodec__key_has(k, "expert_lattice")) {
        int64_t n, product = 1;
        GEODEC_PASS(geodec_gguf_array_length(k->g, k->name, &n, err));
        if (n != GEODEC_TORUS_AXES)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %lld axes, not %d", k->path, k->name, (long long)n,
                        GEODEC_TORUS_AXES);
        GEODEC_PASS(geodec_gguf_array_i32(k->g, k->name, c->expert_lattice, n, err));
        for (int a = 0; a < GEODEC_TORUS_AXES && product <= GEODEC__MAX_EXPERTS; a++)
            product *= c->expert_lattice[a] > 0 ? c->expert_lattice[a] : GEODEC__MAX_EXPERTS + 1;
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
static geodec_status read_recurrent(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__mixer how = k->arch->mixer;
    if (how == GEODEC__MIXER_NONE) return GEODEC_OK;
    if (how == GEODEC__MIXER_SHORT)
        return geodec__key_int(k, "shortconv.l_cache", 2, GEODEC_RECURRENCE_TAPS, -1, &c->ssm_taps);
    GEODEC_PASS(geodec__key_int(k, "ssm.conv_kernel", 2, GEODEC_RECURRENCE_TAPS, -1, &c->ssm_taps));
    GEODEC_PASS(geodec__key_int(k, "ssm.inner_size", 1, GEODEC__MAX_WIDTH, -1, &c->ssm_inner));
    GEODEC_PASS(geodec__key_int(k, "ssm.state_size", 1, GEODEC_RECURRENCE_RANK, -1, &c->ssm_state));
    GEODEC_PASS(geodec__key_int(k, "ssm.time_step_rank", 1, GEODEC__MAX_WIDTH, -1, &c->ssm_rank));
    GEODEC_PASS(geodec__key_int(k, "ssm.group_count", 0, GEODEC__MAX_HEADS, 0, &c->ssm_groups));
    if (c->ssm_groups == 0) c->ssm_groups = 1;
    return GEODEC_OK;
}

static geodec_status read_experts(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    const bool must = a->experts == GEODEC__ALWAYS;
    GEODEC_PASS(geodec__key_int(k, "expert_count", must ? 1 : 0, GEODEC__MAX_EXPERTS, must ? -1 : 0, &c->n_expert));
    /* a number without tensors of experts has no effect; a tensor of them is refused by name (weights.c) */
    if (a->experts == GEODEC__NEVER) c->n_expert = 0;
    if (c->n_expert > 0 && !must && !geodec_gguf_find(k->g, "blk.0.ffn_gate_inp.weight") &&
        !geodec_gguf_find(k->g, "blk.1.ffn_gate_inp.weight") && !a->recurrent)
        c->n_expert = 0;
    if (c->n_expert == 0) {
        c->n_expert_used = 0;
        int32_t each[GEODEC__MAX_LAYERS];
        const bool none = geodec__arch_has_gaps(a); /* there may be no feed-forward */
        GEODEC_PASS(
            geodec__key_each(k, "feed_forward_length", none ? 0 : 1, GEODEC__MAX_FF, none ? 0 : -1, c, each, &c->d_ff));
        if (a->half_length) c->d_ff /= 2;
        if (a->bare && !any_layer_has(k, c, "ffn_down.weight")) c->d_ff = c->d_model;
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec__key_int(k, "expert_used_count", 1, c->n_expert, -1, &c->n_expert_used));
    const bool has = geodec__key_has(k, "expert_feed_forward_length"),
               own = !a->dense_width && (has || a->expert_width);
    GEODEC_PASS(geodec__key_int(k, own ? "expert_feed_forward_length" : "feed_forward_length", 1, GEODEC__MAX_FF, -1,
                                &c->d_ff));
    if (a->expert_share && !has) c->d_ff /= c->n_expert_used;
    if (c->d_ff < 1) GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': experts of no width", k->path, k->name);
    GEODEC_PASS(read_gating(k, c));
    GEODEC_PASS(read_adjugate(k, c));
    GEODEC_PASS(read_dense_parts(k, c));
    return GEODEC_OK;
}

/* Factors of the embedding, of the residual stream and of the logits. */
static geodec_status read_scales(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    const double width = (double)c->d_model;
    float *const all[] = {&c->embed_scale, &c->residual_scale, &c->logit_scale};
    if (a->scaled_embedding) c->embed_scale = (float)sqrt(width);
    if (a->scales || a->recurrent || a->embed_scale > 0)
        GEODEC_PASS(geodec__key_float32(k, "embedding_scale", 1e6, (float)a->embed_scale, &c->embed_scale));
    if (a->scales)
        GEODEC_PASS(geodec__key_float32(k, "residual_scale", 1e6, a->deep_scales ? (float)(1.4 / sqrt(c->n_layer)) : 0,
                                        &c->residual_scale));
    if (a->logits != GEODEC__LOGITS_PLAIN) {
        const double otherwise = a->deep_scales ? 256 / width : a->logit_scale;
        GEODEC_PASS(geodec__key_float32(k, "logit_scale", 1e6, (float)otherwise, &c->logit_scale));
        if (a->logits == GEODEC__LOGITS_TIMES && c->logit_scale > 0) c->logit_scale = 1 / c->logit_scale;
    }
    for (int i = 0; i < 3; i++)
        if (*all[i] == 1) *all[i] = 0;
    if (a->capped_logits) GEODEC_PASS(read_cap(k, "final_logit_softcapping", a->final_softcap, &c->final_softcap));
    return GEODEC_OK;
}

/* Features of other models that would change the function if they were ignored, by the two values without effect. */
static geodec_status refuse_features(geodec__keys *k, const geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    const struct {
        bool known; /* read elsewhere */
        double harmless[2];
        const char *suffix;
    } features[] = {
        {false, {0, 0}, "swin_norm"},
        {a->limits, {0, 0}, "swiglu_clamp_exp"},
        {a->limits, {0, 0}, "swiglu_clamp_shexp"},
        {a->layer_inputs, {0, 0}, "attention.shared_kv_layers"},
        {false, {0, 1}, "moe_every_n_layers"},
        {false, {0, 1}, "num_loops"},
        {false, {1, 1}, "attention.causal"},
        {false, {-1, c->yarn}, "rope.scaling.yarn_ext_factor"},
        {c->yarn != 0, {1, 1}, "rope.scaling.yarn_attn_factor"}, /* YaRN has its own */
        {a->parallel != GEODEC__SEQUENTIAL, {0, 0}, "use_parallel_residual"},
        {a->clamped, {0, 0}, "attention.clamp_kqv"},
        {a->windows != GEODEC__NEVER, {0, 0}, "attention.sliding_window"},
        {a->alibi != 0, {0, 0}, "attention.max_alibi_bias"},
        {a->temperature != GEODEC__TEMPERATURE_NONE, {0, 0}, "attention.temperature_scale"},
        {a->attn_scale != 0, {0, 1}, "attention.output_scale"},
        {a->capped_attention, {0, 0}, "attn_logit_softcapping"},
        {a->capped_logits, {0, 0}, "final_logit_softcapping"},
        {a->next_tokens, {0, 0}, "nextn_predict_layers"},
        {a->logits != GEODEC__LOGITS_PLAIN, {0, 1}, "logit_scale"},
        {a->scales, {0, 1}, "residual_scale"},
        {a->scales || a->recurrent || a->embed_scale > 0, {0, 1}, "embedding_scale"},
        {c->n_expert > 0, {0, 1}, "expert_group_count"},
    };
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        double each[GEODEC__MAX_LAYERS];
        int64_t n;
        if (features[i].known || !geodec__key_has(k, features[i].suffix)) continue;
        GEODEC_PASS(geodec__key_numbers(k, k->name, c->n_layer, each, &n));
        for (int64_t l = 0; l < n; l++)
            if (each[l] != features[i].harmless[0] && each[l] != features[i].harmless[1])
                GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': %g is not supported", k->path, k->name, each[l]);
    }
    return GEODEC_OK;
}

/* Of the kind of norm that the architecture has; some files have the keys of both. */
static geodec_status read_epsilon(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    const geodec__arch *a = k->arch;
    double rms = 0;
    if (a->rms_by_key) GEODEC_PASS(geodec__key_float(k, "attention.layer_norm_rms_epsilon", 1, 0, &rms));
    c->layer_norm = a->layer_norm && rms == 0;
    return geodec__key_float32(k, c->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
                               1, -1, &c->rms_eps);
}

static geodec_status read_parallel(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    c->parallel = k->arch->parallel == GEODEC__PARALLEL;
    if (k->arch->parallel == GEODEC__PARALLEL_BY_KEY && geodec__key_has(k, "use_parallel_residual"))
        GEODEC_PASS(geodec_gguf_get_bool(k->g, k->name, &c->parallel, err));
    if (k->arch->parallel == GEODEC__PARALLEL_BY_NORM) c->parallel = !geodec_gguf_find(k->g, "blk.0.ffn_norm.weight");
    return GEODEC_OK;
}

/* Streams of the residual, the first of which must be the active one, and the rank of the path beside attention. */
static geodec_status read_streams(geodec__keys *k, geodec_model_config *c)
{
    geodec_err *err = k->err;
    int32_t active;
    if (k->arch->streams == 0) return GEODEC_OK;
    GEODEC_PASS(geodec__key_int(k, "altup.num_inputs", 2, GEODEC__STREAMS, k->arch->streams, &c->n_streams));
    GEODEC_PASS(geodec__key_int(k, "altup.active_idx", 0, 0, 0, &active));
    const geodec_gguf_tensor *t = geodec_gguf_find(k->g, "blk.0.laurel_l.weight");
    if (t && (t->dim[1] < 1 || t->dim[1] > GEODEC__MAX_WIDTH))
        GEODEC_FAIL(GEODEC_LIMIT, "%s: tensor '%s' has %lld rows", k->path, t->name, (long long)t->dim[1]);
    c->laurel_rank = t ? (int32_t)t->dim[1] : 1; /* a missing one is named as it is bound */
    return GEODEC_OK;
}

geodec_status geodec__config_read(const geodec_gguf *g, geodec_model_config *out, geodec_err *err)
{
    static const char arch_key[] = "general.architecture";
    geodec__keys k = {.g = g, .path = geodec_gguf_path(g), .err = err};
    geodec_model_config c = {0};
    const char *arch;
    if (!geodec_gguf_has(g, arch_key)) GEODEC_PASS(geodec__key_missing(k.path, arch_key, err));
    GEODEC_PASS(geodec_gguf_get_str(g, arch_key, &arch, err));
    k.arch = geodec__arch_find(arch);
    if (!k.arch)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': architecture '%.60s' is not supported", k.path, arch_key, arch);
    c.arch = k.arch->name;
    c.rope_pairs = k.arch->adjacent_pairs ? GEODEC_ROPE_ADJACENT : GEODEC_ROPE_HALVES;
    c.activation = k.arch->activation;
    c.plain = k.arch->plain;
    if (k.arch->layer_inputs)
        GEODEC_PASS(geodec__key_int(&k, "embedding_length_per_layer_input", 0, GEODEC__MAX_HEAD_DIM,
                                    k.arch->inputs_width, &c.d_inputs));
    c.embed_added = k.arch->embed_norm;
    c.qk_norm_rotated = k.arch->qk_norm_rotated;
    GEODEC_PASS(geodec__key_int(&k, "block_count", 1, GEODEC__MAX_LAYERS, -1, &c.n_layer));
    if (k.arch->next_tokens)
        GEODEC_PASS(geodec__key_int(&k, "nextn_predict_layers", 0, c.n_layer - 1, 0, &c.n_layer_next));
    c.n_layer -= c.n_layer_next;
    GEODEC_PASS(geodec__key_int(&k, "embedding_length", 1, GEODEC__MAX_WIDTH, -1, &c.d_model));
    GEODEC_PASS(geodec__key_int(&k, "context_length", 1, GEODEC__MAX_CONTEXT, -1, &c.n_ctx));
    GEODEC_PASS(read_heads(&k, &c));
    GEODEC_PASS(read_epsilon(&k, &c));
    GEODEC_PASS(read_parallel(&k, &c));
    GEODEC_PASS(read_streams(&k, &c));
    GEODEC_PASS(read_experts(&k, &c));
    GEODEC_PASS(read_recurrence(&k, &c));
    GEODEC_PASS(read_recurrent(&k, &c));
    GEODEC_PASS(read_scores(&k, &c));
    GEODEC_PASS(read_temperature(&k, &c));
    GEODEC_PASS(read_windows(&k, &c));
    GEODEC_PASS(read_rope(&k, &c));
    GEODEC_PASS(read_scales(&k, &c));
    GEODEC_PASS(geodec__key_int(&k, "vocab_size", 1, GEODEC__MAX_VOCAB, 0, &c.n_vocab));
    GEODEC_PASS(refuse_features(&k, &c));
    *out = c;
    return GEODEC_OK;
}
