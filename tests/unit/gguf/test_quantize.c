/* geodec_quantize: types by rule, keys and kept tensors verbatim, figures recomputed here, bytes for any threads. */
#include "base/mem.h"
#include "base/rng.h"
#include "gguf/opened.h"
#include "gguf/quantize.h"
#include "io/file.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LAYERS = 8, WIDTH = 256, ODD = 96 /* no multiple of 256 */, STRANGE = 40 /* nor of 32 */, MAX_TENSORS = 128 };

static void put(geodec_gguf_writer *w, const char *name, int type, int64_t cols, int64_t rows, int64_t count)
{
    geodec_err err = {0};
    const int64_t dim[3] = {cols, rows, count}, n = cols * rows * count;
    geodec_rng r = geodec_rng_stream(9, geodec_rng_id(name, 0));
    float *x = geodec_mem_new(n, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)geodec_rng_normal(&r);
    test_ok(geodec_gguf_put_tensor(w, name, type, count > 1 ? 3 : rows > 1 ? 2 : 1, dim, x, &err), &err);
    geodec_mem_free(x);
}

static geodec_gguf_writer *begin(const char *path)
{
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_gguf_put_str(w, "general.architecture", "llama", &err), &err);
    test_ok(geodec_gguf_put_u32(w, "general.file_type", 0, &err), &err);
    test_ok(geodec_gguf_put_u32(w, "general.alignment", 32, &err), &err);
    test_ok(geodec_gguf_put_bool(w, "some.flag", true, &err), &err);
    test_ok(geodec_gguf_put_f32(w, "some.float", 1.5f, &err), &err);
    test_ok(geodec_gguf_put_str_array(w, "some.texts", (const char *const[]){"a", "", "b\0c"},
                                      (const size_t[]){1, 0, 3}, 3, &err),
            &err);
    test_ok(geodec_gguf_put_str_array(w, "no.texts", NULL, NULL, 0, &err), &err);
    test_ok(geodec_gguf_put_i32_array(w, "some.numbers", (const int32_t[]){1, -2, 3}, 3, &err), &err);
    return w;
}

/* Eight blocks; experts > 0 makes the feed-forward one of experts. */
static const char *write_model(const char *name, int type, bool tied, int64_t experts)
{
    geodec_err err = {0};
    const char *path = test_tmp(name);
    geodec_gguf_writer *w = begin(path);
    char text[80];
    put(w, "token_embd.weight", type, WIDTH, 9, 1);
    if (!tied) put(w, "output.weight", type, WIDTH, 9, 1);
    put(w, "output_norm.weight", GEODEC_GGML_F32, WIDTH, 1, 1);
    put(w, "per_layer_model_proj.weight", type, WIDTH, 3, 1);
    for (int i = 0; i < LAYERS; i++) {
        static const char *const parts[] = {"attn_q", "attn_k", "attn_v", "attn_output"};
        for (int k = 0; k < 4; k++) {
            (void)snprintf(text, sizeof text, "blk.%d.%s.weight", i, parts[k]);
            put(w, text, type, WIDTH, 3, 1);
        }
        (void)snprintf(text, sizeof text, "blk.%d.attn_norm.weight", i);
        put(w, text, GEODEC_GGML_F32, WIDTH, 1, 1);
        (void)snprintf(text, sizeof text, "blk.%d.attn_q.bias", i);
        put(w, text, GEODEC_GGML_F32, 3, 1, 1);
        (void)snprintf(text, sizeof text, "blk.%d.ffn_down%s.weight", i, experts ? "_exps" : "");
        put(w, text, type, ODD, 2, experts ? experts : 1);
        (void)snprintf(text, sizeof text, "blk.%d.ffn_up%s.weight", i, experts ? "_exps" : "");
        put(w, text, type, STRANGE, 2, experts ? experts : 1);
        if (!experts) continue;
        (void)snprintf(text, sizeof text, "blk.%d.ffn_gate_inp.weight", i);
        put(w, text, GEODEC_GGML_F32, WIDTH, experts, 1);
    }
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    return path;
}

/* layer < 0: the tensor of just that name. */
static int type_of(const geodec_gguf *g, const char *part, int layer)
{
    char name[80];
    if (layer < 0)
        (void)snprintf(name, sizeof name, "%s", part);
    else
        (void)snprintf(name, sizeof name, "blk.%d.%s", layer, part);
    const geodec_gguf_tensor *t = geodec_gguf_find(g, name);
    cr_assert(t, "%s", name);
    return t->type;
}

