/* Binds every tensor of the file to its place in the architecture. Missing, misshapen and unknown tensors are refused
 * by name. */
#include "base/mem.h"
#include "session/bind_internal.h"
#include "session/expert_source_internal.h"
#include "session/model_internal.h"
#include "ternary/ternary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor data is used in place: little-endian hosts only");

enum { SUFFIX = GEODEC__BIND_SUFFIX };
static const char fused_experts[] = "ffn_gate_up_exps.weight";

/* layer < 0: not in a block. suffix with its .weight or .bias. One of size zero has no values and counts as missing. */
const geodec_gguf_tensor *geodec__bind_find(geodec__binder *b, int32_t layer, const char *suffix)
{
    if (layer < 0)
        (void)snprintf(b->name, sizeof b->name, "%s", suffix);
    else
        (void)snprintf(b->name, sizeof b->name, "blk.%d.%s", layer, suffix);
    const geodec_gguf_tensor *t = geodec_gguf_find(b->g, b->name);
    return t && geodec_gguf_elements(t) > 0 ? t : NULL;
}

void geodec__bind_mark(const geodec__binder *b, const geodec_gguf_tensor *t)
{
    b->bound[t - geodec_gguf_tensor_at(b->g, 0)] = true;
}

geodec_status geodec__bind_missing(const geodec__binder *b)
{
    return geodec_err_set(b->err, GEODEC_FORMAT, __func__, __LINE__, "tensor '%s' is missing", b->name);
}

/* Shape, and that values of the type can be read. */
geodec_status geodec__bind_shape(const geodec__binder *b, const geodec_gguf_tensor *t, int64_t cols, int64_t rows,
                                 int64_t count, geodec_err *err)
{
    const char *path = geodec_gguf_path_of(b->g, t->data);
    const bool part = strcmp(path, geodec_gguf_path(b->g)) != 0;
    const int64_t want[4] = {cols, rows, count, 1}; /* trailing ones do not count: [n] and [n, 1] are the same vector */
    if (memcmp(want, t->dim, sizeof want) != 0)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s'%s%s is [%lld, %lld, %lld, %lld], not [%lld, %lld, %lld, 1]", t->name,
                    part ? " of " : "", part ? path : "", (long long)t->dim[0], (long long)t->dim[1],
                    (long long)t->dim[2], (long long)t->dim[3], (long long)want[0], (long long)want[1],
                    (long long)want[2]);
    if (!geodec_ggml_traits_of(t->type))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%s' has type %s (%d), which is not supported", t->name,
                    geodec_ggml_type_name(t->type), t->type);
    return GEODEC_OK;
}

/* cols inputs, rows outputs, count matrices in one tensor (experts; 1 otherwise). */
geodec_status geodec__bind_matrix(geodec__binder *b, int32_t layer, const char *suffix, int64_t cols, int64_t rows,
                                  int64_t count, geodec__matrix *out)
{
    geodec_err *err = b->err;
    const geodec_gguf_tensor *t = geodec__bind_find(b, layer, suffix);
    if (!t) GEODEC_PASS(geodec__bind_missing(b));
    GEODEC_PASS(geodec__bind_shape(b, t, cols, rows, count, err));
    *out = (geodec__matrix){.data = t->data,
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = (int64_t)geodec_ggml_bytes(geodec_ggml_traits_of(t->type), cols),
                            .type = t->type};
    geodec__bind_mark(b, t);
    return GEODEC_OK;
}

/* Decoded to float32. A missing one stays NULL unless it is required. */
geodec_status geodec__bind_vector(geodec__binder *b, geodec__presence presence, int32_t layer, const char *suffix,
                                  int64_t n, const float **out)
{
    geodec_err *err = b->err;
    const geodec_gguf_tensor *t = presence == GEODEC__NEVER ? NULL : geodec__bind_find(b, layer, suffix);
    if (!t) {
        if (presence == GEODEC__ALWAYS) GEODEC_PASS(geodec__bind_missing(b));
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec__bind_shape(b, t, n, 1, 1, err));
    geodec_ggml_traits_of(t->type)->decode(t->data, b->vector_at, n);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(b->vector_at[i]))
            GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': value %lld is not finite", b->name, (long long)i);
    *out = b->vector_at;
    b->vector_at += geodec__pad(n);
    geodec__bind_mark(b, t);
    return GEODEC_OK;
}

