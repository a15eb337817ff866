#include "drafters/drafting_models.h"

#include "drafters/draft_model.h"

#include <stdlib.h>
#include <string.h>

typedef struct kind {
    bool exit, stochastic;
    int32_t blocks; /* of an exit; 0 = the depth sink */
} kind;

static bool parse(const char *name, kind *out)
{
    static const struct {
        const char *name;
        kind kind;
    } words[] = {{"model", {false, false, 0}},
                 {"model-sampled", {false, true, 0}},
                 {"exit", {true, false, 0}},
                 {"exit-sampled", {true, true, 0}}};
    const size_t n = strcspn(name, ":");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].name) != n || strncmp(name, words[i].name, n) != 0) continue;
        *out = words[i].kind;
        if (name[n] == '\0') return true;
        char *end;
        const long blocks = strtol(name + n + 1, &end, 10);
        out->blocks = (int32_t)blocks;
        return out->exit && name[n + 1] >= '1' && name[n + 1] <= '9' && *end == '\0' && blocks < 1 << 16;
    }
    return false;
}

bool geodec__models_know(const char *name)
{
    kind k;
    return parse(name, &k);
}

bool geodec__models_want_sink(const char *name)
{
    kind k;
    return parse(name, &k) && k.exit && k.blocks == 0;
}

geodec_status geodec__models_create(const drafting_models *d, const geodec_model *target, const char *name,
                                    geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    kind k;
    if (!parse(name, &k)) GEODEC_THROW(GEODEC_INVAL, "unknown drafter '%s'", name);
    geodec_model_drafter_options o = {.stochastic = k.stochastic, .session = d->how};
    if (k.exit) {
        const int32_t layers = geodec_model_configuration(target)->n_layer;
        o.name = k.stochastic ? "exit-sampled" : "exit";
        o.session.n_blocks = k.blocks > 0 ? k.blocks : d->sink;
        if (o.session.n_blocks < 1 || o.session.n_blocks > layers)
            GEODEC_THROW(GEODEC_INVAL, "drafter %s: the model has %d blocks", name, layers);
        GEODEC_TRY(geodec_model_drafter_create(target, target, &o, out, err));
    } else {
        o.name = k.stochastic ? "model-sampled" : "model";
        if (!d->second) GEODEC_THROW(GEODEC_INVAL, "drafter %s needs a second model (--draft-model)", name);
        o.session.arithmetic = d->second_arithmetic;
        GEODEC_TRY(geodec_model_drafter_create(d->second, target, &o, out, err));
    }
done:
    return st;
}
