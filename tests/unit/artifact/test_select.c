/* SQL over artifacts and text tables: each value where its dimensions say, aggregates, the printed forms, refused
 * options, and short memory everywhere. */
#include "artifact/select.h"
#include "base/mem.h"
#include "sample.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static geodec_err err;
static const geodec_kind *const kinds[] = {&sample_kind};

/* The printed result, which is freed by the next call; *st the status. */
static const char *print(geodec_select o, const char *path, const char *query, geodec_status *st)
{
    static char *text;
    size_t n;
    free(text);
    text = NULL;
    FILE *out = open_memstream(&text, &n);
    o.kinds = kinds;
    o.n_kinds = 1;
    *st = geodec_select_print(&o, path, query ? 1 : 0, &query, out, NULL, &err);
    (void)fclose(out);
    return text;
}

/* The cells of the result, which are integers, without a header; returns their number. */
static int64_t cells(const char *over, const char *query, int64_t room, int64_t *cell)
{
    geodec_status st;
    int64_t n = 0;
    sample_write(&sample_kind, test_tmp("a.h5"));
    const char *at = print((geodec_select){.over = over, .bare = true}, test_tmp("a.h5"), query, &st);
    test_ok(st, &err);
    for (char *end; *at; at = end + 1, n++) {
        cr_assert_lt(n, room);
        cell[n] = (int64_t)strtod(at, &end);
        cr_assert(end != at && (*end == '\t' || *end == '\n'), "'%.20s'", at);
    }
    return n;
}

Test(select, long_form_puts_each_value_at_its_place)
{
    int64_t cell[SAMPLE_K * SAMPLE_N][5];
    cr_assert_eq(cells("K,N", "SELECT K, N, f64, f16, u8 FROM t", SAMPLE_K * SAMPLE_N * 5, cell[0]),
                 SAMPLE_K * SAMPLE_N * 5);
    for (int64_t i = 0; i < SAMPLE_K * SAMPLE_N; i++) {
        const int64_t k = i / SAMPLE_N, n = i % SAMPLE_N;
        cr_assert_eq(cell[i][0], k);
        cr_assert_eq(cell[i][1], n);
        cr_assert_eq(cell[i][2], sample_value(0, n * SAMPLE_K + k)); /* both dimensions, the other way round */
        cr_assert_eq(cell[i][3], sample_value(2, n));                /* the same all along K */
        cr_assert_eq(cell[i][4], sample_value(10, k));
    }
}

Test(select, arrays_and_their_elements)
{
    geodec_status st;
    int64_t cell[SAMPLE_K][SAMPLE_K + 2];
    /* of K,2,K the first axis is the rows; of the others both, the last or none is left */
    const char *query = "SELECT at(\"group/i32\", 1) AS a, at(\"group/i32\", 0, -1), scalar FROM t";
    cr_assert_eq(cells(NULL, query, SAMPLE_K * (SAMPLE_K + 2), cell[0]), SAMPLE_K * (SAMPLE_K + 2));
    for (int64_t k = 0; k < SAMPLE_K; k++) {
        for (int64_t j = 0; j < SAMPLE_K; j++) cr_assert_eq(cell[k][j], sample_value(4, (k * 2 + 1) * SAMPLE_K + j));
        cr_assert_eq(cell[k][SAMPLE_K], sample_value(4, k * 2 * SAMPLE_K + SAMPLE_K - 1));
        cr_assert_eq(cell[k][SAMPLE_K + 1], sample_value(11, 0));
    }
    const char *text = print((geodec_select){.rows = "0:0"}, test_tmp("a.h5"), "SELECT \"group/i32\" FROM t", &st);
    test_ok(st, &err);
    cr_assert_eq(strncmp(text, "group_i32_0_0\tgroup_i32_0_1\t", 28), 0, "%s", text);
    cr_assert(strstr(text, "\tgroup_i32_1_2"));
}

Test(select, aggregates_over_groups_equal_loops)
{
    int64_t cell[SAMPLE_K][4];
    const char *query = "SELECT K, sum(f64), count(*) FILTER (WHERE i64 % 2 = 0), median(f64) FROM t WHERE f64 > 50 "
                        "GROUP BY K ORDER BY min(rowid)";
    cr_assert_eq(cells("N,K", query, SAMPLE_K * 4, cell[0]), SAMPLE_K * 4);
    int64_t sum[SAMPLE_K] = {0}, even[SAMPLE_K] = {0}, below[SAMPLE_K] = {0}, all[SAMPLE_K] = {0};
    for (int64_t i = 0; i < SAMPLE_N * SAMPLE_K; i++) {
        const int64_t v = sample_value(0, i);
        if (v <= 50) continue;
        sum[i % SAMPLE_K] += v;
        all[i % SAMPLE_K]++;
        even[i % SAMPLE_K] += sample_value(3, i / SAMPLE_K) % 2 == 0;
    }
    for (int64_t g = 0; g < SAMPLE_K; g++) {
        const int64_t k = cell[g][0], median = cell[g][3];
        cr_assert_eq(cell[g][1], sum[k]);
        cr_assert_eq(cell[g][2], even[k]);
        for (int64_t i = k; i < SAMPLE_N * SAMPLE_K; i += SAMPLE_K)
            below[k] += sample_value(0, i) > 50 && sample_value(0, i) < median;
        cr_assert(below[k] < (all[k] + 1) / 2 && below[k] > all[k] / 2 - 25, "a median of %lld", (long long)median);
    }
}

