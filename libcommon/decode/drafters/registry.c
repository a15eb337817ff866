#include "drafters/registry_internal.h"

#include "drafters/auto_drafter.h"
#include "drafters/flowmap_drafter.h"
#include "drafters/lookup_drafter.h"
#include "drafters/model_drafter.h"
#include "drafters/ngram_drafter.h"
#include "drafters/onedecode.h"
#include "drafters/recurrent.h"
#include "drafters/recycle_drafter.h"
#include "drafters/rollout.h"

#include <stdlib.h>
#include <string.h>

/* ---- files ------------------------------------------------------------------------------------------------------- */

#define DRAFTER_FILE(x, name_, width_, vocab_)                                                                         \
    static geodec_status x##_read(const geodec_artifact *a, void *table, geodec_err *err)                              \
    {                                                                                                                  \
        return geodec_##x##_read(a, table, err);                                                                       \
    }                                                                                                                  \
    static void x##_clear(void *table) { geodec_##x##_clear(table); }                                                  \
    static void x##_shape(const void *table, int64_t *width, int64_t *vocab)                                           \
    {                                                                                                                  \
        const geodec_##x *t = table;                                                                                   \
        *width = (width_);                                                                                             \
        *vocab = (vocab_);                                                                                             \
    }                                                                                                                  \
    static const geodec__drafter_file x##_file = {name_,    &geodec_##x##_kind, sizeof(geodec_##x),                    \
                                                  x##_read, x##_clear,          x##_shape};
#define ONEDECODE "onedecode.h5"
#define RECURRENT "recurrent.h5"
#define ROLLOUT "rollout.h5"
DRAFTER_FILE(onedecode, ONEDECODE, t->step.d, t->step.vocab)
DRAFTER_FILE(recurrent, RECURRENT, t->d, t->vocab)
DRAFTER_FILE(rollout, ROLLOUT, t->step.d, t->step.vocab)

/* ---- create ------------------------------------------------------------------------------------------------------ */

#define CREATE(name)                                                                                                   \
    static geodec_status create_##name(const geodec__ingredients *in, const geodec__drafter_row *row,                  \
                                       const void *table, int32_t blocks, geodec_drafter **out, geodec_err *err)
/* Defines a create function that is a single call. */
#define CREATE_BY(name, call)                                                                                          \
    CREATE(name)                                                                                                       \
    {                                                                                                                  \
        (void)in, (void)row, (void)table, (void)blocks, (void)err;                                                     \
        return (call);                                                                                                 \
    }
CREATE_BY(none, (*out = NULL, GEODEC_OK))
CREATE_BY(lookup, geodec_lookup_drafter_create(out, err))
CREATE_BY(recycle, geodec_recycle_drafter_create(geodec_model_configuration(in->model)->n_vocab, out, err))
CREATE_BY(bigram, geodec_ngram_drafter_create(in->bigram, 1, out, err))
CREATE_BY(ngram, geodec_ngram_drafter_create(in->ngram, GEODEC_NGRAM_ORDER, out, err))
CREATE_BY(onedecode, geodec_onedecode_drafter_create(table, out, err))
CREATE_BY(recurrent, geodec_recurrent_drafter_create(table, out, err))

CREATE(flowmap)
{
    (void)row, (void)table, (void)blocks;
    if (!in->map.scan) GEODEC_FAIL(GEODEC_INVAL, "the flowmap drafter was not opened");
    GEODEC_PASS(geodec_flowmap_drafter_create(&in->map, in->library, out, err));
    return GEODEC_OK;
}

CREATE(rollout)
{
    (void)in, (void)blocks;
    const geodec_rollout *r = table;
    const geodec_rollout_connection c = (geodec_rollout_connection)row->variant;
    return geodec_rollout_drafter_create(r, row->info.name, GEODEC_ROLLOUT_TOKEN, c, &r->trust[c], out, err);
}

static geodec_model_drafter_options model_options(const geodec__ingredients *in, const geodec__drafter_row *row)
{
    return (geodec_model_drafter_options){
        .name = row->info.name, .stochastic = (row->info.flags & GEODEC_DRAFTER_STOCHASTIC) != 0, .session = in->how};
}

CREATE(model)
{
    (void)table, (void)blocks;
    geodec_model_drafter_options o = model_options(in, row);
    o.session.arithmetic = in->second_arithmetic;
    if (!in->second) GEODEC_FAIL(GEODEC_INVAL, "drafter %s needs a draft model (--draft-model)", row->info.name);
    GEODEC_PASS(geodec_model_drafter_create(in->second, in->model, &o, out, err));
    return GEODEC_OK;
}

