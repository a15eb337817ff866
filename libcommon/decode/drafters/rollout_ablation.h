/* The variants of the rollout ablation, all fitted to the same texts: unigram, bigram, counts in nearest cells, n-gram,
 * and three velocities with three connections each. */
#ifndef GEODEC_DRAFTERS_ROLLOUT_ABLATION_H
#define GEODEC_DRAFTERS_ROLLOUT_ABLATION_H

#include "drafters/ablation.h"
#include "drafters/ngram_drafter.h"
#include "drafters/onedecode.h"
#include "drafters/rollout.h"

#include <stdio.h>

typedef struct geodec_rollout_ablation {
    geodec_counts unigram, bigram;
    geodec_onedecode cells;
    geodec_ngram *store;
    int32_t n;
    geodec_ablation_variant variant[GEODEC_ABLATION_MAX];
    bool rolls[GEODEC_ABLATION_MAX];
} geodec_rollout_ablation;

typedef struct geodec_rollout_ablation_options {
    int64_t cells; /* number of cells of the variant of nearest cells */
    double ridge;  /* ridge of its regression, in observations */
    uint64_t seed;
} geodec_rollout_ablation_options;

/* Reads rows of a model's readout, for geodec_rollout_bake; ctx: the geodec_model. */
geodec_status geodec_rollout_ablation_readout(void *ctx, int64_t first, int64_t count, float *w,
                                              geodec_err *err) GEODEC_MUST_USE;
/* Creates the drafters of *l, which must be all zero; the caller also clears it on failure. The drafters borrow r. */
geodec_status geodec_rollout_ablation_fill(geodec_rollout_ablation *l, const geodec_activations *a,
                                           const geodec_rollout *r, const geodec_step_rows *rows,
                                           const geodec_rollout_options *o, const geodec_rollout_ablation_options *q,
                                           geodec_pool *pool, const geodec_hooks *hooks,
                                           geodec_err *err) GEODEC_MUST_USE;
/* Share of the steps so far that used the straight line because the geodesic diverged: broken [l->n]. */
void geodec_rollout_ablation_broken(const geodec_rollout_ablation *l, double *broken);
/* Fills a new artifact of geodec_rollout_kind with the input of the drafters and n variants; the caller commits. broken
 * [n]: share of a variant's steps whose geodesic diverged. */
geodec_status geodec_rollout_ablation_write(const geodec_rollout *r, const geodec_ablation_variant *variant,
                                            const geodec_ablation_figures *f, const double *broken, int32_t n,
                                            geodec_artifact *out, geodec_err *err) GEODEC_MUST_USE;
/* Prints a table of the figures [l->n]. */
void geodec_rollout_ablation_print(FILE *out, const geodec_rollout_ablation *l, const geodec_ablation_figures *f,
                                   const double *broken);
void geodec_rollout_ablation_clear(geodec_rollout_ablation *l); /* all zero is allowed */

#endif