static const char *file(const char *name, const char *text)
{
    const char *path = test_tmp(name);
    FILE *f = fopen(path, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

Test(select, text_tables_are_computed_joined_sorted_and_divided_into_blocks)
{
    geodec_status st;
    char also[256];
    const char *a = file("a.tsv", "name\tx\tkind\nb\t2\tp\na\t4\tq\nc\t1\tp\n");
    (void)snprintf(also, sizeof also, "b=%s", file("b.tsv", "name\ty\na\t10\nb\t20\nc\t30\n"));
    cr_assert_str_eq(print((geodec_select){0}, a, "SELECT name, x / 2.0 AS h FROM t ORDER BY name", &st),
                     "name\th\na\t2\nb\t1\nc\t0.5\n");
    test_ok(st, &err);
    cr_assert_str_eq(
        print((geodec_select){.also = also, .bare = true}, a, "SELECT * FROM t JOIN b USING (name) ORDER BY x", &st),
        "c\t1\tp\t30\nb\t2\tp\t20\na\t4\tq\t10\n");
    test_ok(st, &err);
    cr_assert_str_eq(print((geodec_select){.blocks = "kind"}, a, "SELECT * FROM t ORDER BY kind, rowid", &st),
                     "p\nb\t2\nc\t1\n\n\nq\na\t4\n");
    test_ok(st, &err);
    cr_assert_str_eq(print((geodec_select){.markdown = true}, a, "SELECT * FROM t WHERE x > 3", &st),
                     "| name | x | kind |\n|---|---|---|\n| a | 4 | q |\n");
    test_ok(st, &err);
    cr_assert_str_eq(print((geodec_select){.at_least = 4}, a, "*", &st), "");
    cr_assert_eq(st, GEODEC_SCARCE);
    geodec_err_clear(&err);
}

Test(select, options_that_do_not_go_together_are_refused)
{
    geodec_status st;
    const char *a = file("a.tsv", "name\tx\nb\t2\n");
    const geodec_select refused[] = {{.attrs = true},     {.also = "x"},
                                     {.over = "N"},       {.blocks = "name", .markdown = true},
                                     {.blocks = "other"}, {.gap = "other"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        (void)print(refused[i], a, "*", &st);
        cr_assert_eq(st, GEODEC_INVAL, "%zu", i);
        geodec_err_clear(&err);
    }
    (void)print((geodec_select){0}, a, NULL, &st);
    cr_assert_eq(st, GEODEC_INVAL, "no column");
    geodec_err_clear(&err);
}

static int stop(void *calls, const char *what, int64_t done, int64_t total)
{
    (void)what;
    (void)done;
    (void)total;
    return ++*(int *)calls > 2;
}

Test(select, a_query_can_be_interrupted)
{
    int calls = 0;
    const geodec_hooks hooks = {.ctx = &calls, .progress = stop};
    const char *a = file("a.tsv", "x\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    const char *const query = "SELECT count(*) FROM t a, t b, t c, t d, t e, t f";
    cr_assert_eq(geodec_select_print(&(geodec_select){0}, a, 1, &query, stderr, &hooks, &err), GEODEC_INTERRUPTED);
    geodec_err_clear(&err);
}

Test(select, memory_shortage_is_an_error_everywhere)
{
    geodec_status st = GEODEC_NOMEM;
    int failures = 0;
    sample_write(&sample_kind, test_tmp("a.h5"));
    for (int64_t k = 1; st == GEODEC_NOMEM; k++) {
        geodec_mem_fail_after(k);
        (void)print((geodec_select){.over = "K", .gap = "K"}, test_tmp("a.h5"),
                    "SELECT K, @note, sum(u16), mean(newer), u8 FROM t WHERE u8 >= 0 GROUP BY K", &st);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_OK || st == GEODEC_NOMEM, "allocation %lld: %s", (long long)k, geodec_status_name(st));
        failures += st == GEODEC_NOMEM;
        geodec_err_clear(&err);
        cr_assert_lt(k, 1000);
    }
    cr_assert_gt(failures, 20);
}
