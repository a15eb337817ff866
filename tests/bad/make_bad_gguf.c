/* make_bad_gguf FOLDER: writes FOLDER/good.gguf, a model made by the library, and one damaged copy of it for each case.
 *
 * Two sorts of damage: raw bytes changed in the good file, and models written with a wrong key, tensor or vocabulary.
 */
#include "session/families.h"

#include <stdbool.h>
#include <stdlib.h>

static const synthetic small = {.n_layer = 2,
                                .d_model = 32,
                                .n_head = 4,
                                .n_kv_head = 2,
                                .d_ff = 48,
                                .n_vocab = 300,
                                .n_ctx = 64,
                                .type = GEODEC_GGML_F32,
                                .seed = 1};
static const char *folder;
static unsigned char *good, *copy; /* the good file, and a buffer for a damaged one */
static size_t size;

static void die(const char *what)
{
    (void)fprintf(stderr, "make_bad_gguf: %s\n", what);
    exit(1);
}

static const char *path_of(const char *name)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.gguf", folder, name);
    return path;
}

/* ---- wrong models --------------------------------------------------------------------------------------- */

static void write_model(const char *name, const synthetic *s)
{
    geodec_err err = {0};
    char line[512];
    if (synthetic_write(path_of(name), s, &err) != GEODEC_OK) die(geodec_err_line(&err, line, sizeof line));
}

#define MODEL(name, ...)                                                                                               \
    do {                                                                                                               \
        synthetic s = small;                                                                                           \
        __VA_ARGS__;                                                                                                   \
        write_model((name), &s);                                                                                       \
    } while (0)

static void wrong_models(void)
{
    MODEL("missing-architecture", s.skip = "general.architecture");
    MODEL("missing-context", s.skip = "llama.context_length");
    MODEL("missing-blocks", s.skip = "llama.block_count");
    MODEL("missing-width", s.skip = "llama.embedding_length");
    MODEL("missing-feed-forward", s.skip = "llama.feed_forward_length");
    MODEL("missing-heads", s.skip = "llama.attention.head_count");
    MODEL("missing-epsilon", s.skip = "llama.attention.layer_norm_rms_epsilon");
    MODEL("missing-tokens", s.skip = "tokenizer.ggml.tokens");
    MODEL("missing-scores", s.skip = "tokenizer.ggml.scores");
    MODEL("missing-types", s.skip = "tokenizer.ggml.token_type");
    MODEL("text-for-number", s.retype = "llama.block_count");
    MODEL("unknown-architecture", s.architecture = "rwkv7");
    MODEL("unknown-tokenizer", s.tokenizer = "bert");
    MODEL("missing-embedding", s.skip = "token_embd.weight");
    MODEL("missing-tensor", s.skip = "blk.1.ffn_up.weight");
    MODEL("missing-norm", s.skip = "blk.0.attn_norm.weight");
    MODEL("wrong-shape", s.resize = "blk.1.attn_k.weight");
    MODEL("wrong-norm-shape", s.resize = "output_norm.weight");
    MODEL("wrong-vocab-shape", s.resize = "token_embd.weight");
    MODEL("unexpected-tensor", s.extra = "blk.0.attn_q_norm.weight");
    MODEL("lonely-bias", s.extra = "blk.0.attn_q.bias");
    MODEL("vocab-size", s.vocab_key = 301);
    MODEL("few-scores", s.n_scores = 299);
    MODEL("nan-score", s.nan_score = true);
    MODEL("bad-byte-token", s.bad_byte = true);
    MODEL("twin-pieces", s.twin_piece = true);
    MODEL("bos-outside", s.bos_key = 300);
    MODEL("heads-do-not-divide", s.n_head = 5, s.n_kv_head = 5, s.rope_dim = 6);
    MODEL("kv-heads-do-not-divide", s.n_kv_head = 3);
    MODEL("odd-rope", s.rope_dim = 7);
    MODEL("wide-rope", s.rope_dim = 10);
    MODEL("negative-epsilon", s.eps = -1e-5f);
    MODEL("nan-epsilon", s.eps = NAN);
    MODEL("experts-used", s.n_expert = 3, s.n_expert_used = 4);
    MODEL("no-experts-used", s.n_expert = 3, s.n_expert_used = 0);
    MODEL("dense-for-experts", s.n_expert = 3, s.n_expert_used = 2, s.skip = "blk.0.ffn_gate_inp.weight");
}

/* The family of that name, damaged. */
#define FAMILY(name, of, ...)                                                                                          \
    do {                                                                                                               \
        synthetic s = family_named(of);                                                                                \
        __VA_ARGS__;                                                                                                   \
        write_model((name), &s);                                                                                       \
    } while (0)

