/* The counters of the published runtime (geodesic speculative decoding, 2026), replayed on any model. They show that
 * its acceptance rate is a constant.
 *
 * Its loop runs the verifier alone for 4 warm-up tokens. Then, in each round, draft slot 0 is the argmax of the current
 * logits, "verified" against the same logits by logit(d) >= max - 2.8, which cannot fail; it is forwarded and counted
 * as an accepted draft. The argmax of the row after it, the correction or bonus, is counted as the verifier's. Later
 * slots stay empty: they need a bigram seen twice, or learned trajectories. The rate depends only on the number n of
 * tokens: (n - 4) / 2 rounded up, divided by n; 30 of 64 = 46.9 %, 5 of 13 = 38.5 %. Every token costs a pass. Used in
 * tests and the report, never to decode. */
#ifndef GEODEC_MEASURE_COMPAT_COUNTERS_H
#define GEODEC_MEASURE_COMPAT_COUNTERS_H

#include "base/err.h"
#include "geodec/decode.h"

typedef struct geodec_compat_counters {
    int64_t tokens;        /* emitted */
    int64_t geo_accepted;  /* tokens counted as accepted drafts */
    int64_t xfmr;          /* tokens counted as the verifier's own */
    int64_t target_passes; /* without the prompt's, counted by the target */
    double acceptance;     /* geo_accepted / tokens, as printed by the published runtime */
} geodec_compat_counters;

/* Empties the cache, prefills prompt [n], n >= 1, and writes n_tokens >= 1 tokens. Stop tokens do not end it, because
 * the published figures are those of full runs. GEODEC_SCARCE: prompt and tokens do not fit the context. */
geodec_status geodec_compat_replay(const geodec_target *target, const int32_t *prompt, int64_t n, int64_t n_tokens,
                                   geodec_compat_counters *out, geodec_err *err) GEODEC_MUST_USE;

#endif
