/* Random models: the blocks have the stated types, files repeat, load and give finite logits. */
#include "base/mem.h"
#include "gguf/quantize.h"
#include "session/arch_internal.h"
#include "session/model.h"
#include "session/shape.h"
#include "session/shape_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A shape with other values behind its own, which they replace. */
static geodec_shape reduced(const char *name, int32_t n_layer, const char *values)
{
    static char text[1200];
    geodec_shape s = *geodec_shape_named(name);
    const int n = snprintf(text, sizeof text, "%s V=600 C=64 d=64 f=96 %s", s.values, values);
    cr_assert_lt(n, (int)sizeof text);
    s.n_layer = n_layer;
    s.values = text;
    return s;
}

enum { VOCAB = 1000 };
static geodec_shape small(void) { return reduced("smollm2-135m", 2, "V=1000 d=256 f=256 H=4 K=4"); }

static void write_model(const char *path, const geodec_shape *s, const char *type, uint64_t seed, int threads)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(threads, &pool, &err), &err);
    test_ok(geodec_shape_write(path, s, type, seed, pool, NULL, &err), &err);
    geodec_pool_destroy(pool);
}

/* Root of the mean square; not finite if a value is not. */
static double size_of(const float *x, int64_t n)
{
    double square = 0;
    for (int64_t i = 0; i < n; i++) square += (double)x[i] * (double)x[i];
    return sqrt(square / (double)n);
}

static void digest(const char *path, char hex[GEODEC_SHA256_HEX])
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    geodec_gguf_tensor_digest(g, hex);
    geodec_gguf_close(g);
}

Test(shape, blocks_have_the_deviation_asked_for)
{
    enum { N = 256 * 256 };
    float *x = geodec_mem_new(N, sizeof *x);
    const geodec_ggml_traits *t;
    for (int k = 0; (t = geodec_ggml_traits_at(k)); k++) {
        const geodec__random_blocks b = geodec__shape_random_blocks_of(t->type);
        const int64_t groups = N / b.elements, bytes = b.bytes;
        cr_assert_eq((int64_t)geodec_ggml_bytes(t, N), groups * bytes);
        uint8_t *raw = geodec_mem_new(groups * bytes + 1, 1);
        for (int64_t i = 0; i < groups; i++) {
            raw[(i + 1) * bytes] = 0xa5;
            b.fill(t, 7, 3, i, 0.05, raw + i * bytes);
            cr_assert_eq(raw[(i + 1) * bytes], 0xa5, "%s: fill writes behind its group", t->name);
        }
        t->decode(raw, x, N);
        double sum = 0, square = 0;
        for (int i = 0; i < N; i++) {
            cr_assert(isfinite(x[i]), "%s", t->name);
            sum += (double)x[i];
            square += (double)x[i] * (double)x[i];
        }
        /* the mean of N samples deviates by 0.05/256; blocks of one sign by some multiple of it */
        cr_assert_lt(fabs(sum / N), 0.003, "%s: mean %g", t->name, sum / N);
        /* three levels, the outer ones at the ends of the interval: half of the values go to each kind */
        const bool ternary = t->type == GEODEC_GGML_TQ1_0 || t->type == GEODEC_GGML_TQ2_0;
        const double want = ternary ? sqrt(1.5) * 0.05 : 0.05;
        cr_assert_float_eq(sqrt(square / N), want, 0.0025, "%s: deviation %g", t->name, sqrt(square / N));
        geodec_mem_free(raw);
    }
    geodec_mem_free(x);
}

