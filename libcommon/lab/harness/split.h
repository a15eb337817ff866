/* Common to experiments on trajectories: the trajectories, the points of the metric, the held-out texts, the starts of
 * predictions, and ratios of sums by text. */
#ifndef GEODEC_LAB_HARNESS_SPLIT_H
#define GEODEC_LAB_HARNESS_SPLIT_H

#include "base/rng.h"
#include "geometry/rbf.h"
#include "linalg/stats.h"

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
geodec_harness_split geodec_harness_split_defaults(void);

/* Whether a text is held out: a function of (seed, text). With held_out = 1/2 exactly one of the texts 2 j and 2 j + 1
 * is. */
bool geodec_harness_split_held_out(const geodec_harness_split *s, int32_t text);
/* Whether a text is on that side; a row in a gap (GEODEC_SPLIT_NONE, base/split.h) is on neither. */
bool geodec_harness_split_on(const geodec_harness_split *s, int32_t text, bool held_out);

/* Keeps a random choice of `keep` of the list's values, in their order; keep <= 0: all. */
void geodec_harness_thin(int64_t *list, int64_t *count, int64_t keep, geodec_rng r);

/* Start of a prediction along a trajectory: a state with one before it and at least one after it. */
typedef struct geodec__harness_starts_row {
    int64_t row, end; /* of x; the path's end */
    int32_t text;
} geodec__harness_starts_row;
/* Starts of a place (-1: all) in one part of the texts, in order: *out [*count] in new memory. */
geodec_status geodec__harness_starts_gather(const geodec_trajectories *t, const geodec_harness_split *o, int64_t place,
                                            bool held_out, int64_t *count, geodec__harness_starts_row **out,
                                            geodec_err *err) GEODEC_MUST_USE;
/* Keeps a random choice of the starts, in their order; keep <= 0: all. */
void geodec__harness_starts_choose(geodec__harness_starts_row *s, int64_t *count, int64_t keep, uint64_t seed,
                                   int64_t number);

/* Sums of a numerator and a denominator by text, for their ratio with its bootstrap interval over texts. The items of a
 * text are added one after another. All zero before. */
typedef struct geodec_harness_text_sums {
    int64_t texts, counted; /* so far; items */
    int32_t text;           /* the last one */
    double *a, *b;          /* [items] */
} geodec_harness_text_sums;
geodec_status geodec_harness_text_sums_reserve(geodec_harness_text_sums *s, int64_t items,
                                               geodec_err *err) GEODEC_MUST_USE;
void geodec_harness_text_sums_add(geodec_harness_text_sums *s, int32_t text, double a, double b);
/* The ratio (0 without items) and, where counted is not NULL, the number of items; then the sums are empty again. */
geodec_status geodec_harness_text_sums_ratio(geodec_harness_text_sums *s, int64_t replicates, uint64_t seed,
                                             uint64_t stream, geodec_estimate *out, int64_t *counted,
                                             geodec_err *err) GEODEC_MUST_USE;
void geodec_harness_text_sums_clear(geodec_harness_text_sums *s);

#endif
