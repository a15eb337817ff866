/* The scheduler: of several drafters, the one with the most expected tokens per time on the current text.
 *
 * One arm drafts. The others are not asked and cost nothing, except in trials: at intervals one of them is asked for a
 * few rounds as well, in the same contexts; its drafts need not be sent. Both proposals are valued by the confidences
 * of their drafts, corrected by the share that the text confirmed of each arm, and by the time of asking and passes.
 * Rounds differ in length, so a pass is valued at the tokens that the drafting arm gives in one. The arm that leads in
 * the average of such pairs by more than its standard error drafts from then on. An arm that could not lead if nine
 * drafts of ten were right is not tried. Trials take less than a hundredth of the time, fewer the longer an arm has not
 * led. The best proposal of a round is returned. decode/adapt.h decides whether to draft at all.
 *
 * Without the loop's times (request->adapt) the choice is by expected tokens alone, and a function of the text. */
#ifndef GEODEC_DRAFTERS_AUTO_DRAFTER_H
#define GEODEC_DRAFTERS_AUTO_DRAFTER_H

#include "decode/drafter.h"

enum { GEODEC_AUTO_MAX = 8 };

/* arm [n], 1 .. GEODEC_AUTO_MAX: the first drafts until another leads. trees_only [n]: asked for trees alone. price
 * [n]: approximate seconds of an ask, which decides on its first trial; NULL = not known. d_state: width of the states
 * that any of them reads, 0 = none. Takes ownership of the arms: they are destroyed with the scheduler, and on an
 * error. Sources: those of the arms, as "arm:source". */
GEODEC_API geodec_status geodec_auto_drafter_create(int32_t n, geodec_drafter *const *arm, const bool *trees_only,
                                                    const double *price, int32_t d_state, geodec_drafter **out,
                                                    geodec_err *err) GEODEC_MUST_USE;

#endif
