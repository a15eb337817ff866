/* geodec-published: the stages as the published harness computes them, from its points and random draws. One function
 * for each stage. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "chain/coverage.h"
#include "cli/decode_report.h"
#include "cli/evaluation.h"
#include "cli/lab/published_chain.h"
#include "cli/stage.h"
#include "decode/loop.h"
#include "drafters/drafting.h"
#include "io/foreign.h"
#include "lab/injectivity/injectivity.h"
#include "lab/published/blocks.h"
#include "lab/published/coverage.h"
#include "lab/published/decoding.h"
#include "lab/published/density.h"
#include "lab/published/hjb.h"
#include "lab/published/injectivity.h"
#include "lab/published/onedecode.h"
#include "lab/published/records.h"
#include "lab/published/substitution.h"
#include "lab/published/validity.h"
#include "lab/published/warp.h"
#include "lab/resonance/resonance.h"
#include "session/embeddings.h"

#include <math.h>
#include <string.h>

enum { PUBLISHED_ANCHORS = 24, PUBLISHED_RANK = 5, PUBLISHED_EPS = 3, REF_SHARES = 2 };

static const char *output = "", *draws, *telemetry, *metric = "cosine", *anchor_file, *point_list, *measured_list,
                  *query_list, *variant = "sweep", *model_path, *artifacts, *prompt = "", *draft = "ngram";
static int64_t nulls = 10, max_tokens = 128, gamma_most = 4;
static double radius, alpha = 0.7, extent = 1.2;
static published_chain chain = {.sample = -1, .paths = -1, .midpoints = 256, .control = -1};
static geodec_resonance_options resonance_options;

static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "write to FILE (default: STAGE-ref.h5)", .flags = CLI_VOLATILE),
    OPT_FILE(
        "draws", 0, &draws, "FILE.h5",
        "HDF5 file with the points and random draws of the published run (geodesic: starts and velocities; riemann: "
        "points)"),
    OPT_I64("dim", 'n', &chain.dim, 0, GEODEC_RBF_MAX_N, "N",
            "metric: use the first N principal coordinates (0: the cloud's intrinsic dimension, 2 to 12)"),
    OPT_I64("sample", 0, &chain.sample, -1, 1e9, "N",
            "metric, riemann: random sample of points of the cloud (0: all; -1: all, riemann: 512)"),
    OPT_I64("k", 'k', &chain.neighbours, 0, 1e5, "N", "metric, coverage: neighbours of each point (0: 8)"),
    OPT_F64("ridge", 0, &chain.ridge, 0, 1e300, "X", "metric: add X to the diagonal of the covariance (0: 1e-3)"),
    OPT_F64("clip-min", 0, &chain.clip_min, 0, 1e300, "X", "metric: raise smaller eigenvalues to X (0: 1e-3)"),
    OPT_F64("clip-max", 0, &chain.clip_max, 0, 1e300, "X", "metric: reduce larger eigenvalues to X (0: 1e3)"),
    OPT_F64("sigma", 0, &chain.sigma, 0, 1e300, "X", "metric: width of the field (0: 0.6)"),
    OPT_F64("h", 0, &chain.h, 0, 1e6, "X",
            "metric: step of the differences (0: 1e-2); christoffel: of their repetition (0: that of the metric)"),
    OPT_I64("paths", 'p', &chain.paths, -1, 1e7, "N", "geodesic: random sample of starts (0: all; -1: 64)"),
    OPT_I64("midpoints", 0, &chain.midpoints, 0, 1e7, "N",
            "riemann: midpoints between a sample and its nearest neighbour (0: none)"),
    OPT_FLAG("tensors", 0, &chain.tensors, "riemann: keep the whole tensor at each point (n^4 numbers)"),
    OPT_I64("control", 0, &chain.control, -1, 1e6, "N",
            "christoffel, geodesic, riemann, propagate: points or paths of the control (-1: as the corrected stage)"),
    OPT_I64("nulls", 0, &nulls, 0, 60, "N", "coverage: Gaussian clouds, the control"),
    OPT_FILE("velocities", 0, &anchor_file, "FILE",
             "blocks: numbers and velocities of the anchors, one row each (default: 16 from the seed)"),
    OPT_STR("points", 0, &point_list, "LIST",
            "blocks: queries, separated by commas (default: 24 of the other points, from the seed); injectivity: "
            "anchors (default: 10, evenly spread)"),
    OPT_STR("measured", 0, &measured_list, "LIST",
            "injectivity: published radii at these anchors (default: measured again with other draws)"),
    OPT_STR("queries", 0, &query_list, "LIST",
            "injectivity: points for the initial velocity (default: 20, evenly spread)"),
    OPT_FILE("telemetry", 0, &telemetry, "FILE.tsv",
             "density: states of a generated text, with the columns step, source, token, numbers"),
    OPT_CHOICE("metric", 0, &metric, "cosine|l2", "NAME", "density: distance"),
    OPT_F64("radius", 0, &radius, 0, 1e300, "X",
            "density: radius to compare with the distances, for either metric (0: none)"),
    OPT_I64("repeats", 0, &resonance_options.repeats, 7, 1e6, "N",
            "resonance: repeats of each measurement; the fastest counts"),
    OPT_CHOICE("variant", 0, &variant, "sweep|v1|v2", "NAME",
               "warp: all published sweeps, or one configuration of the protocol v1 or v2"),
    OPT_I64("steps", 'T', &chain.steps, 0, 1e5, "N",
            "geodesic, and warp with --variant v1 or v2: steps of a path (0: 16)"),
    OPT_F64("alpha", 0, &alpha, -100, 100, "X", "warp, with --variant v1 or v2: strength"),
    OPT_F64("extent", 0, &extent, 1e-9, 1e9, "X", "warp, with --variant v1 or v2: sigma or radius"),
    OPT_F64("dl", 0, &chain.dl, 0, 1e9, "X", "geodesic, and warp with --variant v1 or v2: length of a step (0: 0.1)"),
    OPT_FILE("model", 'm', &model_path, "FILE", "counters, lengths: model; onedecode: model, for its embeddings"),
    OPT_STR("prompt", 0, &prompt, "TEXT", "counters, lengths: text to continue"),
    OPT_I64("max-tokens", 0, &max_tokens, 1, 1e9, "N", "counters, lengths: tokens to generate"),
    OPT_FILE("artifacts", 0, &artifacts, "FOLDER", "lengths: drafting artifacts"),
    OPT_STR("draft", 0, &draft, "NAME", "lengths: drafter"),
    OPT_I64("gamma", 0, &gamma_most, 0, GEODEC_DRAFT_MAX, "N", "lengths: first and largest length of drafts"),
};

static const cli_tool tool = {
    .name = "geodec-published",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "repeat the computation of the published harness, stage by stage, with its random draws",
    .usage = "[OPTIONS] STAGE [INPUT...]",
    .description =
        "Each stage computes what the published harness computes, with its defects; the tool geodec-STAGE does it\n"
        "correctly.\n"
        "\n"
        "metric CLOUD.h5 makes the sampled manifold, with a smooth field through it. The next stages take no other\n"
        "metric: christoffel METRIC.h5, geodesic METRIC.h5, riemann METRIC.h5 [GEODESICS.h5], and propagate METRIC.h5\n"
        "GEODESICS.h5, whose rule is not the derivative of the flow. Each has the control of the corrected stage.\n"
        "\n"
        "onedecode ACTIVATIONS.h5 with --model makes the published table of OneDecode: a radial step from each\n"
        "embedding under one global tensor, with the rates of its next tokens on held-out texts and a control without\n"
        "the tensor.\n"
        "\n"
        "Of decoding: counters --model repeats the published counting of accepted drafts, which depends on the\n"
        "number of tokens alone. lengths --model decodes with the published rule for the length of drafts. options\n"
        "NAME prints the options of geodec-decode that the published runtime combines under a name (ott-full,\n"
        "ott-speculative, ott-fast, ott-perfect, ott-theorem).\n"
        "\n"
        "The other stages take --draws, or density --telemetry, and no input.\n"
        "coverage counts on the published splits, with the closed form that this repeats. validity measures with the\n"
        "published rule; for the sampled sphere it adds the same rule with exact geometry, and the correct map.\n"
        "records makes the published store (Phi truncated to rank 5 at every node) and reports the errors that its\n"
        "figures omit. blocks is the published prototype. density has the published figures of one generated text.\n"
        "injectivity is the published estimate, with a control that takes every point as an anchor. substitution\n"
        "repeats the published counts, which predict no next state. resonance times the published propagator.\n"
        "hjb is the published residual, whose curvature term is zero by symmetry. warp has the cross-model sweep, its\n"
        "zero-strength control, and both grids of 32.",
    .examples = "geodec-published metric --dim 8 -o metric-ref.h5 cloud.h5\n"
                "geodec-published geodesic --draws smollm2-135m_n8.h5 -o geodesics-ref.h5 metric-ref.h5\n"
                "geodec-published onedecode --model model.gguf -o results/onedecode-ref.h5 store.h5\n"
                "geodec-published counters --model model.gguf --max-tokens 64\n"
                "geodec-published coverage --draws smollm2-135m_n8.h5 -o coverage-ref.h5\n"
                "geodec-published density --telemetry live.tsv --radius 3 -o density-ref.h5\n"
                "geodec-published warp --draws smollm2-135m_n8.h5 --variant v2 --alpha 0.35 -o warp-ref.h5",
    CLI_TAKES(options, 1, 3),
};

static geodec_status coverage(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_coverage_published v = {0};
    geodec_harness_options o = geodec_harness_defaults();
    cli_stage stage = {0};
    geodec_coverage_published_splits s = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_coverage_published_draws(draws, &s, err));
    if (chain.neighbours > 0) o.k = chain.neighbours;
    GEODEC_TRY(geodec_coverage_published_compute(&s, &o, nulls, c->seed, c->pool, &c->hooks, &v, err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_coverage_published_kind, geodec_coverage_published_write(&v, stage.out, err));
    geodec_coverage_published_say(&c->hooks, &v);
done:
    stage_end(&stage);
    geodec_coverage_published_clear(&v);
    geodec_coverage_published_draws_clear(&s);
    return st;
}

static geodec_status validity(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_validity_published_draws d = {0};
    geodec_validity_published v = {0}, rule = {0};
    geodec_validity correct = {0};
    cli_stage stage = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_validity_published_draws_read(draws, &d, err));
    GEODEC_TRY(geodec_validity_published_run(&d.m, &d.p, c->pool, &c->hooks, &v, err));
    if (d.sphere)
        GEODEC_TRY(geodec_validity_published_sphere(&d, geodec_validity_defaults().bootstrap, c->seed, c->pool,
                                                    &c->hooks, &rule, &correct, err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(
        &stage, &geodec_validity_published_kind,
        geodec_validity_published_write(&v, d.sphere ? &rule : NULL, d.sphere ? &correct : NULL, stage.out, err));
    for (int64_t e = 0; e < v.n_eps; e++)
        cli_say(c, "eps %-5g mean %.3g  median %.3g  p95 %.3g; plain shift %.3g", v.eps[e], v.mean[e], v.median[e],
                v.p95[e], v.shift[e]);
    cli_say(c, "slope %.2f (a correct linear map: 2)", v.slope);
    if (d.sphere)
        cli_say(c, "the same rule with exact geometry: slope %.2f; the correct map: slope %.2f", rule.slope,
                correct.slope.value);
done:
    stage_end(&stage);
    geodec_validity_published_draws_clear(&d);
    geodec_validity_published_clear(&v);
    geodec_validity_published_clear(&rule);
    geodec_validity_clear(&correct);
    return st;
}

static geodec_status records(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_records_published r = {0};
    cli_stage stage = {0};
    const geodec_harness_options o = geodec_harness_defaults();
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    double *point = NULL, *v0 = NULL, *query = NULL, steps;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    geodec_records_published_draws d = {.points = shape[0],
                                        .n = shape[1],
                                        .point = point,
                                        .rank = PUBLISHED_RANK,
                                        .anchors = shape[0] < PUBLISHED_ANCHORS ? shape[0] : PUBLISHED_ANCHORS,
                                        .eps = PUBLISHED_EPS};
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(draws, "/records/v0", 2, shape, NULL, &v0, err));
    d.records = shape[0], d.v0 = v0;
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(draws, "/lookup/queries", 2, shape, NULL, &query, err));
    d.queries = shape[0], d.query = query;
    GEODEC_TRY(geodec_foreign_attr(draws, "/geodesic", "T", &steps, err));
    GEODEC_TRY(geodec_foreign_attr(draws, "/geodesic", "dl", &d.dl, err));
    if (!(steps >= 1 && steps <= 1e5)) GEODEC_THROW(GEODEC_FORMAT, "%s: paths of %g steps", draws, steps);
    d.steps = (int64_t)steps;
    GEODEC_TRY(geodec_records_published_compute(&d, &o, c->pool, &c->hooks, &r, err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_records_published_kind, geodec_records_published_write(&r, stage.out, err));
    geodec_records_published_say(&c->hooks, &r, PUBLISHED_EPS);
done:
    stage_end(&stage);
    geodec_records_published_clear(&r);
    GEODEC_FREE(point, v0, query);
    return st;
}

static geodec_status blocks(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_blocks_published r, today;
    double *point = NULL, *velocity = NULL;
    int64_t *anchor = NULL, *query = NULL, n_anchor = 0, n_query = 0, shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    uint8_t *taken = NULL;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    const int64_t count = shape[0], n = shape[1];
    if (count < 9 || count > GEODEC_PUBLISHED_BLOCKS_LIST || n < 1 || n > GEODEC_PUBLISHED_MAX_N)
        GEODEC_THROW(GEODEC_RANGE, "%s: %lld points of dimension %lld", draws, (long long)count, (long long)n);
    GEODEC_NEW(velocity, GEODEC_PUBLISHED_BLOCKS_LIST * n);
    GEODEC_NEW_EACH(GEODEC_PUBLISHED_BLOCKS_LIST, anchor, query);
    GEODEC_NEW(taken, count);
    GEODEC_TRY(
        geodec_blocks_published_anchors(anchor_file, c->seed, count, n, anchor, velocity, &n_anchor, taken, err));
    GEODEC_TRY(geodec_blocks_published_queries(point_list, c->seed, count, query, &n_query, taken, err));
    GEODEC_TRY(geodec_blocks_published_run(count, n, point, n_anchor, anchor, velocity, n_query, query, true, c->pool,
                                           &c->hooks, &r, err));
    GEODEC_TRY(geodec_blocks_published_run(count, n, point, n_anchor, anchor, velocity, n_query, query, false, c->pool,
                                           &c->hooks, &today, err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    if (anchor_file) GEODEC_TRY(stage_file(&stage, anchor_file, err));
    STAGE_WRITE(&stage, &geodec_blocks_published_kind,
                geodec_blocks_published_write(&r, &today, anchor_file && point_list, stage.out, err));
    const geodec_published_block *last = &r.block[GEODEC_PUBLISHED_BLOCKS];
    cli_say(c,
            "published: error of block 8 relative to the distance from the origin: %.2f %% with the propagator, %.1f "
            "%% with the blend; relative to the displacement: %.0f and %.0f %%, without a propagator %.0f %%",
            100 * last->mean[0], 100 * last->mean[1], 100 * last->displacement[0], 100 * last->displacement[1],
            100 * last->shift);
done:
    stage_end(&stage);
    GEODEC_FREE(point, velocity, anchor, query, taken);
    return st;
}

static geodec_status density(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_telemetry t = {0};
    geodec_density_published d = {0};
    cli_stage stage = {0};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_density_telemetry_read(telemetry, &t, err));
    GEODEC_TRY(geodec_density_published_run(&t, strcmp(metric, "cosine") == 0, radius, c->pool, &c->hooks, &d, err));
    GEODEC_TRY(stage_file(&stage, telemetry, err));
    STAGE_WRITE(&stage, &geodec_density_published_kind, geodec_artifact_save(stage.out, &d, err));
    cli_say(c,
            "%lld states (%lld lines left out), %s: consecutive mean %.3g, median %.3g, p90 %.3g; nearest mean %.3g, "
            "median %.3g, p90 %.3g",
            (long long)d.states, (long long)d.left_out, metric, d.consecutive.mean, d.consecutive.p50,
            d.consecutive.p90, d.nearest.mean, d.nearest.p50, d.nearest.p90);
    if (radius > 0)
        cli_say(c, "ratio to the radius %.3g: %.3g, enrichment %lld", radius, d.ratio, (long long)d.enrichment);
done:
    stage_end(&stage);
    geodec_density_telemetry_clear(&t);
    geodec_density_published_clear(&d);
    return st;
}

static geodec_status injectivity(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_injectivity_published r = {0};
    geodec_injectivity_held_out held;
    double *point = NULL, *lists[3] = {0}, nn[4] = {0};
    int64_t *index[2] = {0}, count[3] = {0}, shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    const int64_t points = shape[0], n = shape[1];
    if (points < 22 || points > 4096 || n < 1 || n > GEODEC_PUBLISHED_MAX_N)
        GEODEC_THROW(GEODEC_RANGE, "%s: %lld points of dimension %lld", draws, (long long)points, (long long)n);
    GEODEC_TRY(geodec_injectivity_published_list(point_list, "--points", points, 10, &lists[0], &count[0], err));
    GEODEC_TRY(geodec_injectivity_published_list(query_list, "--queries", points, 20, &lists[1], &count[1], err));
    if (measured_list)
        GEODEC_TRY(
            geodec_injectivity_published_list(measured_list, "--measured", points, 0, &lists[2], &count[2], err));
    if (measured_list && (count[2] != count[0] || !point_list))
        GEODEC_THROW(GEODEC_INVAL, "--measured has %lld numbers, --points %lld", (long long)count[2],
                     (long long)(point_list ? count[0] : 0));
    GEODEC_TRY(geodec_injectivity_published_points(lists[0], count[0], points, "--points", &index[0], err));
    GEODEC_TRY(geodec_injectivity_published_points(lists[1], count[1], points, "--queries", &index[1], err));
    GEODEC_TRY(geodec_injectivity_published_run(points, n, point, count[0], index[0], lists[2], count[1], index[1],
                                                c->seed, c->pool, &c->hooks, &r, err));
    GEODEC_TRY(geodec_injectivity_nearest(points, n, point, c->seed, c->pool, nn, err));
    uint8_t inside[4096];
    for (int64_t i = 0; i < points; i++) inside[i] = r.all_measured[i] > 0;
    geodec_injectivity_leave_one_out(points, r.all_raw, r.all_measured, inside, c->seed, &held);
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_injectivity_published_kind,
                geodec_injectivity_published_write(
                    &r, nn, (const double[]){held.r_out, held.mape_out, held.mape_constant}, stage.out, err));
    cli_say(
        c,
        "published: C %.4f from %lld of %lld anchors, r %.2f (fitted) %.2f (all), error %.0f %%; with every point as "
        "an anchor: r %.2f, held-out error %.0f %%, of a constant %.0f %%; velocity cosine %.2f, endpoint error %.2f",
        r.fit.C, (long long)r.fit.fitted, (long long)r.fit.total, r.fit.r_fit, r.fit.r_all, 100 * r.fit.mape,
        held.r_out, 100 * held.mape_out, 100 * held.mape_constant, r.cosine, r.error);
done:
    stage_end(&stage);
    geodec_injectivity_published_clear(&r);
    geodec_mem_free(point);
    for (int i = 0; i < 3; i++) geodec_mem_free(lists[i]);
    for (int i = 0; i < 2; i++) geodec_mem_free(index[i]);
    return st;
}

static geodec_status substitution(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const double share[REF_SHARES] = {0.25, 0.5};
    cli_stage stage = {0};
    geodec_harness_manifold m = {0};
    const geodec_harness_options o = geodec_harness_defaults();
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1}, *permutation = NULL;
    double *point = NULL;
    geodec_substitution_published row[REF_SHARES];
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    const int64_t points = shape[0], n = shape[1];
    memcpy(shape, (int64_t[]){-1, -1, points}, 3 * sizeof *shape);
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/coverage/permutations", 3, shape, 0, points - 1, &permutation, err));
    if (shape[0] < 1 || shape[1] < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: no permutation", draws);
    GEODEC_TRY(geodec_harness_manifold_fit(points, n, point, &o, c->pool, &c->hooks, &m, err));
    for (int i = 0; i < REF_SHARES; i++) {
        geodec_substitution_published *s = &row[i];
        const int64_t cached = (int64_t)fmax(1, rint(share[i] * (double)points)); /* the first draw of the harness */
        GEODEC_TRY(geodec_substitution_published_run(&m, cached, permutation, 3, 0.4, s, err));
        s->share = share[i];
        s->closed_form = geodec_coverage_closed_form(points, o.k, cached);
        cli_say(c,
                "%2.0f %% cached: within 3 of a cached point %.1f %% (closed form %.1f %%), within 0.4 %.1f %%, mean "
                "%.4f; projected from half a step a hit: %.2f",
                100 * share[i], 100 * s->hit, 100 * s->closed_form, 100 * s->correctable, s->distance, s->projected);
    }
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_substitution_published_kind,
                geodec_substitution_published_write(REF_SHARES, row, stage.out, err));
