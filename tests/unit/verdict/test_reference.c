#include "io/table.h"
#include "lab/verdict/reference.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const geodec_field fields[] = {
    {"/eps", GEODEC_F64, "E", 0, "1", "lengths", 0},
    {"/place", GEODEC_I32, "N", 0, "1", "where", 0},
    {"/x", GEODEC_F64, "N", GEODEC_FIELD_NONFINITE, "1", "values", 0},
    {"/group/hit", GEODEC_F64, "N,E", 0, "1", "hits", 0},
    {"/more", GEODEC_F64, "N", GEODEC_FIELD_OPTIONAL, "1", "left out", 0},
};
static const geodec_attr attrs[] = {
    {"words", GEODEC_ATTR_STR, 0, "names, joined by commas"},
    {"count", GEODEC_ATTR_I64, 0, "a number"},
    {"extra", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "left out"},
};
static const geodec_kind kind = {.name = "sample",
                                 .major = 1,
                                 .minor = 0,
                                 .tool = "geodec-test",
                                 .purpose = "for tests",
                                 .fields = fields,
                                 .n_fields = 5,
                                 .attrs = attrs,
                                 .n_attrs = 3};
static const geodec_kind *const kinds[] = {&kind};
enum { N = 8, E = 3 };

static void make(void)
{
    geodec_artifact *a;
    geodec_err err = {0};
    const geodec_provenance p = {.tool = "geodec-test", .command_line = "geodec-test --all", .blas_core = ""};
    const double eps[E] = {0.005, 0.01, 0.02};
    const int32_t place[N] = {0, 0, 0, 0, 0, 0, 1, 1};
    const double x[N] = {-6, 2, 3, -4, 5, 1, NAN, 0};
    double hit[N * E];
    for (int k = 0; k < N * E; k++) hit[k] = k;
    test_ok(geodec_artifact_create(&kind, test_tmp("s.h5"), &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "E", E, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "N", N, &err), &err);
    test_ok(geodec_artifact_write(a, "/eps", eps, &err), &err);
    test_ok(geodec_artifact_write(a, "/place", place, &err), &err);
    test_ok(geodec_artifact_write(a, "/x", x, &err), &err);
    test_ok(geodec_artifact_write(a, "/group/hit", hit, &err), &err);
    test_ok(geodec_artifact_put_str(a, "words", "bigram,ngram,flowmap,more,a,b,c,d", &err), &err);
    test_ok(geodec_artifact_put_i64(a, "count", 7, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    FILE *f = fopen(test_tmp("t.tsv"), "w");
    fputs("name\tgamma\tspeed\nflowmap\t1\t1.5\nflowmap\t8\t2.5\nngram\t1\t1.25\nngram\t8\t-\nngram\t8."
          "0\t3\nlast\tauto\n",
          f);
    fclose(f);
    f = fopen(test_tmp("gone.h5.not-measured"), "w");
    fputs("two layers are too few\nmore\n", f);
    fclose(f);
    f = fopen(test_tmp("empty.tsv"), "w");
    fclose(f);
    f = fopen(test_tmp("damaged.h5"), "w");
    fputs("no artifact\n", f);
    fclose(f);
}

Test(reference, values_by_name_index_and_key)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"s.h5#count", "7"},
        {"s.h5#group/hit[2][1]", "7"},
        {"s.h5#group/hit[-1][-1]", "23"},
        {"s.h5#group/hit[2][eps=0.01]", "7"},
        {"s.h5#group/hit[words=flowmap][eps~0.018]", "8"},
        {"s.h5#x|count", "8"},
        {"s.h5#x|nonfinite", "1"},
        {"s.h5#x|nonzero", "7"},
        {"s.h5#x|max_finite", "5"},
        {"s.h5#x|max", "nan"},
        {"s.h5#x{place=0}|max", "5"},
        {"s.h5#x{place=0}|min", "-6"},
        {"s.h5#x{place=0}|sum", "1"},
        {"s.h5#x{place=0}|abs_median", "3.5"},
        {"s.h5#x{place=0}|abs_median_low", "1"},
        {"s.h5#x{place=0}|abs_median_high", "6"},
        {"s.h5#group/hit[1]|sum", "12"},
        {"s.h5#group/hit{place=1}|sum", "123"},
        {"t.tsv#speed{name=flowmap,gamma=8}", "2.5"},
        {"t.tsv#speed{name=flowmap,gamma~4}", "1.5"},
        {"t.tsv#speed{name=flowmap,gamma~4.6}", "2.5"},
        {"t.tsv#speed{name=flowmap,gamma~4.5}", "2.5"}, /* of two as near the larger */
        {"t.tsv#gamma{name=last}", "auto"},
        {"t.tsv#speed[2]", "1.25"},
    };
    make();
    geodec_references *r;
    geodec_err err = {0};
    char value[GEODEC_REFERENCE_MAX];
    test_ok(geodec_references_open(test_tmpdir(), kinds, 1, &r, &err), &err);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_ok(geodec_reference_read(r, cases[k].text, value, &err), &err);
        cr_assert_str_eq(value, cases[k].want, "%s: %s", cases[k].text, value);
    }
    geodec_references_close(r);
}

