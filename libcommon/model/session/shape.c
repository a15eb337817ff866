#include "session/shape.h"

#include "base/mem.h"
#include "base/rng.h"
#include "gguf/quantize.h"
#include "session/shape_internal.h"
#include "tokenizer/vocab_train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table -------------------------------------------------------------------------------------------------- */

#define HEAD "/output(d,V) "
#define NORMS "attn_norm(d) ffn_norm(d) "
#define POST_NORMS "post_attention_norm(d) post_ffw_norm(d) "
#define ATTENTION "attn_q(d,H*h) attn_k(d,K*h) attn_v(d,K*h) attn_output(H*h,d) "
#define HEAD_NORMS "attn_q_norm(h) attn_k_norm(h) "
#define GATED "ffn_gate(d,f) ffn_up(d,f) ffn_down(f,d) "
#define SHARED(width) "ffn_gate_shexp(d," width ") ffn_up_shexp(d," width ") ffn_down_shexp(" width ",d) "
#define EXPERTS(width)                                                                                                 \
    "ffn_gate_inp(d,E) ffn_gate_exps(d," width ",E) ffn_up_exps(d," width ",E) ffn_down_exps(" width ",d,E) "

static const geodec_shape shapes[] = {
    {"smollm2-135m", "SmolLM2-135M", "llama", 30, "V=49152 C=8192 d=576 f=1536 H=9 K=3 h=64 r=64 base=1e5 eps=1e-5",
     NORMS ATTENTION GATED},
    {"llama-3.2-1b", "Llama-3.2-1B", "llama", 16,
     "V=128256 C=131072 d=2048 f=8192 H=32 K=8 h=64 r=64 base=5e5 eps=1e-5", "/rope_freqs(r/2) " NORMS ATTENTION GATED},
    {"llama-3.1-8b", "Llama-3.1-8B", "llama", 32,
     "V=128256 C=131072 d=4096 f=14336 H=32 K=8 h=128 r=128 base=5e5 eps=1e-5",
     HEAD "/rope_freqs(r/2) " NORMS ATTENTION GATED},
    /* llama.cpp asks for special tokens of a model whose name contains "Phi-3". */
    {"phi-3.5-mini", "Phi 3.5 mini", "phi3", 32,
     "V=32064 C=131072 d=3072 f=8192 H=32 K=32 h=96 r=96 base=1e4 eps=1e-5 window=262144 "
     "rope.scaling.original_context_length=4096 rope.scaling.attn_factor=1.1902381",
     HEAD "/rope_factors_long(r/2) /rope_factors_short(r/2) " NORMS
          "attn_qkv(d,3*d) attn_output(d,d) ffn_up(d,2*f) ffn_down(f,d)"},
    {"gemma-3-270m", "Gemma-3-270M", "gemma3", 18,
     "V=262144 C=32768 d=640 f=2048 H=4 K=1 h=256 base=1e6 eps=1e-6 window=512",
     NORMS POST_NORMS ATTENTION HEAD_NORMS GATED},
    {"gemma-3-1b", "Gemma-3-1B", "gemma3", 26,
     "V=262144 C=32768 d=1152 f=6912 H=4 K=1 h=256 base=1e6 eps=1e-6 window=512",
     NORMS POST_NORMS ATTENTION HEAD_NORMS GATED},
    {"gemma-4-e2b", "Gemma-4-E2B", "gemma4", 35,
     "V=262144 C=131072 d=1536 f=6144*15,12288* H=8 K=1 h=512 r=512 w=256*4,512 p=256 base=1e6 eps=1e-6 window=512 "
     "attention.key_length_swa=256 attention.value_length_swa=256 rope.dimension_count_swa=256 rope.freq_base_swa=1e4 "
     "attention.sliding_window_pattern=1*4,0 wide=+0*4,1 own=1*15,0* attention.shared_kv_layers=+0*15,1* "
     "final_logit_softcapping=30.0",
     "/per_layer_token_embd(p*L,V) /per_layer_model_proj(d,p*L) /per_layer_proj_norm(p) " NORMS POST_NORMS GATED
     "attn_q(d,H*w) attn_q_norm(w) attn_output(H*w,d) inp_gate(d,p) proj(p,d) post_norm(d) layer_output_scale(1) "
     "?own attn_k(d,K*w) attn_k_norm(w) attn_v(d,K*w) ?wide /rope_freqs(r/2)"},
    {"qwen3-4b", "Qwen3-4B", "qwen3", 36, "V=151936 C=40960 d=2560 f=9728 H=32 K=8 h=128 base=1e6 eps=1e-6",
     NORMS ATTENTION HEAD_NORMS GATED},
    {"gpt2-small", "GPT-2 small", "gpt2", 12, "V=50257 C=1024 d=768 f=3072 H=12 attention.layer_norm_epsilon=1e-5",
     "/output_norm.bias(d) /position_embd(d,C) " NORMS "attn_norm.bias(d) ffn_norm.bias(d) attn_qkv(d,3*d) "
     "attn_qkv.bias(3*d) attn_output(d,d) attn_output.bias(d) ffn_up(d,f) ffn_up.bias(f) ffn_down(f,d) "
     "ffn_down.bias(d)"},
    {"olmoe-1b-7b", "OLMoE-1B-7B", "olmoe", 16,
     "V=50304 C=4096 d=2048 f=1024 H=16 K=16 h=128 r=128 E=64 used=8 base=1e4 eps=1e-5",
     HEAD NORMS ATTENTION "attn_q_norm(d) attn_k_norm(d) " EXPERTS("f")},
    {"gpt-oss-20b", "gpt-oss-20b", "gpt-oss", 24,
     "V=201088 C=131072 d=2880 f=2880 H=64 K=8 h=64 E=32 e=2880 used=4 base=150000.0 eps=1e-5 window=128 "
     "rope.scaling.type=yarn rope.scaling.factor=32.0 rope.scaling.original_context_length=4096",
     HEAD ATTENTION EXPERTS("e") "attn_norm(d) post_attention_norm(d) attn_q.bias(H*h) attn_k.bias(K*h) "
                                 "attn_v.bias(K*h) attn_output.bias(d) "
                                 "attn_sinks(H) ffn_gate_inp.bias(E) ffn_gate_exps.bias(e,E) ffn_up_exps.bias(e,E) "
                                 "ffn_down_exps.bias(d,E)"},
    {"qwen3-30b-a3b", "Qwen3-30B-A3B", "qwen3moe", 48,
     "V=151936 C=40960 d=2048 f=6144 H=32 K=4 h=128 E=128 e=768 used=8 base=1e6 eps=1e-6",
     HEAD NORMS ATTENTION HEAD_NORMS EXPERTS("e")},
    /* A rank of 0 is not in published files; without it llama.cpp takes models of other numbers of layers for ones
     * with a rank. */
    {"deepseek-v2-lite", "DeepSeek-V2-Lite", "deepseek2", 27,
     "V=102400 C=163840 d=2048 f=10944 H=16 K=1 r=64 E=64 e=1408 used=6 base=1e4 eps=1e-6 dense=1,0* mixed=0,1* "
     "attention.q_lora_rank=0 attention.kv_lora_rank=512 attention.key_length=576 attention.value_length=512 still=128 "
     "attention.key_length_mla=192 attention.value_length_mla=128 leading_dense_block_count=1 expert_shared_count=2 "
     "expert_weights_scale=1.0 expert_gating_func=1 rope.scaling.type=yarn rope.scaling.factor=40.0 "
     "rope.scaling.original_context_length=4096 rope.scaling.yarn_log_multiplier=0.0707",
     HEAD NORMS
     "attn_q(d,H*attention.key_length_mla) attn_kv_a_mqa(d,attention.key_length) "
     "attn_kv_a_norm(attention.kv_lora_rank) attn_k_b(still,attention.kv_lora_rank,H) "
     "attn_v_b(attention.kv_lora_rank,attention.value_length_mla,H) attn_output(H*attention.value_length_mla,d) "
     "?dense " GATED "?mixed " EXPERTS("e") SHARED("2*e")},
    {"qwen3-next-80b-a3b", "Qwen3-Next-80B-A3B", "qwen3next", 48,
     "V=151936 C=262144 d=2048 f=5120 H=16 K=2 h=256 r=64 E=512 e=512 s=512 used=10 base=1e7 eps=1e-6 k=2048 "
     "attends=0*3,1 recurs=1*3,0 full_attention_interval=4 ssm.conv_kernel=4 ssm.state_size=128 ssm.group_count=16 "
     "ssm.time_step_rank=32 ssm.inner_size=4096",
     HEAD EXPERTS("e") SHARED(
         "s") "attn_norm(d) post_attention_norm(d) ffn_gate_inp_shexp(d) "
              "?attends attn_q(d,2*H*h) attn_k(d,K*h) attn_v(d,K*h) attn_output(H*h,d) " HEAD_NORMS
              "?recurs attn_qkv(d,4*k) attn_gate(d,2*k) ssm_conv1d(ssm.conv_kernel,4*k) ssm_ba(d,2*ssm.time_step_rank) "
              "ssm_dt.bias(ssm.time_step_rank) ssm_a.(ssm.time_step_rank) ssm_norm(ssm.state_size) ssm_out(2*k,d)"},
};

