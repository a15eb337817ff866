#include "records/flowtrack.h"

#include "base/mem.h"
#include "records/flow_internal.h"

#include <math.h>
#include <string.h>

enum { MATCH_MAX = 8, NEAR = GEODEC_FLOW_NEAR_MAX, R = GEODEC_FLOW_DIMS_MAX };

struct geodec_flowtrack {
    const geodec_flowmap *map;
    int64_t n, room;
    int32_t *token;  /* [n] */
    int32_t *argmax; /* [n] */
    int32_t *before; /* [n] the last earlier position with the same token, -1 = none */
    int8_t *key;     /* [n][dims]; position 0 has none */
    int32_t *last;   /* [vocab] last position of a token, -1 = none */
    float *feature;  /* running features of the last row */
    float *standard; /* the same standardised */
    float *z;
    int32_t *scratch;
    struct branches *branches; /* of the tree under way */
};

/* One neighbour: a node of the map, or (own) a position of the text. */
typedef struct voter {
    int32_t at;
    bool own;
    float weight;
} voter;

/* A tree of drafts: the voters of each node, one node after the other. Voters of siblings are different ones, so all
 * nodes of one depth together have at most NEAR. */
typedef struct branches {
    int32_t nodes, newest, skip;
    int32_t parent[GEODEC_FLOW_NODES + 1], token[GEODEC_FLOW_NODES + 1], depth[GEODEC_FLOW_NODES + 1];
    int32_t first[GEODEC_FLOW_NODES + 2];
    voter voter[(GEODEC_FLOW_NODES + 1) * NEAR];
} branches;

geodec_status geodec_flowtrack_create(const geodec_flowmap *map, geodec_flowtrack **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowtrack *t = NULL;
    GEODEC_NEW(t, 1);
    t->map = map;
    GEODEC_NEW(t->last, map->vocab);
    GEODEC_NEW(t->feature, map->features);
    GEODEC_NEW(t->standard, map->features);
    GEODEC_NEW(t->z, map->m);
    GEODEC_NEW(t->scratch, geodec_flow_room(map));
    GEODEC_NEW(t->branches, 1);
    for (int64_t v = 0; v < map->vocab; v++) t->last[v] = -1;
    *out = t;
    t = NULL;
done:
    geodec_flowtrack_destroy(t);
    return st;
}

void geodec_flowtrack_destroy(geodec_flowtrack *t)
{
    if (!t) return;
    geodec_mem_free(t->token);
    geodec_mem_free(t->argmax);
    geodec_mem_free(t->before);
    geodec_mem_free(t->key);
    geodec_mem_free(t->last);
    geodec_mem_free(t->feature);
    geodec_mem_free(t->standard);
    geodec_mem_free(t->z);
    geodec_mem_free(t->scratch);
    geodec_mem_free(t->branches);
    geodec_mem_free(t);
}

void geodec_flowtrack_begin(geodec_flowtrack *t)
{
    for (int64_t i = 0; i < t->n; i++) t->last[t->token[i]] = -1;
    t->n = 0;
}

static geodec_status grow(geodec_flowtrack *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t room = t->room ? 2 * t->room : 256, r = t->map->dims;
    int32_t **const arrays[] = {&t->token, &t->argmax, &t->before};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        int32_t *p = geodec_mem_grow(*arrays[i], t->room, room, sizeof *p);
        if (!p) GEODEC_THROW(GEODEC_NOMEM, "no memory for a text of %lld tokens", (long long)room);
        *arrays[i] = p;
    }
    int8_t *key = geodec_mem_grow(t->key, t->room * r, room * r, 1);
    if (!key) GEODEC_THROW(GEODEC_NOMEM, "no memory for a text of %lld tokens", (long long)room);
    t->key = key;
    t->room = room;
done:
    return st;
}

