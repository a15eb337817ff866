/* The committed lists of rules: every rule can give each of its words, and none of them without its values. */
#include "base/mem.h"
#include "io/format.h"
#include "lab/verdict/claims.h"
#include "lab/verdict/headline.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const absent[] = {"", "-", "nan", "inf", "-inf", "words"};
enum { ABSENT = sizeof absent / sizeof *absent };

typedef struct found {
    const geodec_headline_row *row;
    const geodec_claim *claim;
    geodec_values *base, *values;
    unsigned words; /* bits of the words that occurred */
    int said;
} found;

static void fill(found *f, int n, const char *const *names, const double *values)
{
    *f->values = *f->base;
    for (int k = 0; k < n; k++) {
        char number[GEODEC_FORMAT_ROOM];
        geodec_value *v = geodec_values_find(f->values, names[k]);
        cr_assert_not_null(v);
        geodec_value_set(v, geodec_format_f64(values[k], number));
    }
}

static bool large_enough(const found *f)
{
    bool enough = true;
    for (int k = 0; k < f->row->n_least; k++)
        enough &= geodec_values_find(f->values, f->row->least[k].name)->x >= f->row->least[k].number;
    return enough;
}

/* Sets the sizes that the rule itself does not use: large for all but one, which is one below its least. Only `broken`
 * is said then, and of an unreadable text. Afterwards all are large. */
static void check_least(found *f, const char *word, int n, const char *const *names, geodec_headline_verdict *v)
{
    geodec_err err = {0};
    const bool broken = strcmp(word, "broken") == 0;
    for (int small = -1; small <= f->row->n_least; small++) {
        for (int k = 0; k < f->row->n_least; k++) {
            const geodec_least *l = &f->row->least[k];
            bool used = false;
            char number[GEODEC_FORMAT_ROOM];
            for (int i = 0; i < n; i++) used |= strcmp(names[i], l->name) == 0;
            if (!used)
                geodec_value_set(geodec_values_find(f->values, l->name),
                                 geodec_format_f64(l->number - (k == small), number));
        }
        const bool large = large_enough(f);
        test_ok(geodec_headline_decide(f->row, f->values, 0.05, v, &err), &err);
        cr_assert_str_eq(v->word, large || broken ? word : GEODEC_NOT_MEASURED, "%s", f->row->key);
        test_ok(geodec_headline_decide(f->row, f->values, 0.11, v, &err), &err);
        cr_assert_str_eq(v->word, broken || (large && !f->row->of_text) ? word : GEODEC_NOT_MEASURED, "%s",
                         f->row->key);
    }
}

static void headline_example(void *ctx, int branch, int n, const char *const *names, const double *values)
{
    found *f = ctx;
    geodec_err err = {0};
    geodec_headline_verdict *v = geodec_mem_new(1, sizeof *v);
    const char *word = f->row->rule.branch[branch].word;
    fill(f, n, names, values);
    check_least(f, word, n, names, v);
    test_ok(geodec_headline_decide(f->row, f->values, NAN, v, &err), &err);
    cr_assert_str_eq(v->word, large_enough(f) || strcmp(word, "broken") == 0 ? word : GEODEC_NOT_MEASURED, "%s",
                     f->row->key);
    f->said++;
    for (int k = 0; k < f->values->n; k++) {
        const geodec_value kept = f->values->v[k];
        if (kept.optional) continue;
        for (int a = 0; a < ABSENT; a++) {
            geodec_value_set(&f->values->v[k], absent[a]);
            test_ok(geodec_headline_decide(f->row, f->values, NAN, v, &err), &err);
            cr_assert_str_eq(v->word, GEODEC_NOT_MEASURED, "%s says %s with %s = '%s'", f->row->key, v->word, kept.name,
                             absent[a]);
        }
        f->values->v[k] = kept;
    }
    geodec_mem_free(v);
}