Test(shape, types_follow_the_mix)
{
    const geodec_quantize_facts own = {.n_layer = 16}, tied = {.n_layer = 16, .tied = true};
    cr_assert_eq(geodec_quantize_type("q4_k_m", &own, "blk.5.attn_q.weight", 2048), GEODEC_GGML_Q4_K);
    cr_assert_eq(geodec_quantize_type("q4_k_m", &own, "blk.5.attn_q.weight", 576), GEODEC_GGML_Q5_0);
    cr_assert_eq(geodec_quantize_type("q4_k_m", &own, "blk.0.attn_v.weight", 2048), GEODEC_GGML_Q6_K);
    cr_assert_eq(geodec_quantize_type("q4_k_m", &own, "blk.2.attn_v.weight", 2048), GEODEC_GGML_Q4_K);
    cr_assert_eq(geodec_quantize_type("q4_k_m", &own, "blk.4.ffn_down.weight", 2048), GEODEC_GGML_Q6_K);
    cr_assert_eq(geodec_quantize_type("q4_k_m", &own, "output.weight", 576), GEODEC_GGML_Q8_0);
    cr_assert_eq(geodec_quantize_type("q4_0", &own, "output.weight", 2048), GEODEC_GGML_Q6_K);
    cr_assert_eq(geodec_quantize_type("q4_0", &own, "token_embd.weight", 2048), GEODEC_GGML_Q4_0);
    cr_assert_eq(geodec_quantize_type("q4_0", &tied, "token_embd.weight", 2048), GEODEC_GGML_Q6_K);
    cr_assert_eq(geodec_quantize_type("f16", &own, "output.weight", 576), GEODEC_GGML_F16);
    const geodec_quantize_facts shared = {.n_layer = 16, .heads_a_key = 4}, experts = {.n_layer = 16, .n_expert = 32};
    cr_assert_eq(geodec_quantize_type("iq4_xs", &own, "blk.5.attn_v.weight", 2048), GEODEC_GGML_IQ4_XS);
    cr_assert_eq(geodec_quantize_type("iq4_xs", &shared, "blk.5.attn_v.weight", 2048), GEODEC_GGML_Q5_K);
    cr_assert_eq(geodec_quantize_type("iq4_xs", &own, "blk.1.ffn_down.weight", 2048), GEODEC_GGML_Q5_K);
    cr_assert_eq(geodec_quantize_type("mxfp4", &experts, "blk.1.ffn_up_exps.weight", 2880), GEODEC_GGML_MXFP4);
    cr_assert_eq(geodec_quantize_type("mxfp4", &experts, "blk.1.ffn_up.7.weight", 2880), GEODEC_GGML_MXFP4);
    cr_assert_eq(geodec_quantize_type("mxfp4", &experts, "blk.1.attn_q.weight", 2880), GEODEC_GGML_Q8_0);
    cr_assert_eq(geodec_quantize_type("q9", &own, "output.weight", 576), -1);
}

Test(shape, same_seed_same_file_for_any_thread_count)
{
    const geodec_shape s = small();
    const char *a = test_tmp("a-random.gguf"), *b = test_tmp("b-random.gguf"), *c = test_tmp("c-random.gguf");
    char hex[3][GEODEC_SHA256_HEX];
    write_model(a, &s, "q8_0", 5, 1);
    write_model(b, &s, "q8_0", 5, 3);
    write_model(c, &s, "q8_0", 6, 1);
    digest(a, hex[0]);
    digest(b, hex[1]);
    digest(c, hex[2]);
    cr_assert_str_eq(hex[0], hex[1]);
    cr_assert_str_neq(hex[0], hex[2]);
}

Test(shape, models_load_and_stay_finite)
{
    static const char *const types[] = {"f32",   "f16",   "bf16",  "q8_0",  "iq4_xs", "mxfp4",
                                        "nvfp4", "iq3_s", "iq2_s", "iq1_m", "q1_0"};
    geodec_err err = {0};
    const geodec_shape s = small();
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        const char *path = test_tmp("m-random.gguf");
        geodec_model *m = NULL;
        geodec_session *session = NULL;
        write_model(path, &s, types[k], 1, 1);
        test_ok(geodec_model_open(path, &m, &err), &err);
        cr_assert(strstr(geodec_model_name(m), "random weights"));
        const geodec_session_options o = {.n_ctx = 32, .max_batch = 8};
        test_ok(geodec_session_create(m, &o, &session, &err), &err);
        float logits[VOCAB];
        const int32_t tokens[5] = {1, 300, 301, 999, 4};
        test_ok(geodec_forward_prefill(session, tokens, 5, logits, &err), &err);
        const double rms = size_of(logits, VOCAB);
        cr_assert(rms > 0.3 && rms < 3, "%s: logits of size %g", types[k], rms);
        geodec_session_destroy(session);
        geodec_model_close(m);
    }
}

