/* Decoding of the published runtime (geodesic speculative decoding, 2026): its counters, its rule for the length of
 * drafts (lengths.h), and the sets of options that it names.
 *
 * The counters are replayed on any model and show that its acceptance rate is a constant. Its loop runs the verifier
 * alone for 4 warm-up tokens. Then, in each round, draft slot 0 is the argmax of the current logits, "verified" against
 * the same logits by logit(d) >= max - 2.8, which cannot fail; it is forwarded and counted as an accepted draft. The
 * argmax of the row after it, the correction or bonus, is counted as the verifier's. Later slots stay empty: they need
 * a bigram seen twice, or learned trajectories. The rate depends only on the number n of tokens: (n - 4) / 2 rounded
 * up, divided by n; 30 of 64 = 46.9 %, 5 of 13 = 38.5 %. Every token costs a pass. */
#ifndef GEODEC_LAB_PUBLISHED_DECODING_H
#define GEODEC_LAB_PUBLISHED_DECODING_H

#include "base/err.h"
#include "geodec/decode.h"

typedef struct geodec_counters_published {
    int64_t tokens;        /* emitted */
    int64_t geo_accepted;  /* tokens counted as accepted drafts */
    int64_t xfmr;          /* tokens counted as the verifier's own */
    int64_t target_passes; /* without the prompt's, counted by the target */
    double acceptance;     /* geo_accepted / tokens, as printed by the published runtime */
} geodec_counters_published;

/* Empties the cache, prefills prompt [n], n >= 1, and writes n_tokens >= 1 tokens. Stop tokens do not end it, because
 * the published figures are those of full runs. GEODEC_SCARCE: prompt and tokens do not fit the context. */
geodec_status geodec_decoding_published_replay(const geodec_target *target, const int32_t *prompt, int64_t n,
                                               int64_t n_tokens, geodec_counters_published *out,
                                               geodec_err *err) GEODEC_MUST_USE;

/* A drafter with the drafts of another, as many in each round as the published rule says: chains, not with the adaptive
 * length or a gate. most: first and largest length. inner: taken over, also on failure. GEODEC_INVAL: it samples its
 * drafts. */
geodec_status geodec_decoding_published_drafter_create(int32_t most, geodec_drafter *inner, geodec_drafter **out,
                                                       geodec_err *err) GEODEC_MUST_USE;

/* What the published runtime combines under a name, as options of geodec-decode. Its "geometry" is the rollout drafter,
 * its "batch" the draft length. */
enum { GEODEC_OPTIONS_PUBLISHED = 5 };
typedef struct geodec_options_published {
    const char *name, *options;
} geodec_options_published;
extern const geodec_options_published geodec_decoding_published_options[GEODEC_OPTIONS_PUBLISHED];

#endif
