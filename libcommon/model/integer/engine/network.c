#include "integer/engine/network.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

geodec_network_factor geodec_network_factor_of(double x)
{
    int order;
    if (x == 0) return (geodec_network_factor){0, 0};
    double f = rint(ldexp(frexp(x, &order), 31));
    if (fabs(f) >= 0x1p31) {
        f /= 2;
        order++;
    }
    return (geodec_network_factor){(int32_t)f, 31 - order};
}

geodec_status geodec_network_vector_of(const float *x, int64_t n, geodec_network_vector *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_network_vector v = {.n = n};
    float top = 0;
    int order = 0;
    for (int64_t i = 0; i < n; i++) top = fabsf(x[i]) > top ? fabsf(x[i]) : top;
    if (top > 0) (void)frexp((double)top, &order);
    v.exponent = 30 - order;
    GEODEC_NEW(v.v, n);
    for (int64_t i = 0; i < n; i++) v.v[i] = (int32_t)rint(ldexp((double)x[i], v.exponent)); /* below 2^30 */
    GEODEC_MOVE(*out, v);
done:
    return st;
}

void geodec_network_free(geodec_network *n)
{
    if (!n) return;
    for (int32_t i = 0; n->layer && i < n->config.n_layer; i++) {
        geodec_network_layer *l = &n->layer[i];
#define X(field, name) geodec_mem_free(l->field.v);
        GEODEC_NETWORK_VECTORS(X)
#undef X
#define X(field, name) geodec_coded_free(l->field);
        GEODEC_NETWORK_MATRICES(X)
#undef X
        for (int32_t e = 0; l->expert && e < 3 * n->config.n_expert; e++) geodec_coded_free(l->expert[e]);
        geodec_mem_free(l->expert);
    }
    if (n->head != n->embedding) geodec_coded_free(n->head);
    geodec_coded_free(n->embedding);
    geodec_coded_area_free(n->area);
    GEODEC_FREE(n->output_norm.v, n->step, n->layer, n);
}

static int64_t bytes_of(const geodec_panels16 *p) { return p ? geodec_coded_bytes(p) : 0; }

