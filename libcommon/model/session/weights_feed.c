/* Binds the tensors of a layer's feed-forward: experts, in the file or described by a store, with their router and what
 * stands beside them, or a network of every row. */
#include "session/bind_internal.h"
#include "session/expert_source_internal.h"
#include "session/model_internal.h"
#include "ternary/ternary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SUFFIX = GEODEC__BIND_SUFFIX };
static const char fused_experts[] = "ffn_gate_up_exps.weight";

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
        GEODEC_PASS(geodec__bind_matrices(b, layer, suffix, cols, rows, b->c->n_expert, out));
        return GEODEC_OK;
    }
    geodec__matrix all = {0};
    const uint8_t **place = NULL;
    for (int32_t e = 0; e < b->c->n_expert; e++) {
        geodec__matrix one;
        (void)snprintf(suffix, sizeof suffix, "%s.%d.weight", name, e);
        GEODEC_PASS(geodec__bind_matrices(b, layer, suffix, cols, rows, 1, &one));
        if (e == 0) {
            all = one;
            GEODEC_PASS(geodec__bind_experts(b, &place));
            all.expert = place;
        }
        if (one.type != all.type)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%s' is of another type than that of expert 0", b->name);
        place[e] = one.data;
    }
    *out = all;
    return GEODEC_OK;
}

/* Gate and up of each expert in one tensor, the rows of gate first. */
static geodec_status bind_gate_up(geodec__binder *b, int32_t layer, int64_t cols, int64_t rows, geodec__layer *l)
{
    geodec_err *err = b->err;
    geodec__matrix both;
    GEODEC_PASS(geodec__bind_matrices(b, layer, fused_experts, cols, 2 * rows, b->c->n_expert, &both));
    geodec__matrix *const half[] = {&l->gate, &l->up};
    for (int k = 0; k < 2; k++) {
        *half[k] = geodec__bind_slice(&both, k * rows, rows);
        const uint8_t **place;
        GEODEC_PASS(geodec__bind_experts(b, &place));
        for (int32_t e = 0; e < b->c->n_expert; e++) place[e] = half[k]->data + e * 2 * rows * both.row_bytes;
        half[k]->expert = place;
    }
    return GEODEC_OK;
}

/* The matrices of the experts of a layer. */
static geodec_status bind_routed(geodec__binder *b, int32_t i, int64_t d, int64_t f, geodec__layer *l)
{
    geodec_err *err = b->err;
    if (b->store) { /* without the vectors, which are resident */
        GEODEC_PASS(bind_described(b, i, 0, d, f, &l->gate));
        GEODEC_PASS(bind_described(b, i, 1, d, f, &l->up));
        GEODEC_PASS(bind_described(b, i, 2, f, d, &l->down));
    } else {
        if (geodec__bind_find(b, i, fused_experts)) {
            GEODEC_PASS(bind_gate_up(b, i, d, f, l));
        } else {
            GEODEC_PASS(bind_experts(b, i, "ffn_gate", d, f, &l->gate));
            GEODEC_PASS(bind_experts(b, i, "ffn_up", d, f, &l->up));
        }
        GEODEC_PASS(bind_experts(b, i, "ffn_down", f, d, &l->down));
    }
    const int64_t e = b->c->n_expert;
    GEODEC_PASS(geodec__bind_rows(b, geodec__bind_presence(b->arch, "ffn_gate_exps.bias"), i, "ffn_gate_exps.bias", f,
                                  e, &l->gate_bias));
    GEODEC_PASS(geodec__bind_rows(b, geodec__bind_presence(b->arch, "ffn_up_exps.bias"), i, "ffn_up_exps.bias", f, e,
                                  &l->up_bias));
    GEODEC_PASS(geodec__bind_rows(b, geodec__bind_presence(b->arch, "ffn_down_exps.bias"), i, "ffn_down_exps.bias", d,
                                  e, &l->down_bias));
    return GEODEC_OK;
}

/* Whether the layer has experts: one with a router, unless the keys make it dense. */
static bool routed(geodec__binder *b, int32_t layer)
{
    const geodec_model_config *c = b->c;
    if (c->recur_period > 0) return c->n_expert > 0 && geodec__recurs(c, layer);
    if (c->n_expert == 0) return false;
    const bool by_key = layer >= c->n_dense && (c->expert_step < 2 || (layer + 1) % c->expert_step == 0);
    return geodec__bind_find(b, layer, "ffn_gate_inp.weight")
               ? by_key || !geodec__bind_find(b, layer, "ffn_down.weight")
               : by_key && !geodec__bind_find(b, layer, "ffn_down.weight");
}

