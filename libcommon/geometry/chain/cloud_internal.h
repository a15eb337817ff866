/* Internal: sizes of the cloud's passes. */
#ifndef GEODEC_CHAIN_CLOUD_INTERNAL_H
#define GEODEC_CHAIN_CLOUD_INTERNAL_H

#include "chain/cloud.h"
#include "geometry/theiler.h"

/* SLAB: rows read at once. DIGEST: hex digits of a state's digest that are compared (128 bits: collisions are
 * negligible). BLOCKS: of the points, summed in order. FIRST_WIDTH: of a sketch, doubled until it suffices. AUTO_D: the
 * least width of states whose components come from a sketch. */
enum {
    GEODEC__CLOUD_SLAB = 1024,
    GEODEC__CLOUD_DIGEST = 32,
    GEODEC__CLOUD_BLOCKS = 16,
    GEODEC__CLOUD_FIRST_WIDTH = 64,
    GEODEC__CLOUD_AUTO_D = 2048
};

typedef struct geodec__cloud_digest {
    char hex[GEODEC__CLOUD_DIGEST];
    int32_t row;
} geodec__cloud_digest;
/* For qsort: by digits, then rows. */
int geodec__cloud_by_digest(const void *pa, const void *pb);

/* A run of geodec_cloud_build. */
typedef struct geodec__cloud_run {
    const geodec_activations *in;
    const geodec_cloud_options *o;
    geodec_pool *pool;
    const geodec_hooks *hooks;
    int64_t index; /* of the layer in the file */
    int64_t d, rows, duplicates, points;
    double *row_mean;     /* [d] of all rows: origin of the moments */
    int64_t extreme;      /* different states of extreme norm (cloud.h) */
    double extreme_share; /* of the squared norms of all different states */
    double extreme_norm;  /* the largest norm over the median */
    bool dropped;         /* they were left out */
    int32_t *row;         /* [points] kept rows, ascending */
    int32_t *rank;        /* [points] rank in a random order: the first N/4 are the first subset, ... */
    int64_t size[GEODEC_CLOUD_SUBSETS];
    geodec_theiler_parts parts; /* of the points of TwoNN, by rank */
    float *slab;
    double *wide; /* [SLAB][d] */
    void *scratch;
} geodec__cloud_run;

/* cloud_rows.c: reads every row, and sets row_mean, duplicates, the extreme rows, row, rank, points and size. Rank 0 of
 * a job reads, and the others take its choice. */
geodec_status geodec__cloud_rows(geodec__cloud_run *b, geodec_err *err) GEODEC_MUST_USE;
/* Sizes of the nested subsets. */
void geodec__cloud_sizes(geodec__cloud_run *b);
/* Random order of 0..n-1 (Fisher and Yates). */
void geodec__cloud_shuffle(int64_t n, int32_t *order, uint64_t seed, uint64_t stream);

/* cloud_dimension.c: the window in time, for the points of TwoNN by rank, x [n][d] and their texts and positions; sets
 * parts, and the window's members of s. */
geodec_status geodec__cloud_window(geodec__cloud_run *b, int64_t n, int64_t d, const double *x, const int32_t *text,
                                   const int32_t *position, geodec_cloud_summary *s, geodec_err *err) GEODEC_MUST_USE;
/* TwoNN of the first min(size, twonn_points) rows of x [..][d] of every subset, plain and with neighbours in time left
 * out: twonn and theiler of subset[t], or kept and theiler_kept. Where it cannot be measured (GEODEC_SCARCE: ties, too
 * few points), its numbers are NaN and the counts stand. */
geodec_status geodec__cloud_twonn(const geodec__cloud_run *b, int64_t d, const double *x, const char *stream, bool kept,
                                  geodec_cloud_subset subset[GEODEC_CLOUD_SUBSETS], geodec_err *err) GEODEC_MUST_USE;
/* The control: a Gaussian cloud with all eigenvalues of pca, in the space that was given and in its K components. */
geodec_status geodec__cloud_control(const geodec__cloud_run *b, const geodec_pca *pca,
                                    geodec_cloud_subset subset[GEODEC_CLOUD_SUBSETS], geodec_err *err) GEODEC_MUST_USE;
/* Adds to s->doubt whether the dimension has too few points. */
void geodec__cloud_doubt(geodec_cloud_summary *s);

/* A Gaussian cloud with standard deviations sqrt(eigenvalue[j]): x [n][d]. */
void geodec__cloud_gaussian(int64_t n, int64_t d, const double *eigenvalue, uint64_t seed, uint64_t stream, double *x);
/* The widest sketch for states of width d; 0: none. */
int64_t geodec__cloud_widest(const geodec_cloud_options *o, int64_t d);

#endif
