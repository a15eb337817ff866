/* The scheduler: uses the drafter with the most expected tokens per time on the current text.
 *
 * Each drafter is an arm, and one arm is active. The others are not asked and cost nothing, except in trials: at
 * intervals one of them is also asked for a few rounds, in the same contexts; its drafts need not be sent. Both
 * proposals are valued by the confidences of their drafts, corrected by the share of each arm's drafts that the text
 * confirmed, and by the time of asking and passes. Rounds differ in length, so a pass is valued at the number of tokens
 * that the active arm gives per pass. An arm becomes active when its lead over these pairs exceeds the standard error.
 * An arm that could not lead even if nine of ten drafts were right is not tried. Trials take less than a hundredth of
 * the time, and they become rarer the longer an arm has not led. The best proposal of a round is returned.
 * decode/adapt.h decides whether to draft at all.
 *
 * Without the loop's times (request->adapt) the choice uses only the expected tokens and is a function of the text. */
#ifndef GEODEC_DRAFTERS_AUTO_DRAFTER_H
#define GEODEC_DRAFTERS_AUTO_DRAFTER_H

#include "decode/drafter.h"

enum { GEODEC_AUTO_MAX = 8 };

/* arm [n], 1 .. GEODEC_AUTO_MAX: the first is active until another leads. trees_only [n]: the arm is asked only for
 * trees. price [n]: approximate seconds of an ask, which decides on the arm's first trial; NULL = not known. d_state:
 * width of the states that the arms read, 0 = none. Takes ownership of the arms: they are destroyed with the scheduler,
 * or on an error. Sources: those of the arms, as "arm:source". */
geodec_status geodec_auto_drafter_create(int32_t n, geodec_drafter *const *arm, const bool *trees_only,
                                         const double *price, int32_t d_state, geodec_drafter **out,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
