/* The recurrent net as a drafter (drafters/recurrent.h): chances of every class behind every draft, from the state
 * before the newest token. A draft costs a product with each of its matrices, so it is a costly drafter beside the
 * tables. */
#ifndef GEODEC_DRAFTERS_RECURRENT_DRAFTER_H
#define GEODEC_DRAFTERS_RECURRENT_DRAFTER_H

#include "decode/drafter.h"
#include "drafters/recurrent.h"

/* net is borrowed, and may be shared. Sources: drafts behind the last state, "1", "2", "3", "4+". */
GEODEC_API geodec_status geodec_recurrent_drafter_create(const geodec_recurrent *net, geodec_drafter **out,
                                                         geodec_err *err) GEODEC_MUST_USE;

#endif
