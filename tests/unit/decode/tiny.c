#include "decode/tiny.h"

#include "base/mem.h"
#include "base/rng.h"
#include "gguf/gguf.h"
#include "support/support.h"
#include "tokenizer/tokenizer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { D = 24, HEADS = 4, KV_HEADS = 2, FF = 40, LAYERS = 2 };

static void put_matrix(geodec_gguf_writer *w, const char *name, int64_t in, int64_t out, double scale, geodec_rng *r)
{
    geodec_err err = {0};
    const int64_t dim[] = {in, out};
    float *x = geodec_mem_new(in * out, sizeof *x);
    for (int64_t i = 0; i < in * out; i++) x[i] = (float)(scale * geodec_rng_normal(r));
    test_ok(geodec_gguf_put_tensor(w, name, GEODEC_GGML_F32, 2, dim, x, &err), &err);
    geodec_mem_free(x);
}

static void put_ones(geodec_gguf_writer *w, const char *name)
{
    geodec_err err = {0};
    const int64_t dim[] = {D};
    float x[D];
    for (int i = 0; i < D; i++) x[i] = 1;
    test_ok(geodec_gguf_put_tensor(w, name, GEODEC_GGML_F32, 1, dim, x, &err), &err);
}

static void put_tokenizer(geodec_gguf_writer *w)
{
    geodec_err err = {0};
    static char piece[TINY_VOCAB][8];
    const char *text[TINY_VOCAB];
    size_t length[TINY_VOCAB];
    float score[TINY_VOCAB];
    int32_t type[TINY_VOCAB];
    geodec_tokenizer *t = NULL;
    for (int i = 0; i < TINY_VOCAB; i++) {
        const char *special[] = {"<unk>", "<s>", "</s>", "\xe2\x96\x81"};
        if (i < 4)
            snprintf(piece[i], sizeof piece[i], "%s", special[i]);
        else
            snprintf(piece[i], sizeof piece[i], "%c", i < 30 ? 'a' + i - 4 : 'A' + i - 30);
        text[i] = piece[i];
        length[i] = strlen(piece[i]);
        score[i] = (float)-i;
        type[i] = i == 0 ? GEODEC_TOKEN_UNKNOWN : i < 3 ? GEODEC_TOKEN_CONTROL : GEODEC_TOKEN_NORMAL;
    }
    test_ok(geodec_tokenizer_create(TINY_VOCAB, text, length, score, type, 1, 2, 0, &t, &err), &err);
    test_ok(geodec_tokenizer_put(t, w, &err), &err);
    geodec_tokenizer_destroy(t);
}

const char *tiny_model(const char *name, uint64_t seed)
{
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    const char *path = test_tmp(name);
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("tiny", 0));
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_gguf_put_str(w, "general.architecture", "llama", &err), &err);
    test_ok(geodec_gguf_put_str(w, "general.name", "tiny", &err), &err);
    const struct {
        const char *key;
        uint32_t value;
    } keys[] = {{"llama.context_length", TINY_CTX},
                {"llama.embedding_length", D},
                {"llama.block_count", LAYERS},
                {"llama.feed_forward_length", FF},
                {"llama.attention.head_count", HEADS},
                {"llama.attention.head_count_kv", KV_HEADS},
                {"llama.rope.dimension_count", D / HEADS}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        test_ok(geodec_gguf_put_u32(w, keys[i].key, keys[i].value, &err), &err);
    test_ok(geodec_gguf_put_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5f, &err), &err);
    put_tokenizer(w);
    put_matrix(w, "token_embd.weight", D, TINY_VOCAB, 1.0, &r);
    for (int l = 0; l < LAYERS; l++) {
        char tensor[64];
        const struct {
            const char *name;
            int64_t in, out;
        } m[] = {{"attn_q", D, D},
                 {"attn_k", D, D * KV_HEADS / HEADS},
                 {"attn_v", D, D * KV_HEADS / HEADS},
                 {"attn_output", D, D},
                 {"ffn_gate", D, FF},
                 {"ffn_up", D, FF},
                 {"ffn_down", FF, D}};
        for (size_t i = 0; i < sizeof m / sizeof *m; i++) {
            snprintf(tensor, sizeof tensor, "blk.%d.%s.weight", l, m[i].name);
            put_matrix(w, tensor, m[i].in, m[i].out, 1.5 / sqrt((double)m[i].in), &r);
        }
        snprintf(tensor, sizeof tensor, "blk.%d.attn_norm.weight", l);
        put_ones(w, tensor);
        snprintf(tensor, sizeof tensor, "blk.%d.ffn_norm.weight", l);
        put_ones(w, tensor);
    }
    put_ones(w, "output_norm.weight");
    put_matrix(w, "output.weight", D, TINY_VOCAB, 0.5, &r);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    return path;
}