static geodec_gguf *quantized(const char *from, const char *to, const geodec_quantize_options *o)
{
    geodec_err err = {0};
    geodec_gguf *in = opened_gguf(from);
    test_ok(geodec_quantize(in, to, o, NULL, NULL, NULL, &err), &err);
    geodec_gguf_close(in);
    return opened_gguf(to);
}

/* Q4_K_M: attention values and down projections of layers 0, 3, 6, 7 in Q6_K; rows of 96 fall back to 32-blocks, rows
 * of 40 to F16. */
Test(gguf_quantize, types_of_a_mix)
{
    const char *from = write_model("dense.gguf", GEODEC_GGML_F32, false, 0);
    geodec_gguf *g = quantized(from, test_tmp("mix.gguf"), &(geodec_quantize_options){.recipe = "q4_k_m"});
    cr_assert_eq(type_of(g, "token_embd.weight", -1), GEODEC_GGML_Q4_K);
    cr_assert_eq(type_of(g, "output.weight", -1), GEODEC_GGML_Q6_K);
    cr_assert_eq(type_of(g, "output_norm.weight", -1), GEODEC_GGML_F32);
    for (int i = 0; i < LAYERS; i++) {
        const bool more = i == 0 || i == 3 || i == 6 || i == 7;
        cr_assert_eq(type_of(g, "attn_q.weight", i), GEODEC_GGML_Q4_K);
        cr_assert_eq(type_of(g, "attn_q.bias", i), GEODEC_GGML_F32);
        cr_assert_eq(type_of(g, "attn_output.weight", i), GEODEC_GGML_Q4_K);
        cr_assert_eq(type_of(g, "attn_v.weight", i), more ? GEODEC_GGML_Q6_K : GEODEC_GGML_Q4_K);
        cr_assert_eq(type_of(g, "ffn_down.weight", i), more ? GEODEC_GGML_Q8_0 : GEODEC_GGML_Q5_0);
        cr_assert_eq(type_of(g, "ffn_up.weight", i), GEODEC_GGML_F16);
        cr_assert_eq(type_of(g, "attn_norm.weight", i), GEODEC_GGML_F32);
    }
    geodec_gguf_close(g);
}

