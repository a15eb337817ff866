/* geodec-coverage: how often new points find a cached one. */
#include "base/mem.h"
#include "chain/coverage_task.h"
#include "cli/cloud.h"
#include "cli/mode.h"
#include "cli/sweep.h"
#include "io/foreign.h"
#include "lab/coverage/published.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *output = "coverage.h5", *mode = "correct", *draws, *shares, *threshold = "distance", *activations,
                  *shard, *joined;
static int64_t dim, points = 1000, k, repeats = 8, queries = 200, nulls = 10;
static bool sweep;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "coverage.h5"),
    CLI_MODE_OPTION(mode),
    CLI_DRAWS_OPTION(draws),
    CLI_CLOUD_DIM_OPTION(dim),
    OPT_I64("points", 'p', &points, 0, 1e9, "N", "points of the experiment, a random choice (0: all)"),
    OPT_FLAG("sweep", 0, &sweep,
             "repeat with a quarter and with half of the points (more where that is too few for the metric)"),
    OPT_CHOICE("threshold", 0, &threshold, "distance|task", "WHAT",
               "task: also count as covered by what the cache predicts, the next state, token and (where the states "
               "come with all logits) distribution"),
    OPT_FILE("activations", 'a', &activations, "FILE.h5", "states the cloud was made from (with --threshold task)"),
    OPT_STR("shares", 0, &shares, "LIST",
            "cached shares of the points, rising, joined by commas (default 0.1,0.25,0.5,0.75)"),
    OPT_I64("k", 'k', &k, 0, 1e6, "N",
            "neighbours of the metric (0: twice the dimension, at least 16, fewer where the cache is small)"),
    OPT_I64("repeats", 0, &repeats, 1, 64, "N", "random splits into cached and held-out points"),
    OPT_I64("queries", 0, &queries, 1, 1e9, "N", "at most so many held-out points a split"),
    OPT_I64("nulls", 0, &nulls, 0, 60, "N",
            "clouds of each null: Gaussian, and phase-randomised along the text or shuffled by coordinate"),
    CLI_SWEEP_OPTIONS(shard, joined, "splits"),
};

static const cli_tool tool = {
    .name = "geodec-coverage",
    .topic = CLI_TOPIC_RECORDS,
    .purpose = "coverage of new points by cached ones",
    .usage = "[OPTIONS] CLOUD.h5\n       geodec-coverage --mode ref --draws FILE.h5 [OPTIONS]",
    .description =
        "The metric is fitted on the cached points alone, the g-nearest cached point is exact. Beside every figure "
        "stand\n"
        "the closed form 1 - C(N-1-k,c)/C(N-1,c), the leaky design that repeats it, and two nulls with z-scores:\n"
        "Gaussian clouds, and clouds with random Fourier phases along the text (where the points have an order; else\n"
        "each coordinate is shuffled). --mode ref counts as the published harness does, on its own points and splits.",
    .examples = "  geodec-coverage --sweep -o coverage.h5 cloud.h5\n"
                "  geodec-coverage --mode ref --draws smollm2-135m_n8.h5 -o coverage-ref.h5",
    CLI_TAKES(options, 0, 1),
};

static geodec_status parse_shares(geodec_coverage_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!shares) goto done;
    o->n_shares = 0;
    for (const char *at = shares;; at++) {
        char *end;
        const double v = strtod(at, &end);
        if (end == at || (*end && *end != ',') || o->n_shares == GEODEC_COVERAGE_SHARES)
            GEODEC_THROW(GEODEC_INVAL, "--shares: '%s' is no list of up to %d numbers", shares, GEODEC_COVERAGE_SHARES);
        o->share[o->n_shares++] = v;
        if (!*end) break;
        at = end;
    }
done:
    return st;
}

/* A quarter, half and all of the points; where the smallest cache of a quarter could not carry a metric, from the
 * smallest number that can, evenly in the logarithm. */
static void sweep_sizes(geodec_coverage_options *o, int64_t count, int64_t n)
{
    const double need = (double)((o->metric.k > 0 ? o->metric.k : n + 1) + 2) / o->share[0];
    const double least = fmax((double)count / 4, ceil(need));
    o->n_sizes = 0;
    for (int i = 0; sweep && i < 2; i++) {
        const int64_t size = (int64_t)floor(least * pow((double)count / least, 0.5 * i) + 0.5);
        if (size < count && (o->n_sizes == 0 || size > o->size[o->n_sizes - 1])) o->size[o->n_sizes++] = size;
    }
    o->size[o->n_sizes++] = count;
}

