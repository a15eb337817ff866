#include "decode/draft_flowmap.h"

#include "base/mem.h"
#include "records/flowtrack.h"

typedef struct flowmap_drafter {
    geodec_drafter base;
    const geodec_flowmap *map;
    geodec_flowtrack *track;
} flowmap_drafter;

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    (void)err;
    geodec_flowtrack_begin(((flowmap_drafter *)d)->track);
    return GEODEC_OK;
}

static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    flowmap_drafter *f = (flowmap_drafter *)d;
    for (int64_t i = 0; i < rows->n; i++)
        GEODEC_TRY(geodec_flowtrack_push(f->track, rows->token[i], rows->argmax ? rows->argmax[i] : -1,
                                         rows->state + i * f->map->d, err));
done:
    return st;
}

static bool forbid(void *ctx, int32_t i, int32_t token)
{
    const geodec_draft_request *r = ctx;
    return geodec_guard_forbids(r->guard, r->index + i, token);
}

static geodec_status propose(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out, int32_t *n,
                             geodec_err *err)
{
    flowmap_drafter *f = (flowmap_drafter *)d;
    geodec_flow_draft draft[GEODEC_DRAFT_MAX];
    geodec_draft_request copy = *request;
    (void)err;
    const int32_t newest = request->context[request->n_context - 1];
    const int32_t count =
        geodec_flowtrack_propose(f->track, newest, request->gamma, -1, request->guard ? forbid : NULL, &copy, draft);
    for (int32_t i = 0; i < count; i++)
        out[i] =
            (geodec_draft){.token = draft[i].token, .source = draft[i].own ? 1 : 0, .confidence = draft[i].confidence};
    *n = count;
    return GEODEC_OK;
}

static void destroy(geodec_drafter *d)
{
    flowmap_drafter *f = (flowmap_drafter *)d;
    geodec_flowtrack_destroy(f->track);
    geodec_mem_free(f);
}

static const char *const sources[] = {"store", "text"};
static const geodec_drafter_ops ops = {.name = "flowmap",
                                       .wants_state = true,
                                       .n_sources = 2,
                                       .source_name = sources,
                                       .begin = begin,
                                       .observe = observe,
                                       .propose = propose,
                                       .destroy = destroy};

geodec_status geodec_flowmap_drafter_create(const geodec_flowmap *map, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    flowmap_drafter *f = NULL;
    GEODEC_NEW(f, 1);
    f->base.ops = &ops;
    f->map = map;
    GEODEC_TRY(geodec_flowtrack_create(map, &f->track, err));
    *out = &f->base;
    f = NULL;
done:
    geodec_mem_free(f);
    return st;
}
