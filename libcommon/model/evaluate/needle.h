/* Retrieval by depth: a sentence (the needle) is put into another text, and its beginning is repeated at the end. Does
 * the model continue with the rest of it?
 *
 * A trial reads BOS, then window - 1 tokens: text with a needle of `needle` tokens from elsewhere in it at one of the
 * depths, and the needle's first `cue` tokens at the end. The rest of the needle is then given token by token, and each
 * token that is the model's argmax is a hit. The control is the same trial without the needle: the hits from the cue
 * and the language alone. Slices and needles are random; the same seed gives every evaluation the same trials. */
#ifndef GEODEC_EVALUATE_NEEDLE_H
#define GEODEC_EVALUATE_NEEDLE_H

#include "base/hooks.h"
#include "base/pool.h"
#include "evaluate/scorer.h"
#include "linalg/stats.h"

#include <stddef.h>
#include <stdio.h>

typedef struct geodec_needle_options {
    int32_t window;      /* tokens in all, with the needle's rest */
    int32_t needle, cue; /* 1 <= cue < needle <= window / 4 */
    int32_t depths;      /* >= 1, at equal distances from the beginning to just before the cue */
    int32_t trials;      /* trials of each depth */
    uint64_t seed;
} geodec_needle_options;
geodec_needle_options geodec_needle_defaults(void);

typedef struct geodec_needle_depth {
    double depth;         /* share of the text before the needle */
    geodec_estimate hits; /* share of the needle's rest, with its 95 % bootstrap interval over trials */
    geodec_estimate control;
} geodec_needle_depth;

typedef struct geodec_needle_result {
    int32_t depths;
    geodec_needle_depth *depth;    /* [depths] */
    geodec_estimate hits, control; /* over all depths */
} geodec_needle_result;
void geodec_needle_free(geodec_needle_result *r);

/* Results repeat byte for byte with the same seed. GEODEC_RANGE (options), GEODEC_FORMAT (empty, not UTF-8),
 * GEODEC_SCARCE (shorter than two windows), GEODEC_NOMEM. */
geodec_status geodec_needle_run(const geodec_scorer_evaluation *e, const geodec_needle_options *o, const char *text,
                                size_t n, const geodec_hooks *hooks, geodec_needle_result *out,
                                geodec_err *err) GEODEC_MUST_USE;

/* A table with a row a depth, and one over all. */
geodec_status geodec_needle_table(FILE *out, const geodec_needle_result *r, geodec_err *err) GEODEC_MUST_USE;

#endif