done:
    stage_end(&stage);
    geodec_harness_manifold_clear(&m);
    GEODEC_FREE(point, permutation);
    return st;
}

static geodec_status resonance(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_resonance r;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1, -1, -1};
    double *phi = NULL;
    resonance_options.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/propagator/ref_phi", 4, shape, NULL, &phi, err));
    const int64_t n = shape[2];
    if (shape[0] < 1 || shape[1] < 1 || shape[3] != n)
        GEODEC_THROW(GEODEC_FORMAT, "%s: /propagator/ref_phi holds no square matrices", draws);
    GEODEC_TRY(geodec_resonance_published(n, phi + (shape[1] - 1) * n * n, &resonance_options, &r, err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_resonance_kind, geodec_resonance_write(&r, stage.out, err));
    geodec_resonance_say(&c->hooks, &r);
done:
    stage_end(&stage);
    geodec_mem_free(phi);
    return st;
}

static geodec_status hjb(const cli *c, geodec_err *err)
{
    static const char *const names[GEODEC_PUBLISHED_HJB_CLASSES] = {"/hjb/geodesic/xs", "/hjb/nn_walk/xs",
                                                                    "/hjb/straight/xs"};
    geodec_status st = GEODEC_OK;
    geodec_harness_manifold m = {0};
    geodec_metric fitted = {0};
    geodec_rbf *field = NULL;
    geodec_hjb_published_means row[GEODEC_PUBLISHED_HJB_CLASSES];
    const geodec_harness_options o = geodec_harness_defaults();
    const geodec_metric_options wide = geodec_metric_defaults();
    cli_stage stage = {0};
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1};
    double *point = NULL;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    GEODEC_TRY(geodec_harness_manifold_fit(shape[0], shape[1], point, &o, c->pool, &c->hooks, &m, err));
    GEODEC_TRY(geodec_metric_from_matrices(GEODEC_METRIC_MAHALANOBIS, shape[0], shape[1], point, m.g_raw, &wide,
                                           c->pool, &c->hooks, &fitted, err));
    GEODEC_TRY(geodec_metric_field(&fitted, &field, err));
    for (int k = 0; k < GEODEC_PUBLISHED_HJB_CLASSES; k++)
        GEODEC_TRY(geodec_hjb_published_class(draws, names[k], &m, geodec_rbf_space(field), &row[k], err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_hjb_published_kind,
                geodec_hjb_published_write(row, shape[0], shape[1], fitted.sigma, stage.out, err));
    for (int k = 0; k < GEODEC_PUBLISHED_HJB_CLASSES; k++)
        cli_say(c, "%-16s kinetic %.2g, curvature %.2g (rounding); geodesic residual in the smooth field %.2g",
                names[k] + 5, row[k].kinetic, row[k].curvature, row[k].covariant);
done:
    stage_end(&stage);
    geodec_harness_manifold_clear(&m);
    geodec_metric_clear(&fitted);
    geodec_rbf_destroy(field);
    geodec_mem_free(point);
    return st;
}

