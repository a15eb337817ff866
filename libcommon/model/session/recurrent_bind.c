/* Binds the tensors of recurrent layers (recurrent_internal.h). */
#include "session/bind_internal.h"

#include <stdio.h>
#include <string.h>

/* cols x rows numbers as they are in the file; a missing tensor stays NULL unless it is required. */
static geodec_status numbers(geodec__binder *b, geodec__presence presence, int32_t i, const char *suffix, int64_t cols,
                             int64_t rows, const float **out)
{
    geodec_err *err = b->err;
    const geodec_gguf_tensor *t = geodec__bind_find(b, i, suffix);
    if (!t) return presence == GEODEC__ALWAYS ? geodec__bind_missing(b) : GEODEC_OK;
    const int64_t n = cols * rows;
    if (t->dim[0] == n) cols = n, rows = 1; /* [n] and [1, n] are the same here */
    GEODEC_PASS(geodec__bind_shape(b, t, cols, rows, 1, err));
    return geodec__bind_values(b, t, n, 1, out);
}

/* A norm of rows of `width` numbers in equal parts, with weights of their own or the same. */
static geodec_status norm(geodec__binder *b, geodec__presence presence, int32_t i, const char *suffix, int64_t width,
                          int64_t part, bool each, geodec__norm *out)
{
    const geodec__norm n = {.width = (int32_t)width, .part = (int32_t)part, .each = each, .eps = b->c->rms_eps};
    *out = n;
    return numbers(b, presence, i, suffix, part, each ? width / part : 1, &out->weight);
}

/* The file has the taps of a channel together; the convolution reads the channels of a tap (recurrence.h). */
static geodec_status convolution(geodec__binder *b, int32_t i, const char *name, geodec__recurrent *l)
{
    geodec_err *err = b->err;
    const int64_t taps = l->shape.taps, width = l->shape.width;
    char suffix[GEODEC__BIND_SUFFIX];
    const float *file = NULL;
    (void)snprintf(suffix, sizeof suffix, "%s.weight", name);
    GEODEC_PASS(numbers(b, GEODEC__ALWAYS, i, suffix, taps, width, &file));
    float *weight;
    GEODEC_PASS(geodec__bind_floats(b, taps * width, &weight));
    for (int64_t k = 0; k < taps; k++)
        for (int64_t c = 0; c < width; c++) weight[k * width + c] = file[c * taps + k];
    l->conv = weight;
    (void)snprintf(suffix, sizeof suffix, "%s.bias", name);
    return numbers(b, GEODEC__MAYBE, i, suffix, width, 1, &l->conv_bias);
}

/* Rates of each channel, [r] in the file, whole vectors apart. */
static geodec_status rates(geodec__binder *b, int32_t i, geodec__recurrent *l)
{
    geodec_err *err = b->err;
    const int64_t r = l->shape.r, stride = geodec_recurrence_stride(r);
    const float *file = NULL;
    GEODEC_PASS(numbers(b, GEODEC__ALWAYS, i, "ssm_a", r, l->shape.d, &file));
    float *a;
    GEODEC_PASS(geodec__bind_floats(b, stride * l->shape.d, &a));
    for (int64_t c = 0; c < l->shape.d; c++) memcpy(a + c * stride, file + c * r, (size_t)r * sizeof *a);
    l->a = a;
    return GEODEC_OK;
}

/* Channels in heads, heads in groups. */
static geodec_status check_heads(const geodec__binder *b, int64_t heads, int64_t groups, geodec_err *err)
{
    const geodec_model_config *c = b->c;
    if (c->ssm_inner % heads || heads % groups)
        GEODEC_FAIL(GEODEC_FORMAT, "%d channels are not %lld heads in %lld groups", c->ssm_inner, (long long)heads,
                    (long long)groups);
    return GEODEC_OK;
}

