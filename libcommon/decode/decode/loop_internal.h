/* Parts of the decoding loop: state of a request and of a round. loop.c runs a round; loop_draft.c drafts; loop_tally.c
 * counts and learns. */
#ifndef GEODEC_DECODE_LOOP_INTERNAL_H
#define GEODEC_DECODE_LOOP_INTERNAL_H

#include "base/clock.h"
#include "decode/loop.h"
#include "decode/replay.h"
#include "decode/verify.h"

/* Number of rows with which a drafter starts again after it missed many. A suspension therefore ends this many tokens
 * before the next ask. Chosen, not compared with other values. */
enum { GEODEC__LOOP_RESTART = 12 };

/* Clock readings of the current round, and the times of the previous round, which are known only when the current one
 * begins. */
typedef struct loop_times {
    double asking;           /* time of asking in this round */
    double start;            /* start of the pass; < 0: not read yet */
    double asked_before;     /* time of asking in the previous round */
    double end_before, pass; /* end and duration of the last pass */
    int32_t sent_before;     /* drafts in the last pass; -1 = its times do not count */
} loop_times;

/* State of one request. */
typedef struct loop_request {
    const geodec_target *target;
    geodec_drafter *drafter;
    const geodec_decode_options *opt;
    geodec_guard guard;
    geodec_sampler *sampler;
    geodec_adapt adapt;
    bool wants_state, wants_top;
    bool sampled_drafts; /* drafts are sampled from the drafter's distribution */
    double *work;        /* [2][n_vocab] when sampled_drafts, else NULL */
    int32_t *text;       /* [n_text] prompt and output; room for `limit` */
    int64_t n_text, n_prompt, limit;
    float *logits;        /* [max rows][n_vocab] */
    float *state;         /* [max rows][d_state], NULL unless needed */
    int32_t *argmax;      /* [max rows] */
    int32_t *top;         /* [max rows][GEODEC_DRAFT_TOP], NULL unless needed */
    int32_t rows;         /* widest pass of a round */
    geodec_replay replay; /* rows that the drafter has not been shown */
    loop_times time;
    geodec_streamed_read reads; /* before the first round */
    geodec_decode_counters count;
} loop_request;

/* One round: the drafts, the pass and the outcome. */
typedef struct loop_round {
    geodec_draft draft[GEODEC_DRAFT_MAX];
    int32_t n;                           /* drafts that may be sent */
    int32_t proposed;                    /* all proposed drafts; those after n are only compared with the text */
    int32_t row[GEODEC_DRAFT_MAX];       /* row of each draft in the pass; 0 = it was not sent */
    int32_t token[GEODEC_DRAFT_MAX + 1]; /* tokens of the pass: the newest token, then the drafts sent */
    int32_t parent[GEODEC_DRAFT_MAX + 1];
    int32_t sent;
    bool chain; /* each row of the pass follows the one before it */
    /* Known after the pass. */
    int32_t base;                       /* cache rows before the pass */
    int32_t path[GEODEC_DRAFT_MAX + 1]; /* rows of the walk */
    geodec_verdict verdict;
    int32_t out[GEODEC_DRAFT_MAX + 1]; /* decided tokens: the accepted drafts and one more */
    int32_t emitted;                   /* number of them emitted */
    bool wanted;                       /* the caller wants more tokens */
} loop_round;

static inline double geodec__loop_now(const loop_request *r)
{
    return r->opt->clock ? r->opt->clock() : geodec_clock_seconds();
}

/* Index of the next output token, for sampling and the guard. */
static inline int64_t geodec__loop_index(const loop_request *r) { return r->n_text - r->n_prompt + r->opt->before; }

/* Number of tokens decided in this round, up to the one at which the caller stopped; their rows were examined. */
static inline int32_t geodec__loop_examined(const loop_round *x) { return x->wanted ? x->verdict.tokens : x->emitted; }

/* loop_draft.c: asks the drafter, chooses the drafts to send and fills in the pass. */
geodec_status geodec__loop_draft(loop_request *r, loop_round *x, geodec_err *err) GEODEC_MUST_USE;
/* The previous round ends at this clock reading; its times are now known. */
void geodec__loop_end_round(loop_request *r, double clock);
/* Shows the drafter the rows it missed. */
geodec_status geodec__loop_catch_up(loop_request *r, geodec_err *err) GEODEC_MUST_USE;

/* loop_tally.c: counts the outcomes of the round's drafts and learns from them. */
void geodec__loop_tally(loop_request *r, const loop_round *x);

#endif
