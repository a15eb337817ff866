/* The divergences of a model between neighbouring states, and their predictions by metrics in a chart: the figures of
 * geodec_divergence. */
#ifndef GEODEC_LAB_DIVERGENCE_MEASURE_H
#define GEODEC_LAB_DIVERGENCE_MEASURE_H

#include "base/hooks.h"
#include "chain/metric.h"
#include "fisher/model_states.h"
#include "lab/divergence/divergence.h"

enum { GEODEC_DIVERGENCE_METRICS = 8 };
typedef struct geodec_divergence_work {
    /* given, borrowed */
    const geodec_model_states *states;
    const geodec_hooks *hooks;
    uint64_t seed;
    int64_t pairs, replicates; /* pairs asked for; the points' number where that is smaller */
    /* given, owned: the metrics, all of one chart and of the same points */
    geodec_metric metric[GEODEC_DIVERGENCE_METRICS];
    int64_t metrics, n, d, layer;
    int32_t *row;  /* [points] of the activations */
    double *basis; /* [n][d] */
    /* found */
    int64_t *from, *to;                 /* [pairs] points; from rises with its row */
    geodec_model_states_rows own, next; /* states of the pairs' points */
    double *kl, *whole;                 /* [2][pairs] */
    double *predicted;                  /* [kinds][2][pairs] */
    double explained;                   /* share of the squared steps that the chart holds */
    geodec_divergence result;           /* borrows from the above */
} geodec_divergence_work;

/* Samples the pairs and fills the results. Kinds: the Fisher metric at the points, its trace alone (the control of the
 * differences), plain length, the Fisher metric of a shuffled head, that of another point, the whole stream's, and
 * every given metric that is not a Fisher metric. The caller checks that the states are those of the metrics
 * (GEODEC_CHECKSUM). */
geodec_status geodec_divergence_measure(geodec_divergence_work *w, geodec_err *err) GEODEC_MUST_USE;
void geodec_divergence_work_clear(geodec_divergence_work *w);

/* Reads the metrics of n files and adds them to *p. GEODEC_CHECKSUM: they are of different charts or points. */
geodec_status geodec_divergence_measure_metrics(geodec_divergence_work *w, int n, char *const *paths,
                                                geodec_provenance *p, geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures in words. */
void geodec_divergence_measure_say(const geodec_hooks *hooks, const geodec_divergence_work *w);

#endif
