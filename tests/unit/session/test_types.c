/* Every tensor type in exact arithmetic: a model with its matrices in that type gives the same bits alone, in a batch,
 * on threads, on every instruction set. They are those of the same model with the decoded matrices as F32 where the
 * type is multiplied in floats, and within their rounding where it is multiplied in integers. */
#include "base/mem.h"
#include "kernels/panels_internal.h"
#include "session/blocks.h"
#include "session/model.h"
#include "session/synthetic.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { LENGTH = 21, VOCAB = 290 };

/* Type i of those other than F32, over and over. */
static int some_type(int64_t i)
{
    int n = 0;
    while (geodec_ggml_traits_at(n + 1)) n++;
    const geodec_ggml_traits *first = geodec_ggml_traits_at(0);
    cr_assert_eq(first->type, GEODEC_GGML_F32);
    return geodec_ggml_traits_at(1 + (int)(i % n))->type;
}

/* The model `from` twice: matrices as random blocks of `type`, and those decoded. type < 0: another one for each. */
static void write_twins(const char *from, int type, const char *packed_path, const char *plain_path)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_gguf_writer *packed = NULL, *plain = NULL;
    test_ok(geodec_gguf_open(from, &g, &err), &err);
    test_ok(geodec_gguf_writer_create(packed_path, &packed, &err), &err);
    test_ok(geodec_gguf_writer_create(plain_path, &plain, &err), &err);
    for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++) {
        test_ok(geodec_gguf_put_copy(packed, g, geodec_gguf_key_at(g, i), &err), &err);
        test_ok(geodec_gguf_put_copy(plain, g, geodec_gguf_key_at(g, i), &err), &err);
    }
    for (int pass = 0; pass < 2; pass++) {
        geodec_rng r = geodec_rng_stream(5, geodec_rng_id("twins", 0));
        for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
            const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
            const bool matrix = t->n_dims > 1 && !strstr(t->name, "gate_inp");
            const int as = !matrix ? t->type : type >= 0 ? type : some_type(i);
            if (pass == 0) {
                test_ok(geodec_gguf_plan_tensor(packed, t->name, as, t->n_dims, t->dim, &err), &err);
                test_ok(geodec_gguf_plan_tensor(plain, t->name, GEODEC_GGML_F32, t->n_dims, t->dim, &err), &err);
                continue;
            }
            const int64_t n = t->dim[0] * t->dim[1] * t->dim[2];
            const geodec_ggml_traits *traits = geodec_ggml_traits_of(as);
            const size_t bytes = geodec_ggml_bytes(traits, n);
            uint8_t *data = geodec_mem_new((int64_t)bytes, 1);
            float *decoded = geodec_mem_new(n, sizeof *decoded);
            if (matrix)
                blocks_fill(traits, 0.08f, &r, data, n);
            else
                memcpy(data, t->data, bytes);
            traits->decode(data, decoded, n);
            test_ok(geodec_gguf_stream(packed, data, bytes, &err), &err);
            test_ok(geodec_gguf_stream(plain, decoded, (size_t)n * sizeof *decoded, &err), &err);
            geodec_mem_free(data);
            geodec_mem_free(decoded);
        }
    }
    test_ok(geodec_gguf_writer_commit(packed, &err), &err);
    test_ok(geodec_gguf_writer_commit(plain, &err), &err);
    geodec_gguf_close(g);
}

/* Logits of all positions, `chunk` rows a pass. */
static void run(const char *path, geodec_isa isa, geodec_pool *pool, int chunk, float *logits)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    int32_t token[LENGTH];
    const geodec_session_options o = {.isa = isa, .pool = pool};
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    for (int i = 0; i < LENGTH; i++) token[i] = (37 * i + 5) % VOCAB;
    for (int i = 0; i < LENGTH; i += chunk) {
        const int n = LENGTH - i < chunk ? LENGTH - i : chunk;
        test_ok(
            geodec_forward(s, &(geodec_batch){.n = n, .token = token + i}, logits + (ptrdiff_t)i * VOCAB, NULL, &err),
            &err);
    }
    geodec_session_destroy(s);
    geodec_model_close(m);
}

static void check_twins(const synthetic *shape, int type, geodec_pool *pool)
{
    static const struct {
        geodec_isa isa;
        int chunk;
        bool threads;
    } ways[] = {{GEODEC_ISA_AUTO, 1, false},   {GEODEC_ISA_AUTO, 2, true},   {GEODEC_ISA_AUTO, LENGTH, true},
                {GEODEC_ISA_AVX512, 9, false}, {GEODEC_ISA_AVX2, 21, false}, {GEODEC_ISA_SCALAR, 5, false}};
    static float want[LENGTH * VOCAB], got[LENGTH * VOCAB];
    geodec_err err = {0};
    const char *from = test_tmp("shape.gguf"), *packed = test_tmp("packed.gguf"), *plain = test_tmp("plain.gguf");
    const char *name = type < 0 ? "mixed types" : geodec_ggml_type_name(type);
    test_ok(synthetic_write(from, shape, &err), &err);
    write_twins(from, type, packed, plain);
    run(plain, GEODEC_ISA_AUTO, NULL, LENGTH, want);
    float largest = 0;
    for (int i = 0; i < LENGTH * VOCAB; i++) largest = fmaxf(largest, fabsf(want[i]));
    cr_assert(largest > 0.1f && largest < 1e4f, "%s: logits up to %g test nothing", name, (double)largest);
    const bool integers = type < 0 || geodec__panel_format_in(GEODEC_EXACT, type);
    if (integers) { /* from here on the bits of the first way */
        run(packed, GEODEC_ISA_AUTO, NULL, 1, got);
        float worst = 0;
        for (int i = 0; i < LENGTH * VOCAB; i++) worst = fmaxf(worst, fabsf(got[i] - want[i]));
        cr_assert(worst > 0 && worst < 2e-6f * largest, "%s: off by %g of %g", name, (double)worst, (double)largest);
        memcpy(want, got, sizeof want);
    }
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        if (!geodec_kernels_isa_available(ways[k].isa)) continue;
        memset(got, 0x55, sizeof got);
        run(packed, ways[k].isa, ways[k].threads ? pool : NULL, ways[k].chunk, got);
        cr_assert(memcmp(got, want, sizeof want) == 0, "%s: other bits with %s, %d rows a pass", name,
                  geodec_kernels_isa_name(ways[k].isa), ways[k].chunk);
    }
}

Test(model_types, same_bits_on_every_way)
{
    const synthetic dense = {.n_layer = 1,
                             .d_model = 256,
                             .n_head = 4,
                             .n_kv_head = 2,
                             .d_ff = 256,
                             .n_vocab = VOCAB,
                             .n_ctx = 32,
                             .type = GEODEC_GGML_F32,
                             .tied = true,
                             .seed = 1};
    synthetic experts = dense;
    experts.n_expert = 4;
    experts.n_expert_used = 2;
    experts.tied = false;
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    const geodec_ggml_traits *t;
    for (int k = 1; (t = geodec_ggml_traits_at(k)); k++) check_twins(&dense, t->type, pool);
    check_twins(&dense, -1, pool);
    check_twins(&experts, GEODEC_GGML_Q4_K, pool);
    check_twins(&experts, -1, pool);
    geodec_pool_destroy(pool);
}
