#include "foresight/foresight.h"

#include "base/mem.h"
#include "flowmap/route.h"
#include "foresight/memory_internal.h"

#include <string.h>

/* With 16 leaves the recall of 2 experts is .001 lower than with all, with 24 the same (docs/results/foresight.md). */
enum { LEAVES = 24 };

struct geodec_foresight {
    const geodec_flowmap *map;
    const geodec_mixture *mixture;
    float *z, *feature;
    int32_t *scratch;
    int32_t before; /* token of the last row, -1 = none */
    bool known;     /* whether a row has been observed */
    geodec__foresight_memory *memory;
    /* the last search, for the next question about the same token */
    int32_t asked, n; /* asked -1: none */
    int8_t key[GEODEC_FLOW_DIMS_MAX];
    geodec_flowmap_hit hit[GEODEC_ROUTE_NEIGHBOURS];
};

geodec_status geodec_foresight_create(const geodec_flowmap *map, const geodec_mixture *mixture, geodec_foresight **out,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_foresight *f = NULL;
    if (!geodec_flowmap_route_known(map))
        GEODEC_THROW(GEODEC_UNSUPPORTED, "the flow map has no routes: bake it again from an export of a model with "
                                         "experts");
    GEODEC_NEW(f, 1);
    f->map = map;
    f->mixture = mixture;
    f->before = f->asked = -1;
    GEODEC_TRY(geodec__foresight_memory_create(map, &f->memory, err));
    GEODEC_NEW(f->z, map->m);
    GEODEC_NEW(f->feature, map->features);
    GEODEC_NEW(f->scratch, geodec_flowmap_room(map));
    *out = f;
    f = NULL;
done:
    geodec_foresight_destroy(f);
    return st;
}

void geodec_foresight_destroy(geodec_foresight *f)
{
    if (!f) return;
    geodec__foresight_memory_destroy(f->memory);
    GEODEC_FREE(f->z, f->feature, f->scratch, f);
}

void geodec_foresight_begin(geodec_foresight *f)
{
    f->known = false;
    f->before = f->asked = -1;
}

void geodec_foresight_observe(geodec_foresight *f, int32_t token, const float *state)
{
    geodec_flowmap_state(f->map, state, f->z);
    geodec_flowmap_advance(f->map, f->z, !f->known, f->feature);
    f->known = true;
    f->before = token;
    f->asked = -1;
}

static bool has_key(const geodec_foresight *f, int32_t token)
{
    return f->known && token >= 0 && token < f->map->vocab;
}

/* The nearest nodes are in f->hit, the key in f->key. */
static int32_t nearest(geodec_foresight *f, int32_t token)
{
    if (!has_key(f, token)) return 0;
    if (f->asked == token) return f->n;
    geodec_flowmap_key(f->map, f->feature, token, f->key);
    f->n = geodec_flowmap_nearby(f->map, token, f->key, GEODEC_ROUTE_NEIGHBOURS, LEAVES, f->scratch, f->hit);
    f->asked = token;
    return f->n;
}

void geodec_foresight_remember(geodec_foresight *f, int32_t token, const int32_t *expert)
{
    int8_t key[GEODEC_FLOW_DIMS_MAX] = {0};
    if (has_key(f, token)) geodec_flowmap_key(f->map, f->feature, token, key);
    geodec__foresight_memory_add(f->memory, token, f->before, key, expert);
}

void geodec_foresight_ask(geodec_foresight *f, int32_t token, bool with_state, float *probability)
{
    const int32_t n = with_state ? nearest(f, token) : 0;
    const geodec_route_basis basis = n > 0 ? GEODEC_ROUTE_STATE : GEODEC_ROUTE_TOKEN;
    geodec_flowmap_route_vote(f->map, f->before, token, f->hit, n, -1, probability);
    if (token < 0 || token >= f->map->vocab) return;
    geodec_flowmap_route_probabilities(f->map, basis, probability);
}

void geodec_foresight_further(geodec_foresight *f, int32_t token, float *share)
{
    const int32_t n = nearest(f, token);
    geodec_flowmap_route_further(f->map, f->before, f->hit, n, share);
}

void geodec_foresight_expect(geodec_foresight *f, int32_t token, float *share)
{
    const geodec_flowmap_routes *r = &f->map->routes;
    const int8_t unknown[GEODEC_FLOW_DIMS_MAX] = {0};
    const int32_t n = nearest(f, token);
    const float scale = geodec_flowmap_route_beyond(f->map, f->before, f->hit, n, share);
    geodec__foresight_memory_vote(f->memory, token, f->before, has_key(f, token) ? f->key : unknown, scale,
                                  n > 0 ? (float)f->hit[0].distance : 0, share);
    for (int64_t l = 0; l < r->layers; l++) {
        float *of = share + l * r->experts, sum = 0;
        for (int64_t e = 0; e < r->experts; e++) sum += of[e];
        for (int64_t e = 0; sum > 0 && e < r->experts; e++) of[e] *= (float)r->used / sum;
    }
}

void geodec_foresight_mix(const geodec_foresight *f, geodec_routes_stream stream, int64_t layer, const float *early,
                          const float *logit, float *out)
{
    const geodec_flowmap_routes *r = &f->map->routes;
    geodec_mixture_apply(f->mixture, stream, layer, r->experts, r->used, early, logit, out);
}