static void check_headline(const char *path, int64_t least)
{
    geodec_headline h;
    geodec_err err = {0};
    test_ok(geodec_headline_read(path, &h, &err), &err);
    cr_assert_geq(h.n, least);
    geodec_references *refs;
    test_ok(geodec_references_open(test_tmpdir(), NULL, 0, &refs, &err), &err);
    geodec_headline_verdict *v = geodec_mem_new(1, sizeof *v);
    for (int64_t i = 0; i < h.n; i++) {
        bool reached[GEODEC_RULE_BRANCHES];
        found f = {
            .row = &h.row[i], .base = geodec_mem_new(1, sizeof *f.base), .values = geodec_mem_new(1, sizeof *f.values)};
        /* in an empty folder nothing is measured */
        test_ok(geodec_headline_values(f.row, refs, "./nowhere", f.base, &err), &err);
        test_ok(geodec_headline_decide(f.row, f.base, NAN, v, &err), &err);
        cr_assert_str_eq(v->word, GEODEC_NOT_MEASURED, "%s says %s of nothing", f.row->key, v->word);
        for (int k = 0; k < f.base->n; k++) geodec_value_set(&f.base->v[k], "1");
        test_ok(geodec_rule_reach(&f.row->rule, NULL, NULL, reached, headline_example, &f, &err), &err);
        cr_assert_eq(f.said, f.row->rule.n, "%s: %d of %d rules were reached", f.row->key, f.said, f.row->rule.n);
        if (strcmp(f.row->rule.branch[0].word, "none") != 0)
            cr_assert_geq(geodec_rule_words(&f.row->rule, (const char *const[]){"none", NULL}), 2, "%s", f.row->key);
        geodec_mem_free(f.base);
        geodec_mem_free(f.values);
    }
    geodec_mem_free(v);
    geodec_references_close(refs);
    geodec_headline_free(&h);
}

Test(lists, every_headline_rule_says_each_of_its_words_and_none_without_values)
{
    check_headline("pipelines/report/headline.tsv", 18);
    check_headline("pipelines/lab/streaming/headline.tsv", 5);
    check_headline("pipelines/lab/integer/headline.tsv", 6);
    check_headline("pipelines/lab/perspective-lab/headline.tsv", 1);
    check_headline("pipelines/report/headline-embedded.tsv", 1);
}

static bool decides(const char *word) { return strcmp(word, "untestable") != 0 && strcmp(word, "undecidable") != 0; }

static void claim_example(void *ctx, int branch, int n, const char *const *names, const double *values)
{
    found *f = ctx;
    geodec_err err = {0};
    geodec_claim_verdict *v = geodec_mem_new(1, sizeof *v);
    const char *word = f->claim->rule.branch[branch].word;
    fill(f, n, names, values);
    test_ok(geodec_claim_decide(f->claim, f->values, v, &err), &err);
    if (branch + 1 < f->claim->rule.n) cr_assert_str_eq(v->word, word, "%s", f->claim->id);
    f->said++;
    for (int k = 0; k < f->values->n; k++) {
        const char *name = f->values->v[k].name;
        bool asked, needed;
        geodec_rule_uses(&f->claim->rule, name, &asked, &needed);
        if (!needed || asked) continue;
        for (int a = 0; a < ABSENT; a++) {
            fill(f, n, names, values);
            geodec_value_set(&f->values->v[k], absent[a]);
            test_ok(geodec_claim_decide(f->claim, f->values, v, &err), &err);
            cr_assert(!decides(v->word), "%s says %s with %s = '%s'", f->claim->id, v->word, name, absent[a]);
        }
    }
    geodec_mem_free(v);
}

