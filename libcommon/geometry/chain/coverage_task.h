/* Coverage by the task: a held-out state is covered when the cache's prediction for it is right.
 *
 * Splits, metric and g-nearest cached point are those of coverage.h, over the points whose next state is known.
 * Predictions of the next state of a held-out x with the nearest cached y, whose next state is y':
 *
 *   transport  y' + (x - y): the cached successor moved by the difference
 *   copy       y'
 *   identity   x itself: the control that needs no cache
 *   step       x + (r' - r) of a random cached r: the control of transport
 *   random     r' of a random cached r: the control of copy
 *
 * Errors are distances to the true next state over all coordinates, in units of the rms step. The model's argmax at x
 * is compared with that at the nearest cached state, at a random cached one, and with the most frequent one of the
 * cache. If the file has whole rows of logits, the distributions are also compared: KL(p_x || q) in nats, where q is
 * the distribution at the nearest cached state, at the random one, or the mean over up to 256 cached states.
 *
 * Dimensions: S shares, 5 predictions, T tolerances, K divergences. */
#ifndef GEODEC_CHAIN_COVERAGE_TASK_H
#define GEODEC_CHAIN_COVERAGE_TASK_H

#include "base/hooks.h"
#include "chain/cloud.h"
#include "chain/coverage.h"
#include "chain/successors.h"

enum { GEODEC_TASK_PREDICTIONS = 5, GEODEC_TASK_TOKENS = 3, GEODEC_TASK_TOLERANCES = 7, GEODEC_TASK_NATS = 6 };

typedef struct geodec_coverage_task {
    int64_t shares, known, n, k;              /* known: points with a next state; k: neighbours of the metric */
    double tolerance[GEODEC_TASK_TOLERANCES]; /* rms steps */
    double *share;                            /* [S]; owns the memory of the arrays below */
    double *error;                            /* [S][5] mean, rms steps */
    double *hit;                              /* [S][5][T] share of held-out states within the tolerance */
    bool has_token;
    double *token; /* [S][3] share of equal tokens: nearest, random, most frequent */
    bool has_kl;
    double nats[GEODEC_TASK_NATS]; /* tolerances of the divergence */
    double *kl;                    /* [S][3] mean KL(p_x || q), nats: nearest, random, mean of the cache */
    double *kl_hit;                /* [S][3][K] share of held-out states within the tolerance */
} geodec_coverage_task;

/* x [points][n]: the first coordinates, in which the metric is given; next: all coordinates [points][k] of states
 * (state [points][k]) and their successors. The options shares, repeats, queries, metric, seed and sweep apply (a slice
 * is not summarised). GEODEC_SCARCE when a cache would be too small for a metric, or fewer than 8 next states are
 * known. */
geodec_status geodec_coverage_task_run(int64_t points, int64_t n, const double *x, const double *state,
                                       const geodec_successors *next, const geodec_coverage_options *o,
                                       geodec_pool *pool, const geodec_hooks *hooks, geodec_coverage_task *out,
                                       geodec_err *err) GEODEC_MUST_USE;
void geodec_coverage_task_clear(geodec_coverage_task *t);
/* Adds its fields to a coverage artifact with the same shares, after geodec_artifact_save. */
geodec_status geodec_coverage_task_write(const geodec_coverage_task *t, geodec_artifact *a,
                                         geodec_err *err) GEODEC_MUST_USE;

/* As geodec_coverage_task_run, from the activations from which the cloud was made. */
geodec_status geodec_coverage_task_states(const geodec_cloud *cloud, int64_t n, const double *x,
                                          const geodec_artifact *states, const geodec_coverage_options *o,
                                          geodec_pool *pool, const geodec_hooks *hooks, geodec_coverage_task *t,
                                          geodec_err *err) GEODEC_MUST_USE;

/* Logs a summary of the figures. */
void geodec_coverage_task_say(const geodec_hooks *hooks, const geodec_coverage_task *t);

#endif