/* The norm of rows of `width` numbers; one of heads if its vector has `head` numbers (0: never). */
static geodec_status bind_norm(geodec__binder *b, geodec__presence presence, int32_t layer, const char *suffix,
                               int64_t width, int64_t head, geodec__norm *out)
{
    const geodec_gguf_tensor *t = presence == GEODEC__NEVER ? NULL : geodec__bind_find(b, layer, suffix);
    const int64_t part = t && head > 0 && t->dim[0] == head ? head : width;
    *out = (geodec__norm){.width = (int32_t)width, .part = (int32_t)part, .eps = b->c->rms_eps};
    return geodec__bind_vector(b, presence, layer, suffix, part, &out->weight);
}

/* ---- parts of a layer ------------------------------------------------------------------------------------------- */

/* Rows first .. first + rows - 1 of a matrix. */
static geodec__matrix slice(const geodec__matrix *all, int64_t first, int64_t rows)
{
    geodec__matrix m = *all;
    m.data += first * all->row_bytes;
    m.rows = rows;
    return m;
}

static geodec_status bind_recurrence(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model, r = b->c->recur_rank;
    GEODEC_PASS(bind_norm(b, GEODEC__ALWAYS, i, "attn_norm.weight", d, 0, &l->attn_norm));
    GEODEC_PASS(geodec__bind_matrix(b, i, "recur_decay.weight", d, d, 1, &l->decay));
    GEODEC_PASS(geodec__bind_vector(b, GEODEC__ALWAYS, i, "recur_decay.bias", d, &l->decay_bias));
    GEODEC_PASS(geodec__bind_matrix(b, i, "recur_q.weight", d, r, 1, &l->q));
    GEODEC_PASS(geodec__bind_matrix(b, i, "recur_k.weight", d, r, 1, &l->k));
    GEODEC_PASS(geodec__bind_matrix(b, i, "recur_v.weight", d, d, 1, &l->v));
    GEODEC_PASS(bind_norm(b, GEODEC__ALWAYS, i, "recur_norm.weight", d, 0, &l->read_norm));
    GEODEC_PASS(geodec__bind_matrix(b, i, "recur_output.weight", d, d, 1, &l->o));
    l->recurrent = (geodec__recurrent){.how = GEODEC__MIXER_DECAY, .shape = {.d = d, .r = r, .share = 1, .keys = 1}};
    return GEODEC_OK;
}

static geodec_status bind_attention(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    const geodec__arch *a = b->arch;
    const int64_t d = c->d_model, q = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim;
    const bool normed = !a->qk_norm_optional || geodec__bind_find(b, i, "attn_q_norm.weight") ||
                        geodec__bind_find(b, i, "attn_k_norm.weight");
    const geodec__presence norm = a->qk_norm == GEODEC__QK_PLAIN || !normed ? GEODEC__NEVER : GEODEC__ALWAYS;
    const bool whole = a->qk_norm == GEODEC__QK_WHOLE;
    GEODEC_PASS(bind_norm(b, GEODEC__ALWAYS, i, "attn_norm.weight", d, 0, &l->attn_norm));
    if ((a->fused || a->fused_qkv) && geodec__bind_find(b, i, "attn_qkv.weight")) {
        geodec__matrix all;
        GEODEC_PASS(geodec__bind_matrix(b, i, "attn_qkv.weight", d, q + 2 * kv, 1, &all));
        l->q = slice(&all, 0, q);
        l->k = slice(&all, q, kv);
        l->v = slice(&all, q + kv, kv);
    } else {
        GEODEC_PASS(geodec__bind_matrix(b, i, "attn_q.weight", d, q, 1, &l->q));
        GEODEC_PASS(geodec__bind_matrix(b, i, "attn_k.weight", d, kv, 1, &l->k));
        GEODEC_PASS(geodec__bind_matrix(b, i, "attn_v.weight", d, kv, 1, &l->v));
    }
    const bool biased = geodec__bind_find(b, i, "attn_q.bias") || geodec__bind_find(b, i, "attn_k.bias") ||
                        geodec__bind_find(b, i, "attn_v.bias");
    /* one of the three alone is a damaged file */
    const geodec__presence bias = a->qkv_bias == GEODEC__MAYBE && biased ? GEODEC__ALWAYS : a->qkv_bias;
    GEODEC_PASS(geodec__bind_vector(b, bias, i, "attn_q.bias", q, &l->q_bias));
    GEODEC_PASS(geodec__bind_vector(b, bias, i, "attn_k.bias", kv, &l->k_bias));
    GEODEC_PASS(geodec__bind_vector(b, bias, i, "attn_v.bias", kv, &l->v_bias));
    GEODEC_PASS(bind_norm(b, norm, i, "attn_q_norm.weight", q, whole ? 0 : c->head_dim, &l->q_norm));
    GEODEC_PASS(bind_norm(b, norm, i, "attn_k_norm.weight", kv, whole ? 0 : c->head_dim, &l->k_norm));
    GEODEC_PASS(geodec__bind_matrix(b, i, "attn_output.weight", q, d, 1, &l->o));
    GEODEC_PASS(geodec__bind_vector(b, a->o_bias, i, "attn_output.bias", d, &l->o_bias));
    l->window = geodec__slides(c->window_period, i) ? c->window : 0;
    l->rope = l->window && c->rope_base_local > 0 ? 1 : 0;
    return GEODEC_OK;
}

