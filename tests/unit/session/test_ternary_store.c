/* Stores of ternary experts: the tokens and logits of the GGUF in memory, and damage that is found. */
#include "session/model_internal.h"
#include "session/store_golden.h"
#include "session/synthetic.h"
#include "session/ternary_matrix.h"
#include "session/ternary_store.h"
#include "support/support.h"
#include "ternary/retype.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKENS = 40, LAYERS = 3, EXPERTS = 8 };

static synthetic shape_of(const char *at, int type, float share)
{
    return (synthetic){.arch = "perspective",
                       .n_layer = 4,
                       .d_model = 48,
                       .n_head = 3,
                       .n_kv_head = 1,
                       .d_ff = 70, /* no whole block of either encoding */
                       .n_vocab = 300,
                       .n_ctx = 256,
                       .type = type,
                       .n_expert = EXPERTS,
                       .n_expert_used = 1,
                       .d_ff_dense = 60,
                       .recur_rank = 20,
                       .recur_period = 4,
                       .log_decay_min = -0.5f,
                       .route = strcmp(at, "pre") == 0 ? "mod" : "angle",
                       .route_at = at,
                       .window = 11,
                       .embed_scale = 3,
                       .tied = true,
                       .lattice = {2, 2, 2},
                       .ternary = share,
                       .seed = 271};
}

static const char *model_of(const synthetic *s)
{
    geodec_err err = {0};
    const char *path = test_tmp("ternary.gguf");
    test_ok(synthetic_write(path, s, &err), &err);
    return path;
}

static const char *store_of(const char *gguf, int encoding, bool by_row)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    const char *folder = test_tmp("ternary.trits");
    test_ok(geodec_model_open(gguf, &m, &err), &err);
    const geodec_ternary_build o = {.encoding = encoding, .by_row = by_row, .differences = true};
    test_ok(geodec_ternary_store_build(m, &o, folder, NULL, NULL, &err), &err);
    geodec_model_close(m);
    return folder;
}

/* ---- the bits of the GGUF --------------------------------------------------------------------------------------- */

static float *logits_of(const char *path, const geodec_streaming *how, geodec_pool *pool, int32_t *token,
                        geodec_stream_counters *k)
{
    geodec_err err = {0};
    float *all = geodec_mem_new((int64_t)TOKENS * 300, sizeof *all);
    test_ok(matrix_decode(path, how, pool, TOKENS, token, all, how ? test_tmp("ternary.trace") : NULL, k, &err), &err);
    return all;
}

static void compare_bits(const synthetic *s, int encoding, bool by_row)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    int32_t expected[TOKENS], token[TOKENS];
    const char *gguf = model_of(s);
    float *resident = logits_of(gguf, NULL, NULL, expected, NULL);
    const char *store = store_of(gguf, encoding, by_row);
    test_ok(geodec_ternary_store_verify(store, NULL, &err), &err);
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    const int32_t slots[] = {4, LAYERS * EXPERTS};
    for (int i = 0; i < 2; i++)
        for (int threads = 0; threads < 2; threads++) {
            const geodec_streaming how = {.slots = slots[i], .check_differences = true};
            geodec_stream_counters k;
            float *got = logits_of(store, &how, threads ? pool : NULL, token, &k);
            cr_assert(memcmp(got, resident, (size_t)(TOKENS - 1) * 300 * sizeof *got) == 0, "other logits");
            cr_assert(memcmp(token, expected, sizeof token) == 0);
            geodec_mem_free(got);
        }
    geodec_mem_free(resident);
    geodec_pool_destroy(pool);
}

Test(ternary_store, logits_are_those_of_f32_weights)
{
    const synthetic s = shape_of("pre", GEODEC_GGML_F32, 0.1F);
    compare_bits(&s, GEODEC_TERNARY_BASE3, false);
    compare_bits(&s, GEODEC_TERNARY_BITS2, true);
}
Test(ternary_store, logits_are_those_of_f16_weights)
{
    const synthetic s = shape_of("post", GEODEC_GGML_F16, 0.1F);
    compare_bits(&s, GEODEC_TERNARY_BITS2, false);
    compare_bits(&s, GEODEC_TERNARY_BASE3, true);
}

