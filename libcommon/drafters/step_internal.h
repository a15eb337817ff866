/* Drafts from the counts of a cell. */
#ifndef GEODEC_DRAFTERS_STEP_INTERNAL_H
#define GEODEC_DRAFTERS_STEP_INTERNAL_H

#include "decode/drafter.h"
#include "linalg/counts.h"

/* Up to `most` children of a node: the most frequent labels of the cell, with confidence factor count / total. Returns
 * how many. */
int32_t geodec__step_children(const geodec_drafter *d, int32_t node, const geodec_counts *c, int64_t cell,
                              int32_t source, double factor, int32_t most, geodec_draft *out);

#endif
