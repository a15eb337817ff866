/* The cost of a score by every method, on this machine.
 *
 * The keys of a context are scored with one query, many times; the time is processor time of the thread, and the median
 * of rounds in which all methods take turns. hot: the same keys again and again, in whatever cache holds them.
 * streamed: copies of the keys one after the other in an area that no cache holds. Transforms of the query and of keys
 * have rows of their own and are in no score. The control is the direct sum of 16-bit numbers. */
#ifndef GEODEC_INTEGER_SCORES_SCORE_COST_H
#define GEODEC_INTEGER_SCORES_SCORE_COST_H

#include "lab/integer/scores/scores.h"

typedef struct geodec_score_cost_options {
    int32_t dim;          /* 1 to GEODEC_SCORES_MOST */
    int64_t context;      /* keys, 1 to 2^20 */
    int32_t rounds;       /* at least 1 */
    int64_t stream_bytes; /* of the area of each layout of keys; at least the keys of a context are in it */
    geodec_isa isa;
    uint64_t seed;
} geodec_score_cost_options;

typedef struct geodec_score_cost_row {
    const char *method, *state;     /* static text; state: "hot", "streamed" */
    int64_t multiplications, bytes; /* of one score: products of words, and bytes of the key */
    double ns, ratio;               /* of one score, or transform; and divided by that of direct-int16, same state */
    bool exact;                     /* every score is a plain sum in 64 bits */
} geodec_score_cost_row;

/* Methods: direct-int16, direct-int32 (summed in 64 bits), ntt-p60 and ntt-crt (of transformed keys), product-p60 and
 * product-crt (the whole product, with all transforms), in both states; then key-p60, key-crt, query-p60 and query-crt,
 * the transform of one vector. */
enum { GEODEC_SCORE_COST_ROWS = 2 * 6 + 4 };
/* rows [GEODEC_SCORE_COST_ROWS]. GEODEC_INVAL, GEODEC_NOMEM, GEODEC_UNSUPPORTED. */
geodec_status geodec_score_cost_measure(const geodec_score_cost_options *o, geodec_score_cost_row *rows,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif
