/* Drafts chosen with knowledge of the text, for comparison: of another drafter's drafts, those that will be accepted;
 * or the text itself. An upper bound, not a drafter to use. */
#ifndef GEODEC_MEASURE_ORACLE_DRAFTER_H
#define GEODEC_MEASURE_ORACLE_DRAFTER_H

#include "decode/loop.h"

/* plain: the output of plain decoding, borrowed. inner: taken over, also on failure; NULL: drafts are the text itself.
 * Of a tree, the drafts on the right path are kept. */
geodec_status geodec_oracle_drafter_create(const geodec_decoded *plain, geodec_drafter *inner, geodec_drafter **out,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
