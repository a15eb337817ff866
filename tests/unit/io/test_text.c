/* Number format, TSV and JSON. */
#include "base/mem.h"
#include "base/rng.h"
#include "io/file.h"
#include "io/format.h"
#include "io/json.h"
#include "io/tsv.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static geodec_err err;

static char *slurp(const char *path)
{
    char *text = NULL;
    size_t n;
    test_ok(geodec_file_read(path, 1 << 20, &text, &n, &err), &err);
    return text;
}

static void spew(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    cr_assert_geq(fputs(text, f), 0);
    cr_assert_eq(fclose(f), 0);
}

Test(format, shortest_text_that_reads_back)
{
    char text[GEODEC_FORMAT_ROOM];
    cr_assert_str_eq(geodec_format_f64(0.1, text), "0.1");
    cr_assert_str_eq(geodec_format_f64(-3, text), "-3");
    cr_assert_str_eq(geodec_format_f64(1.0 / 3, text), "0.3333333333333333");
    cr_assert_str_eq(geodec_format_f64(5e-324, text), "5e-324");
    cr_assert_str_eq(geodec_format_f64(NAN, text), "nan");
    cr_assert_str_eq(geodec_format_f64(-INFINITY, text), "-inf");
    cr_assert_str_eq(geodec_format_f32(0.1f, text), "0.1");
    geodec_rng r = geodec_rng_stream(1, 1);
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = geodec_rng_u64(&r);
        double d;
        float f;
        memcpy(&d, &bits, sizeof d);
        memcpy(&f, &bits, sizeof f);
        if (isfinite(d)) cr_assert(strtod(geodec_format_f64(d, text), NULL) == d, "%s", text);
        if (isfinite(f)) cr_assert(strtof(geodec_format_f32(f, text), NULL) == f, "%s", text);
    }
}

Test(tsv, writes_header_and_rows_and_counts_cells)
{
    const char *path = test_tmp("t.tsv");
    geodec_tsv *t = NULL;
    test_ok(geodec_tsv_create(path, &t, &err), &err);
    test_ok(geodec_tsv_columns(t, 3, (const char *const[]){"n", "x", "name"}, &err), &err);
    geodec_tsv_i64(t, -1);
    geodec_tsv_f64(t, 0.25);
    geodec_tsv_str(t, "a\tb\nc");
    test_ok(geodec_tsv_end_row(t, &err), &err);
    geodec_tsv_u64(t, UINT64_MAX);
    geodec_tsv_f64(t, DBL_MAX);
    geodec_tsv_str(t, "");
    test_ok(geodec_tsv_end_row(t, &err), &err);
    cr_assert_eq(test_other_files(path), 1, "only the temporary file before commit");
    test_ok(geodec_tsv_finish(&t, &err), &err);
    cr_assert_null(t);
    char *text = slurp(path);
    cr_assert_str_eq(text, "n\tx\tname\n-1\t0.25\ta b c\n18446744073709551615\t1.7976931348623157e+308\t\n");
    geodec_mem_free(text);

    test_ok(geodec_tsv_create(test_tmp("u.tsv"), &t, &err), &err);
    cr_assert_eq(geodec_tsv_columns(t, 1, (const char *const[]){"a\tb"}, &err), GEODEC_INVAL);
    test_ok(geodec_tsv_columns(t, 2, (const char *const[]){"a", "b"}, &err), &err);
    geodec_tsv_i64(t, 1);
    cr_assert_eq(geodec_tsv_end_row(t, &err), GEODEC_INVAL);
    geodec_tsv_abandon(t);
    cr_assert_eq(test_other_files(path), 0);
}

