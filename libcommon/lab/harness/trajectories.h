/* Trajectories of a text in a chart, with points for a metric: the input of geodesicity.h, from an activations file.
 *
 * Two kinds of path: token by token at one layer, or layer by layer at one token (all kept layers, in one chart). The
 * chart is the first n principal directions of the states of training texts, and the metric's points are among these
 * states; no held-out text enters either. A given chart may have seen held-out texts. */
#ifndef GEODEC_LAB_HARNESS_TRAJECTORIES_H
#define GEODEC_LAB_HARNESS_TRAJECTORIES_H

#include "chain/activations.h"
#include "lab/harness/split.h"

typedef struct geodec_harness_chart_options {
    int64_t n;                         /* dimension; default 8 */
    int64_t points;                    /* for the metric, a seeded choice of training states; default 800 */
    int64_t index;                     /* kept layer of the file (0..L-1), token by token; -1 = layer by layer */
    int64_t paths;                     /* layer by layer: at most so many tokens, a seeded choice; default 4000 */
    const geodec_harness_split *split; /* which texts are held out */
    const double *basis, *mean;        /* [n][d] with orthonormal rows, [d]: this chart instead of the principal one */
} geodec_harness_chart_options;
geodec_harness_chart_options geodec_harness_chart_defaults(void);

/* All owned; geodec_harness_charted_clear frees it. */
typedef struct geodec_harness_charted {
    int64_t n, d;
    geodec_split split;    /* units of the texts: documents or blocks */
    double *basis, *mean;  /* [n][d], [d] */
    double explained;      /* share of the variance of the training states in the chart */
    double leading;        /* share of the first direction */
    int64_t *offset;       /* of t */
    int32_t *text;         /* of t */
    double *x;             /* of t */
    geodec_trajectories t; /* refers to the three above */
    int64_t points;
    double *point;        /* [points][n] */
    double *state;        /* [points][d] */
    int64_t *point_row;   /* [points] row of the activations, rising within a layer */
    int32_t *point_place; /* [points] kept layer, rising */
} geodec_harness_charted;

/* Texts are the units of geodec_activations_units: documents, or blocks with gaps. Paths are broken where positions are
 * not consecutive, and the first state of a text, which is the same in every text, is on none.
 * GEODEC_RANGE (n), GEODEC_SCARCE (the states fill fewer than n dimensions), GEODEC_NUMERIC, GEODEC_INTERRUPTED.
 * Memory: the chart's coordinates of all states, points d, d^2. */
geodec_status geodec_harness_charted_make(const geodec_activations *a, const geodec_harness_chart_options *o,
                                          geodec_pool *pool, const geodec_hooks *hooks, geodec_harness_charted *out,
                                          geodec_err *err) GEODEC_MUST_USE;
void geodec_harness_charted_clear(geodec_harness_charted *c);

#endif
