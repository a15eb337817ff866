/* Binds every tensor of the file to its place in the architecture. Missing, misshapen and unknown tensors are refused
 * by name. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "session/bind_internal.h"
#include "session/keys_internal.h"
#include "session/model_internal.h"

#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor data is used in place: little-endian hosts only");

enum { SUFFIX = GEODEC__BIND_SUFFIX };

/* ---- parts of a layer ------------------------------------------------------------------------------------------- */

static geodec_status bind_recurrence(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model, r = b->c->recur_rank;
    GEODEC_PASS(geodec__bind_stream_norm(b, i, NULL, "attn_norm", &l->attn_norm));
    GEODEC_PASS(geodec__bind_matrices(b, i, "recur_decay.weight", d, d, 1, &l->decay));
    GEODEC_PASS(geodec__bind_vector(b, GEODEC__ALWAYS, i, "recur_decay.bias", d, &l->decay_bias));
    GEODEC_PASS(geodec__bind_matrices(b, i, "recur_q.weight", d, r, 1, &l->q));
    GEODEC_PASS(geodec__bind_matrices(b, i, "recur_k.weight", d, r, 1, &l->k));
    GEODEC_PASS(geodec__bind_matrices(b, i, "recur_v.weight", d, d, 1, &l->v));
    GEODEC_PASS(geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "recur_norm", d, 0, &l->read_norm));
    GEODEC_PASS(geodec__bind_matrices(b, i, "recur_output.weight", d, d, 1, &l->o));
    l->recurrent = (geodec__recurrent){.how = GEODEC__MIXER_DECAY, .shape = {.d = d, .r = r, .share = 1, .keys = 1}};
    return GEODEC_OK;
}

/* attn_q, attn_k and attn_v, or attn_qkv, with their biases. */
static geodec_status bind_projections(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    const int64_t d = c->d_model, q = (int64_t)l->n_head * l->head_dim, kv = (int64_t)l->n_kv_head * l->head_dim;
    const int64_t value = (int64_t)l->n_kv_head * l->v_dim;
    if (geodec__bind_find(b, i, "attn_qkv.weight")) {
        const float *bias = NULL;
        geodec__matrix all;
        const int64_t rows = b->arch->full_qkv ? 3 * q : q + kv + value, k = b->arch->full_qkv ? d : q;
        if (k + kv + value > rows)
            GEODEC_FAIL(GEODEC_FORMAT,
                        "layer %d has %lld rows of keys and values in the %lld of 'attn_qkv', from row %lld", i,
                        (long long)(kv + value), (long long)rows, (long long)k);
        GEODEC_PASS(geodec__bind_matrices(b, i, "attn_qkv.weight", d, rows, 1, &all));
        l->q = geodec__bind_slice(&all, 0, q);
        l->k = geodec__bind_slice(&all, k, kv);
        l->v = geodec__bind_slice(&all, k + kv, value);
        GEODEC_PASS(geodec__bind_bias(b, i, "attn_qkv", rows, &bias));
        if (!bias) return GEODEC_OK;
        /* each padded with zeros */
        const int64_t first[] = {0, k, k + kv}, size[] = {q, kv, value};
        const float **const part[] = {&l->q_bias, &l->k_bias, &l->v_bias};
        for (int n = 0; n < 3; n++) {
            float *own;
            GEODEC_PASS(geodec__bind_floats(b, size[n], &own));
            memcpy(own, bias + first[n], (size_t)size[n] * sizeof *bias);
            *part[n] = own;
        }
        return GEODEC_OK;
    }
    const int64_t asked = b->arch->gated_query ? 2 * q : q;
    l->gated_query = b->arch->gated_query;
    GEODEC_PASS(geodec__bind_matrices(b, i, "attn_q.weight", d, asked, 1, &l->q));
    if (l->kv_layer != i) return GEODEC_OK; /* the file may have keys and values that nothing needs */
    const bool v = !b->arch->values_of_keys || geodec__bind_find(b, i, "attn_v.weight");
    GEODEC_PASS(geodec__bind_matrices(b, i, "attn_k.weight", d, kv, 1, &l->k));
    GEODEC_PASS(geodec__bind_matrices(b, i, v ? "attn_v.weight" : "attn_k.weight", d, value, 1, &l->v));
    /* one of the three alone is a damaged file */
    const bool biased = geodec__bind_find(b, i, "attn_q.bias") || geodec__bind_find(b, i, "attn_k.bias") ||
                        geodec__bind_find(b, i, "attn_v.bias") ||
                        geodec__bind_presence(b->arch, "attn_q.bias") == GEODEC__ALWAYS;
    const geodec__presence bias = biased ? GEODEC__ALWAYS : GEODEC__NEVER;
    GEODEC_PASS(geodec__bind_vector(b, bias, i, "attn_q.bias", asked, &l->q_bias));
    GEODEC_PASS(geodec__bind_vector(b, bias, i, "attn_k.bias", kv, &l->k_bias));
    GEODEC_PASS(geodec__bind_vector(b, bias, i, "attn_v.bias", value, &l->v_bias));
    return GEODEC_OK;
}