Test(json, writer_is_exact_and_reader_reads_it)
{
    const char *path = test_tmp("t.json");
    geodec_json_writer *w = NULL;
    test_ok(geodec_json_create(path, &w, &err), &err);
    geodec_json_put_str(w, "text", "q\"\\\n\x01 \xc3\xa9 \xff");
    geodec_json_begin_array(w, "list");
    geodec_json_put_i64(w, NULL, INT64_MIN);
    geodec_json_put_f64(w, NULL, 0.1);
    geodec_json_put_f64(w, NULL, NAN);
    geodec_json_begin_object(w, NULL);
    geodec_json_end(w);
    geodec_json_end(w);
    geodec_json_begin_object(w, "inner");
    geodec_json_put_bool(w, "yes", true);
    geodec_json_put_u64(w, "big", UINT64_MAX);
    geodec_json_put_null(w, "none");
    geodec_json_end(w);
    test_ok(geodec_json_commit(w, &err), &err);
    char *text = slurp(path);
    cr_assert_str_eq(
        text, "{\n  \"text\": \"q\\\"\\\\\\n\\u0001 \xc3\xa9 ?\",\n  \"list\": [\n    -9223372036854775808,\n    0.1,\n"
              "    null,\n    {}\n  ],\n  \"inner\": {\n    \"yes\": true,\n    \"big\": 18446744073709551615,\n"
              "    \"none\": null\n  }\n}\n");
    geodec_mem_free(text);

    test_ok(geodec_json_create(test_tmp("u.json"), &w, &err), &err);
    geodec_json_put_i64(w, "a", 7);
    geodec_json_begin_array(w, "list");
    geodec_json_put_f64(w, NULL, 2);
    geodec_json_put_str(w, NULL, "x");
    geodec_json_end(w);
    test_ok(geodec_json_commit(w, &err), &err);
    geodec_json *root = NULL;
    test_ok(geodec_json_read(test_tmp("u.json"), 1000, &root, &err), &err);
    int64_t i;
    double d;
    const char *s;
    test_ok(geodec_json_get_i64(root, "a", &i, &err), &err);
    cr_assert_eq(i, 7);
    const geodec_json *list = geodec_json_member(root, "list");
    cr_assert_eq(geodec_json_length(list), 2);
    cr_assert_eq(geodec_json_length(root), -1);
    test_ok(geodec_json_get_f64(geodec_json_at(list, 0), NULL, &d, &err), &err);
    cr_assert_eq(d, 2.0);
    test_ok(geodec_json_get_str(geodec_json_at(list, 1), NULL, &s, &err), &err);
    cr_assert_str_eq(s, "x");
    cr_assert_null(geodec_json_at(list, 2));
    cr_assert_null(geodec_json_at(list, -1));
    cr_assert_eq(geodec_json_get_i64(root, "b", &i, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_json_get_str(root, "a", &s, &err), GEODEC_FORMAT);
    geodec_json_free(root);
}

Test(json, writer_refuses_misuse_and_leaves_nothing)
{
    const char *path = test_tmp("m.json");
    geodec_json_writer *w = NULL;
    for (int how = 0; how < 5; how++) {
        test_ok(geodec_json_create(path, &w, &err), &err);
        if (how == 0) geodec_json_put_i64(w, NULL, 1);
        if (how == 1) geodec_json_begin_array(w, "open");
        if (how == 2) geodec_json_begin_array(w, "a"), geodec_json_put_i64(w, "key", 1), geodec_json_end(w);
        if (how == 3) geodec_json_end(w), geodec_json_end(w);
        if (how == 4)
            for (int k = 0; k < 70; k++) geodec_json_begin_object(w, "deep");
        cr_assert_eq(geodec_json_commit(w, &err), GEODEC_INVAL, "case %d", how);
    }
    cr_assert_eq(test_other_files(path), 0);
    cr_assert_eq(geodec_json_create("/nonexistent/x.json", &w, &err), GEODEC_NOTFOUND);
}

Test(json, reader_refuses_with_file_and_line)
{
    const char *path = test_tmp("bad.json");
    static const struct {
        const char *text;
        geodec_status status;
        const char *where;
    } cases[] = {
        {"{\n  \"a\": 1,\n  \"a\": 2\n}", GEODEC_FORMAT, "bad.json:3"},
        {"{\n\"a\": }", GEODEC_FORMAT, "bad.json:2"},
        {"", GEODEC_FORMAT, "bad.json"},
        {"{\"a\": \"\xff\"}", GEODEC_FORMAT, "bad.json:1"},
        {"[1, 2] x", GEODEC_FORMAT, "bad.json:1"},
        {"{\"a\": 1e999}", GEODEC_FORMAT, "bad.json:1"},
    };
    char line[512], deep[300];
    geodec_json *root = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spew(path, cases[i].text);
        cr_assert_eq(geodec_json_read(path, 1000, &root, &err), cases[i].status, "case %zu", i);
        cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), cases[i].where), "case %zu: %s", i, line);
    }
    memset(deep, '[', 200);
    deep[200] = '\0';
    spew(path, deep);
    cr_assert_eq(geodec_json_read(path, 1000, &root, &err), GEODEC_LIMIT);
    cr_assert_eq(geodec_json_read(path, 100, &root, &err), GEODEC_LIMIT);
    cr_assert_null(root);
}