static geodec_status warp(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_manifold m = {0};
    geodec_warp_published_row row[GEODEC_PUBLISHED_WARP_ROWS];
    const geodec_harness_options o = geodec_harness_defaults();
    cli_stage stage = {0};
    double *point = NULL;
    int64_t *query = NULL, *holdout = NULL, shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1},
            found[GEODEC_FOREIGN_RANK_MAX] = {-1}, others[GEODEC_FOREIGN_RANK_MAX] = {-1};
    const bool sweep = strcmp(variant, "sweep") == 0;
    const int64_t rows = sweep ? GEODEC_PUBLISHED_WARP_ROWS : 1;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/warp/v1/query_index", 1, found, 0, shape[0] - 1, &query, err));
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/warp/v1/holdout_index", 1, others, 0, shape[0] - 1, &holdout, err));
    const geodec_warp_published_draws d = {
        .facts = found[0], .holdouts = others[0], .query = query, .holdout = holdout};
    GEODEC_TRY(geodec_harness_manifold_fit(shape[0], shape[1], point, &o, c->pool, &c->hooks, &m, err));
    const geodec_warp_published_config one = {.variant = strcmp(variant, "v1") == 0 ? GEODEC_PUBLISHED_WARP_V1
                                                                                    : GEODEC_PUBLISHED_WARP_V2,
                                              .alpha = alpha,
                                              .extent = extent,
                                              .steps = chain.steps > 0 ? chain.steps : 16,
                                              .dl = chain.dl > 0 ? chain.dl : 0.1};
    GEODEC_TRY(geodec_warp_published_sweep(&m, &d, sweep ? NULL : &one, c->pool, &c->hooks, row, err));
    GEODEC_TRY(stage_file(&stage, draws, err));
    STAGE_WRITE(&stage, &geodec_warp_published_kind,
                geodec_warp_published_write(row, rows, m.samples, m.n, stage.out, err));
    for (int64_t i = 0; i < (sweep ? 4 : 1); i++) {
        const geodec_warp_published_summary *s = &row[i].summary;
        cli_say(c,
                "v%d alpha %.2f: improvement %.1f %%, spillover mean %.1f %% p95 %.1f %%; not finite: %lld facts, %lld "
                "of %lld holdouts",
                row[i].config.variant == GEODEC_PUBLISHED_WARP_V1 ? 1 : 2, row[i].config.alpha,
                100 * s->improvement_finite, 100 * s->spill_mean_finite, 100 * s->spill_p95_finite,
                (long long)s->nan_post, (long long)s->nan_spill, (long long)s->spills);
    }
