/* Rules that derive a verdict from named values:
 *     WORD if CONDITION: sentence;; WORD if CONDITION: sentence;; WORD: sentence
 *
 * The first branch whose condition holds applies; the last branch has no condition. A value named in any condition must
 * be a finite number, unless it occurs in known() or isnan(); otherwise there is no verdict. */
#ifndef GEODEC_VERDICT_RULE_H
#define GEODEC_VERDICT_RULE_H

#include "lab/verdict/expr.h"

enum { GEODEC_RULE_BRANCHES = 12, GEODEC_RULE_WORD = 16 };

typedef struct geodec_rule_branch {
    const char *word;       /* one of the words given to geodec_rule_parse */
    geodec_expr *condition; /* NULL: always */
    char *sentence;
} geodec_rule_branch;

typedef struct geodec_rule {
    int n;
    geodec_rule_branch branch[GEODEC_RULE_BRANCHES];
} geodec_rule;

/* words: the allowed ones, NULL at the end, static. GEODEC_FORMAT, GEODEC_LIMIT. */
geodec_status geodec_rule_parse(const char *text, const char *const *words, geodec_rule *out,
                                geodec_err *err) GEODEC_MUST_USE;
void geodec_rule_free(geodec_rule *r);
/* The branch that applies. GEODEC_NOTFOUND: a value that the conditions need is not a finite number (the message names
 * it); GEODEC_NUMERIC: a condition cannot be computed. */
geodec_status geodec_rule_decide(const geodec_rule *r, geodec_expr_lookup lookup, void *ctx, int *branch,
                                 geodec_err *err) GEODEC_MUST_USE;
/* asked: a condition names the value in known() or isnan(); needed: one names it elsewhere. */
void geodec_rule_uses(const geodec_rule *r, const char *name, bool *asked, bool *needed);
/* Number of different words in the branches, without those in `neutral` (NULL at the end). */
int geodec_rule_words(const geodec_rule *r, const char *const *neutral);

/* Searches for values that reach each branch. For every name without a value in `fixed` it tries the numbers of the
 * conditions and of `fixed`, multiplied, shifted and combined. found[b]: branch b was reached; example, when not NULL,
 * is called once for each reached branch with the values. The last branch is searched only when fixed is NULL.
 * Deterministic. */
typedef void (*geodec_rule_example)(void *ctx, int branch, int n, const char *const *names, const double *values);
geodec_status geodec_rule_reach(const geodec_rule *r, geodec_expr_lookup fixed, void *fixed_ctx, bool *found,
                                geodec_rule_example example, void *ctx, geodec_err *err) GEODEC_MUST_USE;

#endif