/* Experts of 256 columns, in a GGUF of this type made from one of F16. */
static const char *retyped(const char *f16, int type, const char *name)
{
    geodec_err err = {0};
    geodec_gguf *in = NULL;
    geodec_ternary_retyped r;
    test_ok(geodec_gguf_open(f16, &in, &err), &err);
    test_ok(geodec_ternary_retype(in, test_tmp(name), type, false, NULL, NULL, &r, &err), &err);
    geodec_gguf_close(in);
    return test_tmp(name);
}

/* A payload of a blob without the prefix has nothing but scales and trits. */
static void assert_same_experts(const char *a, const char *b)
{
    geodec_err err = {0};
    geodec_trit_table ta = {0}, tb = {0};
    test_ok(geodec_trit_table_read(a, &ta, &err), &err);
    test_ok(geodec_trit_table_read(b, &tb, &err), &err);
    cr_assert(ta.n_expert == tb.n_expert && ta.shape.layers == tb.shape.layers && ta.n_edges == tb.n_edges);
    const int64_t bytes = geodec_trit_stride(&ta.shape);
    uint8_t *x = geodec_mem_new(bytes, 1), *y = geodec_mem_new(bytes, 1);
    for (int32_t e = 0; e < ta.n_expert; e++) {
        geodec_trit fa = {.fd = -1}, fb = {.fd = -1};
        test_ok(geodec_trit_table_expert(&ta, a, e, &fa, &err), &err);
        test_ok(geodec_trit_table_expert(&tb, b, e, &fb, &err), &err);
        for (int32_t k = 0; k < ta.shape.layers; k++) {
            test_ok(geodec_trit_read(&fa, ta.layer[k], x, &err), &err);
            test_ok(geodec_trit_read(&fb, ta.layer[k], y, &err), &err);
            cr_assert(memcmp(x, y, (size_t)bytes) == 0, "expert %d, layer %d", e, ta.layer[k]);
        }
        geodec_trit_close(&fa);
        geodec_trit_close(&fb);
    }
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_trit_table_clear(&ta);
    geodec_trit_table_clear(&tb);
}

/* A GGUF whose experts are TQ1_0 or TQ2_0: its store has the blobs of that of the F16 experts, and their logits. So has
 * TQ1_0 in memory, which is decoded to float32 (TQ2_0 is multiplied in integers). */
Test(ternary_store, a_store_of_other_ternary_types_has_the_same_experts)
{
    static const int types[] = {GEODEC_GGML_TQ1_0, GEODEC_GGML_TQ2_0};
    geodec_err err = {0};
    int32_t expected[TOKENS], token[TOKENS];
    char first[4096];
    synthetic s = shape_of("post", GEODEC_GGML_F16, 0.1F);
    s.d_model = s.d_ff = 256;
    s.n_head = 4;
    const char *f16 = model_of(&s);
    float *resident = logits_of(f16, NULL, NULL, expected, NULL);
    (void)snprintf(first, sizeof first, "%s.first", test_tmp("ternary.trits"));
    for (int encoding = GEODEC_TERNARY_BASE3; encoding <= GEODEC_TERNARY_BITS2; encoding++) {
        cr_assert_eq(rename(store_of(f16, encoding, false), first), 0);
        for (int k = 0; k < 2; k++) {
            const char *gguf = retyped(f16, types[k], "retyped.gguf"), *store = store_of(gguf, encoding, false);
            const geodec_streaming how = {.slots = 8, .limits = ""};
            bool golden;
            assert_same_experts(first, store);
            float *got = logits_of(store, &how, NULL, token, NULL);
            cr_assert(memcmp(got, resident, (size_t)(TOKENS - 1) * 300 * sizeof *got) == 0, "other logits");
            geodec_mem_free(got);
            got = logits_of(gguf, NULL, NULL, token, NULL);
            cr_assert((memcmp(got, resident, (size_t)(TOKENS - 1) * 300 * sizeof *got) == 0) == (k == 0));
            geodec_mem_free(got);
            for (int a = 0; a < GEODEC_ARITHMETICS; a++) {
                test_ok(geodec_store_golden_check(store, (geodec_arithmetic)a, &how, NULL, &golden, &err), &err);
                cr_assert_eq(golden, k == 0);
            }
        }
        char command[9000];
        (void)snprintf(command, sizeof command, "rm -r '%s'", first);
        cr_assert_eq(system(command), 0);
    }
    geodec_mem_free(resident);
}

/* ---- every way ----------------------------------------------------------------------------------------------------
 */

