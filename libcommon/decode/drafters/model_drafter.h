/* A model as the drafter of another model (Leviathan et al. 2023), or the first blocks of a model as its own drafter
 * (early exit, LayerSkip: Elhoushi et al. 2024; Draft & Verify: Zhang et al. 2024; here without training, with the
 * final norm and head unchanged). The drafter has its own session and cache. After a rejection it truncates the cache
 * to the common prefix and forwards the correction with the next draft.
 *
 * Chains consist of its most probable tokens; trees grow best first by its probabilities. When the output is sampled,
 * the stochastic variant samples from its own distribution, processed like that of the target (drafter.h). The shape of
 * its trees is then fixed before any token is sampled: the k-th child of a node is assumed to have the probability a (1
 * - a)^k, a = 0.7 (acceptance by rank, as in Sequoia: Chen et al. 2024). */
#ifndef GEODEC_DRAFTERS_MODEL_DRAFTER_H
#define GEODEC_DRAFTERS_MODEL_DRAFTER_H

#include "decode/drafter.h"
#include "session/model.h"

typedef struct geodec_model_drafter_options {
    const char *name; /* name of the drafter, borrowed */
    bool stochastic;
    geodec_session_options session; /* n_ctx: longer texts get no drafts; n_blocks: number of blocks of an early exit */
} geodec_model_drafter_options;

/* GEODEC_CHECKSUM, with the number of differing tokens and the first, when an id of both vocabularies is another piece
 * in each: drafts would mean other tokens. Nothing else matters, because the target verifies every draft: types,
 * special tokens, and tokens after the end of the shorter vocabulary, which are never drafted. */
geodec_status geodec_model_drafter_check(const geodec_model *m, const geodec_model *target,
                                         geodec_err *err) GEODEC_MUST_USE;
/* Errors as of geodec_model_drafter_check. m and target may be the same model; both are borrowed. */
geodec_status geodec_model_drafter_create(const geodec_model *m, const geodec_model *target,
                                          const geodec_model_drafter_options *o, geodec_drafter **out,
                                          geodec_err *err) GEODEC_MUST_USE;

#endif
