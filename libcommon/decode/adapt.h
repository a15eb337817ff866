/* Decides in each round whether to draft, and how many tokens.
 *
 * Length. The probability that a draft is accepted is its confidence times the ratio of accepted to claimed of its
 * source (moving averages over the drafts that the text has confirmed or rejected, sent or not). Before drafting, each
 * further draft has a least path probability below which its row cannot raise the expected tokens per time. After
 * drafting, the prefix with the most expected tokens per time is sent. Times are those of decode/pace.h.
 *
 * Budget. Drafting is paid for from a budget, in one-row passes. A round that asked adds its gain over plain decoding
 * of as many tokens, or subtracts its loss (tokens: a mean of the counted and the expected ones); every token adds a
 * small share. The drafter is asked while the budget is above 0, so all losses together stay below START + SHARE times
 * the tokens, plus one round.
 *
 * Back-off. When the budget is used up, the drafter is asked again after the budget has grown by RETRY and by the cost,
 * as met before, of showing the drafter the rows it missed; meanwhile the share is smaller. The number of tokens that
 * this takes is known beforehand: until shortly before the end the drafter is suspended, and the loop keeps no row for
 * it.
 *
 * The choice may depend on measured times; the text does not depend on the choice. */
#ifndef GEODEC_DECODE_ADAPT_H
#define GEODEC_DECODE_ADAPT_H

#include "decode/drafter.h"
#include "decode/pace.h"

#include <stdbool.h>
#include <stdint.h>

/* Upper limit of a budget, in passes: gains of long ago do not pay for a drafter that has become useless. */
#define GEODEC_ADAPT_BUDGET_MOST 8.0

typedef struct geodec_adapt {
    int32_t max; /* longest draft, 1 .. GEODEC_DRAFT_MAX */
    geodec_pace pace;
    double budget; /* passes */
    double share;  /* of a pass that every token adds */
    double resume; /* passes that showing the missed rows takes, moving average; 0 = not known */
    bool backed_off;
    int64_t suspended; /* rounds left of the suspension, the current one included; 0 = not suspended */
    int64_t skipped;   /* rounds of it not yet added to the budget */
    int32_t asked;     /* drafts asked for in this round */
    double expected;   /* tokens of this round */
    double rate;       /* tokens a pass-time of rounds that asked, moving average */
    int64_t asks;
    double least[GEODEC_DRAFT_MAX];
    double accepted[GEODEC_DRAFT_SOURCES_MAX]; /* moving averages over the judged drafts of a source */
    double claimed[GEODEC_DRAFT_SOURCES_MAX];
    int64_t seen[GEODEC_DRAFT_SOURCES_MAX]; /* drafts confirmed or rejected by the text */
} geodec_adapt;

GEODEC_API void geodec_adapt_init(geodec_adapt *a, int32_t max, const geodec_cost *cost);

/* ---- a round, in this order -------------------------------------------------------------------------------------- */

/* Begins a round. True: the drafter is suspended, and none of the calls below is made for this round. */
GEODEC_API bool geodec_adapt_begin(geodec_adapt *a);
/* Drafts to ask for, at most `room`; 0 = none. a->least is then up to date. */
GEODEC_API int32_t geodec_adapt_ask(geodec_adapt *a, int32_t room);
/* How many of the n drafts to send; of a tree, the best prefix of its order. */
GEODEC_API int32_t geodec_adapt_send(geodec_adapt *a, const geodec_draft *draft, int32_t n);
/* The text has confirmed or rejected this draft. */
GEODEC_API void geodec_adapt_learn(geodec_adapt *a, const geodec_draft *draft, bool accepted);
/* Ends the round, which gave so many tokens. Its times go to a->pace when they are known. */
GEODEC_API void geodec_adapt_settle(geodec_adapt *a, int32_t sent, int64_t tokens);

/* ---- back-off ---------------------------------------------------------------------------------------------------- */

/* Tokens until the drafter is asked again in any case; 0 = it may be asked. */
GEODEC_API int64_t geodec_adapt_wait(const geodec_adapt *a);
/* Suspends a drafter that backed off, from this round to `notice` tokens before it is asked again; does nothing when
 * that is sooner. */
GEODEC_API void geodec_adapt_suspend(geodec_adapt *a, int64_t notice);
/* Ends a suspension before its time, or does nothing. */
GEODEC_API void geodec_adapt_end_suspension(geodec_adapt *a);
/* The drafter was shown the rows it missed, in so many passes of cost.seconds, and was asked. */
GEODEC_API void geodec_adapt_resumed(geodec_adapt *a, double time);

/* ---- what a scheduler of several drafters shares ----------------------------------------------------------------- */

/* The best prefix of a proposal: n drafts, of so many tokens expected, in a round of `time` without asking. */
typedef struct geodec_adapt_prefix {
    int32_t n;
    double tokens, time;
} geodec_adapt_prefix;
/* The prefix of most expected tokens per time among those above (1 + gain) times plain decoding, else none. trust [n]:
 * factor of the confidence of each draft. pace NULL: all rounds take the same time. */
GEODEC_API geodec_adapt_prefix geodec_adapt_best(const geodec_pace *pace, const geodec_draft *draft, int32_t n,
                                                 const double *trust, double gain);
/* Adds to a budget, up to GEODEC_ADAPT_BUDGET_MOST. */
GEODEC_API void geodec_adapt_earn(double *budget, double passes);
/* Expected cost of the next time: the mean of the last cost and the expectation before; 0 = none. */
GEODEC_API double geodec_adapt_expected_cost(double before, double paid);

#endif
