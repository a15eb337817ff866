/* The null cloud: the results of later stages on it are those of data without structure. Kinds (linalg/surrogate.h):
 *
 *   gaussian  independent samples with the variances of the cloud (same spectrum, number of points, basis and integer
 *             dimension); every point is a text of its own
 *   phase     Fourier phases along the text are randomised, the same for all coordinates; the spectrum, the linear
 *             correlations along the text and the places in the text are kept
 *   shuffle   each coordinate is permuted on its own; every point is a text of its own
 *
 * Tokens and rows are kept, but mean nothing. The figures of the nested subsets are the Gaussian control of the
 * cloud. */
#ifndef GEODEC_CHAIN_NULL_H
#define GEODEC_CHAIN_NULL_H

#include "artifact/artifact.h"
#include "chain/cloud.h"
#include "linalg/surrogate.h"

#include <stdint.h>

/* Fills a new artifact of geodec_cloud_kind from an opened one; the caller commits. A function of (cloud, kind, seed);
 * sample j of point i of the gaussian one is a pure function of (seed, i, j). */
GEODEC_API geodec_status geodec_null_build(const geodec_artifact *cloud, geodec_surrogate kind, uint64_t seed,
                                           geodec_artifact *out, geodec_err *err) GEODEC_MUST_USE;

#endif