static void compare_ways(const char *at)
{
    geodec_err err = {0};
    int32_t expected[TOKENS], token[TOKENS];
    int64_t differences = 0, whole = 0;
    const synthetic s = shape_of(at, GEODEC_GGML_F16, 0.02F);
    const char *gguf = model_of(&s);
    geodec_mem_free(logits_of(gguf, NULL, NULL, expected, NULL));
    const char *store = store_of(gguf, GEODEC_TERNARY_BASE3, false);
    for (int32_t slots = 4; slots <= 16; slots += 6)
        for (int e = 0; e < GEODEC_EVICTION_BELADY; e++)
            for (int a = 0; a < GEODEC_LOOKAHEAD_KINDS; a++)
                for (int d = 0; d < GEODEC_STREAMED_DIFFERENCES_KINDS; d++) {
                    const geodec_streaming how = {.slots = slots,
                                                  .eviction = (geodec_eviction)e,
                                                  .lookahead = (geodec_lookahead)a,
                                                  .shared = (e + a) % 2,
                                                  .differences = (geodec_streamed_differences)d,
                                                  .check_differences = a % 2,
                                                  .prefetch_least = 0.2F,
                                                  .prefetch_most = -1,
                                                  .disk.engine = d == 2 ? GEODEC_DISK_THREADS : GEODEC_DISK_AUTO};
                    geodec_stream_counters k = {0};
                    test_ok(matrix_decode(store, &how, NULL, TOKENS, token, NULL, test_tmp("ways.trace"), &k, &err),
                            &err);
                    cr_assert(memcmp(token, expected, sizeof token) == 0, "%d slots, %s, %s, %s", slots,
                              geodec_eviction_name(how.eviction), geodec_streamed_lookahead_name(how.lookahead),
                              geodec_streamed_differences_name(how.differences));
                    const geodec_slots_counters *c = &k.slots;
                    cr_assert_eq(c->needed, c->resident + c->in_time + c->late + c->missed);
                    if (d == GEODEC_STREAMED_DIFFERENCES_OFF)
                        cr_assert_eq(c->differences + c->alone + c->cheaper + k.applied, 0);
                    else
                        cr_assert_eq(c->differences + c->alone + c->cheaper,
                                     c->demand_reads + c->prefetch_reads + c->cancelled);
                    if (d == GEODEC_STREAMED_DIFFERENCES_ALWAYS) differences += k.applied;
                    whole += c->alone;
                }
    cr_assert(differences > 100 && whole > 100, "%lld differences, %lld alone", (long long)differences,
              (long long)whole);
}

Test(ternary_store, every_way_before_mixing, .timeout = 300) { compare_ways("pre"); }
Test(ternary_store, every_way_after_mixing, .timeout = 300) { compare_ways("post"); }

/* Other products: the same with 4 slots as with all, and near the exact ones. The bounds are of sums in another order
 * (about 1e-6 of logits of size 1) and of inputs in 8 bits (some percent). */
Test(ternary_store, additions_and_integers)
{
    int32_t expected[TOKENS], token[TOKENS];
    const synthetic s = shape_of("post", GEODEC_GGML_F32, 0.1F);
    const char *gguf = model_of(&s);
    float *resident = logits_of(gguf, NULL, NULL, expected, NULL);
    const char *store = store_of(gguf, GEODEC_TERNARY_BASE3, false);
    const float most[] = {0, 1e-3F, 1.0F};
    for (int form = 0; form < GEODEC_STREAMED_TERNARY_KINDS; form++) {
        const geodec_streaming all = {.slots = 32, .ternary = (geodec_streamed_ternary)form};
        const geodec_streaming few = {.slots = 4, .ternary = (geodec_streamed_ternary)form};
        float *a = logits_of(store, &all, NULL, token, NULL), *b = logits_of(store, &few, NULL, token, NULL);
        cr_assert(memcmp(a, b, (size_t)(TOKENS - 1) * 300 * sizeof *a) == 0);
        float worst = 0; /* of the first row: later ones may have other tokens before them */
        for (int i = 0; i < 300; i++) worst = fmaxf(worst, fabsf(a[i] - resident[i]));
        cr_assert(worst <= most[form], "%s: %g", geodec_streamed_ternary_name((geodec_streamed_ternary)form),
                  (double)worst);
        if (form > 0) cr_assert(worst > 0);
        geodec_mem_free(a);
        geodec_mem_free(b);
    }
    geodec_mem_free(resident);
}

/* ---- the golden prompt ------------------------------------------------------------------------------------------- */

