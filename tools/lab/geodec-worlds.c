/* geodec-worlds: synthetic worlds with a known effect, as activations with the truth beside. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "chain/activations.h"
#include "chain/cloud.h"
#include "chain/metric.h"
#include "cli/stage.h"
#include "lab/worlds/field.h"
#include "lab/worlds/truth.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

static const char *output = "activations.h5", *truth_path = "world.h5", *metric_path, *like_path, *model_path,
                  *set = "sphere", *sampling = "independent", *null_of = "sphere";
static int64_t dim, forms, family, orbits;
static double radius, step, noise = -1;
static bool no_rest;
static geodec_world_options opt;

enum { CHECKED = 32 };

#define SETS "sphere|hyperbolic|product|torus|quadratic|flat|field|warp|families|gaussian"

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "activations.h5"),
    OPT_FILE("truth", 0, &truth_path, "FILE", "write the truth to FILE", .flags = CLI_VOLATILE),
    OPT_FILE("metric", 0, &metric_path, "FILE",
             "also write a METRIC.h5 to FILE: the metric field at the points without noise, in the first --dim "
             "coordinates of the set; --set field: its own, otherwise one that also turns",
             .flags = CLI_VOLATILE),
    OPT_CHOICE("set", 0, &set, SETS, "SET",
               "the set; field: a conformal metric on a flat ball; warp: a metric that carries a fact to its target; "
               "families: rows of which a share has a near one; "
               "gaussian: the null, noise with the covariance of the set --null-of, or of the data of --like"),
    OPT_I64("dim", 'n', &dim, 0, 64, "N", "dimension of the set (0: 2, or that of the data)"),
    OPT_I64("ambient", 0, &opt.ambient, 2, 1 << 20, "N", "width of the states"),
    OPT_I64("points", 0, &opt.points, 2, 1e9, "N", "number of states"),
    OPT_F64("radius", 0, &radius, 0, 1e300, "R",
            "radius at strength 1, the unit of the other lengths of the set (0: 1, or by the variance of the data)"),
    OPT_F64("cap", 0, &opt.cap, 0, 1e6, "X",
            "geodesic size of the piece over the radius (0: the whole sphere; else 1)"),
    OPT_F64("tube", 0, &opt.tube, 0, 1e300, "X",
            "torus: radius of the tube; families: largest distance within one (0: half and a hundredth of the radius)"),
    OPT_F64("length", 0, &opt.length, 0, 1e300, "X", "product: length of the interval (0: twice the piece's size)"),
    OPT_I64("forms", 0, &forms, 0, 64, "N", "quadratic: number of forms (0: all that are independent, at most 8)"),
    OPT_I64("family", 0, &family, 2, 1e9, "N", "families: rows of each"),
    OPT_F64("amplitude", 0, &opt.amplitude, 0, 100, "X", "field: standard deviation of log g at strength 1"),
    OPT_F64("scale", 0, &opt.scale, 0, 1e300, "X",
            "field: length over which the metric varies (0: half the piece's size)"),
    OPT_CHOICE("null-of", 0, &null_of, SETS, "SET", "gaussian: the set whose covariance the noise has"),
    OPT_F64("noise", 0, &noise, -1, 1e300, "X",
            "standard deviation of the noise in each direction (-1: 0, or that of the data)"),
    OPT_CHOICE("sampling", 0, &sampling, "independent|walk|geodesic|flow", "HOW",
               "independent points, or texts: a walk whose direction changes slowly; steps of which --share is the "
               "geodesic continuation; steps of which --share follows a rotation of the sphere along great circles"),
    OPT_I64("text-length", 0, &opt.text_length, 1, 1e9, "N", "states of a text"),
    OPT_F64("step", 0, &step, 0, 1e300, "X", "arc length of a step (0: a tenth of the radius, or that of the data)"),
    OPT_F64("turn", 0, &opt.turn, 0, 1e6, "X", "walk: rate at which the direction changes, per step"),
    OPT_F64("share", 0, &opt.share, -1, 1, "X",
            "geodesic, flow: share of the next step that is the geodesic continuation, or that of the rotation; 0: a "
            "random walk, the control; below 0: steps that turn back"),
    OPT_F64("recur", 0, &opt.recur, 0, 1, "X",
            "texts: share of them that follow one of --orbits trajectories, so that states recur; 0: the control"),
    OPT_I64("orbits", 0, &orbits, 1, 1 << 30, "N", "trajectories that texts follow which recur"),
    OPT_F64("strength", 0, &opt.strength, 0, 1, "X",
            "strength of the curvature, the field, or the share of rows in families; 0: the control"),
    OPT_FILE("like", 0, &like_path, "CLOUD.h5",
             "take number, width, texts, dimension, spectrum and noise from this cloud"),
    OPT_FILE("head", 0, &model_path, "MODEL.gguf",
             "the states are those of the last layer of this model: the token after each is the one that its head "
             "chooses there; texts are whole, of --text-length states"),
    OPT_FLAG(
        "no-rest", 0, &no_rest,
        "with --like: the directions that the set does not fill have the noise alone, not the variances of the data"),
};

static const cli_tool tool = {
    .name = "geodec-worlds",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "make a synthetic world in which an effect is present, as a positive control",
    .usage = "[OPTIONS]",
    .description =
        "States on a set of known geometry, mapped isometrically into the space of the states, with noise, as\n"
        "independent points or along texts. All later stages take the output as they take that of a model; the\n"
        "truth has the curvature of each row in closed form, its tangent space and direction. An estimator that\n"
        "finds nothing in the data must find what is there in a world of the same sizes (--like), and nothing at\n"
        "--strength 0 and --share 0. With --like, the set has the variance of the leading directions of the data\n"
        "less the noise, and the other directions are noise of their variances; that noise then rules the dimension\n"
        "of the states. Whole spheres and tori have no edge, so no step along a text is turned back.",
    .examples = "  geodec-worlds --set sphere --dim 4 --ambient 64 --points 2000 --noise 0.01 -o activations.h5\n"
                "  geodec-worlds --sampling geodesic --share 0.5 --like cloud.h5 -o activations.h5 --truth world.h5\n"
                "  geodec-worlds --set torus --strength 0 -o control.h5 --truth control-truth.h5",
    CLI_TAKES(options, 0, 0),
};

static int number_of(const char *const *names, const char *name)
{
    int i = 0;
    while (names[i] && strcmp(names[i], name) != 0) i++;
    return i;
}

static geodec_status settle(const cli *c, cli_stage *stage, geodec_world_like *like, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL;
    geodec_cloud cloud = {0};
    geodec_world_like_options take = geodec_world_like_defaults();
    take.keep_n = dim > 0;
    take.keep_step = step > 0;
    take.rest = !no_rest;
    if (noise >= 0) take.noise = noise;
    opt.set = (geodec_world_set)number_of(geodec_world_set_names, set);
    opt.null_of = (geodec_world_set)number_of(geodec_world_set_names, null_of);
    opt.sampling = (geodec_world_sampling)number_of(geodec_world_sampling_names, sampling);
    opt.seed = c->seed;
    opt.forms = (int32_t)forms;
    opt.orbits = (int32_t)orbits;
    opt.family = (int32_t)(family < INT32_MAX ? family : INT32_MAX);
    if (dim > 0) opt.n = (int32_t)dim;
    if (radius > 0) opt.radius = radius;
    opt.step = step > 0 ? step : opt.radius / 10;
    opt.noise = noise > 0 ? noise : 0;
    if (!like_path) goto done;
    if (radius > 0) GEODEC_THROW(GEODEC_INVAL, "--radius is that of the data with --like");
    GEODEC_TRY(stage_open(stage, &geodec_cloud_kind, like_path, &in, err));
    GEODEC_TRY(geodec_cloud_read(in, &cloud, err));
    GEODEC_TRY(geodec_world_like_cloud(&cloud, &take, &opt, like, err));
    if (model_path) opt.sequence = opt.position = NULL; /* the text before every row is in the file */
