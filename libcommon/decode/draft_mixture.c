#include "decode/draft_mixture.h"

#include "base/mem.h"
#include "decode/tree.h"

#include <string.h>

typedef struct mixture {
    geodec_drafter base;
    geodec_drafter_ops ops; /* this mixture's own: it is as its parts are */
    int32_t n;
    geodec_drafter *part[GEODEC_MIXTURE_MAX];
    double weight[GEODEC_MIXTURE_MAX];
    const char *source_name[GEODEC_MIXTURE_MAX];
} mixture;

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const mixture *m = (const mixture *)d;
    for (int32_t k = 0; k < m->n; k++) GEODEC_TRY(geodec_drafter_begin(m->part[k], err));
done:
    return st;
}

static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const mixture *m = (const mixture *)d;
    for (int32_t k = 0; k < m->n; k++) GEODEC_TRY(geodec_drafter_observe(m->part[k], rows, err));
done:
    return st;
}

static geodec_status root(geodec_drafter *d, const geodec_draft_request *request, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const mixture *m = (const mixture *)d;
    for (int32_t k = 0; k < m->n; k++) GEODEC_TRY(m->part[k]->ops->root(m->part[k], request, err));
done:
    return st;
}

typedef struct blend {
    int32_t token, source;
    double chance, largest; /* of one part */
} blend;

static geodec_status children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const mixture *m = (const mixture *)d;
    blend all[GEODEC_MIXTURE_MAX * GEODEC_TREE_CHILDREN];
    int32_t count = 0, taken = 0;
    double speaking = 0;
    for (int32_t k = 0; k < m->n; k++) {
        geodec_draft child[GEODEC_TREE_CHILDREN];
        int32_t got = 0;
        GEODEC_TRY(m->part[k]->ops->children(m->part[k], node, GEODEC_TREE_CHILDREN, child, &got, err));
        if (got > 0) speaking += m->weight[k];
        for (int32_t i = 0; i < got; i++) {
            const double x = m->weight[k] * child[i].confidence;
            int32_t at = 0;
            while (at < count && all[at].token != child[i].token) at++;
            if (at == count) all[count++] = (blend){.token = child[i].token};
            all[at].chance += x;
            if (x > all[at].largest) {
                all[at].largest = x;
                all[at].source = k;
            }
        }
    }
    for (int32_t i = 0; i < count; i++) {
        const double p = all[i].chance / speaking;
        const geodec_draft x = {.token = all[i].token, .source = all[i].source, .confidence = p < 1 ? p : 1};
        taken = geodec_draft_insert(out, taken, most, &x);
    }
    *n = taken;
done:
    return st;
}

static geodec_status adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const mixture *m = (const mixture *)d;
    for (int32_t k = 0; k < m->n; k++) GEODEC_TRY(m->part[k]->ops->adopt(m->part[k], parent, token, err));
done:
    return st;
}

static void destroy(geodec_drafter *d)
{
    mixture *m = (mixture *)d;
    for (int32_t k = 0; k < m->n; k++) geodec_drafter_destroy(m->part[k]);
    geodec_mem_free(m);
}

geodec_status geodec_mixture_drafter_create(const char *name, int32_t n, geodec_drafter *const *part,
                                            const double *weight, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    mixture *m = NULL;
    if (n < 1 || n > GEODEC_MIXTURE_MAX) GEODEC_THROW(GEODEC_INVAL, "a mixture of %d drafters", n);
    for (int32_t k = 0; k < n; k++) {
        if (!part[k] || !part[k]->ops->children)
            GEODEC_THROW(GEODEC_INVAL, "drafter %s cannot be part of a mixture", geodec_drafter_name(part[k]));
        if (!(weight[k] > 0)) GEODEC_THROW(GEODEC_INVAL, "weight %g of drafter %s", weight[k], part[k]->ops->name);
    }
    GEODEC_NEW(m, 1);
    m->n = n;
    m->ops = (geodec_drafter_ops){.name = name,
                                  .n_sources = n,
                                  .source_name = m->source_name,
                                  .begin = begin,
                                  .observe = observe,
                                  .propose = geodec_tree_chain,
                                  .destroy = destroy,
                                  .root = root,
                                  .children = children,
                                  .adopt = adopt};
    for (int32_t k = 0; k < n; k++) {
        m->part[k] = part[k];
        m->weight[k] = weight[k];
        m->source_name[k] = part[k]->ops->name;
        m->ops.wants_state |= part[k]->ops->wants_state;
    }
    m->base.ops = &m->ops;
    *out = &m->base;
    return st;
done:
    for (int32_t k = 0; k < n; k++) geodec_drafter_destroy(part[k]);
    return st;
}
