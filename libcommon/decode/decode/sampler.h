/* What the other folders use beyond geodec/sampler.h. */
#ifndef GEODEC_DECODE_SAMPLER_H
#define GEODEC_DECODE_SAMPLER_H

#include "base/err.h"
#include "geodec/sampler.h"

#include <stdbool.h>
#include <stdint.h>

const geodec_sampling *geodec_sampler_options(const geodec_sampler *s);

/* The uniform number in [0,1) of output index `index` of a request. */
double geodec_sampler_uniform(uint64_t seed, int64_t index);

#endif