done:
    geodec_cloud_clear(&cloud);
    return st;
}

/* The metric field at the points. */
static geodec_status write_metric(const cli *c, cli_stage *stage, const geodec_world *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_world_field f = {0};
    geodec_metric m = {0};
    const geodec_metric_options o = geodec_metric_defaults();
    const int64_t n = w->n;
    double *x = NULL, *g = NULL, *mean = NULL;
    int32_t *row = NULL;
    GEODEC_NEW(x, w->points * n);
    GEODEC_NEW(g, w->points * n * n);
    GEODEC_NEW(mean, w->ambient);
    GEODEC_NEW(row, w->points);
    for (int64_t i = 0; i < w->points; i++) {
        row[i] = (int32_t)i;
        memcpy(x + i * n, w->y + i * w->natural, (size_t)n * sizeof *x);
    }
    GEODEC_TRY(geodec_world_field_init(&f, w->n, w->set == GEODEC_WORLD_FIELD, w->amplitude,
                                       w->scale > 0 ? w->scale : w->cap * w->radius / 2, w->strength, w->seed, err));
    GEODEC_TRY(geodec_world_field_matrices(&f, w->points, x, g, err));
    GEODEC_TRY(
        geodec_metric_from_matrices(GEODEC_METRIC_MAHALANOBIS, w->points, n, x, g, &o, c->pool, &c->hooks, &m, err));
    const geodec_metric_source source = {.cloud_row = row,
                                         .activation_row = row,
                                         .sequence = w->sequence,
                                         .position = w->position,
                                         .d = w->ambient,
                                         .basis = w->basis,
                                         .mean = mean};
    stage->output = metric_path;
    STAGE_WRITE(stage, &geodec_metric_kind, geodec_metric_write(&m, &source, stage->out, err));
done:
    geodec_world_field_clear(&f);
    geodec_metric_clear(&m);
    GEODEC_FREE(x, g, mean, row);
    return st;
}

