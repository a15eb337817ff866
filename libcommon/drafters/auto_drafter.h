/* The scheduler: one of several drafters, the one with the best expected tokens for their time on the text at hand.
 *
 * One arm drafts. The others sleep and cost nothing; now and then one of them is asked for a few rounds beside it, on
 * the same contexts, and nothing of it need be sent: what both propose is valued by the chances they claim, corrected
 * by what the text says of each, and by the time that asking and passes take. Rounds differ in length: a pass counts
 * for the tokens that the arm that drafts gives in one. Who leads in the average of such pairs, by more than its
 * standard error, drafts from then on. An arm that could not lead if nine drafts of ten were right is not tried. Trials
 * take less than a hundredth of the time, fewer the longer an arm has not led. The best proposal of a round goes out.
 * Whether to draft at all is left to decode/gamma.h.
 *
 * Without the loop's times (request->pace) the choice is by expected tokens alone, and a function of the text. */
#ifndef GEODEC_DRAFTERS_AUTO_DRAFTER_H
#define GEODEC_DRAFTERS_AUTO_DRAFTER_H

#include "decode/draft.h"

enum { GEODEC_AUTO_MAX = 8 };

/* arm [n], 1 .. GEODEC_AUTO_MAX: the first drafts until another leads. trees_only [n]: asked for trees alone. price
 * [n]: seconds that an ask of it takes, roughly, which decides on its first trial; NULL = not known. d_state: width of
 * the states that any of them wants, 0 = none. Takes the arms over: they are destroyed with the scheduler, and on an
 * error. Sources: those of the arms, as "arm:source". */
GEODEC_API geodec_status geodec_auto_drafter_create(int32_t n, geodec_drafter *const *arm, const bool *trees_only,
                                                    const double *price, int32_t d_state, geodec_drafter **out,
                                                    geodec_err *err) GEODEC_MUST_USE;

#endif