static geodec_status bind_short(geodec__binder *b, int32_t i, geodec__recurrent *l, geodec__matrix *out)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model;
    l->how = GEODEC__MIXER_SHORT;
    l->shape = (geodec_recurrence_shape){.taps = b->c->ssm_taps, .width = d};
    GEODEC_PASS(geodec__bind_matrices(b, i, "shortconv.in_proj.weight", d, 3 * d, 1, &l->in));
    GEODEC_PASS(convolution(b, i, "shortconv.conv", l));
    return geodec__bind_matrices(b, i, "shortconv.out_proj.weight", d, d, 1, out);
}

/* Norms of dt, B and C: all, none, or by a key all without weights (FalconMamba). */
static geodec_status settle_norms(geodec__binder *b, geodec__recurrent *l)
{
    geodec_err *err = b->err;
    char key[GEODEC__BIND_NAME];
    bool plain = false;
    int there = 0;
    geodec__norm *const all[] = {&l->dt_norm, &l->b_norm, &l->c_norm};
    (void)snprintf(key, sizeof key, "%s.ssm.dt_b_c_rms", b->arch->name);
    if (geodec_gguf_has(b->g, key)) GEODEC_PASS(geodec_gguf_get_bool(b->g, key, &plain, err));
    for (int n = 0; n < 3; n++) there += all[n]->weight != NULL;
    if (there == 3 || (there == 0 && !plain)) return GEODEC_OK;
    if (there > 0) return geodec__bind_missing(b);
    for (int n = 0; n < 3; n++) {
        if (all[n]->width > b->c->d_model)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "key '%s': norms of %d numbers", key, all[n]->width);
        all[n]->weight = b->ones;
    }
    return GEODEC_OK;
}

/* B, C and dt as products of the convolution's result (mamba, plamo2). */
static geodec_status bind_products(geodec__binder *b, int32_t i, geodec__recurrent *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    geodec_recurrence_shape *p = &l->shape;
    const geodec_gguf_tensor *x = geodec__bind_find(b, i, "ssm_x.weight");
    const int64_t heads = b->arch->grouped_heads ? c->ssm_rank : c->ssm_inner,
                  rank = b->arch->grouped_heads ? x->dim[1] - 2 * p->r : c->ssm_rank;
    if (rank < 1) GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s' has %lld rows", x->name, (long long)x->dim[1]);
    GEODEC_PASS(check_heads(b, heads, 1, err));
    p->kind = b->arch->grouped_heads ? GEODEC_RECURRENCE_DECAY : GEODEC_RECURRENCE_SCAN;
    p->share = p->d / heads;
    p->keys = 1;
    p->width = p->d;
    l->grouped = l->dt_last = b->arch->grouped_heads;
    GEODEC_PASS(geodec__bind_matrices(b, i, "ssm_in.weight", c->d_model, 2 * p->d, 1, &l->in));
    GEODEC_PASS(geodec__bind_matrices(b, i, "ssm_x.weight", p->d, rank + 2 * p->r, 1, &l->x));
    GEODEC_PASS(geodec__bind_matrices(b, i, "ssm_dt.weight", rank, heads, 1, &l->dt));
    GEODEC_PASS(norm(b, GEODEC__MAYBE, i, "ssm_dt_norm.weight", rank, rank, false, &l->dt_norm));
    GEODEC_PASS(norm(b, GEODEC__MAYBE, i, "ssm_b_norm.weight", p->r, p->r, false, &l->b_norm));
    GEODEC_PASS(norm(b, GEODEC__MAYBE, i, "ssm_c_norm.weight", p->r, p->r, false, &l->c_norm));
    return settle_norms(b, l);
}

