#include "base/mem.h"
#include "gguf/quantize_internal.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Every type that has an encoder, and the mixes of llama.cpp; q4_k and q5_k are mixes too. */
#define RECIPE_READ_ONLY(NAME, name, file)
#define RECIPE_PLAIN(NAME, name, file) {#name, GEODEC_GGML_##NAME, file},
#define RECIPE_SEARCHED(NAME, name, file) {#name, GEODEC_GGML_##NAME, file},
#define RECIPE(X, NAME, name, number, block, bytes, codec, limit, instead, file, ...) RECIPE_##codec(NAME, name, file)
static const geodec__recipe recipes[] = {
    GEODEC_TENSOR_TYPES(RECIPE, ) /* a new mix is named in GEODEC_QUANTIZE_CHOICES too */
    {"q4_k_s", GEODEC_GGML_Q4_K, 14},
    {"q4_k_m", GEODEC_GGML_Q4_K, 15},
    {"q5_k_s", GEODEC_GGML_Q5_K, 16},
    {"q5_k_m", GEODEC_GGML_Q5_K, 17},
};

const char *geodec_quantize_recipes(void) { return GEODEC_QUANTIZE_CHOICES; }

const geodec__recipe *geodec__quantize_recipe_named(const char *name)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        if (strcmp(recipes[i].name, name) == 0) return &recipes[i];
    return NULL;
}

/* ---- the mixes -------------------------------------------------------------------------------------------------- */

static int layer_of(const char *name)
{
    int layer = -1;
    return sscanf(name, "blk.%7d.", &layer) == 1 ? layer : -1;
}

/* A number of the architecture; 0 when the file has no such key. */
static int64_t number_of(const geodec_gguf *g, const char *name)
{
    const char *arch;
    char key[128];
    int64_t n;
    if (geodec_gguf_get_str(g, "general.architecture", &arch, NULL) != GEODEC_OK) return 0;
    (void)snprintf(key, sizeof key, "%.80s.%s", arch, name);
    return geodec_gguf_get_i64(g, key, &n, NULL) == GEODEC_OK ? n : 0;
}

static geodec_quantize_facts facts_of(const geodec_gguf *g)
{
    geodec_quantize_facts f = {.n_expert = number_of(g, "expert_count"),
                               .tied = geodec_gguf_find(g, "output.weight") == NULL};
    const int64_t shared = number_of(g, "attention.head_count_kv");
    f.heads_a_key = shared > 0 ? number_of(g, "attention.head_count") / shared : 1;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        const int layer = layer_of(t->name);
        if (layer + 1 > f.n_layer) f.n_layer = layer + 1;
        if (strstr(t->name, "_exps.") && t->dim[2] > f.n_expert) f.n_expert = t->dim[2];
    }
    return f;
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Matrices of linear maps and embeddings. Other tensors keep their type: they are small, and errors in them cost
 * most. */
static bool is_matrix(const geodec_gguf_tensor *t)
{
    static const char *const keep[] = {
        "_norm.", "ffn_gate_inp", "position_embd", "token_types",    "ssm_conv1d",          "altup",
        "laurel", "time_mix_",    "expert_place",  "shortconv.conv", "per_layer_model_proj"};
    if (t->dim[1] * t->dim[2] * t->dim[3] == 1 || !ends_with(t->name, ".weight")) return false;
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
        if (strstr(t->name, keep[i])) return false;
    return true;
}

/* The first and last eighth of the layers, and every third between. */
static bool more_bits(int layer, int n) { return layer < n / 8 || layer >= 7 * n / 8 || (layer - n / 8) % 3 == 2; }

/* All experts of a matrix in one tensor, or one of them: blk.3.ffn_up.7.weight. */
static bool is_expert(const char *name)
{
    int layer, expert, end = 0;
    return strstr(name, "_exps.") || (sscanf(name, "blk.%7d.ffn_%*[a-z].%7d%n", &layer, &expert, &end) == 2 && end > 0);
}

/* Matrices of MXFP4 are experts; in a model without experts, all but the output. */
static int mxfp4_type(const geodec_quantize_facts *f, const char *name)
{
    const bool output = strcmp(name, "output.weight") == 0 || (f->tied && strcmp(name, "token_embd.weight") == 0);
    return output || (f->n_expert > 0 && !is_expert(name)) ? GEODEC_GGML_Q8_0 : GEODEC_GGML_MXFP4;
}