CREATE(exit)
{
    (void)table;
    geodec_model_drafter_options o = model_options(in, row);
    const int32_t layers = geodec_model_configuration(in->model)->n_layer;
    o.session.n_blocks = blocks > 0 ? blocks : in->sink;
    if (o.session.n_blocks < 1 || o.session.n_blocks > layers)
        GEODEC_FAIL(GEODEC_INVAL, "drafter %s:%d: the model has %d blocks", row->info.name, (int)o.session.n_blocks,
                    (int)layers);
    GEODEC_PASS(geodec_model_drafter_create(in->model, in->model, &o, out, err));
    return GEODEC_OK;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define MAP "flowmap.h5"
#define SECOND "--draft-model or --draft-projection"
enum {
    ALONE = GEODEC_DRAFTER_ALONE,
    TEXTS = GEODEC_DRAFTER_TEXTS,
    STOCHASTIC = GEODEC_DRAFTER_STOCHASTIC,
    CONTROL = GEODEC_DRAFTER_CONTROL,
    BLOCKS = GEODEC_DRAFTER_BLOCKS
};
/* name, source, needs, flags; create; other members that are not 0 */
#define ROW(name_, source_, needs_, flags_, create_, ...)                                                              \
    {                                                                                                                  \
        .info = {(name_), (source_), (needs_), (flags_)}, .create = (create_), __VA_ARGS__                             \
    }
#define ROLLOUT_OF(name_, source_, flags_, connection_)                                                                \
    ROW(name_, source_, ROLLOUT, flags_, create_rollout, .file = &rollout_file, .variant = (connection_))
const geodec__drafter_row geodec__registry[] = {
    ROW("none", "nothing", "", ALONE, create_none),
    ROW("auto", "the drafter that does best of lookup, ngram, flowmap and ngram+flowmap", "", ALONE | TEXTS, NULL),
    ROW("lookup", "the text so far: what followed its longest suffix", "", 0, create_lookup),
    ROW("recycle", "candidates of earlier passes", "", 0, create_recycle),
    ROW("bigram", "counts of the text so far and of the texts of " MAP ", contexts of 1 token", "", TEXTS,
        create_bigram),
    ROW("ngram", "the same, contexts of up to 8 tokens", "", TEXTS, create_ngram),
    ROW("flowmap", "states of stored texts and the tokens that followed them", MAP, 0, create_flowmap, .weight = 20),
    ROW("onedecode", "counts of next tokens in cells of states", ONEDECODE, 0, create_onedecode,
        .file = &onedecode_file),
    ROW("recurrent", "a small recurrent net of states and tokens", RECURRENT, 0, create_recurrent,
        .file = &recurrent_file, .weight = 20),
    ROLLOUT_OF("rollout", "a geometric rollout of states", 0, GEODEC_ROLLOUT_FITTED),
    ROLLOUT_OF("rollout-flat", "the same along straight lines", CONTROL, GEODEC_ROLLOUT_FLAT),
    ROLLOUT_OF("rollout-random", "the same with a random connection", CONTROL, GEODEC_ROLLOUT_RANDOM),
    ROW("model", "a second model whose common tokens are the same pieces, argmax", SECOND, 0, create_model),
    ROW("model-sampled", "a second model, sampled", SECOND, STOCHASTIC, create_model),
    ROW("exit", "the model's own first blocks: N, or up to the depth sink", "", BLOCKS, create_exit),
    ROW("exit-sampled", "the same, sampled", "", BLOCKS | STOCHASTIC, create_exit),
};
const int geodec__registry_count = sizeof geodec__registry / sizeof *geodec__registry;

const geodec_drafter_info *geodec_registry_at(int i)
{
    return i >= 0 && i < geodec__registry_count ? &geodec__registry[i].info : NULL;
}

const geodec__drafter_row *geodec__registry_find(const char *name, int32_t *blocks)
{
    const size_t n = strcspn(name, ":");
    *blocks = 0;
    for (int i = 0; i < geodec__registry_count; i++) {
        const geodec__drafter_row *row = &geodec__registry[i];
        if (strlen(row->info.name) != n || strncmp(row->info.name, name, n) != 0) continue;
        if (name[n] == '\0') return row;
        char *end;
        const long given = strtol(name + n + 1, &end, 10);
        const bool digits = name[n + 1] >= '1' && name[n + 1] <= '9' && *end == '\0' && given < 1 << 16;
        *blocks = (int32_t)given;
        return (row->info.flags & GEODEC_DRAFTER_BLOCKS) && digits ? row : NULL;
    }
    return NULL;
}
