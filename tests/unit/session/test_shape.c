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

static geodec_shape small(const char *name)
{
    geodec_shape s = *geodec_shape_named(name);
    s.n_layer = 2;
    s.n_vocab = 1000;
    s.d_model = 256;
    s.n_head = s.n_kv_head = 4;
    s.head_dim = 64;
    s.d_ff = 256;
    return s;
}

static void write_model(const char *path, const geodec_shape *s, const char *type, uint64_t seed, int threads)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(threads, &pool, &err), &err);
    test_ok(geodec_shape_write(path, s, type, seed, pool, NULL, &err), &err);
    geodec_pool_destroy(pool);
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
    const geodec_shape s = small("smollm2-135m");
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
    const geodec_shape s = small("smollm2-135m");
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        const char *path = test_tmp("m-random.gguf");
        geodec_model *m = NULL;
        geodec_session *session = NULL;
        write_model(path, &s, types[k], 1, 1);
        test_ok(geodec_model_open(path, &m, &err), &err);
        cr_assert(strstr(geodec_model_name(m), "random weights"));
        const geodec_session_options o = {.n_ctx = 32, .max_batch = 8};
        test_ok(geodec_session_create(m, &o, &session, &err), &err);
        float *logits = geodec_mem_new(s.n_vocab, sizeof *logits);
        const int32_t tokens[5] = {1, 300, 301, 999, 4};
        test_ok(geodec_forward_prefill(session, tokens, 5, logits, &err), &err);
        double square = 0;
        for (int i = 0; i < s.n_vocab; i++) square += (double)logits[i] * (double)logits[i];
        const double rms = sqrt(square / s.n_vocab);
        cr_assert(rms > 0.3 && rms < 3, "%s: logits of size %g", types[k], rms);
        geodec_mem_free(logits);
        geodec_session_destroy(session);
        geodec_model_close(m);
    }
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
        cr_assert(*a.models && *a.differs, "%s has no description", a.name);
        cr_assert_eq(geodec_shape_named(s->name), s);
        (void)snprintf(choices + strlen(choices), sizeof choices - strlen(choices), "%s%s", k ? "|" : "", s->name);
    }
    cr_assert_str_eq(choices, GEODEC_SHAPE_CHOICES);
}

Test(shape, refusals)
{
    geodec_err err = {0};
    const geodec_shape s = small("smollm2-135m");
    cr_assert_null(geodec_shape_named("llama"));
    cr_assert_eq(geodec_shape_write(test_tmp("x.gguf"), &s, "f16", 1, NULL, NULL, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_shape_write(test_tmp("x-random.gguf"), &s, "q9", 1, NULL, NULL, &err), GEODEC_NOTFOUND);
}