/* A matrix of the experts of a store: type and shape, no data. */
static geodec_status bind_described(const geodec__binder *b, int32_t layer, int which, int64_t cols, int64_t rows,
                                    geodec__matrix *out)
{
    geodec_err *err = b->err;
    static const char *const name[] = {"gate", "up", "down"};
    const geodec_store_matrix *d = &b->store->matrix[(int64_t)layer * GEODEC_STORE_MATRICES + which];
    const geodec_ggml_traits *t = geodec_ggml_traits_of(d->type);
    if (d->rows != rows || d->cols != cols || !t || cols % t->block)
        GEODEC_FAIL(GEODEC_FORMAT,
                    "matrix '%s' of the experts of layer %d is [%lld, %lld] of type %s, not [%lld, %lld]", name[which],
                    layer, (long long)d->cols, (long long)d->rows, geodec_ggml_type_name(d->type), (long long)cols,
                    (long long)rows);
    const geodec__panel_format *f = geodec__panel_format_in((geodec_arithmetic)b->store->layout, d->type);
    const int trits = d->packing == GEODEC_STORE_TRITS ? b->store->trits : 0;
    if (trits) f = NULL;
    const int64_t row_bytes = trits ? geodec_ternary_row_bytes(trits, cols) : (int64_t)geodec_ggml_bytes(t, cols),
                  bytes = d->packing && f ? geodec__expert_panels_bytes(f, rows, cols) : rows * row_bytes;
    if ((d->packing && !f && !trits) || d->bytes != bytes)
        GEODEC_FAIL(GEODEC_FORMAT, "matrix '%s' of the experts of layer %d has %lld bytes in packing %d, not %lld",
                    name[which], layer, (long long)d->bytes, d->packing, (long long)bytes);
    *out = (geodec__matrix){.rows = rows, .cols = cols, .row_bytes = row_bytes, .type = d->type, .trits = trits};
    return GEODEC_OK;
}

/* All experts in one tensor <name>_exps, or one tensor each: <name>.E (files of before 2024-04). */
static geodec_status bind_experts(geodec__binder *b, int32_t layer, const char *name, int64_t cols, int64_t rows,
                                  geodec__matrix *out)
{
    geodec_err *err = b->err;
    char suffix[SUFFIX];
    (void)snprintf(suffix, sizeof suffix, "%s.0.weight", name);
    if (!geodec__bind_find(b, layer, suffix)) {
        (void)snprintf(suffix, sizeof suffix, "%s_exps.weight", name);
        GEODEC_PASS(geodec__bind_matrix(b, layer, suffix, cols, rows, b->c->n_expert, out));
        return GEODEC_OK;
    }
    geodec__matrix all = {0};
    for (int32_t e = 0; e < b->c->n_expert; e++) {
        geodec__matrix one;
        (void)snprintf(suffix, sizeof suffix, "%s.%d.weight", name, e);
        GEODEC_PASS(geodec__bind_matrix(b, layer, suffix, cols, rows, 1, &one));
        if (e == 0) {
            all = one;
            all.expert = b->expert_at;
        }
        if (one.type != all.type)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%s' is of another type than that of expert 0", b->name);
        *b->expert_at++ = one.data;
    }
    *out = all;
    return GEODEC_OK;
}

/* Gate and up of each expert in one tensor, the rows of gate first. */
static geodec_status bind_gate_up(geodec__binder *b, int32_t layer, int64_t cols, int64_t rows, geodec__layer *l)
{
    geodec_err *err = b->err;
    geodec__matrix both;
    GEODEC_PASS(geodec__bind_matrix(b, layer, fused_experts, cols, 2 * rows, b->c->n_expert, &both));
    geodec__matrix *const half[] = {&l->gate, &l->up};
    for (int k = 0; k < 2; k++) {
        *half[k] = slice(&both, k * rows, rows);
        half[k]->expert = b->expert_at;
        for (int32_t e = 0; e < b->c->n_expert; e++) *b->expert_at++ = half[k]->data + e * 2 * rows * both.row_bytes;
    }
    return GEODEC_OK;
}

/* The matrices of the experts of a layer. */
static geodec_status bind_routed(geodec__binder *b, int32_t i, int64_t d, int64_t f, geodec__layer *l)
{
    geodec_err *err = b->err;
    if (b->store) {
        GEODEC_PASS(bind_described(b, i, 0, d, f, &l->gate));
        GEODEC_PASS(bind_described(b, i, 1, d, f, &l->up));
        GEODEC_PASS(bind_described(b, i, 2, f, d, &l->down));
        return GEODEC_OK;
    }
    if (geodec__bind_find(b, i, fused_experts)) {
        GEODEC_PASS(bind_gate_up(b, i, d, f, l));
    } else {
        GEODEC_PASS(bind_experts(b, i, "ffn_gate", d, f, &l->gate));
        GEODEC_PASS(bind_experts(b, i, "ffn_up", d, f, &l->up));
    }
    GEODEC_PASS(bind_experts(b, i, "ffn_down", f, d, &l->down));
    return GEODEC_OK;
}

/* Whether the layer has experts. */
static bool routed(const geodec_model_config *c, int32_t layer)
{
    if (c->recur_period > 0) return c->n_expert > 0 && geodec__recurs(c, layer);
    return c->n_expert > 0 && layer >= c->n_dense && (c->expert_step < 2 || (layer + 1) % c->expert_step == 0);
}

/* Projection to the torus, and the places of the experts on it. */
static geodec_status bind_torus(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model, experts = b->c->n_expert;
    const int64_t rows = geodec_torus_rows(b->c->route == GEODEC_ROUTE_ANGLE ? GEODEC_TORUS_ANGLE : GEODEC_TORUS_MOD);
    GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_gate_inp.weight", d, rows, 1, &l->router));
    GEODEC_PASS(geodec__bind_vector(b, GEODEC__ALWAYS, i, "ffn_gate_inp.bias", rows, &l->router_bias));
    const geodec_gguf_tensor *t = geodec__bind_find(b, i, "ffn_expert_place.weight");
    if (!t) GEODEC_PASS(geodec__bind_missing(b));
    GEODEC_PASS(geodec__bind_shape(b, t, GEODEC_TORUS_AXES, experts, 1, err));
    const int64_t n = GEODEC_TORUS_AXES * experts;
    if (t->type != GEODEC_GGML_F32)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%s' is of type %s, not F32", b->name, geodec_ggml_type_name(t->type));
    geodec_ggml_traits_of(t->type)->decode(t->data, b->vector_at, n);
    for (int64_t k = 0; k < n; k++)
        if (!(b->vector_at[k] >= 0 && b->vector_at[k] < 1))
            GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': value %lld is outside 0 to 1", b->name, (long long)k);
    l->expert_place = b->vector_at;
    b->vector_at += geodec__pad(n);
    geodec__bind_mark(b, t);
    return GEODEC_OK;
}

static geodec_status bind_mixture(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    const int64_t d = c->d_model, f = c->d_ff, shared = c->d_ff_shared;
    if (c->route != GEODEC_ROUTE_SCORES) {
        GEODEC_PASS(bind_torus(b, i, l));
        return bind_routed(b, i, d, f, l);
    }
    GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_gate_inp.weight", d, c->n_expert, 1, &l->router));
    GEODEC_PASS(geodec__bind_vector(b, b->arch->expert_bias, i, "exp_probs_b.bias", c->n_expert, &l->expert_bias));
    GEODEC_PASS(bind_routed(b, i, d, f, l));
    if (shared == 0) return GEODEC_OK;
    GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_gate_shexp.weight", d, shared, 1, &l->shared_gate));
    GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_up_shexp.weight", d, shared, 1, &l->shared_up));
    GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_down_shexp.weight", shared, d, 1, &l->shared_down));
    if (b->arch->shared_factor)
        GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_gate_inp_shexp.weight", d, 1, 1, &l->shared_factor));
    return GEODEC_OK;
}

