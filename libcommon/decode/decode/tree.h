/* Trees of drafts (SpecInfer, Medusa, EAGLE; SWARM of the manuscripts, corrected). For given probabilities, the best
 * tree of B drafts maximises the expected accepted length: the sum over its drafts of the product of the probabilities
 * along the path. Probabilities are at most 1, so it is optimal to add the draft with the most probable path next, and
 * every prefix of this order is the best tree of its size. */
#ifndef GEODEC_DECODE_TREE_H
#define GEODEC_DECODE_TREE_H

#include "decode/drafter.h"

enum { GEODEC_TREE_CHILDREN = 16 }; /* most children of one node */

/* Grows a tree of up to request->budget drafts from the drafter's children, with no path longer than request->gamma.
 * out [budget]: in order of falling path probability (ties: the one found first), parents before children. */
geodec_status geodec_tree_grow(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out, int32_t *n,
                               geodec_err *err) GEODEC_MUST_USE;

/* The most probable child of each node in turn: `propose` of a drafter whose chains are made from its children. */
geodec_status geodec_tree_chain(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out, int32_t *n,
                                geodec_err *err) GEODEC_MUST_USE;
/* Inserts x into out[0 .. n), which is sorted by falling confidence (ties: the lower token first). At most `most`
 * drafts are kept; the last is dropped when there is no room. Returns the new number. */
int32_t geodec_tree_insert(geodec_draft *out, int32_t n, int32_t most, const geodec_draft *x);

/* True when draft i, with this path probability, is not worth a row; the drafts after it are not either. */
bool geodec_tree_enough(const geodec_draft_request *request, int32_t i, double probability);
/* Compares drafts with the text that followed. reached [n]: the text has a token there and all drafts above are right.
 * right [n]: the draft is reached and equals that token. */
void geodec_tree_compare(const geodec_draft *draft, int32_t n, const int32_t *text, int64_t n_text, bool *reached,
                         bool *right);
/* Number of drafts above each draft: depth [n]. */
void geodec_tree_depths(const geodec_draft *draft, int32_t n, int32_t *depth);

#endif
