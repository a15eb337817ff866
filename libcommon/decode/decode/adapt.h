/* Decides in each round whether to draft, and how many tokens.
 *
 * Length. The probability that a draft is accepted is its confidence times a correction for its source: the ratio of
 * accepted drafts to the sum of their confidences. Both are moving averages over the drafts that the text has confirmed
 * or rejected, whether they were sent or not. Before drafting, a minimum path probability is computed for each draft;
 * below it, the row of the draft cannot raise the expected tokens per time. After drafting, the prefix with the most
 * expected tokens per time is sent. decode/pace.h supplies the times.
 *
 * Prices. In a mixture of experts in memory, the time of a prefix is corrected by the experts that it is expected to
 * use (session/resident_price.h). While experts stream, a target may price the rows of a pass one by one
 * (geodec/decode.h): then the prefix with the most work for its time is sent, where the work of a token is the time
 * that plain decoding would need for it, reading included. Bytes that a row reads are lost when it is rejected: the
 * bytes lost so far and those expected of a prefix stay below a share of the bytes that were of use.
 *
 * Budget. Drafting has a budget, in units of one-row passes. A round in which the drafter was asked adds its gain over
 * plain decoding of the same number of tokens, or subtracts its loss (the number of tokens is a mean of the counted and
 * the expected ones). Every token adds a small share. The drafter is asked while the budget is above 0, so the sum of
 * all losses stays below START + SHARE times the tokens, plus the loss of one round.
 *
 * Back-off. When the budget is used up, the drafter is asked again after the budget has grown by RETRY plus the
 * expected cost of showing the drafter the rows it missed. Until then the share is smaller. The number of tokens that
 * this takes is known in advance. Until shortly before the end of this wait the drafter is suspended, and the loop
 * keeps no rows for it.
 *
 * The choice may depend on measured times; the text does not depend on the choice. */
#ifndef GEODEC_DECODE_ADAPT_H
#define GEODEC_DECODE_ADAPT_H

#include "decode/drafter.h"
#include "decode/pace.h"
#include "session/price.h"

#include <stdbool.h>
#include <stdint.h>

/* Upper limit of a budget, in passes, so that old gains do not pay for a drafter that has become useless. */
#define GEODEC_ADAPT_BUDGET_MOST 8.0

typedef struct geodec_adapt {
    int32_t max; /* longest draft, 1 .. GEODEC_DRAFT_MAX */
    geodec_pace pace;
    double budget; /* passes */
    double share;  /* budget that every token adds, as a share of a pass */
    double resume; /* cost of showing the missed rows, in passes, moving average; 0 = not known */
    bool backed_off;
    int64_t suspended; /* rounds left of the suspension, the current one included; 0 = not suspended */
    int64_t skipped;   /* suspended rounds not yet added to the budget */
    int32_t asked;     /* drafts asked for in this round */
    double expected;   /* expected tokens of this round */
    double rate;       /* tokens per pass time in rounds that asked, moving average */
    int64_t asks;
    double least[GEODEC_DRAFT_MAX];
    /* of a round with prices, in plain passes: the newest token, a draft sent (mean), the pass; 0: without prices */
    double first, each, time;
    double lost; /* bytes that may still be lost, less the least of an ask, in plain tokens */
    double row;  /* a row that reads nothing, in plain passes, moving average; 0 = not known */
    double accepted[GEODEC_DRAFT_SOURCES_MAX]; /* moving averages over the confirmed and rejected drafts of a source */
    double claimed[GEODEC_DRAFT_SOURCES_MAX];
    int64_t seen[GEODEC_DRAFT_SOURCES_MAX]; /* drafts confirmed or rejected by the text */
} geodec_adapt;

void geodec_adapt_init(geodec_adapt *a, int32_t max, const geodec_cost *cost);

/* ---- a round, in this order -------------------------------------------------------------------------------------- */

/* Begins a round. Returns true when the drafter is suspended; the calls below are then not made in this round. */
bool geodec_adapt_begin(geodec_adapt *a);
/* Returns the number of drafts to ask for, at most `room`; 0 = none. Updates a->least. */
int32_t geodec_adapt_ask(geodec_adapt *a, int32_t room);
/* Returns how many of the n drafts to send. Of a tree, these are the best prefix in tree order. */
int32_t geodec_adapt_send(geodec_adapt *a, const geodec_draft *draft, int32_t n);
/* As geodec_adapt_send, by prices of the newest token and the n drafts. price->useful and wasted count from the start
 * of the text.
 */
int32_t geodec_adapt_send_priced(geodec_adapt *a, const geodec_price *price, const geodec_draft *draft, int32_t n);
/* The text has confirmed or rejected this draft. */
void geodec_adapt_learn(geodec_adapt *a, const geodec_draft *draft, bool accepted);
/* Ends the round, which produced `tokens` tokens. The loop adds its times to a->pace when they are known. */
void geodec_adapt_settle(geodec_adapt *a, int32_t sent, int64_t tokens);

/* ---- back-off ---------------------------------------------------------------------------------------------------- */

/* Number of tokens until the drafter is asked again; 0 = it may be asked now. */
int64_t geodec_adapt_wait(const geodec_adapt *a);
/* Suspends a drafter that backed off, from this round until `notice` tokens before it is asked again. Does nothing when
 * fewer tokens remain. */
void geodec_adapt_suspend(geodec_adapt *a, int64_t notice);
/* Ends a suspension early; does nothing when there is none. */
void geodec_adapt_end_suspension(geodec_adapt *a);
/* The drafter was shown the rows it missed and was asked; this took `time` passes of cost.seconds. */
void geodec_adapt_resumed(geodec_adapt *a, double time);

/* ---- shared with the scheduler of several drafters --------------------------------------------------------------- */

/* The best prefix of a proposal: n drafts, the expected tokens, and the time of the round without asking. */
typedef struct geodec_adapt_prefix {
    int32_t n;
    double tokens, time;
} geodec_adapt_prefix;
/* The prefix with the most expected tokens per time, or none if it is not above (1 + gain) times plain decoding. trust
 * [n]: factor of the confidence of each draft. pace NULL: all rounds take the same time. price, or NULL: a prefix
 * takes price->time / price->mean of the time of its width. */
geodec_adapt_prefix geodec_adapt_best(const geodec_pace *pace, const geodec_price *price, const geodec_draft *draft,
                                      int32_t n, const double *trust, double gain);
/* The prefix with the most work per time, or none if it is not above (1 + gain) times that of the newest token alone.
 * tokens: its work in plain passes. time: of its pass, in plain passes. A prefix whose expected loss is above
 * `most_lost` bytes is not taken. */
geodec_adapt_prefix geodec_adapt_best_priced(const geodec_price *price, const geodec_draft *draft, int32_t n,
                                             const double *trust, double gain, double most_lost);
/* Adds to a budget, up to GEODEC_ADAPT_BUDGET_MOST. */
void geodec_adapt_earn(double *budget, double passes);
/* Expected cost of the next time: the mean of the last cost `paid` and the expectation `before`, where 0 = none. */
double geodec_adapt_expected_cost(double before, double paid);

#endif
