/* The gate: a verdict on a geometry needs the power of its finding. */
#include "lab/verdict/gate.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *const header = "finding\tunit\tsize\tpower\tleast\tpoints\tdata\tnone\treason\n";

static geodec_gate gate_of(const char *rows)
{
    geodec_gate g;
    geodec_err err = {0};
    const char *path = test_tmp("power.tsv");
    FILE *f = fopen(path, "w");
    fprintf(f, "%s%s", header, rows);
    fclose(f);
    test_ok(geodec_gate_open(path, &g, &err), &err);
    return g;
}

static char word[GEODEC_RULE_WORD], sentence[GEODEC_SENTENCE_MAX];

static void judge(const geodec_gate *g, const char *finding, const char *from)
{
    geodec_err err = {0};
    (void)snprintf(word, sizeof word, "%s", from);
    (void)snprintf(sentence, sizeof sentence, "noise gives the same.");
    test_ok(geodec_gate_judge(g, finding, word, sentence, &err), &err);
}

Test(gate, the_power_stands_beside_every_outcome)
{
    geodec_gate g = gate_of("f\tshare\tthe published size\t0.93\t0.4\t2000\t2000\t0\t-\n");
    static const char *const same[] = {"holds", "refuted", "mixed", "artefact"};
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        judge(&g, "f", same[k]);
        cr_assert_str_eq(word, same[k]);
        cr_assert_str_eq(sentence, "noise gives the same (power 0.93 at the published size; an effect of at least 0.4 "
                                   "(share) would have been found)");
    }
    static const char *const other[] = {"broken", "none", "not measured", "reproduced", "untestable", "error"};
    for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
        judge(&g, "f", other[k]);
        cr_assert_str_eq(word, other[k]);
        cr_assert_str_eq(sentence, "noise gives the same.");
    }
    judge(&g, NULL, "refuted"); /* a row that says nothing of a geometry */
    cr_assert_str_eq(sentence, "noise gives the same.");
    geodec_gate_close(&g);
}

Test(gate, a_negative_outcome_below_the_least_power_is_no_power)
{
    geodec_gate g = gate_of("f\tshare\tfull strength\t0.79\tnone\t500\t2000\t0.4\t-\n");
    judge(&g, "f", "mixed");
    cr_assert_str_eq(word, GEODEC_NO_POWER);
    cr_assert_not_null(
        strstr(sentence, "the rule alone says mixed: noise gives the same (power 0.79 at full strength"));
    cr_assert_not_null(strstr(sentence, "no effect that was tried (share) is found at 80 %"));
    cr_assert_not_null(strstr(sentence, "in worlds of 500 states, the data has 2000"));
    cr_assert_not_null(strstr(sentence, "also found in 40 % of the worlds without the effect"));
    judge(&g, "f", "holds");
    cr_assert_str_eq(word, "holds");
    geodec_gate_close(&g);
}

Test(gate, a_rule_that_finds_the_effect_everywhere_has_no_power)
{
    geodec_gate g =
        gate_of("f\tshare\tfull strength\t1\t0\t500\t500\t0.51\t-\ng\tshare\tfull strength\t1\t0\t500\t500\t"
                "0.5\t-\n");
    static const char *const all[] = {"holds", "refuted", "mixed", "artefact"};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        judge(&g, "f", all[k]);
        cr_assert_str_eq(word, GEODEC_NO_POWER);
    }
    judge(&g, "f", "holds");
    cr_assert_not_null(strstr(sentence, "the rule alone says holds: "));
    cr_assert_not_null(strstr(sentence, "also found in 51 % of the worlds without the effect"));
    judge(&g, "g", "refuted");
    cr_assert_str_eq(word, "refuted");
    geodec_gate_close(&g);
}

Test(gate, without_the_positive_control_nothing_is_measured)
{
    geodec_gate g = gate_of("f\t-\t-\t-\t-\t-\t-\t-\tno positive control: no world\n");
    static const char *const words[] = {"holds", "refuted", "mixed", "artefact"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        judge(&g, "f", words[k]);
        cr_assert_str_eq(word, GEODEC_NOT_MEASURED);
        cr_assert_str_eq(sentence, "no power figure of 'f': no positive control: no world");
        judge(&g, "g", words[k]); /* no row of the finding */
        cr_assert_str_eq(word, GEODEC_NOT_MEASURED);
    }
    geodec_gate_close(&g);
    geodec_err err = {0};
    test_ok(geodec_gate_open(test_tmp("nowhere.tsv"), &g, &err), &err); /* nor a table */
    judge(&g, "f", "refuted");
    cr_assert_str_eq(word, GEODEC_NOT_MEASURED);
    cr_assert_not_null(strstr(sentence, "no file nowhere.tsv"));
    geodec_gate_close(&g);
    test_ok(geodec_gate_open(GEODEC_GATE_OFF, &g, &err), &err);
    judge(&g, "f", "refuted");
    cr_assert_str_eq(word, "refuted");
    geodec_gate_close(&g);
}

Test(gate, a_table_of_something_else_is_refused)
{
    geodec_gate g;
    const char *path = test_tmp("other.tsv");
    FILE *f = fopen(path, "w");
    fprintf(f, "finding\tpower\nf\t0.9\n");
    fclose(f);
    cr_assert_eq(geodec_gate_open(path, &g, NULL), GEODEC_FORMAT);
    geodec_gate_close(&g);
}

Test(gate, a_row_names_a_finding_or_says_why_not)
{
    const char *out;
    geodec_err err = {0};
    test_ok(geodec_gate_finding("intrinsic-dimension2", &out, &err), &err);
    cr_assert_str_eq(out, "intrinsic-dimension2");
    test_ok(geodec_gate_finding("-: a closed form", &out, &err), &err);
    cr_assert_null(out);
    static const char *const bad[] = {"-", "-: ", "-:x", "two words", "Curvature", "-x"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        cr_assert_eq(geodec_gate_finding(bad[k], &out, NULL), GEODEC_FORMAT, "%s", bad[k]);
}
