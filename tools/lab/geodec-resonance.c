/* geodec-resonance: cost and accuracy of corrections by a propagator. */
#include "chain/geodesics.h"
#include "cli/space.h"
#include "lab/resonance/resonance.h"

static const char *output = "speed-resonance.h5";
static int64_t path = 0;
static geodec_resonance_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "speed-resonance.h5"),
    OPT_I64("path", 0, &path, 0, 1e9, "N", "index of the path among those of GEODESICS.h5 with status ok, from 0"),
    OPT_I64("directions", 0, &opt.directions, 1, 1e6, "N", "true trajectories for each length of the displacement"),
    OPT_I64("repeats", 0, &opt.repeats, 7, 1e6, "N", "repeats of each measurement; the fastest counts"),
};

static const cli_tool tool = {
    .name = "geodec-resonance",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "measure the cost of corrections by propagators, in batches and one by one",
    .usage = "[OPTIONS] METRIC.h5 GEODESICS.h5",
    .description =
        "Times the propagator Phi (n by n) and the flow (2n by 2n) of a path on 1 to 10000 queries with a loop of\n"
        "dgemv, one dgemm, and the library's kernel, compared with the limit set by the peak speed of the core in\n"
        "the same run. Then compares the predictions with true geodesics from moved starts. The times, and therefore\n"
        "the file, vary from run to run.",
    .examples = "geodec-resonance -o speed-resonance.h5 metric.h5 geodesics.h5",
    CLI_TAKES(options, 2, 2),
};

static geodec_status measure(cli_stage *stage, geodec_resonance_options *o, geodec_resonance *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *c = stage->c;
    geodec_artifact *in = NULL;
    geodec_metric_file s = {0};
    geodec_geodesics g = {0};
    GEODEC_TRY(stage_space(stage, c->args[0], &s, err));
    GEODEC_TRY(stage_hold(stage, &geodec_geodesics_kind, c->args[1], &in, err));
    GEODEC_TRY(geodec_geodesics_read(in, &g, err));
    if (g.n != s.space->n)
        GEODEC_THROW(GEODEC_FORMAT, "%s has dimension %lld, %s %d", c->args[1], (long long)g.n, c->args[0],
                     (int)s.space->n);
    int64_t at = 0;
    for (int64_t left = path; at < g.paths; at++)
        if (g.status[at] == GEODEC_PATH_OK && left-- == 0) break;
    if (at == g.paths && path == 0)
        GEODEC_THROW(GEODEC_SCARCE, "%s: none of %lld paths is sound", c->args[1], (long long)g.paths);
    if (at == g.paths) GEODEC_THROW(GEODEC_RANGE, "--path: %s has fewer sound paths", c->args[1]);
    o->path.steps = g.nodes - 1;
    o->path.dl = g.dl;
    GEODEC_TRY(geodec_resonance_compute(s.space, g.x + at * g.nodes * g.n, g.v + at * g.nodes * g.n, o, r, err));
    GEODEC_TRY(stage_add(stage, in, err));
done:
    geodec_geodesics_clear(&g);
    geodec_metric_file_close(&s);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_resonance r;
    opt.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(measure(&stage, &opt, &r, err));
    STAGE_WRITE(&stage, &geodec_resonance_kind, geodec_resonance_write(&r, stage.out, err));
    geodec_resonance_say(&c->hooks, &r);
done:
    stage_end(&stage);
    return st;
}

CLI_MAIN(opt = geodec_resonance_defaults())
