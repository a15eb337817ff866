/* The null cloud: what every later stage finds where there is nothing to find. Coordinates are independent Gaussian
 * draws with the variances of the given cloud (same spectrum, same number of points, same basis and integer dimension);
 * places in the text are taken away (every point is a sequence of its own). The ladder is the Gaussian control the
 * cloud already carries. */
#ifndef GEODEC_GEOMETRY_NULL_H
#define GEODEC_GEOMETRY_NULL_H

#include "geometry/cloud.h"
#include "io/artifact.h"

#include <stdint.h>

/* Fills a new artifact of geodec_kind_cloud from an opened one; the caller commits. Draw j of point i is a pure
 * function of (seed, i, j). */
GEODEC_API geodec_status geodec_null_build(const geodec_artifact *cloud, uint64_t seed, geodec_artifact *out,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