const geodec_shape *geodec_shape_at(int i)
{
    return i >= 0 && i < (int)(sizeof shapes / sizeof *shapes) ? &shapes[i] : NULL;
}

const geodec_shape *geodec_shape_named(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(shapes[i].name, name) == 0) return &shapes[i];
    return NULL;
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

enum { NAME = 96, MOST_LAYERS = 1024 };

/* A stretch of a row's text. */
typedef struct span {
    const char *at;
    size_t n;
} span;

static bool same(span s, const char *text) { return strncmp(s.at, text, s.n) == 0 && text[s.n] == '\0'; }

/* The next word of *text, which moves behind it; empty at the end. */
static span next_word(const char **text)
{
    const char *at = *text + strspn(*text, " ");
    const span word = {at, strcspn(at, " ")};
    *text = at + word.n;
    return word;
}

/* The last value of a name. */
static bool value_of(const geodec_shape *s, span name, span *out)
{
    bool found = false;
    const char *text = s->values;
    for (span w = next_word(&text); w.n; w = next_word(&text))
        if (w.n > name.n && w.at[name.n] == '=' && strncmp(w.at, name.at, name.n) == 0) {
            *out = (span){w.at + name.n + 1, w.n - name.n - 1};
            found = true;
        }
    return found;
}

/* Item `layer` of a list. */
static int64_t item_at(span list, int64_t layer)
{
    const char *const end = list.at + list.n;
    for (int64_t first = 0;;) { /* once more from its begin after the last item */
        const int64_t before = first;
        for (const char *at = list.at; at < end;) {
            char *next;
            const int64_t item = strtoll(at, &next, 10);
            int64_t count = 1;
            if (next < end && *next == '*') {
                const char *number = next + 1;
                count = strtoll(number, &next, 10);
                if (next == number || count < 1) count = INT64_MAX - first;
            }
            if (layer - first < count) return item;
            first += count;
            at = next < end && *next == ',' ? next + 1 : end;
        }
        if (first == before) return 0;
    }
}

