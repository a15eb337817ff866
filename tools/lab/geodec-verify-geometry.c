/* geodec-verify-geometry: is this a Riemannian geometry, and if not, in whose convention would it be one? */
#include "base/mem.h"
#include "cli/space.h"
#include "io/foreign.h"
#include "io/format.h"
#include "io/json.h"
#include "io/tsv.h"
#include "lab/verification/correct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *output, *group = "/", *json, *tsv, *known;
static int64_t samples = 64, bianchi = 8;
static double step, tolerance;

static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "also write the verification to FILE", .flags = CLI_VOLATILE),
    OPT_STR("group", 'g', &group, "NAME", "group of the HDF5 file the field lies in"),
    OPT_I64("samples", 's', &samples, 1, 1e7, "N",
            "points of a metric artifact, evenly spread among its own, and as many half-way to their neighbours"),
    OPT_STR("curvature", 0, &known, "K", "the tensor must be that of constant curvature K"),
    OPT_F64("tolerance", 0, &tolerance, 0, 1, "X",
            "deviations up to X pass, for fields made by differences or in single precision"),
    OPT_F64("step", 0, &step, 0, 1e9, "H",
            "step of the differences of a metric artifact (0: 1e-3 of its natural length)"),
    OPT_I64("second-bianchi", 0, &bianchi, 0, 1e7, "N",
            "test the second Bianchi identity at N of the points of a metric artifact"),
    OPT_FILE("json", 0, &json, "FILE", "also write the report as JSON (- for standard output in place of the text)",
             .flags = CLI_VOLATILE),
    OPT_FILE("tsv", 0, &tsv, "FILE", "also write the report as a table (- for standard output in place of the text)",
             .flags = CLI_VOLATILE),
};

static const cli_tool tool = {
    .name = "geodec-verify-geometry",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "checks metrics, Christoffel symbols and curvature for what they must satisfy",
    .usage = "[OPTIONS] FILE.h5",
    .description =
        "FILE is a metric artifact of any kind, or any HDF5 file with datasets points [P][n] and g [P][n][n] and, as\n"
        "far as there are, dg [P][n][n][n] (dg[a][i][j] = d_a g_ij), gamma (gamma[i][j][k] = Gamma^k_ij), dgamma\n"
        "(dgamma[c][i][j][k] = d_c Gamma^k_ij), riemann [P][n][n][n][n] (riemann[a][b][c][d] = R^a_bcd,\n"
        "K (delta^a_c g_bd - delta^a_d g_bc) on constant curvature), ricci [P][n][n], scalar_curvature [P].\n"
        "A field that fails is read in the conventions of other packages, and the one that fits is named. Spaces\n"
        "known in closed form and fields with a known fault are checked beside it, as the control. The code is 4 when\n"
        "a check fails.",
    .examples = "  geodec-verify-geometry metric.h5\n"
                "  geodec-verify-geometry --group sphere_n4 --curvature 1 analytic.h5",
    CLI_TAKES(options, 1, 1),
};

/* ---- input ---------------------------------------------------------------------------------------------------------
 */

static bool is_artifact(const char *path)
{
    static const char magic[] = "geodec artifact ";
    char head[sizeof magic - 1] = "";
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    const bool yes = fread(head, 1, sizeof head, f) == sizeof head && memcmp(head, magic, sizeof head) == 0;
    (void)fclose(f);
    return yes;
}

/* A dataset that may be missing: *out stays NULL. */
static geodec_status optional(const char *path, const char *name, int rank, int64_t points, int64_t n, double **out,
                              geodec_err *err)
{
    geodec_err inner = {0};
    char full[512];
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {points, n, n, n, n};
    (void)snprintf(full, sizeof full, "%s/%s", strcmp(group, "/") == 0 ? "" : group, name);
    const geodec_status st = geodec_foreign_read(path, full, rank, shape, NULL, out, &inner);
    if (st == GEODEC_OK || st == GEODEC_NOTFOUND) return GEODEC_OK;
    if (err) *err = inner;
    return st;
}

typedef struct given {
    double *x, *g, *dg, *gamma, *dgamma, *riem, *ricci, *scalar;
} given;

