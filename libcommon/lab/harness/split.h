/* Common to experiments on trajectories: the trajectories, the points of the metric, and the held-out texts. */
#ifndef GEODEC_LAB_HARNESS_SPLIT_H
#define GEODEC_LAB_HARNESS_SPLIT_H

#include "geometry/rbf.h"

/* Trajectories in one chart. Path i is the states offset[i] .. offset[i+1]-1 of x, and belongs to text[i]. */
typedef struct geodec_trajectories {
    int64_t paths, n;
    const int64_t *offset; /* [paths + 1] rising from 0 */
    const int32_t *text;   /* [paths] */
    const double *x;       /* [offset[paths]][n] */
    bool places;           /* figures for each place k in a path apart (layers), or for all together (tokens) */
} geodec_trajectories;

/* The metric: the log-Euclidean field (rbf.h) through log_g at the sites. With `space`, that space instead; its
 * controls are then the fields through its matrices at the sites, permuted and rotated. */
typedef struct geodec_harness_sites {
    int64_t sites;
    const double *site;  /* [sites][n] */
    const double *log_g; /* [sites][n(n+1)/2] */
    const int32_t *text; /* [sites] as in trajectories, or NULL: then all sites make the field */
    double sigma;
    const geodec_space *space; /* NULL = the field */
    bool whole;                /* all sites count, whatever the options */
} geodec_harness_sites;

typedef struct geodec_harness_split {
    int64_t sites;   /* at most so many of the metric's points, a seeded choice; default 300 */
    double held_out; /* share of texts the figures are from; default 0.5 */
    uint64_t seed;
} geodec_harness_split;
GEODEC_API geodec_harness_split geodec_harness_split_defaults(void);

/* Whether a text is held out: a function of (seed, text). With held_out = 1/2 exactly one of the texts 2 j and 2 j + 1
 * is. */
GEODEC_API bool geodec_harness_split_held_out(const geodec_harness_split *s, int32_t text);
/* Whether a text is on that side; a row in a gap (GEODEC_SPLIT_NONE, base/split.h) is on neither. */
GEODEC_API bool geodec_harness_split_on(const geodec_harness_split *s, int32_t text, bool held_out);

#endif