/* The number of a value for a layer: an item, or the sum of those of all layers. */
static int64_t number_at(const geodec_shape *s, span value, int64_t layer)
{
    int64_t sum = 0;
    if (*value.at != '+') return item_at(value, layer);
    for (int64_t i = 0; i < s->n_layer; i++) sum += item_at((span){value.at + 1, value.n - 1}, i);
    return sum;
}

/* One number or one name for a layer. */
static geodec_status factor(const geodec_shape *s, span f, int64_t layer, int64_t *out, geodec_err *err)
{
    span value;
    *out = strtoll(f.at, NULL, 10);
    if (f.n && strspn(f.at, "0123456789") >= f.n) return GEODEC_OK;
    if (same(f, "L"))
        *out = s->n_layer;
    else if (value_of(s, f, &value))
        *out = number_at(s, value, layer);
    else
        GEODEC_FAIL(GEODEC_INVAL, "shape '%s': no value '%.*s'", s->name, (int)f.n, f.at);
    return GEODEC_OK;
}

/* A dimension: factors with '*' and '/' between, to the next comma or parenthesis, where *text then is. */
static geodec_status dimension(const geodec_shape *s, const char **text, int64_t layer, int64_t *out, geodec_err *err)
{
    char op = '*';
    *out = 1;
    for (;;) {
        const span f = {*text, strcspn(*text, "*/,) ")};
        int64_t v;
        GEODEC_PASS(factor(s, f, layer, &v, err));
        if (v < 1 || v > INT32_MAX || *out > INT64_MAX / INT32_MAX || (op == '/' && *out % v))
            GEODEC_FAIL(GEODEC_INVAL, "shape '%s': '%.*s' is %lld", s->name, (int)f.n, f.at, (long long)v);
        *out = op == '/' ? *out / v : *out * v;
        *text = f.at + f.n;
        op = **text;
        if (op != '*' && op != '/') return GEODEC_OK;
        ++*text;
    }
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

/* Short names of keys. */
static const struct {
    const char *name, *key[2];
} short_names[] = {
    {"V", {"vocab_size"}},
    {"C", {"context_length"}},
    {"d", {"embedding_length"}},
    {"f", {"feed_forward_length"}},
    {"H", {"attention.head_count"}},
    {"K", {"attention.head_count_kv"}},
    {"h", {"attention.key_length", "attention.value_length"}},
    {"r", {"rope.dimension_count"}},
    {"p", {"embedding_length_per_layer_input"}},
    {"E", {"expert_count"}},
    {"e", {"expert_feed_forward_length"}},
    {"s", {"expert_shared_feed_forward_length"}},
    {"used", {"expert_used_count"}},
    {"base", {"rope.freq_base"}},
    {"eps", {"attention.layer_norm_rms_epsilon"}},
    {"window", {"attention.sliding_window"}},
};

/* A whole number, a fraction (with a point or an exponent), a list, or a word. */
static geodec_status put_value(geodec_gguf_writer *w, const geodec_shape *s, const char *suffix, span value,
                               geodec_err *err)
{
    char key[2 * NAME], text[NAME], *end;
    int32_t each[MOST_LAYERS];
    (void)snprintf(key, sizeof key, "%s.%s", s->arch, suffix);
    (void)snprintf(text, sizeof text, "%.*s", (int)value.n, value.at);
    const double number = strtod(text, &end);
    if (*text == '+') return geodec_gguf_put_u32(w, key, (uint32_t)number_at(s, value, 0), err);
    if (end != text && strpbrk(text, ",*")) {
        for (int32_t i = 0; i < s->n_layer; i++) each[i] = (int32_t)item_at(value, i);
        return geodec_gguf_put_i32_array(w, key, each, s->n_layer, err);
    }
    if (*end) return geodec_gguf_put_str(w, key, text, err);
    if (strpbrk(text, ".e")) return geodec_gguf_put_f32(w, key, (float)number, err);
    return geodec_gguf_put_u32(w, key, (uint32_t)number, err);
}

static geodec_status put_keys(geodec_gguf_writer *w, const geodec_shape *s, const char *type, uint64_t seed,
                              geodec_err *err)
{
    char text[256], key[NAME];
    GEODEC_PASS(geodec_gguf_put_str(w, "general.architecture", s->arch, err));
    (void)snprintf(text, sizeof text, "%s shape, random weights (%s, seed %llu)", s->title, type,
                   (unsigned long long)seed);
    GEODEC_PASS(geodec_gguf_put_str(w, "general.name", text, err));
    (void)snprintf(text, sizeof text,
                   "Random weights and a made-up vocabulary in the shape of %s, for measurements of speed only: its "
                   "text means nothing and it is not that model.",
                   s->title);
    GEODEC_PASS(geodec_gguf_put_str(w, "general.description", text, err));
    (void)snprintf(key, sizeof key, "%s.block_count", s->arch);
    GEODEC_PASS(geodec_gguf_put_u32(w, key, (uint32_t)s->n_layer, err));
    const char *at = s->values;
    for (span word = next_word(&at), value; word.n; word = next_word(&at)) {
        const span name = {word.at, strcspn(word.at, "= ")};
        bool is_short = false;
        if (!value_of(s, name, &value)) GEODEC_FAIL(GEODEC_INVAL, "shape '%s': values '%.60s'", s->name, word.at);
        if (value.at != name.at + name.n + 1) continue; /* there is a later one */
        for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
            for (int k = 0; k < 2 && same(name, short_names[i].name); k++) {
                is_short = true;
                if (short_names[i].key[k]) GEODEC_PASS(put_value(w, s, short_names[i].key[k], value, err));
            }
        (void)snprintf(key, sizeof key, "%.*s", (int)name.n, name.at);
        if (!is_short && strpbrk(key, "._")) GEODEC_PASS(put_value(w, s, key, value, err));
    }
    return GEODEC_OK;
}

/* ---- vocabulary ------------------------------------------------------------------------------------------------- */

enum { PIECE = 12 };

/* Strings of letters, shorter ones first: "a" .. "z", "aa", "ba", ... Each longer one is a pair of earlier pieces, so
 * the tokenizer can merge into it. */
static void letters(int64_t i, char out[PIECE])
{
    int64_t count = 26;
    int n = 1;
    for (; i >= count; n++, count *= 26) i -= count;
    for (int k = 0; k < n; k++, i /= 26) out[k] = (char)('a' + i % 26);
    out[n] = '\0';
}

/* The pieces are the mark of a word's start, then strings of letters. */
static geodec_status put_vocabulary(geodec_gguf_writer *w, int32_t n_vocab, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t n = n_vocab - GEODEC_VOCAB_FIRST_PIECE;
    char(*text)[PIECE] = NULL;
    const char **piece = NULL;
    size_t *length = NULL;
    float *score = NULL;
    geodec_tokenizer *t = NULL;
    GEODEC_NEW_EACH(n, text, piece, length, score);
    for (int32_t i = 0; i < n; i++) {
        if (i == 0)
            (void)snprintf(text[i], PIECE, "\xe2\x96\x81");
        else
            letters(i - 1, text[i]);
        piece[i] = text[i];
        length[i] = strlen(text[i]);
        score[i] = i == 0 ? 0.0f : (float)(1 - i);
    }
    GEODEC_TRY(geodec_vocab_create(n, piece, length, score, &t, err));
    GEODEC_TRY(geodec_tokenizer_put(t, w, err));
done:
    geodec_tokenizer_destroy(t);
    GEODEC_FREE(text, piece, length, score);
    return st;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

/* Tensors that are not a recipe's matrices, by a part of their names; the first that fits counts. Vectors are float32
 * whatever their names. deviation 0: that of a matrix. */
static const struct {
    const char *part;
    int type;
    double mean, deviation;
} kinds[] = {
    {"ssm_dt.bias", GEODEC_GGML_F32, -4.6, 1.3}, /* steps of 0.001 to 0.1 behind softplus, as Mamba begins */
    {".bias", GEODEC_GGML_F32, 0, 0.02},
    {"norm.", GEODEC_GGML_F32, 1, 0.0577},
    {"layer_output_scale", GEODEC_GGML_F32, 1, 0.0577},
    {"ssm_a", GEODEC_GGML_F32, -8, 4}, /* uniform in -15 .. -1 */
    {"attn_sinks", GEODEC_GGML_F32, 0, 1},
    {"rope_f", GEODEC_GGML_F32, 4, 1.5}, /* divisors of frequencies: 1.4 .. 6.6 */
    {"ffn_gate_inp", GEODEC_GGML_F32, 0, 0},
    {"position_embd", GEODEC_GGML_F32, 0, 0},
    {"ssm_conv1d", GEODEC_GGML_F32, 0, 0},
    {"per_layer_model_proj", GEODEC_GGML_BF16, 0, 0},
};

typedef struct tensor {
    char name[NAME];
    int type, n_dims;
    int64_t dim[3];
    double mean, deviation;
} tensor;

static int64_t elements(const tensor *t) { return t->dim[0] * t->dim[1] * t->dim[2]; }

/* The recipe's facts, of the first layer. */
static geodec_quantize_facts facts_of(const geodec_shape *s)
{
    geodec_quantize_facts f = {.n_layer = s->n_layer, .tied = strstr(s->tensors, "/output(") == NULL};
    span v;
    if (value_of(s, (span){"E", 1}, &v)) f.n_expert = number_at(s, v, 0);
    if (value_of(s, (span){"K", 1}, &v)) f.heads_a_key = number_at(s, v, 0);
    if (f.heads_a_key > 0 && value_of(s, (span){"H", 1}, &v)) f.heads_a_key = number_at(s, v, 0) / f.heads_a_key;
    return f;
}

/* -1: no such type. */
static int type_of(const char *type, const geodec_quantize_facts *facts, const char *name, int64_t cols)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_named(type);
    if (!t || t->encode) return geodec_quantize_type(type, facts, name, cols);
    return cols % t->block ? GEODEC_GGML_F16 : t->type;
}

/* Type and distribution of a tensor with name and dimensions. */
static void settle(const geodec_shape *s, const char *type, tensor *t)
{
    const geodec_quantize_facts facts = facts_of(s);
    /* an embedding below the outputs of the layers would give all tokens of a context nearly the same state, and the
     * same experts */
    t->deviation = !facts.tied && strcmp(t->name, "token_embd.weight") == 0 ? 1 : 1 / sqrt((double)t->dim[0]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!strstr(t->name, kinds[i].part)) continue;
        t->type = kinds[i].type;
        t->mean = kinds[i].mean;
        if (kinds[i].deviation > 0) t->deviation = kinds[i].deviation;
        return;
    }
    t->type = t->n_dims == 1 ? GEODEC_GGML_F32 : type_of(type, &facts, t->name, t->dim[0]);
}

