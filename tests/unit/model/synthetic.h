/* Small models with random weights, written with the library's own GGUF writer: for tests that need no shared folder,
 * for the generator of damaged files and for the benchmark. Header-only, because each of these is linked on its own. */
#ifndef GEODEC_TESTS_SYNTHETIC_H
#define GEODEC_TESTS_SYNTHETIC_H

#include "base/mem.h"
#include "base/rng.h"
#include "gguf/gguf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct synthetic {
    int32_t n_layer, d_model, n_head, n_kv_head, d_ff, n_vocab, n_ctx;
    int32_t n_expert, n_expert_used; /* 0 = dense */
    int32_t head_dim;                /* 0 = d_model / n_head */
    int32_t rope_dim;                /* 0 = head_dim */
    int type;                        /* of the matrices; rows must be multiples of its block */
    bool tied;
    uint64_t seed;
    /* for damaged files; NULL or zero leaves the model good */
    const char *skip;                     /* this key or tensor is left out */
    const char *retype;                   /* this key is written as a string */
    const char *resize;                   /* this tensor gets one row more */
    const char *extra;                    /* a tensor of this name is added */
    const char *architecture, *tokenizer; /* other values of these keys */
    int32_t vocab_key;                    /* llama.vocab_size when not 0 */
    int32_t n_scores;                     /* length of the score array when not 0 */
    int32_t bos_key;                      /* tokenizer.ggml.bos_token_id when not 0 */
    bool nan_score, bad_byte, twin_piece;
    float eps;
} synthetic;

typedef struct synthetic_writer {
    geodec_gguf_writer *w;
    const synthetic *s;
    geodec_rng rng;
    geodec_err *err;
} synthetic_writer;

static inline geodec_status synthetic_u32(synthetic_writer *o, const char *key, uint32_t v)
{
    if (o->s->skip && strcmp(o->s->skip, key) == 0) return GEODEC_OK;
    if (o->s->retype && strcmp(o->s->retype, key) == 0) return geodec_gguf_put_str(o->w, key, "text", o->err);
    return geodec_gguf_put_u32(o->w, key, v, o->err);
}

static inline geodec_status synthetic_tensor(synthetic_writer *o, const char *name, int type, int64_t cols,
                                             int64_t rows, int64_t count)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    float *x = NULL;
    if (o->s->skip && strcmp(o->s->skip, name) == 0) goto done;
    if (o->s->resize && strcmp(o->s->resize, name) == 0) rows++;
    const int64_t dim[3] = {cols, rows, count}, n = cols * rows * count;
    const bool norm = strstr(name, "norm") != NULL;
    const float scale = 1.7f / sqrtf((float)cols); /* of a uniform: about unit variance of the product */
    GEODEC_NEW(x, n);
    for (int64_t i = 0; i < n; i++) {
        const float u = (float)(2 * geodec_rng_uniform(&o->rng) - 1);
        x[i] = norm ? 1.0f + 0.3f * u : scale * u;
    }
    const int n_dims = count > 1 ? 3 : rows > 1 ? 2 : 1;
    GEODEC_TRY(geodec_gguf_put_tensor(o->w, name, type, n_dims, dim, x, err));
done:
    geodec_mem_free(x);
    return st;
}

/* unk, bos, eos, the bytes, the mark, then pairs of letters. */
static inline geodec_status synthetic_vocab(synthetic_writer *o)
{
    geodec_status st = GEODEC_OK;
    geodec_err *err = o->err;
    const int32_t n = o->s->n_vocab;
    char(*text)[24] = NULL;
    const char **piece = NULL;
    size_t *len = NULL;
    float *score = NULL;
    int32_t *type = NULL;
    GEODEC_NEW(text, n);
    GEODEC_NEW(piece, n);
    GEODEC_NEW(len, n);
    GEODEC_NEW(score, n);
    GEODEC_NEW(type, n);
    for (int32_t i = 0; i < n; i++) {
        static const char *const special[] = {"<unk>", "<s>", "</s>"};
        type[i] = i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1;
        score[i] = i < 259 ? 0 : -(float)i;
        if (i < 3)
            (void)snprintf(text[i], sizeof text[i], "%s", special[i]);
        else if (i < 259)
            (void)snprintf(text[i], sizeof text[i], "<0x%02X>", (unsigned)(i - 3));
        else if (i == 259)
            (void)snprintf(text[i], sizeof text[i], "\xe2\x96\x81");
        else if (i < 286)
            (void)snprintf(text[i], sizeof text[i], "%c", 'a' + i - 260);
        else
            (void)snprintf(text[i], sizeof text[i], "w%d", i);
        piece[i] = text[i];
        len[i] = strlen(text[i]);
    }
    if (o->s->nan_score) score[n - 1] = NAN;
    if (o->s->bad_byte) (void)snprintf(text[10], sizeof text[10], "<0xQQ>");
    if (o->s->twin_piece) (void)snprintf(text[n - 1], sizeof text[n - 1], "a");
    len[n - 1] = strlen(text[n - 1]);
    const struct {
        const char *key;
        int what;
    } arrays[] = {{"tokenizer.ggml.tokens", 0}, {"tokenizer.ggml.scores", 1}, {"tokenizer.ggml.token_type", 2}};
    GEODEC_TRY(geodec_gguf_put_str(o->w, "tokenizer.ggml.model", o->s->tokenizer ? o->s->tokenizer : "llama", err));
    for (int i = 0; i < 3; i++) {
        if (o->s->skip && strcmp(o->s->skip, arrays[i].key) == 0) continue;
        const int32_t n_scores = o->s->n_scores ? o->s->n_scores : n;
        if (arrays[i].what == 0) GEODEC_TRY(geodec_gguf_put_str_array(o->w, arrays[i].key, piece, len, n, err));
        if (arrays[i].what == 1) GEODEC_TRY(geodec_gguf_put_f32_array(o->w, arrays[i].key, score, n_scores, err));
        if (arrays[i].what == 2) GEODEC_TRY(geodec_gguf_put_i32_array(o->w, arrays[i].key, type, n, err));
    }
done:
    geodec_mem_free(text);
    geodec_mem_free(piece);
    geodec_mem_free(len);
    geodec_mem_free(score);
    geodec_mem_free(type);
    return st;
}

