/* The charts and metrics that experiments along texts run over: a chart of the training texts' states with the metrics
 * fitted in it, or the chart and metric of a METRIC.h5. */
#ifndef GEODEC_TOOLS_CLI_CHARTS_H
#define GEODEC_TOOLS_CLI_CHARTS_H

#include "cli/fisher.h"
#include "lab/harness/trajectories.h"

typedef struct charts {
    const cli *c;
    const geodec_harness_split *split;
    int64_t dim, points;
    double blend, ridge, sigma_nn;
    bool local; /* charts_fitted: no Fisher metric, even with a model */
    /* charts_open fills these */
    geodec_artifact *file; /* activations */
    geodec_activations view;
    int64_t n_layer; /* of the model */
    int32_t *layer;  /* [view.layers] kept in the file */
    int32_t *text;   /* [view.rows] units of the split (geodec_activations_units) */
    geodec_split units;
    fisher_source source; /* empty without a model */
} charts;

/* Says that blocks are held out, where it is so. */
void say_split(const cli *c, const geodec_split *s);

#define CHARTS_OPTIONS(model_path, dim, points, blend, ridge, sigma_nn)                                                \
    {.name = "model",                                                                                                  \
     .letter = 'm',                                                                                                    \
     .type = CLI_STR,                                                                                                  \
     .flags = CLI_PATH,                                                                                                \
     .target = &(model_path),                                                                                          \
     .metavar = "FILE",                                                                                                \
     .help = "model as GGUF: with the Fisher metric of its next token, and the blend"},                                \
        {.name = "dim",                                                                                                \
         .letter = 'n',                                                                                                \
         .type = CLI_I64,                                                                                              \
         .target = &(dim),                                                                                             \
         .min = 1,                                                                                                     \
         .max = GEODEC_RBF_MAX_N,                                                                                      \
         .metavar = "N",                                                                                               \
         .help = "dimension of the charts: principal directions"},                                                     \
        {.name = "points",                                                                                             \
         .type = CLI_I64,                                                                                              \
         .target = &(points),                                                                                          \
         .min = 32,                                                                                                    \
         .max = 1e6,                                                                                                   \
         .metavar = "N",                                                                                               \
         .help = "states of training texts the metric is fitted at"},                                                  \
        {.name = "blend",                                                                                              \
         .type = CLI_F64,                                                                                              \
         .target = &(blend),                                                                                           \
         .min = 0,                                                                                                     \
         .max = 1,                                                                                                     \
         .metavar = "A",                                                                                               \
         .help = "weight of the Fisher metric's logarithm in the blend"},                                              \
        {.name = "ridge",                                                                                              \
         .type = CLI_F64,                                                                                              \
         .target = &(ridge),                                                                                           \
         .min = 0,                                                                                                     \
         .max = 1e6,                                                                                                   \
         .metavar = "X",                                                                                               \
         .help = "add X times the mean eigenvalue to the Fisher metric"},                                              \
    {                                                                                                                  \
        .name = "sigma-nn", .type = CLI_F64, .target = &(sigma_nn), .min = 1e-6, .max = 1e6, .metavar = "X",           \
        .help = "width of the fields in median distances to the nearest neighbour"                                     \
    }

/* Opens the activations and, with a path that is not empty, the model. */
geodec_status charts_open(charts *s, const char *activations, const char *model, geodec_provenance *p,
                          geodec_err *err) GEODEC_MUST_USE;
void charts_close(charts *s); /* all zero is allowed */

/* One chart with one metric. index: kept layer of the file, or -1 = layer by layer. */
typedef geodec_status (*charts_fn)(void *ctx, const geodec_harness_charted *c, int64_t index,
                                   const geodec_harness_sites *f, const char *metric, geodec_err *err);
/* The chart of a kept layer (-1: of all), with the metric of its training states (mahalanobis) and, with a model, the
 * Fisher metric of the next token and the blend. */
geodec_status charts_fitted(const charts *s, int64_t index, charts_fn fn, void *ctx, geodec_err *err) GEODEC_MUST_USE;
/* The chart, layer and metric of METRIC.h5, named by its kind. GEODEC_FORMAT when it is no metric of such states,
 * GEODEC_CHECKSUM when its points are not from these activations, GEODEC_NOTFOUND (layer), GEODEC_INVAL (the published
 * manifold). */
geodec_status charts_file(const charts *s, const char *metric, geodec_provenance *p, charts_fn fn, void *ctx,
                          geodec_err *err) GEODEC_MUST_USE;

#endif
