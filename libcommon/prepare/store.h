/* The texts of a model's drafting tables, their states, and the flow map made of them, in one process.
 *
 * All of it happens in FOLDER/.work, which is removed at the end; the map is renamed into FOLDER when it is whole. A
 * run that was stopped has left there what it asked for (plan.json) and the texts sampled so far (sample.tokens,
 * written every two seconds): the same request goes on behind them, another one starts anew. Text i depends on the
 * model, the seed and i alone. */
#ifndef GEODEC_PREPARE_STORE_H
#define GEODEC_PREPARE_STORE_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "documents/documents.h"
#include "flowmap/map.h"
#include "model/model.h"
#include "prepare/plan.h"

typedef struct geodec_prepare {
    const geodec_model *model;
    const char *folder;                /* exists */
    const geodec_documents *documents; /* read before the model's own texts; NULL = none */
    uint64_t seed;
    geodec_arithmetic arithmetic;
    double seconds; /* the time given */
    /* 0: by the time. With texts or text_tokens above 0 the sizes are given, and the time does not matter: exactly so
     * many texts of `length` (0: min(context, 256)) tokens at most are sampled, and the text given is read up to
     * text_tokens (0: GEODEC_PREPARE_TOKENS_MAX). */
    int64_t texts, text_tokens;
    int32_t length;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} geodec_prepare;

typedef struct geodec_prepare_store {
    geodec_prepare_plan plan;
    geodec_prepare_speed speed; /* 0 where the plan was not made by it */
    int64_t texts;              /* sampled: 0 .. texts - 1 */
    int64_t sampled;            /* tokens of them */
    int64_t resumed;            /* texts of them that an earlier run left */
    geodec_flowmap_summary map;
} geodec_prepare_store;

/* Tokens of the documents given, counted up to GEODEC_PREPARE_TOKENS_MAX. */
GEODEC_API geodec_status geodec_prepare_text_tokens(const geodec_prepare *p, int64_t *tokens,
                                                    geodec_err *err) GEODEC_MUST_USE;
/* Measures the speed of sampling and reading, in about 4 % of the time given. */
GEODEC_API geodec_status geodec_prepare_measure(const geodec_prepare *p, geodec_prepare_speed *speed,
                                                geodec_err *err) GEODEC_MUST_USE;
/* Takes up the plan of an earlier run of the same request, or measures and makes one. */
GEODEC_API geodec_status geodec_prepare_begin(const geodec_prepare *p, geodec_prepare_store *s,
                                              geodec_err *err) GEODEC_MUST_USE;
/* Samples texts until their tokens are as many as planned (p->texts > 0: exactly so many texts), or the time of
 * sampling is over and there is enough for a map. GEODEC_SCARCE: the texts end too early for a map. */
GEODEC_API geodec_status geodec_prepare_sample(const geodec_prepare *p, geodec_prepare_store *s,
                                               geodec_err *err) GEODEC_MUST_USE;
/* Reads all texts and bakes FOLDER/flowmap.h5, which carries `provenance`. */
GEODEC_API geodec_status geodec_prepare_bake(const geodec_prepare *p, const geodec_provenance *provenance,
                                             geodec_prepare_store *s, geodec_err *err) GEODEC_MUST_USE;
/* Removes FOLDER/.work. */
GEODEC_API geodec_status geodec_prepare_end(const geodec_prepare *p, geodec_err *err) GEODEC_MUST_USE;

#endif