/* A word "name(dimension,dimension)" for a layer. */
static geodec_status read_tensor(const geodec_shape *s, span word, int64_t layer, const char *type, tensor *out,
                                 geodec_err *err)
{
    tensor t = {.dim = {1, 1, 1}};
    const bool outside = *word.at == '/';
    const char *name = word.at + outside, *at = name + strcspn(name, "( ");
    const int n = (int)(at - name) - (at > name && at[-1] == '.');
    const bool whole = memchr(name, '.', (size_t)(at - name)) != NULL;
    if (*at != '(' || n > NAME / 2) GEODEC_FAIL(GEODEC_INVAL, "shape '%s': tensors '%.60s'", s->name, word.at);
    if (outside)
        (void)snprintf(t.name, NAME, "%.*s%s", n, name, whole ? "" : ".weight");
    else
        (void)snprintf(t.name, NAME, "blk.%d.%.*s%s", (int)layer, n, name, whole ? "" : ".weight");
    do {
        if (t.n_dims == 3) GEODEC_FAIL(GEODEC_INVAL, "shape '%s': tensors '%.60s'", s->name, word.at);
        at++;
        GEODEC_PASS(dimension(s, &at, layer, &t.dim[t.n_dims++], err));
    } while (*at == ',');
    settle(s, type, &t);
    *out = t;
    return GEODEC_OK;
}

