/* A k-d tree over the sites of a field: which of them lie within a radius, without touching the others. */
#include "base/mem.h"
#include "geometry/rbf_internal.h"

#include <math.h>
#include <string.h>

enum { LEAF = 16, DEPTH = 64 };

/* Node i covers order[first..end-1]; its box is low, high [n]. Children of an inner node: i + 1 and right. */
typedef struct node {
    int32_t first, end, right; /* right = 0: a leaf */
} node;

struct geodec__rbf_tree {
    int64_t n, nodes;
    double *site;   /* [n_sites][n] in the order of the leaves */
    int32_t *order; /* [n_sites] number of each as it was given */
    node *node;
    double *box; /* [nodes][2][n] */
};

void geodec__rbf_tree_destroy(geodec__rbf_tree *t)
{
    if (!t) return;
    GEODEC_FREE(t->site, t->order, t->node, t->box, t);
}

/* The order a < b of two sites along an axis, ties by number: the tree is a function of the sites alone. */
static bool before(const geodec__rbf_tree *t, const double *site, int64_t axis, int32_t a, int32_t b)
{
    const double x = site[a * t->n + axis], y = site[b * t->n + axis];
    return x < y || (x == y && a < b);
}

/* Quickselect: order[middle] gets its place in first..end-1. */
static void divide(geodec__rbf_tree *t, const double *site, int64_t axis, int64_t first, int64_t end, int64_t middle)
{
    int32_t *o = t->order;
    while (end - first > 1) {
        const int32_t pivot = o[first + (end - first) / 2];
        int64_t i = first, j = end - 1;
        while (i <= j) {
            while (before(t, site, axis, o[i], pivot)) i++;
            while (before(t, site, axis, pivot, o[j])) j--;
            if (i <= j) {
                const int32_t swap = o[i];
                o[i++] = o[j];
                o[j--] = swap;
            }
        }
        if (middle <= j)
            end = j + 1;
        else if (middle >= i)
            first = i;
        else
            return;
    }
}

static int32_t build(geodec__rbf_tree *t, const double *site, int64_t first, int64_t end)
{
    const int64_t n = t->n, me = t->nodes++;
    double *low = t->box + me * 2 * n, *high = low + n;
    int64_t axis = 0;
    for (int64_t a = 0; a < n; a++) {
        low[a] = INFINITY, high[a] = -INFINITY;
        for (int64_t p = first; p < end; p++) {
            const double x = site[t->order[p] * n + a];
            low[a] = fmin(low[a], x);
            high[a] = fmax(high[a], x);
        }
        if (high[a] - low[a] > high[axis] - low[axis]) axis = a;
    }
    t->node[me] = (node){(int32_t)first, (int32_t)end, 0};
    if (end - first > LEAF) {
        const int64_t middle = first + (end - first) / 2;
        divide(t, site, axis, first, end, middle);
        (void)build(t, site, first, middle);
        const int32_t right = build(t, site, middle, end);
        t->node[me].right = right;
    }
    return (int32_t)me;
}

geodec_status geodec__rbf_tree_create(int64_t n_sites, int64_t n, const double *site, geodec__rbf_tree **out,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__rbf_tree *t = NULL;
    const int64_t nodes = 4 * (n_sites / LEAF + 1); /* halves of more than LEAF have more than LEAF / 2 */
    GEODEC_NEW(t, 1);
    t->n = n;
    GEODEC_NEW(t->site, n_sites * n);
    GEODEC_NEW(t->order, n_sites);
    GEODEC_NEW(t->node, nodes);
    GEODEC_NEW(t->box, nodes * 2 * n);
    for (int64_t i = 0; i < n_sites; i++) t->order[i] = (int32_t)i;
    (void)build(t, site, 0, n_sites);
    for (int64_t p = 0; p < n_sites; p++) memcpy(t->site + p * n, site + t->order[p] * n, (size_t)n * sizeof *site);
    *out = t;
    t = NULL;
done:
    geodec__rbf_tree_destroy(t);
    return st;
}

const double *geodec__rbf_tree_sites(const geodec__rbf_tree *t) { return t->site; }
const int32_t *geodec__rbf_tree_order(const geodec__rbf_tree *t) { return t->order; }

/* Squared distances of x to the nearest point of a node's box, and to the farthest. */
static double box_distance(const geodec__rbf_tree *t, int64_t i, const double *x, double *farthest)
{
    const double *low = t->box + i * 2 * t->n, *high = low + t->n;
    double near = 0, far = 0;
    for (int64_t a = 0; a < t->n; a++) {
        const double below = low[a] - x[a], above = x[a] - high[a];
        const double d = below > 0 ? below : above > 0 ? above : 0, f = fmax(fabs(below), fabs(above));
        near += d * d;
        far += f * f;
    }
    *farthest = far;
    return near;
}

static double site_distance(const geodec__rbf_tree *t, int64_t p, const double *x)
{
    const double *s = t->site + p * t->n;
    double d2 = 0;
    for (int64_t a = 0; a < t->n; a++) d2 += (s[a] - x[a]) * (s[a] - x[a]);
    return d2;
}

double geodec__rbf_tree_nearest(const geodec__rbf_tree *t, const double *x, int64_t *where)
{
    struct {
        int32_t node;
        double d2;
    } stack[DEPTH];
    int depth = 0;
    double best = INFINITY, far;
    int64_t at = -1;
    stack[depth].node = 0;
    stack[depth++].d2 = box_distance(t, 0, x, &far);
    while (depth > 0) {
        depth--;
        if (stack[depth].d2 > best) continue;
        const int32_t i = stack[depth].node;
        const node *k = &t->node[i];
        if (!k->right) {
            for (int32_t p = k->first; p < k->end; p++) {
                const double d2 = site_distance(t, p, x);
                if (d2 < best || (d2 == best && t->order[p] < t->order[at])) best = d2, at = p;
            }
            continue;
        }
        const double a = box_distance(t, i + 1, x, &far), b = box_distance(t, k->right, x, &far);
        const bool left = a <= b; /* the nearer child is looked at first */
        stack[depth].node = left ? k->right : i + 1;
        stack[depth++].d2 = left ? b : a;
        stack[depth].node = left ? i + 1 : k->right;
        stack[depth++].d2 = left ? a : b;
    }
    *where = at;
    return best;
}

int64_t geodec__rbf_tree_within(const geodec__rbf_tree *t, const double *x, double radius2, int64_t room,
                                int32_t *index)
{
    int32_t stack[DEPTH];
    int depth = 0;
    int64_t count = 0;
    double far;
    stack[depth++] = 0;
    while (depth > 0) {
        const int32_t i = stack[--depth];
        const node *k = &t->node[i];
        if (box_distance(t, i, x, &far) > radius2) continue;
        const bool whole = far <= radius2;
        if (!whole && k->right) {
            stack[depth++] = k->right;
            stack[depth++] = i + 1;
            continue;
        }
        for (int32_t p = k->first; p < k->end; p++) {
            if (!whole && site_distance(t, p, x) > radius2) continue;
            if (count < room) index[count] = p;
            count++;
        }
        if (count > room) return count;
    }
    return count;
}
