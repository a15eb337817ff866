/* Predicts block summaries of one text from those of others. Real states x_0, x_1, .. x_B of texts, `stride` tokens
 * apart, represent the blocks. Those of a held-out text are predicted from its first two, x_0 and x_1 (position and
 * direction of the query), and from the blocks of anchors of other texts: with a the nearest anchor in the metric at
 * x_0
 *
 *     persistence   x_0                                          control: error 1 by definition
 *     mean          x_0 + mean over all anchors of (a_b - a_0)   control: the position alone
 *     centre        mean over all anchors of a_b                 control: no state of the query
 *     shuffled      x_0 + (s_b - s_0), s any anchor              control
 *     nearest       a_b + (x_0 - a_0)
 *     jacobi        a_b + Phi_b (x_0 - a_0), Phi of the geodesic from a_0 with velocity a_1 - a_0
 *     softmax       sum_i w_i (i_b + x_0 - i_0) over the `top` nearest, w ~ exp(-d_i^2 / 2 tau), tau the median d^2
 *     simplex       the same with weights that fit x_0 best: least squares over the simplex (linalg/simplex_ls.h)
 *     oracle        the same with weights that fit x_b itself: uses the answer, as the manuscript does
 *
 * Errors are |prediction - x_b| in the metric at x_b over the same length of x_b - x_0, sums over queries; intervals by
 * bootstrap over texts. */
#ifndef GEODEC_LAB_BLOCKS_BLOCKS_H
#define GEODEC_LAB_BLOCKS_BLOCKS_H

#include "artifact/artifact.h"
#include "lab/harness/split.h"
#include "linalg/stats.h"

typedef enum geodec_blocks_predictor {
    GEODEC_BLOCKS_PERSISTENCE,
    GEODEC_BLOCKS_MEAN,
    GEODEC_BLOCKS_SHUFFLED,
    GEODEC_BLOCKS_NEAREST,
    GEODEC_BLOCKS_JACOBI,
    GEODEC_BLOCKS_SOFTMAX,
    GEODEC_BLOCKS_SIMPLEX,
    GEODEC_BLOCKS_ORACLE,
    GEODEC_BLOCKS_CENTRE,
    GEODEC_BLOCKS_PREDICTORS
} geodec_blocks_predictor;
extern const char *const geodec_blocks_predictor_names[]; /* by number, then NULL */

enum { GEODEC_BLOCKS_MAX = 8 };
typedef struct geodec_blocks_options {
    int64_t blocks;     /* B; default 8 */
    int64_t stride;     /* tokens of a block; default 4 */
    int64_t anchors;    /* at most; default 400 */
    int64_t queries;    /* at most; default 400 */
    int64_t top;        /* anchors in a blend; default 8 */
    int64_t replicates; /* default 400 */
    uint64_t seed;
} geodec_blocks_options;
geodec_blocks_options geodec_blocks_defaults(void);

typedef struct geodec_blocks {
    int64_t anchors, queries, texts;                                    /* texts of the queries */
    geodec_estimate error[GEODEC_BLOCKS_PREDICTORS][GEODEC_BLOCKS_MAX]; /* block 1 .. B */
    double kkt;     /* largest violation of the conditions of the simplex's minimum */
    double weight;  /* mean largest weight of the simplex; 1 = a single anchor */
    int64_t broken; /* anchors whose geodesic broke down: Phi = I */
} geodec_blocks;

/* Paths of t that are held out (geodec_harness_split_held_out of `split`) are queries, the others anchors; every path
 * is cut into windows that do not overlap, of which a seeded choice is taken. GEODEC_SCARCE (too few windows),
 * GEODEC_NUMERIC, GEODEC_NOMEM, GEODEC_INTERRUPTED. */
geodec_status geodec_blocks_run(const geodec_space *s, const geodec_trajectories *t, const geodec_harness_split *split,
                                const geodec_blocks_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                geodec_blocks *out, geodec_err *err) GEODEC_MUST_USE;

extern const geodec_kind geodec_blocks_kind;
/* Fills a new artifact; the caller commits. split: what was held out (geodec_split_name). */
geodec_status geodec_blocks_write(const geodec_blocks *b, const geodec_blocks_options *o, const char *split,
                                  geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

#endif