int64_t geodec_network_bytes(const geodec_network *n)
{
    int64_t sum = bytes_of(n->embedding) + (n->head != n->embedding ? bytes_of(n->head) : 0);
    for (int32_t i = 0; i < n->config.n_layer; i++) {
        const geodec_network_layer *l = &n->layer[i];
#define X(field, name) sum += bytes_of(l->field);
        GEODEC_NETWORK_MATRICES(X)
#undef X
        for (int32_t e = 0; l->expert && e < 3 * n->config.n_expert; e++) sum += bytes_of(l->expert[e]);
    }
    return sum;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

enum { MOST_LAYERS = 1024, MOST_EXPERTS = 4096 };

static geodec_status check_matrix(const geodec_panels16 *p, int64_t rows, int64_t cols, bool needed, int32_t layer,
                                  const char *name, geodec_err *err)
{
    if (!p && !needed) return GEODEC_OK;
    if (!p) GEODEC_FAIL(GEODEC_FORMAT, "layer %d has no %s", layer, name);
    if (geodec_coded_rows(p) != rows || geodec_coded_cols(p) != cols)
        GEODEC_FAIL(GEODEC_FORMAT, "%s of layer %d is %lld x %lld instead of %lld x %lld", name, layer,
                    (long long)geodec_coded_rows(p), (long long)geodec_coded_cols(p), (long long)rows, (long long)cols);
    return GEODEC_OK;
}

static geodec_status check_vector(const geodec_network_vector *v, int64_t n, bool needed, int32_t layer,
                                  const char *name, geodec_err *err)
{
    if (!v->v && !needed) return GEODEC_OK;
    if (!v->v || v->n != n)
        GEODEC_FAIL(GEODEC_FORMAT, "%s of layer %d has %lld numbers instead of %lld", name, layer,
                    (long long)(v->v ? v->n : 0), (long long)n);
    if (v->exponent < -1000 || v->exponent > 1000)
        GEODEC_FAIL(GEODEC_FORMAT, "the exponent of %s of layer %d is %d", name, layer, v->exponent);
    return GEODEC_OK;
}

static geodec_status check_feed(const geodec_network_config *c, const geodec_network_layer *l, int32_t i,
                                geodec_err *err)
{
    const int64_t d = c->d_model, shared = c->d_ff_shared;
    if (!l->expert) {
        const int64_t width = c->n_expert > 0 ? c->d_ff_dense : c->d_ff;
        GEODEC_PASS(check_matrix(l->gate, width, d, true, i, "ffn_gate", err));
        GEODEC_PASS(check_matrix(l->up, width, d, true, i, "ffn_up", err));
        return check_matrix(l->down, d, width, true, i, "ffn_down", err);
    }
    GEODEC_PASS(check_matrix(l->router, c->n_expert, d, true, i, "ffn_gate_inp", err));
    GEODEC_PASS(check_vector(&l->expert_bias, c->n_expert, false, i, "exp_probs_b", err));
    for (int32_t e = 0; e < c->n_expert; e++) {
        GEODEC_PASS(check_matrix(l->expert[3 * e], c->d_ff, d, true, i, "ffn_gate of an expert", err));
        GEODEC_PASS(check_matrix(l->expert[3 * e + 1], c->d_ff, d, true, i, "ffn_up of an expert", err));
        GEODEC_PASS(check_matrix(l->expert[3 * e + 2], d, c->d_ff, true, i, "ffn_down of an expert", err));
    }
    GEODEC_PASS(check_matrix(l->shared_gate, shared, d, shared > 0, i, "ffn_gate_shexp", err));
    GEODEC_PASS(check_matrix(l->shared_up, shared, d, shared > 0, i, "ffn_up_shexp", err));
    GEODEC_PASS(check_matrix(l->shared_down, d, shared, shared > 0, i, "ffn_down_shexp", err));
    return check_matrix(l->shared_factor, 1, d, false, i, "ffn_gate_inp_shexp", err);
}

static geodec_status check_layer(const geodec_network_config *c, const geodec_network_layer *l, int32_t i,
                                 geodec_err *err)
{
    const int64_t d = c->d_model, q = (int64_t)c->n_head * c->head_dim, k = (int64_t)c->n_kv_head * c->head_dim;
    GEODEC_PASS(check_matrix(l->q, q, d, true, i, "attn_q", err));
    GEODEC_PASS(check_matrix(l->k, k, d, true, i, "attn_k", err));
    GEODEC_PASS(check_matrix(l->v, k, d, true, i, "attn_v", err));
    GEODEC_PASS(check_matrix(l->o, d, q, true, i, "attn_output", err));
    GEODEC_PASS(check_vector(&l->attn_norm, d, true, i, "attn_norm", err));
    GEODEC_PASS(check_vector(&l->ffn_norm, d, true, i, "ffn_norm", err));
    GEODEC_PASS(check_vector(&l->attn_post_norm, d, false, i, "post_attention_norm", err));
    GEODEC_PASS(check_vector(&l->ffn_post_norm, d, false, i, "post_ffw_norm", err));
    GEODEC_PASS(check_vector(&l->q_norm, c->qk_norm_whole ? q : c->head_dim, false, i, "attn_q_norm", err));
    GEODEC_PASS(check_vector(&l->k_norm, c->qk_norm_whole ? k : c->head_dim, false, i, "attn_k_norm", err));
    GEODEC_PASS(check_vector(&l->q_bias, q, false, i, "attn_q.bias", err));
    GEODEC_PASS(check_vector(&l->k_bias, k, false, i, "attn_k.bias", err));
    GEODEC_PASS(check_vector(&l->v_bias, k, false, i, "attn_v.bias", err));
    GEODEC_PASS(check_vector(&l->o_bias, d, false, i, "attn_output.bias", err));
    if (l->rope < 0 || l->rope >= c->rope_tables) GEODEC_FAIL(GEODEC_FORMAT, "layer %d has no table of rotations", i);
    return check_feed(c, l, i, err);
}

/* Numbers that no matrix confirms. */
static bool groups_fit(const geodec_network_config *c)
{
    const int32_t groups = c->n_expert_group;
    return groups == 0 || (c->n_expert % groups == 0 && c->n_expert / groups >= 2 && c->n_expert_group_used >= 1 &&
                           c->n_expert_group_used <= groups);
}

static bool widths_fit(const geodec_network_config *c)
{
    const int64_t most = GEODEC_CODED_COLS;
    return c->d_model <= most && c->d_ff <= most && c->d_ff_dense <= most && c->d_ff_shared <= most &&
           (int64_t)c->n_head * c->head_dim <= most && c->n_vocab <= GEODEC_CODED_ROWS;
}

geodec_status geodec_network_check_numbers(const geodec_network_config *c, geodec_err *err)
{
#define X(name)                                                                                                        \
    if (c->name < 0 || c->name > 1 << 24) GEODEC_FAIL(GEODEC_LIMIT, "%s is %d", #name, c->name);
    GEODEC_NETWORK_NUMBERS(X)
#undef X
#define X(name)                                                                                                        \
    if (c->name.shift < -64 || c->name.shift > 1100)                                                                   \
        GEODEC_FAIL(GEODEC_LIMIT, "%s is out of range: it has the shift %d", #name, c->name.shift);
    GEODEC_NETWORK_FACTORS(X)
#undef X
    if (c->n_layer < 1 || c->n_layer > MOST_LAYERS || c->n_expert > MOST_EXPERTS || c->rope_tables < 1 ||
        c->rope_tables > 2 || c->rope_dim > 4096)
        GEODEC_FAIL(GEODEC_LIMIT,
                    "%d layers, %d experts, %d tables of rotations of %d numbers are outside of the limits", c->n_layer,
                    c->n_expert, c->rope_tables, c->rope_dim);
    return GEODEC_OK;
}

geodec_status geodec_network_check(const geodec_network *n, geodec_err *err)
{
    const geodec_network_config *c = &n->config;
    GEODEC_PASS(geodec_network_check_numbers(c, err));
    if (c->d_model < 1 || c->n_head < 1 || c->n_kv_head < 1 || c->head_dim < 1 || c->head_dim > 4096 ||
        c->n_head % c->n_kv_head || c->rope_dim % 2 || !groups_fit(c) || !widths_fit(c) || c->rope_dim > c->head_dim ||
        c->d_model > GEODEC_CODED_COLS || (c->activation_bits != 7 && c->activation_bits != 15) ||
        (c->n_expert > 0 && (c->n_expert_used < 1 || c->n_expert_used > c->n_expert)))
        GEODEC_FAIL(GEODEC_FORMAT, "the numbers of the configuration do not fit together");
    GEODEC_PASS(check_matrix(n->embedding, c->n_vocab, c->d_model, true, -1, "token_embd", err));
    GEODEC_PASS(check_matrix(n->head, c->n_vocab, c->d_model, true, -1, "output", err));
    GEODEC_PASS(check_vector(&n->output_norm, c->d_model, true, -1, "output_norm", err));
    for (int32_t i = 0; i < c->n_layer; i++) GEODEC_PASS(check_layer(c, &n->layer[i], i, err));
    return GEODEC_OK;
}
