/* Whether to draft, and how much, round by round.
 *
 * Length. The probability that a draft is accepted is its confidence times the ratio of accepted to claimed of its
 * source (moving averages over the drafts that the text has judged, sent or not). Before drafting, each further draft
 * has a least path probability below which its row cannot raise the expected tokens per time. After drafting, the
 * prefix with the most expected tokens per time is sent. Times are those of decode/pace.h.
 *
 * Budget. Drafting is paid for from a budget, in one-row passes. A round that asked adds what it won over plain
 * decoding of as many tokens, or takes what it lost (tokens: a mean of those that came and those expected); every token
 * adds a small share. The drafter is asked while the budget is above 0, so all losses together stay below START + SHARE
 * times the tokens, and one round.
 *
 * Back-off. When the budget is used up the drafter is asked again only after it has grown by RETRY and by what showing
 * the drafter the rows it missed has cost before; meanwhile the share is smaller. How many tokens that takes is known
 * beforehand: until shortly before the end the drafter is suspended, and the loop keeps no row for it.
 *
 * The choice may depend on measured times; the text does not depend on the choice. */
#ifndef GEODEC_DECODE_ADAPT_H
#define GEODEC_DECODE_ADAPT_H

#include "decode/drafter.h"
#include "decode/pace.h"

#include <stdbool.h>
#include <stdint.h>

/* Passes that a budget holds at most: what was won long ago does not pay for a drafter that is of no use now. */
#define GEODEC_ADAPT_BUDGET_MOST 8.0

typedef struct geodec_adapt {
    int32_t max; /* longest draft, 1 .. GEODEC_DRAFT_MAX */
    geodec_pace pace;
    double budget; /* passes */
    double share;  /* of a pass that every token adds */
    double resume; /* passes that showing the missed rows takes, moving average; 0 = not known */
    bool backed_off;
    int64_t suspended; /* rounds of the suspension still to come, the one under way among them; 0 = not suspended */
    int64_t skipped;   /* rounds of it that the budget has not been told of */
    int32_t asked;     /* drafts asked for in this round */
    double expected;   /* tokens of this round */
    double rate;       /* tokens a pass-time of rounds that asked, moving average */
    int64_t asks;
    double least[GEODEC_DRAFT_MAX];
    double accepted[GEODEC_DRAFT_SOURCES_MAX]; /* moving averages over the judged drafts of a source */
    double claimed[GEODEC_DRAFT_SOURCES_MAX];
    int64_t seen[GEODEC_DRAFT_SOURCES_MAX]; /* drafts judged */
} geodec_adapt;

GEODEC_API void geodec_adapt_init(geodec_adapt *a, int32_t max, const geodec_cost *cost);

/* ---- a round, in this order -------------------------------------------------------------------------------------- */

/* A round begins. True: the drafter is suspended, none of the calls below is made for this round. */
GEODEC_API bool geodec_adapt_begin(geodec_adapt *a);
/* Drafts to ask for, at most `room`; 0 = none. a->least is then up to date. */
GEODEC_API int32_t geodec_adapt_ask(geodec_adapt *a, int32_t room);
/* How many of the n drafts to send; of a tree, the best prefix of its order. */
GEODEC_API int32_t geodec_adapt_send(geodec_adapt *a, const geodec_draft *draft, int32_t n);
/* The text has judged this draft. */
GEODEC_API void geodec_adapt_learn(geodec_adapt *a, const geodec_draft *draft, bool accepted);
/* The round is over: it gave so many tokens. Its times go to a->pace when they are known. */
GEODEC_API void geodec_adapt_settle(geodec_adapt *a, int32_t sent, int64_t tokens);

/* ---- back-off ---------------------------------------------------------------------------------------------------- */

/* Tokens before the drafter is asked again, whatever happens meanwhile; 0 = it may be asked. */
GEODEC_API int64_t geodec_adapt_wait(const geodec_adapt *a);
/* Suspends a drafter that backed off, from this round to `notice` tokens before it is asked again; not at all when that
 * is sooner. */
GEODEC_API void geodec_adapt_suspend(geodec_adapt *a, int64_t notice);
/* Ends a suspension before its time, or does nothing. */
GEODEC_API void geodec_adapt_end_suspension(geodec_adapt *a);
/* The drafter was shown the rows it missed, in so many passes of cost.seconds, and asked. */
GEODEC_API void geodec_adapt_resumed(geodec_adapt *a, double time);

/* ---- what a scheduler of several drafters shares ----------------------------------------------------------------- */

/* The best prefix of a proposal: n drafts, of so many tokens expected, in a round of `time` without asking. */
typedef struct geodec_adapt_prefix {
    int32_t n;
    double tokens, time;
} geodec_adapt_prefix;
/* The prefix of most expected tokens per time among those above (1 + gain) times plain decoding, else none. trust [n]:
 * what the confidence of each draft is multiplied by. pace NULL: all rounds take the same time. */
GEODEC_API geodec_adapt_prefix geodec_adapt_best(const geodec_pace *pace, const geodec_draft *draft, int32_t n,
                                                 const double *trust, double gain);
/* Adds to a budget, up to GEODEC_ADAPT_BUDGET_MOST. */
GEODEC_API void geodec_adapt_earn(double *budget, double passes);
/* What something is expected to cost next time: the mean of the last cost and the expectation before, 0 = none. */
GEODEC_API double geodec_adapt_expected_cost(double before, double paid);

#endif
