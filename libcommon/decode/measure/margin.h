/* EXPERIMENT, never used to decode: the acceptance rule of the published results (geodesic speculative decoding, 2026).
 * A draft d is kept when logit(d) >= largest logit - margin; at the published margin of 2.8 this means p(d) >= 0.061
 * p(top). The output is neither the greedy text nor a sample from the model. The experiment measures the cost: the
 * model's perplexity on the output, and the number of tokens that differ from greedy decoding. Margin 0 is exact greedy
 * decoding, the control.
 *
 * The target raises the logit of a kept draft above the largest; the loop (decode/loop.h) stays exact. Chains only. */
#ifndef GEODEC_MEASURE_MARGIN_H
#define GEODEC_MEASURE_MARGIN_H

#include "linalg/stats.h"
#include "measure/bench.h"

enum { GEODEC_MARGINS = 5 };
extern const double geodec_margin_all[GEODEC_MARGINS]; /* 0, .5, 1, 2, 2.8 nat */

/* One drafter and one margin over all prompts. */
typedef struct geodec_margin_row {
    int64_t written, decided, passes; /* decided: written tokens and the stop tokens */
    int64_t different;                /* places whose token differs from greedy decoding, including places that only the
                                         longer text has */
    int64_t departed;                 /* decided tokens that are not the model's argmax at their place */
    geodec_estimate perplexity;       /* of the decided tokens under the model, bootstrap over prompts */
} geodec_margin_row;

/* plan: prompts, tokens, drafters (no oracle), seed, resamples, hooks; chains of its largest draft length. out
 * [n_drafters][GEODEC_MARGINS]. GEODEC_INTERNAL: margin 0 differs from greedy decoding. */
geodec_status geodec_margin_count(const geodec_bench_plan *plan, const geodec_target *target, geodec_margin_row *out,
                                  geodec_err *err) GEODEC_MUST_USE;

/* Decodes one request with the rule; like geodec_decode, greedy, without trees. */
geodec_status geodec_margin_decode(const geodec_target *target, double margin, const int32_t *prompt, int64_t n,
                                   geodec_drafter *drafter, const geodec_decode_options *options, geodec_decoded *out,
                                   geodec_err *err) GEODEC_MUST_USE;

#endif
