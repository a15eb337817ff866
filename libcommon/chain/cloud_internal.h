/* Internal: sizes of the cloud's passes. */
#ifndef GEODEC_CHAIN_CLOUD_INTERNAL_H
#define GEODEC_CHAIN_CLOUD_INTERNAL_H

#include "chain/cloud.h"

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

/* A Gaussian cloud with standard deviations sqrt(eigenvalue[j]): x [n][d]. */
void geodec__cloud_gaussian(int64_t n, int64_t d, const double *eigenvalue, uint64_t seed, uint64_t stream, double *x);
/* The widest sketch for states of width d; 0: none. */
int64_t geodec__cloud_widest(const geodec_cloud_options *o, int64_t d);

#endif
