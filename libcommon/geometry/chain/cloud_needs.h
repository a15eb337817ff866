/* What geodec_cloud_build needs. */
#ifndef GEODEC_CHAIN_CLOUD_NEEDS_H
#define GEODEC_CHAIN_CLOUD_NEEDS_H

#include "artifact/size.h"
#include "base/needs.h"
#include "chain/cloud.h"

/* Sizes that decide. rows: of the activations, in `layers` layers of width d; points: kept ones; k: components; sample:
 * points of TwoNN; half: float16 states. */
typedef struct geodec_cloud_sizes {
    int64_t rows, layers, d, points, k, sample;
    bool half;
    int64_t width; /* of the sketch; 0: covariance, or at most d points in memory */
} geodec_cloud_sizes;

/* Bytes that the stage allocates at most: the largest of its phases (digests of the rows; moments or sketches of three
 * subsets, twice; TwoNN with its sample; the spectrum of the control). */
double geodec_cloud_bytes(const geodec_cloud_sizes *z, int64_t control_points, int64_t threads);

/* Adds sizes, memory and times. Rows are read and hashed in part. The number of components is that of a sample of
 * at least 2048 rows, and duplicates are taken to be none. Neighbours are searched for in part: of the sample, and of
 * the control, which is made. Eigenproblems wider than 1024 are timed at 1024 and grow with the third power. part: the
 * stage stops after its share of the covariance (of `shares`); joined: the covariance is there already. *size: the
 * artifact of the whole stage. */
typedef struct geodec_cloud_part {
    bool part, joined;
    int64_t shares; /* 1: all */
} geodec_cloud_part;
geodec_status geodec_cloud_needs(const geodec_activations *states, const geodec_cloud_options *o,
                                 const geodec_cloud_part *part, double budget, geodec_pool *pool,
                                 const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                 geodec_err *err) GEODEC_MUST_USE;

#endif
