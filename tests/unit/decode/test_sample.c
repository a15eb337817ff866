/* Texts sampled from a model: pure functions of (seed, number). */
#include "decode/sample.h"
#include "decode/tiny.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct kept {
    int32_t token[8][32], n[8];
    int count;
} kept;
static geodec_status keep(void *ctx, int64_t number, const int32_t *token, int32_t n, geodec_err *err)
{
    (void)number;
    (void)err;
    kept *k = ctx;
    memcpy(k->token[k->count], token, (size_t)n * sizeof *token);
    k->n[k->count++] = n;
    return GEODEC_OK;
}

Test(sample, texts_depend_on_seed_and_number_only)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_pool *pool = NULL;
    static kept one, two, part;
    geodec_sample_options o = {.texts = 6, .length = 20, .temperature = 1, .top_p = 1, .seed = 11};
    test_ok(geodec_model_open(tiny_model("sample.gguf", 5), &m, &err), &err);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_sample_run(m, &o, keep, &one, NULL, NULL, &err), &err);
    test_ok(geodec_sample_run(m, &o, keep, &two, pool, NULL, &err), &err);
    cr_assert_eq(memcmp(&one, &two, sizeof one), 0);
    o.first = 4;
    o.texts = 2;
    test_ok(geodec_sample_run(m, &o, keep, &part, pool, NULL, &err), &err);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(part.n[i], one.n[4 + i]);
        cr_assert_eq(memcmp(part.token[i], one.token[4 + i], sizeof one.token[0]), 0);
    }
    cr_assert(one.n[0] != one.n[1] || memcmp(one.token[0], one.token[1], sizeof one.token[0]) != 0);
    geodec_pool_destroy(pool);
    geodec_model_close(m);
}
