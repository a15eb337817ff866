/* Measures parts of drafting on many prompts, greedy: kinds of rejections (measure/rejections.h), the effect of a
 * confidence gate at each draft length, and verifier alone, drafter alone and both. Counts are reproducible
 * (geodec_drafts_count), speeds are not (geodec_drafts_time). */
#ifndef GEODEC_MEASURE_DRAFTS_H
#define GEODEC_MEASURE_DRAFTS_H

#include "artifact/artifact.h"
#include "linalg/stats.h"
#include "measure/bench.h"
#include "measure/margin.h"
#include "measure/rejections.h"

enum { GEODEC_GATES = 6 /* thresholds 0, .1, .25, .45, .65, .85 */ };

/* One drafter, one threshold, one draft length. */
typedef struct geodec_gate_row {
    int64_t proposed, reached, accepted, rounds, drafted; /* drafted: rounds that sent a draft */
    int64_t passes, decided, different;                   /* different: output tokens that differ from plain decoding;
                                                             must be 0 */
} geodec_gate_row;

typedef struct geodec_alone_row {
    int64_t tokens, passes; /* written by the drafter alone; passes of the model for them: 0 */
    int64_t agree, first;   /* tokens equal to plain decoding at the same place; tokens before the first difference */
    int64_t plain;          /* tokens of plain decoding on the same prompts */
} geodec_alone_row;

typedef struct geodec_drafts {
    geodec_rejections rejections[GEODEC_BENCH_DRAFTERS]; /* at the largest draft length of the plan */
    geodec_gate_row gate[GEODEC_BENCH_DRAFTERS][GEODEC_GATES][GEODEC_BENCH_GAMMAS];
    geodec_alone_row alone[GEODEC_BENCH_DRAFTERS];
    int64_t first_stop; /* prompts whose first plain token is a stop token */
    /* first_stop of the prompts in a chat format; chat "" = not counted. chat_own: the format is that of the model. */
    int64_t first_stop_chat;
    char chat[32];
    bool chat_own;
    char attnres[GEODEC_ATTNRES_TEXT]; /* AttnRes setting of the deciding model (session/attnres.h); "" = not known */
} geodec_drafts;

/* plan: prompts, tokens (at most GEODEC_DRAFT_MAX), stop tokens, drafters (no oracle), draft lengths, hooks.
 * class [n_vocab]: measure/rejections.h. out is large: the caller allocates it. */
geodec_status geodec_drafts_count(const geodec_bench_plan *plan, const geodec_target *target, const uint8_t *class,
                                  geodec_drafts *out, geodec_err *err) GEODEC_MUST_USE;

/* Prompts whose first plain greedy token is one of the stop tokens: the reason for a minimum of tokens
 * (decode/guard.h). The prompts and the target decide whether this is with or without a chat format, or on a modified
 * model. */
geodec_status geodec_drafts_first_stops(const geodec_target *target, const geodec_prompts *prompts, const int32_t *stop,
                                        int32_t n_stop, int64_t *count, geodec_err *err) GEODEC_MUST_USE;

/* Tokens per second of CPU time of one thread, without prompts, with intervals over prompts. */
typedef struct geodec_three_way {
    geodec_estimate verifier, alone[GEODEC_BENCH_DRAFTERS], both[GEODEC_BENCH_DRAFTERS];
    double predicted[GEODEC_BENCH_DRAFTERS]; /* speed of both by the closed form, with v(b), c and o of this run */
    int64_t prompts, repeats;
} geodec_three_way;

/* Times verifier alone, drafter alone and both, in turn, `repeats` times per prompt. Both uses the adaptive length up
 * to the largest draft length of the plan. */
geodec_status geodec_drafts_time(const geodec_bench_plan *plan, int64_t n_prompts, int32_t repeats,
                                 const geodec_target *target, geodec_three_way *out, geodec_err *err) GEODEC_MUST_USE;

extern const geodec_kind geodec_drafts_kind;
extern const geodec_kind geodec_drafts_threeway_kind;
/* margins [n_drafters][GEODEC_MARGINS] of the experiment (measure/margin.h), or NULL: its fields are then left out. */
geodec_status geodec_drafts_write(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                  const geodec_drafts *d, const geodec_margin_row *margins, int32_t n_vocab,
                                  geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_drafts_write_times(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                        const geodec_three_way *t, geodec_err *err) GEODEC_MUST_USE;

#endif
