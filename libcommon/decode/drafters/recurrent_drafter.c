#include "drafters/recurrent.h"

#include "base/mem.h"
#include "decode/tree.h"

#include <math.h>
#include <string.h>

enum { NODES = GEODEC_DRAFT_MAX + 1, BACK = GEODEC_RECURRENT_BACK, DEPTHS = 4 };

typedef struct recurrent_drafter {
    geodec_drafter base;
    const geodec_recurrent *net;
    bool known;         /* a state has been observed */
    float *feature;     /* [3 d] */
    float *carry;       /* [width] */
    float *hidden;      /* [NODES][width] h of the expanded nodes */
    float *probability; /* [classes] */
} recurrent_drafter;

static geodec_status begin(geodec_drafter *base, geodec_err *err)
{
    (void)err;
    ((recurrent_drafter *)base)->known = false;
    return GEODEC_OK;
}

static geodec_status observe(geodec_drafter *base, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    recurrent_drafter *d = (recurrent_drafter *)base;
    for (int64_t i = 0; i < rows->n; i++) {
        geodec_recurrent_advance(d->net->d, rows->state + i * d->net->d, !d->known, d->feature);
        d->known = true;
    }
    return GEODEC_OK;
}

/* The parent of a node was expanded before, because the node is one of its children. A mixture may adopt a token that
 * this drafter did not propose, but it expands every node in every part. */
static geodec_status children(geodec_drafter *base, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                              geodec_err *err)
{
    (void)err;
    recurrent_drafter *d = (recurrent_drafter *)base;
    const geodec_recurrent *r = d->net;
    float *h = d->hidden + node * r->width;
    int32_t x[BACK], taken = 0;
    *n = 0;
    if (!d->known) return GEODEC_OK;
    (void)geodec_drafter_context(base, node, BACK, x);
    if (node == 0)
        geodec_recurrent_start(r, d->feature, d->carry);
    else
        geodec_recurrent_carry(r, d->hidden + base->parent[node] * r->width, d->carry);
    geodec_recurrent_step(r, d->carry, x, h);
    geodec_recurrent_probabilities(r, h, d->probability);
    const int32_t source = base->depth[node] < DEPTHS ? base->depth[node] : DEPTHS - 1;
    for (int64_t c = 0; c < r->classes; c++) {
        if (taken == most && !((double)d->probability[c] * r->cover > out[most - 1].confidence)) continue;
        if (geodec_drafter_forbids(base, node, r->token_of[c])) continue;
        const geodec_draft draft = {
            .token = r->token_of[c], .source = source, .confidence = fmin((double)d->probability[c] * r->cover, 1)};
        taken = geodec_tree_insert(out, taken, most, &draft);
    }
    *n = taken;
    return GEODEC_OK;
}

static void destroy(geodec_drafter *base)
{
    recurrent_drafter *d = (recurrent_drafter *)base;
    GEODEC_FREE(d->feature, d->carry, d->hidden, d->probability, d);
}

geodec_status geodec_recurrent_drafter_create(const geodec_recurrent *net, geodec_drafter **out, geodec_err *err)
{
    static const char *const sources[DEPTHS] = {"1", "2", "3", "4+"};
    static const geodec_drafter_ops ops = {.name = "recurrent",
                                           .wants_state = true,
                                           .n_sources = DEPTHS,
                                           .source_name = sources,
                                           .begin = begin,
                                           .observe = observe,
                                           .destroy = destroy,
                                           .children = children};
    geodec_status st = GEODEC_OK;
    recurrent_drafter *d = NULL;
    GEODEC_NEW(d, 1);
    d->base.ops = &ops;
    d->net = net;
    GEODEC_NEW(d->feature, GEODEC_RECURRENT_PARTS * net->d);
    GEODEC_NEW(d->carry, net->width);
    GEODEC_NEW(d->hidden, NODES * net->width);
    GEODEC_NEW(d->probability, net->classes);
    *out = &d->base;
    d = NULL;
done:
    if (d) destroy(&d->base);
    return st;
}