Test(gguf_quantize, types_of_other_recipes)
{
    static const struct {
        const char *recipe;
        bool pure, tied;
        int64_t experts;
        const char *tensor;
        int type;
    } cases[] = {
        {"q4_0", false, false, 0, "output.weight", GEODEC_GGML_Q6_K},
        {"q4_0", true, false, 0, "output.weight", GEODEC_GGML_Q4_0},
        {"q4_0", false, true, 0, "token_embd.weight", GEODEC_GGML_Q6_K},
        {"q8_0", false, true, 0, "token_embd.weight", GEODEC_GGML_Q8_0},
        {"q8_0", false, true, 0, "per_layer_model_proj.weight", GEODEC_GGML_BF16}, /* kept as it is */
        {"bf16", false, false, 0, "blk.3.ffn_up.weight", GEODEC_GGML_BF16},
        {"tq2_0", false, false, 0, "token_embd.weight", GEODEC_GGML_Q4_K},
        {"tq2_0", false, false, 0, "blk.0.attn_q.weight", GEODEC_GGML_TQ2_0},
        {"tq2_0", false, false, 0, "blk.0.ffn_down.weight", GEODEC_GGML_Q4_0},
        {"tq1_0", false, false, 0, "token_embd.weight", GEODEC_GGML_Q4_K},
        {"tq1_0", false, false, 0, "blk.0.attn_q.weight", GEODEC_GGML_TQ1_0},
        {"tq1_0", false, false, 0, "blk.0.ffn_down.weight", GEODEC_GGML_Q4_0},
        {"q5_k_m", false, false, 0, "blk.1.ffn_down.weight", GEODEC_GGML_Q5_1},
        {"q5_k_m", false, false, 0, "blk.0.attn_v.weight", GEODEC_GGML_Q6_K},
        {"q4_k_s", false, false, 0, "blk.3.attn_v.weight", GEODEC_GGML_Q5_K},
        {"q4_k_s", false, false, 0, "blk.4.attn_v.weight", GEODEC_GGML_Q4_K},
        {"q4_k_s", false, false, 0, "blk.0.ffn_down.weight", GEODEC_GGML_Q5_1},
        {"q4_k_s", false, false, 0, "blk.1.ffn_down.weight", GEODEC_GGML_Q5_0},
        {"q4_k_m", false, false, 8, "blk.1.attn_k.weight", GEODEC_GGML_Q8_0},
        {"q4_k_m", false, false, 8, "blk.1.attn_v.weight", GEODEC_GGML_Q8_0},
        {"q4_k_m", false, false, 8, "blk.1.attn_output.weight", GEODEC_GGML_Q5_K},
        {"q4_k_m", false, false, 8, "blk.1.ffn_gate_inp.weight", GEODEC_GGML_F32},
        {"q4_k_m", false, false, 8, "blk.0.ffn_down_exps.weight", GEODEC_GGML_Q8_0},
        {"q4_k_m", false, false, 4, "blk.1.attn_k.weight", GEODEC_GGML_Q4_K},
        {"f32", false, false, 0, "blk.1.attn_q.bias", GEODEC_GGML_F32},
        {"iq4_xs", false, false, 0, "blk.1.attn_q.weight", GEODEC_GGML_IQ4_XS},
        {"iq4_xs", false, false, 0, "blk.1.ffn_down.weight", GEODEC_GGML_Q4_0},
        {"iq4_xs", false, false, 0, "blk.0.ffn_down.weight", GEODEC_GGML_Q5_1},
        {"iq4_xs", false, false, 0, "output.weight", GEODEC_GGML_Q6_K},
        {"iq4_xs", false, false, 8, "blk.1.attn_output.weight", GEODEC_GGML_Q5_K},
        {"mxfp4", false, false, 0, "blk.1.attn_q.weight", GEODEC_GGML_MXFP4},
        {"mxfp4", false, true, 0, "token_embd.weight", GEODEC_GGML_Q8_0},
        {"mxfp4", false, false, 4, "blk.1.attn_q.weight", GEODEC_GGML_Q8_0},
        {"mxfp4", false, false, 4, "blk.1.ffn_down_exps.weight", GEODEC_GGML_MXFP4},
        {"mxfp4", false, false, 4, "blk.1.ffn_gate_inp.weight", GEODEC_GGML_F32},
        {"mxfp4", true, false, 4, "blk.1.attn_q.weight", GEODEC_GGML_MXFP4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *from = write_model("from.gguf", GEODEC_GGML_BF16, cases[k].tied, cases[k].experts);
        const geodec_quantize_options o = {.recipe = cases[k].recipe, .pure = cases[k].pure};
        geodec_gguf *g = quantized(from, test_tmp("to.gguf"), &o);
        const int type = type_of(g, cases[k].tensor, -1);
        cr_assert_eq(type, cases[k].type, "%s: %s is %s", cases[k].recipe, cases[k].tensor,
                     geodec_ggml_type_name(type));
        geodec_gguf_close(g);
    }
}

/* Experts in separate tensors change only the key. */
Test(gguf_quantize, experts_by_key)
{
    for (uint32_t n = 7; n <= 8; n++) {
        geodec_err err = {0};
        const char *from = test_tmp("by-key.gguf");
        geodec_gguf_writer *w = begin(from);
        test_ok(geodec_gguf_put_u32(w, "llama.expert_count", n, &err), &err);
        put(w, "blk.0.attn_k.weight", GEODEC_GGML_F16, WIDTH, 3, 1);
        put(w, "blk.0.ffn_down.0.weight", GEODEC_GGML_F16, WIDTH, 3, 1);
        test_ok(geodec_gguf_writer_commit(w, &err), &err);
        geodec_gguf *g = quantized(from, test_tmp("keyed.gguf"), &(geodec_quantize_options){.recipe = "q4_k_m"});
        cr_assert_eq(type_of(g, "attn_k.weight", 0), n == 8 ? GEODEC_GGML_Q8_0 : GEODEC_GGML_Q4_K);
        cr_assert_eq(type_of(g, "ffn_down.0.weight", 0), GEODEC_GGML_Q6_K);
        geodec_gguf_close(g);
    }
}

/* The files of the shared folder were made by llama-quantize: every tensor has the same type, and Q8_0, which leaves no
 * choice, the same bytes. */
Test(gguf_quantize, types_of_the_peer)
{
    static const char *const cases[][3] = {
        {"stories260K-f32", "stories260K-q4_k_m", "q4_k_m"},
        {"stories260K-f32", "stories260K-q6_k", "q6_k"},
        {"stories260K-ff192-f32", "stories260K-ff192-q4_0", "q4_0"},
        {"stories260K-rot256-f32", "stories260K-rot256-q4_k_m", "q4_k_m"},
        {"stories-moe8x2-f32", "stories-moe8x2-q4_0", "q4_0"},
        {"stories-moe8x2-f32", "stories-moe8x2-q8_0", "q8_0"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char name[2][100];
        const char *path[2];
        for (int i = 0; i < 2; i++) {
            (void)snprintf(name[i], sizeof name[i], "models/%s.gguf", cases[k][i]);
            path[i] = test_shared(name[i]);
        }
        const geodec_quantize_options o = {.recipe = cases[k][2]};
        geodec_gguf *ours = quantized(path[0], test_tmp("ours.gguf"), &o), *theirs = opened_gguf(path[1]);
        cr_assert_eq(geodec_gguf_n_tensors(ours), geodec_gguf_n_tensors(theirs));
        for (int64_t i = 0; i < geodec_gguf_n_tensors(ours); i++) {
            const geodec_gguf_tensor *t = geodec_gguf_tensor_at(ours, i), *u = geodec_gguf_find(theirs, t->name);
            cr_assert(u, "%s", t->name);
            cr_assert_eq(t->type, u->type, "%s, %s: %s, not %s", cases[k][1], t->name, geodec_ggml_type_name(t->type),
                         geodec_ggml_type_name(u->type));
            if (t->type == GEODEC_GGML_Q8_0) cr_assert(memcmp(t->data, u->data, t->bytes) == 0, "%s", t->name);
        }
        geodec_gguf_close(ours);
        geodec_gguf_close(theirs);
    }
}

Test(gguf_quantize, copies_what_it_does_not_change)
{
    geodec_err err = {0};
    const char *from = write_model("source.gguf", GEODEC_GGML_F16, false, 4);
    geodec_gguf *in = opened_gguf(from);
    geodec_gguf *g = quantized(from, test_tmp("copy.gguf"), &(geodec_quantize_options){.recipe = "f16"});
    char a[GEODEC_SHA256_HEX], b[GEODEC_SHA256_HEX];
    geodec_gguf_tensor_digest(in, a);
    geodec_gguf_tensor_digest(g, b);
    cr_assert_str_eq(a, b, "nothing is to be done, yet bytes changed");

    const char *s;
    size_t n;
    int64_t v, length;
    int32_t numbers[3];
    bool flag;
    double f;
    cr_assert_not(geodec_gguf_has(g, "general.alignment"));
    test_ok(geodec_gguf_get_i64(g, "general.file_type", &v, &err), &err);
    cr_assert_eq(v, 1);
    test_ok(geodec_gguf_get_i64(g, "general.quantization_version", &v, &err), &err);
    cr_assert_eq(v, 2);
    test_ok(geodec_gguf_get_str(g, "general.architecture", &s, &err), &err);
    cr_assert_str_eq(s, "llama");
    test_ok(geodec_gguf_get_bool(g, "some.flag", &flag, &err), &err);
    cr_assert(flag);
    test_ok(geodec_gguf_get_f64(g, "some.float", &f, &err), &err);
    cr_assert_eq(f, 1.5);
    test_ok(geodec_gguf_array_length(g, "some.texts", &length, &err), &err);
    cr_assert_eq(length, 3);
    test_ok(geodec_gguf_array_str(g, "some.texts", 2, &s, &n, &err), &err);
    cr_assert(n == 3 && memcmp(s, "b\0c", 3) == 0);
    test_ok(geodec_gguf_array_length(g, "no.texts", &length, &err), &err);
    cr_assert_eq(length, 0);
    test_ok(geodec_gguf_array_i32(g, "some.numbers", numbers, 3, &err), &err);
    cr_assert(numbers[0] == 1 && numbers[1] == -2 && numbers[2] == 3);
    geodec_gguf_close(in);
    geodec_gguf_close(g);
}

/* The figures of a row from both files. */
Test(gguf_quantize, figures)
{
    static geodec_quantize_row rows[MAX_TENSORS];
    const char *from = write_model("figures.gguf", GEODEC_GGML_F16, false, 0);
    geodec_gguf *in = opened_gguf(from);
    geodec_err err = {0};
    const char *to = test_tmp("figured.gguf");
    test_ok(geodec_quantize(in, to, &(geodec_quantize_options){.recipe = "q4_k_m"}, NULL, NULL, rows, &err), &err);
    geodec_gguf *out = opened_gguf(to);
    int changed = 0;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(in); i++) {
        const geodec_gguf_tensor *a = geodec_gguf_tensor_at(in, i), *b = geodec_gguf_tensor_at(out, i);
        const geodec_quantize_row *r = &rows[i];
        const int64_t n = a->dim[0] * a->dim[1] * a->dim[2];
        cr_assert_str_eq(r->name, a->name);
        cr_assert(r->from == a->type && r->to == b->type && r->values == n && r->bytes == b->bytes);
        if (a->type == b->type) {
            cr_assert(r->rms == 0 && r->largest == 0 && r->cosine == 1);
            continue;
        }
        changed++;
        float *x = geodec_mem_new(n, sizeof *x), *y = geodec_mem_new(n, sizeof *y);
        geodec_ggml_traits_of(a->type)->decode(a->data, x, n);
        geodec_ggml_traits_of(b->type)->decode(b->data, y, n);
        double xx = 0, yy = 0, xy = 0, ee = 0, largest = 0;
        for (int64_t k = 0; k < n; k++) {
            const double u = (double)x[k], v = (double)y[k];
            xx += u * u;
            yy += v * v;
            xy += u * v;
            ee += (u - v) * (u - v);
            largest = fmax(largest, fabs(u - v));
        }
        cr_assert_lt(fabs(r->size - sqrt(xx / (double)n)), 1e-12 * r->size);
        cr_assert_leq(fabs(r->rms - sqrt(ee / (double)n)), 1e-9 * r->rms);
        cr_assert_leq(fabs(r->largest - largest), 1e-6 * largest);
        cr_assert_lt(fabs(r->cosine - xy / sqrt(xx * yy)), 1e-12);
        cr_assert_geq(r->nearest, r->rms * (1 - 1e-9), "%s: plain rounding is better", r->name);
        if (a->dim[0] % 32)
            cr_assert(isnan(r->q8_0));
        else
            cr_assert(r->q8_0 > 0 && r->q8_0 < 0.01 * r->size && (b->type != GEODEC_GGML_Q8_0 || r->q8_0 == r->rms));
        geodec_mem_free(x);
        geodec_mem_free(y);
    }
    cr_assert_eq(changed, 2 + 5 * LAYERS, "rows of 40 were F16 already");
    geodec_gguf_close(in);
    geodec_gguf_close(out);
}

/* Tensors of several slabs and chunks, on 1, 2 and 3 threads. */
Test(gguf_quantize, threads)
{
    geodec_err err = {0};
    const char *from = test_tmp("large.gguf");
    geodec_gguf_writer *w = begin(from);
    put(w, "blk.0.attn_q.weight", GEODEC_GGML_BF16, 256, 10007, 1);
    put(w, "blk.0.attn_k.weight", GEODEC_GGML_BF16, 64, 259, 1);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    char want[GEODEC_SHA256_HEX] = "", got[GEODEC_SHA256_HEX];
    geodec_quantize_row rows[2], first[2];
    const geodec_quantize_options o = {.recipe = "q4_0", .overrides = "*attn_q*=q8_0"}; /* the large one quickly */
    for (int threads = 1; threads <= 3; threads++) {
        geodec_pool *pool = NULL;
        geodec_gguf *in = opened_gguf(from);
        const char *to = test_tmp("threads.gguf");
        test_ok(geodec_pool_create(threads, &pool, &err), &err);
        test_ok(geodec_quantize(in, to, &o, pool, NULL, rows, &err), &err);
        test_ok(geodec_file_sha256(to, got, &err), &err);
        if (threads == 1) {
            memcpy(want, got, sizeof want);
            memcpy(first, rows, sizeof first);
        }
        cr_assert_str_eq(got, want, "%d threads: other bytes", threads);
        for (int i = 0; i < 2; i++)
            cr_assert(rows[i].rms == first[i].rms && rows[i].cosine == first[i].cosine &&
                      rows[i].q8_0 == first[i].q8_0 && rows[i].nearest == first[i].nearest);
        geodec_pool_destroy(pool);
        geodec_gguf_close(in);
    }
}

Test(gguf_quantize, overrides)
{
    const char *from = write_model("overrides.gguf", GEODEC_GGML_F32, false, 0);
    geodec_gguf *g = quantized(
        from, test_tmp("overridden.gguf"),
        &(geodec_quantize_options){.recipe = "q4_k_m",
                                   .overrides = "*.bias=bf16,blk.[02].attn_q.weight=q8_0,*attn_q*=F16,*down*=q4_1"});
    cr_assert_eq(type_of(g, "blk.0.attn_q.weight", -1), GEODEC_GGML_Q8_0);
    cr_assert_eq(type_of(g, "blk.1.attn_q.weight", -1), GEODEC_GGML_F16);
    cr_assert_eq(type_of(g, "blk.2.attn_q.weight", -1), GEODEC_GGML_Q8_0);
    cr_assert_eq(type_of(g, "blk.2.attn_q.bias", -1), GEODEC_GGML_BF16);
    cr_assert_eq(type_of(g, "blk.5.ffn_down.weight", -1), GEODEC_GGML_Q4_1);
    cr_assert_eq(type_of(g, "blk.5.attn_v.weight", -1), GEODEC_GGML_Q4_K);
    geodec_gguf_close(g);
}

/* Refusals name the error and leave no file. */
static void refused(const char *from, const geodec_quantize_options *o, geodec_status want, const char *word)
{
    geodec_err err = {0};
    char line[600];
    geodec_gguf *in = opened_gguf(from);
    const char *to = test_tmp("refused.gguf");
    const geodec_status st = geodec_quantize(in, to, o, NULL, NULL, NULL, &err);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert_eq(st, want, "%s", line);
    cr_assert(strstr(line, word), "'%s' is not in: %s", word, line);
    cr_assert_neq(access(to, F_OK), 0);
    cr_assert_neq(access(test_tmp(".refused.gguf.tmp"), F_OK), 0);
    geodec_gguf_close(in);
}

Test(gguf_quantize, refusals)
{
    geodec_err err = {0};
    const char *from = write_model("refusals.gguf", GEODEC_GGML_F32, false, 0);
    refused(from, &(geodec_quantize_options){.recipe = "q7"}, GEODEC_INVAL, "'q7'");
    refused(from, &(geodec_quantize_options){.recipe = "q4_0", .overrides = "x"}, GEODEC_INVAL, "'x'");
    refused(from, &(geodec_quantize_options){.recipe = "q4_0", .overrides = "*=q9_9"}, GEODEC_INVAL, "'q9_9'");
    refused(from, &(geodec_quantize_options){.recipe = "q4_0", .overrides = "*=q2_k"}, GEODEC_INVAL, "'q2_k'");
    refused(from, &(geodec_quantize_options){.recipe = "q4_0", .overrides = "nothing=f16"}, GEODEC_INVAL, "'nothing'");
    refused(from, &(geodec_quantize_options){.recipe = "q4_0", .overrides = "*up*=q4_0"}, GEODEC_INVAL,
            "blk.0.ffn_up.weight");
    /* a value that binary16 cannot hold, in an F32 file */
    const char *huge = test_tmp("huge.gguf");
    const float x[32] = {[7] = 1e30f};
    geodec_gguf_writer *w = begin(huge);
    test_ok(geodec_gguf_put_tensor(w, "blk.0.attn_q.weight", GEODEC_GGML_F32, 2, (const int64_t[]){16, 2}, x, &err),
            &err);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    refused(huge, &(geodec_quantize_options){.recipe = "f16"}, GEODEC_NUMERIC,
            "'blk.0.attn_q.weight': value 7 is too large");
}

/* Every allocation fails once; no file is left. */
Test(gguf_quantize, short_of_memory)
{
    const char *from = write_model("memory.gguf", GEODEC_GGML_BF16, true, 0);
    geodec_gguf *in = opened_gguf(from);
    const char *to = test_tmp("no-memory.gguf");
    int failures = 0;
    for (int64_t k = 1; k < 1000; k++) {
        geodec_err err = {0};
        geodec_mem_fail_after(k);
        const geodec_status st =
            geodec_quantize(in, to, &(geodec_quantize_options){.recipe = "f16", .overrides = "*attn_q.weight=f32"},
                            NULL, NULL, NULL, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM);
        cr_assert_neq(access(to, F_OK), 0);
        failures++;
    }
    cr_assert(failures > 10 && failures < 999, "%d", failures);
    geodec_gguf_close(in);
}