/* The states as rows of the model's last layer; choice [points]. The provenance borrows from *m, which the caller
 * closes after the last write. */
static geodec_status heard(const cli *c, cli_stage *stage, const geodec_world *w, geodec_model **m,
                           geodec_activations_said *said, int32_t **choice, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_reference *r = NULL;
    const geodec_reference_options o = {.pool = c->pool};
    GEODEC_TRY(geodec_model_open(model_path, m, err));
    GEODEC_TRY(stage_model(stage, model_path, *m, err));
    const geodec_model_config *mc = geodec_model_configuration(*m);
    if (w->ambient != mc->d_model)
        GEODEC_THROW(GEODEC_INVAL, "--ambient %lld, but states of %s have the width %d", (long long)w->ambient,
                     model_path, (int)mc->d_model);
    GEODEC_TRY(geodec_reference_create(*m, &o, &r, err));
    GEODEC_NEW(*choice, w->points);
    GEODEC_TRY(geodec_reference_choose(r, w->points, w->x, *choice, err));
    *said = (geodec_activations_said){.n_layer = mc->n_layer, .n_vocab = mc->n_vocab, .choice = *choice};
done:
    geodec_reference_destroy(r);
    return st;
}

static void say(const cli *c, const geodec_world_truth *t, bool shifted, int64_t merged)
{
    const geodec_world *w = &t->world;
    double low = w->scalar[0], high = w->scalar[0];
    for (int64_t i = 1; i < w->points; i++) {
        if (w->scalar[i] < low) low = w->scalar[i];
        if (w->scalar[i] > high) high = w->scalar[i];
    }
    cli_say(c, "%s of dimension %d in %lld of %lld: %lld states, %lld texts; variance %.4g, of the noise %.4g",
            geodec_world_set_names[w->set], (int)w->n, (long long)w->natural, (long long)w->ambient,
            (long long)w->points, (long long)w->texts, w->set_variance, w->noise_variance);
    if (w->shape) cli_say(c, "scalar curvature %.6g to %.6g, strength %g", low, high, w->strength);
    if (w->shape && w->set != GEODEC_WORLD_FIELD && w->set != GEODEC_WORLD_WARP)
        cli_say(c, "differences of geodesics at %lld rows: tangential acceleration %.1e of 1 / standard deviation",
                (long long)t->check.rows, t->check.acceleration);
    if (t->check.curved > 0)
        cli_say(c, "differences of the chart's metric at %lld rows: scalar curvature off by %.1e of 1 / variance",
                (long long)t->check.curved, t->check.curvature);
    if (w->fact)
        cli_say(c, "the geodesic of the fact ends at %.3g of its length from the target, without the warp at %.3g",
                t->check.after, t->check.before);
    if (w->covered)
        cli_say(c, "%lld families of %d: %lld of %lld states have others within %.4g", (long long)w->families,
                (int)w->family, (long long)(w->families * w->family), (long long)w->points, w->tube);
    if (t->steps.counted > 0)
        cli_say(
            c,
            "%lld steps, chords of %.4g: share of the direction before %.4f (random direction %.4f); squared error of "
            "the geodesic %.4g (straight line %.4g)",
            (long long)t->steps.counted, t->steps.length, t->steps.share, t->steps.random, t->steps.error,
            t->steps.straight);
    if (w->recurring > 0)
        cli_say(c, "%lld of %lld texts follow one of %d trajectories", (long long)w->recurring, (long long)w->texts,
                (int)w->orbits);
    if (w->turns > 0)
        cli_say(
            c, "%lld steps were turned back at the edge of the piece and are not counted: the others are a biased part",
            (long long)w->turns);
    if (t->like.total > 0)
        cli_say(c, "like the data: variance %.4g in the set's directions of %.4g, noise %.4g, step %.4g%s",
                t->like.span, t->like.total, t->like.noise, w->step,
                t->like.limited ? ", half of the piece: the steps of the data are longer" : "");
    if (shifted) cli_say(c, "the median of each coordinate was subtracted, because float32 has too few digits there");
    if (merged > 0) cli_say(c, "%lld states became equal to another one as float32", (long long)merged);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    cli_stage stage = {0};
    geodec_world_truth t = {0};
    geodec_activations_said said;
    geodec_model *model = NULL;
    int32_t *choice = NULL;
    bool shifted;
    int64_t merged;
    GEODEC_TRY(stage_begin(&stage, c, output, err));
    GEODEC_TRY(cli_may_write(c, truth_path, err));
    if (metric_path) GEODEC_TRY(cli_may_write(c, metric_path, err));
    GEODEC_TRY(settle(c, &stage, &t.like, err));
    GEODEC_TRY(geodec_world_make(&opt, &t.world, err));
    GEODEC_TRY(geodec_world_steps_measure(&t.world, &t.steps, err));
    GEODEC_TRY(geodec_world_check_rows(&t.world, CHECKED, &t.check, err));
    if (model_path) GEODEC_TRY(heard(c, &stage, &t.world, &model, &said, &choice, err));
    STAGE_WRITE(&stage, &geodec_activations_kind,
                geodec_activations_write_rows(t.world.points, t.world.ambient, t.world.x, t.world.sequence,
                                              t.world.position, model_path ? &said : NULL, stage.out, &shifted, &merged,
                                              err));
    if (model_path && shifted) GEODEC_THROW(GEODEC_UNSUPPORTED, "the states of a model may not be shifted");
    stage.output = truth_path;
    STAGE_WRITE(&stage, &geodec_world_truth_kind, geodec_artifact_save(stage.out, &t, err));
    if (metric_path && shifted) GEODEC_THROW(GEODEC_UNSUPPORTED, "the states were shifted, so --metric is not written");
    if (metric_path) GEODEC_TRY(write_metric(c, &stage, &t.world, err));
    say(c, &t, shifted, merged);
done:
    stage_end(&stage);
    geodec_mem_free(choice);
    geodec_model_close(model);
    geodec_world_clear(&t.world);
    geodec_world_like_clear(&t.like);
    return st;
}

CLI_MAIN((opt = geodec_world_defaults(), family = opt.family, orbits = opt.orbits))
