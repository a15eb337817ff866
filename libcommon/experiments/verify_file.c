/* The verification artifact. */
#include "base/mem.h"
#include "experiments/verify.h"

#include <stdio.h>
#include <string.h>

#define CHECKS "18"
static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "Q,n", 0, "chart", "points that were checked", 0},
    {"/deviation", GEODEC_F64, "Q," CHECKS, 0, "1",
     "relative deviation of every check, in the order of the attribute `checks`; -1 = not run", 0},
    {"/worst", GEODEC_F64, CHECKS, 0, "1", "largest of them; -1 = not run", 0},
    {"/limit", GEODEC_F64, CHECKS, 0, "1", "largest that passes", 0},
    {"/where", GEODEC_I64, CHECKS, 0, "1", "first point that has the largest", 0},
    {"/pass", GEODEC_U8, CHECKS, 0, "1", "1 = passed or not run", 0},
    {"/control_worst", GEODEC_F64, "12", 0, "1",
     "control: largest deviation over its limit on spaces known in closed form, in the order of `controls`", 0},
    {"/control_fault_found", GEODEC_U8, "8", 0, "1",
     "control: 1 = the fault put into a right field failed and was named, in the order of `faults`", 0},
};

static const geodec_attr attrs[] = {
    {"subject", GEODEC_ATTR_STR, 0, "what was checked"},
    {"checks", GEODEC_ATTR_STR, 0, "names of the checks, separated by semicolons"},
    {"controls", GEODEC_ATTR_STR, 0, "names of the exact spaces"},
    {"faults", GEODEC_ATTR_STR, 0, "names of the faults"},
    {"notes", GEODEC_ATTR_STR, 0, "what a failure probably is, a line each"},
    {"passed", GEODEC_ATTR_I64, 0, "1 = every check that was run"},
    {"failed_checks", GEODEC_ATTR_I64, 0, "number of checks that failed"},
    {"compatibility", GEODEC_ATTR_F64, 0, "worst residual of metric compatibility; -1 = not run"},
    {"symmetries", GEODEC_ATTR_F64, 0, "worst of the pair symmetries and the first Bianchi identity; -1 = not run"},
    {"control_passed", GEODEC_ATTR_I64, 0, "1 = every exact space passed and every fault was named"},
};

const geodec_kind geodec_kind_verification = {
    .name = "verification",
    .major = 1,
    .minor = 0,
    .tool = "geodec-verify-geometry",
    .purpose = "identities of a metric, its connection and its curvature",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};
_Static_assert(GEODEC_VERIFY_CHECKS == 18 && GEODEC_VERIFY_EXACT == 12 && GEODEC_VERIFY_FAULTS == 8,
               "extents in the table above");

static void append(char *to, size_t size, const char *separator, const char *text)
{
    const size_t used = strlen(to);
    (void)snprintf(to + used, size - used, "%s%s", used ? separator : "", text);
}

geodec_status geodec_verify_write(const geodec_verify *v, const double *x, const char *subject,
                                  const geodec_verify_control *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double worst[GEODEC_VERIFY_CHECKS], limit[GEODEC_VERIFY_CHECKS], control[GEODEC_VERIFY_EXACT], symmetries = -1;
    int64_t where[GEODEC_VERIFY_CHECKS], failed = 0;
    uint8_t pass[GEODEC_VERIFY_CHECKS], found[GEODEC_VERIFY_FAULTS];
    char checks[1024] = "", controls[1024] = "", faults[1024] = "",
         notes[GEODEC_VERIFY_NOTES * GEODEC_VERIFY_NOTE] = "";
    for (int i = 0; i < GEODEC_VERIFY_CHECKS; i++) {
        worst[i] = v->check[i].worst;
        limit[i] = v->check[i].limit;
        where[i] = v->check[i].where;
        pass[i] = v->check[i].pass;
        failed += !v->check[i].pass;
        append(checks, sizeof checks, ";", geodec_verify_abouts[i].name);
        if (i >= GEODEC_VERIFY_FIRST_PAIR && i <= GEODEC_VERIFY_BIANCHI_1 && worst[i] > symmetries)
            symmetries = worst[i];
    }
    for (int i = 0; i < GEODEC_VERIFY_EXACT; i++) {
        control[i] = c->exact[i].worst;
        append(controls, sizeof controls, ";", c->exact[i].name);
    }
    for (int i = 0; i < GEODEC_VERIFY_FAULTS; i++) {
        found[i] = c->fault[i].found;
        append(faults, sizeof faults, ";", c->fault[i].name);
    }
    for (int i = 0; i < v->notes; i++) append(notes, sizeof notes, "\n", v->note[i]);
    GEODEC_TRY(geodec_artifact_set_dim(a, "Q", v->points, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "n", v->n, err));
    GEODEC_TRY(geodec_artifact_write(a, "/x", x, err));
    GEODEC_TRY(geodec_artifact_write(a, "/deviation", v->value, err));
    GEODEC_TRY(geodec_artifact_write(a, "/worst", worst, err));
    GEODEC_TRY(geodec_artifact_write(a, "/limit", limit, err));
    GEODEC_TRY(geodec_artifact_write(a, "/where", where, err));
    GEODEC_TRY(geodec_artifact_write(a, "/pass", pass, err));
    GEODEC_TRY(geodec_artifact_write(a, "/control_worst", control, err));
    GEODEC_TRY(geodec_artifact_write(a, "/control_fault_found", found, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "subject", subject, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "checks", checks, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "controls", controls, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "faults", faults, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "notes", notes, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "passed", v->pass, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "failed_checks", failed, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "compatibility", v->check[GEODEC_VERIFY_COMPATIBILITY].worst, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "symmetries", symmetries, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "control_passed", c->pass, err));
done:
    return st;
}
