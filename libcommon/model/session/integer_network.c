#include "session/integer_network.h"
#include "session/arch_internal.h"

#include "base/f16.h"
#include "base/mem.h"
#include "session/model_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- configuration ----------------------------------------------------------------------------------------------- */

static geodec_network_config config_of(const geodec_model *m, const geodec_integer_options *o)
{
    const geodec_model_config *c = &m->config;
    geodec_network_config n = {
        .n_layer = c->n_layer,
        .d_model = c->d_model,
        .n_head = c->n_head,
        .n_kv_head = c->n_kv_head,
        .head_dim = c->head_dim,
        .rope_dim = c->rope_dim,
        .d_ff = c->d_ff,
        .n_vocab = c->n_vocab,
        .n_ctx = c->n_ctx,
        .n_expert = c->n_expert,
        .n_expert_used = c->n_expert_used,
        .d_ff_dense = c->d_ff_dense,
        .d_ff_shared = c->d_ff_shared,
        .n_expert_group = c->n_expert_group,
        .n_expert_group_used = c->n_expert_group_used,
        .tied = m->embedding.data == m->head.data,
        .rope_halves = c->rope_pairs == GEODEC_ROPE_HALVES,
        .gelu = c->activation == GEODEC_GELU_TANH,
        .qk_norm_whole = m->layer[0].q_norm.part > c->head_dim || m->layer[0].k_norm.part > c->head_dim,
        .qk_norm_rotated = c->qk_norm_rotated,
        .expert_keep_weights = c->expert_keep_weights,
        .expert_sigmoid = c->gating == GEODEC_GATING_SIGMOID,
        .rope_tables = c->rope_base_local > 0 ? 2 : 1,
        .rope_n_ctx_original = m->rope_divisor[1] ? c->rope_n_ctx_original : 0,
        .activation_bits = o->activation_bits == 8 ? 7 : 15,
        .rms_eps = geodec_network_factor_of((double)c->rms_eps),
        .attn_scale = geodec_network_factor_of(c->attn_scale > 0 ? c->attn_scale : 1 / sqrt(c->head_dim)),
        .attn_softcap = geodec_network_factor_of((double)c->attn_softcap),
        .final_softcap = geodec_network_factor_of((double)c->final_softcap),
        .embed_scale = geodec_network_factor_of((double)c->embed_scale),
        .residual_scale = geodec_network_factor_of((double)c->residual_scale),
        .logit_factor = geodec_network_factor_of(c->logit_scale > 0 ? 1 / (double)c->logit_scale : 0),
        .expert_scale = geodec_network_factor_of((double)c->expert_scale),
        .rope_magnitude = geodec_network_factor_of(c->rope_magnitude > 0 ? (double)c->rope_magnitude : 0),
    };
    return n;
}

static geodec_status steps_of(const geodec_model *m, const geodec_network_config *c, uint64_t **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t pairs = c->rope_dim / 2, each = (int64_t)c->rope_tables * pairs;
    uint64_t *step;
    GEODEC_NEW(step, 2 * each);
    for (int64_t i = 0; i < 2 * each; i++) {
        const int32_t n_ctx = i < each ? 1 : INT32_MAX;
        const double turns = geodec__rope_step(m, n_ctx, (int32_t)(i % each / pairs), i % pairs) / 6.283185307179586477;
        step[i] = (uint64_t)ldexp(turns - floor(turns), 63) * 2;
    }
    *out = step;
done:
    return st;
}

/* ---- matrices ---------------------------------------------------------------------------------------------------- */

typedef struct coding {
    const geodec__matrix *w;
    int bits;
    uint8_t *code;
    int16_t *multiplier, *shift;
    float *room; /* [threads][cols] */
    double *scale;
    int8_t *value;
    int32_t *bad; /* [threads] 1 + a row with a weight that is not finite */
} coding;

/* Scales and codes of a row of Q8_0 or Q4_0. */
static bool row_of_blocks(const coding *k, int64_t r, double *scale, int8_t *value)
{
    const uint8_t *at = k->w->data + r * k->w->row_bytes;
    const bool eight = k->w->type == GEODEC_GGML_Q8_0;
    for (int64_t b = 0; b < k->w->cols / 32; b++, at += eight ? GEODEC_GGML_BYTES_Q8_0 : GEODEC_GGML_BYTES_Q4_0) {
        scale[b] = (double)geodec_f16_to_f32((uint16_t)(at[0] | at[1] << 8));
        if (!isfinite(scale[b])) return false;
        for (int i = 0; i < 32; i++)
            value[32 * b + i] = (int8_t)(eight    ? (int8_t)at[2 + i]
                                         : i < 16 ? (at[2 + i] & 15) - 8
                                                  : (at[2 + i - 16] >> 4) - 8);
    }
    return true;
}

static void row_task(void *ctx, int64_t r, int worker)
{
    const coding *k = ctx;
    const int64_t cols = k->w->cols, blocks = geodec_coded_blocks(cols);
    uint8_t *code = k->code + r * geodec_coded_row_bytes(cols, k->bits);
    int16_t *multiplier = k->multiplier + r * blocks;
    if (k->scale) {
        double *scale = k->scale + worker * blocks;
        int8_t *value = k->value + worker * 32 * blocks;
        if (row_of_blocks(k, r, scale, value))
            geodec_coded_row_of(scale, value, cols, k->bits, code, multiplier, &k->shift[r]);
        else
            k->bad[worker] = (int32_t)r + 1;
        return;
    }
    float *x = k->room + worker * cols;
    geodec_ggml_traits_of(k->w->type)->decode(k->w->data + r * k->w->row_bytes, x, cols);
    for (int64_t i = 0; i < cols; i++)
        if (!isfinite(x[i])) {
            k->bad[worker] = (int32_t)r + 1;
            return;
        }
    geodec_coded_row(x, cols, k->bits, code, multiplier, &k->shift[r]);
}

/* bits: 0 for the file's codes, or as `otherwise` where it has none. */
static geodec_status matrix_of(const geodec__matrix *w, int bits, int otherwise, geodec_pool *pool,
                               geodec_coded_area **area, geodec_panels16 **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t blocks = geodec_coded_blocks(w->cols), threads = geodec_pool_threads(pool);
    const bool own = bits == 0 && (w->type == GEODEC_GGML_Q8_0 || w->type == GEODEC_GGML_Q4_0);
    coding k = {.w = w, .bits = own ? w->type == GEODEC_GGML_Q8_0 ? 8 : 4 : bits ? bits : otherwise};
    if (!w->data) return GEODEC_OK;
    if (w->cols > GEODEC_CODED_COLS)
        GEODEC_THROW(GEODEC_LIMIT, "a matrix with %lld columns; at most %d are supported", (long long)w->cols,
                     GEODEC_CODED_COLS);
    GEODEC_NEW(k.code, w->rows * geodec_coded_row_bytes(w->cols, k.bits));
    GEODEC_NEW(k.multiplier, w->rows * blocks);
    GEODEC_NEW(k.shift, w->rows);
    GEODEC_NEW(k.bad, threads);
    if (own) {
        GEODEC_NEW(k.scale, threads * blocks);
        GEODEC_NEW(k.value, threads * blocks * 32);
    } else {
        GEODEC_NEW(k.room, threads * w->cols);
    }
    geodec_pool_run_dynamic(pool, w->rows, row_task, &k);
    for (int64_t i = 0; i < threads; i++)
        if (k.bad[i]) GEODEC_THROW(GEODEC_NUMERIC, "a weight of row %d is not finite", k.bad[i] - 1);
    const geodec_coded c = {w->rows, w->cols, k.bits, k.code, k.multiplier, k.shift};
    GEODEC_TRY(geodec_coded_pack_in(&c, area, out, err));
done:
    GEODEC_FREE(k.code, k.multiplier, k.shift, k.bad, k.scale, k.value, k.room);
    return st;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static geodec_status vector_of(const float *x, int64_t n, geodec_network_vector *out, geodec_err *err)
{
    if (!x) return GEODEC_OK;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i])) GEODEC_FAIL(GEODEC_NUMERIC, "number %lld of a vector is not finite", (long long)i);
    return geodec_network_vector_of(x, n, out, err);
}

