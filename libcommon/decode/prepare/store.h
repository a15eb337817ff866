/* The texts of a model's drafting artifacts, their states, and the flow map baked from them, in one process.
 *
 * Work files are in FOLDER/.work, which is removed at the end; the finished map is renamed into FOLDER. An interrupted
 * run leaves its request (plan.json) and the texts sampled so far (sample.tokens, written every two seconds): the same
 * request resumes, another one starts from the beginning. Text i depends on the model, the seed and i alone. */
#ifndef GEODEC_PREPARE_STORE_H
#define GEODEC_PREPARE_STORE_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "documents/documents.h"
#include "flowmap/map.h"
#include "prepare/plan.h"
#include "session/model.h"

typedef struct geodec_prepare {
    const geodec_model *model;
    const char *folder;                /* exists */
    const geodec_documents *documents; /* read before the model's own texts; NULL = none */
    uint64_t seed;
    geodec_arithmetic arithmetic;
    double seconds; /* the given time */
    /* 0: sizes follow from the time. With texts or text_tokens above 0 the sizes are fixed and the time is ignored:
     * exactly `texts` texts of at most `length` (0: min(context, 256)) tokens are sampled, and the given text is read
     * up to text_tokens (0: GEODEC_PREPARE_TOKENS_MAX). */
    int64_t texts, text_tokens;
    int32_t length;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} geodec_prepare;

typedef struct geodec_prepare_store {
    geodec_prepare_plan plan;
    geodec_prepare_speed speed; /* 0 when the plan does not depend on the time */
    int64_t texts;              /* sampled: 0 .. texts - 1 */
    int64_t sampled;            /* their tokens */
    int64_t resumed;            /* texts among them that an earlier run left */
    geodec_flowmap_summary map;
} geodec_prepare_store;

/* Loads the plan of an earlier run of the same request, or measures and makes one. */
geodec_status geodec_prepare_begin(const geodec_prepare *p, geodec_prepare_store *s, geodec_err *err) GEODEC_MUST_USE;
/* Samples texts up to the planned tokens (p->texts > 0: exactly this many texts), or until the time for sampling is
 * over and the texts suffice for a map. GEODEC_SCARCE: the texts end too early for a map. */
geodec_status geodec_prepare_sample(const geodec_prepare *p, geodec_prepare_store *s, geodec_err *err) GEODEC_MUST_USE;
/* Reads all texts and bakes FOLDER/flowmap.h5 with `provenance`. */
geodec_status geodec_prepare_bake(const geodec_prepare *p, const geodec_provenance *provenance, geodec_prepare_store *s,
                                  geodec_err *err) GEODEC_MUST_USE;
/* Removes FOLDER/.work. */
geodec_status geodec_prepare_end(const geodec_prepare *p, geodec_err *err) GEODEC_MUST_USE;

#endif
