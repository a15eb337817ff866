/* geodec-density: distances from new states to a library of states. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "cli/cloud.h"
#include "cli/sweep.h"
#include "lab/density/density.h"

static const char *output = "density.h5", *shard, *joined;
static int64_t dim;
static geodec_density_options opt;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "density.h5"),
    OPT_I64("dim", 'n', &dim, 0, 65536, "N", "use the first N principal coordinates (0: all)"),
    OPT_F64("held-out", 0, &opt.held_out, 0.01, 0.99, "X", "share of the texts to leave out of the library"),
    OPT_I64("nulls", 0, &opt.nulls, 0, 1000, "N", "number of surrogate clouds, the control"),
    CLI_SWEEP_OPTIONS(shard, joined, "states"),
};

static const cli_tool tool = {
    .name = "geodec-density",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "measure the density of new states relative to a library of states",
    .usage = "[OPTIONS] CLOUD.h5",
    .description =
        "Texts are split into a library and held-out ones. Distances from held-out states to the library are\n"
        "compared with the distances between library states of different texts, in the same metric. The number of\n"
        "states needed grows as ratio^n with the intrinsic dimension n. Within a text, states near in time are left\n"
        "out in steps. Surrogates are the control.",
    .examples = "  geodec-density -o density.h5 cloud.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_cloud cloud = {0};
    geodec_density d = {0};
    cli_stage stage = {0};
    bool part;
    int64_t n;
    double *x = NULL;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(cloud_dim(c, &cloud, dim, cloud.k, &n, err));
    GEODEC_TRY(geodec_cloud_coordinates(&cloud, n, &x, err));
    opt.seed = c->seed;
    opt.surrogate = geodec_surrogate_for(cloud.points, cloud.sequence);
    GEODEC_TRY(stage_sweep(&stage, shard, joined, &opt.sweep, err));
    GEODEC_TRY(
        geodec_density_run(cloud.points, n, x, cloud.sequence, cloud.position, &opt, c->pool, &c->hooks, &d, err));
    GEODEC_TRY(stage_part(&stage, &part, err));
    if (part) goto done;
    STAGE_WRITE(&stage, &geodec_density_kind, geodec_artifact_save(stage.out, &d, err));
    cli_say(c,
            "%lld held-out states to the library: %.3g [%.3g, %.3g]; library states of other texts: %.3g [%.3g, %.3g]",
            (long long)d.online_points, d.online.value, d.online.low, d.online.high, d.offline.value, d.offline.low,
            d.offline.high);
    cli_say(c,
            "ratio %.3f [%.3f, %.3f] (%s surrogates %.3f, z %.1f); dimension %.1f [%.1f, %.1f]; enrichment %.3g [%.3g, "
            "%.3g], by the published rule %.0f",
            d.ratio.value, d.ratio.low, d.ratio.high, geodec_surrogate_name(d.surrogate), d.null_ratio, d.z,
            d.dimension.fit, d.dimension.fit_low, d.dimension.fit_high, d.enrichment.value, d.enrichment.low,
            d.enrichment.high, d.published_rule);
    for (int64_t w = 0; w < d.n_windows; w++)
        if (d.within_count[w] > 0)
            cli_say(c, "same text, at least %2lld tokens away: %.3g (surrogates %.3g)", (long long)d.window[w],
                    d.within[w], d.within_null[w]);
done:
    stage_end(&stage);
    geodec_cloud_clear(&cloud);
    geodec_density_clear(&d);
    geodec_mem_free(x);
    return st;
}

CLI_MAIN(opt = geodec_density_defaults())
