/* Trees of drafts (SpecInfer, Medusa, EAGLE; SWARM of the manuscripts, corrected). The best tree of B drafts for given
 * probabilities is the one that maximises the expected accepted length, the sum over its drafts of the product of the
 * probabilities along the path; as they are at most 1, taking the most probable path next is optimal, and every prefix
 * of the order in which drafts are taken is the best tree of its size. */
#ifndef GEODEC_DECODE_TREE_H
#define GEODEC_DECODE_TREE_H

#include "decode/drafter.h"

enum { GEODEC_TREE_CHILDREN = 16 }; /* of one node at most */

/* Grows the tree of request->budget drafts, no path longer than request->gamma, out of the drafter's children. out
 * [budget]: by falling probability of the path (ties: the one found first), parents before children. */
GEODEC_API geodec_status geodec_tree_grow(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out,
                                          int32_t *n, geodec_err *err) GEODEC_MUST_USE;

/* The most probable child of each node in turn: `propose` of a drafter that has its chains from its children. */
GEODEC_API geodec_status geodec_tree_chain(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out,
                                           int32_t *n, geodec_err *err) GEODEC_MUST_USE;
/* Inserts x into out[0 .. n), sorted by falling confidence (ties: the lower token first), at most `most`; the last one
 * is dropped when there is no room. Returns the new number. */
GEODEC_API int32_t geodec_tree_insert(geodec_draft *out, int32_t n, int32_t most, const geodec_draft *x);

/* Draft i, of this path probability, is not worth a row, nor are the drafts after it. */
GEODEC_API bool geodec_tree_enough(const geodec_draft_request *request, int32_t i, double probability);
/* Compares drafts with the text that followed: reached [n]: the text has a token there and all drafts above are right;
 * right [n]: it is reached and has that token. */
GEODEC_API void geodec_tree_compare(const geodec_draft *draft, int32_t n, const int32_t *text, int64_t n_text,
                                    bool *reached, bool *right);
/* Number of drafts above each one: depth [n]. */
GEODEC_API void geodec_tree_depths(const geodec_draft *draft, int32_t n, int32_t *depth);

#endif