static geodec_status bind_feed_forward(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    const int64_t d = c->d_model, f = c->n_expert > 0 ? c->d_ff_dense : c->d_ff;
    const char *norm = b->arch->ffn_norm ? b->arch->ffn_norm : "ffn_norm.weight";
    const geodec__presence post = b->arch->post_norms ? GEODEC__ALWAYS : GEODEC__NEVER;
    GEODEC_PASS(bind_norm(b, post, i, "post_attention_norm.weight", d, 0, &l->attn_post_norm));
    GEODEC_PASS(bind_norm(b, GEODEC__ALWAYS, i, norm, d, 0, &l->ffn_norm));
    if (routed(c, i)) {
        GEODEC_PASS(bind_mixture(b, i, l));
    } else {
        if (b->arch->fused) {
            geodec__matrix both;
            GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_up.weight", d, 2 * f, 1, &both));
            l->gate = slice(&both, 0, f);
            l->up = slice(&both, f, f);
        } else {
            GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_gate.weight", d, f, 1, &l->gate));
            GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_up.weight", d, f, 1, &l->up));
        }
        GEODEC_PASS(geodec__bind_matrix(b, i, "ffn_down.weight", f, d, 1, &l->down));
    }
    GEODEC_PASS(bind_norm(b, post, i, "post_ffw_norm.weight", d, 0, &l->ffn_post_norm));
    return GEODEC_OK;
}

/* A layer of a model with recurrent ones: what it has is said by its tensors. */
static geodec_status bind_hybrid(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model;
    const bool recurs = geodec__bind_recurs(b, i);
    const bool attends = (!recurs || b->arch->beside) &&
                         (geodec__bind_find(b, i, "attn_q.weight") || geodec__bind_find(b, i, "attn_qkv.weight"));
    const bool feeds = geodec__bind_find(b, i, "ffn_down.weight") || geodec__bind_find(b, i, "ffn_gate_inp.weight");
    if (recurs) GEODEC_PASS(geodec__bind_recurrent(b, i, l));
    if (attends) GEODEC_PASS(bind_attention(b, i, l));
    if (recurs && !attends) GEODEC_PASS(bind_norm(b, GEODEC__ALWAYS, i, "attn_norm.weight", d, 0, &l->attn_norm));
    if (feeds) GEODEC_PASS(bind_feed_forward(b, i, l));
    if (!recurs && !attends && !feeds) return geodec__bind_missing(b);
    return GEODEC_OK;
}

/* ---- the model -------------------------------------------------------------------------------------------------- */

static geodec_status bind_divisors(geodec__binder *b, geodec_model *m)
{
    geodec_err *err = b->err;
    static const char *const names[][2] = {
        [GEODEC__DIVISORS_ONE] = {"rope_freqs.weight", NULL},
        [GEODEC__DIVISORS_TWO] = {"rope_factors_short.weight", "rope_factors_long.weight"}};
    const int64_t pairs = m->config.rope_dim / 2;
    for (int i = 0; i < (int)b->arch->divisors; i++) {
        /* one of two alone is a damaged file */
        const geodec__presence p =
            b->arch->divisors == GEODEC__DIVISORS_TWO && geodec_gguf_find(b->g, names[GEODEC__DIVISORS_TWO][1 - i])
                ? GEODEC__ALWAYS
                : GEODEC__MAYBE;
        GEODEC_PASS(geodec__bind_vector(b, p, -1, names[b->arch->divisors][i], pairs, &m->rope_divisor[i]));
        for (int64_t k = 0; m->rope_divisor[i] && k < pairs; k++)
            if (!(m->rope_divisor[i][k] > 0))
                GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': divisor %lld is not positive", b->name, (long long)k);
    }
    if (!m->rope_divisor[1]) m->config.rope_n_ctx_original = 0;
    return GEODEC_OK;
}

/* Whether it belongs to a block after the last layer. */
static bool is_of_next_tokens(const geodec__binder *b, const char *name)
{
    int block;
    return sscanf(name, "blk.%4d.", &block) == 1 && block >= b->c->n_layer &&
           block < b->c->n_layer + b->c->n_layer_next;
}

