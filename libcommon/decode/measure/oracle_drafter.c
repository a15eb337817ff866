#include "measure/oracle_drafter.h"

#include "base/mem.h"
#include "decode/tree.h"

typedef struct oracle_drafter {
    geodec_drafter base;
    geodec_drafter_ops ops;
    const geodec_decoded *plain;
    geodec_drafter *inner;
} oracle_drafter;

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    return geodec_drafter_begin(((oracle_drafter *)d)->inner, err);
}

static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    return geodec_drafter_observe(((oracle_drafter *)d)->inner, rows, err);
}

static geodec_status propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                             geodec_err *err)
{
    const oracle_drafter *o = (const oracle_drafter *)d;
    const int64_t left = o->plain->n - q->index;
    const int32_t *text = o->plain->token + (left > 0 ? q->index : 0);
    bool reached[GEODEC_DRAFT_MAX], right[GEODEC_DRAFT_MAX];
    int32_t all = 0, kept = 0;
    if (!o->inner) {
        for (; kept < q->gamma && kept < left; kept++)
            out[kept] = (geodec_draft){.token = text[kept], .parent = kept - 1, .confidence = 1};
        *n = kept;
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec_drafter_propose(o->inner, q, out, &all, err));
    geodec_tree_compare(out, all, text, left > 0 ? left : 0, reached, right);
    for (int32_t i = 0; i < all; i++) {
        if (!right[i]) continue;
        out[kept] = out[i];
        out[kept].parent = kept - 1;
        kept++;
    }
    *n = kept;
    return GEODEC_OK;
}

static void destroy(geodec_drafter *d)
{
    geodec_drafter_destroy(((oracle_drafter *)d)->inner);
    geodec_mem_free(d);
}

geodec_status geodec_oracle_drafter_create(const geodec_decoded *plain, geodec_drafter *inner, geodec_drafter **out,
                                           geodec_err *err)
{
    static const char *const sources[] = {"text"};
    geodec_status st = GEODEC_OK;
    oracle_drafter *o = NULL;
    if (inner && inner->ops->distribution)
        GEODEC_THROW(GEODEC_INVAL, "drafter %s samples its drafts, so none of them is known", inner->ops->name);
    GEODEC_NEW(o, 1);
    o->ops = (geodec_drafter_ops){.name = "oracle",
                                  .n_sources = inner ? inner->ops->n_sources : 1,
                                  .source_name = inner ? inner->ops->source_name : sources,
                                  .wants_state = inner && inner->ops->wants_state,
                                  .wants_top = inner && inner->ops->wants_top,
                                  .learns = inner && inner->ops->learns,
                                  .plans = true,
                                  .begin = begin,
                                  .observe = observe,
                                  .propose = propose,
                                  .destroy = destroy};
    o->base.ops = &o->ops;
    o->plain = plain;
    o->inner = inner;
    *out = &o->base;
    return GEODEC_OK;
done:
    geodec_drafter_destroy(inner);
    return st;
}