done:
    stage_end(&stage);
    geodec_harness_manifold_clear(&m);
    GEODEC_FREE(point, query, holdout);
    return st;
}

static geodec_status onedecode(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_activations a;
    geodec_model *m = NULL;
    geodec_onedecode_published t = {0}, flat = {0};
    geodec_onedecode_rates r, rf;
    geodec_step_options so = geodec_step_defaults();
    geodec_step step = {0};
    geodec_step_rows rows = {0};
    cli_stage stage = {0};
    float *embedding = NULL;
    so.seed = c->seed;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(stage_open(&stage, &geodec_activations_kind, c->args[1], &in, err));
    GEODEC_TRY(geodec_activations_view(in, &a, err));
    GEODEC_TRY(geodec_model_open(model_path, &m, err));
    GEODEC_TRY(stage_file(&stage, model_path, err));
    if (strcmp(geodec_model_fingerprint(m), geodec_artifact_provenance(a.file)->model_fingerprint) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: activations of another model than %s", c->args[1], model_path);
    const geodec_model_config *k = geodec_model_configuration(m);
    GEODEC_NEW(embedding, (int64_t)k->n_vocab * k->d_model);
    GEODEC_TRY(geodec_model_embeddings(m, 0, k->n_vocab, embedding, err));
    GEODEC_TRY(geodec_step_fit(&a, &so, c->pool, &step, &rows, err));
    GEODEC_TRY(geodec_onedecode_published_bake(k->n_vocab, k->d_model, embedding, false, c->pool, &t, err));
    GEODEC_TRY(geodec_onedecode_published_bake(k->n_vocab, k->d_model, embedding, true, c->pool, &flat, err));
    GEODEC_TRY(geodec_onedecode_published_rates(&t, &rows, c->seed, &r, err));
    GEODEC_TRY(geodec_onedecode_published_rates(&flat, &rows, c->seed, &rf, err));
    STAGE_WRITE(&stage, &geodec_onedecode_published_kind,
                geodec_onedecode_published_write(&t, &r, &rf, stage.out, err));
    const geodec_onedecode_rates *const both[] = {&r, &rf};
    for (int i = 0; i < 2; i++)
        cli_say(c,
                "%s: %.1f %% of %lld entries predict themselves, %.1f %% the most frequent token, %.1f %% one of ten; "
                "entropy %.2f of %.2f bits; correct on texts: entries %.2f %%, lookups %.2f %%",
                i ? "Gamma = 0" : "as published", 100 * both[i]->self_loop, (long long)t.n, 100 * both[i]->hub,
                100 * both[i]->hub10, both[i]->entropy, log2((double)t.n), 100 * both[i]->entry_top1,
                100 * both[i]->lookup_top1);
    cli_say(c, "controls: bigram %.2f %%, unigram %.2f %% of %lld positions", 100 * r.bigram_top1, 100 * r.unigram_top1,
            (long long)r.places);
done:
    stage_end(&stage);
    geodec_onedecode_published_clear(&t);
    geodec_onedecode_published_clear(&flat);
    geodec_step_clear(&step);
    geodec_step_rows_clear(&rows);
    geodec_mem_free(embedding);
    geodec_model_close(m);
    return st;
}

/* ---- decoding --------------------------------------------------------------------------------------------------- */

/* A model with its session and a prompt. */
typedef struct decoding {
    geodec_model *m;
    geodec_session *s;
    geodec_target target;
    decode_words words;
    int32_t *ids;
    int64_t n;
} decoding;

static geodec_status decoding_open(const cli *c, decoding *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const size_t length = strlen(prompt);
    const geodec_encode_options how = {.bos = true};
    d->words = (decode_words){.isa = "auto", .arithmetic = "auto", .kv = "f32"};
    GEODEC_TRY(geodec_model_open(model_path, &d->m, err));
    (void)arithmetic_settle(c, d->m, &d->words.arithmetic);
    GEODEC_NEW(d->ids, (int64_t)length + 3);
    GEODEC_TRY_MSG(geodec_tokenizer_encode_with(geodec_model_tokenizer(d->m), prompt, length, &how, d->ids, &d->n, err),
                   "--prompt");
    GEODEC_TRY(decode_session(d->m, 0, &d->words, c->pool, &d->s, err));
    d->target = geodec_target_session(d->s, DECODE_BATCH);
done:
    return st;
}

static void decoding_close(decoding *d)
{
    geodec_session_destroy(d->s);
    geodec_model_close(d->m);
    geodec_mem_free(d->ids);
}

static geodec_status counters(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    decoding d = {0};
    geodec_counters_published k;
    GEODEC_TRY(decoding_open(c, &d, err));
    GEODEC_TRY(geodec_decoding_published_replay(&d.target, d.ids, d.n, max_tokens, &k, err));
    printf("geo_accepted %lld/%lld (%.1f %%), xfmr %lld, passes %lld\n", (long long)k.geo_accepted, (long long)k.tokens,
           100 * k.acceptance, (long long)k.xfmr, (long long)k.target_passes);
done:
    decoding_close(&d);
    return st;
}

static geodec_status lengths(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    decoding d = {0};
    geodec_drafting *drafting = NULL;
    geodec_drafter *inner = NULL, *drafter = NULL;
    geodec_decoded got = {0};
    geodec_decode_options o = geodec_decode_options_default();
    int32_t stop[GEODEC_STOP_TOKENS];
    GEODEC_TRY(decoding_open(c, &d, err));
    GEODEC_TRY(geodec_drafting_open(d.m, artifacts, &draft, 1, &drafting, err));
    GEODEC_TRY(decode_second(c, d.s, &d.words, c->pool, drafting, err));
    GEODEC_TRY(geodec_drafting_create(drafting, draft, &inner, err));
    if (!inner) GEODEC_THROW(GEODEC_INVAL, "--draft %s: lengths needs a drafter", draft);
    GEODEC_TRY(geodec_decoding_published_drafter_create((int32_t)gamma_most, inner, &drafter, err));
    o.gamma = (int32_t)gamma_most;
    o.max_tokens = max_tokens;
    o.stop = stop;
    o.n_stop = geodec_drafting_stop_tokens(geodec_model_tokenizer(d.m), stop);
    GEODEC_TRY(geodec_decode(&d.target, d.ids, d.n, drafter, &o, &got, err));
    const geodec_decode_counters *k = &got.counters;
    printf("%lld tokens in %lld passes, %lld of %lld drafts accepted\nlength\trounds\n", (long long)got.n,
           (long long)k->target_passes, (long long)k->total.accepted, (long long)k->total.proposed);
    for (int64_t i = 0; i <= gamma_most; i++) printf("%lld\t%lld\n", (long long)i, (long long)k->length[i]);
done:
    geodec_decode_free(&got);
    geodec_drafter_destroy(drafter);
    geodec_drafting_close(drafting);
    decoding_close(&d);
    return st;
}

static geodec_status options_of(const cli *c, geodec_err *err)
{
    const geodec_options_published *o = geodec_decoding_published_options, *end = o + GEODEC_OPTIONS_PUBLISHED;
    while (o < end && strcmp(o->name, c->args[1]) != 0) o++;
    if (o == end) GEODEC_FAIL(GEODEC_INVAL, "the published runtime has no '%.60s'", c->args[1]);
    printf("%s\n", o->options);
    return GEODEC_OK;
}

/* ---- stages ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    cli_run run;
    const char **source; /* the option that it needs */
    const char *option;
    geodec_status (*link)(const cli *c, const published_chain *o, geodec_err *err); /* in place of run */
    const char *inputs;
    int least, most;
} stages[] = {
    {"metric", .link = published_metric, .inputs = "CLOUD.h5", .least = 1, .most = 1},
    {"christoffel", .link = published_christoffel, .inputs = "METRIC.h5", .least = 1, .most = 1},
    {"geodesic", .link = published_geodesic, .inputs = "METRIC.h5", .least = 1, .most = 1},
    {"riemann", .link = published_riemann, .inputs = "METRIC.h5", .least = 1, .most = 2},
    {"propagate", .link = published_propagate, .inputs = "METRIC.h5 GEODESICS.h5", .least = 2, .most = 2},
    {"coverage", coverage, &draws, "draws"},
    {"validity", validity, &draws, "draws"},
    {"records", records, &draws, "draws"},
    {"blocks", blocks, &draws, "draws"},
    {"density", density, &telemetry, "telemetry"},
    {"injectivity", injectivity, &draws, "draws"},
    {"substitution", substitution, &draws, "draws"},
    {"resonance", resonance, &draws, "draws"},
    {"hjb", hjb, &draws, "draws"},
    {"warp", warp, &draws, "draws"},
    {"counters", counters, &model_path, "model"},
    {"lengths", lengths, &model_path, "model"},
    {"options", options_of, .inputs = "NAME", .least = 1, .most = 1},
    {"onedecode", onedecode, &model_path, "model", .inputs = "ACTIVATIONS.h5", .least = 1, .most = 1},
};