/* Whether architectures, of this program or not, have tensors of such a name: parts of blocks and of the whole model.
 */
static bool is_named(const char *name)
{
    static const char *const parts[] = {
        "attn_",      "attn.", "ffn_",    "ffn.",  "post_",  "pre_",      "exp_probs", "ssm_",        "recur_",
        "layer_",     "inp_",  "proj",    "altup", "laurel", "per_layer", "time_mix",  "channel_mix", "shortconv",
        "cross_attn", "nextn", "indexer", "hc_",   "conv",   "bskcn",     "rope_"};
    static const char *const whole[] = {"token_", "output", "rope_", "position_", "cls", "per_layer",
                                        "altup",  "enc.",   "dec.",  "dense_",    "hc_"};
    int end = 0;
    (void)sscanf(name, "blk.%*9[0-9].%n", &end);
    const char *const *list = end > 0 ? parts : whole;
    const size_t n = end > 0 ? sizeof parts / sizeof *parts : sizeof whole / sizeof *whole;
    for (size_t i = 0; i < n; i++)
        if (strncmp(name + end, list[i], strlen(list[i])) == 0) return true;
    return false;
}

/* A tensor of another architecture would be part of the function (a bias, frequency factors), so it is an error. One
 * without values, or of a name that no architecture has, is not read, and counted. */
static geodec_status refuse_unexpected(const geodec__binder *b, geodec_model *m)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = b->err;
    const int64_t n = geodec_gguf_n_tensors(b->g);
    GEODEC_NEW(m->unread, n);
    for (int64_t i = 0; i < n; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(b->g, i);
        if (b->bound[i] || is_of_next_tokens(b, t->name)) continue;
        if (geodec_gguf_elements(t) > 0 && is_named(t->name))
            GEODEC_THROW(GEODEC_UNSUPPORTED, "tensor '%s' is not part of architecture '%s'", t->name, b->arch->name);
        m->unread[m->n_unread++] = t->name;
    }
done:
    return st;
}

/* Memory for every vector and every expert's pointer, counted from the tensors present. */
static geodec_status new_places(geodec__binder *b, geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t floats = 0, experts = 0;
    const int64_t n = geodec_gguf_n_tensors(b->g);
    for (int64_t i = 0; i < n; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(b->g, i);
        if (geodec_gguf_elements(t) == 0 || !geodec_ggml_traits_of(t->type)) continue; /* not read */
        if (t->dim[1] == 1 && t->dim[2] == 1 && t->dim[3] == 1) floats += geodec__pad(t->dim[0]);
        if (m->config.route != GEODEC_ROUTE_SCORES && t->dim[0] == GEODEC_TORUS_AXES && t->dim[2] == 1)
            floats += geodec__pad(GEODEC_TORUS_AXES * t->dim[1]);
        floats += geodec__bind_recurrent_floats(t);
        const char *suffix = strstr(t->name, fused_experts);
        experts += suffix && !suffix[sizeof fused_experts - 1] ? 2 * t->dim[2] : 1;
    }
    GEODEC_NEW(b->bound, n);
    GEODEC_NEW(m->norms, floats);
    b->vector_at = m->norms;
    if (m->config.n_expert > 0) GEODEC_NEW(m->expert, experts);
    b->expert_at = m->expert;
done:
    return st;
}

/* A store has as many layers and experts as its keys say, and experts only where the file has a router. */
static geodec_status check_store(const geodec_model *m, geodec_err *err)
{
    const geodec_store *s = m->store;
    if (s->blobs.n_layer != m->config.n_layer || s->blobs.n_expert != m->config.n_expert)
        GEODEC_FAIL(GEODEC_FORMAT, "the index has %d layers of %d experts, the keys %d of %d", s->blobs.n_layer,
                    s->blobs.n_expert, m->config.n_layer, m->config.n_expert);
    return GEODEC_OK;
}