static geodec_status layer_of(const geodec_model *m, int32_t index, int bits, geodec_pool *pool,
                              geodec_coded_area **area, geodec_network_layer *to, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &m->config;
    const geodec__layer *l = &m->layer[index];
    const int64_t d = c->d_model;
    to->window = l->window;
    to->rope = l->rope;
    GEODEC_TRY(vector_of(l->attn_norm.weight, d, &to->attn_norm, err));
    GEODEC_TRY(vector_of(l->ffn_norm.weight, d, &to->ffn_norm, err));
    GEODEC_TRY(vector_of(l->attn_post_norm.weight, d, &to->attn_post_norm, err));
    GEODEC_TRY(vector_of(l->ffn_post_norm.weight, d, &to->ffn_post_norm, err));
    GEODEC_TRY(vector_of(l->q_norm.weight, l->q_norm.part, &to->q_norm, err));
    GEODEC_TRY(vector_of(l->k_norm.weight, l->k_norm.part, &to->k_norm, err));
    GEODEC_TRY(vector_of(l->q_bias, l->q.rows, &to->q_bias, err));
    GEODEC_TRY(vector_of(l->k_bias, l->k.rows, &to->k_bias, err));
    GEODEC_TRY(vector_of(l->v_bias, l->v.rows, &to->v_bias, err));
    GEODEC_TRY(vector_of(l->o_bias, d, &to->o_bias, err));
    GEODEC_TRY(vector_of(l->expert_bias, c->n_expert, &to->expert_bias, err));
    const struct {
        const geodec__matrix *from;
        geodec_panels16 **to;
        int bits;
    } part[] = {{&l->q, &to->q, 0},
                {&l->k, &to->k, 0},
                {&l->v, &to->v, 0},
                {&l->o, &to->o, 0},
                {&l->router, &to->router, 16},
                {&l->shared_gate, &to->shared_gate, 0},
                {&l->shared_up, &to->shared_up, 0},
                {&l->shared_down, &to->shared_down, 0},
                {&l->shared_factor, &to->shared_factor, 16}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        GEODEC_TRY(matrix_of(part[i].from, part[i].bits, bits, pool, area, part[i].to, err));
    const geodec__matrix *const feed[] = {&l->gate, &l->up, &l->down};
    geodec_panels16 **const dense[] = {&to->gate, &to->up, &to->down};
    if (l->router.data) GEODEC_NEW(to->expert, 3 * (int64_t)c->n_expert);
    for (int k = 0; k < 3; k++) {
        if (!l->router.data) GEODEC_TRY(matrix_of(feed[k], 0, bits, pool, area, dense[k], err));
        for (int32_t e = 0; l->router.data && e < c->n_expert; e++) {
            const geodec__matrix w = geodec__expert(feed[k], e);
            GEODEC_TRY(matrix_of(&w, 0, bits, pool, area, &to->expert[3 * e + k], err));
        }
    }
done:
    return st;
}

static geodec_status check_model(const geodec_model *m, geodec_err *err)
{
    GEODEC_PASS(geodec__model_resident(m, err));
    if (m->streamed)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "integer arithmetic needs all experts in memory, from a GGUF file");
    if (m->config.recur_period > 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "integer arithmetic does not support architecture '%s'", m->config.arch);
    const char *part = geodec__model_recurs(m) ? "recurrent layers" : geodec__model_part_beyond(m);
    if (part)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "integer arithmetic does not support architecture '%s', which has %s",
                    m->config.arch, part);
    if (m->low || m->factor_rank > 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "integer arithmetic has no factored matrices and no cache of low rank");
    return GEODEC_OK;
}

geodec_status geodec_integer_network_make(const geodec_model *m, const geodec_integer_options *o, geodec_pool *pool,
                                          geodec_network **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_network *n = NULL;
    const geodec_integer_options none = {0};
    if (!o) o = &none;
    const int bits = o->bits ? o->bits : 8;
    if (bits != 4 && bits != 8 && bits != 16)
        GEODEC_THROW(GEODEC_INVAL, "weights of %d bits; 4, 8 or 16 are possible", bits);
    GEODEC_TRY(check_model(m, err));
    GEODEC_NEW(n, 1);
    n->config = config_of(m, o);
    GEODEC_NEW(n->layer, m->config.n_layer);
    GEODEC_TRY(steps_of(m, &n->config, &n->step, err));
    GEODEC_TRY_MSG(vector_of(m->output_norm.weight, m->config.d_model, &n->output_norm, err), "output_norm");
    const bool floats = geodec_ggml_traits_of(m->embedding.type)->product == GEODEC_GGML_FLOATS;
    GEODEC_TRY_MSG(
        matrix_of(&m->embedding, !n->config.tied && floats ? 16 : 0, bits, pool, &n->area, &n->embedding, err),
        "token_embd");
    if (n->config.tied)
        n->head = n->embedding;
    else
        GEODEC_TRY_MSG(matrix_of(&m->head, 0, bits, pool, &n->area, &n->head, err), "output");
    for (int32_t i = 0; i < m->config.n_layer; i++)
        GEODEC_TRY_MSG(layer_of(m, i, bits, pool, &n->area, &n->layer[i], err), "layer %d", i);
    GEODEC_TRY(geodec_network_check(n, err));
    GEODEC_MOVE(*out, n);
done:
    geodec_network_free(n);
    return st;
}
