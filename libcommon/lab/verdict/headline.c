#include "lab/verdict/headline.h"

#include "base/mem.h"
#include "io/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const vocabulary[] = {"holds", "mixed", "refuted", "broken", "none", NULL};
static const char *const neutral[] = {"none", NULL};
enum { ITEMS_TEXT = 8192 };

void geodec_headline_free(geodec_headline *h)
{
    if (!h) return;
    for (int64_t i = 0; h->row && i < h->n; i++) geodec_rule_free(&h->row[i].rule);
    geodec_mem_free(h->row);
    geodec_table_free(&h->table);
    *h = (geodec_headline){.n = 0};
}

/* One item of the column `values`. */
typedef struct item {
    char *name, *text; /* a reference, or an expression */
    bool optional, computed;
} item;

/* The next item of a copy of the column, which is split in place; false at the end. */
static geodec_status next_item(char **rest, item *out, bool *more, geodec_err *err)
{
    char *s = *rest + strspn(*rest, " ");
    *more = *s != 0;
    if (!*more) return GEODEC_OK;
    char *end = strchr(s, ';');
    *rest = end ? end + 1 : s + strlen(s);
    if (end) *end = 0;
    char *sign = strchr(s, '=');
    if (!sign || sign == s || !sign[1]) GEODEC_FAIL(GEODEC_FORMAT, "'%.100s' is not NAME=REFERENCE", s);
    *out = (item){.name = s, .text = sign + 1, .optional = sign[-1] == '?', .computed = sign[-1] == ':'};
    sign[out->optional || out->computed ? -1 : 0] = 0;
    size_t n = strlen(out->text);
    while (n && out->text[n - 1] == ' ') out->text[--n] = 0;
    return GEODEC_OK;
}

static geodec_status compute(const char *text, geodec_values *values, geodec_value *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_expr *e = NULL;
    char line[GEODEC_VALUE_TEXT], number[GEODEC_FORMAT_ROOM];
    geodec_err inner = {0};
    double x;
    GEODEC_TRY(geodec_expr_parse(text, &e, err));
    const char *name;
    for (int i = 0; (name = geodec_expr_name(e, i, NULL, NULL)); i++) {
        const geodec_value *w = geodec_values_find(values, name);
        if (w && w->state == GEODEC_EXPR_KNOWN) continue;
        geodec_value_missing(v, w ? w->reason : "an unknown name");
        goto done;
    }
    if (geodec_expr_eval(e, geodec_values_lookup, values, &x, &inner) == GEODEC_OK)
        geodec_value_set(v, geodec_format_f64(x, number));
    else
        geodec_value_missing(v, geodec_err_line(&inner, line, sizeof line));
done:
    geodec_expr_free(e);
    return st;
}

geodec_status geodec_headline_values(const geodec_headline_row *row, geodec_references *refs, const char *data,
                                     geodec_values *values, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *copy = NULL, *reference = NULL, *text = NULL;
    item it = {.text = NULL};
    const char *const words[] = {"@DATA", data, NULL};
    bool more = true, by_index;
    if (strlen(row->values) > ITEMS_TEXT) GEODEC_THROW(GEODEC_LIMIT, "the values take more than %d bytes", ITEMS_TEXT);
    copy = geodec_mem_strdup(row->values);
    if (!copy) GEODEC_THROW(GEODEC_NOMEM, "no memory for the values of a row");
    GEODEC_NEW_EACH(GEODEC_REFERENCE_MAX, reference, text);
    values->n = 0;
    for (char *rest = copy;;) {
        geodec_value *v;
        GEODEC_TRY(next_item(&rest, &it, &more, err));
        if (!more) break;
        GEODEC_TRY(geodec_values_add(values, it.name, &v, err));
        v->optional = it.optional;
        if (it.computed) {
            GEODEC_TRY(compute(it.text, values, v, err));
            continue;
        }
        if (!refs) {
            GEODEC_TRY(geodec_reference_check(it.text, &by_index, err));
            if (by_index) GEODEC_THROW(GEODEC_FORMAT, "'%.100s': a row of a table is chosen by key", it.text);
            continue;
        }
        geodec_err inner = {0};
        char line[GEODEC_VALUE_TEXT];
        geodec_status s = geodec_values_expand(values, words, it.text, reference, GEODEC_REFERENCE_MAX, &inner);
        if (s == GEODEC_OK) s = geodec_reference_read(refs, reference, text, &inner);
        if (s == GEODEC_OK) {
            geodec_value_set(v, text);
        } else if (s == GEODEC_NOMEM || s == GEODEC_IO || s == GEODEC_INTERRUPTED) {
            if (err) *err = inner;
            st = s;
            goto done;
        } else {
            geodec_value_missing(v, geodec_err_line(&inner, line, sizeof line));
        }
    }
done:
    GEODEC_FREE(copy, reference, text);
    return st;
}

