#include "measure/bench_internal.h"

#include "base/mem.h"
#include "base/rng.h"
#include "decode/tree.h"

#include <math.h>

static geodec_status create(const geodec_bench_drafter *d, geodec_drafter **out, geodec_err *err);

geodec_status geodec__bench_drafters_open(const geodec_bench_plan *plan, bench_drafters *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bench_drafters b = {{NULL}};
    for (int32_t i = 0; i < plan->n_drafters; i++)
        GEODEC_TRY_MSG(create(&plan->drafter[i], &b.d[i], err), "drafter %s", plan->drafter[i].name);
    GEODEC_MOVE(*out, b);
done:
    geodec__bench_drafters_close(&b);
    return st;
}

void geodec__bench_drafters_close(bench_drafters *b)
{
    for (int i = 0; i < GEODEC_BENCH_DRAFTERS; i++) {
        geodec_drafter_destroy(b->d[i]);
        b->d[i] = NULL;
    }
}

/* ---- drafts that know the plain output --------------------------------------------------------------------------- */

/* Upper bounds, not drafters to use: replay of the plain output, or those of another drafter's drafts that it accepts.
 */
typedef struct oracle {
    geodec_drafter base;
    geodec_drafter_ops ops;
    const geodec_decoded *plain;
    geodec_drafter *inner; /* NULL: replay */
    double alpha;
    uint64_t seed; /* number of the text, so that the right drafts do not depend on the worker */
    /* State of the current tree. */
    int64_t index;
    int32_t n, depth[GEODEC_DRAFT_MAX + 1];
    bool right[GEODEC_DRAFT_MAX + 1]; /* the path to the node equals the plain output */
} oracle;

/* The plain output's token at a place, the stop token after its end, -1 after that. */
static int32_t truth_at(const oracle *o, int64_t at)
{
    if (at < o->plain->n) return o->plain->token[at];
    return at == o->plain->n ? o->plain->stop : -1;
}

/* Rank of the right token among the guesses for a place: k with probability alpha (1 - alpha)^k. */
static double rank_at(const oracle *o, int64_t at)
{
    if (o->alpha >= 1) return 0;
    const double u = geodec_rng_uniform_at(o->seed, geodec_rng_id("oracle", 0), (uint64_t)at);
    return floor(log1p(-u) / log1p(-o->alpha));
}

/* Wrong guess number k: a neighbour in the vocabulary. */
static int32_t wrong(int32_t truth, int32_t k) { return truth > GEODEC_TREE_CHILDREN ? truth - 1 - k : truth + 1 + k; }

static geodec_status oracle_root(geodec_drafter *d, const geodec_draft_request *q, geodec_err *err)
{
    oracle *o = (oracle *)d;
    (void)err;
    o->index = q->index;
    o->n = 1;
    o->depth[0] = 0;
    o->right[0] = true;
    return GEODEC_OK;
}

static geodec_status oracle_children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                     geodec_err *err)
{
    (void)err;
    const oracle *o = (const oracle *)d;
    const int64_t at = o->index + o->depth[node];
    const int32_t truth = truth_at(o, at);
    const double rank = o->right[node] ? rank_at(o, at) : INFINITY;
    double probability = o->alpha;
    *n = 0;
    for (int32_t k = 0; truth >= 0 && k < most && probability > 0; k++, probability *= 1 - o->alpha)
        out[(*n)++] =
            (geodec_draft){.token = rank <= k && rank > k - 1 ? truth : wrong(truth, k), .confidence = probability};
    return GEODEC_OK;
}

static geodec_status oracle_adopt(geodec_drafter *d, int32_t parent, int32_t token, geodec_err *err)
{
    (void)err;
    oracle *o = (oracle *)d;
    o->right[o->n] = o->right[parent] && token == truth_at(o, o->index + o->depth[parent]);
    o->depth[o->n++] = o->depth[parent] + 1;
    return GEODEC_OK;
}

/* Proposes those of the inner drafter's drafts that the plain output has: of a tree, the right path. */
static geodec_status oracle_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                    geodec_err *err)
{
    const oracle *o = (const oracle *)d;
    const int64_t left = o->plain->n > q->index ? o->plain->n - q->index : 0;
    bool reached[GEODEC_DRAFT_MAX], right[GEODEC_DRAFT_MAX];
    int32_t all = 0, kept = 0;
    GEODEC_PASS(geodec_drafter_propose(o->inner, q, out, &all, err));
    geodec_tree_compare(out, all, o->plain->token + (left > 0 ? q->index : 0), left, reached, right);
    for (int32_t i = 0; i < all; i++) {
        if (!right[i]) continue;
        out[kept] = out[i];
        out[kept].parent = kept - 1;
        kept++;
    }
    *n = kept;
    return GEODEC_OK;
}