/* Projection to the torus, and the places of the experts on it. */
static geodec_status bind_torus(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model, experts = b->c->n_expert;
    const int64_t rows = geodec_torus_rows(b->c->route == GEODEC_ROUTE_ANGLE ? GEODEC_TORUS_ANGLE : GEODEC_TORUS_MOD);
    GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_gate_inp.weight", d, rows, 1, &l->router));
    GEODEC_PASS(geodec__bind_vector(b, GEODEC__ALWAYS, i, "ffn_gate_inp.bias", rows, &l->router_bias));
    const geodec_gguf_tensor *t = geodec__bind_find(b, i, "ffn_expert_place.weight");
    if (!t) GEODEC_PASS(geodec__bind_missing(b));
    GEODEC_PASS(geodec__bind_shape(b, t, GEODEC_TORUS_AXES, experts, 1, err));
    const int64_t n = GEODEC_TORUS_AXES * experts;
    if (t->type != GEODEC_GGML_F32)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%s' is of type %s, not F32", b->name, geodec_ggml_type_name(t->type));
    GEODEC_PASS(geodec__bind_values(b, t, n, 1, &l->expert_place));
    for (int64_t k = 0; k < n; k++)
        if (!(l->expert_place[k] >= 0 && l->expert_place[k] < 1))
            GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': value %lld is outside 0 to 1", b->name, (long long)k);
    return GEODEC_OK;
}

/* Whether a network has no matrix at all, and may be so: its input and its output are then those of the activation. */
static bool is_bare(geodec__binder *b, int32_t i, const char *ending)
{
    static const char *const part[] = {"ffn_gate", "ffn_up", "ffn_down"};
    char suffix[SUFFIX];
    for (int k = 0; k < 3; k++) {
        (void)snprintf(suffix, sizeof suffix, "%s%s.weight", part[k], ending);
        if (!b->arch->bare || geodec__bind_find(b, i, suffix)) return false;
    }
    return true;
}

/* Its first and last matrix, which change nothing. */
static geodec_status bind_bare(geodec__binder *b, geodec__matrix *first, geodec__matrix *last)
{
    enum { MOST = 1 << 13 };
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model;
    if (d > MOST) GEODEC_FAIL(GEODEC_LIMIT, "a network without matrices of %lld numbers", (long long)d);
    if (!b->same) {
        float *same;
        GEODEC_PASS(geodec__bind_floats(b, d * d, &same));
        for (int64_t k = 0; k < d; k++) same[k * d + k] = 1;
        b->same = same;
    }
    *first = *last = (geodec__matrix){.data = (const uint8_t *)b->same,
                                      .rows = d,
                                      .cols = d,
                                      .row_bytes = d * (int64_t)sizeof(float),
                                      .type = GEODEC_GGML_F32,
                                      .owned = true};
    return GEODEC_OK;
}

/* The network of every row beside the experts. */
static geodec_status bind_shared(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model, shared = b->c->d_ff_shared;
    const bool dense = b->arch->shared == GEODEC__SHARED_FFN;
    if (shared == 0 || (dense && !b->arch->mixture_norms && !geodec__bind_find(b, i, "ffn_up.weight")))
        return GEODEC_OK;
    if (shared == d && is_bare(b, i, "_shexp")) return bind_bare(b, &l->shared_gate, &l->shared_down);
    GEODEC_PASS(geodec__bind_matrices(b, i, dense ? "ffn_gate.weight" : "ffn_gate_shexp.weight", d, shared, 1,
                                      &l->shared_gate));
    GEODEC_PASS(
        geodec__bind_matrices(b, i, dense ? "ffn_up.weight" : "ffn_up_shexp.weight", d, shared, 1, &l->shared_up));
    GEODEC_PASS(geodec__bind_matrices(b, i, dense ? "ffn_down.weight" : "ffn_down_shexp.weight", shared, d, 1,
                                      &l->shared_down));
    if (geodec__bind_presence(b->arch, "ffn_gate_inp_shexp") == GEODEC__ALWAYS)
        GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_gate_inp_shexp.weight", d, 1, 1, &l->shared_factor));
    return GEODEC_OK;
}

/* The norms around experts and shared network, and the factors of the experts. The router's norm has those of the file
 * over the root of the width. */
static geodec_status bind_mixture_norms(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model;
    const float *scale = NULL;
    float *weight;
    if (!b->arch->mixture_norms) return GEODEC_OK;
    GEODEC_PASS(geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "pre_ffw_norm_2", d, 0, &l->expert_norm));
    GEODEC_PASS(geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "post_ffw_norm_2", d, 0, &l->expert_post_norm));
    GEODEC_PASS(geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "post_ffw_norm_1", d, 0, &l->shared_post_norm));
    GEODEC_PASS(geodec__bind_vector(b, GEODEC__ALWAYS, i, "ffn_gate_inp.scale", d, &scale));
    GEODEC_PASS(geodec__bind_floats(b, d, &weight));
    for (int64_t k = 0; k < d; k++) weight[k] = (float)((double)scale[k] / sqrt((double)d));
    l->router_norm = l->expert_norm;
    l->router_norm.weight = weight;
    l->router_norm.bias = NULL;
    return geodec__bind_vector(b, GEODEC__MAYBE, i, "ffn_down_exps.scale", b->c->n_expert, &l->expert_factor);
}

