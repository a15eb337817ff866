/* What is expected after the next visit of a layer, for the policy map. */
#include "streaming/slots_internal.h"

/* Weight of earlier calls: a forecast of the tokens after the next one says something of the tokens after those, too.
 */
static const float EARLIER = 0.2F;

void geodec_slots_expect(geodec_slots *s, int32_t layer, int32_t n, const int32_t *expert, const float *share)
{
    if (layer < 0 || layer >= s->o.n_layer || !s->layer[layer].heap) return;
    geodec__slots_layer *const l = &s->layer[layer];
    if (n <= 0 && !l->expecting) return;
    if (s->o.observe)
        s->o.observe(s->o.observe_ctx,
                     &(geodec_slots_event){
                         .call = GEODEC_SLOTS_EXPECT, .layer = layer, .n = n, .expert = expert, .probability = share});
    l->expecting = n > 0;
    for (int32_t e = 0; e < s->o.n_expert; e++) {
        geodec__slots_key *const k = geodec__slots_at(s, layer, e);
        k->expected = n > 0 ? k->expected * EARLIER : 0;
    }
    for (int32_t i = 0; i < n; i++)
        if (expert[i] >= 0 && expert[i] < s->o.n_expert && share[i] > 0 && share[i] <= 1)
            geodec__slots_at(s, layer, expert[i])->expected += (1 - EARLIER) * share[i];
    for (int32_t e = 0; s->o.eviction == GEODEC_EVICTION_MAP && e < s->o.n_expert; e++) {
        const int32_t slot = geodec__slots_at(s, layer, e)->slot;
        if (slot >= 0 && s->slot[slot].place >= 0) geodec__slots_offer(s, slot);
    }
}
