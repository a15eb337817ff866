/* geodec-verify-geometry: check of a Riemannian geometry; names the convention that a failing field follows. */
#include "base/mem.h"
#include "cli/space.h"
#include "lab/harness/space.h"
#include "lab/verification/input.h"
#include "lab/verification/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *output, *group = "/", *json, *tsv, *known;
static int64_t samples = 64;
static geodec_verification_options o;

static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "also write the verification to FILE", .flags = CLI_VOLATILE),
    OPT_STR("group", 'g', &group, "NAME", "group of the HDF5 file that contains the field"),
    OPT_I64("samples", 's', &samples, 1, 1e7, "N",
            "number of points of a metric artifact to test, evenly spread, and of midpoints to their neighbours"),
    OPT_STR("curvature", 0, &known, "K", "require the tensor of constant curvature K"),
    OPT_F64("tolerance", 0, &o.tolerance, 0, 1, "X",
            "largest deviation that passes, for fields from differences or in single precision"),
    OPT_F64("step", 0, &o.step, 0, 1e9, "H",
            "step of the differences of a metric artifact (0: 1e-3 of its natural length)"),
    OPT_I64("second-bianchi", 0, &o.bianchi, 0, 1e7, "N",
            "test the second Bianchi identity at N of the points of a metric artifact"),
    OPT_FILE("json", 0, &json, "FILE", "also write the report as JSON (- for standard output instead of the text)",
             .flags = CLI_VOLATILE),
    OPT_FILE("tsv", 0, &tsv, "FILE", "also write the report as a table (- for standard output instead of the text)",
             .flags = CLI_VOLATILE),
};

static const cli_tool tool = {
    .name = "geodec-verify-geometry",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "check the identities of metrics, Christoffel symbols and curvature",
    .usage = "[OPTIONS] FILE.h5",
    .description =
        "FILE is a metric artifact of any kind, or an HDF5 file with datasets points [P][n], g [P][n][n] and,\n"
        "optionally, dg [P][n][n][n] (dg[a][i][j] = d_a g_ij), gamma (gamma[i][j][k] = Gamma^k_ij), dgamma\n"
        "(dgamma[c][i][j][k] = d_c Gamma^k_ij), riemann [P][n][n][n][n] (riemann[a][b][c][d] = R^a_bcd, which is K\n"
        "(delta^a_c g_bd - delta^a_d g_bc) for constant curvature), ricci [P][n][n], scalar_curvature [P]. A field\n"
        "that fails is tested in the conventions of other packages, and the convention that fits is named. Control:\n"
        "spaces known in closed form and fields with a known fault are checked in the same run. The exit code is 4\n"
        "if a check fails.",
    .examples = "  geodec-verify-geometry metric.h5\n"
                "  geodec-verify-geometry --group sphere_n4 --curvature 1 analytic.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = c->args[0], *slash = strrchr(path, '/');
    geodec_harness_space space = {0};
    geodec_verification_input a = {0};
    geodec_verification_field f = {0};
    geodec_verification v = {0};
    geodec_verification_control control;
    cli_stage stage = {0};
    double k = 0, *x = NULL;
    char subject[512];
    if (known) {
        char *end = NULL;
        k = strtod(known, &end);
        if (end == known || *end || !isfinite(k))
            GEODEC_THROW(GEODEC_INVAL, "--curvature: '%s' is not a number", known);
        o.curvature = &k;
    }
    if (output) GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_verification_controls(c->seed, &control, err));
    if (geodec_verification_input_is_artifact(path)) {
        geodec_artifact *file = NULL;
        GEODEC_TRY(stage_space_file(&stage, path, &file, err));
        GEODEC_TRY(geodec_harness_space_take(file, &space, err));
        if (!known && geodec_verification_input_curvature(&space.of.metric, &k)) o.curvature = &k;
        GEODEC_TRY(geodec_verification_input_points(&space.of.metric, space.space, samples, &x, &f.points, err));
        f.x = x;
        GEODEC_TRY_MSG(geodec_verification_space(space.space, f.points, x, &o, c->pool, &c->hooks, &v, err), "%s",
                       path);
        (void)snprintf(subject, sizeof subject, "%.200s (%s)", slash ? slash + 1 : path,
                       geodec_metric_type_name(space.of.metric.kind));
    } else {
        GEODEC_TRY(geodec_verification_input_read(path, group, &a, &f, err));
        GEODEC_TRY(stage_file(&stage, path, err));
        GEODEC_TRY_MSG(geodec_verification_arrays(&f, &o, c->pool, &c->hooks, &v, err), "%s", path);
        (void)snprintf(subject, sizeof subject, "%.200s %.200s", slash ? slash + 1 : path, group);
    }
    if (output) {
        STAGE_WRITE(&stage, &geodec_verification_kind,
                    geodec_verification_write(&v, f.x, subject, &control, stage.out, err));
    }
    const bool to_stdout = (json && strcmp(json, "-") == 0) || (tsv && strcmp(tsv, "-") == 0);
    if (!to_stdout && !c->quiet) geodec_verification_report_text(&v, &control, subject, stdout);
    if (json) GEODEC_TRY(geodec_verification_report_json(&v, &control, subject, json, stdout, err));
    if (tsv) GEODEC_TRY(geodec_verification_report_tsv(&v, tsv, stdout, err));
    if (!control.pass) GEODEC_THROW(GEODEC_CHECK, "the control failed: this build or machine computes wrong results");
    if (!v.pass)
        GEODEC_THROW(GEODEC_CHECK, "%s: %d of the checks failed%s%s", path, geodec_verification_report_failures(&v),
                     v.notes ? "; " : "", v.notes ? v.note[0] : "");
done:
    stage_end(&stage);
    geodec_harness_space_close(&space);
    geodec_verification_clear(&v);
    geodec_verification_input_clear(&a);
    geodec_mem_free(x);
    return st;
}

int main(int argc, char **argv)
{
    o = geodec_verification_defaults();
    o.bianchi = 8;
    return cli_main(argc, argv, &tool, run);
}