/* Norms of queries, keys and values: both of the first two, or none. */
static geodec_status bind_head_norms(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    const geodec__arch *a = b->arch;
    const int64_t dim = l->head_dim, q = (int64_t)l->n_head * dim, kv = (int64_t)l->n_kv_head * dim;
    geodec__presence qp = geodec__bind_presence(a, "attn_q_norm"), kp = geodec__bind_presence(a, "attn_k_norm");
    const bool plain = a->qk_plain && l->rope >= 0 && c->n_expert != 128;
    if (qp == GEODEC__MAYBE) qp = kp = geodec__bind_find(b, i, "attn_q_norm.weight") ? GEODEC__ALWAYS : GEODEC__NEVER;
    const bool k_plain = qp == GEODEC__ALWAYS && kp == GEODEC__NEVER; /* talkie */
    GEODEC_PASS(geodec__bind_norm(b, qp, plain, i, "attn_q_norm", q, dim, &l->q_norm));
    if (l->kv_layer != i) return GEODEC_OK;
    GEODEC_PASS(geodec__bind_norm(b, kp, plain || k_plain, i, "attn_k_norm", kv, dim, &l->k_norm));
    GEODEC_PASS(geodec__bind_norm(b, GEODEC__NEVER, a->v_plain, i, "attn_v_norm", (int64_t)l->n_kv_head * l->v_dim,
                                  l->v_dim, &l->v_norm));
    if (plain) l->q_norm.centred = l->k_norm.centred = false;
    return GEODEC_OK;
}

/* The layer's own input (layer_inputs.c), if the model has such. */
static geodec_status bind_input(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model, part = b->c->d_inputs;
    if (part == 0) return GEODEC_OK;
    GEODEC_PASS(geodec__bind_matrices(b, i, "inp_gate.weight", d, part, 1, &l->input_gate));
    GEODEC_PASS(geodec__bind_matrices(b, i, "proj.weight", part, d, 1, &l->input_out));
    GEODEC_PASS(geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "post_norm", d, 0, &l->input_norm));
    return geodec__bind_vector(b, b->c->n_streams > 0 ? GEODEC__ALWAYS : GEODEC__NEVER, i, "altup_correct_scale.weight",
                               d, &l->input_scale);
}

/* Several streams, and the path beside attention (streams.c). */
static geodec_status bind_streams(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t d = b->c->d_model, k = b->c->n_streams, rank = b->c->laurel_rank;
    if (k == 0) return GEODEC_OK;
    GEODEC_PASS(geodec__bind_matrices(b, i, "altup_router.weight", d, k, 1, &l->streams_router));
    GEODEC_PASS(geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "altup_router_norm", d, 0, &l->streams_norm));
    GEODEC_PASS(geodec__bind_rows(b, GEODEC__ALWAYS, i, "altup_predict_coef.weight", k, k * k, &l->streams_predict));
    GEODEC_PASS(geodec__bind_rows(b, GEODEC__ALWAYS, i, "altup_correct_coef.weight", k, k, &l->streams_correct));
    GEODEC_PASS(geodec__bind_matrices(b, i, "laurel_l.weight", d, rank, 1, &l->laurel_in));
    GEODEC_PASS(geodec__bind_matrices(b, i, "laurel_r.weight", rank, d, 1, &l->laurel_out));
    return geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "laurel_post_norm", d, 0, &l->laurel_norm);
}

