/* geodec-library: growth of a library that stores what it misses. */
#include "base/mem.h"
#include "chain/cloud.h"
#include "cli/cli.h"
#include "lab/library/correct.h"

#include <string.h>

static const char *output = "library.h5", *activations;
static int64_t dim, points;
static double target = 0.922;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "library.h5"),
    {.name = "activations",
     .letter = 'a',
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &activations,
     .metavar = "FILE.h5",
     .help = "states the cloud was made from: then hits are judged by the next state they predict"},
    {.name = "dim",
     .letter = 'n',
     .type = CLI_I64,
     .target = &dim,
     .min = 0,
     .max = 65536,
     .metavar = "N",
     .help = "use the first N principal coordinates (0: all)"},
    {.name = "points",
     .letter = 'p',
     .type = CLI_I64,
     .target = &points,
     .min = 0,
     .max = 1e9,
     .metavar = "N",
     .help = "at most the first N points of the stream (0: all)"},
    {.name = "target",
     .type = CLI_F64,
     .target = &target,
     .min = 1e-6,
     .max = 0.999999,
     .metavar = "X",
     .help = "share of hits whose radius is looked for"},
};

static const cli_tool tool = {
    .name = "geodec-library",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "convergence of a library of states, and what its hits are worth",
    .usage = "[OPTIONS] CLOUD.h5",
    .description =
        "The points come in text order; one that lies within the radius of a stored one is a hit, any other is "
        "stored.\n"
        "Since hits and stored add up to all, a share of both is one number, and a radius gives any. Beside it stand "
        "the\n"
        "same points in random order, Gaussian noise and a surrogate; with --activations the next state that a hit\n"
        "predicts is compared with the true one, beside the state itself and a random record.",
    .examples = "geodec-library --activations activations.h5 -o library.h5 cloud.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 1,
};

static void summarise(const cli *c, const geodec_library_sweep *s)
{
    static const char *const streams[GEODEC_LIBRARY_STREAMS] = {"text", "shuffled", "gaussian", NULL};
    for (int w = 0; w < GEODEC_LIBRARY_STREAMS; w++) {
        const geodec_library_summary *t = &s->target_summary[w];
        const char *name = streams[w] ? streams[w] : geodec_surrogate_name(s->surrogate);
        if (s->target_radius[w] > 0)
            cli_say(c, "%-8s %.1f %% hits at %.3g median distances: second half %.1f %%, stored ~ seen^%.2f", name,
                    100 * t->hit_rate, s->target_radius[w], 100 * t->second_half, t->exponent);
        else
            cli_say(c, "%-8s never reaches %.1f %% hits", name, 100 * s->target);
    }
    if (s->has_quality)
        cli_say(c,
                "error of such a hit's next state in rms steps: %.2f, moved by the difference %.2f; state itself %.2f, "
                "random record %.2f",
                s->target_quality[GEODEC_LIBRARY_COPY], s->target_quality[GEODEC_LIBRARY_TRANSPORT],
                s->target_quality[GEODEC_LIBRARY_IDENTITY], s->target_quality[GEODEC_LIBRARY_CHANCE]);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *states = NULL, *out = NULL;
    geodec_cloud cloud = {0};
    geodec_activations view;
    geodec_successors next = {0};
    geodec_library_sweep s = {0};
    geodec_library_options o = geodec_library_defaults();
    geodec_provenance p = cli_provenance(c);
    double *x = NULL;
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    if (dim > cloud.k)
        GEODEC_THROW(GEODEC_RANGE, "--dim: %s has %lld coordinates, not %lld", c->args[0], (long long)cloud.k,
                     (long long)dim);
    if (points > 0 && points < cloud.points) cloud.points = points; /* the first ones */
    const int64_t n = dim > 0 ? dim : cloud.k;
    if (activations) {
        GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, activations, &states, err));
        GEODEC_TRY(geodec_activations_view(states, &view, err));
        GEODEC_TRY(geodec_successors_read(&cloud, &view, c->pool, &next, err));
        GEODEC_TRY(geodec_provenance_add_artifact(&p, states, err));
    }
    GEODEC_NEW(x, cloud.points * n);
    for (int64_t i = 0; i < cloud.points; i++) memcpy(x + i * n, cloud.coordinate + i * cloud.k, (size_t)n * sizeof *x);
    o.target = target;
    o.seed = c->seed;
    o.surrogate = geodec_surrogate_for(cloud.points, cloud.sequence);
    GEODEC_TRY(
        geodec_library_sweep_run(cloud.points, n, x, activations ? &next : NULL, &o, c->pool, &c->hooks, &s, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_library_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_library_sweep_write(&s, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(c, &s);
done:
    geodec_artifact_close(out);
    geodec_artifact_close(in);
    geodec_artifact_close(states);
    geodec_cloud_clear(&cloud);
    geodec_successors_clear(&next);
    geodec_library_sweep_clear(&s);
    geodec_mem_free(x);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