Test(reference, what_is_not_there_and_what_cannot_be)
{
    static const char *const missing[] = {"none.h5#x",
                                          "none.tsv#a{b=1}",
                                          "s.h5#more[0]",
                                          "s.h5#extra",
                                          "t.tsv#speed{name=none}",
                                          "t.tsv#speed{name=last,gamma~4}",
                                          "gone.h5#count",
                                          "s.h5#group/hit[0][eps=0.03]",
                                          "s.h5#group/hit[words=none][0]",
                                          "s.h5#x{place=1}|abs_median",
                                          "s.h5#x{place=9}|max"};
    static const char *const broken[] = {"s.h5#nothing",
                                         "s.h5#x",
                                         "s.h5#x[8]",
                                         "s.h5#group/hit[0]",
                                         "s.h5#x[-2]",
                                         "s.h5#x|mean",
                                         "s.h5#x[0",
                                         "s.h5",
                                         "s.h5#x{none=1}|max",
                                         "s.h5#x[none=1]",
                                         "s.h5#x[eps=0.01]",
                                         "t.tsv#none{name=last}",
                                         "t.tsv#speed{none=1}",
                                         "t.tsv#speed{name=ngram,gamma=8}", /* two rows */
                                         "t.tsv#speed{name=last}",          /* a short row */
                                         "t.tsv#speed[6]",
                                         "t.tsv#speed",
                                         "t.tsv#speed{name}",
                                         "t.tsv#speed{name=last}[0]",
                                         "t.tsv#speed{gamma~x}",
                                         "empty.tsv#a{b=1}",
                                         "damaged.h5#x[0]"};
    make();
    geodec_references *r;
    geodec_err err = {0};
    char value[GEODEC_REFERENCE_MAX];
    test_ok(geodec_references_open(test_tmpdir(), kinds, 1, &r, &err), &err);
    for (size_t k = 0; k < sizeof missing / sizeof *missing; k++)
        cr_assert_eq(geodec_reference_read(r, missing[k], value, NULL), GEODEC_NOTFOUND, "%s", missing[k]);
    for (size_t k = 0; k < sizeof broken / sizeof *broken; k++) {
        const geodec_status st = geodec_reference_read(r, broken[k], value, NULL);
        cr_assert(st != GEODEC_OK && st != GEODEC_NOTFOUND, "%s: %s", broken[k], geodec_status_name(st));
    }
    char line[400];
    geodec_err why = {0};
    cr_assert_eq(geodec_reference_read(r, "gone.h5#count", value, &why), GEODEC_NOTFOUND);
    cr_assert(strstr(geodec_err_line(&why, line, sizeof line), "two layers are too few"));
    /* a file next to the mark is an older one: the mark counts */
    FILE *f = fopen(test_tmp("s.h5.not-measured"), "w");
    fputs("too short\n", f);
    fclose(f);
    cr_assert_eq(geodec_reference_read(r, "s.h5#count", value, NULL), GEODEC_NOTFOUND);
    geodec_references_close(r);
}

Test(reference, tables_by_number_are_told)
{
    bool by_index;
    geodec_err err = {0};
    test_ok(geodec_reference_check("kv/kv.tsv#merged[142]", &by_index, &err), &err);
    cr_assert(by_index);
    test_ok(geodec_reference_check("kv/kv.tsv#merged{context=256}", &by_index, &err), &err);
    cr_assert(!by_index);
    test_ok(geodec_reference_check("a.h5#merged[142]", &by_index, &err), &err);
    cr_assert(!by_index);
}