/* The reason why the sample is too small for a verdict; false if it is not. */
static bool too_small(const geodec_headline_row *row, geodec_values *values, double unknown, char *out, size_t room)
{
    for (int k = 0; k < row->n_least; k++) {
        const geodec_least *l = &row->least[k];
        const geodec_value *v = geodec_values_find(values, l->name);
        if (v && v->state == GEODEC_EXPR_KNOWN && v->x >= l->number) continue;
        if (v && v->state == GEODEC_EXPR_KNOWN)
            (void)snprintf(out, room, "needs %g %s, has %.6g", l->number, l->units, floor(v->x));
        else
            (void)snprintf(out, room, "needs %g %s, has an unknown number", l->number, l->units);
        return true;
    }
    if (!row->of_text || !(unknown > GEODEC_UNKNOWN_MOST)) return false;
    (void)snprintf(out, room, "%.1f %% of the tokens of the text are unknown to the model; at most %g %% may be",
                   100 * unknown, 100 * GEODEC_UNKNOWN_MOST);
    return true;
}

geodec_status geodec_headline_decide(const geodec_headline_row *row, geodec_values *values, double unknown,
                                     geodec_headline_verdict *out, geodec_err *err)
{
    geodec_err inner = {0};
    char line[GEODEC_VALUE_TEXT];
    int b;
    GEODEC_PASS(geodec_values_fill(values, row->quantity, out->quantity, sizeof out->quantity, err));
    GEODEC_PASS(geodec_values_fill(values, row->value, out->value, sizeof out->value, err));
    GEODEC_PASS(geodec_values_fill(values, row->control, out->control, sizeof out->control, err));
    (void)snprintf(out->word, sizeof out->word, GEODEC_NOT_MEASURED);
    for (int k = 0; k < values->n; k++) {
        const geodec_value *v = &values->v[k];
        if (v->optional || v->state == GEODEC_EXPR_KNOWN) continue;
        (void)snprintf(out->sentence, sizeof out->sentence, "%s: %s", v->name, v->reason);
        return GEODEC_OK;
    }
    if (geodec_rule_decide(&row->rule, geodec_values_lookup, values, &b, &inner) != GEODEC_OK) {
        (void)snprintf(out->sentence, sizeof out->sentence, "%s", geodec_err_line(&inner, line, sizeof line));
        return GEODEC_OK;
    }
    if (strcmp(row->rule.branch[b].word, "broken") != 0 &&
        too_small(row, values, unknown, out->sentence, sizeof out->sentence))
        return GEODEC_OK;
    GEODEC_PASS(geodec_values_fill(values, row->rule.branch[b].sentence, out->sentence, sizeof out->sentence, err));
    (void)snprintf(out->word, sizeof out->word, "%s", row->rule.branch[b].word);
    return GEODEC_OK;
}

/* ---- a table of rules -------------------------------------------------------------------------------------------- */

static geodec_status check_names(const geodec_headline_row *row, const geodec_values *values, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL;
    GEODEC_NEW(text, GEODEC_SENTENCE_MAX);
    const char *const templates[] = {row->quantity, row->value, row->control};
    for (size_t k = 0; k < sizeof templates / sizeof *templates; k++)
        GEODEC_TRY(geodec_values_fill(values, templates[k], text, GEODEC_SENTENCE_MAX, err));
    for (int b = 0; b < row->rule.n; b++) {
        const geodec_expr *e = row->rule.branch[b].condition;
        const char *name;
        GEODEC_TRY(geodec_values_fill(values, row->rule.branch[b].sentence, text, GEODEC_SENTENCE_MAX, err));
        for (int i = 0; e && (name = geodec_expr_name(e, i, NULL, NULL)); i++) {
            bool found = false;
            for (int k = 0; k < values->n; k++) found |= strcmp(values->v[k].name, name) == 0;
            if (!found) GEODEC_THROW(GEODEC_FORMAT, "no value '%s' for a condition", name);
        }
    }
done:
    geodec_mem_free(text);
    return st;
}