static geodec_status oracle_begin(geodec_drafter *d, geodec_err *err)
{
    return geodec_drafter_begin(((oracle *)d)->inner, err);
}

static geodec_status oracle_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    return geodec_drafter_observe(((oracle *)d)->inner, rows, err);
}

static void oracle_destroy(geodec_drafter *d)
{
    geodec_drafter_destroy(((oracle *)d)->inner);
    geodec_mem_free(d);
}

static const char *const oracle_sources[] = {"replay"};
static const geodec_drafter_ops oracle_ops = {.name = "oracle",
                                              .n_sources = 1,
                                              .source_name = oracle_sources,
                                              .propose = geodec_tree_chain,
                                              .destroy = oracle_destroy,
                                              .root = oracle_root,
                                              .children = oracle_children,
                                              .adopt = oracle_adopt};

static geodec_status oracle_create(double alpha, geodec_drafter *inner, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    oracle *o = NULL;
    if (!(alpha >= 0 && alpha <= 1)) GEODEC_THROW(GEODEC_INVAL, "oracle replay with acceptance %g", alpha);
    if (inner && inner->ops->distribution)
        GEODEC_THROW(GEODEC_INVAL, "it samples its drafts, so none of them is known");
    GEODEC_NEW(o, 1);
    o->ops = oracle_ops;
    if (inner)
        o->ops = (geodec_drafter_ops){.name = "oracle",
                                      .n_sources = inner->ops->n_sources,
                                      .source_name = inner->ops->source_name,
                                      .wants_state = inner->ops->wants_state,
                                      .wants_top = inner->ops->wants_top,
                                      .learns = inner->ops->learns,
                                      .plans = true,
                                      .begin = oracle_begin,
                                      .observe = oracle_observe,
                                      .propose = oracle_propose,
                                      .destroy = oracle_destroy};
    o->base.ops = &o->ops;
    o->alpha = alpha > 0 ? alpha : 1;
    o->inner = inner;
    inner = NULL;
    *out = &o->base;
done:
    geodec_drafter_destroy(inner);
    return st;
}

static geodec_status create(const geodec_bench_drafter *d, geodec_drafter **out, geodec_err *err)
{
    geodec_drafter *inner = NULL;
    if (d->create) GEODEC_PASS(d->create(d->ctx, d->known ? &inner : out, err));
    return d->create && !d->known ? GEODEC_OK : oracle_create(d->alpha, inner, out, err);
}

bool geodec__bench_oracle_is(const geodec_drafter *d) { return d && d->ops->destroy == oracle_destroy; }

void geodec__bench_oracle_set(geodec_drafter *d, const geodec_decoded *plain)
{
    oracle *o = (oracle *)d;
    o->plain = plain;
    o->seed = 0;
    for (int64_t i = 0; i < plain->n; i++) o->seed = geodec_rng_at(o->seed, 1, (uint64_t)plain->token[i]);
}

/* ---- every position --------------------------------------------------------------------------------------------- */

typedef struct probe {
    geodec_drafter base;
    geodec_drafter_ops ops; /* with the requirements of the inner drafter */
    geodec_drafter *inner;
    int64_t room; /* positions */
    int32_t gamma, budget;
    geodec_draft *draft; /* [room][gamma] */
    int32_t *count;      /* [room] number of drafts of a position, -1 = not asked */
    geodec_draft *tree;  /* [room][budget] */
    int32_t *nodes;      /* [room] */
} probe;

static geodec_status probe_begin(geodec_drafter *d, geodec_err *err)
{
    probe *p = (probe *)d;
    for (int64_t i = 0; i < p->room; i++) p->count[i] = -1;
    return geodec_drafter_begin(p->inner, err);
}

static geodec_status probe_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    return geodec_drafter_observe(((probe *)d)->inner, rows, err);
}