static synthetic family_named(const char *name)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i].name, name) == 0) return families[i].s;
    die(name);
    return small;
}

static void wrong_families(void)
{
    static const char *const required[] = {"block_count",          "embedding_length",
                                           "context_length",       "feed_forward_length",
                                           "attention.head_count", "attention.layer_norm_rms_epsilon",
                                           "expert_count",         "expert_used_count"};
    static const char *const of[] = {"qwen2", "qwen3", "gemma2", "gemma3", "phi3-short", "qwen3moe", "olmoe"};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (size_t k = 0; k < sizeof required / sizeof *required; k++) {
            char key[80], name[120];
            const synthetic good_one = family_named(of[i]);
            if (k >= 6 && !good_one.n_expert) continue;
            if (strcmp(of[i], "qwen3moe") == 0 && k == 3) continue; /* one of two widths is enough */
            (void)snprintf(key, sizeof key, "%s.%s", good_one.arch, required[k]);
            (void)snprintf(name, sizeof name, "without-%s", key);
            FAMILY(name, of[i], s.skip = key);
        }
    FAMILY("no-query-bias", "qwen2", s.skip = "blk.1.attn_q.bias");
    FAMILY("no-key-norm", "qwen3", s.skip = "blk.0.attn_k_norm.weight");
    FAMILY("long-norm", "qwen3", s.resize = "blk.0.attn_q_norm.weight");
    FAMILY("no-post-norm", "gemma2", s.skip = "blk.3.post_ffw_norm.weight");
    FAMILY("no-head", "olmoe", s.tied = true);
    FAMILY("no-gate-half", "phi3-short", s.resize = "blk.0.ffn_up.weight");
    FAMILY("short-factors-alone", "phi3-short", s.skip = "rope_factors_long.weight");
    FAMILY("long-factors-alone", "phi3-short", s.skip = "rope_factors_short.weight");
    FAMILY("missing-expert", "mixtral-old", s.skip = "blk.1.ffn_up.3.weight");
    FAMILY("divisors-of-others", "qwen3", s.rope_freqs = true);
    FAMILY("yarn", "qwen2", s.rope_type = "yarn", s.rope_factor = 4);
    FAMILY("longrope-of-others", "qwen3", s.rope_type = "longrope");
    FAMILY("longrope-with-factor", "phi3-long", s.rope_type = "longrope", s.rope_factor = 32);
    FAMILY("sigmoid", "qwen3moe", s.gating = 2);
    FAMILY("shared-experts", "qwen3moe", s.number_key = "qwen3moe.expert_shared_count", s.number_value = 1);
    FAMILY("experts-of-a-dense", "qwen2", s.n_expert = 4, s.n_expert_used = 2);
    FAMILY("window-of-others", "qwen3", s.window = 8);
    FAMILY("pattern-without-window", "gemma3", s.window = 0, s.window_pattern = 6);
    FAMILY("cap-of-others", "gemma3", s.attn_softcap = 50);
    FAMILY("more-experts-than-there-are", "olmoe", s.n_expert_used = 17);
    FAMILY("no-shared-network", "deepseek", s.skip = "blk.1.ffn_up_shexp.weight");
    FAMILY("wrong-shared-network", "deepseek", s.resize = "blk.2.ffn_gate_shexp.weight");
    FAMILY("no-shared-factor", "qwen2moe", s.skip = "blk.0.ffn_gate_inp_shexp.weight");
    FAMILY("no-dense-width", "deepseek", s.skip = "deepseek.feed_forward_length");
    FAMILY("more-dense-layers-than-layers", "deepseek", s.n_dense = 0,
           s.number_key = "deepseek.leading_dense_block_count", s.number_value = 4);
    FAMILY("huge-shared-network", "deepseek", s.n_shared = 0, s.number_key = "deepseek.expert_shared_count",
           s.number_value = 1 << 12, s.d_ff = 1 << 9);
    FAMILY("no-expert-bias", "minimax-m2", s.skip = "blk.1.exp_probs_b.bias");
    FAMILY("other-gating", "dots1", s.gating = 4);
    FAMILY("unequal-groups", "bailingmoe2", s.n_group = 5);
    FAMILY("groups-of-one", "bailingmoe2", s.n_group = 12);
    FAMILY("no-open-groups", "bailingmoe2", s.n_group_used = 0);
    FAMILY("too-few-open-groups", "bailingmoe2", s.n_group_used = 1);
    FAMILY("only-predicted-layers", "glm4moe", s.n_next = 0, s.number_key = "glm4moe.nextn_predict_layers",
           s.number_value = 3);
    FAMILY("sections-of-others", "qwen3moe", s.sections[0] = 3, s.sections[1] = 3, s.sections[2] = 3);
    FAMILY("no-logit-scale", "granitemoe", s.logit_scale = 0);
    FAMILY("dense-layers-of-others", "olmoe", s.n_dense = 1);
    FAMILY("interleaved-layers-of-others", "olmoe", s.number_key = "olmoe.interleave_moe_layer_step",
           s.number_value = 2);
    FAMILY("predicted-layers", "qwen3", s.number_key = "qwen3.nextn_predict_layers", s.number_value = 1);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

static void write_bytes(const char *name, const unsigned char *data, size_t n)
{
    FILE *f = fopen(path_of(name), "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) die("cannot write");
}

static void cut(const char *name, size_t n) { write_bytes(name, good, n); }

/* Offset of the first byte after a name in the file. */
static size_t after(const char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 8; i + n <= size; i++) {
        uint64_t length;
        memcpy(&length, good + i - 8, sizeof length);
        if (length == n && memcmp(good + i, text, n) == 0) return i + n;
    }
    die(text);
    return 0;
}

static void patch(const char *name, size_t at, const void *bytes, size_t n)
{
    if (at + n > size) die("patch outside the file");
    memcpy(copy, good, size);
    memcpy(copy + at, bytes, n);
    write_bytes(name, copy, size);
}

static void patch_u32(const char *name, size_t at, uint32_t v) { patch(name, at, &v, sizeof v); }
static void patch_u64(const char *name, size_t at, uint64_t v) { patch(name, at, &v, sizeof v); }

/* A tensor's entry after its name: n_dims u32, dims u64 each, type u32, offset u64; the matrices here have two dims. */
enum { DIM0 = 4, DIM1 = 12, TYPE = 20, OFFSET = 24 };

static void wrong_bytes(void)
{
    const size_t key = after("llama.block_count"), tokens = after("tokenizer.ggml.tokens"),
                 q = after("blk.0.attn_q.weight");
    const size_t model = after("tokenizer.ggml.model"), scores = after("tokenizer.ggml.scores");
    const size_t norm = after("blk.0.attn_norm.weight");
    cut("empty", 0);
    cut("cut-in-magic", 3);
    cut("cut-in-header", 17);
    cut("cut-in-key-name", key - 5);
    cut("cut-in-value", key + 6);
    cut("cut-in-array", tokens + 60);
    cut("cut-in-tensor-table", q + 9);
    cut("cut-before-data", q + 2000);
    cut("cut-in-data", size / 2);
    cut("cut-in-last-tensor", size - 64);
    patch("bad-magic", 0, "GGML", 4);
    patch_u32("version-0", 4, 0);
    patch_u32("version-1", 4, 1);
    patch_u32("version-4", 4, 4);
    patch_u32("big-endian", 4, 0x03000000);
    patch_u64("huge-tensor-count", 8, UINT64_C(1) << 60);
    patch_u64("huge-key-count", 16, UINT64_C(1) << 60);
    patch_u64("more-tensors-than-there-are", 8, 40);
    patch_u64("huge-key-name", 24, UINT64_MAX);
    patch_u64("empty-key-name", 24, 0);
    patch_u64("huge-string", model + 4, UINT64_MAX - 3);
    patch_u64("huge-array", tokens + 8, UINT64_C(1) << 61);
    patch_u64("long-array", scores + 8, UINT64_C(1) << 33);
    patch_u64("huge-string-in-array", tokens + 16, UINT64_C(1) << 62);
    patch_u32("array-of-arrays", tokens + 4, 9);
    patch_u32("unknown-value-type", key, 99);
    patch_u32("unknown-element-type", tokens + 4, 99);
    patch("twin-keys", scores - 6, "tokens", 6);
    patch("small-alignment", key - 17, "general.alignment", 17); /* takes the block count's value, 2 */
    patch_u32("absurd-blocks", key + 4, 0x7fffffff);
    patch_u32("absurd-width", after("llama.embedding_length") + 4, 0x40000000);
    patch_u32("absurd-context", after("llama.context_length") + 4, 0xffffffff);
    patch_u32("many-blocks", key + 4, 1000);
    patch_u32("zero-heads", after("llama.attention.head_count") + 4, 0);
    patch("twin-tensors", after("blk.0.attn_k.weight") - 8, "q", 1);
    patch_u32("no-dims", q, 0);
    patch_u32("five-dims", q, 5);
    patch_u64("zero-dim", q + DIM1, 0);
    patch_u64("negative-dim", q + DIM1, UINT64_MAX);
    patch_u64("dims-overflow", q + DIM0, UINT64_C(1) << 60);
    patch_u64("size-overflow", q + DIM0, UINT64_C(1) << 57);
    patch_u64("tensor-too-large", q + DIM1, UINT64_C(1) << 30);
    patch_u32("unknown-tensor-type", q + TYPE, 12345);
    patch_u32("q8-k-tensor", q + TYPE, 15);
    patch_u32("q4-0-tensor", q + TYPE, GEODEC_GGML_Q4_0);
    patch_u32("q4-k-tensor", q + TYPE, GEODEC_GGML_Q4_K);
    patch_u32("tq1-tensor", q + TYPE, GEODEC_GGML_TQ1_0);
    patch_u32("retyped-tensor", q + TYPE, GEODEC_GGML_Q8_0); /* too few bytes are then needed: shapes still agree */
    patch_u64("offset-outside", q + OFFSET, UINT64_C(1) << 40);
    patch_u64("offset-wraps", q + OFFSET, UINT64_MAX - 31);
    patch_u64("offset-misaligned", q + OFFSET, 8);
    patch_u64("overlap", q + OFFSET, 0);
    patch("name-with-zero", q - 4, "\0", 1);

    /* a NaN in a norm vector: [n], so its entry is 8 bytes shorter; the data begin at the next multiple of 32 */
    uint64_t offset;
    memcpy(&offset, good + norm + OFFSET - 8, sizeof offset);
    size_t last = after("blk.1.ffn_down.weight") + OFFSET + 8;
    last = (last + 31) / 32 * 32;
    patch_u32("nan-norm", last + (size_t)offset, 0x7fc00000);
}

/* ---- quantised models ------------------------------------------------------------------------------------------- */

/* A good model of one block type, cut within its last block, and one whose first tensor's first scale is a NaN. The
 * embedding is the first tensor, so its data begin the data section, and its
 * offset from the end of the file is the rounded length of all tensors. */
static void wrong_blocks(const char *name, int type, int32_t width, size_t scale_at)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    char cut_name[40], nan_name[40];
    (void)snprintf(cut_name, sizeof cut_name, "%s-cut", name);
    (void)snprintf(nan_name, sizeof nan_name, "%s-nan", name);
    MODEL(name, s.d_model = width, s.d_ff = width, s.type = type);
    MODEL(nan_name, s.d_model = width, s.d_ff = width, s.type = type);
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    if (geodec_gguf_open(path_of(name), &g, &err) != GEODEC_OK) die("cannot read a quantised model");
    const geodec_gguf_tensor *embedding = geodec_gguf_tensor_at(g, 0);
    const geodec_gguf_tensor *last = geodec_gguf_tensor_at(g, geodec_gguf_n_tensors(g) - 1);
    const uint8_t *base = embedding->data, *end = (const uint8_t *)last->data + last->bytes;
    const long from_base = (long)(end - base), in_file = (long)((from_base + 31) / 32 * 32);
    if (last->type != type || embedding->type != type) die("the first and last tensors are not of the type asked for");
    FILE *f = fopen(path_of(nan_name), "r+b");
    if (!f || fseek(f, -in_file + (long)scale_at, SEEK_END) != 0) die("cannot change the model");
    if (fwrite(&(const uint16_t){0x7e00}, 2, 1, f) != 1 || fclose(f) != 0) die("cannot change the model");
    f = fopen(path_of(name), "rb");
    unsigned char *all = malloc((size_t)in_file + (1 << 20));
    if (!f || !all) die("cannot read a quantised model");
    const size_t n = fread(all, 1, (size_t)in_file + (1 << 20), f);
    (void)fclose(f);
    write_bytes(cut_name, all, n - (size_t)(in_file - from_base) - (size_t)t->block_bytes / 2);
    free(all);
    geodec_gguf_close(g);
}

int main(int argc, char **argv)
{
    if (argc != 2) die("usage: make_bad_gguf FOLDER");
    folder = argv[1];
    write_model("good", &small);
    FILE *f = fopen(path_of("good"), "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) die("cannot read the good file");
    size = (size_t)ftell(f);
    rewind(f);
    good = malloc(size);
    copy = malloc(size);
    if (!good || !copy || fread(good, 1, size, f) != size) die("cannot read the good file");
    (void)fclose(f);
    wrong_bytes();
    wrong_models();
    wrong_families();
    wrong_blocks("q4-0", GEODEC_GGML_Q4_0, 64, 0);
    wrong_blocks("q4-k", GEODEC_GGML_Q4_K, 256, 2);
    wrong_blocks("q6-k", GEODEC_GGML_Q6_K, 256, 208);
    wrong_blocks("tq2-0", GEODEC_GGML_TQ2_0, 256, 64);
    free(good);
    free(copy);
    return 0;
}