geodec_status geodec__weights_bind(geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_config *c = &m->config;
    geodec__binder b = {.g = m->gguf, .arch = geodec__arch_find(c->arch), .c = c, .store = m->store, .err = err};
    const geodec_gguf_tensor *embedding = geodec_gguf_find(m->gguf, "token_embd.weight");
    /* before memory is allocated by these numbers, check that the file has that many tensors */
    if (geodec_gguf_n_tensors(m->gguf) < 2 + (b.arch->mixer != GEODEC__MIXER_NONE ? 3 : 6) * (int64_t)c->n_layer)
        GEODEC_THROW(GEODEC_FORMAT, "key '%s.block_count': %d blocks need more than the %lld tensors present", c->arch,
                     c->n_layer, (long long)geodec_gguf_n_tensors(m->gguf));
    if (!embedding) GEODEC_THROW(GEODEC_FORMAT, "tensor 'token_embd.weight' is missing");
    if (embedding->dim[0] != c->d_model)
        GEODEC_THROW(GEODEC_FORMAT, "tensor 'token_embd.weight' has rows of %lld, not of %d",
                     (long long)embedding->dim[0], c->d_model);
    if (m->store) GEODEC_TRY(check_store(m, err));
    GEODEC_NEW(m->layer, c->n_layer);
    GEODEC_TRY(new_places(&b, m, err));
    GEODEC_TRY(geodec__bind_matrix(&b, -1, "token_embd.weight", c->d_model, c->n_vocab, 1, &m->embedding));
    GEODEC_TRY(bind_norm(&b, GEODEC__ALWAYS, -1, b.arch->output_norm ? b.arch->output_norm : "output_norm.weight",
                         c->d_model, 0, &m->output_norm));
    c->tied =
        b.arch->head == GEODEC__NEVER || (b.arch->head == GEODEC__MAYBE && !geodec_gguf_find(m->gguf, "output.weight"));
    m->head = m->embedding;
    if (!c->tied) GEODEC_TRY(geodec__bind_matrix(&b, -1, "output.weight", c->d_model, c->n_vocab, 1, &m->head));
    GEODEC_TRY(bind_divisors(&b, m));
    for (int32_t i = 0; i < c->n_layer; i++) {
        if (b.arch->mixer != GEODEC__MIXER_NONE) {
            GEODEC_TRY(bind_hybrid(&b, i, &m->layer[i]));
            continue;
        }
        if (c->recur_rank > 0 && geodec__recurs(c, i))
            GEODEC_TRY(bind_recurrence(&b, i, &m->layer[i]));
        else
            GEODEC_TRY(bind_attention(&b, i, &m->layer[i]));
        GEODEC_TRY(bind_feed_forward(&b, i, &m->layer[i]));
        if (m->store && !m->layer[i].router.data && m->store->matrix[(int64_t)i * GEODEC_STORE_MATRICES].rows > 0)
            GEODEC_THROW(GEODEC_FORMAT, "the index has experts of layer %d, which has no router", i);
    }
    GEODEC_TRY(refuse_unexpected(&b, m));
done:
    geodec_mem_free(b.bound);
    return st;
}

bool geodec__model_recurs(const geodec_model *m)
{
    for (int32_t i = 0; m->layer && i < m->config.n_layer; i++)
        if (geodec__layer_recurs(&m->layer[i])) return true;
    return false;
}

void geodec__weights_each(const geodec_model *m, void (*fn)(void *ctx, const geodec__matrix *w), void *ctx)
{
    const int64_t experts = m->config.n_expert > 0 ? m->config.n_expert : 1;
    for (int32_t i = 0; m->layer && i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        const geodec__matrix *const single[] = {&l->q,
                                                &l->k,
                                                &l->v,
                                                &l->o,
                                                &l->decay,
                                                &l->router,
                                                &l->shared_gate,
                                                &l->shared_up,
                                                &l->shared_down,
                                                &l->shared_factor,
                                                &l->recurrent.in,
                                                &l->recurrent.gate,
                                                &l->recurrent.alpha,
                                                &l->recurrent.beta,
                                                &l->recurrent.x,
                                                &l->recurrent.dt,
                                                &l->recurrent.out};
        const geodec__matrix *const many[] = {&l->gate, &l->up, &l->down};
        for (size_t k = 0; k < sizeof single / sizeof *single; k++)
            if (single[k]->data) fn(ctx, single[k]);
        for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
            if (!many[k]->data || (m->streamed && l->router.data)) continue;
            for (int64_t e = 0; e < (l->router.data ? experts : 1); e++) {
                const geodec__matrix w = geodec__expert(many[k], e);
                fn(ctx, &w);
            }
        }
        for (int k = 0; k < GEODEC_SLOTS; k++)
            if (l->basis[k].data && (k == 0 || l->basis[k].data != l->basis[k - 1].data)) fn(ctx, &l->basis[k]);
    }
    fn(ctx, &m->head);
}
