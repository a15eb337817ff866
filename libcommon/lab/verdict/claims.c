#include "lab/verdict/claims.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

static const char *const vocabulary[] = {"reproduced", "not reproduced", "artefact",    "refuted",
                                         "holds",      "untestable",     "undecidable", NULL};
static const char *const neutral[] = {"untestable", "undecidable", NULL};
static const char *const letters[] = {"P", "R", "E", "M", "C"};
enum { LETTERS = 5 };

void geodec_claims_free(geodec_claims *c)
{
    if (!c) return;
    for (int64_t i = 0; c->row && i < c->n; i++) geodec_rule_free(&c->row[i].rule);
    geodec_mem_free(c->row);
    geodec_table_free(&c->table);
    *c = (geodec_claims){.n = 0};
}

static bool is_neutral(const char *word)
{
    for (int k = 0; neutral[k]; k++)
        if (strcmp(neutral[k], word) == 0) return true;
    return false;
}

static geodec_status fresh(const geodec_claim *c, geodec_values *values, geodec_err *err)
{
    values->n = 0;
    for (int k = 0; k < LETTERS; k++) {
        geodec_value *v;
        GEODEC_PASS(geodec_values_add(values, letters[k], &v, err));
    }
    geodec_value_set_printed(&values->v[0], c->published);
    return GEODEC_OK;
}

geodec_status geodec_claim_values(const geodec_claim *c, geodec_references *refs, const char *model, const char *file,
                                  geodec_values *values, bool *broken, char sentence[GEODEC_SENTENCE_MAX],
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *reference = NULL, *text = NULL, line[GEODEC_VALUE_TEXT];
    const char *const words[] = {"@MODEL", model, "@FILE", file, NULL};
    GEODEC_NEW_EACH(GEODEC_REFERENCE_MAX, reference, text);
    *broken = false;
    GEODEC_TRY(fresh(c, values, err));
    for (int k = 1; k < LETTERS; k++) {
        geodec_err inner = {0};
        if (!c->reference[k - 1]) continue;
        GEODEC_TRY(geodec_values_expand(NULL, words, c->reference[k - 1], reference, GEODEC_REFERENCE_MAX, err));
        const geodec_status s = geodec_reference_read(refs, reference, text, &inner);
        if (s == GEODEC_NOMEM || s == GEODEC_IO || s == GEODEC_INTERRUPTED) {
            if (err) *err = inner;
            st = s;
            goto done;
        }
        if (s == GEODEC_OK) {
            geodec_value_set(&values->v[k], text);
            continue;
        }
        geodec_value_missing(&values->v[k], geodec_err_line(&inner, line, sizeof line));
        if (s == GEODEC_NOTFOUND || *broken) continue;
        *broken = true;
        (void)snprintf(sentence, GEODEC_SENTENCE_MAX, "broken reference: %.1000s: %s", reference, line);
    }
done:
    GEODEC_FREE(reference, text);
    return st;
}

/* The values as printed; a row of percentages prints shares as percentages. */
static geodec_status show(const geodec_claim *c, geodec_values *values, geodec_claim_verdict *out, geodec_err *err)
{
    for (int k = 0; k < LETTERS; k++) {
        geodec_value *v = &values->v[k];
        const char template[] = {'{', letters[k][0], '}', 0};
        if (k > 0 && c->percent && v->state == GEODEC_EXPR_KNOWN)
            (void)snprintf(v->text, sizeof v->text, "%.4g %%", 100 * v->x);
        GEODEC_PASS(geodec_values_fill(values, template, out->shown[k], sizeof out->shown[k], err));
        if (!v->text[0]) (void)snprintf(out->shown[k], sizeof out->shown[k], "-");
    }
    return GEODEC_OK;
}

/* The reason for an undecided row: the first missing value that a condition needs. */
static void reason(const geodec_claim *c, const geodec_values *values, char *out, size_t room)
{
    bool asked, needed;
    out[0] = 0;
    for (int k = 0; k < LETTERS; k++) {
        const geodec_value *v = &values->v[k];
        if (v->state == GEODEC_EXPR_KNOWN || (k > 0 && !c->reference[k - 1])) continue;
        geodec_rule_uses(&c->rule, v->name, &asked, &needed);
        if (!needed || asked) continue;
        (void)snprintf(out, room, " (%s: %s)", v->name, v->reason);
        return;
    }
}

static bool all_known(const geodec_claim *c, const geodec_values *values)
{
    bool asked, needed;
    for (int k = 0; k < LETTERS; k++) {
        geodec_rule_uses(&c->rule, letters[k], &asked, &needed);
        if (values->v[k].state != GEODEC_EXPR_KNOWN && (needed || asked)) return false;
    }
    return true;
}

geodec_status geodec_claim_decide(const geodec_claim *c, geodec_values *values, geodec_claim_verdict *out,
                                  geodec_err *err)
{
    const geodec_rule_branch *last = &c->rule.branch[c->rule.n - 1];
    char why[GEODEC_VALUE_TEXT + 40] = "";
    int b = c->rule.n - 1;
    const geodec_status decided = geodec_rule_decide(&c->rule, geodec_values_lookup, values, &b, NULL);
    GEODEC_PASS(show(c, values, out, err));
    GEODEC_PASS(geodec_values_fill(values, c->rule.branch[b].sentence, out->sentence, sizeof out->sentence, err));
    (void)snprintf(out->word, sizeof out->word, "%s", c->rule.branch[b].word);
    if (decided != GEODEC_OK) {
        GEODEC_PASS(geodec_values_fill(values, last->sentence, out->sentence, sizeof out->sentence, err));
        (void)snprintf(out->word, sizeof out->word, "%s", last->word);
        reason(c, values, why, sizeof why);
        if (strlen(out->sentence) + strlen(why) < sizeof out->sentence) (void)strcat(out->sentence, why);
    } else if (b == c->rule.n - 1 && c->rule.n > 1 && all_known(c, values)) {
        (void)snprintf(out->word, sizeof out->word, "undecidable");
        (void)snprintf(out->sentence, sizeof out->sentence,
                       "All values are known, and no rule of this row covers them.");
    }
    return GEODEC_OK;
}

