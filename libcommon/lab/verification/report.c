#include "lab/verification/report.h"

#include "artifact/binding.h"
#include "io/json.h"
#include "io/tsv.h"
#include "lab/verification/verification.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int geodec_verification_report_failures(const geodec_verification *v)
{
    int n = 0;
    for (int c = 0; c < GEODEC_VERIFY_CHECKS; c++) n += !v->check[c].pass;
    return n;
}

void geodec_verification_report_text(const geodec_verification *v, const geodec_verification_control *c,
                                     const char *subject, FILE *out)
{
    double worst = 0;
    int exact = 0, found = 0;
    (void)fprintf(out, "%s: %lld points, n = %lld\n", subject, (long long)v->points, (long long)v->n);
    for (int i = 0; i < GEODEC_VERIFY_CHECKS; i++) {
        const geodec_verification_about *a = &geodec_verification_abouts[i];
        if (!v->check[i].run) continue;
        (void)fprintf(out, "  %s  %-22s %9.2e  limit %6.0e  point %-6lld %s\n", v->check[i].pass ? "ok  " : "FAIL",
                      a->name, v->check[i].worst, v->check[i].limit, (long long)v->check[i].where, a->what);
    }
    const char *separator = "  not run (an array is missing, or the curvature is not known): ";
    for (int i = 0; i < GEODEC_VERIFY_CHECKS; i++) {
        if (v->check[i].run) continue;
        (void)fprintf(out, "%s%s", separator, geodec_verification_abouts[i].name);
        separator = ", ";
    }
    if (separator[0] == ',') (void)fprintf(out, "\n");
    for (int i = 0; i < v->notes; i++) (void)fprintf(out, "  note: %s\n", v->note[i]);
    for (int i = 0; i < GEODEC_VERIFY_EXACT; i++) {
        exact += c->exact[i].pass;
        worst = fmax(worst, c->exact[i].worst);
    }
    for (int i = 0; i < GEODEC_VERIFY_FAULTS; i++) found += c->fault[i].found;
    (void)fprintf(out, "control: %d of %d exact spaces pass (at most %.1e of a limit), %d of %d faults are named\n",
                  exact, GEODEC_VERIFY_EXACT, worst, found, GEODEC_VERIFY_FAULTS);
}