static geodec_status bind_selective(geodec__binder *b, int32_t i, geodec__recurrent *l, geodec__matrix *out)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    geodec_recurrence_shape *p = &l->shape;
    l->how = GEODEC__MIXER_SELECTIVE;
    *p = (geodec_recurrence_shape){.d = c->ssm_inner, .r = c->ssm_state, .taps = c->ssm_taps};
    if (geodec__bind_find(b, i, "ssm_x.weight")) {
        GEODEC_PASS(bind_products(b, i, l));
    } else {
        GEODEC_PASS(check_heads(b, c->ssm_rank, c->ssm_groups, err));
        p->share = p->d / c->ssm_rank;
        p->keys = c->ssm_groups;
        p->width = p->d + 2 * p->keys * p->r;
        GEODEC_PASS(geodec__bind_matrices(b, i, "ssm_in.weight", c->d_model, p->d + p->width + c->ssm_rank, 1, &l->in));
        GEODEC_PASS(norm(b, GEODEC__MAYBE, i, "ssm_norm.weight", p->d, p->d / p->keys, true, &l->norm));
    }
    const int64_t heads = geodec_recurrence_heads(p);
    GEODEC_PASS(convolution(b, i, "ssm_conv1d", l));
    GEODEC_PASS(numbers(b, GEODEC__ALWAYS, i, "ssm_dt.bias", heads, 1, &l->dt_bias));
    if (p->kind == GEODEC_RECURRENCE_SCAN)
        GEODEC_PASS(rates(b, i, l));
    else
        GEODEC_PASS(numbers(b, GEODEC__ALWAYS, i, "ssm_a", 1, heads, &l->a));
    GEODEC_PASS(numbers(b, GEODEC__ALWAYS, i, "ssm_d", 1, heads, &l->skip));
    return geodec__bind_matrices(b, i, "ssm_out.weight", p->d, c->d_model, 1, out);
}

static geodec_status bind_delta(geodec__binder *b, int32_t i, geodec__recurrent *l, geodec__matrix *out)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    geodec_recurrence_shape *p = &l->shape;
    const int64_t d = c->d_model, heads = c->ssm_rank, keys = c->ssm_groups * c->ssm_state;
    GEODEC_PASS(check_heads(b, heads, c->ssm_groups, err));
    l->how = GEODEC__MIXER_DELTA;
    *p = (geodec_recurrence_shape){.kind = GEODEC_RECURRENCE_DELTA,
                                   .d = c->ssm_inner,
                                   .r = c->ssm_state,
                                   .share = c->ssm_inner / heads,
                                   .keys = c->ssm_groups,
                                   .cyclic = b->arch->cyclic_keys,
                                   .taps = c->ssm_taps,
                                   .width = 2 * keys + c->ssm_inner};
    const geodec_gguf_tensor *whole = geodec__bind_find(b, i, "ssm_in.weight");
    l->grouped = !geodec__bind_find(b, i, "attn_qkv.weight");
    if (l->grouped) {
        GEODEC_PASS(geodec__bind_matrices(b, i, "ssm_in.weight", d, p->width + p->d, 1, &l->in));
    } else {
        if (whole) geodec__bind_mark(b, whole); /* the same weights in another order */
        GEODEC_PASS(geodec__bind_matrices(b, i, "attn_qkv.weight", d, p->width, 1, &l->in));
        GEODEC_PASS(geodec__bind_matrices(b, i, "attn_gate.weight", d, p->d, 1, &l->gate));
    }
    l->grouped_beta = geodec__bind_find(b, i, "ssm_ba.weight") != NULL;
    if (l->grouped_beta) {
        GEODEC_PASS(geodec__bind_matrices(b, i, "ssm_ba.weight", d, 2 * heads, 1, &l->beta));
    } else {
        GEODEC_PASS(geodec__bind_matrices(b, i, "ssm_alpha.weight", d, heads, 1, &l->alpha));
        GEODEC_PASS(geodec__bind_matrices(b, i, "ssm_beta.weight", d, heads, 1, &l->beta));
    }
    GEODEC_PASS(convolution(b, i, "ssm_conv1d", l));
    GEODEC_PASS(numbers(b, GEODEC__ALWAYS, i, "ssm_dt.bias", heads, 1, &l->dt_bias));
    GEODEC_PASS(numbers(b, GEODEC__ALWAYS, i, "ssm_a", heads, 1, &l->a));
    GEODEC_PASS(norm(b, GEODEC__ALWAYS, i, "ssm_norm.weight", p->d, p->share, false, &l->norm));
    return geodec__bind_matrices(b, i, "ssm_out.weight", p->d, d, 1, out);
}

