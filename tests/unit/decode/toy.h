/* A toy target and adversarial drafters for tests of the decoding loop, without a transformer. */
#ifndef GEODEC_TESTS_TOY_H
#define GEODEC_TESTS_TOY_H

#include "decode/loop.h"
#include "decode/tree.h"

typedef enum toy_kind {
    TOY_HISTORY, /* logits depend on every token of the cache: a stale row shows at once */
    TOY_MARKOV,  /* on the last two tokens: text repeats itself, so n-grams work */
    TOY_STOP,    /* the most probable token is always 0 */
} toy_kind;

enum { TOY_VOCAB = 23, TOY_STATE = 3 };

typedef struct toy {
    toy_kind kind;
    uint64_t seed;
    int32_t n_ctx, max_batch, length;
    bool broken; /* not batch invariant: rows after the first of a pass are wrong */
    int32_t token[4096];
    geodec_counters count;
} toy;

geodec_target toy_target(toy *t, toy_kind kind, uint64_t seed, int32_t n_ctx);
/* Logits after history[0..n). */
void toy_logits(const toy *t, const int32_t *history, int64_t n, float *row);
/* Hidden state of the row of history[n-1]. */
void toy_state(const toy *t, const int32_t *history, int64_t n, float *state);

/* Plain decoding written out by itself: one token a pass, no loop code shared. Returns the number of output tokens. */
int64_t toy_plain(const toy *t, const int32_t *prompt, int64_t n, const geodec_decode_options *o, int32_t *out,
                  geodec_end *end);

/* 32 requests, chains and trees, greedy and sampled, with stops and guards: the output is plain decoding's, and drafts
 * were made. d stays the caller's. */
void toy_runs_exactly(geodec_drafter *d);

typedef enum hostile_kind {
    HOSTILE_WRONG,   /* never the right token */
    HOSTILE_ORACLE,  /* replay of the plain output: an upper bound, never a drafter */
    HOSTILE_RANDOM,  /* any token */
    HOSTILE_OUTSIDE, /* ids outside the vocabulary */
    HOSTILE_FLAKY,   /* the oracle, wrong every third time */
    HOSTILE_STOP,    /* the stop token, always */
    HOSTILE_KINDS
} hostile_kind;

typedef struct hostile {
    geodec_drafter base;
    hostile_kind kind;
    uint64_t seed;
    const toy *toy;
    const int32_t *plain; /* [n_plain] tokens of plain decoding */
    int64_t n_plain, n_prompt;
    int32_t stop;                     /* decided after the plain output, -1 = none */
    const geodec_decode_options *opt; /* of the request: then the argmax shown of a row is checked too. NULL = not */
    /* The guarantees of the interface, checked at every call. */
    int32_t seen[4096];
    int64_t n_seen;
    float last_state[TOY_STATE];
    bool begun;
    /* The tree that is grown. */
    int64_t index;
    int32_t nodes, depth[GEODEC_DRAFT_MAX + 1];
    geodec_draft chain[GEODEC_DRAFT_MAX];
} hostile;

geodec_drafter *hostile_make(hostile *h, hostile_kind kind, const toy *t, uint64_t seed, const int32_t *plain,
                             int64_t n_plain, int64_t n_prompt, int32_t stop);

#endif
