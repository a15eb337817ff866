#include "drafters/flowmap_drafter.h"

#include "base/mem.h"
#include "decode/tree.h"
#include "flowmap/track.h"

typedef struct flowmap_drafter {
    geodec_drafter base;
    geodec_drafter_ops ops;
    const geodec_flowmap *map;
    geodec_flowmap_track *track;
} flowmap_drafter;

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    return geodec_flowmap_track_begin(((flowmap_drafter *)d)->track, err);
}

static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    flowmap_drafter *f = (flowmap_drafter *)d;
    for (int64_t i = 0; i < rows->n; i++)
        GEODEC_PASS(geodec_flowmap_track_push(f->track, rows->token[i], rows->argmax ? rows->argmax[i] : -1,
                                              rows->state + i * f->map->d, err));
    return GEODEC_OK;
}

static geodec_draft as_draft(const geodec_flow_draft *x)
{
    return (geodec_draft){.token = x->token, .source = x->own ? 1 : x->grown ? 2 : 0, .confidence = x->confidence};
}

static bool forbid(void *ctx, int32_t i, int32_t token)
{
    const geodec_draft_request *r = ctx;
    return geodec_guard_forbids(r->guard, r->index + i, token);
}

static geodec_status root(geodec_drafter *d, const geodec_draft_request *request, geodec_err *err)
{
    (void)err;
    (void)geodec_flowmap_track_root(((flowmap_drafter *)d)->track, request->context[request->n_context - 1], -1,
                                    request->sampled);
    return GEODEC_OK;
}

static geodec_status children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                              geodec_err *err)
{
    (void)err;
    flowmap_drafter *f = (flowmap_drafter *)d;
    geodec_flow_draft draft[GEODEC_TREE_CHILDREN];
    if (most > GEODEC_TREE_CHILDREN) most = GEODEC_TREE_CHILDREN;
    *n = geodec_flowmap_track_children(f->track, node, most, d->request.guard ? forbid : NULL, &d->request, draft);
    for (int32_t i = 0; i < *n; i++) out[i] = as_draft(&draft[i]);
    return GEODEC_OK;
}

static geodec_status adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    (void)err;
    geodec_flowmap_track_adopt(((flowmap_drafter *)d)->track, parent, token);
    return GEODEC_OK;
}

static void destroy(geodec_drafter *d)
{
    flowmap_drafter *f = (flowmap_drafter *)d;
    if (f->track && geodec_flowmap_track_end(f->track, NULL) != GEODEC_OK) { /* no memory: the record is skipped */
    }
    geodec_flowmap_track_destroy(f->track);
    geodec_mem_free(f);
}

static const char *const sources[] = {"store", "text", "library"};
static const geodec_drafter_ops flowmap_ops = {.name = "flowmap",
                                               .wants_state = true,
                                               .n_sources = 2, /* "library": only with a library */
                                               .source_name = sources,
                                               .begin = begin,
                                               .observe = observe,
                                               .destroy = destroy,
                                               .root = root,
                                               .children = children,
                                               .adopt = adopt};

geodec_status geodec_flowmap_drafter_create(const geodec_flowmap *map, geodec_flowmap_library *library,
                                            geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    flowmap_drafter *f = NULL;
    GEODEC_NEW(f, 1);
    f->ops = flowmap_ops;
    if (library) {
        f->ops.n_sources = 3;
        f->ops.learns = true;
    }
    f->base.ops = &f->ops;
    f->map = map;
    GEODEC_TRY(geodec_flowmap_track_create(map, &f->track, err));
    if (library) geodec_flowmap_track_grow(f->track, library);
    *out = &f->base;
    f = NULL;
done:
    geodec_mem_free(f);
    return st;
}
