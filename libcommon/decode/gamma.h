/* Whether to draft, and how much, round by round. A draft's chance is its confidence times the ratio of accepted to
 * claimed of its source (moving averages over the drafts the text has judged, sent or not). Before drafting, each
 * further draft is given the least chance at which its row still raises the expected tokens per time; after drafting,
 * the prefix of the best expected rate is sent, by running times: of passes by their width (the given v(b), corrected
 * by what passes take in the loop), of asking, of the rest of a round.
 *
 * Drafting spends a credit: a round that asked adds what it won over plain decoding of as many tokens, in one-row
 * passes (tokens: a mean of those that came and those expected); every token adds a small share, the smaller the more
 * often it was spent in vain. The drafter is asked while there is credit, so all losses together stay below START +
 * SHARE tokens and one round. Asleep, it costs nothing: it is woken when the credit pays for showing it what it missed,
 * and how many tokens that takes is known beforehand (geodec_gamma_nap).
 *
 * The choice may depend on measured times; the text does not depend on the choice. */
#ifndef GEODEC_DECODE_GAMMA_H
#define GEODEC_DECODE_GAMMA_H

#include "decode/draft.h"
#include "decode/predict.h"

#include <stdint.h>

typedef struct geodec_gamma {
    int32_t max;      /* 1 .. GEODEC_DRAFT_MAX */
    geodec_cost cost; /* c, o, o_plain: as measured in the loop, once they are */
    double slow;      /* what the machine takes now over `cost`: all times are in passes at this pace */
    /* Time of a pass of several rows over its v: of all widths, and of each that was met (0: it was not). */
    double wide, width[GEODEC_DRAFT_MAX + 2];
    int64_t met[GEODEC_DRAFT_MAX + 2]; /* times that each was met; [0]: any of them */
    int64_t narrow;                    /* the last round of one row */
    double asking; /* passes an ask, moving average of the `timed` ones; < 0: not measured, c a draft */
    int64_t timed;
    double rate;   /* tokens a pass-time of drafted rounds, moving average */
    double credit; /* passes */
    double share;  /* of a pass that every token adds */
    double waking; /* passes that waking takes, moving average */
    bool asleep;
    double expected; /* tokens of the round under way */
    int32_t asked;   /* drafts asked for in it; 0 = asleep */
    int64_t rounds, asks;
    double least[GEODEC_DRAFT_MAX];
    double accepted[GEODEC_DRAFT_SOURCES_MAX]; /* moving averages over the examined drafts of a source */
    double claimed[GEODEC_DRAFT_SOURCES_MAX];
    int64_t seen[GEODEC_DRAFT_SOURCES_MAX]; /* drafts examined */
} geodec_gamma;

GEODEC_API void geodec_gamma_init(geodec_gamma *g, int32_t max, const geodec_cost *cost);
/* Drafts to ask for in this round, at most `room`; 0 = none. g->least is then up to date. */
GEODEC_API int32_t geodec_gamma_ask(geodec_gamma *g, int32_t room);
/* How many of the n drafts to send; of a tree, the best prefix of its order. */
GEODEC_API int32_t geodec_gamma_send(geodec_gamma *g, const geodec_draft *draft, int32_t n);
/* The text has judged this draft. */
GEODEC_API void geodec_gamma_learn(geodec_gamma *g, const geodec_draft *draft, int accepted);
/* What a round of `sent` drafts took, in one-row passes: asking (0: the drafter was not asked), the pass, the rest. */
GEODEC_API void geodec_gamma_times(geodec_gamma *g, int32_t sent, double asking, double pass, double rest);
/* Of a sleeper: tokens before it is asked again, whatever happens meanwhile; 0 = it may be asked. */
GEODEC_API int64_t geodec_gamma_nap(const geodec_gamma *g);
/* So many tokens came one by one, without the other calls. */
GEODEC_API void geodec_gamma_slept(geodec_gamma *g, int64_t tokens);
/* A drafter that slept was shown what it missed, in so much time, and asked. */
GEODEC_API void geodec_gamma_woken(geodec_gamma *g, double time);
/* The round is over: it gave so many tokens. */
GEODEC_API void geodec_gamma_settle(geodec_gamma *g, int32_t sent, int64_t tokens);
/* Expected time of a pass over b rows. */
GEODEC_API double geodec_gamma_pass(const geodec_gamma *g, int32_t b);

#endif
