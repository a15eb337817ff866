/* The recurrent net as a drafter (drafters/recurrent.h): probabilities of every class after every draft, from the state
 * before the newest token. A draft costs a product with each of its matrices, so it is a slow drafter compared with
 * table look-ups. */
#ifndef GEODEC_DRAFTERS_RECURRENT_DRAFTER_H
#define GEODEC_DRAFTERS_RECURRENT_DRAFTER_H

#include "decode/drafter.h"
#include "drafters/recurrent.h"

/* net is borrowed, and may be shared. Sources: drafts after the last state, "1", "2", "3", "4+". */
GEODEC_API geodec_status geodec_recurrent_drafter_create(const geodec_recurrent *net, geodec_drafter **out,
                                                         geodec_err *err) GEODEC_MUST_USE;

#endif
