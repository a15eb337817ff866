/* The charts and metrics that experiments along texts run over: a chart of the training texts' states with the metrics
 * fitted in it, or the chart and metric of a METRIC.h5. */
#ifndef GEODEC_TOOLS_CLI_CHARTS_H
#define GEODEC_TOOLS_CLI_CHARTS_H

#include "cli/stage.h"
#include "lab/harness/model_states.h"
#include "lab/harness/trajectories.h"

/* The options of these tools. */
typedef struct charts_options {
    const char *model; /* "" = none */
    int64_t dim, points;
    double blend, ridge, sigma_nn;
} charts_options;

typedef struct charts {
    const cli *c;
    const charts_options *o;
    const geodec_harness_split *split;
    bool local; /* charts_fitted: no Fisher metric, even with a model */
    /* charts_open fills these */
    const geodec_artifact *file; /* activations */
    geodec_activations view;
    int64_t n_layer; /* of the model */
    int32_t *layer;  /* [view.layers] kept in the file */
    int32_t *text;   /* [view.rows] units of the split (geodec_activations_units) */
    geodec_split units;
    geodec_model_states source; /* empty without a model */
} charts;

/* Says that blocks are held out, where it is so. */
void say_split(const cli *c, const geodec_split *s);

#define CHARTS_OPTIONS(o_)                                                                                             \
    OPT_FILE("model", 'm', &(o_).model, "FILE",                                                                        \
             "model as GGUF: with the Fisher metric of its next token, and the blend"),                                \
        OPT_I64("dim", 'n', &(o_).dim, 1, GEODEC_RBF_MAX_N, "N", "dimension of the charts: principal directions"),     \
        OPT_I64("points", 0, &(o_).points, 32, 1e6, "N", "states of training texts the metric is fitted at"),          \
        OPT_F64("blend", 0, &(o_).blend, 0, 1, "A", "weight of the Fisher metric's logarithm in the blend"),           \
        OPT_F64("ridge", 0, &(o_).ridge, 0, 1e6, "X", "add X times the mean eigenvalue to the Fisher metric"),         \
        OPT_F64("sigma-nn", 0, &(o_).sigma_nn, 1e-6, 1e6, "X",                                                         \
                "width of the fields in median distances to the nearest neighbour")

/* Opens the activations and, where one is named, the model. */
geodec_status charts_open(charts *s, cli_stage *stage, const char *activations, geodec_err *err) GEODEC_MUST_USE;
void charts_close(charts *s); /* all zero is allowed */

/* One chart with one metric. index: kept layer of the file, or -1 = layer by layer. */
typedef geodec_status (*charts_fn)(void *ctx, const geodec_harness_charted *c, int64_t index,
                                   const geodec_harness_sites *f, const char *metric, geodec_err *err);
/* The chart of a kept layer (-1: of all), with the metric of its training states (mahalanobis) and, with a model, the
 * Fisher metric of the next token and the blend. */
geodec_status charts_fitted(const charts *s, int64_t index, charts_fn fn, void *ctx, geodec_err *err) GEODEC_MUST_USE;
/* The same of every layer that the words of --layers name (support/layers.h). */
geodec_status charts_layers(const charts *s, const char *layers, charts_fn fn, void *ctx,
                            geodec_err *err) GEODEC_MUST_USE;
/* The chart, layer and metric of METRIC.h5, named by its kind. GEODEC_FORMAT when it is no metric of such states,
 * GEODEC_CHECKSUM when its points are not from these activations, GEODEC_NOTFOUND (layer), GEODEC_INVAL (the published
 * manifold). */
geodec_status charts_file(const charts *s, cli_stage *stage, const char *metric, charts_fn fn, void *ctx,
                          geodec_err *err) GEODEC_MUST_USE;

#endif
