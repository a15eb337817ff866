/* The model once more in float64, written for clarity: the oracle of the fast forward pass, and the source of derivatives
 * (jvp, vjp) with respect to activations. Weights are decoded exactly. */
#ifndef GEODEC_REFERENCE_REFERENCE_H
#define GEODEC_REFERENCE_REFERENCE_H

#include "model/model.h"

#endif
