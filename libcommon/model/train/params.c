#include "train/params.h"

#include "base/rng.h"
#include "routing/torus.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void init_llama(const geodec_layout *l, const geodec_param *p, geodec_rng *r, float *x)
{
    const double residual = 1 / sqrt(2.0 * l->config.n_layer);
    const double deviation = p->role == GEODEC_PARAM_RESIDUAL ? 0.02 * residual : 0.02;
    for (int64_t j = 0; j < p->size; j++)
        x[j] = p->role == GEODEC_PARAM_NORM ? 1 : (float)(deviation * geodec_rng_normal(r));
}

static void init_perspective(const geodec_layout *l, const geodec_param *p, geodec_rng *r, float *x)
{
    enum { AXES = GEODEC_TORUS_AXES };
    const double noise = 0.02, gate = 2.944; /* sigmoid 0.95 */
    const double deviation = (p->role == GEODEC_PARAM_RESIDUAL ? 0.3 : 1) / sqrt((double)p->dim[0]);
    const int64_t plane = p->dim[0] * p->dim[1];
    const bool decay = strstr(p->name, "recur_decay") != NULL;
    for (int64_t j = 0; j < p->size; j++)
        if (p->role == GEODEC_PARAM_NORM)
            x[j] = 1;
        else if (p->role == GEODEC_PARAM_BIAS)
            x[j] = decay ? (float)gate : 0;
        else if (p->role == GEODEC_PARAM_FIXED)
            continue;
        else if (j < plane)
            x[j] = (float)(deviation * geodec_rng_normal(r));
        else
            x[j] = x[j % plane] + (float)(noise * deviation * geodec_rng_normal(r));
    for (int32_t e = 0; p->role == GEODEC_PARAM_FIXED && e < l->config.n_expert; e++)
        geodec_torus_place(l->config.expert_lattice, e, x + (int64_t)AXES * e);
    /* the first expert gets noise too */
    for (int64_t j = 0; p->n_dims == 3 && j < plane; j++) x[j] += (float)(noise * deviation * geodec_rng_normal(r));
}

void geodec_params_init(const geodec_layout *l, uint64_t seed, float *params)
{
    for (int64_t i = 0; i < l->n_params; i++) {
        const geodec_param *p = &l->param[i];
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id(p->name, 0));
        (l->config.recur_period > 0 ? init_perspective : init_llama)(l, p, &r, params + p->offset);
    }
}

geodec_status geodec_params_read(const geodec_layout *l, const geodec_gguf *g, float *params, geodec_err *err)
{
    for (int64_t i = 0; i < l->n_params; i++) {
        const geodec_param *p = &l->param[i];
        const geodec_gguf_tensor *t = geodec_gguf_find(g, p->name);
        if (!t) GEODEC_FAIL(GEODEC_FORMAT, "%s: tensor %s is missing", geodec_gguf_path(g), p->name);
        for (int d = 0; d < 3; d++)
            if (t->dim[d] != p->dim[d] || t->dim[3] != 1)
                GEODEC_FAIL(GEODEC_FORMAT, "%s: tensor %s is %lld x %lld x %lld x %lld, not %lld x %lld x %lld",
                            geodec_gguf_path(g), p->name, (long long)t->dim[0], (long long)t->dim[1],
                            (long long)t->dim[2], (long long)t->dim[3], (long long)p->dim[0], (long long)p->dim[1],
                            (long long)p->dim[2]);
        const geodec_ggml_traits *traits = geodec_ggml_traits_of(t->type);
        if (!traits)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: tensor %s has type %d", geodec_gguf_path(g), p->name, t->type);
        traits->decode(t->data, params + p->offset, p->size);
    }
    return GEODEC_OK;
}

/* Keys of a PERSPECTIVE model beside those of a llama. */
static geodec_status put_perspective(geodec_gguf_writer *w, const geodec_model_config *c, geodec_err *err)
{
    static const char *const routes[] = {"softmax", "mod", "angle"};
    GEODEC_PASS(geodec_gguf_put_u32(w, "perspective.recurrence.rank", (uint32_t)c->recur_rank, err));
    GEODEC_PASS(geodec_gguf_put_u32(w, "perspective.recurrence.period", (uint32_t)c->recur_period, err));
    GEODEC_PASS(geodec_gguf_put_f32(w, "perspective.recurrence.log_decay_min", c->recur_log_decay_min, err));
    if (c->window > 0)
        GEODEC_PASS(geodec_gguf_put_u32(w, "perspective.attention.sliding_window", (uint32_t)c->window, err));
    if (c->embed_scale > 0) GEODEC_PASS(geodec_gguf_put_f32(w, "perspective.embedding_scale", c->embed_scale, err));
    if (c->n_expert == 0) return GEODEC_OK;
    GEODEC_PASS(geodec_gguf_put_u32(w, "perspective.expert_feed_forward_length", (uint32_t)c->d_ff, err));
    GEODEC_PASS(geodec_gguf_put_str(w, "perspective.expert_route", routes[c->route], err));
    GEODEC_PASS(geodec_gguf_put_str(w, "perspective.expert_route_at", c->route_before ? "pre" : "post", err));
    if (c->expert_lattice[0] > 0)
        GEODEC_PASS(
            geodec_gguf_put_i32_array(w, "perspective.expert_lattice", c->expert_lattice, GEODEC_TORUS_AXES, err));
    return GEODEC_OK;
}

