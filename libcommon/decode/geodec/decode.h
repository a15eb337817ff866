/* Exact speculative decoding. A round forwards the newest token and the drafts, a chain or a tree, in one pass, walks
 * the rows (decode/verify.h), emits the accepted drafts and one more token, and cuts the cache back to the committed
 * text. For every drafter, draft length and sampling option the output equals that of plain decoding (drafter NULL),
 * token for token. One exception, when sampling: a drafter that samples its drafts (drafter.h, `distribution`) keeps
 * the distribution of the output, but not the tokens for a seed.
 *
 * Invariant between rounds: the cache holds a row for every token of the text except the newest. Rounds of plain
 * decoding have no drafts, so each pass decides one token. */
#ifndef GEODEC_DECODE_H
#define GEODEC_DECODE_H

#include "geodec/drafter.h"
#include "geodec/run.h"
#include "geodec/streaming.h"

#include <stdbool.h>
#include <stdint.h>

struct geodec_price;

typedef struct geodec_target {
    void *self;
    int32_t n_vocab;
    int32_t d_state;   /* floats of a hidden state; 0 = none */
    int32_t n_ctx;     /* cache rows */
    int32_t max_batch; /* rows of one pass; more where pass_rows says so */
    /* Appends rows for token[0..n) to the cache. logits [n][n_vocab] or NULL; state [n][d_state] (residual stream after
     * all blocks) or NULL. A row's values depend only on the tokens up to it, bit for bit, for every division of the
     * rows into passes. parent [n], or NULL for a chain: row i follows row parent[i] < i, or with -1 the last row of
     * the cache before the pass. On error the cache is unchanged. */
    geodec_status (*forward)(void *self, const int32_t *token, const int32_t *parent, int32_t n, float *logits,
                             float *state, geodec_err *err);
    int32_t (*length)(const void *self);
    void (*truncate)(void *self, int32_t length);
    /* After a pass that began at `base`: keeps n of its rows, the path row[0] < row[1] < .., directly after `base`. */
    void (*compact)(void *self, int32_t base, const int32_t *row, int32_t n);
    geodec_counters (*counters)(const void *self); /* counts made by the target itself */
    /* Rows of a chain of `wanted` that the next pass should take, with `beside` bytes of the caller for each:
     * geodec_session_pass_rows. NULL: max_batch */
    int32_t (*pass_rows)(const void *self, int64_t wanted, int64_t beside);
    /* Optional (NULL: rows of the same number always cost the same). price: of a pass over token[0..n), the newest
     * token of the text first; false: not known. reads: what the passes read; false: nothing is read. */
    bool (*price)(void *self, const int32_t *token, int32_t n, struct geodec_price *out);
    bool (*reads)(void *self, geodec_streamed_read *out);
} geodec_target;

/* s is borrowed. */
GEODEC_API geodec_target geodec_target_session(geodec_session *s, int32_t max_batch);

enum { GEODEC_COST_ROWS = 65 };

typedef struct geodec_cost {
    int32_t n;                      /* v[1 .. n] are set, 1 <= n <= GEODEC_COST_ROWS */
    double v[GEODEC_COST_ROWS + 1]; /* v[0] unused, v[1] = 1 */
    double c;
    double o, o_plain;
    double seconds; /* T(1); 0: not known, times count for nothing; below 0: of the run's first pass of one row */
} geodec_cost;

typedef enum geodec_end {
    GEODEC_END_LENGTH,  /* max_tokens reached */
    GEODEC_END_STOP,    /* a stop token was decided; it is not part of the output */
    GEODEC_END_CONTEXT, /* no cache row is left for the newest token */
    GEODEC_END_CALLER,  /* emit returned non-zero; its token is part of the output */
} geodec_end;

