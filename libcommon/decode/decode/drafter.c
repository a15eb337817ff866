#include "decode/drafter.h"

#include "base/mem.h"
#include "decode/tree.h"

geodec_status geodec_drafter_begin(geodec_drafter *d, geodec_err *err)
{
    if (d) d->nodes = 0;
    return d && d->ops->begin ? d->ops->begin(d, err) : GEODEC_OK;
}

geodec_status geodec_drafter_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    return d && d->ops->observe && rows->n > 0 ? d->ops->observe(d, rows, err) : GEODEC_OK;
}

geodec_status geodec_drafter_root(geodec_drafter *d, const geodec_draft_request *request, geodec_err *err)
{
    if (d->ops->root) GEODEC_PASS(d->ops->root(d, request, err));
    d->request = *request;
    d->nodes = 1;
    d->token[0] = request->context[request->n_context - 1];
    d->parent[0] = -1;
    d->depth[0] = 0;
    return GEODEC_OK;
}

geodec_status geodec_drafter_adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    const int32_t node = d->nodes++;
    d->token[node] = token;
    d->parent[node] = parent;
    d->depth[node] = d->depth[parent] + 1;
    return d->ops->adopt ? d->ops->adopt(d, parent, token, err) : GEODEC_OK;
}

int32_t geodec_drafter_context(const geodec_drafter *d, int32_t node, int32_t most, int32_t *token)
{
    int32_t n = 0;
    for (; node > 0 && n < most; node = d->parent[node]) token[n++] = d->token[node];
    for (int64_t i = d->request.n_context - 1; i >= 0 && n < most; i--) token[n++] = d->request.context[i];
    for (int32_t k = n; k < most; k++) token[k] = -1;
    return n;
}

bool geodec_drafter_forbids(const geodec_drafter *d, int32_t node, int32_t token)
{
    return geodec_guard_forbids(d->request.guard, d->request.index + d->depth[node], token);
}

/* Drafts of one parent must have different tokens: the verification walk cannot distinguish equal ones. */
static bool distinct(const geodec_draft *draft, int32_t i)
{
    for (int32_t j = draft[i].parent < 0 ? 0 : draft[i].parent + 1; j < i; j++)
        if (draft[j].parent == draft[i].parent && draft[j].token == draft[i].token) return false;
    return true;
}

static geodec_status make(geodec_drafter *d, bool tree, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                          geodec_err *err)
{
    if (tree) return geodec_tree_grow(d, q, out, n, err);
    return d->ops->propose ? d->ops->propose(d, q, out, n, err) : geodec_tree_chain(d, q, out, n, err);
}

geodec_status geodec_drafter_propose(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out,
                                     int32_t *n, geodec_err *err)
{
    int32_t count = 0, length[GEODEC_DRAFT_MAX]; /* number of drafts on the path to a draft */
    if (d && request->gamma > 0) {
        if (request->gamma > GEODEC_DRAFT_MAX || request->budget > GEODEC_DRAFT_MAX || request->n_context < 1)
            GEODEC_FAIL(GEODEC_INVAL, "draft length %d, budget %d or context of %lld tokens is out of range",
                        request->gamma, request->budget, (long long)request->n_context);
        const bool stochastic = request->sampling && d->ops->distribution;
        const bool own = request->budget > 0 && (stochastic || d->ops->plans);
        const bool tree = request->budget > 0 && d->ops->children && !own;
        geodec_draft_request q = *request;
        int32_t most = request->budget > 0 ? request->budget : request->gamma;
        if (!tree && !own) q.gamma = most = most < q.gamma ? most : q.gamma;
        GEODEC_PASS_MSG(make(d, tree, &q, out, &count, err), "drafter %s", d->ops->name);
        if (count < 0 || count > most)
            GEODEC_FAIL(GEODEC_INTERNAL, "drafter %s proposed %d tokens, at most %d are allowed", d->ops->name, count,
                        most);
        for (int32_t i = 0; i < count; i++) {
            if (!tree && !own) out[i].parent = i - 1;
            /* The condition is written so that it rejects a NaN confidence. */
            bool sane = out[i].parent >= -1 && out[i].parent < i && out[i].source >= 0 &&
                        out[i].source < d->ops->n_sources && out[i].confidence >= 0 && out[i].confidence <= 1;
            if (!sane)
                GEODEC_FAIL(GEODEC_INTERNAL, "drafter %s: parent, source or confidence of draft %d is out of range",
                            d->ops->name, i);
            length[i] = out[i].parent < 0 ? 1 : length[out[i].parent] + 1;
            if (length[i] > request->gamma) /* the text has no room for more */
                GEODEC_FAIL(GEODEC_INTERNAL, "drafter %s: a path has more than %d drafts", d->ops->name,
                            request->gamma);
            if (!distinct(out, i))
                GEODEC_FAIL(GEODEC_INTERNAL, "drafter %s: draft %d repeats a sibling", d->ops->name, i);
        }
    }
    *n = count;
    return GEODEC_OK;
}

void geodec_drafter_destroy(geodec_drafter *d)
{
    if (d && d->ops->destroy)
        d->ops->destroy(d);
    else
        geodec_mem_free(d);
}

const char *geodec_drafter_name(const geodec_drafter *d) { return d ? d->ops->name : "none"; }