/* One item of the column `least`: NAME >= NUMBER UNITS. */
static geodec_status parse_least(geodec_headline_row *row, const geodec_values *values, const char *part,
                                 geodec_err *err)
{
    geodec_least l = {.number = 0};
    int at = 0;
    char name[GEODEC_EXPR_NAME], number[GEODEC_FORMAT_ROOM];
    _Static_assert(GEODEC_EXPR_NAME >= 32 && GEODEC_FORMAT_ROOM > 24, "widths of the format");
    if (strcmp(part, "text") == 0) {
        row->of_text = true;
        return GEODEC_OK;
    }
    if (sscanf(part, "%31[^ ] >= %24[0-9] %n", name, number, &at) != 2 || at == 0 || !part[at] || number[0] == '0')
        GEODEC_FAIL(GEODEC_FORMAT, "'%.60s' is not NAME >= NUMBER UNITS", part);
    if (row->n_least == GEODEC_LEAST_ITEMS) GEODEC_FAIL(GEODEC_LIMIT, "more than %d least samples", GEODEC_LEAST_ITEMS);
    (void)snprintf(l.name, sizeof l.name, "%s", name);
    (void)snprintf(l.units, sizeof l.units, "%s", part + at);
    l.number = strtod(number, NULL);
    for (int k = 0; k < values->n; k++)
        if (strcmp(values->v[k].name, name) == 0) {
            row->least[row->n_least++] = l;
            return GEODEC_OK;
        }
    GEODEC_FAIL(GEODEC_FORMAT, "no value '%s' for the least sample", name);
}

static geodec_status check_least(geodec_headline_row *row, const char *text, const geodec_values *values, bool claims,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *copy = NULL;
    if (strcmp(text, "-") == 0) {
        if (claims) GEODEC_FAIL(GEODEC_FORMAT, "a rule without a least sample");
        return GEODEC_OK;
    }
    if (strncmp(text, "-: ", 3) == 0) return GEODEC_OK;
    copy = geodec_mem_strdup(text);
    if (!copy) GEODEC_THROW(GEODEC_NOMEM, "no memory for a least sample");
    for (char *part = copy, *next; part; part = next) {
        next = strchr(part, ';');
        if (next) *next++ = 0;
        part += strspn(part, " ");
        GEODEC_TRY(parse_least(row, values, part, err));
    }
    if (claims && row->n_least == 0) GEODEC_THROW(GEODEC_FORMAT, "a rule without a least sample");
done:
    geodec_mem_free(copy);
    return st;
}

static geodec_status check_row(geodec_headline_row *row, const char *rule, const char *least, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_values *values = NULL;
    bool found[GEODEC_RULE_BRANCHES];
    GEODEC_NEW(values, 1);
    GEODEC_TRY(geodec_rule_parse(rule, vocabulary, &row->rule, err));
    GEODEC_TRY(geodec_headline_values(row, NULL, "", values, err));
    GEODEC_TRY(check_names(row, values, err));
    if (values->n == 0) GEODEC_THROW(GEODEC_FORMAT, "a row without values");
    const int words = geodec_rule_words(&row->rule, neutral);
    if (words == 1 || (words == 0 && row->rule.n > 1)) GEODEC_THROW(GEODEC_FORMAT, "the rule has only one word");
    GEODEC_TRY(check_least(row, least, values, words > 0, err));
    GEODEC_TRY(geodec_rule_reach(&row->rule, NULL, NULL, found, NULL, NULL, err));
    for (int b = 0; b < row->rule.n; b++)
        if (!found[b]) GEODEC_THROW(GEODEC_FORMAT, "no values were found that reach rule %d", b + 1);
done:
    geodec_mem_free(values);
    return st;
}

geodec_status geodec_headline_read(const char *path, geodec_headline *out, geodec_err *err)
{
    static const char *const columns[] = {"key", "quantity", "values", "value", "control", "rule", "least", "command"};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    geodec_status st = GEODEC_OK;
    geodec_headline h = {.n = 0};
    GEODEC_TRY(geodec_gate_rules(path, COLUMNS, columns, "headline rules", &h.table, &h.gated, err));
    GEODEC_NEW(h.row, h.table.rows);
    h.n = h.table.rows;
    for (int64_t i = 0; i < h.n; i++) {
        char *const *cell = h.table.cell + (i + 1) * h.table.columns;
        h.row[i] = (geodec_headline_row){cell[0], cell[1], cell[2], cell[3], cell[4], cell[7], .rule = {0}};
        for (int64_t j = 0; j < i; j++)
            if (strcmp(h.row[j].key, cell[0]) == 0)
                GEODEC_THROW(GEODEC_FORMAT, "%s: the key '%.60s' occurs twice", path, cell[0]);
        GEODEC_TRY_MSG(check_row(&h.row[i], cell[5], cell[6], err), "%s: line %lld (%.60s)", path,
                       (long long)h.table.line[i], cell[0]);
        if (h.gated)
            GEODEC_TRY_MSG(geodec_gate_finding(cell[COLUMNS], &h.row[i].finding, err), "%s: line %lld (%.60s)", path,
                           (long long)h.table.line[i], cell[0]);
    }
    *out = h;
    h = (geodec_headline){.n = 0};
done:
    geodec_headline_free(&h);
    return st;
}
