/* Counts of the tokens that follow contexts of 1 .. GEODEC_NGRAM_ORDER tokens, in a hash table: adding one position or
 * finding one context is O(1) per order (plus the number of distinct continuations when adding). Contexts are
 * identified by a 64-bit hash. Two contexts with the same hash share counts, which lowers acceptance but does not
 * affect correctness. */
#ifndef GEODEC_DRAFTERS_NGRAM_H
#define GEODEC_DRAFTERS_NGRAM_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC_NGRAM_ORDER = 8 };

typedef struct geodec_ngram_table geodec_ngram_table;

/* The counts of a context: the total over its continuations and the most frequent one (lowest id on ties). */
typedef struct geodec_ngram_hit {
    int64_t total;
    int64_t top_count;
    int32_t top;
    int64_t first; /* start of the list of continuations for geodec_ngram_next; -1 = empty */
} geodec_ngram_hit;

/* order: longest context, 1 .. GEODEC_NGRAM_ORDER. */
geodec_status geodec_ngram_table_create(int32_t order, geodec_ngram_table **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_ngram_table_destroy(geodec_ngram_table *t);
void geodec_ngram_table_clear(geodec_ngram_table *t);
/* Counts `next` after the last 1, 2, .., order tokens of context[0..n). */
geodec_status geodec_ngram_table_add(geodec_ngram_table *t, const int32_t *context, int64_t n, int32_t next,
                                     geodec_err *err) GEODEC_MUST_USE;
/* As geodec_ngram_table_add, for k tokens next[k] at once, each with a count of weight[k] >= 0; a context's counts must
 * sum to less than 2^32. The agreement below then uses the weights. */
geodec_status geodec_ngram_table_weigh(geodec_ngram_table *t, const int32_t *context, int64_t n, int32_t k,
                                       const int32_t *next, const int32_t *weight, geodec_err *err) GEODEC_MUST_USE;
/* Sorts the continuations by falling count (ties: the lower id first); the order holds until a position is added. */
void geodec_ngram_table_sort(geodec_ngram_table *t);
/* Hash of the last m tokens of context for m = 1 .. min(order, n): hash[m]. Returns that minimum. */
int32_t geodec_ngram_hashes(const int32_t *context, int64_t n, int32_t order, uint64_t hash[GEODEC_NGRAM_ORDER + 1]);
/* Counts of a context by its hash; total = 0 when it was never seen. */
geodec_ngram_hit geodec_ngram_find(const geodec_ngram_table *t, uint64_t hash);
/* Prefetches a hash that will be looked up soon. */
void geodec_ngram_fetch(const geodec_ngram_table *t, uint64_t hash);
/* Walks the continuations of a hit, in no particular order unless they are sorted: `at` is hit.first, then the returned
 * value; -1 = end. */
int64_t geodec_ngram_next(const geodec_ngram_table *t, int64_t at, int32_t *token, int64_t *count);
/* Count of one continuation in a hit. */
int64_t geodec_ngram_count(const geodec_ngram_table *t, const geodec_ngram_hit *hit, int32_t token);
/* Probability that two different occurrences of a context of m tokens have the same continuation, over all contexts
 * seen at least twice: sum c (c-1) / sum n (n-1); 0.5 when there is none. */
double geodec_ngram_agreement(const geodec_ngram_table *t, int32_t m);

#endif
