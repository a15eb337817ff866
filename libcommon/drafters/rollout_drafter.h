/* The geodesic rollout as a drafter (drafters/rollout.h): from the state before the newest token one step along a
 * velocity that is known before the next token is, again at every node of a tree; the candidates are those of the
 * readout there. The rollout is borrowed. */
#ifndef GEODEC_DRAFTERS_ROLLOUT_DRAFTER_H
#define GEODEC_DRAFTERS_ROLLOUT_DRAFTER_H

#include "decode/drafter.h"
#include "drafters/rollout.h"

/* name: a constant. trust is copied. Sources: drafts after the last state, "1", "2", "3", "4+". */
GEODEC_API geodec_status geodec_rollout_drafter_create(const geodec_rollout *r, const char *name,
                                                       geodec_rollout_velocity v, geodec_rollout_connection c,
                                                       const geodec_rollout_trust *trust, geodec_drafter **out,
                                                       geodec_err *err) GEODEC_MUST_USE;
/* Steps taken and those whose geodesic diverged, since the drafter was made. */
GEODEC_API void geodec_rollout_drafter_steps(const geodec_drafter *d, int64_t *steps, int64_t *broken);

#endif
