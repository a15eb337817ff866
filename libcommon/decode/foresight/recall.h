/* Recall of the experts that a token uses: the share of them among the first m of each predictor, m = 1, 2 and 4 times
 * the experts used, for each layer, on a text. Control: popularity. Intervals: 95 %, by bootstrap over documents.
 *
 * Also: the number of distinct experts that b consecutive tokens use, and that b tokens at random places use; and how
 * well probabilities are calibrated: the share used against the mean prediction, in bins of the prediction. */
#ifndef GEODEC_FORESIGHT_RECALL_H
#define GEODEC_FORESIGHT_RECALL_H

#include "artifact/artifact.h"
#include "foresight/predictors.h"

enum {
    GEODEC_RECALL_BUDGETS = 3,
    GEODEC_RECALL_RUNS = 4,   /* 2, 4, 8, 16 consecutive tokens */
    GEODEC_RECALL_SCALES = 3, /* calibrations: token alone, state and token, and with router1 */
};

extern const geodec_kind geodec_foresight_kind;

typedef struct geodec_recall_options {
    int64_t replicates; /* of the bootstrap; default 1000 */
    uint64_t seed;
    int64_t max_tokens; /* rows read; 0: no limit */
} geodec_recall_options;
geodec_recall_options geodec_recall_defaults(void);

typedef struct geodec_recall {
    int64_t predictors, layers, experts, used;
    int64_t positions, documents, stored; /* tokens foretold, their documents; positions of the store */
    char *names, *when;                   /* of the predictors, separated by commas */
    int32_t budget[GEODEC_RECALL_BUDGETS];
    int32_t *first_layer;       /* [predictors] */
    double *value, *low, *high; /* [predictors][layers][BUDGETS]; NaN: a layer that the predictor cannot foretell */
    double *mean, *mean_low, *mean_high; /* [predictors][BUDGETS] over the layers that it can foretell */
    int32_t run[GEODEC_RECALL_RUNS];     /* tokens */
    double distinct[GEODEC_RECALL_RUNS], distinct_low[GEODEC_RECALL_RUNS], distinct_high[GEODEC_RECALL_RUNS];
    double distinct_random[GEODEC_RECALL_RUNS];
    /* with a flow map (calibrated > 0 predictions); the last scale only with a mixture */
    int64_t calibrated;
    geodec_mixture mixture;                   /* a copy of the one used; all zero without */
    double *scale_predicted, *scale_used;     /* [SCALES][BINS] means; NULL without */
    int64_t *scale_count;                     /* [SCALES][BINS] */
    double scale_error[GEODEC_RECALL_SCALES]; /* mean |predicted - used| over predictions */
} geodec_recall;

/* Foretells every token of the recorder's windows but the first. map NULL: without the predictors that need one.
 * mixture NULL: not fitted.
 * GEODEC_SCARCE: fewer than two documents with positions; GEODEC_INVAL: the map is of another shape. */
geodec_status geodec_recall_measure(geodec_routes_recorder *r, const geodec_model_config *c,
                                    const geodec_history *history, const geodec_flowmap *map,
                                    const geodec_mixture *mixture, const geodec_recall_options *o,
                                    const geodec_hooks *hooks, geodec_recall *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_recall_clear(geodec_recall *r);
/* Fills a new artifact of geodec_foresight_kind; the caller commits. */
geodec_status geodec_recall_write(const geodec_recall *r, geodec_artifact *out, geodec_err *err) GEODEC_MUST_USE;
/* Reads the mixture alone, for geodec_foresight_create; clear with geodec_mixture_clear. GEODEC_NOTFOUND: measured
 * without one; GEODEC_INVAL: another number of layers; GEODEC_FORMAT: numbers out of range. */
geodec_status geodec_recall_read_mixture(const geodec_artifact *a, int64_t layers, geodec_mixture *out,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
