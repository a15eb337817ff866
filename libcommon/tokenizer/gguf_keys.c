#include "base/mem.h"
#include "tokenizer/internal.h"

#include <string.h>

static const char key_model[] = "tokenizer.ggml.model";
static const char key_tokens[] = "tokenizer.ggml.tokens";
static const char key_scores[] = "tokenizer.ggml.scores";
static const char key_types[] = "tokenizer.ggml.token_type";
static const char key_prefix[] = "tokenizer.ggml.add_space_prefix";
static const char *const key_special[3] = {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                                           "tokenizer.ggml.unknown_token_id"};

static geodec_status require(const geodec_gguf *g, const char *key, geodec_err *err)
{
    if (geodec_gguf_has(g, key)) return GEODEC_OK;
    return geodec_err_set(err, GEODEC_FORMAT, __func__, __LINE__, "%s: key '%s' is missing", geodec_gguf_path(g), key);
}

/* 4294967295 says "none". Without a key: 1, 2, 0 as SentencePiece has them, where those tokens have the right type. */
static geodec_status read_special(const geodec_gguf *g, const int32_t *type, int32_t n, int32_t special[3],
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const int32_t usual[3] = {1, 2, 0};
    for (int k = 0; k < 3; k++) {
        const int32_t wanted = k == 2 ? GEODEC_TOKEN_UNKNOWN : GEODEC_TOKEN_CONTROL;
        special[k] = usual[k] < n && type[usual[k]] == wanted ? usual[k] : -1;
        if (!geodec_gguf_has(g, key_special[k])) continue;
        int64_t v;
        GEODEC_TRY(geodec_gguf_get_i64(g, key_special[k], &v, err));
        if (v == (int64_t)UINT32_MAX || v == -1) {
            special[k] = -1;
            continue;
        }
        if (v < 0 || v >= n)
            GEODEC_THROW(GEODEC_FORMAT, "%s: key '%s': %lld is outside the vocabulary of %d", geodec_gguf_path(g),
                         key_special[k], (long long)v, n);
        special[k] = (int32_t)v;
    }
done:
    return st;
}

geodec_status geodec_tokenizer_from_gguf(const geodec_gguf *g, geodec_tokenizer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char **text = NULL;
    size_t *len = NULL;
    float *score = NULL;
    int32_t *type = NULL;
    const char *model;
    int64_t n;
    int32_t special[3];
    bool prefix = true;
    GEODEC_TRY(require(g, key_model, err));
    GEODEC_TRY(geodec_gguf_get_str(g, key_model, &model, err));
    if (strcmp(model, "llama") != 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: key '%s': tokenizer '%.40s' is not supported ('llama' is)",
                     geodec_gguf_path(g), key_model, model);
    GEODEC_TRY(require(g, key_tokens, err));
    GEODEC_TRY(require(g, key_scores, err));
    GEODEC_TRY(require(g, key_types, err));
    GEODEC_TRY(geodec_gguf_array_length(g, key_tokens, &n, err));
    if (n < 1 || n > INT32_MAX)
        GEODEC_THROW(GEODEC_FORMAT, "%s: key '%s': a vocabulary of %lld", geodec_gguf_path(g), key_tokens,
                     (long long)n);
    GEODEC_NEW(text, n);
    GEODEC_NEW(len, n);
    GEODEC_NEW(score, n);
    GEODEC_NEW(type, n);
    for (int64_t i = 0; i < n; i++) GEODEC_TRY(geodec_gguf_array_str(g, key_tokens, i, &text[i], &len[i], err));
    GEODEC_TRY(geodec_gguf_array_f32(g, key_scores, score, n, err));
    GEODEC_TRY(geodec_gguf_array_i32(g, key_types, type, n, err));
    GEODEC_TRY(read_special(g, type, (int32_t)n, special, err));
    if (geodec_gguf_has(g, key_prefix)) GEODEC_TRY(geodec_gguf_get_bool(g, key_prefix, &prefix, err));
    GEODEC_TRY_MSG(geodec__tokenizer_create((int32_t)n, text, len, score, type, special, prefix, out, err), "%s",
                   geodec_gguf_path(g));
done:
    geodec_mem_free(text);
    geodec_mem_free(len);
    geodec_mem_free(score);
    geodec_mem_free(type);
    return st;
}

geodec_status geodec_tokenizer_put(const geodec_tokenizer *t, geodec_gguf_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char **text = NULL;
    size_t *len = NULL;
    const int32_t special[3] = {t->bos, t->eos, t->unk};
    GEODEC_NEW(text, t->n);
    GEODEC_NEW(len, t->n);
    for (int32_t i = 0; i < t->n; i++) {
        text[i] = t->bytes + t->at[i];
        len[i] = (size_t)t->length[i];
    }
    GEODEC_TRY(geodec_gguf_put_str(w, key_model, "llama", err));
    GEODEC_TRY(geodec_gguf_put_str_array(w, key_tokens, text, len, t->n, err));
    GEODEC_TRY(geodec_gguf_put_f32_array(w, key_scores, t->score, t->n, err));
    GEODEC_TRY(geodec_gguf_put_i32_array(w, key_types, t->type, t->n, err));
    for (int k = 0; k < 3; k++) GEODEC_TRY(geodec_gguf_put_u32(w, key_special[k], (uint32_t)special[k], err));
    GEODEC_TRY(geodec_gguf_put_bool(w, key_prefix, t->add_space_prefix, err));
done:
    geodec_mem_free(text);
    geodec_mem_free(len);
    return st;
}
