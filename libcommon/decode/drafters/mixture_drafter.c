#include "drafters/mixture_drafter.h"

#include "base/mem.h"
#include "decode/tree.h"

#include <math.h>
#include <string.h>

enum { PARTS = GEODEC_MIXTURE_MAX, CHILDREN = GEODEC_TREE_CHILDREN, NODES = GEODEC_DRAFT_MAX + 1 };
static const double DECAY = 0.98; /* weight of the score after one more token: about the last fifty count */
/* Log odds of two parts per difference of their scores. The value is small because the mean of two good parts did
 * better than the better one. A part that is always wrong still loses by about 25 within a hundred tokens. */
static const double SCALE = 0.2;

/* A node of the current tree, and the children of each part. */
typedef struct branch {
    bool asked;
    int32_t n[PARTS];
    geodec_draft child[PARTS][CHILDREN];
} branch;

typedef struct mixture {
    geodec_drafter base;
    geodec_drafter_ops ops; /* separate for each mixture, because the parts differ */
    int32_t n;
    geodec_drafter *part[GEODEC_MIXTURE_MAX];
    double prior[GEODEC_MIXTURE_MAX], score[GEODEC_MIXTURE_MAX];
    int64_t n_context; /* at the start of the tree */
    branch node[NODES];
    const char *source_name[GEODEC_MIXTURE_MAX];
} mixture;

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    mixture *m = (mixture *)d;
    for (int32_t k = 0; k < m->n; k++) {
        m->score[k] = m->prior[k];
        GEODEC_PASS(geodec_drafter_begin(m->part[k], err));
    }
    return GEODEC_OK;
}

static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    const mixture *m = (const mixture *)d;
    for (int32_t k = 0; k < m->n; k++) GEODEC_PASS(geodec_drafter_observe(m->part[k], rows, err));
    return GEODEC_OK;
}

/* Scores each part on the text since the last tree, as far as the tree covers it. */
static void learn(mixture *m, const geodec_draft_request *q)
{
    const geodec_drafter *tree = &m->base;
    int32_t at = tree->nodes > 0 ? 0 : -1;
    for (int64_t i = m->n_context; i < q->n_context && at >= 0 && m->node[at].asked; i++) {
        const branch *b = &m->node[at];
        for (int32_t k = 0; k < m->n; k++) {
            double gain = 0;
            for (int32_t c = 0; c < b->n[k]; c++) {
                const double p = b->child[k][c].confidence;
                gain += (b->child[k][c].token == q->context[i] ? 2 * p : 0) - p * p;
            }
            m->score[k] = DECAY * m->score[k] + gain;
        }
        int32_t next = at + 1;
        while (next < tree->nodes && (tree->parent[next] != at || tree->token[next] != q->context[i])) next++;
        at = next < tree->nodes ? next : -1;
    }
}

static geodec_status root(geodec_drafter *d, const geodec_draft_request *request, geodec_err *err)
{
    mixture *m = (mixture *)d;
    learn(m, request);
    m->n_context = request->n_context;
    m->node[0].asked = false;
    for (int32_t k = 0; k < m->n; k++) GEODEC_PASS(geodec_drafter_root(m->part[k], request, err));
    return GEODEC_OK;
}

/* Sorts the parts by falling score; ties: the earlier first. */
static void rank_parts(const mixture *m, int32_t *order)
{
    for (int32_t k = 0; k < m->n; k++) {
        int32_t at = k;
        for (; at > 0 && m->score[order[at - 1]] < m->score[k]; at--) order[at] = order[at - 1];
        order[at] = k;
    }
}

static geodec_status children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                              geodec_err *err)
{
    mixture *m = (mixture *)d;
    branch *b = &m->node[node];
    geodec_draft all[PARTS * CHILDREN];
    double sum[PARTS], weight[PARTS], total = 0;
    int32_t order[PARTS], count = 0, taken = 0;
    rank_parts(m, order);
    b->asked = true;
    for (int32_t k = 0; k < m->n; k++) {
        sum[k] = 0;
        GEODEC_PASS(m->part[k]->ops->children(m->part[k], node, CHILDREN, b->child[k], &b->n[k], err));
        for (int32_t i = 0; i < b->n[k]; i++) sum[k] += b->child[k][i].confidence;
        weight[k] = b->n[k] > 0 ? exp(SCALE * (m->score[k] - m->score[order[0]])) : 0; /* a part without drafts gets no
                                                                                          weight */
        total += weight[k];
    }
    for (int32_t o = 0; o < m->n; o++) {
        const int32_t k = order[o];
        const double share = weight[k] / fmax(total, 1e-300) / fmax(sum[k], 1);
        for (int32_t i = 0; i < b->n[k]; i++) {
            const geodec_draft *x = &b->child[k][i];
            int32_t at = 0;
            while (at < count && all[at].token != x->token) at++;
            if (at == count) all[count++] = (geodec_draft){.token = x->token, .source = k};
            all[at].confidence += share * x->confidence;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        geodec_draft x = all[i];
        x.confidence = fmin(x.confidence, 1);
        taken = geodec_tree_insert(out, taken, most, &x);
    }
    *n = taken;
    return GEODEC_OK;
}

static geodec_status adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    mixture *m = (mixture *)d;
    m->node[d->nodes - 1].asked = false;
    for (int32_t k = 0; k < m->n; k++) GEODEC_PASS(geodec_drafter_adopt(m->part[k], parent, token, err));
    return GEODEC_OK;
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
                                  .destroy = destroy,
                                  .root = root,
                                  .children = children,
                                  .adopt = adopt};
    for (int32_t k = 0; k < n; k++) {
        m->part[k] = part[k];
        m->prior[k] = log(weight[k]);
        m->source_name[k] = part[k]->ops->name;
        m->ops.wants_state |= part[k]->ops->wants_state;
        m->ops.wants_top |= part[k]->ops->wants_top;
        m->ops.learns |= part[k]->ops->learns;
    }
    m->base.ops = &m->ops;
    *out = &m->base;
    return st;
done:
    for (int32_t k = 0; k < n; k++) geodec_drafter_destroy(part[k]);
    return st;
}
