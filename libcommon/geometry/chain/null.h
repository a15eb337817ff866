/* The null cloud: later stages run on it give the results of data without structure. Kinds (linalg/surrogate.h):
 *
 *   gaussian  independent samples with the variances of the cloud (same spectrum, number of points, basis and integer
 *             dimension); every point is its own text
 *   phase     Fourier phases along the text are randomised, the same for all coordinates; the spectrum, the linear
 *             correlations along the text and the positions in the text are kept
 *   shuffle   each coordinate is permuted separately; every point is its own text
 *
 * Tokens and rows are kept, but have no meaning. The figures of the nested subsets are the Gaussian control of the
 * cloud. */
#ifndef GEODEC_CHAIN_NULL_H
#define GEODEC_CHAIN_NULL_H

#include "artifact/artifact.h"
#include "chain/cloud.h"
#include "linalg/surrogate.h"

#include <stdint.h>

/* Fills a new artifact of geodec_cloud_kind from an opened one; the caller commits. The result depends on (cloud, kind,
 * seed) alone; sample j of point i of the Gaussian cloud depends on (seed, i, j) alone. GEODEC_SCARCE: phase surrogates
 * of points of which none is followed by its successor in a text. */
geodec_status geodec_null_build(const geodec_artifact *cloud, geodec_surrogate kind, uint64_t seed,
                                geodec_artifact *out, geodec_err *err) GEODEC_MUST_USE;

#endif
