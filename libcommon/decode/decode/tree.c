#include "decode/tree.h"

#include <stddef.h>

/* A draft that may be added next. */
typedef struct candidate {
    geodec_draft draft; /* parent: the draft it would follow */
    double probability;
    int32_t order; /* order in which it was found */
} candidate;

/* Room for the children of every node. For simplicity, entries that cannot be among the best `budget` are kept too. */
enum { HEAP = (GEODEC_DRAFT_MAX + 1) * GEODEC_TREE_CHILDREN };

typedef struct heap {
    int32_t n, found;
    candidate at[HEAP];
} heap;

static bool before(const candidate *a, const candidate *b)
{
    return a->probability > b->probability || (a->probability >= b->probability && a->order < b->order);
}

static void push(heap *h, const geodec_draft *draft, double probability)
{
    const candidate c = {*draft, probability, h->found++};
    int32_t i = h->n++;
    for (; i > 0 && before(&c, &h->at[(i - 1) / 2]); i = (i - 1) / 2) h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = c;
}

static candidate pop(heap *h)
{
    const candidate top = h->at[0], last = h->at[--h->n];
    int32_t i = 0;
    for (int32_t child; (child = 2 * i + 1) < h->n; i = child) {
        if (child + 1 < h->n && before(&h->at[child + 1], &h->at[child])) child++;
        if (!before(&h->at[child], &last)) break;
        h->at[i] = h->at[child];
    }
    if (h->n > 0) h->at[i] = last;
    return top;
}

/* Adds the children of node `node` (draft node - 1) to the heap. */
static geodec_status expand(geodec_drafter *d, heap *h, int32_t node, int32_t most, double probability, geodec_err *err)
{
    geodec_draft child[GEODEC_TREE_CHILDREN];
    int32_t n = 0;
    if (most > GEODEC_TREE_CHILDREN) most = GEODEC_TREE_CHILDREN;
    GEODEC_PASS(d->ops->children(d, node, most, child, &n, err));
    if (n < 0 || n > most)
        GEODEC_FAIL(GEODEC_INTERNAL, "drafter %s returned %d children, at most %d are allowed", d->ops->name, n, most);
    for (int32_t i = 0; i < n; i++) {
        const bool sane = child[i].confidence >= 0 && child[i].confidence <= 1;
        if (!sane) GEODEC_FAIL(GEODEC_INTERNAL, "drafter %s: the confidence of a child is out of range", d->ops->name);
        child[i].parent = node - 1;
        if (child[i].confidence > 0) push(h, &child[i], probability * child[i].confidence);
    }
    return GEODEC_OK;
}

geodec_status geodec_tree_grow(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out, int32_t *n,
                               geodec_err *err)
{
    heap h;
    int32_t taken = 0;
    h.n = h.found = 0;
    GEODEC_PASS(geodec_drafter_root(d, request, err));
    GEODEC_PASS(expand(d, &h, 0, request->budget, 1, err));
    while (h.n > 0 && taken < request->budget) {
        const candidate c = pop(&h);
        if (geodec_tree_enough(request, taken, c.probability)) break;
        out[taken] = c.draft;
        const int32_t left = request->budget - ++taken;
        if (left == 0) break;
        GEODEC_PASS(geodec_drafter_adopt(d, c.draft.parent + 1, c.draft.token, err));
        if (d->depth[taken] < request->gamma) GEODEC_PASS(expand(d, &h, taken, left, c.probability, err));
    }
    *n = taken;
    return GEODEC_OK;
}

geodec_status geodec_tree_chain(geodec_drafter *d, const geodec_draft_request *request, geodec_draft *out, int32_t *n,
                                geodec_err *err)
{
    int32_t k = 0, got = 1;
    double probability = 1;
    GEODEC_PASS(geodec_drafter_root(d, request, err));
    for (; k < request->gamma; k++) {
        GEODEC_PASS(d->ops->children(d, k, 1, &out[k], &got, err));
        if (got == 0 || geodec_tree_enough(request, k, probability *= out[k].confidence)) break;
        if (k + 1 < request->gamma) GEODEC_PASS(geodec_drafter_adopt(d, k, out[k].token, err));
    }
    *n = k;
    return GEODEC_OK;
}

bool geodec_tree_enough(const geodec_draft_request *request, int32_t i, double probability)
{
    return request->least && probability < request->least[i];
}

int32_t geodec_tree_insert(geodec_draft *out, int32_t n, int32_t most, const geodec_draft *x)
{
    int32_t at = n < most ? n++ : most;
    for (; at > 0 && (out[at - 1].confidence < x->confidence ||
                      (out[at - 1].confidence <= x->confidence && out[at - 1].token > x->token));
         at--)
        if (at < most) out[at] = out[at - 1];
    if (at < most) out[at] = *x;
    return n;
}

void geodec_tree_compare(const geodec_draft *draft, int32_t n, const int32_t *text, int64_t n_text, bool *reached,
                         bool *right)
{
    int32_t depth[GEODEC_DRAFT_MAX];
    geodec_tree_depths(draft, n, depth);
    for (int32_t i = 0; i < n; i++) {
        reached[i] = depth[i] < n_text && (draft[i].parent < 0 || right[draft[i].parent]);
        right[i] = reached[i] && draft[i].token == text[depth[i]];
    }
}

void geodec_tree_depths(const geodec_draft *draft, int32_t n, int32_t *depth)
{
    for (int32_t i = 0; i < n; i++) depth[i] = draft[i].parent < 0 ? 0 : depth[draft[i].parent] + 1;
}
