/* The exact verification walk for deterministic drafts (the drafter's distribution is a point mass).
 *
 * Leviathan et al. 2023 and Chen et al. 2023 accept a draft x with probability min(1, p(x)/q(x)) and otherwise sample
 * from norm(max(0, p - q)). For a point mass this is equivalent to: sample y ~ p; if y equals the draft, continue, else
 * emit y and stop. In a tree: continue with the child whose token is y, if there is one; this happens with the sum of p
 * over the children as probability. With one uniform number per output index the emitted tokens are those of plain
 * sampling, bit for bit, for any tree. */
#ifndef GEODEC_DECODE_VERIFY_H
#define GEODEC_DECODE_VERIFY_H

#include "base/err.h"
#include "decode/guard.h"
#include "decode/sampler.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_verdict {
    int32_t tokens;   /* decided tokens, >= 1; all but the last equal the drafts of the walk */
    int32_t accepted; /* drafts equal to the target's own token: tokens - 1, or tokens when a drafted stop token ended
                         the walk */
    int32_t next;     /* the last token: correction, bonus, or a stop token */
    bool stopped;     /* next is a stop token; nothing after it was examined */
} geodec_verdict;

/* Row 0 of logits [n+1][n_vocab] is that of the newest token and decides output token `index`; row i+1 is that of draft
 * i. Rows that are reached are masked in place. token, parent [n]: drafts in an order with parents first, parent -1 =
 * follows the newest token; parent NULL = a chain. Siblings must differ (the first of equal ones is taken). argmax
 * [n+1]: most probable token of every reached row after the guard (others untouched); may be NULL. path [n+1]: rows in
 * the order of the walk: path[0] = 0, then the rows of the `accepted` accepted drafts. */
geodec_status geodec_verify_tree(geodec_sampler *s, const geodec_guard *guard, int64_t index, float *logits,
                                 int32_t n_vocab, const int32_t *token, const int32_t *parent, int32_t n,
                                 int32_t *argmax, int32_t *path, geodec_verdict *out, geodec_err *err) GEODEC_MUST_USE;

#endif
