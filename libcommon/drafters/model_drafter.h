/* A model as the drafter of another (Leviathan et al. 2023), or the first blocks of a model as its own (early exit,
 * LayerSkip: Elhoushi et al. 2024; Draft & Verify: Zhang et al. 2024; here with the final norm and head unchanged, so
 * without training). It has a session and a cache of its own; after a rejection it cuts the cache back to the common
 * prefix and replays the correction with the next draft.
 *
 * Chains are its most probable tokens, trees grow best first by its probabilities. The stochastic variant samples from
 * its distribution, processed as the target's is, when the output is sampled (drafter.h). Its trees then have a shape
 * that is fixed before anything is sampled: the k-th child of a node is assumed to have the probability a (1 - a)^k, a
 * = 0.7 (acceptance by rank, as in Sequoia: Chen et al. 2024). */
#ifndef GEODEC_DRAFTERS_MODEL_DRAFTER_H
#define GEODEC_DRAFTERS_MODEL_DRAFTER_H

#include "decode/drafter.h"
#include "model/model.h"

typedef struct geodec_model_drafter_options {
    const char *name; /* of the drafter, borrowed */
    bool stochastic;
    geodec_session_options session; /* n_ctx: texts that outgrow it get no drafts; n_blocks: of an early exit */
} geodec_model_drafter_options;

/* GEODEC_CHECKSUM when the tokenizers of the two models differ: their ids would not mean the same. m and target may be
 * the same; both are borrowed. */
GEODEC_API geodec_status geodec_model_drafter_create(const geodec_model *m, const geodec_model *target,
                                                     const geodec_model_drafter_options *o, geodec_drafter **out,
                                                     geodec_err *err) GEODEC_MUST_USE;

#endif
