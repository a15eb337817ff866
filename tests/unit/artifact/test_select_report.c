/* A text table through geodec_select_report_print: columns, joins, blocks, Markdown, too few rows. */
#include "artifact/select_report.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static geodec_err err;

static const char *file(const char *name, const char *text)
{
    const char *path = test_tmp(name);
    FILE *f = fopen(path, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
    return path;
}

/* The printed text, in a static buffer; *st the status. */
static const char *print(const geodec_select_report *o, const char *path, int n, const char *const *columns,
                         geodec_status *st)
{
    static char text[512];
    memset(text, 0, sizeof text);
    FILE *out = fmemopen(text, sizeof text - 1, "w");
    *st = geodec_select_report_print(o, path, n, columns, out, NULL, &err);
    (void)fclose(out);
    return text;
}

Test(select_report, columns_are_computed_joined_sorted_and_divided_into_blocks)
{
    geodec_status st;
    const char *a = file("a.tsv", "name\tx\tkind\nb\t2\tp\na\t4\tq\nc\t1\tp\n");
    const char *b = file("b.tsv", "name\ty\na\t10\nb\t20\nc\t30\n");
    const char *const half[] = {"name", "h=x/2"}, *const all[] = {"*"};
    geodec_select_report o = {.order = "name"};
    cr_assert_str_eq(print(&o, a, 2, half, &st), "name\th\na\t2\nb\t1\nc\t0.5\n");
    test_ok(st, &err);
    o = (geodec_select_report){.join = b, .keys = "name", .order = "x", .bare = true};
    cr_assert_str_eq(print(&o, a, 1, all, &st), "c\t1\tp\t30\nb\t2\tp\t20\na\t4\tq\t10\n");
    test_ok(st, &err);
    o = (geodec_select_report){.blocks = "kind", .bare = true};
    cr_assert_str_eq(print(&o, a, 1, all, &st), "p\nb\t2\nc\t1\n\n\nq\na\t4\n");
    test_ok(st, &err);
    o = (geodec_select_report){.markdown = true, .where = "x > 3"};
    cr_assert_str_eq(print(&o, a, 1, all, &st), "| name | x | kind |\n|---|---|---|\n| a | 4 | q |\n");
    test_ok(st, &err);
    o = (geodec_select_report){.at_least = 4};
    cr_assert_str_eq(print(&o, a, 1, all, &st), "");
    cr_assert_eq(st, GEODEC_SCARCE);
    geodec_err_clear(&err);
}

Test(select_report, options_that_do_not_go_together_are_refused)
{
    geodec_status st;
    const char *a = file("a.tsv", "name\tx\nb\t2\n"), *const all[] = {"*"};
    const geodec_select_report refused[] = {
        {.attrs = true}, {.join = a}, {.keys = "name"}, {.fill = "-"}, {.blocks = "name", .markdown = true},
        {.also = "x"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        (void)print(&refused[i], a, 1, all, &st);
        cr_assert_eq(st, GEODEC_INVAL, "%zu", i);
        geodec_err_clear(&err);
    }
    (void)print(&(geodec_select_report){0}, a, 0, NULL, &st);
    cr_assert_eq(st, GEODEC_INVAL, "no column");
    geodec_err_clear(&err);
}