static geodec_status probe_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                   geodec_err *err)
{
    probe *p = (probe *)d;
    (void)out;
    if (q->index < p->room) {
        geodec_draft_request wide = *q;
        wide.gamma = p->gamma;
        GEODEC_PASS(geodec_drafter_propose(p->inner, &wide, p->draft + q->index * p->gamma, &p->count[q->index], err));
        wide.budget = p->budget;
        wide.gamma = GEODEC_BENCH_GAMMA;
        if (p->budget > 0)
            GEODEC_PASS(
                geodec_drafter_propose(p->inner, &wide, p->tree + q->index * p->budget, &p->nodes[q->index], err));
    }
    *n = 0;
    return GEODEC_OK;
}

static void probe_destroy(geodec_drafter *d)
{
    probe *p = (probe *)d;
    GEODEC_FREE(p->draft, p->count, p->tree, p->nodes, p);
}

geodec_status geodec__bench_probe_create(int64_t max_tokens, int32_t gamma, int32_t budget, geodec_drafter **out,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    probe *p = NULL;
    GEODEC_NEW(p, 1);
    p->base.ops = &p->ops;
    p->ops.destroy = probe_destroy;
    p->room = max_tokens;
    p->gamma = gamma;
    p->budget = budget;
    GEODEC_NEW(p->tree, max_tokens * budget);
    GEODEC_NEW(p->nodes, max_tokens);
    GEODEC_NEW(p->draft, max_tokens * gamma);
    GEODEC_NEW(p->count, max_tokens);
    *out = &p->base;
    p = NULL;
done:
    if (p) probe_destroy(&p->base);
    return st;
}

void geodec__bench_probe_set(geodec_drafter *d, geodec_drafter *inner)
{
    probe *p = (probe *)d;
    p->inner = inner;
    p->ops = *inner->ops;
    p->ops.begin = probe_begin;
    p->ops.observe = probe_observe;
    p->ops.propose = probe_propose;
    p->ops.destroy = probe_destroy;
}

static void fate(geodec_tally *t, bool reached, bool accepted)
{
    t->proposed++;
    t->reached += reached;
    t->accepted += accepted;
    t->rejected += reached && !accepted;
}

void geodec__bench_probe_tally(const geodec_drafter *d, const geodec_decoded *plain, geodec_decode_counters *c)
{
    const probe *p = (const probe *)d;
    /* Only positions with at least a whole draft length of decided tokens after them. */
    const int64_t known = plain->n + (plain->stop >= 0);
    for (int64_t at = 0; at + p->gamma <= known && at < p->room; at++) {
        if (p->count[at] < 0) continue; /* not asked */
        c->rounds++;
        bool right = true;
        for (int32_t i = 0; i < p->count[at]; i++) {
            const geodec_draft *x = &p->draft[at * p->gamma + i];
            const int32_t truth = at + i < plain->n ? plain->token[at + i] : plain->stop;
            const bool reached = right;
            right = right && x->token == truth;
            int bin = (int)(x->confidence * GEODEC_CONFIDENCE_BINS);
            if (bin == GEODEC_CONFIDENCE_BINS) bin--;
            fate(&c->total, reached, right);
            fate(&c->position[i], reached, right);
            fate(&c->confidence[bin], reached, right);
            if (reached) c->confidence_sum[bin] += x->confidence;
        }
    }
}

void geodec__bench_probe_tally_tree(const geodec_drafter *d, const geodec_decoded *plain, int32_t budget,
                                    geodec_decode_counters *c)
{
    const probe *p = (const probe *)d;
    const int64_t known = plain->n + (plain->stop >= 0);
    for (int64_t at = 0; at + GEODEC_BENCH_GAMMA <= known && at < p->room; at++) {
        if (p->count[at] < 0) continue; /* not asked */
        const geodec_draft *tree = p->tree + at * p->budget;
        const int32_t n = p->nodes[at] < budget ? p->nodes[at] : budget; /* a prefix is the best tree of its size */
        int32_t depth[GEODEC_DRAFT_MAX], length = 0, last = -1;
        geodec_tree_depths(tree, n, depth);
        for (int32_t i = 0; i < n; i++) { /* parents come before children */
            const int64_t then = at + depth[i];
            if (tree[i].parent != last || depth[i] != length) continue;
            if (tree[i].token != (then < plain->n ? plain->token[then] : plain->stop)) continue;
            last = i;
            length++;
        }
        c->rounds++;
        for (int32_t k = 0; k <= length && k < GEODEC_BENCH_GAMMA; k++) fate(&c->position[k], true, k < length);
    }
}
