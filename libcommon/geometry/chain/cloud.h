/* What the other folders use beyond geodec/cloud.h. */
#ifndef GEODEC_CHAIN_CLOUD_H
#define GEODEC_CHAIN_CLOUD_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "chain/activations.h"
#include "geodec/cloud.h"
#include "geometry/pca.h"
#include "geometry/twonn.h"

#include <stdbool.h>
#include <stdint.h>

extern const geodec_kind geodec_cloud_kind;

/* Keeps a seeded random choice of `count` points in their order (0, or more than the number of points: all). Basis,
 * mean and eigenvalues stay those of the whole. */
void geodec_cloud_thin(geodec_cloud *c, int64_t count, uint64_t seed);

/* Standard deviation of an error in one direction of the states, estimated from above: the root of the mean variance of
 * the directions that the K coordinates leave out; of the last direction if they leave out none. */
double geodec_cloud_noise(const geodec_cloud *c);

#endif
