/* geodec-library: growth of a library that stores every miss. */
#include "base/mem.h"
#include "cli/cloud.h"
#include "cli/stage.h"
#include "lab/library/library.h"

static const char *output = "library.h5", *activations;
static int64_t dim, points;
static double target = 0.922;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "library.h5"),
    OPT_FILE("activations", 'a', &activations, "FILE.h5",
             "states from which the cloud was made; evaluates hits by the next state that they predict"),
    OPT_I64("dim", 'n', &dim, 0, 65536, "N", "use the first N principal coordinates (0: all)"),
    OPT_I64("points", 'p', &points, 0, 1e9, "N", "use the first N points of the stream (0: all)"),
    OPT_F64("target", 0, &target, 1e-6, 0.999999, "X", "share of hits; the radius that gives it is computed"),
};

static const cli_tool tool = {
    .name = "geodec-library",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "measure the convergence of a library of states and the value of its hits",
    .usage = "[OPTIONS] CLOUD.h5",
    .description =
        "The points are processed in text order. A point within the radius of a stored one is a hit; any other point\n"
        "is stored. Each point is a hit or is stored, so that the two shares are one number, and some radius gives\n"
        "any share. Controls: the same points in random order, Gaussian noise and a surrogate. With --activations,\n"
        "the next state that a hit predicts is compared with the true one; the controls are the state itself and a\n"
        "random record.",
    .examples = "geodec-library --activations activations.h5 -o library.h5 cloud.h5",
    CLI_TAKES(options, 1, 1),
};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *states = NULL;
    geodec_cloud cloud = {0};
    geodec_activations view;
    geodec_successors next = {0};
    geodec_library_sweep s = {0};
    geodec_library_options o = geodec_library_defaults();
    cli_stage stage = {0};
    double *x = NULL;
    int64_t n;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(cloud_dim(c, &cloud, dim, cloud.k, &n, err));
    if (points > 0 && points < cloud.points) cloud.points = points;
    if (activations) {
        GEODEC_TRY(stage_hold(&stage, &geodec_activations_kind, activations, &states, err));
        GEODEC_TRY(geodec_activations_view(states, &view, err));
        GEODEC_TRY(geodec_successors_read(&cloud, &view, c->pool, &next, err));
        GEODEC_TRY(stage_add(&stage, states, err));
    }
    GEODEC_TRY(geodec_cloud_coordinates(&cloud, n, &x, err));
    o.target = target;
    o.seed = c->seed;
    o.surrogate = geodec_surrogate_for(cloud.points, cloud.sequence);
    GEODEC_TRY(
        geodec_library_sweep_run(cloud.points, n, x, activations ? &next : NULL, &o, c->pool, &c->hooks, &s, err));
    STAGE_WRITE(&stage, &geodec_library_kind, geodec_library_sweep_write(&s, stage.out, err));
    geodec_library_say(&c->hooks, &s);
done:
    stage_end(&stage);
    geodec_cloud_clear(&cloud);
    geodec_successors_clear(&next);
    geodec_library_sweep_clear(&s);
    geodec_mem_free(x);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
