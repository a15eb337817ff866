/* The null cloud: what every later stage finds where there is nothing to find. One of three (linalg/surrogate.h):
 *
 *   gaussian  independent draws with the variances of the cloud (same spectrum, number of points, basis and integer
 *             dimension); every point is a text of its own
 *   phase     Fourier phases along the text randomised, the same for all coordinates: spectrum and linear correlations
 *             along the text stay, and so do the places in the text
 *   shuffle   each coordinate permuted on its own; every point is a text of its own
 *
 * Tokens and rows stay and mean nothing any more. The ladder is the Gaussian control the cloud already carries. */
#ifndef GEODEC_CHAIN_NULL_H
#define GEODEC_CHAIN_NULL_H

#include "artifact/artifact.h"
#include "chain/cloud.h"
#include "linalg/surrogate.h"

#include <stdint.h>

/* Fills a new artifact of geodec_cloud_kind from an opened one; the caller commits. A function of (cloud, kind, seed);
 * draw j of point i of the gaussian one is a pure function of (seed, i, j). */
GEODEC_API geodec_status geodec_null_build(const geodec_artifact *cloud, geodec_surrogate kind, uint64_t seed,
                                           geodec_artifact *out, geodec_err *err) GEODEC_MUST_USE;

#endif
