#include "base/mem.h"
#include "model/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What binding walks along with. */
typedef struct binder {
    const geodec_gguf *g;
    float *norm_at; /* next free norm vector */
    int64_t bound;  /* tensors that found their place */
    geodec_err *err;
} binder;

enum { NAME = 80 };

static const geodec_gguf_tensor *find(const binder *b, int32_t layer, const char *suffix, char name[NAME])
{
    if (layer < 0)
        (void)snprintf(name, NAME, "%s.weight", suffix);
    else
        (void)snprintf(name, NAME, "blk.%d.%s.weight", layer, suffix);
    return geodec_gguf_find(b->g, name);
}

static geodec_status check_shape(const geodec_gguf_tensor *t, int64_t cols, int64_t rows, int64_t count,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t want[4] = {cols, rows, count,
                             1}; /* trailing ones carry nothing: [n] and [n, 1] are the same vector */
    if (memcmp(want, t->dim, sizeof want) != 0)
        GEODEC_THROW(GEODEC_FORMAT, "tensor '%s' is [%lld, %lld, %lld, %lld], not [%lld, %lld, %lld, 1]", t->name,
                     (long long)t->dim[0], (long long)t->dim[1], (long long)t->dim[2], (long long)t->dim[3],
                     (long long)want[0], (long long)want[1], (long long)want[2]);
done:
    return st;
}

/* cols inputs, rows outputs, count matrices in one tensor (experts; 1 otherwise). */
static geodec_status bind_matrix(binder *b, int32_t layer, const char *suffix, int64_t cols, int64_t rows,
                                 int64_t count, geodec__matrix *out)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = b->err;
    char name[NAME];
    const geodec_gguf_tensor *t = find(b, layer, suffix, name);
    if (!t) GEODEC_THROW(GEODEC_FORMAT, "tensor '%s' is missing", name);
    GEODEC_TRY(check_shape(t, cols, rows, count, err));
    *out = (geodec__matrix){.data = t->data,
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = (int64_t)geodec_ggml_bytes(geodec_ggml_traits_of(t->type), cols),
                            .type = t->type};
    b->bound++;
done:
    return st;
}

static geodec_status bind_norm(binder *b, int32_t layer, const char *suffix, int64_t n, const float **out)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = b->err;
    char name[NAME];
    const geodec_gguf_tensor *t = find(b, layer, suffix, name);
    if (!t) GEODEC_THROW(GEODEC_FORMAT, "tensor '%s' is missing", name);
    GEODEC_TRY(check_shape(t, n, 1, 1, err));
    geodec_ggml_traits_of(t->type)->decode(t->data, b->norm_at, n);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(b->norm_at[i]))
            GEODEC_THROW(GEODEC_FORMAT, "tensor '%s': value %lld is not finite", name, (long long)i);
    *out = b->norm_at;
    b->norm_at += geodec__pad(n);
    b->bound++;
done:
    return st;
}

static geodec_status bind_layer(binder *b, const geodec_model_config *c, int32_t i, geodec__layer *l)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = b->err;
    const int64_t d = c->d_model, q = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim,
                  f = c->d_ff;
    const int64_t experts = c->n_expert;
    GEODEC_TRY(bind_norm(b, i, "attn_norm", d, &l->attn_norm));
    GEODEC_TRY(bind_matrix(b, i, "attn_q", d, q, 1, &l->q));
    GEODEC_TRY(bind_matrix(b, i, "attn_k", d, kv, 1, &l->k));
    GEODEC_TRY(bind_matrix(b, i, "attn_v", d, kv, 1, &l->v));
    GEODEC_TRY(bind_matrix(b, i, "attn_output", q, d, 1, &l->o));
    GEODEC_TRY(bind_norm(b, i, "ffn_norm", d, &l->ffn_norm));
    if (experts == 0) {
        GEODEC_TRY(bind_matrix(b, i, "ffn_gate", d, f, 1, &l->gate));
        GEODEC_TRY(bind_matrix(b, i, "ffn_up", d, f, 1, &l->up));
        GEODEC_TRY(bind_matrix(b, i, "ffn_down", f, d, 1, &l->down));
    } else {
        GEODEC_TRY(bind_matrix(b, i, "ffn_gate_inp", d, experts, 1, &l->router));
        GEODEC_TRY(bind_matrix(b, i, "ffn_gate_exps", d, f, experts, &l->gate));
        GEODEC_TRY(bind_matrix(b, i, "ffn_up_exps", d, f, experts, &l->up));
        GEODEC_TRY(bind_matrix(b, i, "ffn_down_exps", f, d, experts, &l->down));
    }