/* Every row with smaller numbers. */
static const struct {
    const char *name;
    int32_t n_layer;
    const char *values;
} rows[] = {
    {"smollm2-135m", 2, "H=4 K=2 h=16 r=16"},
    {"llama-3.2-1b", 2, "H=4 K=2 h=16 r=16"},
    {"llama-3.1-8b", 2, "H=4 K=2 h=16 r=16"},
    {"phi-3.5-mini", 2, "H=4 K=4 h=16 r=16"},
    {"gemma-3-270m", 7, "H=4 h=16 window=8"},
    {"gemma-3-1b", 3, "H=4 h=16 window=8"},
    {"gemma-4-e2b", 20,
     "H=4 h=32 r=32 w=16*4,32 p=16 window=8 attention.key_length_swa=16 attention.value_length_swa=16 "
     "rope.dimension_count_swa=16"},
    {"gemma-4-e2b", 4,
     "H=4 h=32 r=32 w=16*4,32 p=16 window=8 attention.key_length_swa=16 attention.value_length_swa=16 "
     "rope.dimension_count_swa=16"},
    {"qwen3-4b", 2, "H=4 K=2 h=32"},
    {"gpt2-small", 2, "V=601 H=4"},
    {"olmoe-1b-7b", 2, "H=4 K=4 h=16 r=16 E=8 used=2"},
    {"gpt-oss-20b", 3, "H=4 K=2 h=32 E=8 e=32 used=2 window=8"},
    {"qwen3-30b-a3b", 2, "H=4 K=2 h=32 E=8 e=32 used=2"},
    {"deepseek-v2-lite", 3,
     "H=4 r=8 E=8 e=32 used=2 still=16 attention.kv_lora_rank=32 attention.key_length=40 attention.value_length=32 "
     "attention.key_length_mla=24 attention.value_length_mla=16"},
    {"qwen3-next-80b-a3b", 5,
     "H=4 K=2 h=16 r=8 E=8 e=32 s=32 used=2 k=32 ssm.state_size=16 ssm.group_count=2 ssm.time_step_rank=4 "
     "ssm.inner_size=64"},
};

/* Another key or tensor than the architecture needs is refused. */
Test(shape, rows_open_and_run)
{
    geodec_err err = {0};
    for (int k = 0; geodec_shape_at(k); k++) { /* no row is left out */
        size_t i = 0;
        while (i < sizeof rows / sizeof *rows && strcmp(rows[i].name, geodec_shape_at(k)->name) != 0) i++;
        cr_assert_lt(i, sizeof rows / sizeof *rows, "%s", geodec_shape_at(k)->name);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const geodec_shape s = reduced(rows[i].name, rows[i].n_layer, rows[i].values);
        const char *path = test_tmp("row-random.gguf");
        const geodec_session_options o = {.n_ctx = 32, .max_batch = 8};
        const int32_t tokens[12] = {1, 300, 301, 599, 4, 5, 6, 7, 450, 2, 300, 301};
        geodec_model *m = NULL;
        geodec_session *session = NULL;
        float logits[VOCAB];
        write_model(path, &s, "q8_0", 1, 2);
        test_ok(geodec_model_open(path, &m, &err), &err);
        test_ok(geodec_session_create(m, &o, &session, &err), &err);
        test_ok(geodec_forward_prefill(session, tokens, 12, logits, &err), &err);
        const double rms = size_of(logits, geodec_model_configuration(m)->n_vocab);
        cr_assert(rms > 0.3 && rms < 10, "%s: logits of size %g", s.name, rms);
        geodec_session_destroy(session);
        geodec_model_close(m);
    }
}

