/* geodec-christoffel: Christoffel symbols of a metric field, with their self-tests. */
#include "base/clock.h"
#include "base/mem.h"
#include "chain/field_needs.h"
#include "cli/needs.h"
#include "cli/shard.h"
#include "cli/space.h"
#include "linalg/stats.h"

#include <string.h>

static const char *shard, *output = "christoffel.h5", *deriv = "analytic", *at = "samples";
static int64_t points;
static geodec_christoffel_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "christoffel.h5"),
    OPT_CHOICE("deriv", 0, &deriv, "analytic|fd", "HOW",
               "derivative of the metric: analytic, or fd (central differences)"),
    OPT_F64("h", 0, &opt.step, 0, 1e300, "X", "step of the differences (0: a thousandth of sigma)"),
    OPT_CHOICE("at", 0, &at, "samples|midpoints", "WHERE",
               "points of the metric, or the midpoints between each point and its nearest neighbour"),
    OPT_I64("points", 'n', &points, 0, 1e9, "N", "use only the first N of these points (0: all)"),
    OPT_I64("control", 0, &opt.control, 1, 1e9, "N",
            "number of points at which the other derivative is also computed, as a control"),
    CLI_SHARD_OPTION(shard, "points"),
};

static const cli_tool tool = {
    .name = "geodec-christoffel",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "compute the Christoffel symbols of a metric field",
    .usage = "[OPTIONS] METRIC.h5",
    .description =
        "Ends with code 4 if the symbols are not those of the metric (compatibility residual). A field whose sigma\n"
        "is far below the distance between neighbours is flat at its samples and steep between them; --at midpoints\n"
        "shows the difference. The symbols are those of the space of the metric, the first coordinates of the cloud.\n"
        "They have two checks and no control of noise; the curvature of geodec-riemann has one.",
    .examples = "geodec-christoffel -o christoffel.h5 metric.h5\n"
                "geodec-christoffel --deriv fd --h 1e-2 --at midpoints -o fd.h5 metric.h5",
    CLI_TAKES(options, 1, 1),
    .plans = true,
};

/* The first `count` points of --at, [count][n]; the caller frees. */
static geodec_status choose_points(const geodec_metric *m, int64_t count, double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    const bool middle = strcmp(at, "midpoints") == 0;
    GEODEC_NEW(x, count * m->n);
    for (int64_t p = 0; p < count; p++) {
        const double *a = m->point + p * m->n, *b = middle ? m->point + m->knn_index[p * m->k] * m->n : a;
        for (int64_t i = 0; i < m->n; i++) x[p * m->n + i] = 0.5 * (a[i] + b[i]);
    }
    *out = x;
done:
    return st;
}

/* --plan */
static geodec_status plan(const cli *c, const cli_stage *stage, const geodec_space *s, int64_t count, const double *x,
                          geodec_err *err)
{
    geodec_size size;
    needs_inputs(c->needs, stage);
    GEODEC_PASS(geodec_christoffel_needs(s, count, x, &opt, NEEDS_BUDGET, c->pool, &c->hooks, c->needs, &size, err));
    needs_process(c->needs);
    needs_output(c->needs, &size);
    return GEODEC_OK;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_file in = {0};
    geodec_christoffel g = {0};
    cli_stage stage = {0};
    double *x = NULL, median = 0;
    opt.deriv = strcmp(deriv, "fd") == 0 ? GEODEC_DERIV_FD : GEODEC_DERIV_ANALYTIC;
    GEODEC_TRY(geodec_shard_parse(shard, &opt.shard, err));
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(stage_space(&stage, c->args[0], &in, err));
    const int64_t count = points > 0 && points < in.metric.points ? points : in.metric.points;
    const geodec_space *s = in.space;
    GEODEC_TRY(choose_points(&in.metric, count, &x, err));
    if (c->needs) {
        needs_since(c->needs, "load", begin);
        GEODEC_TRY(plan(c, &stage, s, count, x, err));
        goto done;
    }
    GEODEC_TRY(geodec_christoffel_compute(s, count, x, &opt, c->pool, &c->hooks, &g, err));
    STAGE_WRITE(&stage, &geodec_christoffel_kind, geodec_christoffel_write(&g, x, at, in.metric.sigma, stage.out, err));
    if (g.points > 0) GEODEC_TRY(geodec_stats_median(g.points, g.largest, &median, err)); /* a part may have none */
    cli_say(c, "%lld %s, dimension %lld: median max |Gamma| %.3g, metric residual at most %.1e, %s control within %.1e",
            (long long)g.points, at, (long long)in.metric.n, median, g.worst_residual,
            opt.deriv == GEODEC_DERIV_FD ? "analytic" : "difference", g.worst_gap);
done:
    stage_end(&stage);
    geodec_metric_file_close(&in);
    geodec_christoffel_clear(&g);
    geodec_mem_free(x);
    return st;
}

CLI_MAIN(opt = geodec_christoffel_defaults())