done:
    return st;
}

/* A tensor nobody asked for would be part of the function (a bias, frequency factors): never ignore it. */
static geodec_status refuse_unexpected(const geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char *const suffixes[] = {"attn_norm",     "attn_q",      "attn_k",       "attn_v",   "attn_output",
                                           "ffn_norm",      "ffn_gate",    "ffn_up",       "ffn_down", "ffn_gate_inp",
                                           "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"};
    for (int64_t i = 0; i < geodec_gguf_n_tensors(m->gguf); i++) {
        const char *name = geodec_gguf_tensor_at(m->gguf, i)->name;
        bool known = strcmp(name, "token_embd.weight") == 0 || strcmp(name, "output_norm.weight") == 0 ||
                     strcmp(name, "output.weight") == 0;
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes && !known; k++) {
            const bool expert = k >= 9, dense = k >= 6 && k < 9;
            if (expert ? m->config.n_expert == 0 : dense && m->config.n_expert > 0) continue;
            int layer = -1;
            char expect[NAME];
            if (sscanf(name, "blk.%7d.", &layer) != 1 || layer < 0 || layer >= m->config.n_layer) continue;
            (void)snprintf(expect, sizeof expect, "blk.%d.%s.weight", layer, suffixes[k]);
            known = strcmp(name, expect) == 0;
        }
        if (!known) GEODEC_THROW(GEODEC_UNSUPPORTED, "tensor '%s' has no place in this architecture", name);
    }
    GEODEC_THROW(GEODEC_INTERNAL, "tensors were not bound");
done:
    return st;
}

geodec_status geodec__weights_bind(geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_config *c = &m->config;
    binder b = {.g = m->gguf, .err = err};
    const geodec_gguf_tensor *embedding = geodec_gguf_find(m->gguf, "token_embd.weight");
    /* before anything is allocated by these numbers, the file must have that many tensors */
    if (geodec_gguf_n_tensors(m->gguf) < 2 + 9 * (int64_t)c->n_layer)
        GEODEC_THROW(GEODEC_FORMAT, "key 'llama.block_count': %d blocks need more than the %lld tensors present",
                     c->n_layer, (long long)geodec_gguf_n_tensors(m->gguf));
    if (!embedding) GEODEC_THROW(GEODEC_FORMAT, "tensor 'token_embd.weight' is missing");
    if (embedding->dim[0] != c->d_model)
        GEODEC_THROW(GEODEC_FORMAT, "tensor 'token_embd.weight' has rows of %lld, not of %d",
                     (long long)embedding->dim[0], c->d_model);
    GEODEC_NEW(m->layer, c->n_layer);
    GEODEC_NEW(m->norms, (2 * (int64_t)c->n_layer + 1) * geodec__pad(c->d_model));
    b.norm_at = m->norms;
    GEODEC_TRY(bind_matrix(&b, -1, "token_embd", c->d_model, c->n_vocab, 1, &m->embedding));
    GEODEC_TRY(bind_norm(&b, -1, "output_norm", c->d_model, &m->output_norm));
    c->tied = geodec_gguf_find(m->gguf, "output.weight") == NULL;
    m->head = m->embedding;
    if (!c->tied) GEODEC_TRY(bind_matrix(&b, -1, "output", c->d_model, c->n_vocab, 1, &m->head));
    for (int32_t i = 0; i < c->n_layer; i++) GEODEC_TRY(bind_layer(&b, c, i, &m->layer[i]));
    if (b.bound != geodec_gguf_n_tensors(m->gguf)) GEODEC_TRY(refuse_unexpected(m, err));
done:
    return st;
}
