/* Measures drafters against plain decoding: exactness, acceptance and tokens per pass (reproducible:
 * geodec_bench_count), and speed compared with the closed form (geodec_bench_speed).
 *
 * A row is one drafter, one draft length, greedy or sampled, in one of three settings:
 *   loop            the decoding loop: a draft starts where the last one ended, often after an unexpected token
 *   tree            the same with trees of a given number of drafts
 *   every position the drafter is asked at each position of plain decoding and its drafts are compared with the
 *   continuation, so the acceptance does not depend on where rounds start. Sampled rows compare with the sampled texts
 *   (the mean over samples is the sum of the model's probabilities of the paths); stochastic drafters have no such rows
 * Intervals are 95 % percentile bootstraps over prompts. */
#ifndef GEODEC_MEASURE_BENCH_H
#define GEODEC_MEASURE_BENCH_H

#include "base/err.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "decode/loop.h"
#include "decode/prompts.h"
#include "drafters/drafting.h"
#include "linalg/stats.h"
#include "measure/faults.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { GEODEC_BENCH_GAMMA = 16, GEODEC_BENCH_DRAFTERS = 16, GEODEC_BENCH_GAMMAS = 16 };

typedef struct geodec_bench_drafter {
    const char *name;
    /* Creates a drafter; called once per worker. NULL = oracle replay: it proposes the plain output, an upper bound for
     * any drafter. With 0 < alpha < 1 (0 means 1) each draft is right with probability alpha, as a function of its text
     * and place; the k-th child of a tree node is right with probability alpha (1 - alpha)^k. */
    geodec_status (*create)(void *ctx, geodec_drafter **out, geodec_err *err);
    void *ctx;
    double alpha;
    bool known; /* only those of its drafts are sent that the plain output accepts: its upper bound */
} geodec_bench_drafter;
/* True of an upper bound: it knows the plain output. */
static inline bool geodec_bench_knows(const geodec_bench_drafter *d) { return !d->create || d->known; }

typedef struct geodec_bench_plan {
    const geodec_prompts *prompts;
    int64_t max_tokens, min_tokens;
    const int32_t *stop; /* [n_stop] */
    int32_t n_stop;
    int32_t n_drafters;
    geodec_bench_drafter drafter[GEODEC_BENCH_DRAFTERS];
    int32_t n_gammas;
    int32_t gamma[GEODEC_BENCH_GAMMAS];  /* 1 .. GEODEC_BENCH_GAMMA, rising */
    int32_t n_budgets;                   /* number of tree budgets, 0 = no tree rows */
    int32_t budget[GEODEC_BENCH_GAMMAS]; /* 1 .. GEODEC_DRAFT_MAX, rising; paths of up to GEODEC_BENCH_GAMMA */
    bool greedy, sampled;
    bool loop_only;           /* no rows with the setting "every position" */
    geodec_sampling sampling; /* sampling of the sampled rows; its seed is ignored */
    int32_t n_seeds;          /* seeds per prompt in sampled rows, pooled */
    uint64_t seed;
    int32_t resamples;  /* bootstrap resamples */
    geodec_fault fault; /* a control: drafts are verified with this fault, so the texts must differ from those of plain
                           decoding */
    const geodec_hooks *hooks;
} geodec_bench_plan;

typedef struct geodec_bench_row {
    int32_t drafter, gamma; /* gamma: longest path */
    int32_t budget;         /* drafts of a tree; 0 = chains */
    bool sampled, every_position;
    int64_t compared, mismatches; /* compared: output tokens of rounds with drafts that were compared with plain
                                     decoding (0 at every position, where no drafts are sent); mismatches must be 0 */
    int64_t decided, passes, prompt_passes, rounds;
    geodec_tally position[GEODEC_BENCH_GAMMA];
    /* accepted / reached of each position; NaN where no draft is reached */
    geodec_estimate acceptance[GEODEC_BENCH_GAMMA];
    geodec_estimate accepted_share;  /* accepted / proposed over all positions; in trees, drafts by depth */
    geodec_estimate mean_accepted;   /* accepted drafts per round (at every position: per position) */
    geodec_estimate tokens_per_pass; /* NaN at every position */
    double tokens_closed_form;       /* E(alpha, gamma), alpha = accepted / reached over all positions */
    double tokens_by_position;       /* E from the acceptance of each position */
    geodec_tally confidence[GEODEC_CONFIDENCE_BINS];
    double claimed[GEODEC_CONFIDENCE_BINS]; /* mean confidence of the reached drafts of a bin, 0 for none */
} geodec_bench_row;