typedef geodec_status (*each_tensor)(void *ctx, const tensor *t, geodec_err *err);

/* All tensors in the file's order. */
static geodec_status walk(const geodec_shape *s, const char *type, each_tensor each, void *ctx, geodec_err *err)
{
    const char *const part[] = {"/token_embd(d,V) /output_norm(d)", s->tensors};
    for (int64_t layer = -1; layer < s->n_layer; layer++)
        for (int k = 0; k < 2; k++) {
            const char *at = part[k];
            int64_t there = 1;
            for (span w = next_word(&at); w.n; w = next_word(&at)) {
                tensor t;
                if (*w.at == '?') {
                    GEODEC_PASS(factor(s, (span){w.at + 1, w.n - 1}, layer < 0 ? 0 : layer, &there, err));
                } else if (there && (*w.at == '/') == (layer < 0)) {
                    GEODEC_PASS(read_tensor(s, w, layer < 0 ? 0 : layer, type, &t, err));
                    GEODEC_PASS(each(ctx, &t, err));
                }
            }
        }
    return GEODEC_OK;
}

static geodec_status count_weights(void *ctx, const tensor *t, geodec_err *err)
{
    (void)err;
    if (!strstr(t->name, "rope_f")) *(int64_t *)ctx += elements(t);
    return GEODEC_OK;
}

