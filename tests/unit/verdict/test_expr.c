#include "base/mem.h"
#include "lab/verdict/expr.h"
#include "lab/verdict/values.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static geodec_values some(void)
{
    static const char *const texts[][2] = {{"a", "2"}, {"b", "-3.5"}, {"n", "nan"}, {"i", "inf"}, {"m", "-"}};
    geodec_values v = {0};
    geodec_err err = {0};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        geodec_value *w;
        test_ok(geodec_values_add(&v, texts[k][0], &w, &err), &err);
        geodec_value_set(w, texts[k][1]);
    }
    return v;
}

static geodec_status value(const char *text, double *x)
{
    geodec_expr *e = NULL;
    geodec_values v = some();
    geodec_status st = geodec_expr_parse(text, &e, NULL);
    if (st == GEODEC_OK) st = geodec_expr_eval(e, geodec_values_lookup, &v, x, NULL);
    geodec_expr_free(e);
    return st;
}

Test(expr, values_follow_the_usual_precedence)
{
    static const struct {
        const char *text;
        double want;
    } cases[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"2 - 3 - 4", -5},
        {"8 / 4 / 2", 1},
        {"-a * -2", 4},
        {"--a", 2},
        {"a < 3", 1},
        {"a >= 2 && b < 0", 1},
        {"a > 2 || b > 0", 0},
        {"!(a > 2) && 1", 1},
        {"!a", 0},
        {"abs(b)", 3.5},
        {"min(a, b, 1)", -3.5},
        {"max(a, b, 7)", 7},
        {"same(1.04, 1.0, 1)", 1},
        {"same(1.06, 1.0, 1)", 0},
        {"same(-0.01, 0, 1)", 1},
        {"known(a)", 1},
        {"known(m)", 0},
        {"known(n)", 0},
        {"isnan(n)", 1},
        {"isnan(a)", 0},
        {"isnan(m)", 0},
        {"a == 2", 1},
        {"a != 2", 0},
        {"1e3 > 999.5", 1},
        {".5 + a", 2.5},
        {"a - -1", 3},
        {"1 || m", 1},
        {"0 && m", 0},
        {"1 < 2 == 1", 0},
    };
    for (size_t k = 0; k + 1 < sizeof cases / sizeof *cases; k++) {
        double x = NAN;
        cr_assert_eq(value(cases[k].text, &x), GEODEC_OK, "%s", cases[k].text);
        cr_assert_float_eq(x, cases[k].want, 1e-15, "%s: %g", cases[k].text, x);
    }
    double x;
    cr_assert_eq(value("1 < 2 == 1", &x), GEODEC_FORMAT); /* comparisons do not chain */
}

Test(expr, what_is_not_a_finite_number_is_no_value)
{
    static const char *const missing[] = {"m", "n", "i", "a + m", "n < 1", "i > 1", "1 && m", "other", "min(1, n)"};
    double x;
    for (size_t k = 0; k < sizeof missing / sizeof *missing; k++)
        cr_assert_eq(value(missing[k], &x), GEODEC_NOTFOUND, "%s", missing[k]);
    static const char *const numeric[] = {"1 / (a - 2)", "0 / (a - 2)", "1e308 * 10 * a"};
    for (size_t k = 0; k < sizeof numeric / sizeof *numeric; k++)
        cr_assert_eq(value(numeric[k], &x), GEODEC_NUMERIC, "%s", numeric[k]);
}

Test(expr, damaged_conditions_are_refused)
{
    static const char *const bad[] = {"",
                                      "1 +",
                                      "a b",
                                      "(a",
                                      "a)",
                                      "f(a)",
                                      "abs()",
                                      "abs(1, 2)",
                                      "same(1, 2)",
                                      "min(1)",
                                      "known(1)",
                                      "known(a + 1)",
                                      "a = 2",
                                      "a & b",
                                      "1x",
                                      "0x10",
                                      "1e999",
                                      "system(a); b",
                                      "a[1]",
                                      "`a`",
                                      "same(a, b, a)",
                                      "same(a, b, 99)",
                                      "1.2.3",
                                      "a ? 1 : 2"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        geodec_expr *e = NULL;
        cr_assert_eq(geodec_expr_parse(bad[k], &e, NULL), GEODEC_FORMAT, "%s", bad[k]);
        cr_assert_null(e);
    }
    char deep[400], wide[4000] = "1", *huge = geodec_mem_new(GEODEC_EXPR_TEXT_MAX + 2, 1);
    memset(deep, '(', sizeof deep);
    deep[sizeof deep - 1] = 0;
    for (int k = 0; k < 300; k++) strcat(wide, " + 1");
    memset(huge, ' ', GEODEC_EXPR_TEXT_MAX + 1);
    geodec_expr *e = NULL;
    cr_assert_eq(geodec_expr_parse(deep, &e, NULL), GEODEC_LIMIT);
    cr_assert_eq(geodec_expr_parse(wide, &e, NULL), GEODEC_LIMIT);
    cr_assert_eq(geodec_expr_parse(huge, &e, NULL), GEODEC_LIMIT);
    geodec_mem_free(huge);
}

Test(values, texts_become_numbers_or_reasons)
{
    static const struct {
        const char *text;
        geodec_expr_state plain, printed;
        double x;
    } cases[] = {
        {"46.9 %", GEODEC_EXPR_MISSING, GEODEC_EXPR_KNOWN, 46.9},
        {"557,056", GEODEC_EXPR_MISSING, GEODEC_EXPR_KNOWN, 557056},
        {"-9.4", GEODEC_EXPR_KNOWN, GEODEC_EXPR_KNOWN, -9.4},
        {"NaN", GEODEC_EXPR_NAN, GEODEC_EXPR_NAN, 0},
        {"-inf", GEODEC_EXPR_INFINITE, GEODEC_EXPR_INFINITE, 0},
        {"", GEODEC_EXPR_MISSING, GEODEC_EXPR_MISSING, 0},
        {"-", GEODEC_EXPR_MISSING, GEODEC_EXPR_MISSING, 0},
        {"about 3", GEODEC_EXPR_MISSING, GEODEC_EXPR_MISSING, 0},
        {" 3", GEODEC_EXPR_MISSING, GEODEC_EXPR_KNOWN, 3},
        {"1e999", GEODEC_EXPR_INFINITE, GEODEC_EXPR_INFINITE, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        geodec_value v = {.name = "v"};
        geodec_value_set(&v, cases[k].text);
        cr_assert_eq(v.state, cases[k].plain, "%s", cases[k].text);
        cr_assert_eq(v.state == GEODEC_EXPR_KNOWN, !v.reason[0]);
        geodec_value_set_printed(&v, cases[k].text);
        cr_assert_eq(v.state, cases[k].printed, "%s", cases[k].text);
        if (v.state == GEODEC_EXPR_KNOWN) cr_assert_eq(v.x, cases[k].x);
    }
}
