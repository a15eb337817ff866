/* The residual stream by depth: lengths of the stream after each layer and of what attention and feed-forward add to
 * it, and the exponent of their growth.
 *
 * A text is read in windows without overlap (as geodec_perplexity_options with stride 0), with BOS first if the
 * tokenizer has one. All tokens count but a window's first, which often is an outlier by orders of magnitude. Lengths
 * are Euclidean, means over tokens. Standard errors take windows as independent.
 *
 * The exponent g of |x_l| ~ l^g is the slope of log mean |x_l| on log l, l = 1 .. L; its interval is a 95 % percentile
 * bootstrap over windows, which leaves out the scatter about the line; scatter_se has it. Orthogonal updates of one
 * length give g = 1/2, parallel ones g = 1. `independent` is the control without equal lengths: sqrt(E|x_0|^2 + sum of
 * E|update|^2), the stream's root mean square length if updates were orthogonal. */
#ifndef GEODEC_EVALUATE_RESIDUAL_H
#define GEODEC_EVALUATE_RESIDUAL_H

#include "base/hooks.h"
#include "base/pool.h"
#include "evaluate/scorer.h"
#include "linalg/stats.h"

#include <stddef.h>
#include <stdio.h>

typedef enum geodec_residual_what {
    GEODEC_RESIDUAL_STATE,
    GEODEC_RESIDUAL_ATTENTION,
    GEODEC_RESIDUAL_FEED
} geodec_residual_what;
enum { GEODEC_RESIDUALS = 3 };
const char *geodec_residual_name(geodec_residual_what w); /* "state", "attention", "feed" */

typedef struct geodec_residual_options {
    int32_t window;      /* tokens, BOS included; >= 2 */
    int64_t max_windows; /* 0 = all */
    int64_t replicates;  /* replicates of the bootstrap */
    uint64_t seed;
} geodec_residual_options;

typedef struct geodec_residual_layer {
    double mean[GEODEC_RESIDUALS], se[GEODEC_RESIDUALS]; /* updates: of layer l, 1 .. L; NaN for l = 0 */
    double rms;                                          /* sqrt E|x_l|^2 */
    double independent;
} geodec_residual_layer;

typedef struct geodec_residual_fit {
    geodec_estimate exponent; /* NaN with fewer than 3 layers that have the half */
    double scatter_se, r2;
} geodec_residual_fit;

typedef struct geodec_residual_profile {
    int32_t n_layer; /* L */
    int64_t windows, tokens;
    geodec_residual_layer *layer; /* [L + 1] */
    geodec_residual_fit fit[GEODEC_RESIDUALS];
} geodec_residual_profile;
void geodec_residual_free(geodec_residual_profile *p);

/* e: exact or fast arithmetic; with attnres the stream as the norms read it. The same bytes for any pool. GEODEC_RANGE
 * (options), GEODEC_UNSUPPORTED (float64), GEODEC_FORMAT (empty, not UTF-8), GEODEC_SCARCE, GEODEC_NUMERIC,
 * GEODEC_NOMEM. */
geodec_status geodec_residual_run(const geodec_scorer_evaluation *e, const geodec_residual_options *o, const char *text,
                                  size_t n, geodec_pool *pool, const geodec_hooks *hooks, geodec_residual_profile *out,
                                  geodec_err *err) GEODEC_MUST_USE;

/* Tables: a row a layer; the exponents of growth. */
geodec_status geodec_residual_layers_table(FILE *out, const geodec_model *m, const geodec_residual_profile *p,
                                           geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_residual_fits_table(const char *path, const geodec_model *m, const geodec_residual_profile *p,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