/* llama.cpp's rules (llama_tensor_get_type) for the recipes above. */
static int mixed_type(const geodec__recipe *r, const geodec_quantize_facts *f, const char *name, int64_t cols)
{
    const bool medium = ends_with(r->name, "_m") || ends_with(r->name, "_k"), small = ends_with(r->name, "_s");
    const int layer = layer_of(name), block = geodec_ggml_traits_of(r->type)->block;
    const bool embedding = strcmp(name, "token_embd.weight") == 0;
    const bool q4 = r->type == GEODEC_GGML_Q4_K, q5 = r->type == GEODEC_GGML_Q5_K, iq4 = r->type == GEODEC_GGML_IQ4_XS;
    if (block == 1) return r->type;
    if (r->type == GEODEC_GGML_MXFP4) return mxfp4_type(f, name);
    if (strcmp(name, "output.weight") == 0 || (f->tied && embedding))
        return cols % block || r->type == GEODEC_GGML_Q8_0 ? GEODEC_GGML_Q8_0 : GEODEC_GGML_Q6_K;
    const bool ternary = r->type == GEODEC_GGML_TQ1_0 || r->type == GEODEC_GGML_TQ2_0;
    if (embedding) return ternary ? GEODEC_GGML_Q4_K : r->type;
    if (f->n_expert == 8) { /* small compared with the experts */
        if (strstr(name, "attn_v.") || strstr(name, "attn_k.")) return GEODEC_GGML_Q8_0;
        if (strstr(name, "attn_output.") && (q4 || iq4)) return GEODEC_GGML_Q5_K;
    }
    if (strstr(name, "attn_qkv.") && medium && (q4 || q5)) return q4 ? GEODEC_GGML_Q5_K : GEODEC_GGML_Q6_K;
    if (strstr(name, "attn_v.") || strstr(name, "ffn_down")) {
        const bool down = strstr(name, "ffn_down") != NULL;
        if (medium && (q4 || q5) && more_bits(layer, f->n_layer)) return GEODEC_GGML_Q6_K;
        if (small && q4 && layer < (down ? f->n_layer / 8 : 4)) return GEODEC_GGML_Q5_K;
        if (iq4 && (down ? layer < f->n_layer / 8 : f->heads_a_key >= 4)) return GEODEC_GGML_Q5_K;
    }
    return r->type;
}

/* A type whose block divides the rows. */
static int fallback(int type, int64_t cols)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type), *other = geodec_ggml_traits_of(t->instead);
    return cols % t->block == 0 ? type : cols % other->block == 0 ? other->type : GEODEC_GGML_F16;
}

int geodec_quantize_type(const char *recipe, const geodec_quantize_facts *f, const char *name, int64_t cols)
{
    const geodec__recipe *r = geodec__quantize_recipe_named(recipe);
    return r ? fallback(mixed_type(r, f, name, cols), cols) : -1;
}

/* ---- overrides -------------------------------------------------------------------------------------------------- */

typedef struct rule {
    char *pattern; /* inside the copy of the text */
    int type;
    bool used;
} rule;

/* Cuts the text at commas; the caller frees *text and *rule. */
static geodec_status parse_rules(const char *overrides, char **text, rule **rules, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t count = 1;
    *n = 0;
    if (!overrides || !*overrides) goto done;
    for (const char *p = overrides; *p; p++) count += *p == ',';
    GEODEC_STRDUP(*text, overrides);
    GEODEC_NEW(*rules, count);
    for (char *p = *text, *next; p; p = next) {
        next = strchr(p, ',');
        if (next) *next++ = 0;
        char *equals = strrchr(p, '=');
        if (!equals || equals == p) GEODEC_THROW(GEODEC_INVAL, "override '%.60s' is not PATTERN=TYPE", p);
        *equals = 0;
        const geodec_ggml_traits *wanted = geodec_ggml_traits_named(equals + 1);
        if (!wanted || !wanted->encode)
            GEODEC_THROW(GEODEC_INVAL, "override '%.60s': type '%.20s' cannot be written", p, equals + 1);
        (*rules)[(*n)++] = (rule){p, wanted->type, false};
    }
done:
    return st;
}

geodec_status geodec__quantize_recipe_types(const geodec_gguf *g, const geodec__recipe *r,
                                            const geodec_quantize_options *o, int *type, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_quantize_facts f = facts_of(g);
    char *text = NULL;
    rule *rules = NULL;
    int64_t n_rules = 0;
    GEODEC_TRY(parse_rules(o->overrides, &text, &rules, &n_rules, err));
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        type[i] = t->type;
        if (r && is_matrix(t) && geodec_gguf_elements(t) > 0)
            type[i] = fallback(o->pure ? r->type : mixed_type(r, &f, t->name, t->dim[0]), t->dim[0]);
        for (int64_t k = 0; k < n_rules; k++) {
            if (fnmatch(rules[k].pattern, t->name, 0) != 0) continue;
            const geodec_ggml_traits *wanted = geodec_ggml_traits_of(rules[k].type);
            if (t->dim[0] % wanted->block)
                GEODEC_THROW(GEODEC_INVAL, "tensor '%s': rows of %lld are not a multiple of the %s block of %d",
                             t->name, (long long)t->dim[0], wanted->name, wanted->block);
            type[i] = rules[k].type;
            rules[k].used = true;
            break;
        }
    }
    for (int64_t k = 0; k < n_rules; k++)
        if (!rules[k].used) GEODEC_THROW(GEODEC_INVAL, "override '%.60s' matches no tensor", rules[k].pattern);
done:
    GEODEC_FREE(rules, text);
    return st;
}
