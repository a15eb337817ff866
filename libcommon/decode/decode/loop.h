/* What the other folders use beyond geodec/decode.h. */
#ifndef GEODEC_DECODE_LOOP_H
#define GEODEC_DECODE_LOOP_H

#include "base/err.h"
#include "base/hooks.h"
#include "decode/adapt.h"
#include "decode/drafter.h"
#include "decode/penalty.h"
#include "decode/sampler.h"
#include "geodec/decode.h"

#include <stdbool.h>
#include <stdint.h>

const char *geodec_decode_end_name(geodec_end e); /* "length", ... */

/* sum += c. */
void geodec_decode_counters_add(geodec_decode_counters *sum, const geodec_decode_counters *c);
/* Mean number of accepted drafts of a round. */
double geodec_decode_mean_accepted(const geodec_decode_counters *c);

#endif
