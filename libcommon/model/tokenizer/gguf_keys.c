#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <math.h>
#include <string.h>

static const char model_gemma4[] = "gemma4", model_plamo2[] = "plamo2";
static const char key_model[] = "tokenizer.ggml.model";
static const char key_pre[] = "tokenizer.ggml.pre";
static const char key_tokens[] = "tokenizer.ggml.tokens";
static const char key_scores[] = "tokenizer.ggml.scores";
static const char key_types[] = "tokenizer.ggml.token_type";
static const char key_merges[] = "tokenizer.ggml.merges";
static const char key_prefix[] = "tokenizer.ggml.add_space_prefix";
static const char key_add_bos[] = "tokenizer.ggml.add_bos_token";
static const char key_add_eos[] = "tokenizer.ggml.add_eos_token";
enum { BOS, EOS, UNK, EOT, EOM, N_SPECIAL };
static const char *const key_special[N_SPECIAL] = {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
                                                   "tokenizer.ggml.unknown_token_id", "tokenizer.ggml.eot_token_id",
                                                   "tokenizer.ggml.eom_token_id"};

static geodec_status require(const geodec_gguf *g, const char *key, geodec_err *err)
{
    if (geodec_gguf_has(g, key)) return GEODEC_OK;
    GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s' is missing", geodec_gguf_path(g), key);
}

/* 4294967295 means "none". Without a key SentencePiece has 1, 2, 0 if those tokens have the right type; others have
 * none. */
static geodec_status read_special(const geodec_gguf *g, bool spm, const int32_t *type, int32_t n,
                                  int32_t special[N_SPECIAL], geodec_err *err)
{
    static const int32_t usual[] = {[BOS] = 1, [EOS] = 2, [UNK] = 0};
    for (int k = 0; k < N_SPECIAL; k++) {
        const int32_t wanted = k == UNK ? GEODEC_TOKEN_UNKNOWN : GEODEC_TOKEN_CONTROL;
        special[k] = spm && k <= UNK && usual[k] < n && type[usual[k]] == wanted ? usual[k] : -1;
        if (!geodec_gguf_has(g, key_special[k])) continue;
        int64_t v;
        GEODEC_PASS(geodec_gguf_get_i64(g, key_special[k], &v, err));
        if (v == (int64_t)UINT32_MAX || v == -1) {
            special[k] = -1;
            continue;
        }
        if (v < 0 || v >= n)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %lld is outside the vocabulary of %d", geodec_gguf_path(g),
                        key_special[k], (long long)v, n);
        special[k] = (int32_t)v;
    }
    return GEODEC_OK;
}

static geodec_status read_strings(const geodec_gguf *g, const char *key, const char ***text, size_t **len, int64_t *n,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(require(g, key, err));
    GEODEC_TRY(geodec_gguf_array_length(g, key, n, err));
    GEODEC_NEW_EACH(*n, *text, *len);
    for (int64_t i = 0; i < *n; i++) GEODEC_TRY(geodec_gguf_array_str(g, key, i, &(*text)[i], &(*len)[i], err));
done:
    return st;
}

/* Whether the key has elements: an empty array is no array. */
static bool filled(const geodec_gguf *g, const char *key)
{
    int64_t n;
    return geodec_gguf_has(g, key) && (geodec_gguf_array_length(g, key, &n, NULL) != GEODEC_OK || n > 0);
}

/* Scores and types of the n tokens. A vocabulary with merges needs neither: scores that cannot be read are left out,
 * and tokens without a type are ordinary. Type 0 (undefined) is that of writers that knew none. */
static geodec_status read_numbers(const geodec_gguf *g, bool merges, int64_t n, float *score, int32_t *type,
                                  geodec_err *err)
{
    if (!merges && !filled(g, key_scores))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s' is missing", geodec_gguf_path(g), key_scores);
    if (!merges && !filled(g, key_types))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s' is missing", geodec_gguf_path(g), key_types);
    for (int64_t i = 0; i < n; i++) type[i] = GEODEC_TOKEN_NORMAL;
    if (!merges) {
        GEODEC_PASS(geodec_gguf_array_f32(g, key_scores, score, n, err));
    } else if (geodec_gguf_has(g, key_scores)) {
        bool known = geodec_gguf_array_f32(g, key_scores, score, n, NULL) == GEODEC_OK;
        for (int64_t i = 0; i < n; i++) known = known && isfinite(score[i]);
        if (!known) memset(score, 0, (size_t)n * sizeof *score);
    }
    if (filled(g, key_types)) GEODEC_PASS(geodec_gguf_array_i32(g, key_types, type, n, err));
    for (int64_t i = 0; i < n; i++)
        if (type[i] == 0) type[i] = GEODEC_TOKEN_NORMAL;
    return GEODEC_OK;
}

