#include "model/internal.h"

#include <math.h>
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
};

static geodec_status missing(const geodec_gguf *g, const char *key, geodec_err *err)
{
    return geodec_err_set(err, GEODEC_FORMAT, __func__, __LINE__, "%s: key '%s' is missing", geodec_gguf_path(g), key);
}

/* An integer from lo to hi; absent is an error when otherwise < 0, else gives that value. */
static geodec_status read_int(const geodec_gguf *g, const char *key, int64_t lo, int64_t hi, int64_t otherwise,
                              int32_t *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t v;
    if (!geodec_gguf_has(g, key)) {
        if (otherwise < 0) GEODEC_TRY(missing(g, key, err));
        *out = (int32_t)otherwise;
        goto done;
    }
    GEODEC_TRY(geodec_gguf_get_i64(g, key, &v, err));
    if (v < lo || v > hi)
        GEODEC_THROW(v > hi ? GEODEC_LIMIT : GEODEC_FORMAT, "%s: key '%s': %lld is outside %lld to %lld",
                     geodec_gguf_path(g), key, (long long)v, (long long)lo, (long long)hi);
    *out = (int32_t)v;
done:
    return st;
}

static geodec_status read_positive(const geodec_gguf *g, const char *key, double limit, double otherwise, double *out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double v;
    if (!geodec_gguf_has(g, key)) {
        if (otherwise <= 0) GEODEC_TRY(missing(g, key, err));
        *out = otherwise;
        goto done;
    }
    GEODEC_TRY(geodec_gguf_get_f64(g, key, &v, err));
    if (!(v > 0 && v <= limit))
        GEODEC_THROW(GEODEC_FORMAT, "%s: key '%s': %g is outside 0 to %g", geodec_gguf_path(g), key, v, limit);
    *out = v;
done:
    return st;
}

static geodec_status read_heads(const geodec_gguf *g, geodec_model_config *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = geodec_gguf_path(g);
    int32_t value_length;
    GEODEC_TRY(read_int(g, "llama.attention.head_count", 1, MAX_HEADS, -1, &c->n_head, err));
    GEODEC_TRY(read_int(g, "llama.attention.head_count_kv", 1, MAX_HEADS, c->n_head, &c->n_kv_head, err));
    if (c->n_head % c->n_kv_head)
        GEODEC_THROW(GEODEC_FORMAT, "%s: key 'llama.attention.head_count_kv': %d does not divide the %d heads", path,
                     c->n_kv_head, c->n_head);
    if (!geodec_gguf_has(g, "llama.attention.key_length") && c->d_model % c->n_head)
        GEODEC_THROW(GEODEC_FORMAT, "%s: key 'llama.attention.head_count': %d does not divide the width %d", path,
                     c->n_head, c->d_model);
    GEODEC_TRY(read_int(g, "llama.attention.key_length", 1, MAX_HEAD_DIM, c->d_model / c->n_head, &c->head_dim, err));
    GEODEC_TRY(read_int(g, "llama.attention.value_length", 1, MAX_HEAD_DIM, c->head_dim, &value_length, err));
    if (c->head_dim > MAX_HEAD_DIM) GEODEC_THROW(GEODEC_LIMIT, "%s: heads of %d dimensions", path, c->head_dim);
    if (value_length != c->head_dim)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: key 'llama.attention.value_length': %d differs from the key length %d",
                     path, value_length, c->head_dim);
    GEODEC_TRY(read_int(g, "llama.rope.dimension_count", 2, c->head_dim, c->head_dim, &c->rope_dim, err));
    if (c->rope_dim % 2)
        GEODEC_THROW(GEODEC_FORMAT, "%s: key 'llama.rope.dimension_count': %d is odd", path, c->rope_dim);
done:
    return st;
}

/* Features that would change the arithmetic silently if they were ignored. */
static geodec_status refuse_features(const geodec_gguf *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char scaling[] = "llama.rope.scaling.type";
    const char *kind;
    if (geodec_gguf_has(g, scaling)) {
        GEODEC_TRY(geodec_gguf_get_str(g, scaling, &kind, err));
        if (strcmp(kind, "none") != 0)
            GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: key '%s': scaling '%.40s' is not supported", geodec_gguf_path(g),
                         scaling, kind);
    }
    if (geodec_gguf_has(g, "llama.rope.scale_linear"))
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: key 'llama.rope.scale_linear' is not supported", geodec_gguf_path(g));
done:
    return st;
}

geodec_status geodec__config_read(const geodec_gguf *g, geodec_model_config *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char arch_key[] = "general.architecture";
    geodec_model_config c = {0};
    const char *arch;
    double eps;
    if (!geodec_gguf_has(g, arch_key)) GEODEC_TRY(missing(g, arch_key, err));
    GEODEC_TRY(geodec_gguf_get_str(g, arch_key, &arch, err));
    if (strcmp(arch, "llama") != 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: key '%s': architecture '%.60s' is not supported ('llama' is)",
                     geodec_gguf_path(g), arch_key, arch);
    c.arch = "llama";
    GEODEC_TRY(read_int(g, "llama.block_count", 1, MAX_LAYERS, -1, &c.n_layer, err));
    GEODEC_TRY(read_int(g, "llama.embedding_length", 1, MAX_WIDTH, -1, &c.d_model, err));
    GEODEC_TRY(read_int(g, "llama.feed_forward_length", 1, MAX_FF, -1, &c.d_ff, err));
    GEODEC_TRY(read_int(g, "llama.context_length", 1, MAX_CONTEXT, -1, &c.n_ctx, err));
    GEODEC_TRY(read_heads(g, &c, err));
    GEODEC_TRY(read_positive(g, "llama.attention.layer_norm_rms_epsilon", 1, 0, &eps, err));
    c.rms_eps = (float)eps;
    GEODEC_TRY(read_positive(g, "llama.rope.freq_base", 1e12, 10000, &c.rope_base, err));
    GEODEC_TRY(read_int(g, "llama.expert_count", 0, MAX_EXPERTS, 0, &c.n_expert, err));
    if (c.n_expert > 0) GEODEC_TRY(read_int(g, "llama.expert_used_count", 1, c.n_expert, -1, &c.n_expert_used, err));
    GEODEC_TRY(read_int(g, "llama.vocab_size", 1, MAX_VOCAB, 0, &c.n_vocab, err));
    GEODEC_TRY(refuse_features(g, err));
    *out = c;
done:
    return st;
}