geodec_status geodec_verification_report_json(const geodec_verification *v, const geodec_verification_control *c,
                                              const char *subject, const char *path, FILE *standard, geodec_err *err)
{
    geodec_json_writer *w = NULL;
    if (strcmp(path, "-") == 0)
        GEODEC_PASS(geodec_json_on(standard, &w, err));
    else
        GEODEC_PASS(geodec_json_create(path, &w, err));
    geodec_json_put_str(w, "subject", subject);
    geodec_json_put_i64(w, "points", v->points);
    geodec_json_put_i64(w, "dimension", v->n);
    geodec_json_put_bool(w, "pass", v->pass);
    geodec_json_begin_array(w, "checks");
    for (int i = 0; i < GEODEC_VERIFY_CHECKS; i++) {
        if (!v->check[i].run) continue;
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "name", geodec_verification_abouts[i].name);
        geodec_json_put_str(w, "identity", geodec_verification_abouts[i].what);
        geodec_json_put_f64(w, "worst", v->check[i].worst);
        geodec_json_put_f64(w, "limit", v->check[i].limit);
        geodec_json_put_i64(w, "point", v->check[i].where);
        geodec_json_put_bool(w, "pass", v->check[i].pass);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_begin_array(w, "notes");
    for (int i = 0; i < v->notes; i++) geodec_json_put_str(w, NULL, v->note[i]);
    geodec_json_end(w);
    geodec_json_begin_array(w, "controls");
    for (int i = 0; i < GEODEC_VERIFY_EXACT; i++) {
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "name", c->exact[i].name);
        geodec_json_put_f64(w, "worst_over_limit", c->exact[i].worst);
        geodec_json_put_bool(w, "pass", c->exact[i].pass);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_begin_array(w, "faults");
    for (int i = 0; i < GEODEC_VERIFY_FAULTS; i++) {
        geodec_json_begin_object(w, NULL);
        geodec_json_put_str(w, "name", c->fault[i].name);
        geodec_json_put_bool(w, "found", c->fault[i].found);
        geodec_json_put_str(w, "note", c->fault[i].note);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    GEODEC_PASS(geodec_json_commit(w, err));
    return GEODEC_OK;
}

geodec_status geodec_verification_report_tsv(const geodec_verification *v, const char *path, FILE *standard,
                                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    if (strcmp(path, "-") == 0)
        GEODEC_TRY(geodec_tsv_on(standard, &t, err));
    else
        GEODEC_TRY(geodec_tsv_create(path, &t, err));
    GEODEC_TRY(geodec_tsv_columns(t, 6, (const char *[]){"check", "worst", "limit", "point", "pass", "identity"}, err));
    for (int i = 0; i < GEODEC_VERIFY_CHECKS; i++) {
        if (!v->check[i].run) continue;
        geodec_tsv_str(t, geodec_verification_abouts[i].name);
        geodec_tsv_f64(t, v->check[i].worst);
        geodec_tsv_f64(t, v->check[i].limit);
        geodec_tsv_i64(t, v->check[i].where);
        geodec_tsv_i64(t, v->check[i].pass);
        geodec_tsv_str(t, geodec_verification_abouts[i].what);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

typedef struct report {
    geodec_verification v;
    geodec_verification_control c;
    const double *x;
    const char *subject, *checks, *controls, *faults, *notes;
    int64_t failed;
    double symmetries;
} report;
#define IN(m) GEODEC_IN(report, m)
#define CHECKS "18"
static const geodec_rows exact = {"12", sizeof(geodec_verification_exact), offsetof(report, c.exact), true},
                         fault = {"8", sizeof(geodec_verification_fault), offsetof(report, c.fault), true};
#define OF(m) GEODEC_OF_ROW(geodec_verification_result, m)
static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "Q,n", 0, "chart", "points that were checked", 0, GEODEC_AT(report, x)},
    {"/deviation", GEODEC_F64, "Q," CHECKS, 0, "1",
     "relative deviation of every check, in the order of the attribute `checks`; -1 = not run", 0,
     GEODEC_AT(report, v.value)},
    {"/worst", GEODEC_F64, CHECKS, 0, "1", "largest of them; -1 = not run", 0, OF(worst)},
    {"/limit", GEODEC_F64, CHECKS, 0, "1", "largest that passes", 0, OF(limit)},
    {"/where", GEODEC_I64, CHECKS, 0, "1", "first point that has the largest", 0, OF(where)},
    {"/pass", GEODEC_U8, CHECKS, 0, "1", "1 = passed or not run", 0, OF(pass)},
    {"/control_worst", GEODEC_F64, "12", 0, "1",
     "control: largest deviation over its limit on spaces known in closed form, in the order of `controls`", 0,
     GEODEC_OF_ROWS(&exact, geodec_verification_exact, worst, 0, 0)},
    {"/control_fault_found", GEODEC_U8, "8", 0, "1",
     "control: 1 = the fault put into a right field failed and was named, in the order of `faults`", 0,
     GEODEC_OF_ROWS(&fault, geodec_verification_fault, found, 0, 0)},
};

static const geodec_attr attrs[] = {
    {"subject", GEODEC_ATTR_STR, 0, "what was checked", IN(subject)},
    {"checks", GEODEC_ATTR_STR, 0, "names of the checks, separated by semicolons", IN(checks)},
    {"controls", GEODEC_ATTR_STR, 0, "names of the exact spaces", IN(controls)},
    {"faults", GEODEC_ATTR_STR, 0, "names of the faults", IN(faults)},
    {"notes", GEODEC_ATTR_STR, 0, "what a failure probably is, a line each", IN(notes)},
    {"passed", GEODEC_ATTR_I64, 0, "1 = every check that was run", IN(v.pass)},
    {"failed_checks", GEODEC_ATTR_I64, 0, "number of checks that failed", IN(failed)},
    {"compatibility", GEODEC_ATTR_F64, 0, "worst residual of metric compatibility; -1 = not run",
     IN(v.check[GEODEC_VERIFY_COMPATIBILITY].worst)},
    {"symmetries", GEODEC_ATTR_F64, 0, "worst of the pair symmetries and the first Bianchi identity; -1 = not run",
     IN(symmetries)},
    {"control_passed", GEODEC_ATTR_I64, 0, "1 = every exact space passed and every fault was named", IN(c.pass)},
};

static const geodec_extent extents[] = {{"Q", IN(v.points)}, {"n", IN(v.n)}};

const geodec_kind geodec_verification_kind = {
    GEODEC_ABOUT("verification", 1, 0, "geodec-verify-geometry",
                 "identities of a metric, its connection and its curvature"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {CHECKS, sizeof(geodec_verification_result), offsetof(report, v.check), true},
};
_Static_assert(GEODEC_VERIFY_CHECKS == 18 && GEODEC_VERIFY_EXACT == 12 && GEODEC_VERIFY_FAULTS == 8,
               "extents in the table above");

static void append(char *to, size_t size, const char *separator, const char *text)
{
    const size_t used = strlen(to);
    (void)snprintf(to + used, size - used, "%s%s", used ? separator : "", text);
}

geodec_status geodec_verification_write(const geodec_verification *v, const double *x, const char *subject,
                                        const geodec_verification_control *c, geodec_artifact *a, geodec_err *err)
{
    char checks[1024] = "", controls[1024] = "", faults[1024] = "",
         notes[GEODEC_VERIFY_NOTES * GEODEC_VERIFY_NOTE] = "";
    report r = {*v, *c, x, subject, checks, controls, faults, notes, 0, -1};
    for (int i = 0; i < GEODEC_VERIFY_CHECKS; i++) {
        r.failed += !v->check[i].pass;
        append(checks, sizeof checks, ";", geodec_verification_abouts[i].name);
        if (i >= GEODEC_VERIFY_FIRST_PAIR && i <= GEODEC_VERIFY_BIANCHI_1 && v->check[i].worst > r.symmetries)
            r.symmetries = v->check[i].worst;
    }
    for (int i = 0; i < GEODEC_VERIFY_EXACT; i++) append(controls, sizeof controls, ";", c->exact[i].name);
    for (int i = 0; i < GEODEC_VERIFY_FAULTS; i++) append(faults, sizeof faults, ";", c->fault[i].name);
    for (int i = 0; i < v->notes; i++) append(notes, sizeof notes, "\n", v->note[i]);
    return geodec_artifact_save(a, &r, err);
}