/* A shape of a mix is what geodec-quantize makes of the shape in F16. */
Test(shape, types_are_those_of_quantize)
{
    geodec_err err = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const geodec_shape s = reduced(rows[i].name, rows[i].n_layer, rows[i].values);
        const char *f16 = test_tmp("f16-random.gguf"), *mix = test_tmp("mix-random.gguf"), *to = test_tmp("to.gguf");
        const geodec_quantize_options o = {.recipe = "q4_k_m"};
        geodec_gguf *in = NULL, *want = NULL, *got = NULL;
        write_model(f16, &s, "f16", 1, 1);
        write_model(mix, &s, "q4_k_m", 1, 1);
        test_ok(geodec_gguf_open(f16, &in, &err), &err);
        test_ok(geodec_quantize(in, to, &o, NULL, NULL, NULL, &err), &err);
        test_ok(geodec_gguf_open(to, &want, &err), &err);
        test_ok(geodec_gguf_open(mix, &got, &err), &err);
        cr_assert_eq(geodec_gguf_n_tensors(got), geodec_gguf_n_tensors(want));
        for (int64_t k = 0; k < geodec_gguf_n_tensors(want); k++) {
            const geodec_gguf_tensor *t = geodec_gguf_tensor_at(want, k), *u = geodec_gguf_find(got, t->name);
            cr_assert(u && u->type == t->type, "%s: %s is not %s", s.name, t->name, geodec_ggml_type_name(t->type));
        }
        geodec_gguf_close(in);
        geodec_gguf_close(want);
        geodec_gguf_close(got);
    }
}

/* The sizes are those of the published models. */
Test(shape, numbers_of_weights)
{
    /* the text part: embeddings; norms, inputs of layers and feed-forward; queries; keys of 12 narrow and 3 wide layers
     */
    const int64_t d = 1536;
    const int64_t gemma4 = 262144 * (d + 35 * 256) + d * 35 * 256 + 256 + d + 35 * (5 * d + 2 * d * 256 + 1) +
                           3 * d * 6144 * (15 + 2 * 20) + 28 * (2 * d * 8 * 256 + 256) + 7 * (2 * d * 8 * 512 + 512) +
                           12 * (2 * d * 256 + 256) + 3 * (2 * d * 512 + 512);
    const struct {
        const char *name;
        int64_t weights; /* of the published files; of Qwen3-Next without the block that predicts further tokens */
    } published[] = {
        {"smollm2-135m", 134515008},       {"llama-3.2-1b", 1235814400},
        {"llama-3.1-8b", 8030261248},      {"phi-3.5-mini", 3821079552},
        {"gemma-3-270m", 268098176},       {"gemma-3-1b", 999885952},
        {"gemma-4-e2b", gemma4},           {"qwen3-4b", 4022468096},
        {"gpt2-small", 124439808},         {"olmoe-1b-7b", 6919161856},
        {"gpt-oss-20b", 20914757184},      {"qwen3-30b-a3b", 30532122624},
        {"deepseek-v2-lite", 15706484224}, {"qwen3-next-80b-a3b", 79674391296},
    };
    geodec_err err = {0};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        int64_t n;
        test_ok(geodec_shape_weights(geodec_shape_named(published[i].name), &n, &err), &err);
        cr_expect_eq(n, published[i].weights, "%s: %lld", published[i].name, (long long)n);
    }
}

static const geodec_gguf_tensor *bytes_of(const geodec_gguf *g, const char *name, size_t *n)
{
    const geodec_gguf_tensor *t = geodec_gguf_find(g, name);
    if (t) *n = geodec_ggml_bytes(geodec_ggml_traits_of(t->type), geodec_gguf_elements(t));
    return t;
}