geodec_status geodec_flowtrack_push_reduced(geodec_flowtrack *t, int32_t token, int32_t argmax, const float *z,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_flowmap *w = t->map;
    if (token < 0 || token >= w->vocab || argmax < -1 || argmax >= w->vocab)
        GEODEC_THROW(GEODEC_RANGE, "token %d, argmax %d: the flow map has %lld tokens", token, argmax,
                     (long long)w->vocab);
    if (t->n == t->room) GEODEC_TRY(grow(t, err));
    const int64_t i = t->n;
    t->token[i] = token;
    t->argmax[i] = argmax;
    t->before[i] = t->last[token];
    if (i > 0) {
        geodec__flow_key(w, t->standard, token, t->key + i * w->dims);
        t->last[token] = (int32_t)i; /* position 0 has no state before it and is no node */
    }
    geodec_flow_advance(w, z, i == 0, t->feature);
    geodec__flow_standardise(w, t->feature, t->standard);
    t->n++;
done:
    return st;
}

geodec_status geodec_flowtrack_push(geodec_flowtrack *t, int32_t token, int32_t argmax, const float *state,
                                    geodec_err *err)
{
    geodec_flow_state(t->map, state, t->z);
    return geodec_flowtrack_push_reduced(t, token, argmax, t->z, err);
}