static geodec_status read_field(const char *path, given *a, geodec_verification_field *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char full[512];
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    const char *prefix = strcmp(group, "/") == 0 ? "" : group;
    if (strlen(group) > 400) GEODEC_THROW(GEODEC_INVAL, "the group's name is too long");
    (void)snprintf(full, sizeof full, "%s/points", prefix);
    GEODEC_TRY(geodec_foreign_read(path, full, 2, shape, NULL, &a->x, err));
    const int64_t points = shape[0], n = shape[1];
    if (n < 1 || n > 64 || points < 1)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %lld points of dimension %lld; the dimension must lie in 1..64", path,
                     (long long)points, (long long)n);
    shape[2] = n;
    (void)snprintf(full, sizeof full, "%s/g", prefix);
    GEODEC_TRY(geodec_foreign_read(path, full, 3, shape, NULL, &a->g, err));
    GEODEC_TRY(optional(path, "dg", 4, points, n, &a->dg, err));
    GEODEC_TRY(optional(path, "gamma", 4, points, n, &a->gamma, err));
    GEODEC_TRY(optional(path, "dgamma", 5, points, n, &a->dgamma, err));
    GEODEC_TRY(optional(path, "riemann", 5, points, n, &a->riem, err));
    GEODEC_TRY(optional(path, "ricci", 3, points, n, &a->ricci, err));
    GEODEC_TRY(optional(path, "scalar_curvature", 1, points, n, &a->scalar, err));
    *f = (geodec_verification_field){points, n, a->x, a->g, a->dg, a->gamma, a->dgamma, a->riem, a->ricci, a->scalar};
done:
    return st;
}

/* Points of the artifact and points half-way to the nearest neighbour of each (in polar and other charts with a
 * boundary such a point may lie outside: then it is left out). */
static geodec_status choose(const space_handle *s, double **out, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_metric *m = &s->metric;
    const int64_t n = m->n, each = samples < m->points ? samples : m->points;
    double *x = NULL;
    GEODEC_NEW(x, 2 * each * n);
    int64_t used = 0;
    for (int64_t q = 0; q < each; q++, used++)
        memcpy(x + used * n, m->point + q * m->points / each * n, (size_t)n * sizeof *x);
    for (int64_t q = 0; q < each; q++) {
        const int64_t p = q * m->points / each;
        double *mid = x + used * n;
        if (m->k < 1) break;
        for (int64_t i = 0; i < n; i++) mid[i] = 0.5 * (m->point[p * n + i] + m->point[m->knn_index[p * m->k] * n + i]);
        used += s->space->at(s->space, mid, NULL, NULL, NULL, NULL) == GEODEC_OK;
    }
    *out = x;
    *count = used;
    x = NULL;
done:
    geodec_mem_free(x);
    return st;
}

/* The curvature of a metric's kind, where it is constant. */
static bool kind_curvature(const geodec_metric *m, double *k)
{
    *k = 0;
    switch (m->kind) {
    case GEODEC_METRIC_SPHERE:
    case GEODEC_METRIC_HYPERBOLIC:
        *k = m->curvature;
        return true;
    case GEODEC_METRIC_GAUSSIAN_FISHER:
        *k = -0.5;
        return true;
    case GEODEC_METRIC_POLAR:
    case GEODEC_METRIC_FLAT:
    case GEODEC_METRIC_EUCLIDEAN:
        return true;
    default:
        return false;
    }
}

/* ---- reports -------------------------------------------------------------------------------------------------------
 */

static int failures(const geodec_verification *v)
{
    int n = 0;
    for (int c = 0; c < GEODEC_VERIFY_CHECKS; c++) n += !v->check[c].pass;
    return n;
}

static void text_report(const geodec_verification *v, const geodec_verification_control *c, const char *subject)
{
    double worst = 0;
    int exact = 0, found = 0;
    (void)printf("%s: %lld points, n = %lld\n", subject, (long long)v->points, (long long)v->n);
    for (int i = 0; i < GEODEC_VERIFY_CHECKS; i++) {
        const geodec_verification_about *a = &geodec_verification_abouts[i];
        if (!v->check[i].run) continue;
        (void)printf("  %s  %-22s %9.2e  limit %6.0e  point %-6lld %s\n", v->check[i].pass ? "ok  " : "FAIL", a->name,
                     v->check[i].worst, v->check[i].limit, (long long)v->check[i].where, a->what);
    }
    const char *separator = "  not run (an array is missing, or the curvature is not known): ";
    for (int i = 0; i < GEODEC_VERIFY_CHECKS; i++) {
        if (v->check[i].run) continue;
        (void)printf("%s%s", separator, geodec_verification_abouts[i].name);
        separator = ", ";
    }
    if (separator[0] == ',') (void)printf("\n");
    for (int i = 0; i < v->notes; i++) (void)printf("  note: %s\n", v->note[i]);
    for (int i = 0; i < GEODEC_VERIFY_EXACT; i++) {
        exact += c->exact[i].pass;
        worst = fmax(worst, c->exact[i].worst);
    }
    for (int i = 0; i < GEODEC_VERIFY_FAULTS; i++) found += c->fault[i].found;
    (void)printf("control: %d of %d exact spaces pass (at most %.1e of a limit), %d of %d faults are named\n", exact,
                 GEODEC_VERIFY_EXACT, worst, found, GEODEC_VERIFY_FAULTS);
}

