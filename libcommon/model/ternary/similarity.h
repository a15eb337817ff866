/* How alike two experts are: the share p of trits that differ, beside what chance gives. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_SIMILARITY_H
#define GEODEC_PERSPECTIVE_TERNARY_SIMILARITY_H

#include "ternary/trit.h"

typedef struct geodec_trit_similarity {
    int64_t weights, changed; /* of the three matrices; trits that differ */
    int64_t code[2][3];       /* trits -1, 0 and 1 of each expert */
    int64_t shifted;          /* control: trits that differ when the rows of the second are rotated by half of them and
                               * its columns by half of them, so that no weight meets its own place */
} geodec_trit_similarity;

/* Adds the payloads of a layer. GEODEC_NOMEM. */
geodec_status geodec_trit_similarity_add(const geodec_trit_shape *s, const uint8_t *a, const uint8_t *b,
                                         geodec_trit_similarity *sum, geodec_err *err) GEODEC_MUST_USE;
/* The expected share for independent trits of the same frequencies: 1 - sum of products; 62.5 % at 25, 50 and 25 %. */
double geodec_trit_similarity_independent(const geodec_trit_similarity *s);

#endif
