#include "lab/verification/report.h"

#include "io/json.h"
#include "io/tsv.h"

#include <math.h>
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
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    if (strcmp(path, "-") == 0)
        GEODEC_TRY(geodec_json_on(standard, &w, err));
    else
        GEODEC_TRY(geodec_json_create(path, &w, err));
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
    GEODEC_TRY(geodec_json_commit(w, err));
done:
    return st;
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
