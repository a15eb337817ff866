#include "base/f16.h"
#include "base/mem.h"
#include "gguf/gguf.h"
#include "io/file.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- helpers ---------------------------------------------------------------------------------------------------- */

static void put_everything(const char *path)
{
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    const char *const words[] = {"a", "", "b\0c"};
    const size_t lengths[] = {1, 0, 3};
    const float floats[] = {1.5f, -2.0f};
    const int32_t ints[] = {-7, 8, 9};
    float data[64 * 3];
    for (int i = 0; i < 64 * 3; i++) data[i] = (float)(i - 90) / 7.0f;
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_gguf_put_str(w, "general.architecture", "llama", &err), &err);
    test_ok(geodec_gguf_put_u32(w, "n", 4294967295u, &err), &err);
    test_ok(geodec_gguf_put_f32(w, "eps", 1e-5f, &err), &err);
    test_ok(geodec_gguf_put_bool(w, "yes", true, &err), &err);
    test_ok(geodec_gguf_put_str_array(w, "words", words, lengths, 3, &err), &err);
    test_ok(geodec_gguf_put_f32_array(w, "floats", floats, 2, &err), &err);
    test_ok(geodec_gguf_put_i32_array(w, "ints", ints, 3, &err), &err);
    test_ok(geodec_gguf_put_i32_array(w, "empty", NULL, 0, &err), &err);
    test_ok(geodec_gguf_put_tensor(w, "z.f32", GEODEC_GGML_F32, 1, (const int64_t[]){5}, data, &err), &err);
    test_ok(geodec_gguf_put_tensor(w, "m.f16", GEODEC_GGML_F16, 2, (const int64_t[]){7, 3}, data, &err), &err);
    test_ok(geodec_gguf_put_tensor(w, "m.bf16", GEODEC_GGML_BF16, 3, (const int64_t[]){7, 3, 2}, data, &err), &err);
    test_ok(geodec_gguf_put_tensor(w, "a.q8_0", GEODEC_GGML_Q8_0, 2, (const int64_t[]){64, 3}, data, &err), &err);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
}

/* ---- round trips ------------------------------------------------------------------------------------------------ */

