/* The published rule for the length of drafts (geodesic speculative decoding, 2026), for comparison with
 * decode/adapt.h. Every 4 rounds it computes the share of accepted drafts among those sent:
 *
 *     above 0.70      one draft more, up to the first length
 *     0.40 to 0.70    the same number
 *     below 0.40      one draft less; no drafts when none was accepted
 *
 * Without drafts it sends a probe of one draft in every GEODEC_LENGTHS_PUBLISHED_PROBE rounds (the manuscript:
 * "rarely"); an accepted probe sets the length to one. A published batch of b corresponds to b - 1 drafts here: its
 * slot 0 was the verifier's own argmax, which is not a draft and cannot be rejected. The rule uses outcomes, not costs,
 * so the lengths are a function of the text. */
#ifndef GEODEC_LAB_PUBLISHED_LENGTHS_H
#define GEODEC_LAB_PUBLISHED_LENGTHS_H

#include "geodec/err.h"

#include <stdint.h>

enum { GEODEC_LENGTHS_PUBLISHED_ROUNDS = 4, GEODEC_LENGTHS_PUBLISHED_PROBE = 64 };

typedef struct geodec_lengths_published {
    int32_t most, now;                 /* drafts */
    int64_t rounds, drafted, accepted; /* since the last decision; rounds without drafts while now is 0 */
} geodec_lengths_published;

/* most: the initial length and the upper limit, 0 .. GEODEC_DRAFT_MAX. */
geodec_lengths_published geodec_lengths_published_start(int32_t most);
/* Number of drafts in the next round, at most `room`. */
int32_t geodec_lengths_published_ask(geodec_lengths_published *g, int32_t room);
/* Ends a round that sent `sent` drafts, of which `accepted` were accepted. */
void geodec_lengths_published_settle(geodec_lengths_published *g, int32_t sent, int32_t accepted);

#endif
