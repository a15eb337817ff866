/* OneDecode as drafters. `onedecode` looks up the cell of the estimated state (drafters/onedecode.h), again at every
 * node of a tree. `onedecode-ref` reads the published table (drafters/onedecode_ref.h), one child a node, whose
 * confidence is the share of its lookups that were right when it was baked. Both artifacts are borrowed. */
#ifndef GEODEC_DRAFTERS_ONEDECODE_DRAFTER_H
#define GEODEC_DRAFTERS_ONEDECODE_DRAFTER_H

#include "decode/drafter.h"
#include "drafters/onedecode.h"
#include "drafters/onedecode_ref.h"

/* Sources: drafts after the last state, "1", "2", "3", "4+". */
GEODEC_API geodec_status geodec_onedecode_drafter_create(const geodec_onedecode *t, geodec_drafter **out,
                                                         geodec_err *err) GEODEC_MUST_USE;
/* Source: "table". */
GEODEC_API geodec_status geodec_onedecode_ref_drafter_create(const geodec_onedecode_ref *t, geodec_drafter **out,
                                                             geodec_err *err) GEODEC_MUST_USE;

#endif