Test(gguf, keys_come_back)
{
    const char *path = test_tmp("all.gguf");
    put_everything(path);
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    int64_t i, n;
    double f;
    const char *s;
    size_t length;
    bool yes;
    cr_assert_str_eq(geodec_gguf_path(g), path);
    test_ok(geodec_gguf_get_i64(g, "n", &i, &err), &err);
    cr_assert_eq(i, 4294967295);
    test_ok(geodec_gguf_get_f64(g, "eps", &f, &err), &err);
    cr_assert_eq(f, (double)1e-5f);
    test_ok(geodec_gguf_get_bool(g, "yes", &yes, &err), &err);
    cr_assert(yes);
    test_ok(geodec_gguf_get_str(g, "general.architecture", &s, &err), &err);
    cr_assert_str_eq(s, "llama");
    test_ok(geodec_gguf_array_length(g, "words", &n, &err), &err);
    cr_assert_eq(n, 3);
    test_ok(geodec_gguf_array_str(g, "words", 2, &s, &length, &err), &err);
    cr_assert(length == 3 && memcmp(s, "b\0c", 3) == 0);
    float floats[2];
    int32_t ints[3];
    test_ok(geodec_gguf_array_f32(g, "floats", floats, 2, &err), &err);
    cr_assert(floats[0] == 1.5f && floats[1] == -2.0f);
    test_ok(geodec_gguf_array_i32(g, "ints", ints, 3, &err), &err);
    cr_assert(ints[0] == -7 && ints[2] == 9);
    test_ok(geodec_gguf_array_length(g, "empty", &n, &err), &err);
    cr_assert_eq(n, 0);
    cr_assert(geodec_gguf_has(g, "yes") && !geodec_gguf_has(g, "no"));

    cr_assert_eq(geodec_gguf_get_i64(g, "absent", &i, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_gguf_get_i64(g, "eps", &i, &err), GEODEC_FORMAT);
    test_ok(geodec_gguf_get_f64(g, "n", &f, &err), &err); /* any type of number, where the value fits */
    cr_assert_eq(f, 4294967295.0);
    test_ok(geodec_gguf_get_i64(g, "yes", &i, &err), &err);
    cr_assert_eq(i, 1);
    float same[3];
    test_ok(geodec_gguf_array_f32(g, "ints", same, 3, &err), &err);
    cr_assert(same[0] == -7.0f && same[2] == 9.0f);
    bool equal;
    test_ok(geodec_gguf_array_same(g, "ints", &i, &equal, &err), &err);
    cr_assert(!equal);
    cr_assert_eq(geodec_gguf_get_str(g, "n", &s, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_gguf_get_bool(g, "n", &yes, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_gguf_array_f32(g, "ints", floats, 2, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_gguf_array_f32(g, "floats", floats, 1, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_gguf_array_i32(g, "floats", ints, 2, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_gguf_array_str(g, "words", 3, &s, &length, &err), GEODEC_RANGE);
    char line[512];
    cr_assert_eq(geodec_gguf_get_i64(g, "absent", &i, &err), GEODEC_NOTFOUND);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, path) && strstr(line, "'absent'"), "%s", line);
    geodec_gguf_close(g);
}

Test(gguf, tensors_come_back_within_their_types)
{
    const char *path = test_tmp("tensors.gguf");
    put_everything(path);
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    cr_assert_eq(geodec_gguf_n_tensors(g), 4);
    cr_assert_str_eq(geodec_gguf_tensor_at(g, 0)->name, "z.f32");
    cr_assert_null(geodec_gguf_tensor_at(g, 4));
    cr_assert_null(geodec_gguf_find(g, "none"));
    static const struct {
        const char *name;
        int64_t n;
        float relative; /* half a unit in the last place of the type */
    } expect[] = {{"z.f32", 5, 0}, {"m.f16", 21, 0x1p-11f}, {"m.bf16", 42, 0x1p-8f}, {"a.q8_0", 192, 0}};
    for (size_t e = 0; e < sizeof expect / sizeof *expect; e++) {
        const geodec_gguf_tensor *t = geodec_gguf_find(g, expect[e].name);
        cr_assert_not_null(t);
        cr_assert_eq((uintptr_t)t->data % 32, 0);
        cr_assert_eq(t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3], expect[e].n);
        const geodec_ggml_traits *traits = geodec_ggml_traits_of(t->type);
        cr_assert_eq(t->bytes, geodec_ggml_bytes(traits, expect[e].n));
        float back[192];
        traits->decode(t->data, back, expect[e].n);
        for (int64_t i = 0; i < expect[e].n; i++) {
            const float x = (float)(i - 90) / 7.0f;
            /* Q8_0: half a step (amax/254) plus the scale's own rounding at full range */
            const float tolerance =
                t->type == GEODEC_GGML_Q8_0 ? 14.5f / 254 + 14.5f * 0x1p-11f : fabsf(x) * expect[e].relative;
            cr_assert_leq(fabsf(back[i] - x), tolerance, "%s[%d] %g for %g", t->name, (int)i, (double)back[i],
                          (double)x);
        }
    }
    geodec_gguf_close(g);
}

Test(gguf, same_input_gives_same_bytes)
{
    const char *a = test_tmp("a.gguf"), *b = test_tmp("b.gguf");
    char x[GEODEC_SHA256_HEX], y[GEODEC_SHA256_HEX];
    geodec_err err = {0};
    put_everything(a);
    put_everything(b);
    test_ok(geodec_file_sha256(a, x, &err), &err);
    test_ok(geodec_file_sha256(b, y, &err), &err);
    cr_assert_str_eq(x, y);
}

/* Closed form: ones and one exact maximum give scale 1/127 * amax and exact bytes. */
Test(gguf, q8_0_known_block)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(GEODEC_GGML_Q8_0);
    float x[32], back[32];
    unsigned char block[34];
    for (int i = 0; i < 32; i++) x[i] = (float)(i - 16) * 0.5f;
    x[0] = 63.5f; /* scale exactly 0.5 */
    t->encode(x, block, 32);
    cr_assert(block[0] == 0x00 && block[1] == 0x38); /* binary16 0.5 */
    cr_assert_eq((signed char)block[2], 127);
    cr_assert_eq((signed char)block[3], -15);
    t->decode(block, back, 32);
    cr_assert_arr_eq(back, x, sizeof x);
    memset(x, 0, sizeof x);
    t->encode(x, block, 32);
    t->decode(block, back, 32);
    cr_assert_arr_eq(back, x, sizeof x);
}

Test(gguf, fingerprint_follows_contents_not_keys)
{
    geodec_err err = {0};
    char hex[4][GEODEC_SHA256_HEX];
    const float data[2][4] = {{1, 2, 3, 4}, {1, 2, 3, 5}};
    for (int k = 0; k < 4; k++) {
        const char *path = test_tmp("fp.gguf");
        geodec_gguf_writer *w = NULL;
        geodec_gguf *g = NULL;
        test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
        if (k == 1) test_ok(geodec_gguf_put_u32(w, "other", 1, &err), &err);
        const float *x = data[k == 2];
        const int64_t dim[2] = {k == 3 ? 4 : 2, k == 3 ? 1 : 2};
        /* put in the other order in one case: the digest goes by name */
        test_ok(geodec_gguf_put_tensor(w, k == 1 ? "b" : "a", GEODEC_GGML_F32, 2, dim, x, &err), &err);
        test_ok(geodec_gguf_put_tensor(w, k == 1 ? "a" : "b", GEODEC_GGML_F32, 2, dim, x, &err), &err);
        test_ok(geodec_gguf_writer_commit(w, &err), &err);
        test_ok(geodec_gguf_open(path, &g, &err), &err);
        geodec_gguf_tensor_digest(g, hex[k]);
        geodec_gguf_close(g);
    }
    cr_assert_str_eq(hex[0], hex[1]);
    cr_assert_str_neq(hex[0], hex[2]);
    cr_assert_str_neq(hex[0], hex[3]);
}

Test(gguf, streamed_tensors_are_those_put_at_once)
{
    geodec_err err = {0};
    float data[64 * 3];
    for (int i = 0; i < 64 * 3; i++) data[i] = (float)(i - 90) / 7.0f;
    char hex[2][GEODEC_SHA256_HEX];
    const int64_t odd[] = {7, 3}, whole[] = {64, 3};
    const char *path[2] = {test_tmp("put.gguf"), test_tmp("streamed.gguf")};
    for (int k = 0; k < 2; k++) {
        geodec_gguf_writer *w = NULL;
        test_ok(geodec_gguf_writer_create(path[k], &w, &err), &err);
        test_ok(geodec_gguf_put_u32(w, "n", 1, &err), &err);
        if (k == 0) {
            test_ok(geodec_gguf_put_tensor(w, "a", GEODEC_GGML_F32, 2, odd, data, &err), &err);
            test_ok(geodec_gguf_put_tensor(w, "b", GEODEC_GGML_F32, 2, whole, data, &err), &err);
        } else {
            test_ok(geodec_gguf_plan_tensor(w, "a", GEODEC_GGML_F32, 2, odd, &err), &err);
            test_ok(geodec_gguf_plan_tensor(w, "b", GEODEC_GGML_F32, 2, whole, &err), &err);
            cr_assert_eq(geodec_gguf_put_tensor(w, "c", GEODEC_GGML_F32, 2, odd, data, &err), GEODEC_INVAL);
            char both[(21 + 192) * 4]; /* pieces that cross the tensors' ends */
            memcpy(both, data, (size_t)21 * 4);
            memcpy(both + (size_t)21 * 4, data, sizeof data);
            for (size_t at = 0; at < sizeof both; at += 50) {
                const size_t n = sizeof both - at < 50 ? sizeof both - at : 50;
                test_ok(geodec_gguf_stream(w, both + at, n, &err), &err);
            }
            cr_assert_eq(geodec_gguf_stream(w, both, 1, &err), GEODEC_INVAL);
            cr_assert_eq(geodec_gguf_put_u32(w, "late", 1, &err), GEODEC_INVAL);
            cr_assert_eq(geodec_gguf_plan_tensor(w, "late", GEODEC_GGML_F32, 2, odd, &err), GEODEC_INVAL);
        }
        test_ok(geodec_gguf_writer_commit(w, &err), &err);
    }
    for (int k = 0; k < 2; k++) {
        geodec_gguf *g = NULL;
        test_ok(geodec_gguf_open(path[k], &g, &err), &err);
        geodec_gguf_tensor_digest(g, hex[k]);
        geodec_gguf_close(g);
    }
    cr_assert_str_eq(hex[0], hex[1]);
    geodec_gguf_writer *w = NULL; /* too short */
    test_ok(geodec_gguf_writer_create(test_tmp("short.gguf"), &w, &err), &err);
    test_ok(geodec_gguf_plan_tensor(w, "a", GEODEC_GGML_F32, 2, odd, &err), &err);
    test_ok(geodec_gguf_stream(w, data, 20, &err), &err);
    cr_assert_eq(geodec_gguf_writer_commit(w, &err), GEODEC_INVAL);
    cr_assert_neq(access(test_tmp("short.gguf"), F_OK), 0);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

Test(gguf, writer_refuses)
{
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    const char *path = test_tmp("refused.gguf");
    const float nan_data[32] = {NAN}, big[32] = {65520.0f}, good[32] = {1};
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_gguf_put_u32(w, "k", 1, &err), &err);
    cr_assert_eq(geodec_gguf_put_f32(w, "k", 1, &err), GEODEC_EXISTS);
    cr_assert_eq(geodec_gguf_put_u32(w, "", 1, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_gguf_put_tensor(w, "t", GEODEC_GGML_F32, 1, (const int64_t[]){32}, nan_data, &err),
                 GEODEC_NUMERIC);
    cr_assert_eq(geodec_gguf_put_tensor(w, "t", GEODEC_GGML_F16, 1, (const int64_t[]){32}, big, &err), GEODEC_NUMERIC);
    cr_assert_eq(geodec_gguf_put_tensor(w, "t", GEODEC_GGML_Q8_0, 1, (const int64_t[]){31}, good, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_gguf_put_tensor(w, "t", GEODEC_GGML_Q2_K, 1, (const int64_t[]){32}, good, &err),
                 GEODEC_UNSUPPORTED);
    cr_assert_eq(geodec_gguf_put_tensor(w, "t", GEODEC_GGML_F32, 5, (const int64_t[]){1, 1, 1, 1, 1}, good, &err),
                 GEODEC_INVAL);
    cr_assert_eq(geodec_gguf_put_tensor(w, "t", GEODEC_GGML_F32, 2, (const int64_t[]){INT64_MAX, 2}, good, &err),
                 GEODEC_INVAL);
    test_ok(geodec_gguf_put_tensor(w, "t", GEODEC_GGML_F32, 1, (const int64_t[]){32}, good, &err), &err);
    cr_assert_eq(geodec_gguf_put_tensor(w, "t", GEODEC_GGML_F32, 1, (const int64_t[]){32}, good, &err), GEODEC_EXISTS);
    geodec_gguf_writer_abandon(w);
    cr_assert_neq(access(path, F_OK), 0);
}

/* Every truncation of a good file is refused, and so is every file with one byte of its head changed to a value that
 * breaks a length: the reader must come back with a status, never crash (the sanitizer build watches). */
Test(gguf, every_truncation_is_refused)
{
    const char *path = test_tmp("whole.gguf"), *cut = test_tmp("cut.gguf");
    put_everything(path);
    geodec_err err = {0};
    geodec_file_map map;
    test_ok(geodec_file_map_open(path, &map, &err), &err);
    for (size_t n = 0; n < map.size; n += n < 900 ? 1 : 37) {
        FILE *f = fopen(cut, "wb");
        cr_assert_eq(fwrite(map.data, 1, n, f), n);
        cr_assert_eq(fclose(f), 0);
        geodec_gguf *g = NULL;
        const geodec_status st = geodec_gguf_open(cut, &g, &err);
        /* the padding after the last tensor is not used */
        cr_assert(st != GEODEC_OK || n >= map.size - 32, "%zu of %zu bytes accepted", n, map.size);
        cr_assert(st == GEODEC_OK || st == GEODEC_FORMAT, "%s at %zu", geodec_status_name(st), n);
        geodec_gguf_close(g);
    }
    geodec_file_map_close(&map);
}

Test(gguf, every_flipped_head_byte_ends_in_a_status)
{
    const char *path = test_tmp("whole2.gguf"), *bad = test_tmp("flip.gguf");
    put_everything(path);
    geodec_err err = {0};
    geodec_file_map map;
    int refused = 0;
    test_ok(geodec_file_map_open(path, &map, &err), &err);
    unsigned char *copy = geodec_mem_new((int64_t)map.size, 1);
    const size_t head = map.size < 640 ? map.size : 640;
    for (size_t at = 0; at < head; at++)
        for (int v = 0; v < 3; v++) {
            memcpy(copy, map.data, map.size);
            copy[at] = (unsigned char)(v == 0 ? copy[at] ^ 0xffu : v == 1 ? copy[at] ^ 0x80u : copy[at] + 1u);
            FILE *f = fopen(bad, "wb");
            cr_assert_eq(fwrite(copy, 1, map.size, f), map.size);
            cr_assert_eq(fclose(f), 0);
            geodec_gguf *g = NULL;
            if (geodec_gguf_open(bad, &g, &err) == GEODEC_OK) {
                char hex[GEODEC_SHA256_HEX];
                geodec_gguf_tensor_digest(g, hex); /* touches every byte of every tensor */
            } else {
                refused++;
                cr_assert_null(g);
            }
            geodec_gguf_close(g);
        }
    cr_assert_gt(refused, 300);
    geodec_mem_free(copy);
    geodec_file_map_close(&map);
}

Test(gguf, allocation_failures_are_clean)
{
    const char *path = test_tmp("alloc.gguf");
    put_everything(path);
    geodec_err err = {0};
    for (int64_t k = 1;; k++) {
        geodec_gguf *g = NULL;
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_gguf_open(path, &g, &err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) {
            geodec_gguf_close(g);
            cr_assert_gt(k, 10);
            break;
        }
        cr_assert_eq(st, GEODEC_NOMEM);
        cr_assert_null(g);
    }
}

Test(gguf, missing_file)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    cr_assert_eq(geodec_gguf_open(test_tmp("not-there.gguf"), &g, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_status_exit(GEODEC_NOTFOUND), 1);
}

/* ---- files of another writer ------------------------------------------------------------------------------------ */

/* A tiny model as numpy wrote it (tests/golden/make): keys of every kind, and a tensor against the peer's reading of it
 * by way of the logits (test_golden.c of model). */
Test(gguf, reads_what_numpy_wrote)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    const char *s;
    int64_t v;
    double f;
    bool flag;
    test_ok(geodec_gguf_open(test_golden("models/tiny-gemma3.gguf"), &g, &err), &err);
    test_ok(geodec_gguf_get_str(g, "general.architecture", &s, &err), &err);
    cr_assert_str_eq(s, "gemma3");
    test_ok(geodec_gguf_get_i64(g, "gemma3.attention.sliding_window_pattern", &v, &err), &err);
    cr_assert_eq(v, 3);
    test_ok(geodec_gguf_get_f64(g, "gemma3.rope.scaling.factor", &f, &err), &err);
    cr_assert_eq(f, 8);
    test_ok(geodec_gguf_get_bool(g, "tokenizer.ggml.add_space_prefix", &flag, &err), &err);
    cr_assert_not(flag);
    test_ok(geodec_gguf_array_length(g, "tokenizer.ggml.tokens", &v, &err), &err);
    const geodec_gguf_tensor *t = geodec_gguf_find(g, "token_embd.weight"),
                             *k = geodec_gguf_find(g, "blk.3.attn_k.weight");
    cr_assert(t && k && t->type == GEODEC_GGML_F32);
    cr_assert(t->dim[0] == 24 && t->dim[1] == v && k->dim[0] == 24 && k->dim[1] == 12);
    geodec_gguf_close(g);
}

Test(gguf, reads_the_shared_models)
{
    static const char *const names[] = {"models/stories260K-f32.gguf", "models/stories260K-ff192-q8_0.gguf",
                                        "models/stories-moe8x2-f16.gguf", "models/vocab/ggml-vocab-llama-spm.gguf",
                                        "models/stories-moe8x2-rot256-q4_k_m.gguf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = test_shared(names[i]);
        geodec_err err = {0};
        geodec_gguf *g = NULL;
        const char *arch;
        test_ok(geodec_gguf_open(path, &g, &err), &err);
        test_ok(geodec_gguf_get_str(g, "general.architecture", &arch, &err), &err);
        cr_assert_str_eq(arch, "llama");
        geodec_gguf_close(g);
    }
}

/* A file with an unsupported tensor type opens for its keys; reading the values gives an error with tensor and type. */
Test(gguf, names_the_unsupported_type)
{
    const char *path = test_tmp("unsupported.gguf");
    geodec_err err = {0};
    geodec_gguf_writer *w = NULL;
    const float data[64] = {1, 2, 3};
    test_ok(geodec_gguf_writer_create(path, &w, &err), &err);
    test_ok(geodec_gguf_put_u32(w, "answer", 42, &err), &err);
    test_ok(geodec_gguf_put_tensor(w, "first", GEODEC_GGML_F32, 1, (const int64_t[]){64}, data, &err), &err);
    test_ok(geodec_gguf_put_tensor(w, "last", GEODEC_GGML_F32, 1, (const int64_t[]){64}, data, &err), &err);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);

    /* the entry of "first": name, u32 dimensions, one u64, then the type */
    FILE *f = fopen(path, "r+b");
    cr_assert(f);
    char head[256];
    const size_t n = fread(head, 1, sizeof head, f);
    const char *entry = memmem(head, n, "first", 5);
    cr_assert(entry);
    cr_assert_eq(fseek(f, entry - head + 5 + 4 + 8, SEEK_SET), 0);
    cr_assert_eq(fwrite(&(const uint32_t){15}, 4, 1, f), 1);
    cr_assert_eq(fclose(f), 0);

    geodec_gguf *g = NULL;
    int64_t answer;
    char line[512];
    test_ok(geodec_gguf_open(path, &g, &err), &err);
    test_ok(geodec_gguf_get_i64(g, "answer", &answer, &err), &err);
    cr_assert_eq(answer, 42);
    cr_assert_eq(geodec_gguf_find(g, "first")->bytes, 256); /* all up to the next tensor */
    cr_assert_eq(geodec_gguf_check_types(g, &err), GEODEC_UNSUPPORTED);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert(strstr(line, "'first'") && strstr(line, "Q8_K"), "%s", line);
    geodec_gguf_close(g);
}

/* ---- a part of a file ------------------------------------------------------------------------------------------- */

Test(gguf, is_read_and_written_as_a_part_of_a_file)
{
    geodec_err err = {0};
    geodec_atomic *file = NULL;
    geodec_gguf_writer *w = NULL;
    geodec_gguf *g = NULL;
    static const uint8_t page[4096];
    const char *path = test_tmp("part.bin");
    const int64_t dim[1] = {64};
    float x[64];
    for (int i = 0; i < 64; i++) x[i] = (float)i;
    test_ok(geodec_atomic_open(path, &file, &err), &err);
    test_ok(geodec_atomic_write(file, page, sizeof page, &err), &err);
    test_ok(geodec_gguf_writer_embed(file, "part", &w, &err), &err);
    test_ok(geodec_gguf_put_str(w, "general.name", "inner", &err), &err);
    test_ok(geodec_gguf_put_tensor(w, "x", GEODEC_GGML_F32, 1, dim, x, &err), &err);
    test_ok(geodec_gguf_writer_commit(w, &err), &err);
    const int64_t n = (int64_t)ftell(geodec_atomic_stream(file)) - 4096;
    test_ok(geodec_gguf_writer_embed(file, "part", &w, &err), &err);
    geodec_gguf_writer_abandon(w); /* leaves the file */
    test_ok(geodec_atomic_write(file, page, sizeof page, &err), &err);
    test_ok(geodec_atomic_commit(file, &err), &err);

    test_ok(geodec_gguf_open_part(path, 4096, n, &g, &err), &err);
    const char *name;
    test_ok(geodec_gguf_get_str(g, "general.name", &name, &err), &err);
    cr_assert_str_eq(name, "inner");
    const geodec_gguf_tensor *t = geodec_gguf_find(g, "x");
    cr_assert_eq(memcmp(t->data, x, sizeof x), 0);
    geodec_gguf_release_all(g, t->data, t->bytes);
    geodec_gguf_release(g, t->data, t->bytes);
    cr_assert_eq(memcmp(t->data, x, sizeof x), 0);
    cr_assert_eq(geodec_gguf_offset(g, t->data), 4096 + n - (int64_t)sizeof x);
    cr_assert_eq(geodec_gguf_offset(g, x), -1);
    cr_assert_eq(geodec_gguf_file_bytes(g), n);
    geodec_gguf_close(g);
    cr_assert_eq(geodec_gguf_open_part(path, 4096, n - 1, &g, &err), GEODEC_FORMAT); /* ends inside the tensor */
    cr_assert_eq(geodec_gguf_open_part(path, 4096, n + 4097, &g, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_gguf_open_part(path, INT64_MAX - 4095, 4096, &g, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_gguf_open_part(path, 8192, 0, &g, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_gguf_open_part(path, 100, n, &g, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_gguf_open_part(path, 4096, -1, &g, &err), GEODEC_INVAL);
}
