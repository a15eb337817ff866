/* The successor of each point of a cloud in its text: the state of the next token, in the cloud's coordinates. It need
 * not be a point of the cloud (duplicates and points left out by thinning are found too). */
#ifndef GEODEC_CHAIN_SUCCESSORS_H
#define GEODEC_CHAIN_SUCCESSORS_H

#include "chain/cloud.h"

typedef struct geodec_successors {
    int64_t points, k, known;      /* known: points that have a successor */
    uint8_t *has;                  /* [points] whether the text continues and its next row was kept */
    double *coordinate;            /* [points][k] coordinates of the next state; 0 where there is none */
    double rms_step;               /* sqrt of the mean squared distance to the next state, over the known points */
    int32_t *argmax;               /* [points] argmax at the point itself; NULL when the file has none */
    int64_t vocabulary;            /* width of the rows of logits; 0 when the file does not keep whole rows */
    const geodec_artifact *logits; /* borrowed: the activations, with /logits; and [points] the row of each point */
    int32_t *row;
} geodec_successors;

/* states: the activations from which the cloud was made, still open; rows, tokens and positions in the text are
 * compared. GEODEC_CHECKSUM when they differ, GEODEC_NOTFOUND (the cloud's layer), GEODEC_NUMERIC (not finite). */
geodec_status geodec_successors_read(const geodec_cloud *cloud, const geodec_activations *states, geodec_pool *pool,
                                     geodec_successors *out, geodec_err *err) GEODEC_MUST_USE;
/* log p of the model's distribution at point i, p = softmax of its logits: log_p [vocabulary]; row [vocabulary] is
 * scratch. From one thread at a time. GEODEC_NUMERIC when a logit is not finite. */
geodec_status geodec_successors_log_p(const geodec_successors *s, int64_t i, float *row, double *log_p,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_successors_clear(geodec_successors *s);

#endif