static void summarise(const cli *c, const geodec_coverage *v)
{
    const int64_t l = v->sizes - 1, S = v->shares, E = v->n_eps;
    cli_say(c, "%lld points, dimension %lld, %lld neighbours, %lld splits, %lld clouds of each null",
            (long long)v->size[l], (long long)v->n, (long long)v->k, (long long)v->repeats, (long long)v->nulls);
    for (int64_t s = 0; s < S; s++) {
        /* the eps where the measured share is nearest to one half says most */
        int64_t at = 0;
        for (int64_t e = 1; e < E; e++) {
            const double *h = v->hit + (l * S + s) * E;
            const double d = h[e] - 0.5, best = h[at] - 0.5;
            if (d * d < best * best) at = e;
        }
        const int64_t i = (l * S + s) * E + at;
        cli_say(c,
                "%2.0f %% cached: mean g-distance %.3g (Gaussian %.3g); within %g: %.1f %% (Gaussian %.1f %%, z %.1f; "
                "%s %.1f %%, z %.1f; leaky %.1f %%, closed form %.1f %%)",
                100 * v->share[s], v->distance[l * S + s], v->null_distance[l * S + s], v->eps[at], 100 * v->hit[i],
                100 * v->null_mean[i], v->z[i], geodec_surrogate_name(v->second), 100 * v->second_mean[i],
                v->second_z[i], 100 * v->leaky[i], 100 * v->closed_form[l * S + s]);
        if (v->sizes > 1)
            cli_say(c, "             distance = a N^%.3f (Gaussian N^%.3f)", v->trend[s], v->null_trend[s]);
    }
}

/* Coverage by the task, with the options of the rest. */
static geodec_status run_task(const cli *c, const geodec_cloud *cloud, int64_t n, const double *x,
                              const geodec_artifact *states, const geodec_coverage_options *o, geodec_coverage_task *t,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_activations view;
    geodec_successors next = {0};
    GEODEC_TRY(geodec_activations_view(states, &view, err));
    GEODEC_TRY(geodec_successors_read(cloud, &view, c->pool, &next, err));
    GEODEC_TRY(geodec_coverage_task_run(cloud->points, n, x, cloud->coordinate, &next, o, c->pool, &c->hooks, t, err));
done:
    geodec_successors_clear(&next);
    return st;
}

static void summarise_task(const cli *c, const geodec_coverage_task *t)
{
    for (int64_t s = 0; s < t->shares; s++) {
        const double *e = t->error + s * GEODEC_TASK_PREDICTIONS, *token = t->token + s * GEODEC_TASK_TOKENS;
        cli_say(
            c,
            "%2.0f %% cached: next state misses by %.2f rms steps (copied %.2f; state itself %.2f, random step %.2f, "
            "random successor %.2f); token equal %.1f %% (random %.1f %%, commonest %.1f %%)",
            100 * t->share[s], e[0], e[1], e[2], e[3], e[4], 100 * token[0], 100 * token[1], 100 * token[2]);
        const double *kl = t->kl + s * GEODEC_TASK_TOKENS, *hit = t->kl_hit + s * GEODEC_TASK_TOKENS * GEODEC_TASK_NATS;
        const int at = GEODEC_TASK_NATS - 3; /* 0.3 nats */
        if (t->has_kl)
            cli_say(
                c,
                "             KL of the next token: %.3g nats (random %.3g, mean of the cache %.3g); within %g: %.1f "
                "%% (%.1f %%, %.1f %%)",
                kl[0], kl[1], kl[2], t->nats[at], 100 * hit[at], 100 * hit[GEODEC_TASK_NATS + at],
                100 * hit[2 * GEODEC_TASK_NATS + at]);
    }
}

static geodec_status run_correct(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *states = NULL;
    geodec_cloud cloud = {0};
    bool part;
    int64_t n;
    geodec_coverage v = {0};
    geodec_coverage_task t = {0};
    geodec_coverage_options o = geodec_coverage_defaults();
    cli_stage stage = {0};
    double *x = NULL;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_cloud_kind, c->args[0], &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(cloud_dim(c, &cloud, dim, geodec_cloud_dimension(&cloud), &n, err));
    const int64_t count = points > 0 && points < cloud.points ? points : cloud.points;
    GEODEC_TRY(geodec_cloud_coordinates(&cloud, n, &x, err));
    GEODEC_TRY(parse_shares(&o, err));
    o.metric.k = k;
    sweep_sizes(&o, count, n);
    o.repeats = repeats;
    o.queries = queries;
    o.nulls = nulls;
    o.second = geodec_surrogate_for(cloud.points, cloud.sequence);
    o.seed = c->seed;
    if (activations) {
        GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, activations, &states, err));
    }
    GEODEC_TRY(stage_sweep(&stage, shard, joined, &o.sweep, err));
    GEODEC_TRY(geodec_coverage_compute(cloud.points, n, x, &o, c->pool, &c->hooks, &v, err));
    if (activations) GEODEC_TRY(run_task(c, &cloud, n, x, states, &o, &t, err));
    GEODEC_TRY(stage_part(&stage, &part, err));
    if (part) goto done;
    GEODEC_TRY(stage_create(&stage, &geodec_coverage_kind, err));
    GEODEC_TRY(geodec_coverage_write(&v, stage.out, err));
    if (activations) GEODEC_TRY(geodec_coverage_task_write(&t, stage.out, err));
    GEODEC_TRY(stage_commit(&stage, err));
    summarise(c, &v);
    if (activations) summarise_task(c, &t);
done:
    stage_end(&stage);
    geodec_cloud_clear(&cloud);
    geodec_coverage_clear(&v);
    geodec_coverage_task_clear(&t);
    geodec_mem_free(x);
    return st;
}

/* ---- the published count ---------------------------------------------------------------------------------------- */

static void summarise_ref(const cli *c, const geodec_coverage_published *v)
{
    for (int64_t s = 0; s < v->shares; s++)
        for (int64_t e = 0; e < v->n_eps; e++)
            if (v->eps[e] == 3)
                cli_say(c,
                        "%2lld of %lld cached, within 3: %.1f %% (raw %.1f %%, smoothed twice %.1f %%); closed form "
                        "%.1f %%, Gaussian noise %.1f %% (sd %.1f), z %.1f",
                        (long long)v->cached[s], (long long)v->points,
                        100 * v->hit[GEODEC_PUBLISHED_ONCE][s * v->n_eps + e],
                        100 * v->hit[GEODEC_PUBLISHED_RAW][s * v->n_eps + e],
                        100 * v->hit[GEODEC_PUBLISHED_TWICE][s * v->n_eps + e], 100 * v->closed_form[s],
                        100 * v->null_mean[s * v->n_eps + e], 100 * v->null_sd[s * v->n_eps + e],
                        v->z[s * v->n_eps + e]);
}

static geodec_status run_published(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_coverage_published v = {0};
    geodec_harness_options o = geodec_harness_defaults();
    cli_stage stage = {0};
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1}, *cached = NULL, *permutation = NULL;
    double *point = NULL, *eps = NULL;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    geodec_coverage_published_splits s = {.points = shape[0], .n = shape[1], .point = point};
    shape[0] = shape[1] = -1, shape[2] = s.points;
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/coverage/permutations", 3, shape, 0, s.points - 1, &permutation, err));
    s.shares = shape[0], s.repeats = shape[1], s.permutation = permutation;
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/coverage/cache_size", 1, shape, 1, s.points - 1, &cached, err));
    s.cached = cached;
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(draws, "/coverage/eps", 1, shape, NULL, &eps, err));
    s.n_eps = shape[0], s.eps = eps;
    if (k > 0) o.k = k;
    GEODEC_TRY(geodec_coverage_published_compute(&s, &o, nulls, c->seed, c->pool, &c->hooks, &v, err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_coverage_published_kind, geodec_coverage_published_write(&v, stage.out, err));
    summarise_ref(c, &v);
done:
    stage_end(&stage);
    geodec_coverage_published_clear(&v);
    geodec_mem_free(cached);
    geodec_mem_free(permutation);
    geodec_mem_free(point);
    geodec_mem_free(eps);
    return st;
}

static const cli_modes modes = {run_published, run_correct, 1, "a cloud is wanted", "cloud"};

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if ((strcmp(threshold, "task") == 0) != (activations != NULL))
        GEODEC_THROW(GEODEC_INVAL, "--threshold task and --activations go together");
    GEODEC_TRY(cli_run_mode(c, &modes, mode, draws, shard || joined, err));
done:
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
