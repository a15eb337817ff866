/* A mixture of drafters as one: the children of a node are those of all parts, and the chance of a token is the
 * weighted mean of what the parts give it. A part with nothing to say about a node leaves its weight to the others.
 * Chains are the most probable path. */
#ifndef GEODEC_DECODE_DRAFT_MIXTURE_H
#define GEODEC_DECODE_DRAFT_MIXTURE_H

#include "decode/draft.h"

enum { GEODEC_MIXTURE_MAX = 8 };

/* part [n], 1 .. GEODEC_MIXTURE_MAX drafters that know children; weight [n] > 0. Takes the parts over: they are
 * destroyed with the mixture, and on an error. Sources: number of the part that gives a draft most of its chance.
 * GEODEC_INVAL: a part of chains alone. */
GEODEC_API geodec_status geodec_mixture_drafter_create(const char *name, int32_t n, geodec_drafter *const *part,
                                                       const double *weight, geodec_drafter **out,
                                                       geodec_err *err) GEODEC_MUST_USE;

#endif
