/* Counts of labels by cell: how often each token follows in each cell. Compressed rows: the entries of cell c are
 * start[c] .. start[c+1]-1, by descending count, ties by the lower token. With one cell it is a unigram table, with the
 * newest token as cell a bigram table. */
#ifndef GEODEC_LINALG_COUNTS_H
#define GEODEC_LINALG_COUNTS_H

#include "base/err.h"

#include <stdint.h>

typedef struct geodec_counts {
    int64_t cells, entries;
    int64_t *start;  /* [cells + 1] */
    int32_t *token;  /* [entries] */
    uint32_t *count; /* [entries] > 0 */
    uint32_t *total; /* [cells] */
} geodec_counts;

/* cell, label [n]: pairs with a negative cell or label are left out. GEODEC_RANGE: cell number beyond `cells`. */
geodec_status geodec_counts_make(int64_t cells, int64_t n, const int32_t *cell, const int32_t *label,
                                 geodec_counts *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_counts_clear(geodec_counts *c);
/* Place of a token among the entries of a cell, 0 = most frequent; -1 = not there. */
int64_t geodec_counts_rank(const geodec_counts *c, int64_t cell, int32_t token);
/* GEODEC_FORMAT unless the arrays are such a table with tokens below `vocab`. Checks arrays that were read from a
 * file. */
geodec_status geodec_counts_check(const geodec_counts *c, int64_t vocab, const char *name,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
