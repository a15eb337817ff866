/* A mixture of drafters as one. Each part keeps a running score, the sum over the tokens that came of 2 p(x) - sum p^2
 * (Brier's, with p the chances it gave to its children), older tokens forgotten by and by. The children of a node are
 * those of all parts, with the mean of their chances; the weights of the parts that say something rise with their
 * scores, so that of two good parts both speak and of a good and a bad one the good. Siblings together never have more
 * than 1. Chains are the most probable path. */
#ifndef GEODEC_DRAFTERS_MIXTURE_DRAFTER_H
#define GEODEC_DRAFTERS_MIXTURE_DRAFTER_H

#include "decode/draft.h"

enum { GEODEC_MIXTURE_MAX = 8 };

/* part [n], 1 .. GEODEC_MIXTURE_MAX drafters that know children; weight [n] > 0: the
 * scores before anything is known are the logarithms of the weights. Takes the
 * parts over: they are destroyed with the mixture, and on an error. Sources: number of the part that named the draft
 * first. GEODEC_INVAL: a part of chains alone. */
GEODEC_API geodec_status geodec_mixture_drafter_create(const char *name, int32_t n, geodec_drafter *const *part,
                                                       const double *weight, geodec_drafter **out,
                                                       geodec_err *err) GEODEC_MUST_USE;

#endif