static geodec_status bind_attention(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    const geodec__arch *a = b->arch;
    const int64_t d = c->d_model, q = (int64_t)l->n_head * (c->d_latent > 0 ? c->d_latent_value : l->v_dim);
    const geodec__presence gate = geodec__bind_presence(a, "attn_gate");
    GEODEC_PASS(geodec__bind_stream_norm(b, i, a->attn_norm, "attn_norm", &l->attn_norm));
    if (a->latent != GEODEC__LATENT_NONE) {
        GEODEC_PASS(geodec__bind_latent(b, i, l));
    } else {
        GEODEC_PASS(bind_projections(b, i, l));
        GEODEC_PASS(bind_head_norms(b, i, l));
    }
    const geodec_gguf_tensor *t = gate == GEODEC__NEVER ? NULL : geodec__bind_find(b, i, "attn_gate.weight");
    if (t || gate == GEODEC__ALWAYS) {
        const int64_t rows = t && t->dim[1] == l->n_head ? l->n_head : q;
        GEODEC_PASS(geodec__bind_matrices(b, i, "attn_gate.weight", d, rows, 1, &l->attn_gate));
    }
    GEODEC_PASS(
        geodec__bind_vector(b, geodec__bind_presence(a, "attn_sinks"), i, "attn_sinks.weight", l->n_head, &l->sinks));
    GEODEC_PASS(geodec__bind_norm(b, geodec__bind_presence(a, "attn_sub_norm"), false, i, "attn_sub_norm", q, 0,
                                  &l->mixed_norm));
    GEODEC_PASS(geodec__bind_matrices(b, i, "attn_output.weight", q, d, 1, &l->o));
    GEODEC_PASS(geodec__bind_bias(b, i, "attn_output", d, &l->o_bias));
    GEODEC_PASS(bind_input(b, i, l));
    GEODEC_PASS(bind_streams(b, i, l));
    const float *scale = NULL;
    GEODEC_PASS(geodec__bind_vector(b, geodec__bind_presence(a, "layer_output_scale"), i, "layer_output_scale.weight",
                                    1, &scale));
    if (scale) l->stream_scale = scale[0];
    return GEODEC_OK;
}

/* ---- for recurrent_bind.c ---------------------------------------------------------------------------------------- */

geodec_status geodec__bind_entry(geodec__binder *b, int32_t layer, geodec__layer *l)
{
    return geodec__bind_stream_norm(b, layer, b->arch->attn_norm, "attn_norm", &l->attn_norm);
}
geodec_status geodec__bind_attention(geodec__binder *b, int32_t layer, geodec__layer *l)
{
    return bind_attention(b, layer, l);
}