/* Phi-3's special tokens absorb the blanks after them; no key tells this, only the model's name. */
static geodec_status named_phi3(const geodec_gguf *g, bool *yes, geodec_err *err)
{
    const char *name = "";
    if (geodec_gguf_has(g, "general.name")) GEODEC_PASS(geodec_gguf_get_str(g, "general.name", &name, err));
    *yes = strcasestr(name, "phi-3") || strcasestr(name, "phi3");
    return GEODEC_OK;
}

/* Some files mark tokens that end a turn, or that delimit a hole to fill in, as ordinary or user-defined. Text must not
 * be able to write them, so they count as control tokens (as in llama.cpp). */
static void retype_control(const char *const *text, const size_t *len, int32_t *type, int64_t n)
{
    static const char *const control[] = {
        GEODEC__TURN_ENDS, "<|fim_prefix|>", "<fim-prefix>",  "<fim_prefix>", "<|fim_suffix|>", "<fim-suffix>",
        "<fim_suffix>",    "<|fim_middle|>", "<fim-middle>",  "<fim_middle>", "<|fim_pad|>",    "<fim-pad>",
        "<fim_pad>",       "<|fim_repo|>",   "<|repo_name|>", "<fim-repo>",   "<reponame>",     "<|file_sep|>",
        "<PRE>",           "<SUF>",          "<MID>",         "<PAD>",        "[PAD]",          "<REPO>"};
    bool gemma_tool = false;
    for (int64_t i = 0; i < n && !gemma_tool; i++)
        gemma_tool = len[i] == strlen(GEODEC__GEMMA_TOOL) && memcmp(text[i], GEODEC__GEMMA_TOOL, len[i]) == 0;
    for (int64_t i = 0; i < n; i++) {
        if (type[i] != GEODEC_TOKEN_NORMAL && type[i] != GEODEC_TOKEN_USER) continue;
        if (len[i] < 4 || len[i] > 32 || !strchr("<[_", text[i][0])) continue;
        if (gemma_tool && len[i] == 4 && memcmp(text[i], "</s>", 4) == 0) continue;
        if (geodec__vocabulary_lists(control, sizeof control / sizeof *control, text[i], len[i]))
            type[i] = GEODEC_TOKEN_CONTROL;
    }
}

/* The kind of vocabulary, and its defaults. In files of gemma 4 the model names the pre-tokenizer. */
static geodec_status read_kind(const geodec_gguf *g, geodec__vocabulary *v, geodec_err *err)
{
    const char *model;
    GEODEC_PASS(require(g, key_model, err));
    GEODEC_PASS(geodec_gguf_get_str(g, key_model, &model, err));
    if (strcmp(model, "llama") == 0) {
        v->add_bos = v->add_space_prefix = true;
        if (geodec_gguf_has(g, key_prefix)) GEODEC_PASS(geodec_gguf_get_bool(g, key_prefix, &v->add_space_prefix, err));
    } else if (strcmp(model, "gpt2") == 0) {
        v->pre = "default";
        if (geodec_gguf_has(g, key_pre)) GEODEC_PASS(geodec_gguf_get_str(g, key_pre, &v->pre, err));
    } else if (strcmp(model, model_gemma4) == 0) {
        v->pre = model_gemma4;
    } else if (strcmp(model, model_plamo2) == 0) {
        v->unigram = true;
    } else {
        GEODEC_FAIL(GEODEC_UNSUPPORTED,
                    "%s: key '%s': tokenizer '%.40s' is not supported ('llama', 'gpt2', '%s' and '%s' are)",
                    geodec_gguf_path(g), key_model, model, model_gemma4, model_plamo2);
    }
    if (v->pre) v->add_bos = geodec__pretoken_begins(v->pre);
    if (geodec_gguf_has(g, key_add_bos)) GEODEC_PASS(geodec_gguf_get_bool(g, key_add_bos, &v->add_bos, err));
    if (v->pre && geodec__pretoken_always_begins(v->pre)) v->add_bos = true;
    if (geodec_gguf_has(g, key_add_eos)) GEODEC_PASS(geodec_gguf_get_bool(g, key_add_eos, &v->add_eos, err));
    GEODEC_PASS(named_phi3(g, &v->strip_after, err));
    return GEODEC_OK;
}

/* Without merges text gives its characters only: a vocabulary with more pieces has lost them. */
static geodec_status check_unmerged(const geodec_gguf *g, const char *const *text, const size_t *len,
                                    const int32_t *type, int64_t n, geodec_err *err)
{
    for (int64_t i = 0; i < n; i++)
        if (type[i] == GEODEC_TOKEN_NORMAL && len[i] > 0 &&
            (size_t)geodec__encode_utf8((const unsigned char *)text[i], len[i]) != len[i])
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s' is empty, and token %lld is longer than a character",
                        geodec_gguf_path(g), key_merges, (long long)i);
    return GEODEC_OK;
}

