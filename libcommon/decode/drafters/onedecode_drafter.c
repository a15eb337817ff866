#include "drafters/onedecode.h"

#include "base/mem.h"

enum { NODES = GEODEC_DRAFT_MAX + 1, DIMS = GEODEC_STEP_DIMS_MAX };

typedef struct onedecode_drafter {
    geodec_drafter base;
    const geodec_onedecode *table;
    bool known; /* a state has been observed */
    float last[DIMS];
    bool valid[NODES]; /* tree nodes whose state is computed */
    float z[NODES][DIMS];
} onedecode_drafter;

static geodec_status cells_begin(geodec_drafter *base, geodec_err *err)
{
    (void)err;
    ((onedecode_drafter *)base)->known = false;
    return GEODEC_OK;
}

static geodec_status cells_observe(geodec_drafter *base, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    onedecode_drafter *d = (onedecode_drafter *)base;
    geodec_step_state(&d->table->step, rows->state + (rows->n - 1) * d->table->step.d, d->last);
    d->known = true;
    return GEODEC_OK;
}

static geodec_status cells_root(geodec_drafter *base, const geodec_draft_request *request, geodec_err *err)
{
    (void)err;
    onedecode_drafter *d = (onedecode_drafter *)base;
    d->valid[0] =
        d->known && geodec_step_advance(&d->table->step, d->last, request->context[request->n_context - 1], d->z[0]);
    return GEODEC_OK;
}

static geodec_status cells_adopt(geodec_drafter *base, int32_t parent, int32_t token, geodec_err *err)
{
    (void)err;
    onedecode_drafter *d = (onedecode_drafter *)base;
    const int32_t n = base->nodes - 1;
    d->valid[n] = d->valid[parent] && geodec_step_advance(&d->table->step, d->z[parent], token, d->z[n]);
    return GEODEC_OK;
}

static geodec_status cells_children(geodec_drafter *base, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                    geodec_err *err)
{
    (void)err;
    const onedecode_drafter *d = (const onedecode_drafter *)base;
    const geodec_counts *c = &d->table->counts;
    *n = 0;
    if (!d->valid[node]) return GEODEC_OK;
    const int64_t cell = geodec_onedecode_cell(d->table, d->z[node]);
    if ((int64_t)c->total[cell] < d->table->n_min) return GEODEC_OK;
    const int32_t depth = base->depth[node] < GEODEC_ONEDECODE_DEPTHS ? base->depth[node] : GEODEC_ONEDECODE_DEPTHS - 1;
    *n = geodec_step_children(base, node, c, cell, depth, (double)d->table->shrink[depth], most, out);
    return GEODEC_OK;
}

geodec_status geodec_onedecode_drafter_create(const geodec_onedecode *t, geodec_drafter **out, geodec_err *err)
{
    static const char *const sources[GEODEC_ONEDECODE_DEPTHS] = {"1", "2", "3", "4+"};
    static const geodec_drafter_ops ops = {.name = "onedecode",
                                           .wants_state = true,
                                           .n_sources = GEODEC_ONEDECODE_DEPTHS,
                                           .source_name = sources,
                                           .begin = cells_begin,
                                           .observe = cells_observe,
                                           .root = cells_root,
                                           .children = cells_children,
                                           .adopt = cells_adopt};
    geodec_status st = GEODEC_OK;
    onedecode_drafter *d = NULL;
    GEODEC_NEW(d, 1);
    d->base.ops = &ops;
    d->table = t;
    *out = &d->base;
done:
    return st;
}