static geodec_status bind_divisors(geodec__binder *b, geodec_model *m)
{
    geodec_err *err = b->err;
    static const char *const names[][2] = {
        [GEODEC__DIVISORS_ONE] = {"rope_freqs.weight", NULL},
        [GEODEC__DIVISORS_TWO] = {"rope_factors_short.weight", "rope_factors_long.weight"}};
    const int64_t pairs = m->config.rope_dim / 2;
    for (int i = 0; i < (b->arch->divisors == GEODEC__DIVISORS_TWO ? 2 : 1); i++) {
        /* one of two alone is a damaged file */
        const geodec__presence p =
            b->arch->divisors == GEODEC__DIVISORS_TWO && geodec_gguf_find(b->g, names[GEODEC__DIVISORS_TWO][1 - i])
                ? GEODEC__ALWAYS
                : GEODEC__MAYBE;
        const geodec_gguf_tensor *t = geodec_gguf_find(b->g, names[b->arch->divisors][i]);
        const int64_t most = m->config.head_dim / 2,
                      n = t && t->dim[0] > pairs && t->dim[0] <= most ? t->dim[0] : pairs;
        GEODEC_PASS(geodec__bind_vector(b, p, -1, names[b->arch->divisors][i], n, &m->rope_divisor[i]));
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

/* Whether the architecture has tensors of such a name, which this file does not need: a dense network beside a router,
 * a norm of keys without one of queries. */
static bool is_unneeded(const geodec__arch *a, const char *name)
{
    static const char dense[] = "ffn_gate ffn_up ffn_down attn_k attn_v";
    int end = 0;
    (void)sscanf(name, "blk.%*9[0-9].%n", &end);
    const char *dot = strrchr(name + end, '.');
    const bool ending = dot && (strcmp(dot, ".weight") == 0 || strcmp(dot, ".bias") == 0);
    const size_t n = ending ? (size_t)(dot - name - end) : strlen(name + end);
    return end > 0 && (geodec__bind_listed(a->must, name + end, n) || geodec__bind_listed(a->may, name + end, n) ||
                       (!a->plain && geodec__bind_listed(dense, name + end, n)));
}

/* A tensor of another architecture would be part of the function, so it is an error. One without values, or of a name
 * that no architecture has, is not read, and counted, as is one that this file does not need. */
static geodec_status refuse_unexpected(const geodec__binder *b, geodec_model *m)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = b->err;
    const int64_t n = geodec_gguf_n_tensors(b->g);
    GEODEC_NEW(m->unread, n);
    for (int64_t i = 0; i < n; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(b->g, i);
        if (b->bound[i] || is_of_next_tokens(b, t->name)) continue;
        if (geodec_gguf_elements(t) > 0 && is_named(t->name) && !is_unneeded(b->arch, t->name))
            GEODEC_THROW(GEODEC_UNSUPPORTED, "tensor '%s' is not part of architecture '%s'", t->name, b->arch->name);
        m->unread[m->n_unread++] = t->name;
    }
done:
    return st;
}

/* Weights of the widest norm without any: of the stream, or of a head. */
static geodec_status bind_ones(geodec__binder *b)
{
    geodec_err *err = b->err;
    const int64_t n = geodec__max((int64_t)b->c->d_model, GEODEC__MAX_HEAD_DIM);
    float *ones;
    GEODEC_PASS(geodec__bind_floats(b, n, &ones));
    for (int64_t i = 0; i < n; i++) ones[i] = 1;
    b->ones = ones;
    return GEODEC_OK;
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

/* Room for the layers. Before memory is allocated by their number, the file must have that many tensors. */
static geodec_status new_layers(geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &m->config;
    const geodec_gguf_tensor *embedding = geodec_gguf_find(m->gguf, "token_embd.weight");
    const int64_t least = 3; /* tensors of a block; those of a store lack the experts */
    if (geodec_gguf_n_tensors(m->gguf) < 2 + least * (int64_t)c->n_layer)
        GEODEC_THROW(GEODEC_FORMAT, "key '%s.block_count': %d blocks need more than the %lld tensors present", c->arch,
                     c->n_layer, (long long)geodec_gguf_n_tensors(m->gguf));
    if (!embedding) GEODEC_THROW(GEODEC_FORMAT, "tensor 'token_embd.weight' is missing");
    if (embedding->dim[0] != c->d_model)
        GEODEC_THROW(GEODEC_FORMAT, "tensor 'token_embd.weight' has rows of %lld, not of %d",
                     (long long)embedding->dim[0], c->d_model);
    if (m->store) GEODEC_TRY(check_store(m, err));
    GEODEC_NEW(m->layer, c->n_layer);
done:
    return st;
}

static geodec_status bind_all(geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_config *c = &m->config;
    geodec__binder b = {
        .g = m->gguf, .arch = geodec__arch_find(c->arch), .c = c, .store = m->store, .arena = &m->arena, .err = err};
    GEODEC_NEW(b.bound, geodec_gguf_n_tensors(m->gguf));
    GEODEC_TRY(bind_ones(&b));
    GEODEC_TRY(geodec__bind_matrices(&b, -1, "token_embd.weight", c->d_model, c->n_vocab, 1, &m->embedding));
    GEODEC_TRY(geodec__bind_stream_norm(&b, -1, b.arch->output_norm, "output_norm", &m->output_norm));
    GEODEC_TRY(geodec__bind_norm(&b, geodec__bind_presence(b.arch, "/token_embd_norm"), b.arch->embed_norm, -1,
                                 "token_embd_norm", c->d_model, 0, &m->embed_norm));
    const geodec__presence positions = geodec__bind_presence(b.arch, "/position_embd");
    if (positions == GEODEC__ALWAYS ||
        (positions == GEODEC__MAYBE && geodec__bind_find(&b, -1, "position_embd.weight")))
        GEODEC_TRY(geodec__bind_matrices(&b, -1, "position_embd.weight", c->d_model, c->n_ctx, 1, &m->positions));
    c->tied =
        b.arch->head == GEODEC__NEVER || (b.arch->head == GEODEC__MAYBE && !geodec_gguf_find(m->gguf, "output.weight"));
    m->head = m->embedding;
    if (!c->tied) GEODEC_TRY(geodec__bind_matrices(&b, -1, "output.weight", c->d_model, c->n_vocab, 1, &m->head));
    GEODEC_TRY(geodec__bind_vector(&b, geodec__bind_presence(b.arch, "/output.bias"), -1, "output.bias", c->n_vocab,
                                   &m->head_bias));
    if (c->d_inputs > 0) {
        const int64_t all = (int64_t)c->n_layer * c->d_inputs;
        GEODEC_TRY(geodec__bind_matrices(&b, -1, "per_layer_token_embd.weight", all, c->n_vocab, 1, &m->inputs.table));
        GEODEC_TRY(
            geodec__bind_matrices(&b, -1, "per_layer_model_proj.weight", c->d_model, all, 1, &m->inputs.project));
        GEODEC_TRY(
            geodec__bind_norm(&b, GEODEC__ALWAYS, false, -1, "per_layer_proj_norm", all, c->d_inputs, &m->inputs.norm));
    }
    for (int k = 0; k < 2 && c->n_streams > 0; k++)
        GEODEC_TRY(geodec__bind_matrices(&b, -1, k ? "altup_unembd_proj.weight" : "altup_proj.weight", c->d_model,
                                         c->d_model, c->n_streams - 1, k ? &m->streams_leave : &m->streams_enter));
    GEODEC_TRY(bind_divisors(&b, m));
    for (int32_t i = 0; i < c->n_layer; i++) {
        if (geodec__arch_has_gaps(b.arch)) {
            GEODEC_TRY(geodec__bind_hybrid(&b, i, &m->layer[i]));
        } else {
            if (c->recur_rank > 0 && geodec__recurs(c, i))
                GEODEC_TRY(bind_recurrence(&b, i, &m->layer[i]));
            else
                GEODEC_TRY(bind_attention(&b, i, &m->layer[i]));
            GEODEC_TRY(geodec__bind_feed(&b, i, &m->layer[i]));
        }
        if (m->store && !m->layer[i].router.data && m->store->matrix[(int64_t)i * GEODEC_STORE_MATRICES].rows > 0)
            GEODEC_THROW(GEODEC_FORMAT, "the index has experts of layer %d, which has no router", i);
    }
    bool dense = c->recur_period > 0;
    for (int32_t i = 0; i < c->n_layer; i++) dense = dense || !m->layer[i].router.data;
    if (!dense) c->d_ff_dense = 0;
    GEODEC_TRY(geodec__bind_alike(m->layer, c->n_layer, err));
    GEODEC_TRY(refuse_unexpected(&b, m));
done:
    geodec_mem_free(b.bound);
    return st;
}

geodec_status geodec__weights_bind(geodec_model *m, geodec_err *err)
{
    const char *path = geodec_gguf_path(m->gguf);
    GEODEC_PASS_MSG(new_layers(m, err), "%s", path);
    GEODEC_PASS(geodec__config_layers(m->gguf, &m->config, m->layer, err));
    GEODEC_PASS_MSG(bind_all(m, err), "%s", path);
    return GEODEC_OK;
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
                                                &l->latent.q_a,
                                                &l->latent.kv_a,
                                                &l->decay,
                                                &l->attn_gate,
                                                &l->input_gate,
                                                &l->input_out,
                                                &l->streams_router,
                                                &l->laurel_in,
                                                &l->laurel_out,
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
        const geodec__matrix *const adjugate[] = {&l->adjugate_gate, &l->adjugate_up, &l->adjugate_down};
        for (size_t k = 0; k < sizeof single / sizeof *single; k++)
            if (single[k]->data) fn(ctx, single[k]);
        for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
            if (!many[k]->data || (m->streamed && l->router.data)) continue;
            for (int64_t e = 0; e < (l->router.data ? experts : 1); e++) {
                const geodec__matrix w = geodec__expert(many[k], e);
                fn(ctx, &w);
            }
        }
        for (int64_t h = 0; l->latent.kv_a.data && h < 2 * (int64_t)l->n_head; h++) {
            const geodec__matrix *all = h % 2 ? &l->latent.v_b : &l->latent.k_b, w = geodec__expert(all, h / 2);
            if (all->data) fn(ctx, &w);
        }
        for (int64_t e = 0; l->adjugate_gate.data && e < 3 * (experts / m->config.adjugate_group); e++) {
            const geodec__matrix w = geodec__expert(adjugate[e % 3], e / 3);
            fn(ctx, &w);
        }
        for (int k = 0; k < GEODEC_SLOTS; k++)
            if (l->basis[k].data && (k == 0 || l->basis[k].data != l->basis[k - 1].data)) fn(ctx, &l->basis[k]);
    }
    if (m->inputs.project.data) fn(ctx, &m->inputs.project);
    for (int64_t k = 0; k < 2 * ((int64_t)m->config.n_streams - 1) && m->streams_enter.data; k++) {
        const geodec__matrix w = geodec__expert(k % 2 ? &m->streams_leave : &m->streams_enter, k / 2);
        fn(ctx, &w);
    }
    fn(ctx, &m->head);
}
