/* Parts of the PERSPECTIVE design that need no trained model, measured beside their controls: the parallel scan, the
 * recurrence, differences of ternary experts, the product of an expert, the memory, the polytope, the estimate of a
 * gradient, the start of an adapter. docs/manual/perspective.md has the sources; the claims are in
 * pipelines/lab/perspective-lab/claims.tsv. */
#ifndef GEODEC_LAB_PERSPECTIVE_PARTS_H
#define GEODEC_LAB_PERSPECTIVE_PARTS_H

#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_parts_row {
    char key[32];
    char quantity[96], compared[80]; /* compared: what the control is */
    double value, control;
} geodec_parts_row;
typedef struct geodec_parts {
    int64_t n, room;
    geodec_parts_row *row; /* [n] */
} geodec_parts;
void geodec_parts_free(geodec_parts *p);

typedef struct geodec_parts_options {
    uint64_t seed;
    bool quick; /* smaller sizes */
    geodec_pool *pool;
} geodec_parts_options;

typedef struct geodec_parts_kind {
    const char *name, *purpose;
    bool timed; /* values are times, and differ from run to run */
    geodec_status (*measure)(const geodec_parts_options *o, geodec_parts *out, geodec_err *err);
} geodec_parts_kind;
/* The table of the parts, ended by a row without a name. All but the timed ones give the same values with any number of
 * threads and on any machine with the same floating-point functions. */
const geodec_parts_kind *geodec_parts_kinds(void);
/* Adds the rows of one part. GEODEC_NOMEM and the errors of what is measured. */
geodec_status geodec_parts_measure(const geodec_parts_kind *kind, const geodec_parts_options *o, geodec_parts *out,
                                   geodec_err *err) GEODEC_MUST_USE;

/* ---- single measurements, for tests ------------------------------------------------------------------------------ */

/* A scan of n affine maps x -> g x + v, which gives all states of one channel. Combinations of two maps: `work` in
 * all, `depth` one after another. */
typedef struct geodec_parts_scan {
    int64_t work, depth;
    double error; /* largest difference from the steps, relative to the largest state */
} geodec_parts_scan;
/* doubling: every element combines with the one 2^k before it (Hillis and Steele 1986), n log2 n; else up and down a
 * tree (Blelloch 1990), 2 n. n is a power of 2, at least 2 (GEODEC_RANGE). */
geodec_status geodec_parts_scan_run(int64_t n, bool doubling, uint64_t seed, geodec_parts_scan *out,
                                    geodec_err *err) GEODEC_MUST_USE;

/* The dimension of the affine hull of n random points of R^d, and the share of the length of a random vector, from
 * their mean, that is orthogonal to it. n, d >= 2. */
geodec_status geodec_parts_hull(int64_t n, int64_t d, uint64_t seed, int64_t *dimension, double *outside,
                                geodec_err *err) GEODEC_MUST_USE;

#endif