static geodec_status json_report(const geodec_verification *v, const geodec_verification_control *c,
                                 const char *subject, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json_writer *w = NULL;
    if (strcmp(json, "-") == 0)
        GEODEC_TRY(geodec_json_on(stdout, &w, err));
    else
        GEODEC_TRY(geodec_json_create(json, &w, err));
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

static geodec_status tsv_report(const geodec_verification *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    if (strcmp(tsv, "-") == 0)
        GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    else
        GEODEC_TRY(geodec_tsv_create(tsv, &t, err));
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

/* ---- the tool ------------------------------------------------------------------------------------------------------
 */

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = c->args[0], *slash = strrchr(path, '/');
    space_handle space = {0};
    given a = {0};
    geodec_verification_field f = {0};
    geodec_verification v = {0};
    geodec_verification_control control;
    cli_stage stage = {0};
    geodec_verification_options o = geodec_verification_defaults();
    double k = 0, *x = NULL;
    char subject[512];
    o.step = step;
    o.tolerance = tolerance;
    o.bianchi = bianchi;
    if (known) {
        char *end = NULL;
        k = strtod(known, &end);
        if (end == known || *end || !isfinite(k)) GEODEC_THROW(GEODEC_INVAL, "--curvature: '%s' is no number", known);
        o.curvature = &k;
    }
    if (output) GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_verification_controls(c->seed, &control, err));
    if (is_artifact(path)) {
        GEODEC_TRY(stage_space(&stage, path, &space, err));
        if (!known && kind_curvature(&space.metric, &k)) o.curvature = &k;
        GEODEC_TRY(choose(&space, &x, &f.points, err));
        f.x = x;
        GEODEC_TRY_MSG(geodec_verification_space(space.space, f.points, x, &o, c->pool, &c->hooks, &v, err), "%s",
                       path);
        (void)snprintf(subject, sizeof subject, "%.200s (%s)", slash ? slash + 1 : path,
                       geodec_metric_type_name(space.metric.kind));
    } else {
        GEODEC_TRY(read_field(path, &a, &f, err));
        GEODEC_TRY(stage_file(&stage, path, err));
        GEODEC_TRY_MSG(geodec_verification_arrays(&f, &o, c->pool, &c->hooks, &v, err), "%s", path);
        (void)snprintf(subject, sizeof subject, "%.200s %.200s", slash ? slash + 1 : path, group);
    }
    if (output) {
        STAGE_WRITE(&stage, &geodec_verification_kind,
                    geodec_verification_write(&v, f.x, subject, &control, stage.out, err));
    }
    const bool to_stdout = (json && strcmp(json, "-") == 0) || (tsv && strcmp(tsv, "-") == 0);
    if (!to_stdout && !c->quiet) text_report(&v, &control, subject);
    if (json) GEODEC_TRY(json_report(&v, &control, subject, err));
    if (tsv) GEODEC_TRY(tsv_report(&v, err));
    if (!control.pass) GEODEC_THROW(GEODEC_CHECK, "the control failed: this build or machine computes wrongly");
    if (!v.pass)
        GEODEC_THROW(GEODEC_CHECK, "%s: %d of the checks failed%s%s", path, failures(&v), v.notes ? "; " : "",
                     v.notes ? v.note[0] : "");
done:
    stage_end(&stage);
    space_close(&space);
    geodec_verification_clear(&v);
    double *const all[] = {a.x, a.g, a.dg, a.gamma, a.dgamma, a.riem, a.ricci, a.scalar, x};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