geodec_status geodec_shape_weights(const geodec_shape *s, int64_t *n, geodec_err *err)
{
    *n = 0;
    return walk(s, "f16", count_weights, n, err);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

enum { BUFFER = 4 << 20, TASK_GROUPS = 1024 };

/* A part of a tensor, filled by all threads. */
typedef struct piece {
    const tensor *t;
    geodec__random_blocks blocks;
    uint64_t seed, stream;
    int64_t first, n; /* groups */
    uint8_t *out;
} piece;

static void fill_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const piece *p = ctx;
    const int64_t begin = task * TASK_GROUPS, end = begin + TASK_GROUPS < p->n ? begin + TASK_GROUPS : p->n;
    for (int64_t i = begin; i < end; i++) {
        uint8_t *out = p->out + i * p->blocks.bytes;
        p->blocks.fill(p->blocks.type, p->seed, p->stream, p->first + i, p->t->deviation, out);
        if (p->t->mean == 0) continue;
        for (int k = 0; k < p->blocks.elements; k++) { /* float32 */
            float v;
            memcpy(&v, out + 4 * k, sizeof v);
            v += (float)p->t->mean;
            memcpy(out + 4 * k, &v, sizeof v);
        }
    }
}

typedef struct writing {
    geodec_gguf_writer *w;
    uint64_t seed;
    geodec_pool *pool;
    const geodec_hooks *hooks;
    uint8_t *buffer;
    int64_t done, n;
} writing;