/* ---- fragments --------------------------------------------------------------------------------------------------- */

static geodec_status check_needs(const geodec_claim *c, geodec_err *err)
{
    for (int b = 0; b < c->rule.n; b++) {
        const geodec_expr *e = c->rule.branch[b].condition;
        const char *name;
        bool of_p = false, needed, asked;
        for (int i = 0; e && (name = geodec_expr_name(e, i, &asked, &needed)); i++) {
            int k = 0;
            while (k < LETTERS && strcmp(letters[k], name) != 0) k++;
            if (k == LETTERS) GEODEC_FAIL(GEODEC_FORMAT, "no value '%s'; there are P, R, E, M and C", name);
            if (k > 0 && !c->reference[k - 1])
                GEODEC_FAIL(GEODEC_FORMAT, "a condition has %s, which the row does not have", name);
            if (k == 0 && strcmp(c->published, "-") == 0)
                GEODEC_FAIL(GEODEC_FORMAT, "a condition has P, and nothing was published");
            of_p |= k == 0;
        }
        if (strcmp(c->rule.branch[b].word, "reproduced") == 0 && !of_p)
            GEODEC_FAIL(GEODEC_FORMAT, "'reproduced' by a condition without the published figure P");
    }
    if (!is_neutral(c->rule.branch[c->rule.n - 1].word))
        GEODEC_FAIL(GEODEC_FORMAT, "the last rule has the word '%s' without a condition",
                    c->rule.branch[c->rule.n - 1].word);
    if (geodec_rule_words(&c->rule, neutral) == 1)
        GEODEC_FAIL(GEODEC_FORMAT, "every rule that decides has the same word");
    return GEODEC_OK;
}

static geodec_status check_row(geodec_claim *c, const char *rule, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_values *values = NULL;
    bool found[GEODEC_RULE_BRANCHES], by_index;
    char text[GEODEC_SENTENCE_MAX];
    GEODEC_NEW(values, 1);
    for (int k = 0; k < LETTERS - 1; k++) {
        if (!c->reference[k]) continue;
        GEODEC_TRY(geodec_reference_check(c->reference[k], &by_index, err));
        if (by_index) GEODEC_THROW(GEODEC_FORMAT, "'%.100s': a row of a table is chosen by key", c->reference[k]);
    }
    GEODEC_TRY(geodec_rule_parse(rule, vocabulary, &c->rule, err));
    c->percent = strchr(c->published, '%') && strstr(rule, "100 *");
    GEODEC_TRY(check_needs(c, err));
    GEODEC_TRY(fresh(c, values, err));
    for (int b = 0; b < c->rule.n; b++)
        GEODEC_TRY(geodec_values_fill(values, c->rule.branch[b].sentence, text, sizeof text, err));
    GEODEC_TRY(geodec_rule_reach(&c->rule, geodec_values_lookup, values, found, NULL, NULL, err));
    for (int b = 0; b + 1 < c->rule.n; b++)
        if (!found[b]) GEODEC_THROW(GEODEC_FORMAT, "no values were found that reach rule %d", b + 1);
done:
    geodec_mem_free(values);
    return st;
}

geodec_status geodec_claims_read(const char *path, geodec_claims *out, geodec_err *err)
{
    static const char *const columns[] = {"id",      "section", "claim",   "published", "reproduced",
                                          "exports", "model",   "control", "verdict"};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    geodec_status st = GEODEC_OK;
    geodec_claims c = {.n = 0};
    GEODEC_TRY(geodec_gate_rules(path, COLUMNS, columns, "claims", &c.table, &c.gated, err));
    GEODEC_NEW(c.row, c.table.rows);
    c.n = c.table.rows;
    for (int64_t i = 0; i < c.n; i++) {
        geodec_claim *row = &c.row[i];
        char *const *cell = c.table.cell + (i + 1) * c.table.columns;
        const long long line = (long long)c.table.line[i];
        *row = (geodec_claim){cell[0], cell[1], cell[2], cell[3], .percent = false};
        for (int k = 0; k < LETTERS - 1; k++) row->reference[k] = strcmp(cell[4 + k], "-") == 0 ? NULL : cell[4 + k];
        for (int64_t j = 0; j < i; j++)
            if (strcmp(c.row[j].id, row->id) == 0)
                GEODEC_THROW(GEODEC_FORMAT, "%s: line %lld: the id %.60s occurs twice", path, line, row->id);
        GEODEC_TRY_MSG(check_row(row, cell[8], err), "%s: line %lld (%.60s)", path, line, row->id);
        if (c.gated)
            GEODEC_TRY_MSG(geodec_gate_finding(cell[COLUMNS], &row->finding, err), "%s: line %lld (%.60s)", path, line,
                           row->id);
    }
    *out = c;
    c = (geodec_claims){.n = 0};
done:
    geodec_claims_free(&c);
    return st;
}
