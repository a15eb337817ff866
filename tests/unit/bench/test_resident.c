/* Float matrices of a model that is worth it lie in huge pages after the first session: the same bytes elsewhere. */
#include "bench/shape.h"
#include "model/weights.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *model_of(const char *type, int32_t d_ff)
{
    geodec_err err = {0};
    geodec_shape s = *geodec_shape_named("smollm2-135m");
    s.n_layer = 1;
    s.n_vocab = 600;
    s.d_model = 256;
    s.n_head = s.n_kv_head = 4;
    s.d_ff = d_ff;
    const char *path = test_tmp("resident-random.gguf");
    test_ok(geodec_shape_write(path, &s, type, 1, NULL, NULL, &err), &err);
    return path;
}

static const void *in_file(const geodec_model *m, const char *name)
{
    return geodec_gguf_find(geodec_model_gguf(m), name)->data;
}

Test(resident, large_float_matrices_move_and_keep_their_bytes)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_model *m = NULL;
    geodec_session *s = NULL, *second = NULL;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    test_ok(geodec_model_open(model_of("f16", 8192), &m, &err), &err);
    const geodec__matrix before = m->layer[0].down;
    cr_assert_eq((const void *)before.data, in_file(m, "blk.0.ffn_down.weight"));
    const geodec_session_options o = {.n_ctx = 16, .max_batch = 4, .pool = pool};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    const geodec__matrix after = m->layer[0].down;
    cr_assert_neq((const void *)after.data, (const void *)before.data);
    cr_assert_eq(memcmp(after.data, before.data, (size_t)(after.rows * after.row_bytes)), 0);
    cr_assert_eq((const void *)m->embedding.data, (const void *)m->head.data);
    cr_assert_eq(memcmp(m->head.data, in_file(m, "token_embd.weight"), (size_t)(m->head.rows * m->head.row_bytes)), 0);
    test_ok(geodec_session_create(m, &o, &second, &err), &err);
    cr_assert_eq((const void *)m->layer[0].down.data, (const void *)after.data);
    /* the file's pages come back when they are read again */
    char hex[GEODEC_SHA256_HEX];
    geodec_gguf_tensor_digest(geodec_model_gguf(m), hex);
    cr_assert_str_eq(geodec_model_fingerprint(m), hex);
    geodec_session_destroy(s);
    geodec_session_destroy(second);
    geodec_model_close(m);
    geodec_pool_destroy(pool);
}

Test(resident, small_models_and_block_types_stay_in_the_map)
{
    static const struct {
        const char *type;
        int32_t d_ff;
    } cases[] = {{"f16", 512}, {"q8_0", 16384}};
    for (int i = 0; i < 2; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        geodec_session *s = NULL;
        test_ok(geodec_model_open(model_of(cases[i].type, cases[i].d_ff), &m, &err), &err);
        const geodec_session_options o = {.n_ctx = 16, .max_batch = 4};
        test_ok(geodec_session_create(m, &o, &s, &err), &err);
        cr_assert_eq((const void *)m->layer[0].down.data, in_file(m, "blk.0.ffn_down.weight"));
        geodec_session_destroy(s);
        geodec_model_close(m);
    }
}
