/* What the other folders use beyond geodec/drafter.h. */
#ifndef GEODEC_DECODE_DRAFTER_H
#define GEODEC_DECODE_DRAFTER_H

#include "base/err.h"
#include "decode/guard.h"
#include "decode/sampler.h"
#include "geodec/drafter.h"

#include <stdbool.h>
#include <stdint.h>

/* The calls of geodec_drafter_ops, through the table. begin, observe and propose accept d == NULL, a drafter that never
 * proposes. propose grows the tree when the request has a budget and the drafter has `children`. It checks the count,
 * parents, path lengths, siblings, sources and confidences (GEODEC_INTERNAL). The loop checks token ids and treats an
 * invalid one as wrong. */
geodec_status geodec_drafter_begin(geodec_drafter *d, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_drafter_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_drafter_propose(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out,
                                     int32_t *n, geodec_err *err) GEODEC_MUST_USE;
/* Starts a tree for a request, with node 0 alone. */
geodec_status geodec_drafter_root(geodec_drafter *d, const geodec_draft_request *request,
                                  geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_drafter_adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err) GEODEC_MUST_USE;
/* The newest `most` tokens of the text that ends at a node, newest first, -1 before its start. Returns their number.
 */
int32_t geodec_drafter_context(const geodec_drafter *d, int32_t node, int32_t most, int32_t *token);
/* True when the guard forbids the token as a child of the node. */
bool geodec_drafter_forbids(const geodec_drafter *d, int32_t node, int32_t token);

#endif
