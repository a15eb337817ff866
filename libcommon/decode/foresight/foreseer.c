#include "foresight/foreseer.h"

#include "base/mem.h"
#include "foresight/foresight.h"
#include "foresight/recall.h"

geodec_status geodec_foreseer_map_open(const char *map, const char *foresight, const geodec_model *m,
                                       geodec_foreseer_map *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL, *b = NULL;
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec_foreseer_map f = {0};
    GEODEC_TRY(geodec_artifact_open(&geodec_flowmap_kind, map, &a, err));
    GEODEC_TRY(geodec_flowmap_read(a, &f.map, err));
    GEODEC_TRY_MSG(geodec_flowmap_match(&f.map, geodec_model_fingerprint(m),
                                        geodec_tokenizer_fingerprint(geodec_model_tokenizer(m)), err),
                   "%s", map);
    if (f.map.routes.layers != c->n_layer || f.map.routes.experts != c->n_expert)
        GEODEC_THROW(GEODEC_UNSUPPORTED,
                     "%s: no routes of %d layers of %d experts; bake it from an export of this model", map, c->n_layer,
                     c->n_expert);
    if (foresight) {
        GEODEC_TRY(geodec_artifact_open(&geodec_foresight_kind, foresight, &b, err));
        f.mixed = true;
        GEODEC_TRY_MSG(geodec_recall_read_mixture(b, c->n_layer, &f.mixture, err), "%s", foresight);
    }
    GEODEC_MOVE(*out, f);
done:
    geodec_artifact_close(a);
    geodec_artifact_close(b);
    geodec_foreseer_map_close(&f);
    return st;
}

void geodec_foreseer_map_close(geodec_foreseer_map *f)
{
    geodec_flowmap_clear(&f->map);
    geodec_mixture_clear(&f->mixture);
    f->mixed = false;
}

static void begin(void *ctx) { geodec_foresight_begin(ctx); }
static void observe(void *ctx, int32_t token, const float *state) { geodec_foresight_observe(ctx, token, state); }
static void remember(void *ctx, int32_t token, const int32_t *expert) { geodec_foresight_remember(ctx, token, expert); }
static void expect(void *ctx, int32_t token, float *share) { geodec_foresight_expect(ctx, token, share); }
static void ask(void *ctx, int32_t token, bool with_state, float *probability)
{
    geodec_foresight_ask(ctx, token, with_state, probability);
}
static void mix(void *ctx, int32_t blocks, int32_t layer, const float *early, const float *logit, float *out)
{
    geodec_foresight_mix(ctx, blocks ? GEODEC_ROUTES_EXPERTS : GEODEC_ROUTES_BLOCK, layer, early, logit, out);
}
static void destroy(void *ctx) { geodec_foresight_destroy(ctx); }

geodec_status geodec_foreseer_of(void *map, geodec_foreseer *out, geodec_err *err)
{
    const geodec_foreseer_map *f = map;
    geodec_foresight *ctx;
    GEODEC_PASS(geodec_foresight_create(&f->map, f->mixed ? &f->mixture : NULL, &ctx, err));
    *out = (geodec_foreseer){.ctx = ctx,
                             .begin = begin,
                             .observe = observe,
                             .ask = ask,
                             .mix = mix,
                             .remember = remember,
                             .expect = expect,
                             .destroy = destroy};
    return GEODEC_OK;
}
