/* One SHA-256 over all logits and tokens of a model, computed in several ways: token by token, in passes of several
 * sizes, in a tree and path by path, with one to three threads. The programs hash.c (integers), float_hash.c (exact)
 * and peer_hash.c (llama.cpp) each describe a system; what is computed and hashed is the same.
 *
 * For argmax and for sampling: the logits of the prompt's rows and of each token that follows, and the tokens. Then, of
 * a system with trees, the logits of a tree behind the prompt, and those of a token behind one of its paths. Numbers
 * are hashed as little-endian 32-bit words. Tokens are chosen from logits in Q16 (integer/engine/choose.h).
 *
 * Each program prints, for each instruction set, a line for each hash, in the order of the ways that first gave it:
 *     set, hash, ways that gave it, ways, hash of the tokens of the first of them
 * or a set and "skipped: " with the reason. */
#ifndef EVERYWHERE_WAYS_H
#define EVERYWHERE_WAYS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ways_system {
    const char *program; /* of the messages */
    void *ctx;
    int32_t n_vocab;
    bool trees;
    const char *const *sets; /* [n_sets] names of instruction sets */
    int n_sets;
    bool (*available)(int set);
    /* A session with an empty cache, for passes of at most `rows` rows; end is called once for each begin, also for one
     * that failed. */
    geodec_status (*begin)(void *ctx, int set, int threads, int32_t rows, int32_t n_ctx, geodec_err *err);
    void (*end)(void *ctx);
    /* As geodec_batch; parent NULL: a chain. All logits are wanted. */
    geodec_status (*pass)(void *ctx, const int32_t *token, const int32_t *parent, int32_t n, geodec_err *err);
    /* Logits of a row of the last pass: the words that are hashed [n_vocab], and in Q16 [n_vocab]. */
    void (*logits)(const void *ctx, int32_t row, uint32_t *word, int32_t *q16);
    /* As geodec_session_truncate and _compact. Without trees, truncate is called with 0 only and compact not at all. */
    geodec_status (*truncate)(void *ctx, int32_t length, geodec_err *err);
    void (*compact)(void *ctx, int32_t base, const int32_t *row, int32_t n);
} ways_system;

/* float logits as words, and in Q16 saturated. */
void ways_of_floats(const float *x, int32_t n, uint32_t *word, int32_t *q16);

/* The number of tokens in arg (NULL: 256). false: not a number of tokens. */
bool ways_tokens(const char *arg, int32_t *n_tokens);
/* All sets of a system. *differ: two ways or two sets gave different hashes. */
geodec_status ways_run(const ways_system *s, int32_t n_tokens, bool *differ, geodec_err *err);
/* The exit status of a program: 0, 1 (two differ) or 3 (an error, which is printed). */
int ways_end(const char *program, geodec_status st, bool differ, const geodec_err *err);

#endif
