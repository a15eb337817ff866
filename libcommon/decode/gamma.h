/* Adaptive draft length. Every source of a drafter keeps an exponential moving average (decay 0.9) of its acceptance,
 * and of the confidence it claimed; a draft's chance is its confidence corrected by their ratio. Before drafting, the
 * length asked for maximises E(alpha, gamma) / (gamma c + v(gamma+1) + o) with the best source's average; after
 * drafting, the prefix sent to the target maximises the same with the chances of the actual drafts. 0 is allowed; after
 * `probe_every` rounds without a draft one draft is sent anyway, so that a change of the text is noticed.
 *
 * The choice may depend on measured times; the text does not depend on the choice. */
#ifndef GEODEC_DECODE_GAMMA_H
#define GEODEC_DECODE_GAMMA_H

#include "decode/draft.h"
#include "decode/predict.h"

#include <stdint.h>

typedef struct geodec_gamma {
    int32_t max;         /* 1 .. GEODEC_DRAFT_MAX */
    int32_t probe_every; /* >= 1 */
    geodec_cost cost;
    int32_t idle;                              /* rounds since the last draft */
    int32_t asked;                             /* drafts asked for last */
    double gain;                               /* moving average of what asking brought, in tokens a round */
    double accepted[GEODEC_DRAFT_SOURCES_MAX]; /* moving averages over the examined drafts of a source */
    double claimed[GEODEC_DRAFT_SOURCES_MAX];
    int64_t seen[GEODEC_DRAFT_SOURCES_MAX]; /* drafts examined */
} geodec_gamma;

GEODEC_API void geodec_gamma_init(geodec_gamma *g, int32_t max, const geodec_cost *cost);
/* Drafts to ask for in this round, at most `room`. */
GEODEC_API int32_t geodec_gamma_ask(geodec_gamma *g, int32_t room);
/* How many of the n drafts to send; of a tree, the best prefix of its order. */
GEODEC_API int32_t geodec_gamma_send(geodec_gamma *g, const geodec_draft *draft, int32_t n);
/* After the walk: draft was examined with this outcome. */
GEODEC_API void geodec_gamma_learn(geodec_gamma *g, const geodec_draft *draft, int accepted);

#endif
