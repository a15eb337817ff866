/* Follows one text on the flow map: reads the rows that a model has computed and proposes the next tokens.
 *
 * The text's own earlier positions are also nodes, with keys in the same charts; they contribute its names and phrases.
 * Neighbours, from the text and from the map, vote by weight on the next token. Those that voted for a draft move to
 * their successors and vote on the token after it. If few are left, the bucket of the draft is searched again, at the
 * weighted mean key of its neighbours (a local linear prediction of the text's own key). The raw score of a draft is
 * the weight of its votes over all positive weight, times the square root of the mean agreement of its neighbours (node
 * `agreement`). Its confidence is the map's reliability at that score.
 *
 * sampled: the text is sampled from the model's distribution. A stored neighbour then distributes its weight by the
 * model's probabilities after it, and agreement is not used: the confidence is the share of the weight. Where no
 * probabilities are stored, and in the current text, half of a neighbour's weight goes to the token that follows it in
 * its own text, which was also sampled, and the confidence is the score. */
#ifndef GEODEC_FLOWMAP_TRACK_H
#define GEODEC_FLOWMAP_TRACK_H

#include "flowmap/library.h"
#include "flowmap/map.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_flowmap_track geodec_flowmap_track;

typedef struct geodec_flow_draft {
    int32_t token;
    bool own;          /* most of its weight comes from the text itself */
    bool grown;        /* most of it comes from the growing library */
    double score;      /* raw, 0..1 */
    double confidence; /* calibrated P(accepted | the drafts before it were accepted) */
} geodec_flow_draft;

/* The map is borrowed. */
geodec_status geodec_flowmap_track_create(const geodec_flowmap *map, geodec_flowmap_track **out,
                                          geodec_err *err) GEODEC_MUST_USE;
void geodec_flowmap_track_destroy(geodec_flowmap_track *t);
/* Adds a library that grows with the followed texts and votes: its records are neighbours like the text's own
 * positions. A miss is a row whose argmax is known and differs from the combined first choice of map, library and text.
 * It is recorded with its continuation, the rows after it that the library does not hold yet (up to 8). A record is
 * made when the next row arrives, with the token that followed and its successor: the next row's record, otherwise its
 * nearest node or record with the model's argmax, otherwise the nearest one. Which rows are recorded depends on the
 * texts alone, not on the drafts. Records of the current text vote from the next text on. The library is borrowed and
 * must outlive t. */
void geodec_flowmap_track_grow(geodec_flowmap_track *t, geodec_flowmap_library *library);
/* Ends the text: makes the record of the last row, without a successor. begin also does this. */
geodec_status geodec_flowmap_track_end(geodec_flowmap_track *t, geodec_err *err) GEODEC_MUST_USE;
/* Starts a new text. */
geodec_status geodec_flowmap_track_begin(geodec_flowmap_track *t, geodec_err *err) GEODEC_MUST_USE;
/* The next row of the text: its token, the model's argmax after it (-1: not known; the next token replaces it) and its
 * last residual stream state [d]. GEODEC_RANGE: token or argmax outside the map's vocabulary. */
geodec_status geodec_flowmap_track_push(geodec_flowmap_track *t, int32_t token, int32_t argmax, const float *state,
                                        geodec_err *err) GEODEC_MUST_USE;
/* As geodec_flowmap_track_push, with the reduced state z [m]. */
geodec_status geodec_flowmap_track_push_reduced(geodec_flowmap_track *t, int32_t token, int32_t argmax, const float *z,
                                                geodec_err *err) GEODEC_MUST_USE;
/* Drafts after `newest`, the token that follows the rows pushed so far, as a tree. root finds the neighbours of
 * `newest` (node 0); false if there are none, as before the first row. skip: text of the map to leave out, -1 = none.
 * children writes up to `most` drafts after a node, by descending confidence, and returns their number. forbid(ctx, i,
 * token) true: token must not be a draft at depth i; NULL = all allowed. adopt makes the next node (1, 2, .. up to
 * GEODEC_FLOW_NODES) from the parent's neighbours for `token`; the node may have none. */
enum { GEODEC_FLOW_NODES = 64 };
bool geodec_flowmap_track_root(geodec_flowmap_track *t, int32_t newest, int32_t skip, bool sampled);
int32_t geodec_flowmap_track_children(geodec_flowmap_track *t, int32_t node, int32_t most,
                                      bool (*forbid)(void *ctx, int32_t i, int32_t token), void *ctx,
                                      geodec_flow_draft *out);
void geodec_flowmap_track_adopt(geodec_flowmap_track *t, int32_t parent, int32_t token);

#endif
