/* Classifies rejected drafts. For the first rejection of each round it counts the draft's rank and probability under
 * the model, stop tokens, the class of the token, the position in the draft and the part of the drafter that proposed
 * it. Each share of rejections is reported with the share of all reached drafts: a class is worse than others only
 * where the two differ.
 *
 * Greedy chains. The target and the drafter are wrapped; the decoding loop and its output are unchanged. */
#ifndef GEODEC_MEASURE_REJECTIONS_H
#define GEODEC_MEASURE_REJECTIONS_H

#include "decode/loop.h"
#include "tokenizer/tokenizer.h"

/* Rank of the draft in p: 2, 3 to 10, beyond. */
enum { GEODEC_REJECT_RANKS = 3 };
/* p(draft): below 1e-4, 1e-3, 1e-2, 0.1, and above. */
enum { GEODEC_REJECT_PROBABILITIES = 5 };
/* No stop token; the draft was a stop token; the model's own choice was a stop token. */
enum { GEODEC_REJECT_STOPS = 3 };
/* By text: punctuation or symbols, blanks alone, the start of a word (or a number), the inside of a word, other (bytes
 * and control). */
enum { GEODEC_TOKEN_CLASSES = 5 };
enum { GEODEC_REJECT_WARM_UP = 4 /* output tokens at the start, counted separately */ };

typedef struct geodec_rejections {
    int64_t rejected; /* first rejections */
    int64_t reached;  /* drafts examined */
    int64_t rank[GEODEC_REJECT_RANKS], probability[GEODEC_REJECT_PROBABILITIES], stop[GEODEC_REJECT_STOPS];
    /* [0] rejected, [1] reached */
    int64_t class[2][GEODEC_TOKEN_CLASSES], position[2][GEODEC_DRAFT_MAX], source[2][GEODEC_DRAFT_SOURCES_MAX],
        warm_up[2][2]; /* [after the warm-up, within it] */
} geodec_rejections;

/* class [vocab size of t], owned by the caller: the class of every token, by its piece. */
void geodec_rejections_token_classes(const geodec_tokenizer *t, uint8_t *class);

/* Decodes like geodec_decode with chains and without sampling, and adds to sum. class [n_vocab]. GEODEC_INVAL: the
 * options include sampling, a tree or a guard. */
geodec_status geodec_rejections_decode(const geodec_target *target, const int32_t *prompt, int64_t n,
                                       geodec_drafter *drafter, const geodec_decode_options *options,
                                       const uint8_t *class, geodec_rejections *sum, geodec_decoded *out,
                                       geodec_err *err) GEODEC_MUST_USE;

#endif