static geodec_status run(const cli *c, geodec_err *err)
{
    static char named[64];
    const int inputs = c->n_args - 1;
    int i = 0;
    while (i < CLI_COUNT(stages) && strcmp(c->args[0], stages[i].name) != 0) i++;
    if (i == CLI_COUNT(stages)) {
        char names[256];
        size_t n = 0;
        for (int s = 0; s < CLI_COUNT(stages) && n < sizeof names; s++)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", s ? ", " : "", stages[s].name);
        GEODEC_FAIL(GEODEC_INVAL, "no stage '%.60s' (%s)", c->args[0], names);
    }
    if (inputs < stages[i].least) GEODEC_FAIL(GEODEC_INVAL, "%s needs %s", stages[i].name, stages[i].inputs);
    if (inputs > stages[i].most) GEODEC_FAIL(GEODEC_INVAL, "unexpected argument '%s'", c->args[1 + stages[i].most]);
    if (stages[i].source && !*stages[i].source)
        GEODEC_FAIL(GEODEC_INVAL, "%s needs --%s", stages[i].name, stages[i].option);
    (void)snprintf(named, sizeof named, "%s-ref.h5", stages[i].name);
    if (!*output) output = named;
    chain.output = output;
    chain.draws = draws;
    return stages[i].link ? stages[i].link(c, &chain, err) : stages[i].run(c, err);
}

CLI_MAIN(resonance_options = geodec_resonance_defaults())
