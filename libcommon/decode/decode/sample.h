/* Texts sampled from a model; the store of the flow map is built from them.
 *
 * Text i is a pure function of (seed, i): it begins with BOS, every further token is sampled from the model's
 * distribution (decode/sampler.h, with a separate seed for each text), and it ends at a token that ends texts
 * (geodec_tokenizer_is_end) or at `length` tokens. Texts are independent: each task of the pool samples one text with
 * its own session, and the texts are delivered in order. */
#ifndef GEODEC_DECODE_SAMPLE_H
#define GEODEC_DECODE_SAMPLE_H

#include "base/hooks.h"
#include "base/pool.h"
#include "decode/penalty.h"
#include "decode/sampler.h"
#include "session/model.h"

#include <stdint.h>

typedef struct geodec_sample_options {
    int64_t texts;  /* >= 1 */
    int64_t first;  /* number of the first text: the texts of shards are those of one run */
    int32_t length; /* most tokens of a text, BOS included; >= 2 */
    double temperature;
    int32_t top_k;
    double top_p, min_p;
    geodec_penalty_options penalty; /* all 0: none */
    uint64_t seed;
    geodec_arithmetic arithmetic;
    geodec_kv_type kv;
} geodec_sample_options;

/* Called from the caller's thread, in order; token [n] with BOS, without the end. */
typedef geodec_status (*geodec_sample_fn)(void *ctx, int64_t text, const int32_t *token, int32_t n, geodec_err *err);

/* GEODEC_UNSUPPORTED when the tokenizer has no BOS. */
geodec_status geodec_sample_run(const geodec_model *m, const geodec_sample_options *o, geodec_sample_fn take, void *ctx,
                                geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
