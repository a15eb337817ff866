#include "lab/verdict/rule.h"
#include "lab/verdict/values.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const words[] = {"yes", "no", "open", NULL};
static const char *const neutral[] = {"open", NULL};

static geodec_values two(const char *a, const char *b)
{
    geodec_values v = {0};
    geodec_value *w;
    cr_assert_eq(geodec_values_add(&v, "a", &w, NULL), GEODEC_OK);
    geodec_value_set(w, a);
    cr_assert_eq(geodec_values_add(&v, "b", &w, NULL), GEODEC_OK);
    geodec_value_set(w, b);
    return v;
}

Test(rule, the_first_that_holds_counts_and_nothing_is_decided_without_a_value)
{
    geodec_rule r;
    geodec_err err = {0};
    int b = -1;
    test_ok(geodec_rule_parse("yes if a > 1: {a} of {b:f1};; no if b > 1: b: it is;; open: neither", words, &r, &err),
            &err);
    geodec_values v = two("2", "3");
    test_ok(geodec_rule_decide(&r, geodec_values_lookup, &v, &b, &err), &err);
    cr_assert_eq(b, 0);
    char text[64];
    test_ok(geodec_values_fill(&v, r.branch[0].sentence, text, sizeof text, &err), &err);
    cr_assert_str_eq(text, "2 of 3.0");
    cr_assert_str_eq(r.branch[1].sentence, "b: it is");
    v = two("0", "3");
    test_ok(geodec_rule_decide(&r, geodec_values_lookup, &v, &b, &err), &err);
    cr_assert_eq(b, 1);
    v = two("0", "0");
    test_ok(geodec_rule_decide(&r, geodec_values_lookup, &v, &b, &err), &err);
    cr_assert_eq(b, 2);
    /* b is in a later condition only, and is still needed */
    static const char *const gone[] = {"", "-", "nan", "inf", "x"};
    for (size_t k = 0; k < sizeof gone / sizeof *gone; k++) {
        v = two("2", gone[k]);
        cr_assert_eq(geodec_rule_decide(&r, geodec_values_lookup, &v, &b, NULL), GEODEC_NOTFOUND, "'%s'", gone[k]);
    }
    cr_assert_eq(geodec_rule_words(&r, neutral), 2);
    geodec_rule_free(&r);
    /* unless known() tests it */
    test_ok(geodec_rule_parse("yes if known(b) && b > 1: y;; no if a > 1: n;; open: o", words, &r, &err), &err);
    v = two("2", "");
    test_ok(geodec_rule_decide(&r, geodec_values_lookup, &v, &b, &err), &err);
    cr_assert_eq(b, 1);
    geodec_rule_free(&r);
}

Test(rule, reach_finds_narrow_branches_and_no_dead_ones)
{
    geodec_rule r;
    geodec_err err = {0};
    bool found[GEODEC_RULE_BRANCHES];
    test_ok(
        geodec_rule_parse(
            "yes if same(100 * a, b, 1) && a != b: y;; no if a > 1 && a < 1: dead;; no if a < b / 1000: n;; open: o",
            words, &r, &err),
        &err);
    test_ok(geodec_rule_reach(&r, NULL, NULL, found, NULL, NULL, &err), &err);
    cr_assert(found[0] && !found[1] && found[2] && found[3]);
    geodec_rule_free(&r);
    /* a fixed value is unchanged */
    test_ok(geodec_rule_parse("yes if b > 50: dead;; no if same(a, b, 1): n;; open: o", words, &r, &err), &err);
    geodec_values v = two("", "46.9");
    test_ok(geodec_rule_reach(&r, geodec_values_lookup, &v, found, NULL, NULL, &err), &err);
    cr_assert(!found[0] && found[1]);
    geodec_rule_free(&r);
}

Test(rule, damaged_rules_are_refused)
{
    static const char *const bad[] = {"yes",
                                      "maybe: x",
                                      "yes if a > 1: x",
                                      "yes: x;; no: y",
                                      "yes if: x",
                                      "yes a > 1: x;; no: y",
                                      "yes if a >: x;; no: y",
                                      "yes if a > 1:;; no: y",
                                      "yes if a > 1: x;;",
                                      ""};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        geodec_rule r = {0};
        cr_assert_eq(geodec_rule_parse(bad[k], words, &r, NULL), GEODEC_FORMAT, "%s", bad[k]);
        cr_assert_eq(r.n, 0);
    }
}

Test(rule, templates_name_values_and_formats_that_exist)
{
    geodec_values v = two("0.12345678", "nan");
    char text[64];
    test_ok(geodec_values_fill(&v, "{a} {a:g2} {a:f3} {a:p1} {a:i} {a:s} {b:f2}", text, sizeof text, NULL), NULL);
    cr_assert_str_eq(text, "0.12346 0.12 0.123 12.3 % 0 0.12345678 nan");
    v = two("23.4", "-1234567");
    test_ok(geodec_values_fill(&v, "{a:g1} {a:g2} {a:g3} {b:g3} {b}", text, sizeof text, NULL), NULL);
    cr_assert_str_eq(text, "23 23 23.4 -1234567 -1234567");
    v = two("1.5e9", "0.00001234");
    test_ok(geodec_values_fill(&v, "{a:g2} {b:g2}", text, sizeof text, NULL), NULL);
    cr_assert_str_eq(text, "1.5e+09 1.2e-05");
    v = two("0.12345678", "nan");
    static const char *const bad[] = {"{c}", "{a:q}", "{a:f}", "{a", "{}", "{a:f10}"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        cr_assert_eq(geodec_values_fill(&v, bad[k], text, sizeof text, NULL), GEODEC_FORMAT, "%s", bad[k]);
    cr_assert_eq(geodec_values_fill(&v, "{a} {a} {a}", text, 12, NULL), GEODEC_LIMIT);
}