typedef struct geodec_bench_counts {
    geodec_bench_row *row; /* [n] */
    int64_t n, prompts;
    /* [n][prompts] counts of each text, summed over seeds, for differences paired by text (measure/gain.h). accepted /
     * rounds is mean_accepted, decided / passes is tokens_per_pass. */
    int64_t *accepted, *rounds, *decided, *passes;
} geodec_bench_counts;
void geodec_bench_counts_free(geodec_bench_counts *c);

/* Prompts are divided among n_targets workers (targets of the same model, one per worker of the pool); results do not
 * depend on n_targets. */
geodec_status geodec_bench_count(const geodec_bench_plan *plan, const geodec_target *target, int32_t n_targets,
                                 geodec_pool *pool, geodec_bench_counts *out, geodec_err *err) GEODEC_MUST_USE;

/* Greedy. The rows of a drafter: every draft length, every tree, then the adaptive chain (gamma = largest of the plan)
 * and, with trees, the adaptive tree (budget = largest of the plan). Every prompt runs twice. Predictions are forecasts
 * with two folds (even and odd prompts): costs, pass lengths and acceptance come from the prompts of one fold and are
 * compared with the speed-ups of the other. An adaptive row keeps its learned state from text to text. */
typedef struct geodec_bench_timing_row {
    int32_t drafter, gamma;
    int32_t budget; /* drafts of a tree; 0 = chains */
    bool adaptive;
    geodec_estimate speedup; /* median over prompts of tok/s over the mean of the plain runs just before and after */
    double tok_per_s, plain_tok_per_s; /* totals over prompts, without prompt processing */
    double tokens_per_pass;
    double c, o; /* drafter time per proposed draft, other time per round, in one-row passes */
    /* Forecast: median over the other fold's prompts of E (from the acceptance of each position) divided by the mean
     * cost of a round (from that fold's c, o and v(b), over the passes of all rows of this kind); mean of both folds.
     * NaN with one prompt. */
    double predicted;
    double forecast_error; /* predicted / measured - 1, mean of both folds */
    /* E(alpha, gamma) with v = 1 and c = o = 0, alpha of the other fold; NaN when adaptive, for trees, and with one
     * prompt */
    double predicted_textbook;
} geodec_bench_timing_row;

typedef struct geodec_bench_timing {
    geodec_bench_timing_row *row; /* [n] */
    int64_t n;
    int64_t prompts;     /* timed prompts */
    geodec_cost cost;    /* v(b), measured outside the loop at half the output length; T(1) and o_plain of the loop */
    geodec_cost loop[2]; /* v(b) of the passes of the loop: chains, trees */
} geodec_bench_timing;
void geodec_bench_timing_free(geodec_bench_timing *s);

/* Runs plain, drafter, plain, drafter, .. on the first n_prompts prompts with one target. The machine should be
 * otherwise idle. Not reproducible. */
geodec_status geodec_bench_speed(const geodec_bench_plan *plan, int64_t n_prompts, const geodec_target *target,
                                 geodec_bench_timing *out, geodec_err *err) GEODEC_MUST_USE;

/* Prints a table with one line per row and the timings next to their greedy rows; "nan" where nothing was measured. */
geodec_status geodec_bench_table(FILE *out, const geodec_bench_plan *plan, const geodec_bench_counts *c,
                                 const geodec_bench_timing *s, geodec_err *err) GEODEC_MUST_USE;

/* Context of a plan's drafter. */
typedef struct geodec_bench_request {
    const geodec_drafting *drafting;
    char name[GEODEC_DRAFTER_NAME_MAX];
    const char *drafter; /* in name, after "oracle+" */
} geodec_bench_request;
/* Sets drafters, draft lengths, tree sizes (NULL: none) and modes (greedy, sampled) of a plan from comma-separated
 * lists. The plan borrows requests [GEODEC_BENCH_DRAFTERS]; the caller sets their drafting before the plan runs. The
 * message of GEODEC_INVAL names the option and the word. */
geodec_status geodec_bench_lists(geodec_bench_plan *plan, geodec_bench_request *requests, const char *drafters,
                                 const char *gammas, const char *trees, const char *modes,
                                 geodec_err *err) GEODEC_MUST_USE;

#endif
