/* A short trial of the drafters with these artifacts on this machine.
 *
 * Every prompt is decoded greedily, plainly and with each drafter in turn, with adaptive draft length, up to
 * GEODEC_TRIAL_ROUNDS times. The shortest time of each prompt counts, because it is the least disturbed by the machine:
 * speedup = sum of plain times / sum of the drafter's times, without prompt processing. The drafter with the largest
 * speedup is chosen if this speedup is at least GEODEC_TRIAL_GAIN and the drafter was faster on at least half of the
 * prompts; otherwise none is chosen. The choice may change from run to run with the times; the decoded text does
 * not. */
#ifndef GEODEC_PREPARE_TRIAL_H
#define GEODEC_PREPARE_TRIAL_H

#include "base/hooks.h"
#include "decode/prompts.h"
#include "drafters/drafting.h"

enum {
    GEODEC_TRIAL_DRAFTERS = 3, /* ngram, flowmap, auto */
    GEODEC_TRIAL_PROMPTS = 8,  /* at most */
    GEODEC_TRIAL_PROMPT = 16,  /* tokens of one */
    GEODEC_TRIAL_ROUNDS = 5,   /* at most, as far as the time allows */
    GEODEC_TRIAL_TOKENS = 64,  /* new tokens for each, fewer at the end of the context */
    GEODEC_TRIAL_GAMMA = 8,    /* longest draft */
};
#define GEODEC_TRIAL_GAIN 1.02

typedef struct geodec_trial_row {
    const char *drafter;
    double speedup, tokens_per_pass;
    int64_t faster;     /* prompts on which it was faster than plain decoding */
    int64_t mismatches; /* output tokens that differ from plain decoding: must be 0 */
} geodec_trial_row;

typedef struct geodec_trial {
    geodec_trial_row row[GEODEC_TRIAL_DRAFTERS];
    int64_t prompts;    /* prompts finished; 0 = there was nothing to test on */
    int64_t rounds;     /* rounds begun */
    int64_t tokens;     /* tokens compared in each round */
    double tok_per_s;   /* seconds of plain decoding */
    const char *choice; /* a drafter of the rows, or "none" */
} geodec_trial;

/* The rule, applied to the rows. */
const char *geodec_trial_choose(const geodec_trial *t);

/* dir: folder of the artifacts; how: the sessions of decoding. Runs for `seconds`, and at least for two prompts.
 * GEODEC_NOTFOUND: the folder lacks the artifact of a drafter; GEODEC_CHECK: a text differs. */
geodec_status geodec_trial_run(const geodec_model *m, const char *dir, const geodec_session_options *how,
                               const geodec_prompts *prompts, double seconds, const geodec_hooks *hooks,
                               geodec_trial *out, geodec_err *err) GEODEC_MUST_USE;

/* Texts sampled from the model that the store has not seen, cut to GEODEC_TRIAL_PROMPT tokens. None (n = 0) if the
 * model cannot begin a text. */
geodec_status geodec_trial_prompts(const geodec_model *m, uint64_t seed, geodec_arithmetic arithmetic,
                                   geodec_pool *pool, geodec_prompts *out, geodec_err *err) GEODEC_MUST_USE;

#endif
