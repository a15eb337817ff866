/* Recombination of the residual stream over depth in a trained model: the papers' AttnRes, as three options of a
 * session that are off by default, and a control. Attention residuals (Kimi Team 2026, arXiv:2603.15031;
 * docs/references.md) are learned with the model; here nothing is trained.
 *
 * Layers l = 0 .. L-1 of the whole model, f = (l + 1) / L, s = strength, x the residual stream.
 *
 *   damp           the papers' runtime: after attention x *= max(0.70, 1 - 0.12 s f), after the feed-forward
 *                  x *= max(0.65, 1 - 0.18 s f). It discounts the output of early layers.
 *   rescale        control of damp: x keeps its direction and takes the length of the damped stream. RMS norms remove
 *                  it again, so this changes only rounding: the effect of damp is the discount.
 *   depth_attn     the papers' second switch: after layer l > 0, with x_p the streams after the layers p of the last
 *                  `window` before l (as they were before mixing), a_p = softmax_p(6 cos(x, x_p)), w = min(0.85, s f):
 *                  x = (1 - w) x + w sum_p a_p x_p.
 *   block_softmax  the papers' formula. The layers form N blocks of about equal length; b_0 = embedding, b_n = sum of
 *                  the outputs of block n (so far). Every norm, and the head's, reads instead of their sum x
 *                  h = (1 - s) x + s g sum_n a_n b_n, a = softmax_n(q . k_n / (tau sqrt d)), k_n = RMSnorm(b_n),
 *                  q = RMSnorm(x), or zero (equal weights); g = |x| / |sum_n a_n b_n|, or the test would be one of
 *                  rescaling. x itself stays the plain sum.
 *
 * damp and depth_attn may be combined, as in the papers' "theorem mode". Strength 0 is off, bit for bit. A row's result
 * depends on that row alone: logits stay the same in any batch and with any number of threads. */
#ifndef GEODEC_MODEL_ATTNRES_H
#define GEODEC_MODEL_ATTNRES_H

#include "base/err.h"
#include "geodec/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GEODEC_ATTNRES_WINDOW = 64, GEODEC_ATTNRES_BLOCKS = 64, GEODEC_ATTNRES_TEXT = 160 };

bool geodec_attnres_on(const geodec_attnres *a);
/* NAME:STRENGTH and optional keys, parts joined by '+':
 *   damp:0.35   rescale:0.35   depth_attn:0.55   depth_attn:0.55:window=16   damp:0.45+depth_attn:0.55
 *   block_softmax:0.35   block_softmax:0.35:blocks=8:tau=1:query=zero
 * Defaults: window 16, blocks 8, tau 1, query state. NULL or "off": off. GEODEC_INVAL. */
geodec_status geodec_attnres_parse(const char *text, geodec_attnres *out, geodec_err *err) GEODEC_MUST_USE;
/* The text with all keys, "off" when nothing is on. */
void geodec_attnres_text(const geodec_attnres *a, char text[GEODEC_ATTNRES_TEXT]);

#endif
