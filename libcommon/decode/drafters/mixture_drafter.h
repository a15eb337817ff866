/* A mixture of drafters, used as one drafter. Each part has a running score: the sum over emitted tokens of 2 p(x) -
 * sum p^2 (Brier 1950), with p the probabilities of its children; older tokens count less. The children of a node are
 * those of all parts, with the weighted mean of their probabilities. The weights of the proposing parts rise with their
 * scores: two good parts both contribute, while a bad part contributes little next to a good one. The probabilities of
 * siblings sum to at most 1. A chain is the most probable path. */
#ifndef GEODEC_DRAFTERS_MIXTURE_DRAFTER_H
#define GEODEC_DRAFTERS_MIXTURE_DRAFTER_H

#include "decode/drafter.h"

enum { GEODEC_MIXTURE_MAX = 8 };

/* part [n], 1 .. GEODEC_MIXTURE_MAX drafters with `children`; weight [n] > 0: initial scores are their logarithms.
 * Takes ownership of the parts: they are destroyed with the mixture, or on an error. Source of a draft: the number of
 * the first part that proposed it. GEODEC_INVAL: a part can only make chains. */
geodec_status geodec_mixture_drafter_create(const char *name, int32_t n, geodec_drafter *const *part,
                                            const double *weight, geodec_drafter **out,
                                            geodec_err *err) GEODEC_MUST_USE;

#endif
