/* Conditions, rules and references of the lists of verdicts. A condition in parentheses has the same value, its
 * negation the other; a rule decides on one of its branches. */
#include "fuzz/fuzz.h"
#include "lab/verdict/reference.h"
#include "lab/verdict/rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

volatile unsigned char fuzz_sink;

typedef struct values {
    unsigned salt;
    bool all; /* every name has a finite number */
} values;

/* A value by the name's letters: some are missing, NaN or infinite. */
static geodec_expr_state look(void *ctx, const char *name, double *value)
{
    const values *v = ctx;
    unsigned h = v->salt;
    for (const char *c = name; *c; c++) h = h * 31 + (unsigned char)*c;
    *value = (double)((int)(h % 41) - 20) / 4;
    return v->all || h % 7 > 2 ? GEODEC_EXPR_KNOWN : (geodec_expr_state)(h % 7);
}

/* The value of a text, or NaN if it has none; *st: the status. */
static double value_of(const char *text, values *v, geodec_status *st)
{
    geodec_err err = {0};
    geodec_expr *e = NULL;
    double x = NAN;
    *st = geodec_expr_parse(text, &e, &err);
    if (*st == GEODEC_OK) *st = geodec_expr_eval(e, look, v, &x, &err);
    geodec_expr_free(e);
    return *st == GEODEC_OK ? x : (double)NAN;
}

static void condition(const char *text)
{
    geodec_err err = {0};
    geodec_expr *e = NULL;
    char other[GEODEC_EXPR_TEXT_MAX + 8];
    const geodec_status parsed = geodec_expr_parse(text, &e, &err);
    if (parsed != GEODEC_OK) {
        char line[1024];
        fuzz_must(!e, "an output of a failure");
        fuzz_use(geodec_err_line(&err, line, sizeof line), strlen(line));
        return;
    }
    for (int i = 0; geodec_expr_name(e, i, NULL, NULL); i++)
        fuzz_must(strlen(geodec_expr_name(e, i, NULL, NULL)) < GEODEC_EXPR_NAME, "a long name");
    geodec_expr_free(e);
    for (unsigned salt = 0; salt < 3; salt++) {
        values v = {salt, salt == 0};
        geodec_status st, again;
        const double x = value_of(text, &v, &st);
        fuzz_must(st == GEODEC_OK ? isfinite(x) : st == GEODEC_NOTFOUND || st == GEODEC_NUMERIC,
                  "no value and no reason");
        fuzz_must(salt > 0 || st != GEODEC_NOTFOUND, "a value is missing where all are there");
        (void)snprintf(other, sizeof other, "(%s)", text);
        const double same = value_of(other, &v, &again);
        if (again == GEODEC_LIMIT || again == GEODEC_FORMAT) continue; /* too deep or too long by the parentheses */
        fuzz_must(again == st && (st != GEODEC_OK || same == x), "another value in parentheses");
        (void)snprintf(other, sizeof other, "!(%s)", text);
        const double not = value_of(other, &v, &again);
        fuzz_must(again != GEODEC_OK || (st == GEODEC_OK && not == (x == 0)), "not the negation");
    }
}

static void rule(const char *text)
{
    static const char *const words[] = {"holds", "mixed", "not reproduced", "refuted", NULL};
    geodec_err err = {0};
    geodec_rule r;
    if (geodec_rule_parse(text, words, &r, &err) != GEODEC_OK) return;
    fuzz_must(r.n >= 1 && r.n <= GEODEC_RULE_BRANCHES && !r.branch[r.n - 1].condition, "a rule without an end");
    for (unsigned salt = 0; salt < 3; salt++) {
        values v = {salt, salt == 0};
        int branch = -1;
        if (geodec_rule_decide(&r, look, &v, &branch, &err) != GEODEC_OK) continue;
        fuzz_must(branch >= 0 && branch < r.n, "a branch that is not there");
    }
    geodec_rule_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    geodec_err err = {0};
    bool by_index;
    if (size >= 2 * GEODEC_EXPR_TEXT_MAX) return 0;
    char *text = malloc(size + 1);
    if (!text) return 0;
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    if (strlen(text) <= GEODEC_EXPR_TEXT_MAX) condition(text);
    rule(text);
    (void)!geodec_reference_check(text, &by_index, &err);
    free(text);
    return 0;
}
