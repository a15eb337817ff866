/* Fisher matrices at the points of a cloud, as the metric stage fits them, and their blend with another metric. */
#ifndef GEODEC_LAB_FISHER_METRIC_H
#define GEODEC_LAB_FISHER_METRIC_H

#include "chain/cloud.h"
#include "chain/metric.h"
#include "fisher/model_states.h"

/* Medians over the points, of the matrices before and after the ridge. */
typedef struct geodec_fisher_medians {
    double trace;     /* tr(G) / n before the ridge, nats a squared unit */
    double entropy;   /* of the next token, nats */
    double condition; /* after the ridge */
    int64_t floored;  /* eigenvalues lifted after the ridge, in all */
} geodec_fisher_medians;

/* g [points][n][n], in new memory: G = J^T F J of the next token's distribution in the cloud's first n directions, with
 * `ridge` times the mean eigenvalue on the diagonal. GEODEC_CHECKSUM when the cloud's points are not rows of the
 * states; the errors of geodec_fisher_metric and geodec_fisher_regularise. */
geodec_status geodec_fisher_of_cloud(const geodec_model_states *s, const geodec_cloud *cloud, int64_t n, double ridge,
                                     const geodec_hooks *hooks, double **g, geodec_fisher_medians *medians,
                                     geodec_err *err) GEODEC_MUST_USE;
/* g = exp((1 - weight) log(m) + weight log(g)) at each point of m, in place. GEODEC_NUMERIC. */
geodec_status geodec_fisher_blend(const geodec_metric *m, double weight, double *g, geodec_err *err) GEODEC_MUST_USE;

#endif