/* One adjugate expert for each group of experts, if the model has such. */
static geodec_status bind_adjugate(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model, f = b->c->d_ff_adjugate;
    if (f == 0) return GEODEC_OK;
    const int64_t n = b->c->n_expert / b->c->adjugate_group;
    GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_gate_chexps.weight", d, f, n, &l->adjugate_gate));
    GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_up_chexps.weight", d, f, n, &l->adjugate_up));
    return geodec__bind_matrices(b, i, "ffn_down_chexps.weight", f, d, n, &l->adjugate_down);
}

static geodec_status bind_mixture(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    const int64_t d = c->d_model, f = c->d_ff;
    if (c->route != GEODEC_ROUTE_SCORES) {
        GEODEC_PASS(bind_torus(b, i, l));
        return bind_routed(b, i, d, f, l);
    }
    GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_gate_inp.weight", d, c->n_expert, 1, &l->router));
    GEODEC_PASS(geodec__bind_vector(b, geodec__bind_presence(b->arch, "ffn_gate_inp.bias"), i, "ffn_gate_inp.bias",
                                    c->n_expert, &l->router_bias));
    GEODEC_PASS(geodec__bind_vector(b, geodec__bind_presence(b->arch, "exp_probs_b.bias"), i, "exp_probs_b.bias",
                                    c->n_expert, &l->expert_bias));
    GEODEC_PASS(bind_routed(b, i, d, f, l));
    GEODEC_PASS(geodec__bind_norm(b, geodec__bind_presence(b->arch, "ffn_norm_exps"), false, i, "ffn_norm_exps", d, 0,
                                  &l->expert_norm));
    GEODEC_PASS(bind_mixture_norms(b, i, l));
    GEODEC_PASS(bind_adjugate(b, i, l));
    return bind_shared(b, i, l);
}

/* A network of every row: gated, with gate and up in one matrix, or plain. */
static geodec_status bind_dense(geodec__binder *b, int32_t i, int64_t f, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model;
    const geodec_gguf_tensor *up = geodec__bind_find(b, i, "ffn_up.weight");
    if (b->c->d_ff == d && is_bare(b, i, "")) return bind_bare(b, &l->gate, &l->down);
    if (b->c->plain) {
        GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_up.weight", d, f, 1, &l->gate));
        GEODEC_PASS(geodec__bind_bias(b, i, "ffn_up", f, &l->gate_bias));
        GEODEC_PASS(geodec__bind_vector(b, geodec__bind_presence(b->arch, "ffn.act.scales"), i, "ffn.act.scales", f,
                                        &l->hidden_scale));
    } else if (up && up->dim[1] == 2 * f && !geodec__bind_find(b, i, "ffn_gate.weight")) {
        geodec__matrix both;
        GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_up.weight", d, 2 * f, 1, &both));
        l->gate = geodec__bind_slice(&both, 0, f);
        l->up = geodec__bind_slice(&both, f, f);
    } else {
        GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_gate.weight", d, f, 1, &l->gate));
        GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_up.weight", d, f, 1, &l->up));
        GEODEC_PASS(geodec__bind_bias(b, i, "ffn_gate", f, &l->gate_bias));
        GEODEC_PASS(geodec__bind_bias(b, i, "ffn_up", f, &l->up_bias));
    }
    GEODEC_PASS(geodec__bind_norm(b, geodec__bind_presence(b->arch, "ffn_sub_norm"), false, i, "ffn_sub_norm", f, 0,
                                  &l->hidden_norm));
    GEODEC_PASS(geodec__bind_matrices(b, i, "ffn_down.weight", f, d, 1, &l->down));
    GEODEC_PASS(geodec__bind_bias(b, i, "ffn_down", d, &l->down_bias));
    return GEODEC_OK;
}

geodec_status geodec__bind_feed(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec__arch *a = b->arch;
    if (geodec__bind_presence(a, "post_attention_norm") != GEODEC__NEVER || a->attn_post_norm)
        GEODEC_PASS(geodec__bind_stream_norm(b, i, a->attn_post_norm, "post_attention_norm", &l->attn_post_norm));
    if (geodec__bind_presence(a, "ffn_norm") != GEODEC__MAYBE || geodec__bind_find(b, i, "ffn_norm.weight"))
        GEODEC_PASS(geodec__bind_stream_norm(b, i, a->ffn_norm, "ffn_norm", &l->ffn_norm));
    if (routed(b, i))
        GEODEC_PASS(bind_mixture(b, i, l));
    else
        GEODEC_PASS(bind_dense(b, i, l->d_ff, l));
    if (geodec__bind_presence(a, "post_ffw_norm") != GEODEC__NEVER || a->ffn_post_norm)
        GEODEC_PASS(geodec__bind_stream_norm(b, i, a->ffn_post_norm, "post_ffw_norm", &l->ffn_post_norm));
    return GEODEC_OK;
}