static geodec_status put_keys(geodec_gguf_writer *w, const geodec_model_config *c, const char *name, int type,
                              geodec_err *err)
{
    enum { KEY = 80 };
    const bool perspective = c->recur_period > 0;
    const char *arch = perspective ? "perspective" : "llama";
    char key[KEY];
    const struct {
        const char *key;
        int32_t value;
    } counts[] = {
        {"context_length", c->n_ctx},
        {"embedding_length", c->d_model},
        {"block_count", c->n_layer},
        {"feed_forward_length", perspective && c->n_expert ? c->d_ff_dense : c->d_ff},
        {"attention.head_count", c->n_head},
        {"attention.head_count_kv", c->n_kv_head},
        {"attention.key_length", c->head_dim},
        {"attention.value_length", c->head_dim},
        {"rope.dimension_count", c->rope_dim},
        {"vocab_size", c->n_vocab},
        {"expert_count", c->n_expert},
        {"expert_used_count", c->n_expert_used},
    };
    GEODEC_PASS(geodec_gguf_put_str(w, "general.architecture", arch, err));
    GEODEC_PASS(geodec_gguf_put_str(w, "general.name", name, err));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        (void)snprintf(key, KEY, "%s.%s", arch, counts[i].key);
        if (counts[i].value) GEODEC_PASS(geodec_gguf_put_u32(w, key, (uint32_t)counts[i].value, err));
    }
    (void)snprintf(key, KEY, "%s.attention.layer_norm_rms_epsilon", arch);
    GEODEC_PASS(geodec_gguf_put_f32(w, key, c->rms_eps, err));
    (void)snprintf(key, KEY, "%s.rope.freq_base", arch);
    GEODEC_PASS(geodec_gguf_put_f32(w, key, (float)c->rope_base, err));
    if (perspective) GEODEC_PASS(put_perspective(w, c, err));
    const geodec_ggml_traits *traits = geodec_ggml_traits_of(type);
    GEODEC_PASS(geodec_gguf_put_u32(w, "general.file_type", (uint32_t)traits->file_type, err));
    if (traits->block > 1) GEODEC_PASS(geodec_gguf_put_u32(w, "general.quantization_version", 2, err));
    return GEODEC_OK;
}

geodec_status geodec_params_write(const geodec_layout *l, const float *params, const geodec_tokenizer *t,
                                  const char *name, int type, bool ternary, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf_writer *w = NULL;
    const geodec_ggml_traits *traits = geodec_ggml_traits_of(type);
    if (!traits || !traits->encode) GEODEC_THROW(GEODEC_UNSUPPORTED, "no encoder for tensor type %d", type);
    GEODEC_TRY(geodec_gguf_writer_create(path, &w, err));
    GEODEC_TRY(put_keys(w, &l->config, name, type, err));
    GEODEC_TRY(geodec_tokenizer_put(t, w, err));
    for (int64_t i = 0; i < l->n_params; i++) {
        const geodec_param *p = &l->param[i];
        int as = type;
        if (p->role == GEODEC_PARAM_NORM || p->role == GEODEC_PARAM_BIAS || p->role == GEODEC_PARAM_FIXED ||
            strstr(p->name, "ffn_gate_inp"))
            as = GEODEC_GGML_F32;
        else if (ternary && p->n_dims == 3)
            as = type == GEODEC_GGML_F32 ? type : GEODEC_GGML_F16;
        else if (p->dim[0] % traits->block)
            as = GEODEC_GGML_F16;
        GEODEC_TRY_MSG(geodec_gguf_put_tensor(w, p->name, as, p->n_dims, p->dim, params + p->offset, err), "%s",
                       p->name);
    }
    geodec_gguf_writer *finished = w;
    w = NULL;
    GEODEC_TRY(geodec_gguf_writer_commit(finished, err));
done:
    geodec_gguf_writer_abandon(w);
    return st;
}