geodec_status geodec_tokenizer_from_gguf(const geodec_gguf *g, geodec_tokenizer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__vocabulary v = {0};
    const char **text = NULL, **merge = NULL;
    size_t *len = NULL, *merge_len = NULL;
    float *score = NULL;
    int32_t *type = NULL, special[N_SPECIAL];
    int64_t n = 0;
    GEODEC_TRY(read_kind(g, &v, err));
    GEODEC_TRY(read_strings(g, key_tokens, &text, &len, &n, err));
    if (n < 1 || n > INT32_MAX)
        GEODEC_THROW(GEODEC_FORMAT, "%s: key '%s': a vocabulary of %lld", geodec_gguf_path(g), key_tokens,
                     (long long)n);
    GEODEC_NEW_EACH(n, score, type);
    GEODEC_TRY(read_numbers(g, v.pre != NULL, n, score, type, err));
    retype_control(text, len, type, n);
    GEODEC_TRY(read_special(g, !v.pre, type, (int32_t)n, special, err));
    if (v.pre) GEODEC_TRY(read_strings(g, key_merges, &merge, &merge_len, &v.n_merges, err));
    if (v.pre && v.n_merges == 0) GEODEC_TRY(check_unmerged(g, text, len, type, n, err));
    v.n = (int32_t)n;
    v.text = text;
    v.len = len;
    v.score = score;
    v.type = type;
    v.bos = special[BOS];
    v.eos = special[EOS];
    v.unk = special[UNK];
    v.other_end = special + EOT;
    v.merge = merge;
    v.merge_len = merge_len;
    GEODEC_TRY_MSG(geodec__tokenizer_create(&v, out, err), "%s", geodec_gguf_path(g));
done:
    GEODEC_FREE(text, len, merge, merge_len, score, type);
    return st;
}

static geodec_status put_merges(const geodec_tokenizer *t, geodec_gguf_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = geodec__bpe_merges(t->bpe);
    char one[2 * GEODEC__MAX_PIECE + 1], *all = NULL;
    const char **text = NULL;
    size_t *len = NULL, total = 0;
    for (int64_t i = 0; i < n; i++) total += geodec__bpe_merge_text(t, i, one);
    GEODEC_NEW(all, total);
    GEODEC_NEW_EACH(n, text, len);
    total = 0;
    for (int64_t i = 0; i < n; i++) {
        text[i] = all + total;
        len[i] = geodec__bpe_merge_text(t, i, all + total);
        total += len[i];
    }
    GEODEC_TRY(geodec_gguf_put_str(w, key_pre, geodec__pretoken_name(t->pre), err));
    GEODEC_TRY(geodec_gguf_put_str_array(w, key_merges, text, len, n, err));
done:
    GEODEC_FREE(all, text, len);
    return st;
}

static const char *model_of(const geodec_tokenizer *t)
{
    if (t->unigram) return model_plamo2;
    if (!t->bpe) return "llama";
    return strcmp(geodec__pretoken_name(t->pre), model_gemma4) == 0 ? model_gemma4 : "gpt2";
}

geodec_status geodec_tokenizer_put(const geodec_tokenizer *t, geodec_gguf_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char **text = NULL;
    size_t *len = NULL;
    const int32_t special[N_SPECIAL] = {t->bos, t->eos, t->unk, t->other_end[0], t->other_end[1]};
    GEODEC_NEW_EACH(t->n, text, len);
    for (int32_t i = 0; i < t->n; i++) {
        text[i] = t->bytes + t->at[i];
        len[i] = (size_t)t->length[i];
    }
    GEODEC_TRY(geodec_gguf_put_str(w, key_model, model_of(t), err));
    GEODEC_TRY(geodec_gguf_put_str_array(w, key_tokens, text, len, t->n, err));
    GEODEC_TRY(geodec_gguf_put_f32_array(w, key_scores, t->score, t->n, err));
    GEODEC_TRY(geodec_gguf_put_i32_array(w, key_types, t->type, t->n, err));
    if (t->bpe) GEODEC_TRY(put_merges(t, w, err));
    for (int k = 0; k < N_SPECIAL; k++)
        if (k <= UNK || special[k] >= 0) GEODEC_TRY(geodec_gguf_put_u32(w, key_special[k], (uint32_t)special[k], err));
    if (t->bpe || t->unigram || !t->add_bos) GEODEC_TRY(geodec_gguf_put_bool(w, key_add_bos, t->add_bos, err));
    if (t->add_eos) GEODEC_TRY(geodec_gguf_put_bool(w, key_add_eos, t->add_eos, err));
    if (!t->bpe && !t->unigram) GEODEC_TRY(geodec_gguf_put_bool(w, key_prefix, t->add_space_prefix, err));
done:
    GEODEC_FREE(text, len);
    return st;
}
