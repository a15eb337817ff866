/* The exact verification walk for a chain of deterministic drafts (the drafter's distribution is a point mass).
 *
 * Leviathan et al. 2023 and Chen et al. 2023 accept a draft x with probability min(1, p(x)/q(x)) and otherwise sample
 * from norm(max(0, p - q)). For a point mass that is the same as: draw y ~ p; if y equals the draft go on, else emit y
 * and stop. With one uniform number per output index the emitted tokens are those of plain sampling, bit for bit. */
#ifndef GEODEC_DECODE_VERIFY_H
#define GEODEC_DECODE_VERIFY_H

#include "base/err.h"
#include "decode/guard.h"
#include "decode/sampler.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_verdict {
    int32_t draws;    /* rows drawn, 1 .. n+1; draws 0 .. draws-2 equal their drafts */
    int32_t accepted; /* drafts equal to the target's own draw, in 0 .. n: draws - 1, or draws when a drafted stop token
                         ended it */
    int32_t next;     /* the last draw: correction, bonus, or a stop token */
    bool stopped;     /* next is a stop token; drafts after it were not looked at */
} geodec_verdict;

/* logits [n+1][n_vocab]: row i decides output index + i; rows that are reached are masked in place. draft [n].
 * argmax [n+1]: most probable token of every reached row after the guard (others untouched); may be NULL. */
GEODEC_API geodec_status geodec_verify_chain(geodec_sampler *s, const geodec_guard *guard, int64_t index, float *logits,
                                             int32_t n_vocab, const int32_t *draft, int32_t n, int32_t *argmax,
                                             geodec_verdict *out, geodec_err *err) GEODEC_MUST_USE;

#endif
