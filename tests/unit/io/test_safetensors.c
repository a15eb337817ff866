/* safetensors: written files are read; damaged headers are refused. */
#include "base/mem.h"
#include "io/safetensors.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const geodec_safetensor tensors[] = {{"a", GEODEC_F32, 2, {3, 2}},
                                            {"b", GEODEC_I32, 1, {5}},
                                            {"empty", GEODEC_I32, 2, {0, 4}},
                                            {"c", GEODEC_F16, 1, {3}}};
static const geodec_safetensors_meta meta[] = {{"format", "pt"}, {"who", "a \"test\""}};

static void write_file(const char *path)
{
    geodec_err err = {0};
    geodec_safetensors_writer *w = NULL;
    const float a[] = {1, 2, 3, 4, 5, 6};
    const int32_t b[] = {1, 2, 3, 4, -5};
    const uint16_t c[] = {0x3c00, 0x4000, 0xc000};
    test_ok(geodec_safetensors_create(path, tensors, 4, meta, 2, &w, &err), &err);
    test_ok(geodec_safetensors_put(w, 3, 0, 3, c, &err), &err); /* any order, any pieces */
    test_ok(geodec_safetensors_put(w, 0, 2, 4, a + 2, &err), &err);
    test_ok(geodec_safetensors_put(w, 0, 0, 2, a, &err), &err);
    test_ok(geodec_safetensors_put(w, 1, 0, 5, b, &err), &err);
    cr_assert_eq(geodec_safetensors_put(w, 1, 4, 2, b, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_safetensors_put(w, 4, 0, 1, b, &err), GEODEC_INVAL);
    test_ok(geodec_safetensors_commit(w, &err), &err);
}

Test(safetensors, round_trip)
{
    geodec_err err = {0};
    geodec_safetensors *s = NULL;
    float a[6];
    int32_t b[5];
    uint16_t c[3];
    write_file(test_tmp("t.safetensors"));
    test_ok(geodec_safetensors_open(test_tmp("t.safetensors"), &s, &err), &err);
    cr_assert_eq(geodec_safetensors_count(s), 4);
    cr_assert_str_eq(geodec_safetensors_text(s, "who"), "a \"test\"");
    cr_assert_null(geodec_safetensors_text(s, "whom"));
    cr_assert_eq(geodec_safetensors_find(s, "none"), -1);
    for (int i = 0; i < 4; i++) {
        const geodec_safetensor *t = geodec_safetensors_at(s, geodec_safetensors_find(s, tensors[i].name));
        cr_assert_eq(memcmp(t, &tensors[i], sizeof *t), 0, "%s", tensors[i].name);
    }
    test_ok(geodec_safetensors_read(s, geodec_safetensors_find(s, "a"), 0, 6, a, &err), &err);
    test_ok(geodec_safetensors_read(s, geodec_safetensors_find(s, "b"), 3, 2, b, &err), &err);
    test_ok(geodec_safetensors_read(s, geodec_safetensors_find(s, "c"), 0, 3, c, &err), &err);
    cr_assert(a[5] > 5 && a[5] < 7 && b[0] == 4 && b[1] == -5 && c[2] == 0xc000);
    cr_assert_eq(geodec_safetensors_read(s, 0, 5, 2, a, &err), GEODEC_RANGE);
    geodec_safetensors_close(s);
}

Test(safetensors, a_file_with_holes_is_not_committed)
{
    geodec_err err = {0};
    geodec_safetensors_writer *w = NULL;
    const int32_t b[] = {1, 2, 3, 4, 5};
    test_ok(geodec_safetensors_create(test_tmp("hole.safetensors"), tensors, 4, NULL, 0, &w, &err), &err);
    test_ok(geodec_safetensors_put(w, 1, 0, 5, b, &err), &err);
    cr_assert_eq(geodec_safetensors_commit(w, &err), GEODEC_INVAL);
    FILE *f = fopen(test_tmp("hole.safetensors"), "rb");
    cr_assert_null(f);
}

/* A file of this header and `data` bytes is refused with a message that has `word` in it. */
static void refused(const char *header, size_t data, geodec_status status, const char *word)
{
    geodec_err err = {0};
    geodec_safetensors *s = NULL;
    char line[600];
    const char *path = test_tmp("bad.safetensors");
    FILE *f = fopen(path, "wb");
    const size_t n = strlen(header);
    for (int i = 0; i < 8; i++) (void)fputc((int)(n >> (8 * i) & 0xffu), f);
    (void)fwrite(header, 1, n, f);
    for (size_t i = 0; i < data; i++) (void)fputc('x', f);
    (void)fclose(f);
    const geodec_status st = geodec_safetensors_open(path, &s, &err);
    (void)geodec_err_line(&err, line, sizeof line);
    cr_assert_eq(st, status, "%s: %s", header, line);
    cr_assert(strstr(line, word) && strstr(line, "bad.safetensors"), "%s: %s", header, line);
}

#define TENSOR(dtype, shape, begin, end)                                                                               \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

Test(safetensors, damaged_headers_are_refused)
{
    refused("{\"a\":" TENSOR("F32", "[2]", "0", "8") "}", 9, GEODEC_FORMAT, "9 bytes");
    refused("{\"a\":" TENSOR("F32", "[2]", "0", "8") "}", 7, GEODEC_FORMAT, "beyond the end");
    refused("{\"a\":" TENSOR("F32", "[3]", "0", "8") "}", 8, GEODEC_FORMAT, "do not hold");
    refused("{\"a\":" TENSOR("F32", "[1]", "4", "8") "}", 8, GEODEC_FORMAT, "begins at 4");
    refused("{\"a\":" TENSOR("F32", "[1]", "0", "4") ",\"b\":" TENSOR("I32", "[1]", "0", "4") "}", 4, GEODEC_FORMAT,
            "begins at 0");
    refused("{\"a\":" TENSOR("F32", "[-1]", "0", "4") "}", 4, GEODEC_FORMAT, "negative");
    refused("{\"a\":" TENSOR("F32", "[]", "0", "8") "}", 8, GEODEC_FORMAT, "shape");
    refused("{\"a\":" TENSOR("F32", "[4294967296,4294967296]", "0", "4") "}", 4, GEODEC_LIMIT, "too large");
    refused("{\"a\":" TENSOR("F32", "[1]", "0", "9223372036854775807") "}", 4, GEODEC_FORMAT, "do not hold");
    refused("{\"a\":7}", 0, GEODEC_NOTFOUND, "dtype");
    refused("{\"__metadata__\":{\"a\":1}}", 0, GEODEC_FORMAT, "is not text");
    refused("[]", 0, GEODEC_FORMAT, "not an object");
    refused("{", 0, GEODEC_FORMAT, "bad.safetensors");
    geodec_err err = {0};
    geodec_safetensors *s = NULL;
    FILE *f = fopen(test_tmp("huge.safetensors"), "wb");
    (void)fwrite("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 1, 10, f);
    (void)fclose(f);
    cr_assert_eq(geodec_safetensors_open(test_tmp("huge.safetensors"), &s, &err), GEODEC_LIMIT);
    f = fopen(test_tmp("short.safetensors"), "wb");
    (void)fwrite("\x04\0\0\0\0\0\0\0{}", 1, 10, f);
    (void)fclose(f);
    cr_assert_eq(geodec_safetensors_open(test_tmp("short.safetensors"), &s, &err), GEODEC_FORMAT);
}

/* Tensors that nobody reads may be of any type and shape. */
Test(safetensors, tensors_that_cannot_be_read_are_no_reason_to_refuse_a_file)
{
    geodec_err err = {0};
    geodec_safetensors *s = NULL;
    const char header[] =
        "{\"a\":" TENSOR("F8_E4M3", "[4]", "0", "4") ",\"b\":" TENSOR("BOOL", "[4]", "4", "8") ",\"c\":" TENSOR(
            "F32", "[]", "8", "12") ",\"d\":" TENSOR("U8", "[1,1,2,1,2]", "12", "16") "}";
    const char *path = test_tmp("odd.safetensors");
    FILE *f = fopen(path, "wb");
    for (int i = 0; i < 8; i++) (void)fputc((int)((sizeof header - 1) >> (8 * i) & 0xffu), f);
    (void)fwrite(header, 1, sizeof header - 1, f);
    (void)fwrite("xxxx\0\1\1\0yyyyzzzz", 1, 16, f);
    (void)fclose(f);
    test_ok(geodec_safetensors_open(path, &s, &err), &err);
    unsigned char v[4];
    cr_assert_eq(geodec_safetensors_read(s, 0, 0, 4, v, &err), GEODEC_UNSUPPORTED);
    geodec_err_clear(&err);
    test_ok(geodec_safetensors_read(s, 1, 0, 4, v, &err), &err);
    cr_assert(v[0] == 0 && v[1] == 1 && v[2] == 1 && v[3] == 0);
    cr_assert(geodec_safetensors_at(s, 2)->rank == 0 && !geodec_safetensors_at(s, 2)->refused[0]);
    cr_assert_str_eq(geodec_safetensors_at(s, 3)->refused, "5 axes");
    geodec_safetensors_close(s);
}