typedef struct geodec_decode_options {
    geodec_sampling sampling;
    geodec_penalty_options penalty; /* all 0: none. Not in integers (GEODEC_UNSUPPORTED) */
    /* Number of prompt tokens at the start whose rows an earlier call with the same target and drafter left in the
     * target's cache and showed to the drafter. They are not forwarded again. 0 = a new text. */
    int64_t cached;
    /* Number of tokens at the end of the prompt that an earlier request generated: the first output token has this
     * index for sampling and for min_tokens, so that a text in several requests is the text of one. 0 .. n - 1. */
    int64_t before;
    int64_t max_tokens;  /* >= 0; of this request */
    int64_t min_tokens;  /* guard: no stop token before this many tokens */
    const int32_t *stop; /* [n_stop], borrowed */
    int32_t n_stop;
    int32_t gamma;  /* longest draft of a round, 0 .. GEODEC_DRAFT_MAX; the upper limit when adaptive */
    int32_t budget; /* 0: drafts are chains; 1 .. GEODEC_DRAFT_MAX: drafts per tree, with no path longer than gamma; the
                       upper limit when adaptive */
    bool adaptive;  /* choose the length by geodec_adapt from `cost` */
    geodec_cost cost; /* for adaptive; geodec_cost_linear or geodec_cost_measure. Not for sampled drafts: their lengths
                         follow geodec_cost_linear(0.3), so that the text is reproducible from its seed */
    /* For adaptive: state learned from earlier requests with the same model, drafter and lengths, which this request
     * updates. Initially all zero. NULL: this request starts without it. Not used for sampled drafts. */
    struct geodec_adapt *memory;
    double gate; /* a chain ends before the first draft of lower confidence; 0 = off */
    /* Called with every output token in order; non-zero = stop after it. NULL = none. */
    int (*emit)(void *ctx, int32_t token);
    /* Called after the tokens of a round, for flushing. NULL = none. */
    void (*round_end)(void *ctx);
    void *ctx;
    double (*clock)(void); /* for the times of the counters; NULL = geodec_clock_seconds */
    const geodec_hooks *hooks;
} geodec_decode_options;

/* Greedy, 128 tokens, no stop token, gamma 4, not adaptive. */
GEODEC_API geodec_decode_options geodec_decode_options_default(void);

/* Outcomes of drafts. proposed >= reached = accepted + rejected; a draft is reached when all above it were accepted and
 * the output had not ended. A draft equal to the stop token that ends the output counts as accepted; nothing after it
 * is reached. */
typedef struct geodec_tally {
    int64_t proposed, reached, accepted, rejected;
} geodec_tally;
enum { GEODEC_CONFIDENCE_BINS = 10 };

typedef struct geodec_decode_counters {
    int64_t emitted; /* output tokens */
    int64_t decided; /* emitted, plus one when a stop token was decided */
    int64_t rounds;
    int64_t target_passes, target_rows; /* counted by the target, without the prompt */
    int64_t prompt_passes, prompt_rows;
    int64_t asks;                         /* rounds in which the drafter was asked */
    int64_t length[GEODEC_DRAFT_MAX + 1]; /* rounds that sent this many drafts */
    geodec_tally total;
    geodec_tally position[GEODEC_DRAFT_MAX]; /* by depth; siblings in a tree count as one draft here */
    geodec_tally source[GEODEC_DRAFT_SOURCES_MAX];
    geodec_tally confidence[GEODEC_CONFIDENCE_BINS]; /* reliability: bin i holds confidences from i/10 */
    double confidence_sum[GEODEC_CONFIDENCE_BINS];   /* over the reached drafts of a bin */
    double pass_seconds[GEODEC_DRAFT_MAX + 1];       /* time in the passes of rounds that sent this many drafts */
    geodec_streamed_read reads;                      /* of the rounds, if experts stream; else all 0 */
    double prompt_seconds, draft_seconds, verify_seconds, total_seconds; /* verify: time in the target's passes */
} geodec_decode_counters;

/* decided / target_passes: 1 for plain decoding; 0 when there was no pass. */
GEODEC_API double geodec_decode_tokens_per_pass(const geodec_decode_counters *c);

/* accepted / reached, 0 when nothing was reached. */
GEODEC_API double geodec_decode_acceptance(const geodec_tally *t);

typedef struct geodec_decoded {
    int32_t *token; /* [n], owned: geodec_decode_free */
    int64_t n;
    geodec_end end;
    int32_t stop; /* the stop token of GEODEC_END_STOP, else -1 */
    geodec_decode_counters counters;
} geodec_decoded;
GEODEC_API void geodec_decode_free(geodec_decoded *d);

/* Truncates the target's cache to `cached` rows, prefills the rest of prompt[0..n-1) and decodes. n >= 1: a model needs
 * at least one token, so pass BOS for an empty text. On return the cache holds the rows of the text (prompt and
 * output), except possibly that of the newest token; after an interrupted prompt, only its first rows. GEODEC_LIMIT:
 * prompt longer than the cache; GEODEC_RANGE: a prompt id out of the vocabulary; GEODEC_INVAL: options;
 * GEODEC_INTERRUPTED; GEODEC_INTERNAL: a round that made no progress. */
GEODEC_API geodec_status geodec_decode(const geodec_target *target, const int32_t *prompt, int64_t n,
                                       geodec_drafter *drafter, const geodec_decode_options *options,
                                       geodec_decoded *out, geodec_err *err) GEODEC_MUST_USE;

#endif