static int32_t square_distance(const int8_t *a, const int8_t *b, int64_t r)
{
    int32_t sum = 0;
    for (int64_t c = 0; c < r; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

/* Equal tokens before position p and before the newest token (which stands at n). */
static int32_t match_length(const geodec_flowtrack *t, int64_t p)
{
    int32_t l = 0;
    while (l < MATCH_MAX && p - 1 - l >= 0 && t->token[p - 1 - l] == t->token[t->n - 1 - l]) l++;
    return l;
}

/* Own positions with the newest token, nearest first (ties: the later position); at most k. */
static int32_t own_nearest(const geodec_flowtrack *t, int32_t newest, const int8_t *key, int32_t k,
                           geodec_flow_hit *hit)
{
    int32_t n = 0;
    for (int32_t p = t->last[newest]; p >= 0; p = t->before[p]) {
        const int32_t d = square_distance(key, t->key + p * t->map->dims, t->map->dims);
        if (n == k && (k == 0 || d >= hit[n - 1].distance)) continue;
        int32_t i = n < k ? n++ : n - 1;
        for (; i > 0 && hit[i - 1].distance > d; i--) hit[i] = hit[i - 1];
        hit[i] = (geodec_flow_hit){d, p};
    }
    return n;
}

/* b <- A^-1 b for symmetric positive definite A [r][r] (lower triangle), destroyed. */
static void solve(int64_t r, float *a, float *b)
{
    for (int64_t i = 0; i < r; i++) {
        for (int64_t j = 0; j <= i; j++) {
            float s = a[i * r + j];
            for (int64_t k = 0; k < j; k++) s -= a[i * r + k] * a[j * r + k];
            a[i * r + j] = i == j ? 1 / sqrtf(fmaxf(s, 1e-12f)) : s * a[j * r + j]; /* diagonal: inverted */
        }
        for (int64_t k = 0; k < i; k++) b[i] -= a[i * r + k] * b[k];
        b[i] *= a[i * r + i];
    }
    for (int64_t i = r - 1; i >= 0; i--) {
        b[i] *= a[i * r + i];
        for (int64_t k = 0; k < i; k++) b[k] -= a[i * r + k] * b[i];
    }
}

/* x [dims] = key of a node of this token's bucket minus the query. */
static void stored_offset(const geodec_flowmap *w, int32_t token, int32_t node, const int8_t *query, float *x)
{
    const geodec_flow_scan *s = w->scan;
    const int64_t i = node - w->bucket[token], lane = i % GEODEC__FLOW_BLOCK;
    const uint8_t *b = s->block + (s->first[token] + i / GEODEC__FLOW_BLOCK) * GEODEC__FLOW_BLOCK * w->dims + 4 * lane;
    for (int32_t g = 0; g < s->groups; g++, b += 4 * GEODEC__FLOW_BLOCK)
        for (int c = 0; c < 4; c++) x[4 * g + c] = (float)((int32_t)b[c] - 64 - query[4 * g + c]);
}

/* Local linear correction: a weighted vote is exact for votes that are constant around the query; these weights are
 * exact for votes that are linear in the key (Cleveland 1979), as far as the ridge lets them. */
static void correct(const geodec_flowtrack *t, int32_t newest, const int8_t *query, int32_t n, voter *v)
{
    const geodec_flowmap *w = t->map;
    const geodec__flow_kernels *kernels = w->scan->kernels;
    const int64_t r = w->dims;
    float x[NEAR * R], weight[NEAR], mean[R], s[R * R], g[R], total = 0, trace = 0;
    for (int32_t i = 0; i < n; i++) {
        if (v[i].own)
            for (int64_t c = 0; c < r; c++) x[i * r + c] = (float)(t->key[v[i].at * r + c] - query[c]);
        else /* from the blocks the search has just read: the node's own row would be a cache miss */
            stored_offset(w, newest, v[i].at, query, x + i * r);
        weight[i] = v[i].weight;
        total += v[i].weight;
    }
    kernels->apply_f32(x, n, r, weight, mean);
    for (int64_t c = 0; c < r; c++) mean[c] /= total;
    for (int32_t i = 0; i < n; i++)
        for (int64_t c = 0; c < r; c++) x[i * r + c] -= mean[c];
    kernels->scatter(x, weight, n, r, s);
    for (int64_t a = 0; a < r; a++) trace += s[a * r + a];
    if (!(trace > 0)) return;
    const float ridge = (float)w->vote.ridge * trace / (float)r + 1e-6f * trace;
    for (int64_t a = 0; a < r; a++) {
        s[a * r + a] += ridge;
        g[a] = -total * mean[a]; /* query - mean, from the query; s is total times the covariance */
    }
    solve(r, s, g);
    for (int32_t i = 0; i < n; i++) {
        float tilt = 1;
        for (int64_t c = 0; c < r; c++) tilt += g[c] * x[i * r + c];
        v[i].weight *= tilt;
    }
}

/* Neighbours of (features before it, newest), nearest first, with their weights. */
static int32_t gather(geodec_flowtrack *t, int32_t newest, int32_t skip, voter *v)
{
    const geodec_flowmap *w = t->map;
    const geodec_flow_vote *o = &w->vote;
    int8_t query[R];
    geodec_flow_hit stored[NEAR], own[NEAR];
    int32_t distance[NEAR], n = 0;
    geodec__flow_key(w, t->standard, newest, query);
    const int32_t n_stored = geodec_flow_nearest(w, newest, query, (int32_t)o->neighbours, skip, t->scratch, stored);
    for (int32_t i = 0; i < n_stored; i++) __builtin_prefetch(&w->scan->hop[stored[i].node]);
    const int32_t n_own = own_nearest(t, newest, query, (int32_t)o->own, own);
    for (int32_t a = 0, b = 0; a < n_stored || b < n_own; n++) {
        const bool mine = a == n_stored || (b < n_own && own[b].distance <= stored[a].distance);
        const geodec_flow_hit h = mine ? own[b++] : stored[a++];
        v[n] = (voter){.at = h.node, .own = mine};
        distance[n] = h.distance;
    }
    if (n == 0) return 0;
    const int32_t rank = o->rank < n ? (int32_t)o->rank : n;
    const float factor = (float)(-0.5 / (o->bandwidth * (double)distance[rank - 1] + 1e-3));
    for (int32_t i = 0; i < n; i++) {
        float e = (float)(distance[i] - distance[0]) * factor;
        if (v[i].own) e += (float)o->match_weight * (float)match_length(t, v[i].at);
        v[i].weight = expf(e) * (v[i].own ? (float)o->own_weight : 1);
    }
    if (n > 4) correct(t, newest, query, n, v);
    return n;
}

/* What a voter says next; drafts so far continue the text behind its newest token. -1 = nothing. */
static int32_t label_of(const geodec_flowtrack *t, const voter *v, int32_t newest, const geodec_flow_draft *drafted,
                        int32_t n_drafted)
{
    if (!v->own) return t->map->scan->hop[v->at].label;
    const int64_t p = v->at;
    if (p < t->n) {
        if (t->argmax[p] >= 0) return t->argmax[p];
        return p + 1 < t->n ? t->token[p + 1] : newest;
    }
    return p - t->n < n_drafted ? drafted[p - t->n].token : -1;
}

/* Moves a voter along after it was followed; false when it ends here. */
static bool advance(const geodec_flowtrack *t, voter *v, int32_t said, int32_t newest)
{
    if (!v->own) {
        v->at = t->map->scan->hop[v->at].next;
        if (v->at < 0) return false;
        __builtin_prefetch(&t->map->scan->hop[v->at]);
        return true;
    }
    const int64_t p = v->at + 1;
    const int32_t text = p < t->n ? t->token[p] : p == t->n ? newest : said; /* behind it stand the drafts themselves */
    if (text != said) return false;
    v->at++;
    return true;
}

/* Sums of votes by label, in the order in which labels first occur. */
typedef struct ballot {
    int32_t n, label[NEAR];
    float sum[NEAR];
} ballot;

static void count_votes(const geodec_flowtrack *t, const voter *v, int32_t alive, int32_t newest,
                        const geodec_flow_draft *drafted, int32_t n_drafted, int32_t *place, ballot *b)
{
    b->n = 0;
    for (int32_t i = 0; i < alive; i++) {
        const int32_t label = label_of(t, &v[i], newest, drafted, n_drafted);
        int32_t k = 0;
        while (k < b->n && b->label[k] != label) k++;
        if (k == b->n) {
            b->label[k] = label;
            b->sum[b->n++] = 0;
        }
        b->sum[k] += v[i].weight;
        place[i] = k;
    }
}

/* Keeps the `most` heaviest voters in their order (of equal ones, the earlier). */
static int32_t thin(voter *v, int32_t n, int32_t most)
{
    float sorted[NEAR] = {0};
    int32_t kept = 0, above = 0;
    if (n <= most) return n;
    for (int32_t i = 0; i < n; i++) {
        int32_t at = i;
        for (; at > 0 && sorted[at - 1] < v[i].weight; at--) sorted[at] = sorted[at - 1];
        sorted[at] = v[i].weight;
    }
    const float limit = sorted[most - 1];
    while (above < most && sorted[above] > limit) above++;
    int32_t equal = most - above; /* places left for those at the limit */
    for (int32_t i = 0; i < n; i++)
        if (v[i].weight > limit || (v[i].weight == limit && equal-- > 0)) v[kept++] = v[i];
    return kept;
}

int32_t geodec_flowtrack_propose(geodec_flowtrack *t, int32_t newest, int32_t n, int32_t skip,
                                 bool (*forbid)(void *ctx, int32_t i, int32_t token), void *ctx, geodec_flow_draft *out)
{
    const geodec_flowmap *w = t->map;
    const geodec__flow_hop *hop = w->scan->hop;
    voter v[NEAR];
    ballot votes;
    int32_t place[NEAR], done = 0;
    if (t->n < 1 || newest < 0 || newest >= w->vocab) return 0;
    int32_t alive = gather(t, newest, skip, v);
    while (done < n && alive > 0) {
        float positive = 0, own = 0, sure = 0, voted = 0;
        int32_t winner = -1;
        count_votes(t, v, alive, newest, out, done, place, &votes);
        for (int32_t k = 0; k < votes.n; k++) {
            if (votes.label[k] < 0 || !(votes.sum[k] > 0)) continue;
            positive += votes.sum[k];
            if (forbid && forbid(ctx, done, votes.label[k])) continue;
            if (winner < 0 || votes.sum[k] > votes.sum[winner] ||
                (votes.sum[k] >= votes.sum[winner] && votes.label[k] < votes.label[winner]))
                winner = k;
        }
        if (winner < 0) break;
        const int32_t token = votes.label[winner];
        int32_t kept = 0;
        for (int32_t i = 0; i < alive; i++) {
            if (place[i] != winner || !(v[i].weight > 0)) continue;
            voted += v[i].weight;
            sure += v[i].weight * (v[i].own ? 1 : hop[v[i].at].sure);
            if (v[i].own) own += v[i].weight;
            if (!advance(t, &v[i], token, newest)) continue;
            if (!v[i].own && skip >= 0 && hop[v[i].at].sequence == skip) continue;
            v[kept++] = v[i];
        }
        /* never above 1: the winner's sum may hold negative weights, its voters do not */
        const double score = (double)(votes.sum[winner] / positive) * (double)(sure / voted);
        out[done] = (geodec_flow_draft){.token = token, .own = 2 * own > voted, .score = score};
        out[done].confidence = geodec_flow_reliability(w, done, score);
        done++;
        alive = thin(v, kept, (int32_t)w->vote.chains);
    }
    return done;
}

/* ---- trees ------------------------------------------------------------------------------------------------------ */

/* The drafts from the root down to a node, as label_of wants them. */
static int32_t path_to(const branches *b, int32_t node, geodec_flow_draft *path)
{
    const int32_t depth = b->depth[node];
    for (int32_t at = node; at > 0; at = b->parent[at]) path[b->depth[at] - 1].token = b->token[at];
    return depth;
}

bool geodec_flowtrack_root(geodec_flowtrack *t, int32_t newest, int32_t skip)
{
    branches *b = t->branches;
    b->nodes = 1;
    b->newest = newest;
    b->skip = skip;
    b->parent[0] = -1;
    b->depth[0] = b->first[0] = b->first[1] = 0;
    if (t->n < 1 || newest < 0 || newest >= t->map->vocab) return false;
    b->first[1] = gather(t, newest, skip, b->voter);
    return b->first[1] > 0;
}

int32_t geodec_flowtrack_children(geodec_flowtrack *t, int32_t node, int32_t most,
                                  bool (*forbid)(void *ctx, int32_t i, int32_t token), void *ctx,
                                  geodec_flow_draft *out)
{
    const geodec_flowmap *w = t->map;
    const branches *b = t->branches;
    const voter *v = b->voter + b->first[node];
    const int32_t alive = b->first[node + 1] - b->first[node];
    geodec_flow_draft path[GEODEC_FLOW_NODES];
    ballot votes;
    int32_t place[NEAR], n = 0;
    float positive = 0, voted[NEAR] = {0}, sure[NEAR] = {0}, own[NEAR] = {0};
    const int32_t depth = path_to(b, node, path);
    count_votes(t, v, alive, b->newest, path, depth, place, &votes);
    for (int32_t k = 0; k < votes.n; k++)
        if (votes.label[k] >= 0 && votes.sum[k] > 0) positive += votes.sum[k];
    for (int32_t i = 0; i < alive; i++) {
        if (!(v[i].weight > 0)) continue;
        voted[place[i]] += v[i].weight;
        sure[place[i]] += v[i].weight * (v[i].own ? 1 : w->scan->hop[v[i].at].sure);
        if (v[i].own) own[place[i]] += v[i].weight;
    }
    for (int32_t k = 0; k < votes.n; k++) {
        if (votes.label[k] < 0 || !(votes.sum[k] > 0) || (forbid && forbid(ctx, depth, votes.label[k]))) continue;
        const double score = (double)(votes.sum[k] / positive) * (double)(sure[k] / voted[k]);
        const geodec_flow_draft x = {.token = votes.label[k],
                                     .own = 2 * own[k] > voted[k],
                                     .score = score,
                                     .confidence = geodec_flow_reliability(w, depth, score)};
        int32_t at = n < most ? n++ : most;
        for (; at > 0 && (out[at - 1].score < x.score || (out[at - 1].score <= x.score && out[at - 1].token > x.token));
             at--)
            if (at < most) out[at] = out[at - 1];
        if (at < most) out[at] = x;
    }
    return n;
}

void geodec_flowtrack_adopt(geodec_flowtrack *t, int32_t parent, int32_t token)
{
    branches *b = t->branches;
    geodec_flow_draft path[GEODEC_FLOW_NODES];
    const int32_t node = b->nodes++, depth = path_to(b, parent, path);
    int32_t n = b->first[node];
    b->parent[node] = parent;
    b->token[node] = token;
    b->depth[node] = depth + 1;
    for (int32_t i = b->first[parent]; i < b->first[parent + 1]; i++) {
        voter v = b->voter[i];
        if (!(v.weight > 0) || label_of(t, &v, b->newest, path, depth) != token) continue;
        if (!advance(t, &v, token, b->newest)) continue;
        if (!v.own && b->skip >= 0 && t->map->scan->hop[v.at].sequence == b->skip) continue;
        b->voter[n++] = v;
    }
    b->first[node + 1] = n;
}
