/* geodec-geodesic: geodesics of the smooth field from points of the cloud. */
#include "base/mem.h"
#include "chain/geodesics.h"
#include "cli/cli.h"
#include "cli/shard.h"
#include "cli/space.h"
#include "io/foreign.h"

#include <string.h>

static const char *shard, *output = "geodesics.h5", *velocity = "sequence", *method = "rk4", *mode = "correct", *draws;
static int64_t paths = 64, steps = 16, control = 4;
static double dl = 0.1, rtol = 1e-9, drift_max = 1e-3, hull;
static bool no_hull;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "geodesics.h5"),
    SPACE_MODE_OPTION(mode),
    {.name = "draws",
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &draws,
     .metavar = "FILE",
     .help = "starts and velocities from /geodesic/x0 and /geodesic/v0 of an HDF5 file; ref takes the velocities as "
             "they are, correct makes them g-unit"},
    {.name = "paths",
     .letter = 'p',
     .type = CLI_I64,
     .target = &paths,
     .min = 0,
     .max = 1e7,
     .metavar = "N",
     .help = "paths, from a random choice of starts (0: all)"},
    {.name = "v0",
     .type = CLI_CHOICE,
     .target = &velocity,
     .choices = "sequence|random",
     .metavar = "HOW",
     .help = "initial velocity, g-unit: towards the next state of the text, or a random direction"},
    {.name = "steps",
     .letter = 'T',
     .type = CLI_I64,
     .target = &steps,
     .min = 1,
     .max = 1e5,
     .metavar = "N",
     .help = "steps of a path"},
    {.name = "dl",
     .type = CLI_F64,
     .target = &dl,
     .min = 1e-12,
     .max = 1e12,
     .metavar = "X",
     .help = "arc length of a step"},
    {.name = "method",
     .type = CLI_CHOICE,
     .target = &method,
     .choices = GEODEC_GEODESIC_CHOICES,
     .metavar = "HOW",
     .help = GEODEC_GEODESIC_ITEMS},
    {.name = "rtol",
     .type = CLI_F64,
     .target = &rtol,
     .min = 1e-14,
     .max = 0.1,
     .metavar = "X",
     .help = "tolerance of the adaptive method, relative to the length of the path"},
    {.name = "drift-max",
     .type = CLI_F64,
     .target = &drift_max,
     .min = 1e-15,
     .max = 1e6,
     .metavar = "X",
     .help = "largest relative change of g(v,v) that counts as ok"},
    {.name = "hull",
     .type = CLI_F64,
     .target = &hull,
     .min = 0,
     .max = 1e300,
     .metavar = "R",
     .help = "a path farther than R from every point has left the hull (0: the 95th percentile of the distance to the "
             "k-th neighbour)"},
    {.name = "no-hull", .type = CLI_FLAG, .target = &no_hull, .help = "let paths go anywhere"},
    {.name = "control",
     .type = CLI_I64,
     .target = &control,
     .min = 0,
     .max = 1e6,
     .metavar = "N",
     .help = "paths integrated again at rtol 1e-9, as a control"},
    CLI_SHARD_OPTION(shard, "paths"),
};

static const cli_tool tool = {
    .name = "geodec-geodesic",
    .topic = CLI_TOPIC_GEOMETRY,
    .purpose = "geodesics of the smooth field from points of the cloud",
    .usage = "[OPTIONS] METRIC.h5",
    .description =
        "Every path has a status (ok, non-finite, speed drift, left hull); nothing is written that is not finite.",
    .examples = "geodec-geodesic -o geodesics.h5 metric.h5\n"
                "geodec-geodesic --v0 random --method adaptive --paths 0 -o all.h5 metric.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 1,
};

static void summarise(const cli *c, const geodec_geodesics *g)
{
    int64_t count[4] = {0};
    double drift = 0;
    for (int64_t p = 0; p < g->paths; p++) {
        count[g->status[p] & 3]++;
        drift = g->drift[p] > drift ? g->drift[p] : drift;
    }
    cli_say(c,
            "%lld paths of length %g: %lld ok, %lld broke down, %lld drifted, %lld left the hull; speed drift at most "
            "%.1e; %lld again at rtol 1e-9 agree within %.1e",
            (long long)g->paths, g->dl * (double)(g->nodes - 1), (long long)count[GEODEC_PATH_OK],
            (long long)count[GEODEC_PATH_NONFINITE], (long long)count[GEODEC_PATH_DRIFT],
            (long long)count[GEODEC_PATH_LEFT_HULL], drift, (long long)g->control_paths, g->refinement_error);
}

/* Starts [count][n] and velocities from FILE, unit in g but in --mode ref. */
static geodec_status read_draws(const space_handle *in, bool ref, geodec_geodesics_options *o, double **x0, double **v0,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = in->metric.n;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, n};
    GEODEC_TRY(geodec_foreign_read(draws, "/geodesic/x0", 2, shape, NULL, x0, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/geodesic/v0", 2, shape, NULL, v0, err));
    for (int64_t p = 0; p < shape[0] && !ref; p++)
        GEODEC_TRY_MSG(geodec_geodesic_unit(in->space, *x0 + p * n, *v0 + p * n, err), "start %lld", (long long)p);
    o->velocity = GEODEC_VELOCITY_GIVEN;
    o->x0 = *x0;
    o->v0 = *v0;
    o->starts = shape[0];
done:
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    space_handle in = {0};
    geodec_geodesics g = {0};
    geodec_geodesics_options o = geodec_geodesics_defaults();
    geodec_provenance p = cli_provenance(c);
    double *x0 = NULL, *v0 = NULL;
    bool ref;
    o.paths = paths;
    o.velocity = strcmp(velocity, "random") == 0 ? GEODEC_VELOCITY_RANDOM : GEODEC_VELOCITY_SEQUENCE;
    o.path.steps = steps;
    o.path.dl = dl;
    GEODEC_TRY(geodec_geodesic_method_find(method, &o.path.method, err));
    o.path.rtol = rtol;
    o.path.drift_max = drift_max;
    o.hull_radius = no_hull ? -1 : hull;
    o.control = control;
    o.seed = c->seed;
    GEODEC_TRY(geodec_shard_parse(shard, &o.shard, err));
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(space_open(c->args[0], &in, err));
    GEODEC_TRY(space_mode(&in, mode, &ref, err));
    if (ref) o.hull_radius = -1; /* the harness lets paths go anywhere */
    if (draws) {
        GEODEC_TRY(read_draws(&in, ref, &o, &x0, &v0, err));
        GEODEC_TRY(geodec_provenance_add_file(&p, draws, err));
    }
    GEODEC_TRY(geodec_geodesics_compute(&in.metric, in.space, in.file, &o, c->pool, &c->hooks, &g, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in.file, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_geodesics_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_geodesics_write(&g, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(c, &g);
done:
    geodec_artifact_close(out);
    space_close(&in);
    geodec_geodesics_clear(&g);
    geodec_mem_free(x0);
    geodec_mem_free(v0);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