static geodec_status golden_within(const char *store, int form, double tolerance, double *error, bool *golden)
{
    const geodec_streaming how = {.limits = "", .ternary = (geodec_streamed_ternary)form};
    return geodec_store_golden_check_within(store, GEODEC_EXACT, &how, tolerance, NULL, golden, error, NULL);
}

/* The scale of one matrix of one expert of a layer, 64 times as large, with right sums of the payload, header and
 * table: a store that was built wrongly. */
static void break_weight(const char *store, int32_t expert, int32_t layer)
{
    geodec_err err = {0};
    geodec_trit_table t = {0};
    geodec_trit f = {.fd = -1};
    geodec_trit_writer *w = NULL;
    char *path = NULL;
    test_ok(geodec_trit_table_read(store, &t, &err), &err);
    test_ok(geodec_trit_table_expert(&t, store, expert, &f, &err), &err);
    test_ok(geodec_trit_table_path(store, expert, -1, &path, &err), &err);
    uint8_t *blob = geodec_mem_new(f.stride, 1);
    test_ok(geodec_trit_writer_create(path, &t.shape, expert, &w, &err), &err);
    for (int32_t k = 0; k < t.shape.layers; k++) {
        geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
        test_ok(geodec_trit_read(&f, t.layer[k], blob, &err), &err);
        geodec_trit_matrices(&t.shape, blob, m);
        if (t.layer[k] == layer) m[2].scale *= 64;
        test_ok(geodec_trit_writer_blob(w, t.layer[k], m, &err), &err);
    }
    test_ok(geodec_trit_writer_commit(w, &err), &err);
    geodec_trit_close(&f);
    test_ok(geodec_trit_open(path, &f, &err), &err);
    t.crc[expert] = f.header_crc;
    t.n_edges = 0; /* their sums are of the expert before */
    test_ok(geodec_trit_table_write(store, &t, &err), &err);
    geodec_trit_close(&f);
    geodec_trit_table_clear(&t);
    geodec_mem_free(path);
    geodec_mem_free(blob);
}

/* Other forms pass with a tolerance and fail without; a wrong weight fails in both, whether its sums tell or not. */
Test(ternary_store, golden_logits_within_a_tolerance)
{
    const synthetic s = shape_of("post", GEODEC_GGML_F16, 0.1F);
    const char *store = store_of(model_of(&s), GEODEC_TERNARY_BASE3, false);
    double error[GEODEC_STREAMED_TERNARY_KINDS], e;
    bool golden = false;
    for (int form = 0; form < GEODEC_STREAMED_TERNARY_KINDS; form++) {
        const geodec_status st = golden_within(store, form, 0, &error[form], &golden);
        cr_assert_eq(st, form == GEODEC_STREAMED_TERNARY_EXACT ? GEODEC_OK : GEODEC_CHECK);
        cr_assert(golden);
        cr_assert_eq(golden_within(store, form, error[form], &e, &golden), GEODEC_OK);
        cr_assert_eq(e, error[form]);
        if (form > 0) cr_assert_eq(golden_within(store, form, 0.99 * error[form], &e, &golden), GEODEC_CHECK);
    }
    /* other sums of float32: rounding; inputs in 8 bits: some percent, and other experts may be chosen */
    cr_assert(error[0] == 0 && error[1] > 0 && error[1] < 1e-3 && error[2] > 10 * error[1] && error[2] < 3, "%g %g",
              error[1], error[2]);
    /* an expert that the prompt uses: all of them, one by one */
    int found = 0;
    for (int32_t k = 0; k < EXPERTS; k++) {
        store = store_of(model_of(&s), GEODEC_TERNARY_BASE3, false);
        break_weight(store, k, 1);
        const geodec_status st = golden_within(store, GEODEC_STREAMED_TERNARY_EXACT, 0, &e, &golden);
        cr_assert(st == GEODEC_OK || st == GEODEC_CHECKSUM);
        for (int form = 0; form < GEODEC_STREAMED_TERNARY_KINDS; form++)
            cr_assert_eq(golden_within(store, form, 1e6, &e, &golden), st);
        found += st == GEODEC_CHECKSUM;
    }
    cr_assert(found >= 2, "%d", found);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void assert_refused(const char *gguf, const char *what)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    char line[1024];
    test_ok(geodec_model_open(gguf, &m, &err), &err);
    const geodec_ternary_build o = {.encoding = GEODEC_TERNARY_BASE3, .differences = true};
    cr_assert_eq(geodec_ternary_store_build(m, &o, test_tmp("refused.trits"), NULL, NULL, &err), GEODEC_UNSUPPORTED);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, what), "%s", line);
    geodec_model_close(m);
    cr_assert(!geodec_trit_table_is(test_tmp("refused.trits")));
}

Test(ternary_store, models_that_are_not_ternary_are_refused)
{
    synthetic s = shape_of("pre", GEODEC_GGML_F32, 0);
    assert_refused(model_of(&s), "layer 0, expert 0: matrix 'gate' is not ternary: row 0, column 1");
    s = shape_of("pre", GEODEC_GGML_F32, 0.1F);
    s.lattice[0] = 0;
    assert_refused(model_of(&s), "no lattice");
    s.n_expert = s.n_expert_used = 0;
    s.route = s.route_at = NULL;
    s.ternary = 0;
    assert_refused(model_of(&s), "no experts");
}

Test(ternary_store, only_ternary_experts_have_other_products)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    const synthetic s = shape_of("pre", GEODEC_GGML_F32, 0.1F);
    test_ok(geodec_model_open(model_of(&s), &m, &err), &err);
    cr_assert_eq(
        geodec_streamed_begin(m, &(geodec_streaming){.slots = 4, .ternary = GEODEC_STREAMED_TERNARY_INT8}, &err),
        GEODEC_UNSUPPORTED);
    geodec_model_close(m);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static int64_t size_of(const char *path)
{
    struct stat s;
    cr_assert_eq(stat(path, &s), 0);
    return (int64_t)s.st_size;
}

static void flip(const char *path, int64_t byte, int bit)
{
    uint8_t b;
    FILE *f = fopen(path, "r+b");
    cr_assert(f && fseek(f, (long)byte, SEEK_SET) == 0 && fread(&b, 1, 1, f) == 1);
    b = (uint8_t)(b ^ 1u << bit);
    cr_assert(fseek(f, (long)byte, SEEK_SET) == 0 && fwrite(&b, 1, 1, f) == 1 && fclose(f) == 0);
}

/* Decodes with all experts in memory, so that every blob is read, or with many differences. */
static geodec_status decode(const char *store, bool always, int32_t *token, geodec_err *err)
{
    const geodec_streaming how = {.slots = always ? 12 : 32,
                                  .differences =
                                      always ? GEODEC_STREAMED_DIFFERENCES_ALWAYS : GEODEC_STREAMED_DIFFERENCES_OFF,
                                  .check_differences = true};
    return matrix_decode(store, &how, NULL, TOKENS, token, NULL, NULL, NULL, err);
}

/* A run either fails, or reads nothing of what was damaged and has the right tokens. */
static void assert_found(const char *store, const char *path, int64_t byte, int bit, const int32_t *expected,
                         int64_t *failed)
{
    int32_t token[TOKENS];
    char line[1024];
    geodec_err err = {0};
    flip(path, byte, bit);
    cr_assert(geodec_ternary_store_verify(store, NULL, &err) != GEODEC_OK, "%s: byte %lld, bit %d", path,
              (long long)byte, bit);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, strrchr(path, '/') + 1), "%s: %s", path, line);
    geodec_err_clear(&err);
    const geodec_status st = decode(store, strstr(path, ".trd") != NULL, token, &err);
    if (st == GEODEC_OK)
        cr_assert(memcmp(token, expected, sizeof token) == 0, "%s: byte %lld, bit %d", path, (long long)byte, bit);
    else
        ++*failed;
    flip(path, byte, bit);
}

Test(ternary_store, flipped_bits_are_found, .timeout = 300)
{
    static const char *const files[] = {GEODEC_TRIT_TABLE_NAME, "expert_003.trit", "delta_002_003.trd"};
    int32_t expected[TOKENS];
    int64_t failed = 0;
    const synthetic s = shape_of("post", GEODEC_GGML_F16, 0.02F);
    const char *gguf = model_of(&s);
    geodec_mem_free(logits_of(gguf, NULL, NULL, expected, NULL));
    const char *store = store_of(gguf, GEODEC_TERNARY_BASE3, false);
    for (int i = 0; i < 3; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", store, files[i]);
        const int64_t size = size_of(path);
        /* parts that are used, and unused bytes */
        for (int64_t byte = i; byte < size; byte += byte < 512 ? 13 : size / 23)
            assert_found(store, path, byte, (int)(byte % 8), expected, &failed);
    }
    cr_assert(failed > 40, "%lld", (long long)failed);
    geodec_err err = {0};
    test_ok(geodec_ternary_store_verify(store, NULL, &err), &err);
}