/* Fewer layers are the first ones: their keys, widths and bytes stay. */
Test(shape, fewer_layers_are_the_first)
{
    static const char small_values[] = "H=4 h=32 r=32 w=16*4,32 p=16 window=8 attention.key_length_swa=16 "
                                       "attention.value_length_swa=16 rope.dimension_count_swa=16";
    static const char *const alike[] = {"blk.4.attn_q.weight", "blk.14.attn_k.weight", "blk.15.ffn_up.weight",
                                        "blk.0.layer_output_scale.weight", "rope_freqs.weight"};
    const int32_t layers[2] = {16, 18};
    geodec_err err = {0};
    geodec_gguf *g[2];
    for (int k = 0; k < 2; k++) {
        const geodec_shape s = reduced("gemma-4-e2b", layers[k], small_values);
        const char *path = test_tmp(k ? "more-random.gguf" : "few-random.gguf");
        int64_t shared;
        int32_t slides[18];
        write_model(path, &s, "q8_0", 3, 1);
        test_ok(geodec_gguf_open(path, &g[k], &err), &err);
        test_ok(geodec_gguf_get_i64(g[k], "gemma4.attention.shared_kv_layers", &shared, &err), &err);
        cr_assert_eq(shared, layers[k] - 15);
        test_ok(geodec_gguf_array_i32(g[k], "gemma4.attention.sliding_window_pattern", slides, layers[k], &err), &err);
        for (int i = 0; i < layers[k]; i++) cr_assert_eq(slides[i], i % 5 != 4);
        cr_assert_null(geodec_gguf_find(g[k], "blk.15.attn_k.weight"));
    }
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++) {
        size_t n = 0, m = 1;
        const geodec_gguf_tensor *a = bytes_of(g[0], alike[i], &n), *b = bytes_of(g[1], alike[i], &m);
        cr_assert(a && b && n == m && memcmp(a->data, b->data, n) == 0, "%s", alike[i]);
    }
    cr_assert_eq(geodec_gguf_find(g[0], "blk.4.attn_q.weight")->dim[1], 4 * 32);
    cr_assert_eq(geodec_gguf_find(g[0], "blk.5.attn_q.weight")->dim[1], 4 * 16);
    geodec_gguf_close(g[0]);
    geodec_gguf_close(g[1]);
}

/* Every shape is named among the choices and has an architecture that the model reader supports. */
Test(shape, names_and_architectures)
{
    const geodec_shape *s;
    char choices[256] = "";
    for (int k = 0; (s = geodec_shape_at(k)); k++) {
        geodec_architecture a;
        int i = 0;
        while (geodec_arch_at(i, &a) && strcmp(a.name, s->arch) != 0) i++;
        cr_assert(geodec_arch_at(i, &a), "%s", s->name);
        cr_assert_eq(geodec_shape_named(s->name), s);
        (void)snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "%s%s", k ? "|" : "", s->name);
    }
    cr_assert_str_eq(choices, GEODEC_SHAPE_CHOICES);
}

Test(shape, refusals)
{
    geodec_err err = {0};
    const geodec_shape s = small();
    cr_assert_null(geodec_shape_named("llama"));
    cr_assert_eq(geodec_shape_write(test_tmp("x.gguf"), &s, "f16", 1, NULL, NULL, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_shape_write(test_tmp("x-random.gguf"), &s, "q9", 1, NULL, NULL, &err), GEODEC_NOTFOUND);
    static const struct {
        const char *values, *tensors, *message;
    } bad[] = {
        {"d=64", "", "no value 'V'"},
        {"V=200 d=64", "", "200 tokens"},
        {"V=600 d", "", "values 'd'"},
        {"V=600 d=64", "attn_q(d,H*h)", "no value 'H'"},
        {"V=600 d=64", "attn_q", "tensors 'attn_q'"},
        {"V=600 d=64", "attn_q(d,)", "no value ''"},
        {"V=600 d=64", "attn_q(d,d,d,d)", "tensors 'attn_q(d,d,d,d)'"},
        {"V=600 d=64", "attn_q(d,0)", "'0' is 0"},
        {"V=600 d=64", "attn_q(d/3)", "'3' is 3"},
        {"V=600 d=64", "?some attn_q(d)", "no value 'some'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const geodec_shape row = {"bad", "Bad", "llama", 1, bad[i].values, bad[i].tensors};
        err = (geodec_err){0};
        cr_assert_eq(geodec_shape_write(test_tmp("x-random.gguf"), &row, "f16", 1, NULL, NULL, &err), GEODEC_INVAL);
        cr_assert(strstr(err.frame[0].text, bad[i].message), "%s", err.frame[0].text);
    }
}
