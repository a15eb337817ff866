#include "drafters/lookup_drafter.h"

#include "base/mem.h"
#include "decode/tree.h"
#include "drafters/suffix.h"

enum { LENGTHS = 7, PLACES = 4, POOL = 32, LEVELS = 8 };
static const double PRIOR = 6;     /* weight of q_0 in trials */
static const double LEAST = 0.005; /* shorter matches are not used when less probability than this is left to them */
/* Set from prose and program texts: short matches predict little, long ones nearly everything. */
static const double FIRST_Q[LENGTHS] = {0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

typedef struct lookup_drafter {
    geodec_drafter base;
    geodec_suffix *text;
    geodec_suffix_match now; /* longest suffix of the text that occurred earlier */
    double trials[LENGTHS][PLACES], hits[LENGTHS][PLACES];
    geodec_suffix_match node[GEODEC_DRAFT_MAX + 1]; /* nodes of the tree */
} lookup_drafter;

static int32_t length_class(int32_t m)
{
    static const int32_t upper[LENGTHS - 1] = {1, 2, 3, 5, 8, 15};
    int32_t k = 0;
    while (k < LENGTHS - 1 && m > upper[k]) k++;
    return k;
}

static int32_t place_class(int64_t n) { return n > 4 ? 3 : n > 2 ? 2 : n > 1 ? 1 : 0; }

static geodec_status lookup_begin(geodec_drafter *base, geodec_err *err)
{
    (void)err;
    lookup_drafter *d = (lookup_drafter *)base;
    geodec_suffix_clear(d->text);
    d->now = (geodec_suffix_match){0, 0};
    for (int32_t i = 0; i < LENGTHS; i++)
        for (int32_t k = 0; k < PLACES; k++) {
            d->trials[i][k] = PRIOR;
            d->hits[i][k] = PRIOR * FIRST_Q[i];
        }
    return GEODEC_OK;
}

/* Number of places of a match that have a continuation: the sum over its continuations (only the latest ones of a very
 * common match).
 */
static int64_t places(const geodec_suffix *s, geodec_suffix_match m)
{
    int64_t n = 0, c;
    int32_t token, at = geodec_suffix_first(s, m);
    for (int32_t k = 0; at >= 0 && k < POOL; k++) {
        at = geodec_suffix_next(s, at, &token, &c);
        n += c;
    }
    return n;
}

/* Counts whether the token was among the continuations of the match; if not, does the same for the shorter matches. */
static void score(lookup_drafter *d, int32_t token)
{
    geodec_suffix_match m = d->now;
    for (int32_t level = 0; m.length > 0 && level < LEVELS; m = geodec_suffix_shorter(d->text, m)) {
        const int64_t n = places(d->text, m);
        if (n == 0) continue;
        const int32_t a = length_class(m.length), b = place_class(n);
        const bool hit = geodec_suffix_count(d->text, m, token) > 0;
        d->trials[a][b]++;
        d->hits[a][b] += hit;
        if (hit) return;
        level++;
    }
}

static geodec_status catch_up(lookup_drafter *d, const geodec_draft_request *q, geodec_err *err)
{
    for (int64_t i = geodec_suffix_length(d->text); i < q->n_context; i++) {
        score(d, q->context[i]);
        GEODEC_PASS(geodec_suffix_append(d->text, q->context[i], err));
        d->now = geodec_suffix_longest(d->text);
    }
    return GEODEC_OK;
}

static geodec_status lookup_root(geodec_drafter *base, const geodec_draft_request *request, geodec_err *err)
{
    lookup_drafter *d = (lookup_drafter *)base;
    GEODEC_PASS(catch_up(d, request, err));
    d->node[0] = d->now;
    return GEODEC_OK;
}

static geodec_status lookup_adopt(geodec_drafter *base, int32_t parent, int32_t token, geodec_err *err)
{
    (void)err;
    lookup_drafter *d = (lookup_drafter *)base;
    d->node[base->nodes - 1] = geodec_suffix_step(d->text, d->node[parent], token);
    return GEODEC_OK;
}

typedef struct pool {
    int32_t n;
    geodec_draft draft[POOL];
} pool;

static bool pooled(const pool *p, int32_t n, int32_t token)
{
    for (int32_t i = 0; i < n; i++)
        if (p->draft[i].token == token) return true;
    return false;
}

/* Adds the continuations of a match that longer matches do not have. Returns the probability left for shorter
 * matches. */
static double add(const lookup_drafter *d, geodec_suffix_match m, double rest, pool *p)
{
    const int32_t before = p->n, a = length_class(m.length);
    int64_t c, seen = 0, fresh = 0;
    int32_t token, at = geodec_suffix_first(d->text, m);
    for (int32_t k = 0; at >= 0 && k < POOL; k++) {
        at = geodec_suffix_next(d->text, at, &token, &c);
        seen += c;
        if (pooled(p, before, token)) continue;
        fresh += c;
        if (p->n < POOL) p->draft[p->n++] = (geodec_draft){.token = token, .source = a, .confidence = (double)c};
    }
    if (fresh == 0) return rest;
    const int32_t b = place_class(seen);
    const double q = d->hits[a][b] / d->trials[a][b];
    for (int32_t i = before; i < p->n; i++) p->draft[i].confidence *= rest * q / (double)fresh;
    return rest * (1 - q);
}

static geodec_status lookup_children(geodec_drafter *base, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                     geodec_err *err)
{
    (void)err;
    const lookup_drafter *d = (const lookup_drafter *)base;
    pool p = {.n = 0};
    double rest = 1;
    geodec_suffix_match m = d->node[node];
    for (int32_t level = 0; m.length > 0 && level < LEVELS && rest > LEAST && p.n < POOL;
         m = geodec_suffix_shorter(d->text, m), level++)
        rest = add(d, m, rest, &p);
    int32_t taken = 0;
    for (int32_t i = 0; i < p.n; i++)
        if (!geodec_drafter_forbids(base, node, p.draft[i].token))
            taken = geodec_tree_insert(out, taken, most, &p.draft[i]);
    *n = taken;
    return GEODEC_OK;
}

static void lookup_destroy(geodec_drafter *base)
{
    lookup_drafter *d = (lookup_drafter *)base;
    geodec_suffix_destroy(d->text);
    geodec_mem_free(d);
}

geodec_status geodec_lookup_drafter_create(geodec_drafter **out, geodec_err *err)
{
    static const char *const sources[LENGTHS] = {"1", "2", "3", "4-5", "6-8", "9-15", "16+"};
    static const geodec_drafter_ops ops = {.name = "lookup",
                                           .n_sources = LENGTHS,
                                           .source_name = sources,
                                           .begin = lookup_begin,
                                           .destroy = lookup_destroy,
                                           .root = lookup_root,
                                           .children = lookup_children,
                                           .adopt = lookup_adopt};
    geodec_status st = GEODEC_OK;
    lookup_drafter *d = NULL;
    GEODEC_NEW(d, 1);
    d->base.ops = &ops;
    GEODEC_TRY(geodec_suffix_create(&d->text, err));
    *out = &d->base;
    d = NULL;
done:
    if (d) lookup_destroy(&d->base);
    return st;
}
