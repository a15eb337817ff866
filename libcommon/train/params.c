#include "train/params.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

void geodec_params_init(const geodec_layout *l, uint64_t seed, float *params)
{
    for (int64_t i = 0; i < l->n_params; i++) {
        const geodec_param *p = &l->param[i];
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id(p->name, 0));
        const double residual = 1 / sqrt(2.0 * l->config.n_layer);
        const double deviation = p->role == GEODEC_PARAM_RESIDUAL ? 0.02 * residual : 0.02;
        for (int64_t j = 0; j < p->size; j++)
            params[p->offset + j] = p->role == GEODEC_PARAM_NORM ? 1 : (float)(deviation * geodec_rng_normal(&r));
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

static geodec_status put_keys(geodec_gguf_writer *w, const geodec_model_config *c, const char *name, int type,
                              geodec_err *err)
{
    const struct {
        const char *key;
        int32_t value;
    } counts[] = {
        {"llama.context_length", c->n_ctx},          {"llama.embedding_length", c->d_model},
        {"llama.block_count", c->n_layer},           {"llama.feed_forward_length", c->d_ff},
        {"llama.attention.head_count", c->n_head},   {"llama.attention.head_count_kv", c->n_kv_head},
        {"llama.attention.key_length", c->head_dim}, {"llama.attention.value_length", c->head_dim},
        {"llama.rope.dimension_count", c->rope_dim}, {"llama.vocab_size", c->n_vocab},
        {"llama.expert_count", c->n_expert},         {"llama.expert_used_count", c->n_expert_used},
    };
    GEODEC_PASS(geodec_gguf_put_str(w, "general.architecture", "llama", err));
    GEODEC_PASS(geodec_gguf_put_str(w, "general.name", name, err));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].value) GEODEC_PASS(geodec_gguf_put_u32(w, counts[i].key, (uint32_t)counts[i].value, err));
    GEODEC_PASS(geodec_gguf_put_f32(w, "llama.attention.layer_norm_rms_epsilon", c->rms_eps, err));
    GEODEC_PASS(geodec_gguf_put_f32(w, "llama.rope.freq_base", (float)c->rope_base, err));
    const geodec_ggml_traits *traits = geodec_ggml_traits_of(type);
    GEODEC_PASS(geodec_gguf_put_u32(w, "general.file_type", (uint32_t)traits->file_type, err));
    if (traits->block > 1) GEODEC_PASS(geodec_gguf_put_u32(w, "general.quantization_version", 2, err));
    return GEODEC_OK;
}

geodec_status geodec_params_write(const geodec_layout *l, const float *params, const geodec_tokenizer *t,
                                  const char *name, int type, const char *path, geodec_err *err)
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
        if (p->role == GEODEC_PARAM_NORM || strstr(p->name, "ffn_gate_inp"))
            as = GEODEC_GGML_F32;
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