static inline geodec_status synthetic_layer(synthetic_writer *o, int32_t layer)
{
    geodec_status st = GEODEC_OK;
    const synthetic *s = o->s;
    const int64_t d = s->d_model, dim = s->head_dim ? s->head_dim : s->d_model / s->n_head, f = s->d_ff;
    const int64_t experts = s->n_expert > 0 ? s->n_expert : 1;
    const char *const suffix = s->n_expert > 0 ? "_exps" : "";
    const struct {
        const char *name;
        const char *suffix;
        int type;
        int64_t cols, rows, count;
    } list[] = {
        {"attn_norm", "", GEODEC_GGML_F32, d, 1, 1},         {"attn_q", "", s->type, d, s->n_head * dim, 1},
        {"attn_k", "", s->type, d, s->n_kv_head * dim, 1},   {"attn_v", "", s->type, d, s->n_kv_head * dim, 1},
        {"attn_output", "", s->type, s->n_head * dim, d, 1}, {"ffn_norm", "", GEODEC_GGML_F32, d, 1, 1},
        {"ffn_gate", suffix, s->type, d, f, experts},        {"ffn_up", suffix, s->type, d, f, experts},
        {"ffn_down", suffix, s->type, f, d, experts},        {"ffn_gate_inp", "", GEODEC_GGML_F32, d, experts, 1},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list - (s->n_expert > 0 ? 0 : 1); i++) {
        char name[80];
        (void)snprintf(name, sizeof name, "blk.%d.%s%s.weight", layer, list[i].name, list[i].suffix);
        st = synthetic_tensor(o, name, list[i].type, list[i].cols, list[i].rows, list[i].count);
        if (st != GEODEC_OK) return st;
    }
    return st;
}

static inline geodec_status synthetic_write(const char *path, const synthetic *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    synthetic_writer o = {.s = s, .rng = geodec_rng_stream(s->seed, geodec_rng_id("synthetic model", 0)), .err = err};
    const int32_t dim = s->head_dim ? s->head_dim : s->d_model / s->n_head;
    const struct {
        const char *key;
        int32_t v;
    } keys[] = {
        {"llama.context_length", s->n_ctx},
        {"llama.embedding_length", s->d_model},
        {"llama.block_count", s->n_layer},
        {"llama.feed_forward_length", s->d_ff},
        {"llama.attention.head_count", s->n_head},
        {"llama.attention.head_count_kv", s->n_kv_head},
        {"llama.rope.dimension_count", s->rope_dim ? s->rope_dim : dim},
        {"llama.expert_count", s->n_expert},
        {"llama.expert_used_count", s->n_expert_used},
    };
    GEODEC_TRY(geodec_gguf_writer_create(path, &o.w, err));
    if (!s->skip || strcmp(s->skip, "general.architecture") != 0)
        GEODEC_TRY(geodec_gguf_put_str(o.w, "general.architecture", s->architecture ? s->architecture : "llama", err));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (i < 7 || s->n_expert) GEODEC_TRY(synthetic_u32(&o, keys[i].key, (uint32_t)keys[i].v));
    if (s->head_dim) {
        GEODEC_TRY(synthetic_u32(&o, "llama.attention.key_length", (uint32_t)dim));
        GEODEC_TRY(synthetic_u32(&o, "llama.attention.value_length", (uint32_t)dim));
    }
    if (s->bos_key) GEODEC_TRY(synthetic_u32(&o, "tokenizer.ggml.bos_token_id", (uint32_t)s->bos_key));
    if (s->vocab_key) GEODEC_TRY(synthetic_u32(&o, "llama.vocab_size", (uint32_t)s->vocab_key));
    if (!s->skip || strcmp(s->skip, "llama.attention.layer_norm_rms_epsilon") != 0)
        GEODEC_TRY(
            geodec_gguf_put_f32(o.w, "llama.attention.layer_norm_rms_epsilon", s->eps != 0 ? s->eps : 1e-5f, err));
    GEODEC_TRY(synthetic_vocab(&o));
    GEODEC_TRY(synthetic_tensor(&o, "token_embd.weight", s->type, s->d_model, s->n_vocab, 1));
    GEODEC_TRY(synthetic_tensor(&o, "output_norm.weight", GEODEC_GGML_F32, s->d_model, 1, 1));
    if (!s->tied) GEODEC_TRY(synthetic_tensor(&o, "output.weight", s->type, s->d_model, s->n_vocab, 1));
    for (int32_t i = 0; i < s->n_layer; i++) GEODEC_TRY(synthetic_layer(&o, i));
    if (s->extra) GEODEC_TRY(synthetic_tensor(&o, s->extra, GEODEC_GGML_F32, s->d_model, 1, 1));
    geodec_gguf_writer *w = o.w;
    o.w = NULL;
    GEODEC_TRY(geodec_gguf_writer_commit(w, err));
done:
    geodec_gguf_writer_abandon(o.w);
    return st;
}

#endif