static geodec_status bind_recurrent(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec__matrix *out = b->arch->beside ? &l->recurrent.out : &l->o;
    l->recurrent.beside = b->arch->beside;
    if (b->arch->mixer == GEODEC__MIXER_SHORT) return bind_short(b, i, &l->recurrent, out);
    if (b->arch->mixer == GEODEC__MIXER_SELECTIVE) return bind_selective(b, i, &l->recurrent, out);
    return bind_delta(b, i, &l->recurrent, out);
}

geodec_status geodec__bind_hybrid(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const char *mark = b->arch->mixer == GEODEC__MIXER_NONE    ? "attn_q.weight"
                       : b->arch->mixer == GEODEC__MIXER_SHORT ? "shortconv.conv.weight"
                                                               : "ssm_conv1d.weight";
    const bool recurs = b->arch->mixer != GEODEC__MIXER_NONE && geodec__bind_find(b, i, mark);
    const bool attends =
        b->arch->beside ||
        (!recurs && (geodec__bind_find(b, i, "attn_q.weight") || geodec__bind_find(b, i, "attn_qkv.weight")));
    const bool feeds = geodec__bind_find(b, i, "ffn_down.weight") || geodec__bind_find(b, i, "ffn_gate_inp.weight");
    if (recurs) GEODEC_PASS(bind_recurrent(b, i, l));
    if (attends) {
        if (l->n_head == 0 || l->n_kv_head == 0 || l->n_head % l->n_kv_head)
            GEODEC_FAIL(GEODEC_FORMAT, "layer %d attends with %d heads of queries and %d of keys", i, l->n_head,
                        l->n_kv_head);
        GEODEC_PASS(geodec__bind_attention(b, i, l));
        if (b->arch->ignored_bias == GEODEC__IGNORED_OUTPUT) l->o_bias = NULL;
        if (b->arch->ignored_bias == GEODEC__IGNORED_INPUT) l->q_bias = l->k_bias = l->v_bias = NULL;
    } else if (recurs)
        GEODEC_PASS(geodec__bind_entry(b, i, l));
    if (feeds) GEODEC_PASS(geodec__bind_feed(b, i, l));
    (void)geodec__bind_find(b, i, mark); /* for its name */
    return recurs || attends || feeds ? GEODEC_OK : geodec__bind_missing(b);
}

/* Whether two layers have the same sizes: sessions have one set of rows for all. */
static bool alike(const geodec__recurrent *x, const geodec__recurrent *y)
{
    const geodec_recurrence_shape *p = &x->shape, *q = &y->shape;
    return x->how == y->how && p->kind == q->kind && p->d == q->d && p->r == q->r && p->share == q->share &&
           p->keys == q->keys && p->taps == q->taps && p->width == q->width && x->in.rows == y->in.rows &&
           x->gate.rows == y->gate.rows && x->alpha.rows == y->alpha.rows && x->beta.rows == y->beta.rows &&
           x->x.rows == y->x.rows && x->dt.rows == y->dt.rows && x->dt.cols == y->dt.cols && x->grouped == y->grouped &&
           x->grouped_beta == y->grouped_beta && x->beside == y->beside;
}

geodec_status geodec__bind_alike(const geodec__layer *layer, int32_t n, geodec_err *err)
{
    int32_t first = 0;
    while (first < n && !geodec__layer_recurs(&layer[first])) first++;
    for (int32_t i = first + 1; i < n; i++)
        if (geodec__layer_recurs(&layer[i]) && !alike(&layer[first].recurrent, &layer[i].recurrent))
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "recurrent layers %d and %d have tensors of other forms", first, i);
    return GEODEC_OK;
}
