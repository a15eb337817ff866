/* Foresight: the probability that the next token uses each expert, from a flow map with routes (flowmap/route.h),
 * before the token's pass begins; and, during the pass, together with what a router says of an earlier stream.
 *
 * The text is followed as by a drafter: each row that stays in the text is observed, in order. Questions about a token
 * do not change anything, so several drafts may be asked about after the same row. */
#ifndef GEODEC_FORESIGHT_FORESIGHT_H
#define GEODEC_FORESIGHT_FORESIGHT_H

#include "flowmap/map.h"
#include "foresight/mixture.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_foresight geodec_foresight;

/* The map is borrowed; it must have routes (GEODEC_UNSUPPORTED). mixture: borrowed, NULL = none was fitted. One thread
 * at a time. */
geodec_status geodec_foresight_create(const geodec_flowmap *map, const geodec_mixture *mixture, geodec_foresight **out,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_foresight_destroy(geodec_foresight *f);

/* A new text: no state is known. */
void geodec_foresight_begin(geodec_foresight *f);
/* The text has one row more: its token and its last residual stream [d]. */
void geodec_foresight_observe(geodec_foresight *f, int32_t token, const float *state);

/* P(used) [layers][experts] of `token` as the token after the observed rows. with_state false, or no row observed: by
 * the token table. token -1, or none of the map's: by popularity. */
void geodec_foresight_ask(geodec_foresight *f, int32_t token, bool with_state, float *probability);
/* The token after `token`, which is not known: shares that sum to the used experts, not calibrated. */
void geodec_foresight_further(geodec_foresight *f, int32_t token, float *share);
/* The experts [layers][used] of the row that is observed next: kept, so that what followed a token in this run helps to
 * foretell what follows it again. Earlier texts of the run are kept, too. */
void geodec_foresight_remember(geodec_foresight *f, int32_t token, const int32_t *expert);
/* The tokens after `token`, the next ones most: mean uses of a token, [layers][experts], not calibrated. By the nodes
 * that follow the nearest ones in their texts (geodec_flowmap_route_beyond), and by what was remembered. */
void geodec_foresight_expect(geodec_foresight *f, int32_t token, float *share);
/* One layer: probabilities [experts] from those of geodec_foresight_ask (early) and the logits of the layer's router at
 * an earlier stream (session/router.h), by the mixture. out may be early. */
void geodec_foresight_mix(const geodec_foresight *f, geodec_routes_stream stream, int64_t layer, const float *early,
                          const float *logit, float *out);

#endif