/* Files of another model with the same sizes, of another expert, cut off, or not there. */
Test(ternary_store, files_that_do_not_belong_are_refused)
{
    static const char *const files[] = {GEODEC_TRIT_TABLE_NAME, GEODEC_TRIT_RESIDENT_NAME, "expert_003.trit",
                                        "delta_002_003.trd"};
    geodec_model *m = NULL;
    char path[4096], kept[4096], other[4096];
    synthetic s = shape_of("post", GEODEC_GGML_F16, 0.02F);
    const char *store = store_of(model_of(&s), GEODEC_TERNARY_BASE3, false);
    (void)snprintf(kept, sizeof kept, "%s.kept", store);
    for (int i = 0; i < 4; i++) {
        geodec_err err = {0};
        (void)snprintf(path, sizeof path, "%s/%s", store, files[i]);
        const int64_t size = size_of(path);
        for (int k = 1; k < 4; k++) {
            char command[9000];
            (void)snprintf(command, sizeof command, "cp '%s' '%s'", path, kept);
            cr_assert_eq(system(command), 0);
            cr_assert_eq(truncate(path, (off_t)(size * k / 4)), 0);
            geodec_err_clear(&err);
            cr_assert(geodec_ternary_store_verify(store, NULL, &err) != GEODEC_OK);
            cr_assert(geodec_model_open(store, &m, &err) != GEODEC_OK);
            cr_assert_eq(rename(kept, path), 0);
        }
        cr_assert_eq(rename(path, kept), 0);
        geodec_err_clear(&err);
        cr_assert(geodec_ternary_store_verify(store, NULL, &err) != GEODEC_OK);
        cr_assert(geodec_model_open(store, &m, &err) != GEODEC_OK);
        cr_assert_eq(rename(kept, path), 0);
    }
    /* experts in each other's place */
    geodec_err err = {0};
    (void)snprintf(path, sizeof path, "%s/expert_003.trit", store);
    (void)snprintf(other, sizeof other, "%s/expert_004.trit", store);
    cr_assert(rename(path, kept) == 0 && rename(other, path) == 0 && rename(kept, other) == 0);
    cr_assert_eq(geodec_model_open(store, &m, &err), GEODEC_CHECKSUM);
    cr_assert(rename(path, kept) == 0 && rename(other, path) == 0 && rename(kept, other) == 0);
    /* an expert of another model */
    cr_assert_eq(rename(path, kept), 0);
    s.seed++;
    const char *second = store_of(model_of(&s), GEODEC_TERNARY_BASE3, false);
    cr_assert_str_eq(second, store);
    geodec_err_clear(&err);
    test_ok(geodec_ternary_store_verify(store, NULL, &err), &err);
    cr_assert_eq(rename(kept, path), 0);
    cr_assert_eq(geodec_model_open(store, &m, &err), GEODEC_CHECKSUM);
    char line[1024];
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, "expert_003.trit") && strstr(line, "of model"), "%s", line);
}

/* A build ends without the table, or with all of it. */
Test(ternary_store, an_interrupted_build_leaves_no_table)
{
    const synthetic s = shape_of("post", GEODEC_GGML_F16, 0.02F);
    const char *gguf = model_of(&s);
    geodec_err err = {0};
    geodec_model *m = NULL;
    const char *folder = store_of(gguf, GEODEC_TERNARY_BASE3, false);
    test_ok(geodec_model_open(gguf, &m, &err), &err);
    const geodec_ternary_build o = {.encoding = GEODEC_TERNARY_BASE3, .differences = true};
    int64_t at = 1, failures = 0;
    for (geodec_status st = GEODEC_NOMEM; st != GEODEC_OK; at += 37) {
        geodec_mem_fail_after(at);
        st = geodec_ternary_store_build(m, &o, folder, NULL, NULL, &err);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_OK || st == GEODEC_NOMEM);
        cr_assert(st != GEODEC_OK || geodec_trit_table_is(folder));
        failures += st != GEODEC_OK;
        geodec_err_clear(&err);
    }
    cr_assert(failures > 3);
    test_ok(geodec_ternary_store_verify(folder, NULL, &err), &err);
    geodec_model_close(m);
}