Test(lists, every_claim_says_each_of_its_words_and_none_without_values)
{
    glob_t g;
    geodec_err err = {0};
    int64_t claims = 0;
    cr_assert_eq(glob("pipelines/claims/*.tsv", 0, NULL, &g), 0);
    cr_assert_eq(glob("pipelines/lab/*/claims.tsv", GLOB_APPEND, NULL, &g), 0);
    geodec_references *refs;
    test_ok(geodec_references_open(test_tmpdir(), NULL, 0, &refs, &err), &err);
    for (size_t p = 0; p < g.gl_pathc; p++) {
        geodec_claims c;
        test_ok(geodec_claims_read(g.gl_pathv[p], &c, &err), &err);
        claims += c.n;
        for (int64_t i = 0; i < c.n; i++) {
            found f = {.claim = &c.row[i],
                       .base = geodec_mem_new(1, sizeof *f.base),
                       .values = geodec_mem_new(1, sizeof *f.values)};
            geodec_claim_verdict *v = geodec_mem_new(1, sizeof *v);
            bool broken, reached[GEODEC_RULE_BRANCHES];
            char why[GEODEC_SENTENCE_MAX];
            test_ok(geodec_claim_values(f.claim, refs, "nowhere", "none", f.base, &broken, why, &err), &err);
            cr_assert(!broken, "%s: %s", f.claim->id, why);
            test_ok(geodec_claim_decide(f.claim, f.base, v, &err), &err);
            cr_assert(!decides(v->word), "%s says %s of nothing", f.claim->id, v->word);
            const int rules = f.claim->rule.n;
            test_ok(geodec_rule_reach(&f.claim->rule, geodec_values_lookup, f.base, reached, claim_example, &f, &err),
                    &err);
            cr_assert_geq(f.said, rules - 1, "%s: %d of %d rules were reached", f.claim->id, f.said, rules);
            geodec_mem_free(v);
            geodec_mem_free(f.base);
            geodec_mem_free(f.values);
        }
        geodec_claims_free(&c);
    }
    cr_assert_geq(claims, 199);
    geodec_references_close(refs);
    globfree(&g);
}

static geodec_status headline_of(const char *row)
{
    const char *path = test_tmp("rules.tsv");
    FILE *f = fopen(path, "w");
    fprintf(f, "key\tquantity\tvalues\tvalue\tcontrol\trule\tleast\tcommand\n%s\n", row);
    fclose(f);
    geodec_headline h;
    const geodec_status st = geodec_headline_read(path, &h, NULL);
    if (st == GEODEC_OK) geodec_headline_free(&h);
    return st;
}

Test(lists, headline_rules_that_cannot_be_earned_are_refused)
{
    cr_assert_eq(
        headline_of("k\tq\ta=x.tsv#a{k=1}; b=x.h5#b\t{a}\t{b}\tholds if a > b: h;; refuted: f\ta >= 3 texts\t-"),
        GEODEC_OK);
    cr_assert_eq(headline_of("k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; broken: f\ttext; a >= 3 texts\t-"),
                 GEODEC_OK);
    cr_assert_eq(headline_of("k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted: f\t-: a ratio of times\t-"),
                 GEODEC_OK);
    cr_assert_eq(headline_of("k\tq\ta=x.h5#a\t{a}\tc\tnone: n\t-\t-"), GEODEC_OK);
    static const char *const bad[] = {
        "k\tq\ta=x.h5#a\t{a}\tc\tholds: always\ta >= 3 texts\t-",                /* a constant */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; holds: h\ta >= 3 texts\t-", /* the same, hidden */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted if a > 2: f;; mixed: m\ta >= 3 texts\t-", /* a dead branch
                                                                                                        */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if b > 1: h;; refuted: f\ta >= 3 texts\t-",           /* no such value */
        "k\tq\ta=x.h5#a\t{b}\tc\tholds if a > 1: h;; refuted: f\ta >= 3 texts\t-",           /* nor here */
        "k\tq\ta=x.tsv#a[3]\t{a}\tc\tholds if a > 1: h;; refuted: f\ta >= 3 texts\t-",       /* a row by number */
        "k\tq\ta=x.h5#a; a=x.h5#b\t{a}\tc\tholds if a > 1: h;; refuted: f\ta >= 3 texts\t-", /* twice */
        "k\tq\ta=x.h5#a\t{a}\tc\tgood if a > 1: h;; refuted: f\ta >= 3 texts\t-",            /* no word */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; fails: f\ta >= 3 texts\t-",             /* an old word */
        "k\tq\ta=x.h5#a\t{a}\tc\tholdsif a > 1: h;; refuted: f\ta >= 3 texts\t-",            /* no blank */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds a > 1: h;; refuted: f\ta >= 3 texts\t-",              /* no if */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted if a <= 1: f\ta >= 3 texts\t-", /* open at the end */
        "k\tq\ta=x.h5#a\t{a}\tc\tnone if a > 1: h;; none: f\t-\t-",                          /* none by condition */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted: f\t-\t-",                      /* no least sample */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted: f\ttext\t-",                   /* nor here */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted: f\tb >= 3 texts\t-",           /* of no value */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted: f\ta >= 0 texts\t-",           /* of nothing */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted: f\ta >= 3\t-",                 /* without units */
        "k\tq\ta=x.h5#a\t{a}\tc\tholds if a > 1: h;; refuted: f\ta > 3 texts\t-",            /* another sign */
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) cr_assert_neq(headline_of(bad[k]), GEODEC_OK, "%s", bad[k]);
}

