#include "lab/verdict/rule.h"

#include "base/mem.h"

#include <string.h>

void geodec_rule_free(geodec_rule *r)
{
    if (!r) return;
    for (int b = 0; b < r->n; b++) {
        geodec_expr_free(r->branch[b].condition);
        geodec_mem_free(r->branch[b].sentence);
    }
    *r = (geodec_rule){0};
}

/* Strips blanks at both ends, in place. */
static char *trim(char *s)
{
    s += strspn(s, " ");
    size_t n = strlen(s);
    while (n && s[n - 1] == ' ') s[--n] = 0;
    return s;
}

static geodec_status parse_branch(char *text, const char *const *words, geodec_rule *rule, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rule_branch branch = {.condition = NULL};
    char *colon = strchr(text, ':');
    if (!colon) GEODEC_THROW(GEODEC_FORMAT, "'%.60s' is not a rule: WORD if CONDITION: sentence", text);
    *colon = 0;
    char *left = trim(text), *sentence = trim(colon + 1), *condition = NULL;
    for (; *words && !branch.word; words++) { /* a word may have blanks; what follows it is `if CONDITION` */
        const size_t n = strlen(*words);
        if (strncmp(left, *words, n) != 0 || (left[n] && left[n] != ' ')) continue;
        branch.word = *words;
        condition = trim(left + n);
    }
    if (!branch.word) GEODEC_THROW(GEODEC_FORMAT, "'%.60s' is not a word of a verdict", left);
    if (*condition && strncmp(condition, "if ", 3) != 0)
        GEODEC_THROW(GEODEC_FORMAT, "'%.60s' is not a rule: WORD if CONDITION: sentence", left);
    condition = *condition ? condition + 3 : NULL;
    if (!*sentence) GEODEC_THROW(GEODEC_FORMAT, "a rule for '%s' has no sentence", left);
    if (rule->n == GEODEC_RULE_BRANCHES) GEODEC_THROW(GEODEC_LIMIT, "more than %d rules", GEODEC_RULE_BRANCHES);
    if (condition) GEODEC_TRY(geodec_expr_parse(condition, &branch.condition, err));
    branch.sentence = geodec_mem_strdup(sentence);
    if (!branch.sentence) GEODEC_THROW(GEODEC_NOMEM, "no memory for a sentence");
    rule->branch[rule->n++] = branch;
    branch = (geodec_rule_branch){.condition = NULL};
done:
    geodec_expr_free(branch.condition);
    return st;
}

geodec_status geodec_rule_parse(const char *text, const char *const *words, geodec_rule *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rule rule = {0};
    char *copy = geodec_mem_strdup(text);
    if (!copy) GEODEC_THROW(GEODEC_NOMEM, "no memory for a rule");
    for (char *part = copy, *next; part; part = next) {
        next = strstr(part, ";;");
        if (next) {
            *next = 0;
            next += 2;
        }
        GEODEC_TRY(parse_branch(part, words, &rule, err));
        const bool open = !rule.branch[rule.n - 1].condition;
        if (open && next) GEODEC_THROW(GEODEC_FORMAT, "a rule without condition comes before others");
        if (!open && !next) GEODEC_THROW(GEODEC_FORMAT, "the last rule has a condition");
    }
    *out = rule;
    rule = (geodec_rule){0};
done:
    geodec_rule_free(&rule);
    geodec_mem_free(copy);
    return st;
}

void geodec_rule_uses(const geodec_rule *r, const char *name, bool *asked, bool *needed)
{
    *asked = *needed = false;
    for (int b = 0; b < r->n; b++) {
        const char *s;
        bool a, n;
        for (int i = 0; r->branch[b].condition && (s = geodec_expr_name(r->branch[b].condition, i, &a, &n)); i++) {
            if (strcmp(s, name) != 0) continue;
            *asked |= a;
            *needed |= n;
        }
    }
}

/* Whether all values exist that the conditions need outside known() and isnan(). */
static geodec_status all_there(const geodec_rule *r, geodec_expr_lookup lookup, void *ctx, geodec_err *err)
{
    for (int b = 0; b < r->n; b++) {
        const char *name;
        double x;
        bool asked, needed;
        for (int i = 0; r->branch[b].condition && (name = geodec_expr_name(r->branch[b].condition, i, NULL, NULL));
             i++) {
            geodec_rule_uses(r, name, &asked, &needed);
            if (!asked && lookup(ctx, name, &x) != GEODEC_EXPR_KNOWN) GEODEC_FAIL(GEODEC_NOTFOUND, "%s", name);
        }
    }
    return GEODEC_OK;
}

geodec_status geodec_rule_decide(const geodec_rule *r, geodec_expr_lookup lookup, void *ctx, int *branch,
                                 geodec_err *err)
{
    GEODEC_PASS(all_there(r, lookup, ctx, err));
    for (int b = 0; b < r->n; b++) {
        double x = 1;
        if (r->branch[b].condition) GEODEC_PASS(geodec_expr_eval(r->branch[b].condition, lookup, ctx, &x, err));
        if (x == 0) continue;
        *branch = b;
        return GEODEC_OK;
    }
    GEODEC_FAIL(GEODEC_INTERNAL, "no branch of a rule holds");
    return GEODEC_OK;
}

int geodec_rule_words(const geodec_rule *r, const char *const *neutral)
{
    int n = 0;
    for (int b = 0; b < r->n; b++) {
        bool counts = true;
        for (int k = 0; neutral[k]; k++) counts &= strcmp(r->branch[b].word, neutral[k]) != 0;
        for (int k = 0; k < b; k++) counts &= strcmp(r->branch[b].word, r->branch[k].word) != 0;
        n += counts;
    }
    return n;
}
