/* Matrices leave the file's map after the first pass: the same bytes elsewhere, or panels that give the same bits. */
#include "session/model_internal.h"
#include "session/shape.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *model_of(const char *type, int32_t d_ff)
{
    geodec_err err = {0};
    geodec_shape s = *geodec_shape_named("smollm2-135m");
    char values[96];
    (void)snprintf(values, sizeof values, "V=600 C=8192 d=256 f=%d H=4 K=4 h=64 r=64 base=1e5 eps=1e-5", (int)d_ff);
    s.n_layer = 1;
    s.values = values;
    const char *path = test_tmp("resident-random.gguf");
    test_ok(geodec_shape_write(path, &s, type, 1, NULL, NULL, &err), &err);
    return path;
}

static const void *in_file(const geodec_model *m, const char *name)
{
    return geodec_gguf_find(geodec_model_gguf(m), name)->data;
}

static void pass(geodec_session *s, int32_t token, float *logits)
{
    geodec_err err = {0};
    test_ok(geodec_forward_prefill(s, &token, 1, logits, &err), &err);
}

/* Does this session read the matrix from somewhere else than the file's map? */
static bool moved(const geodec_session *s, const geodec__matrix *w)
{
    return geodec__prepare_data(s->copies, w) != w->data;
}

Test(resident, large_float_matrices_move_pass_by_pass_and_keep_their_bytes)
{
    enum { PASSES = 12, VOCAB = 600 };
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_model *m = NULL;
    geodec_session *s = NULL, *second = NULL;
    static float first[PASSES][VOCAB], again[VOCAB];
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    test_ok(geodec_model_open(model_of("f16", 8192), &m, &err), &err);
    const geodec__matrix *const down = &m->layer[0].down;
    const geodec_session_options o = {.n_ctx = 16, .max_batch = 4, .pool = pool};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    pass(s, 1, first[0]);
    cr_assert(!moved(s, down) && !moved(s, &m->head), "the first pass waits for nothing");
    pass(s, 2, first[1]);
    cr_assert(moved(s, &m->layer[0].q) && !moved(s, &m->head), "the second moves a share");
    for (int i = 2; i < PASSES; i++) pass(s, 1 + i, first[i]);
    cr_assert(moved(s, down) && moved(s, &m->head) && moved(s, &m->embedding));
    const uint8_t *const at = geodec__prepare_data(s->copies, down);
    cr_assert_eq((const void *)down->data, in_file(m, "blk.0.ffn_down.weight"));
    cr_assert_eq(memcmp(at, down->data, (size_t)(down->rows * down->row_bytes)), 0);
    cr_assert_eq(memcmp(geodec__prepare_data(s->copies, &m->head), in_file(m, "token_embd.weight"),
                        (size_t)(m->head.rows * m->head.row_bytes)),
                 0);
    test_ok(geodec_session_create(m, &o, &second, &err), &err);
    cr_assert_eq((const void *)geodec__prepare_data(second->copies, down), (const void *)at);
    for (int i = 0; i < PASSES; i++) {
        pass(second, 1 + i, again);
        cr_assert_eq(memcmp(first[i], again, sizeof again), 0, "pass %d", i);
    }
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
        float logits[600];
        test_ok(geodec_model_open(model_of(cases[i].type, cases[i].d_ff), &m, &err), &err);
        const geodec_session_options o = {.n_ctx = 16, .max_batch = 4};
        test_ok(geodec_session_create(m, &o, &s, &err), &err);
        for (int k = 0; k < 3; k++) pass(s, k, logits);
        cr_assert(!moved(s, &m->layer[0].down) && !moved(s, &m->head));
        geodec_session_destroy(s);
        geodec_model_close(m);
    }
}

/* Fast arithmetic: the first pass packs as it goes, the second what stays, a prompt of several passes at once. */
Test(resident, panels_are_there_from_the_second_pass_and_give_the_same_bits)
{
    static const char *const types[] = {"q8_0", "q4_0", "q4_k_m"};
    enum { PROMPT = 5 };
    static const int32_t token[PROMPT] = {1, 2, 3, 4, 5};
    for (int i = 0; i < 3; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL, *other = NULL;
        geodec_session *s = NULL, *whole = NULL;
        float in_place[600], packed[600];
        const char *path = model_of(types[i], 1024);
        test_ok(geodec_model_open(path, &m, &err), &err);
        test_ok(geodec_model_open(path, &other, &err), &err);
        const geodec_session_options o = {.n_ctx = 16, .max_batch = PROMPT, .arithmetic = GEODEC_FAST};
        const geodec_session_options small = {.n_ctx = 16, .max_batch = 2, .arithmetic = GEODEC_FAST};
        test_ok(geodec_session_create(m, &o, &s, &err), &err);
        test_ok(geodec_forward_prefill(s, token, PROMPT, in_place, &err), &err);
        cr_assert_not_null(geodec__prepare_find(s->prepared, &m->head).format);
        cr_assert_null(geodec__prepare_find(s->prepared, &m->head).data);
        geodec_session_truncate(s, 0);
        test_ok(geodec_forward_prefill(s, token, PROMPT, packed, &err), &err);
        cr_assert_not_null(geodec__prepare_find(s->prepared, &m->head).data);
        cr_assert_eq(memcmp(in_place, packed, sizeof in_place), 0, "%s", types[i]);
        test_ok(geodec_session_create(other, &small, &whole, &err), &err);
        test_ok(geodec_forward_prefill(whole, token, PROMPT, packed, &err), &err);
        cr_assert_not_null(geodec__prepare_find(whole->prepared, &other->head).data);
        cr_assert_eq(memcmp(in_place, packed, sizeof in_place), 0, "%s", types[i]);
        geodec_session_destroy(s);
        geodec_session_destroy(whole);
        geodec_model_close(m);
        geodec_model_close(other);
    }
}

/* Without memory for the panels every pass packs its own, with the same bits. */
Test(resident, without_memory_for_panels_every_pass_packs)
{
    geodec_err err = {0};
    geodec_model *m = NULL, *other = NULL;
    geodec_session *s = NULL, *poor = NULL;
    float want[600], got[600];
    struct rlimit before, little;
    long pages = 0;
    const char *path = model_of("q4_0", 65536);
    const geodec_session_options o = {.n_ctx = 16, .max_batch = 2};
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_model_open(path, &other, &err), &err);
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    for (int32_t k = 0; k < 3; k++) pass(s, 1 + k, want);
    cr_assert_not_null(geodec__prepare_find(s->prepared, &m->layer[0].down).data);
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1) cr_skip_test("no /proc/self/statm");
    (void)fclose(f);
    cr_assert_eq(getrlimit(RLIMIT_AS, &before), 0);
    little = before;
    little.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (16 << 20); /* the panels take 28 MB */
    cr_assert_eq(setrlimit(RLIMIT_AS, &little), 0);
    const geodec_status st = geodec_session_create(other, &o, &poor, &err);
    cr_assert_eq(setrlimit(RLIMIT_AS, &before), 0);
    test_ok(st, &err);
    for (int32_t k = 0; k < 3; k++) pass(poor, 1 + k, got);
    cr_assert_not_null(geodec__prepare_find(poor->prepared, &other->layer[0].down).format);
    cr_assert_null(geodec__prepare_find(poor->prepared, &other->layer[0].down).data);
    cr_assert_eq(memcmp(want, got, sizeof want), 0);
    geodec_session_destroy(s);
    geodec_session_destroy(poor);
    geodec_model_close(m);
    geodec_model_close(other);
}