static geodec_status claim_of(const char *row)
{
    const char *path = test_tmp("claims.tsv");
    FILE *f = fopen(path, "w");
    fprintf(f, "id\tsection\tclaim\tpublished\treproduced\texports\tmodel\tcontrol\tverdict\n%s\n", row);
    fclose(f);
    geodec_claims c;
    const geodec_status st = geodec_claims_read(path, &c, NULL);
    if (st == GEODEC_OK) geodec_claims_free(&c);
    return st;
}

Test(lists, claims_that_cannot_be_earned_are_refused)
{
    cr_assert_eq(
        claim_of("a\t1\tc\t5\tx.h5#r\t-\t-\t-\treproduced if same(R, P, 0): y;; not reproduced if !same(R, P, 0): "
                 "n;; untestable: u"),
        GEODEC_OK);
    cr_assert_eq(claim_of("a\t1\tc\t5\t-\t-\tx.h5#m\t-\tundecidable: {M} says nothing."), GEODEC_OK);
    static const char *const bad[] = {
        "a\t1\tc\t5\tx.h5#r\t-\t-\t-\treproduced if R > 0: y;; refuted if R < 0: n;; untestable: u",   /* without P */
        "a\t1\tc\t5\tx.h5#r\t-\t-\t-\tartefact if R >= P: y;; artefact if R < P: n;; untestable: u",   /* both ways */
        "a\t1\tc\t5\tx.h5#r\t-\t-\t-\treproduced if R == P: y;; untestable: u",                        /* one word */
        "a\t1\tc\t5\tx.h5#r\t-\t-\t-\treproduced if R == P: y;; refuted: n",                           /* by default */
        "a\t1\tc\t5\tx.h5#r\t-\t-\t-\trefuted if M > P: y;; holds if R < P: n;; untestable: u",        /* no M */
        "a\t1\tc\t-\tx.h5#r\t-\t-\t-\treproduced if R == P: y;; refuted if R != P: n;; untestable: u", /* no P */
        "a\t1\tc\t5\tx.tsv#r[3]\t-\t-\t-\treproduced if R == P: y;; refuted if R != P: n;; untestable: u", /* by number
                                                                                                            */
        "a\t1\tc\t5\tx.h5#r\t-\t-\t-\trefuted if R < P: y;; holds if R < P - 1: n;; untestable: u",        /* dead */
        "a\t1\tc\t5\tx.h5#r\t-\t-\t-\trefuted if R < Q: y;; holds if R > P: n;; untestable: u",            /* no Q */
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) cr_assert_neq(claim_of(bad[k]), GEODEC_OK, "%s", bad[k]);
}