static geodec_status plan_tensor(void *ctx, const tensor *t, geodec_err *err)
{
    writing *to = ctx;
    to->n++;
    return geodec_gguf_plan_tensor(to->w, t->name, t->type, t->n_dims, t->dim, err);
}

static geodec_status stream_tensor(void *ctx, const tensor *t, geodec_err *err)
{
    writing *to = ctx;
    const geodec__random_blocks blocks = geodec__shape_random_blocks_of(t->type);
    const int64_t groups = (elements(t) + blocks.elements - 1) / blocks.elements;
    size_t left = geodec_ggml_bytes(blocks.type, elements(t)); /* the last group may be cut */
    piece p = {.t = t, .blocks = blocks, .seed = to->seed, .stream = geodec_rng_id(t->name, 0), .out = to->buffer};
    GEODEC_PASS(geodec_hooks_progress(to->hooks, "tensors", to->done++, to->n, err));
    for (; p.first < groups; p.first += p.n) {
        p.n = groups - p.first < BUFFER / blocks.bytes ? groups - p.first : BUFFER / blocks.bytes;
        const size_t whole = (size_t)(p.n * blocks.bytes), bytes = whole < left ? whole : left;
        geodec_pool_run_dynamic(to->pool, (p.n + TASK_GROUPS - 1) / TASK_GROUPS, fill_task, &p);
        GEODEC_PASS(geodec_gguf_stream(to->w, to->buffer, bytes, err));
        left -= bytes;
    }
    return GEODEC_OK;
}

static geodec_status check(const char *path, const geodec_shape *s, const char *type, int32_t *n_vocab, geodec_err *err)
{
    const char *slash = strrchr(path, '/');
    int64_t v;
    if (!strstr(slash ? slash + 1 : path, "random"))
        GEODEC_FAIL(GEODEC_INVAL, "%s: the name of a file with random weights must contain 'random'", path);
    if (type_of(type, &(geodec_quantize_facts){0}, "blk.0.attn_q.weight", 256) < 0)
        GEODEC_FAIL(GEODEC_NOTFOUND, "no random weights of type '%s'", type);
    GEODEC_PASS(factor(s, (span){"V", 1}, 0, &v, err));
    if (v <= GEODEC_VOCAB_FIRST_PIECE + 1 || v > INT32_MAX || s->n_layer < 1 || s->n_layer > MOST_LAYERS)
        GEODEC_FAIL(GEODEC_INVAL, "shape '%s': %lld tokens and %d layers", s->name, (long long)v, (int)s->n_layer);
    *n_vocab = (int32_t)v;
    return GEODEC_OK;
}

geodec_status geodec_shape_write(const char *path, const geodec_shape *s, const char *type, uint64_t seed,
                                 geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t n_vocab = 0;
    writing to = {.seed = seed, .pool = pool, .hooks = hooks};
    GEODEC_TRY(check(path, s, type, &n_vocab, err));
    GEODEC_NEW(to.buffer, BUFFER);
    GEODEC_TRY(geodec_gguf_writer_create(path, &to.w, err));
    GEODEC_TRY(put_keys(to.w, s, type, seed, err));
    GEODEC_TRY(put_vocabulary(to.w, n_vocab, err));
    GEODEC_TRY(walk(s, type, plan_tensor, &to, err));
    GEODEC_TRY(walk(s, type, stream_tensor, &to, err));
    st = geodec_gguf_writer_commit(to.w, err);
    to.w = NULL;
    GEODEC_TRY(st);
done:
    geodec_gguf_writer_abandon(to.w);
    GEODEC_FREE(to.buffer);
    return st;
}
