/* The charts and metrics that experiments along texts run over: a chart of the training texts' states with the metrics
 * fitted in it, or the chart and metric of a METRIC.h5. */
#ifndef GEODEC_LAB_HARNESS_CHARTS_H
#define GEODEC_LAB_HARNESS_CHARTS_H

#include "fisher/model_states.h"
#include "lab/harness/trajectories.h"

/* The options of these experiments. */
typedef struct geodec_harness_charts_options {
    const char *model; /* "" = none */
    int64_t dim, points;
    double blend, ridge, sigma_nn;
} geodec_harness_charts_options;

typedef struct geodec_harness_charts {
    geodec_pool *pool;
    const geodec_hooks *hooks;
    const geodec_harness_charts_options *o;
    const geodec_harness_split *split;
    bool local; /* geodec_harness_charts_fitted: no Fisher metric, even with a model */
    /* geodec_harness_charts_open fills these */
    const geodec_artifact *file; /* activations */
    geodec_activations view;
    int64_t n_layer; /* of the model */
    int32_t *layer;  /* [view.layers] kept in the file */
    int32_t *text;   /* [view.rows] units of the split (geodec_activations_units) */
    geodec_split units;
    geodec_model_states source; /* empty without a model */
} geodec_harness_charts;

/* Logs that blocks are held out, where documents are too few. */
void geodec_harness_charts_say_split(const geodec_hooks *hooks, const geodec_split *s);

/* The activations, which must outlive *s, and, where one is named, the model. */
geodec_status geodec_harness_charts_open(geodec_harness_charts *s, const geodec_artifact *activations,
                                         geodec_err *err) GEODEC_MUST_USE;
void geodec_harness_charts_close(geodec_harness_charts *s); /* all zero is allowed */

/* One chart with one metric. index: kept layer of the file, or -1 = layer by layer. */
typedef geodec_status (*geodec_harness_charts_fn)(void *ctx, const geodec_harness_charted *c, int64_t index,
                                                  const geodec_harness_sites *f, const char *metric, geodec_err *err);
/* The chart of a kept layer (-1: of all), with the metric of its training states (mahalanobis) and, with a model, the
 * Fisher metric of the next token and the blend. */
geodec_status geodec_harness_charts_fitted(const geodec_harness_charts *s, int64_t index, geodec_harness_charts_fn fn,
                                           void *ctx, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_harness_charts_fitted, for every layer that the words of --layers name (session/layer_list.h). */
geodec_status geodec_harness_charts_layers(const geodec_harness_charts *s, const char *layers,
                                           geodec_harness_charts_fn fn, void *ctx, geodec_err *err) GEODEC_MUST_USE;
/* The chart, layer and metric of METRIC.h5, named by its kind; added to *p. GEODEC_FORMAT when it is no metric of such
 * states, GEODEC_CHECKSUM when its points are not from these activations, GEODEC_NOTFOUND (layer), GEODEC_INVAL (the
 * published manifold). */
geodec_status geodec_harness_charts_file(const geodec_harness_charts *s, geodec_provenance *p, const char *metric,
                                         geodec_harness_charts_fn fn, void *ctx, geodec_err *err) GEODEC_MUST_USE;

#endif
