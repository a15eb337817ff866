#include "flowmap/track.h"

#include "base/mem.h"
#include "flowmap/flowmap_internal.h"

#include <math.h>
#include <string.h>

enum { MATCH_MAX = 8, NEAR = GEODEC_FLOW_NEAR_MAX, R = GEODEC_FLOW_DIMS_MAX };
/* Neighbours in the second search after a draft. More of them cost time without a gain on two models. */
enum { AGAIN = 8, AGAIN_OWN = 4 };
/* Records of a grown library among the neighbours, and in the second search. */
enum { GROWN = 8, AGAIN_GROWN = 4, NEIGHBOURS = NEAR + GROWN };
/* Weight exp(LIBRARY_MATCH l) of a record for l equal tokens before it: a long match means that the text repeats. Among
 * 0.1, 0.3 and 0.6, 0.6 was best on new and on repeated texts. */
static const float LIBRARY_MATCH = 0.6F;
/* Rows recorded after a miss as its continuation, because drafts of several tokens follow records. Without them the
 * gain on repeated texts was half as large. */
enum { CONTINUATION = 8 };
/* Share of a neighbour's weight in sampled texts: the next token of its own text is one sample of the model's
 * distribution, and the argmax is its most probable token. */
static const float SAMPLED_SHARE = 0.5f;

struct geodec_flowmap_track {
    const geodec_flowmap *map;
    int64_t n, room;
    int32_t *token;  /* [n] */
    int32_t *argmax; /* [n] */
    int32_t *before; /* [n] the last earlier position with the same token, -1 = none */
    int8_t *key;     /* [n][dims]; position 0 has none */
    int32_t *last;   /* [vocab] last position of a token, -1 = none */
    float *feature;  /* running features of the last row */
    float *standard; /* the same features, standardised */
    float *z;
    int32_t *scratch;
    struct branches *branches; /* of the current tree */
    int32_t keyed;             /* token whose key after the last row is `query`, -1 = none */
    int8_t query[R];
    geodec_flowmap_library *grown;        /* NULL = none */
    int64_t visible;                      /* records before this serial vote: those of earlier texts */
    bool open;                            /* whether the last row is to be recorded: */
    geodec_flowmap_library_record record; /* its record, without the token that follows */
    int32_t run;                          /* number of further rows that belong to the last miss */
};

/* One neighbour: a node of the map, a position of the text, or a record of the grown library (its serial). */
typedef enum origin { STORED, OWN, OF_LIBRARY } origin;
typedef struct neighbour {
    int64_t at;
    origin from;
    float weight;
} neighbour;

/* A tree of drafts: the neighbours of each node, in order of nodes. */
typedef struct branches {
    int32_t nodes, newest, skip;
    float sampled; /* share of a neighbour's weight that its own text's next token gets */
    int32_t parent[GEODEC_FLOW_NODES + 1], token[GEODEC_FLOW_NODES + 1], depth[GEODEC_FLOW_NODES + 1];
    int32_t first[GEODEC_FLOW_NODES + 2];
    int64_t rows; /* rows of the text when the root's neighbours were gathered, -1 = none */
    neighbour neighbour[(GEODEC_FLOW_NODES + 1) * NEIGHBOURS];
} branches;

geodec_status geodec_flowmap_track_create(const geodec_flowmap *map, geodec_flowmap_track **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap_track *t = NULL;
    GEODEC_NEW(t, 1);
    t->map = map;
    GEODEC_NEW(t->last, map->vocab);
    GEODEC_NEW(t->feature, 2 * map->features + map->m);
    t->standard = t->feature + map->features;
    t->z = t->standard + map->features;
    GEODEC_NEW(t->scratch, geodec_flowmap_room(map));
    GEODEC_NEW(t->branches, 1);
    for (int64_t v = 0; v < map->vocab; v++) t->last[v] = -1;
    t->keyed = -1;
    t->branches->rows = -1;
    *out = t;
    t = NULL;
done:
    geodec_flowmap_track_destroy(t);
    return st;
}

void geodec_flowmap_track_destroy(geodec_flowmap_track *t)
{
    if (!t) return;
    GEODEC_FREE(t->token, t->argmax, t->before, t->key, t->last, t->feature, t->scratch, t->branches, t);
}

void geodec_flowmap_track_grow(geodec_flowmap_track *t, geodec_flowmap_library *library)
{
    t->grown = library;
    t->visible = geodec_flowmap_library_end(library);
}

geodec_status geodec_flowmap_track_end(geodec_flowmap_track *t, geodec_err *err)
{
    const bool open = t->open;
    t->open = false;
    return open ? geodec_flowmap_library_add(t->grown, &t->record, err) : GEODEC_OK;
}

geodec_status geodec_flowmap_track_begin(geodec_flowmap_track *t, geodec_err *err)
{
    GEODEC_PASS(geodec_flowmap_track_end(t, err));
    for (int64_t i = 0; i < t->n; i++) t->last[t->token[i]] = -1;
    t->n = 0;
    t->keyed = -1;
    t->branches->rows = -1;
    t->run = 0;
    if (t->grown) t->visible = geodec_flowmap_library_end(t->grown);
    return GEODEC_OK;
}

static geodec_status grow(geodec_flowmap_track *t, geodec_err *err)
{
    const int64_t room = t->room ? 2 * t->room : 256, r = t->map->dims;
    int32_t **const arrays[] = {&t->token, &t->argmax, &t->before};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        int32_t *p = geodec_mem_grow(*arrays[i], t->room, room, sizeof *p);
        if (!p) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a text of %lld tokens", (long long)room);
        *arrays[i] = p;
    }
    int8_t *key = geodec_mem_grow(t->key, t->room * r, room * r, 1);
    if (!key) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a text of %lld tokens", (long long)room);
    t->key = key;
    t->room = room;
    return GEODEC_OK;
}

static geodec_status learn(geodec_flowmap_track *t, int32_t token, int32_t argmax, geodec_err *err);

geodec_status geodec_flowmap_track_push_reduced(geodec_flowmap_track *t, int32_t token, int32_t argmax, const float *z,
                                                geodec_err *err)
{
    const geodec_flowmap *w = t->map;
    if (token < 0 || token >= w->vocab || argmax < -1 || argmax >= w->vocab)
        GEODEC_FAIL(GEODEC_RANGE, "token %d, argmax %d: the flow map has %lld tokens", token, argmax,
                    (long long)w->vocab);
    if (t->n == t->room) GEODEC_PASS(grow(t, err));
    if (t->grown && t->n > 0) GEODEC_PASS(learn(t, token, argmax, err));
    const int64_t i = t->n;
    t->token[i] = token;
    t->argmax[i] = argmax;
    t->before[i] = t->last[token];
    if (i > 0) {
        if (token == t->keyed) /* geodec_flowmap_track_root computed it */
            memcpy(t->key + i * w->dims, t->query, (size_t)w->dims);
        else
            geodec__flowmap_state_key(w, t->standard, token, t->key + i * w->dims);
        t->last[token] = (int32_t)i; /* position 0 has no state before it and is not a node */
    }
    geodec_flowmap_advance(w, z, i == 0, t->feature);
    geodec__flowmap_standardise(w, t->feature, t->standard);
    t->keyed = -1;
    t->n++;
    return GEODEC_OK;
}

geodec_status geodec_flowmap_track_push(geodec_flowmap_track *t, int32_t token, int32_t argmax, const float *state,
                                        geodec_err *err)
{
    geodec_flowmap_state(t->map, state, t->z);
    return geodec_flowmap_track_push_reduced(t, token, argmax, t->z, err);
}

static int32_t square_distance(const int8_t *a, const int8_t *b, int64_t r)
{
    int32_t sum = 0;
    for (int64_t c = 0; c < r; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

/* Positions of the text with the newest token, nearest first (ties: the later position); at most k. */
static int32_t own_nearest(const geodec_flowmap_track *t, int32_t newest, const int8_t *key, int32_t k,
                           geodec_flowmap_hit *hit)
{
    int32_t n = 0;
    for (int32_t p = t->last[newest]; p >= 0; p = t->before[p]) {
        const int32_t d = square_distance(key, t->key + p * t->map->dims, t->map->dims);
        if (n == k && (k == 0 || d >= hit[n - 1].distance)) continue;
        int32_t i = n < k ? n++ : n - 1;
        for (; i > 0 && hit[i - 1].distance > d; i--) hit[i] = hit[i - 1];
        hit[i] = (geodec_flowmap_hit){d, p};
    }
    return n;
}

static const int8_t *key_of(const geodec_flowmap_track *t, const neighbour *v)
{
    if (v->from == OF_LIBRARY) return geodec_flowmap_library_get(t->grown, v->at)->key;
    return v->from == OWN ? t->key + v->at * t->map->dims : t->map->scan->hop[v->at].key;
}

/* Local linear correction (Cleveland 1979). A weighted vote is exact if the votes are constant around the query; with
 * these weights it is exact if they are linear in the key, up to the ridge. */
static void correct(const geodec_flowmap_track *t, const int8_t *query, int32_t n, neighbour *v)
{
    const geodec_flowmap *w = t->map;
    const geodec__flowmap_scan_kernels *kernels = w->scan->kernels;
    const int64_t r = w->dims;
    float x[NEIGHBOURS * R], weight[NEIGHBOURS], mean[R], s[R * R], g[R], total = 0, trace = 0;
    for (int32_t i = 0; i < n; i++) {
        kernels->offset(key_of(t, &v[i]), query, r, x + i * r);
        weight[i] = v[i].weight;
        total += v[i].weight;
    }
    kernels->apply_f32(x, n, r, weight, mean);
    for (int64_t c = 0; c < r; c++) mean[c] /= total;
    kernels->centre(x, n, r, mean);
    kernels->scatter(x, weight, n, r, s);
    for (int64_t a = 0; a < r; a++) trace += s[a * r + a];
    if (!(trace > 0)) return;
    const float ridge = (float)w->vote.ridge * trace / (float)r + 1e-6f * trace;
    for (int64_t a = 0; a < r; a++) {
        s[a * r + a] += ridge;
        g[a] = -total * mean[a]; /* query - mean, from the query; s is total times the covariance */
    }
    kernels->solve(r, s, g);
    for (int32_t i = 0; i < n; i++) {
        float tilt = 1;
        for (int64_t c = 0; c < r; c++) tilt += g[c] * x[i * r + c];
        v[i].weight *= tilt;
    }
}

/* The token `back` places before a node in its text: 0 = the node's own token. -1 before the start. */
static int32_t context(const geodec_flowmap_track *t, int32_t node, int32_t back)
{
    const branches *b = t->branches;
    while (node > 0 && back > 0) {
        node = b->parent[node];
        back--;
    }
    if (node > 0) return b->token[node];
    if (back == 0) return b->newest;
    return t->n - back >= 0 ? t->token[t->n - back] : -1;
}

/* Number of equal tokens before a neighbour and before the newest token; at most MATCH_MAX. */
static int32_t matching(const geodec_flowmap_track *t, const neighbour *v, const int32_t *before)
{
    int32_t l = 0;
    if (v->from == OWN) {
        while (l < MATCH_MAX && v->at - 1 - l >= 0 && t->token[v->at - 1 - l] == before[l]) l++;
    } else {
        const uint8_t *mark = geodec_flowmap_library_get(t->grown, v->at)->context;
        while (l < MATCH_MAX && before[l] >= 0 && mark[l] == geodec_flowmap_library_mark(before[l])) l++;
    }
    return l;
}

/* Neighbours of a node's bucket around a key, nearest first, with their weights. */
static int32_t gather(geodec_flowmap_track *t, int32_t node, const int8_t *query, int32_t k_stored, int32_t k_own,
                      int32_t k_grown, neighbour *v)
{
    const geodec_flowmap *w = t->map;
    const geodec_flowmap_vote *o = &w->vote;
    const int32_t skip = t->branches->skip, newest = context(t, node, 0);
    geodec_flowmap_hit stored[NEAR], own[NEAR];
    geodec_flowmap_library_hit grown[GROWN];
    int32_t distance[NEIGHBOURS], n = 0, before[MATCH_MAX];
    for (int i = 0; i < MATCH_MAX; i++) before[i] = context(t, node, i + 1);
    const int32_t n_stored = geodec_flowmap_nearest(w, newest, query, k_stored, skip, t->scratch, stored);
    const int32_t n_own = own_nearest(t, newest, query, k_own, own);
    const int32_t n_grown =
        t->grown ? geodec_flowmap_library_nearest(t->grown, newest, query, t->visible, k_grown, grown) : 0;
    /* Merged by distance; on ties the text's own positions come first, then the library's records. */
    for (int32_t a = 0, b = 0, c = 0; a < n_stored || b < n_own || c < n_grown; n++) {
        int32_t best = INT32_MAX;
        origin from = STORED;
        if (a < n_stored) best = stored[a].distance;
        if (c < n_grown && (grown[c].distance <= best)) {
            best = grown[c].distance;
            from = OF_LIBRARY;
        }
        if (b < n_own && own[b].distance <= best) {
            best = own[b].distance;
            from = OWN;
        }
        v[n].from = from;
        v[n].at = from == OWN ? own[b++].node : from == OF_LIBRARY ? grown[c++].serial : stored[a++].node;
        distance[n] = best;
    }
    if (n == 0) return 0;
    const int32_t rank = o->rank < n ? (int32_t)o->rank : n;
    const float factor = (float)(-0.5 / (o->bandwidth * (double)distance[rank - 1] + 1e-3));
    for (int32_t i = 0; i < n; i++) {
        float e = (float)(distance[i] - distance[0]) * factor;
        if (v[i].from != STORED)
            e += (v[i].from == OWN ? (float)o->match_weight : LIBRARY_MATCH) * (float)matching(t, &v[i], before);
        v[i].weight = expf(e) * (v[i].from == STORED ? 1 : (float)o->own_weight);
    }
    if (n > 4 && node == 0) correct(t, query, n, v);
    return n;
}

/* Labels of a neighbour: the model's argmax and the text's own next token (each -1 when not known). */
static void labels_of(const geodec_flowmap_track *t, const neighbour *v, int32_t *label, int32_t *text)
{
    if (v->from == STORED) {
        *label = t->map->scan->hop[v->at].label;
        *text = t->map->scan->hop[v->at].text;
        return;
    }
    if (v->from == OF_LIBRARY) {
        const geodec_flowmap_library_record *r = geodec_flowmap_library_get(t->grown, v->at);
        *label = r->label;
        *text = r->text;
        return;
    }
    const int64_t p = v->at;
    *label = -1;
    if (p < t->n) {
        *text = p + 1 < t->n ? t->token[p + 1] : t->branches->newest;
        *label = t->argmax[p] >= 0 ? t->argmax[p] : *text;
        return;
    }
    *text = -1;
}

/* Sums of votes by label, in order of first occurrence. */
enum { VOTES = (1 + GEODEC_FLOW_CHOICES) * NEIGHBOURS };
typedef struct ballot {
    int32_t n, label[VOTES];
    float sum[VOTES];      /* sum of all votes; the local linear correction makes some negative */
    float positive[VOTES]; /* sum of the positive votes, and its parts: */
    float agreement[VOTES], own[VOTES], grown[VOTES];
} ballot;

static void cast(ballot *b, int32_t label, float weight, float agreement, origin from)
{
    int32_t k = 0;
    while (k < b->n && b->label[k] != label) k++;
    if (k == b->n) {
        b->label[k] = label;
        b->sum[k] = b->positive[k] = b->agreement[k] = b->own[k] = b->grown[k] = 0;
        b->n++;
    }
    b->sum[k] += weight;
    if (!(weight > 0)) return;
    b->positive[k] += weight;
    b->agreement[k] += weight * agreement;
    if (from == OWN) b->own[k] += weight;
    if (from == OF_LIBRARY) b->grown[k] += weight;
}

/* A node's vote in a sampled text: the stored part of its distribution. */
static void cast_probabilities(const geodec_flowmap *w, int64_t node, float weight, float agreement, ballot *b)
{
    enum { K = GEODEC_FLOW_CHOICES };
    const int32_t *choice = w->choice + node * K;
    const uint8_t *probability = w->probability + node * (K + 1);
    cast(b, w->scan->hop[node].label, weight * (float)probability[0] / 255, agreement, STORED);
    for (int k = 0; k < K && choice[k] >= 0; k++)
        cast(b, choice[k], weight * (float)probability[1 + k] / 255, agreement, STORED);
}

static void count_votes(const geodec_flowmap_track *t, const neighbour *v, int32_t alive, ballot *b)
{
    const float sampled = t->branches->sampled;
    b->n = 0;
    for (int32_t i = 0; i < alive; i++) {
        int32_t label, text;
        const float agreement = v[i].from != STORED ? 1 : t->map->scan->hop[v[i].at].agreement;
        if (sampled > 0 && v[i].from == STORED && t->map->probability) {
            cast_probabilities(t->map, v[i].at, v[i].weight, agreement, b);
            continue;
        }
        labels_of(t, &v[i], &label, &text);
        if (label >= 0) cast(b, label, v[i].weight * (text < 0 ? 1 : 1 - sampled), agreement, v[i].from);
        if (text >= 0 && sampled > 0) cast(b, text, v[i].weight * (label < 0 ? 1 : sampled), agreement, v[i].from);
    }
}

bool geodec_flowmap_track_root(geodec_flowmap_track *t, int32_t newest, int32_t skip, bool sampled)
{
    branches *b = t->branches;
    b->sampled = sampled ? SAMPLED_SHARE : 0;
    if (b->rows == t->n && b->newest == newest && b->skip == skip) { /* already gathered for this row */
        b->nodes = 1;
        return b->first[1] > 0;
    }
    b->nodes = 1;
    b->newest = newest;
    b->skip = skip;
    b->rows = -1;
    b->parent[0] = -1;
    b->depth[0] = b->first[0] = b->first[1] = 0;
    if (t->n < 1 || newest < 0 || newest >= t->map->vocab) return false;
    if (newest != t->keyed) geodec__flowmap_state_key(t->map, t->standard, newest, t->query);
    t->keyed = newest;
    b->first[1] =
        gather(t, 0, t->query, (int32_t)t->map->vote.neighbours, (int32_t)t->map->vote.own, GROWN, b->neighbour);
    if (t->grown) b->rows = t->n;
    return b->first[1] > 0;
}

int32_t geodec_flowmap_track_children(geodec_flowmap_track *t, int32_t node, int32_t most,
                                      bool (*forbid)(void *ctx, int32_t i, int32_t token), void *ctx,
                                      geodec_flow_draft *out)
{
    const geodec_flowmap *w = t->map;
    const branches *b = t->branches;
    const int32_t depth = b->depth[node];
    const bool probabilities = b->sampled > 0 && w->probability; /* the votes are already probabilities */
    ballot votes;
    int32_t n = 0;
    float positive = 0;
    count_votes(t, b->neighbour + b->first[node], b->first[node + 1] - b->first[node], &votes);
    for (int32_t k = 0; k < votes.n; k++)
        if (votes.sum[k] > 0) positive += votes.sum[k];
    for (int32_t k = 0; k < votes.n; k++) {
        if (!(votes.sum[k] > 0) || (forbid && forbid(ctx, depth, votes.label[k]))) continue;
        /* at most 1: the sum may include negative weights, the mean of `agreement` does not */
        const double share = (double)(votes.sum[k] / positive);
        const double score = probabilities ? share : share * sqrt((double)(votes.agreement[k] / votes.positive[k]));
        const geodec_flow_draft x = {.token = votes.label[k],
                                     .own = 2 * votes.own[k] > votes.positive[k],
                                     .grown = 2 * votes.grown[k] > votes.positive[k],
                                     .score = score,
                                     .confidence =
                                         b->sampled > 0 ? score : geodec_flowmap_reliability(w, depth, score)};
        int32_t at = n < most ? n++ : most;
        for (; at > 0 && (out[at - 1].score < x.score || (out[at - 1].score <= x.score && out[at - 1].token > x.token));
             at--)
            if (at < most) out[at] = out[at - 1];
        if (at < most) out[at] = x;
    }
    return n;
}

/* The successor of a record in its own text. The path ends if its place was freed or reused for another token. */
static bool follow_record(const geodec_flowmap_track *t, const neighbour *v, int32_t token, neighbour *to)
{
    const geodec_flowmap_library_record *r = geodec_flowmap_library_get(t->grown, v->at), *next;
    if (r->text != token || r->next == GEODEC_GROWN_NOWHERE) return false;
    if (r->label != token) {
        if (!(t->branches->sampled > 0)) return false;
        to->weight *= t->branches->sampled;
    }
    if (r->next < 0) {
        to->from = STORED;
        to->at = GEODEC_GROWN_NODE(r->next);
        return to->at < t->map->nodes && t->map->scan->hop[to->at].token == token;
    }
    next = geodec_flowmap_library_get(t->grown, r->next);
    to->at = r->next;
    return next && next->token == token && r->next < t->visible;
}

/* The successor of a neighbour by `token`; false if it has none or has another label. */
static bool follow(const geodec_flowmap_track *t, const neighbour *v, int32_t token, neighbour *to)
{
    const branches *b = t->branches;
    int32_t label, text;
    labels_of(t, v, &label, &text);
    *to = *v;
    if (v->from == OWN) {
        if (text != token || v->at + 1 >= t->n) return false;
        to->at = v->at + 1;
        return true;
    }
    if (v->from == OF_LIBRARY) return follow_record(t, v, token, to);
    const geodec__flowmap_scan_hop *h = &t->map->scan->hop[v->at];
    if (label == token) { /* if the text also follows it, next is its node */
        if (h->next < 0) return false;
        to->at = h->next;
        to->weight *= text == token ? 1 : 1 - b->sampled;
    } else {
        if (text != token || !(b->sampled > 0)) return false;
        to->at = h->along;
        to->weight *= b->sampled;
    }
    return b->skip < 0 || t->map->scan->hop[to->at].sequence != b->skip;
}

/* Searches new neighbours around the weighted mean key of the neighbours. The weights are exact for functions linear in
 * the key, so the mean is a local linear prediction of the key from the query. The new neighbours get the same total
 * weight as those they join. */
static int32_t search_again(geodec_flowmap_track *t, int32_t node, const float *sum, float total, neighbour *v,
                            int32_t n)
{
    neighbour fresh[NEIGHBOURS];
    int8_t query[R];
    float old = 0, new = 0;
    for (int64_t c = 0; c < t->map->dims; c++) {
        const float x = rintf(sum[c] / total);
        query[c] = (int8_t)(x > 63 ? 63 : x > -64 ? x : -64);
    }
    const int32_t got = gather(t, node, query, AGAIN, AGAIN_OWN, AGAIN_GROWN, fresh);
    for (int32_t i = 0; i < n; i++) old += v[i].weight;
    for (int32_t i = 0; i < got; i++) new += fresh[i].weight;
    if (!(new > 0)) return n;
    for (int32_t i = 0; i < n; i++) v[i].weight /= old;
    for (int32_t i = 0; i < got && n < NEIGHBOURS; i++) {
        fresh[i].weight /= new;
        v[n++] = fresh[i];
    }
    return n;
}

void geodec_flowmap_track_adopt(geodec_flowmap_track *t, int32_t parent, int32_t token)
{
    branches *b = t->branches;
    const geodec_flowmap *w = t->map;
    const int32_t node = b->nodes++;
    neighbour *v = b->neighbour + b->first[node], to;
    float sum[R] = {0}, total = 0;
    int32_t n = 0;
    b->parent[node] = parent;
    b->token[node] = token;
    b->depth[node] = b->depth[parent] + 1;
    const geodec_flowmap_scan *scan = w->scan;
    for (int32_t i = b->first[parent]; i < b->first[parent + 1]; i++) {
        if (!follow(t, &b->neighbour[i], token, &to)) continue;
        if (to.from == STORED)
            __builtin_prefetch(&scan->hop[to.at]); /* its votes are counted with the node's children */
        v[n++] = to;
    }
    const int32_t followers = n; /* some have negative weight: they enter the mean key but do not vote */
    int32_t voting = 0;
    for (int32_t i = 0; i < n; i++) voting += v[i].weight > 0;
    if (voting > 0 && voting < w->vote.chains) {
        for (int32_t i = 0; i < followers; i++) {
            const int8_t *key = key_of(t, &v[i]);
            for (int64_t c = 0; c < w->dims; c++) sum[c] += v[i].weight * (float)key[c];
            total += v[i].weight;
        }
    }
    n = 0;
    for (int32_t i = 0; i < followers; i++)
        if (v[i].weight > 0) v[n++] = v[i];
    if (n > 0 && n < w->vote.chains && total > 0) n = search_again(t, node, sum, total, v, n);
    b->first[node + 1] = b->first[node] + n;
}

/* ---- the growing library ---------------------------------------------------------------------------------------- */

/* The nearest of the root's neighbours outside the text with this label, otherwise the nearest one with any label. */
static int64_t successor_of_row(const geodec_flowmap_track *t, int32_t label)
{
    const branches *b = t->branches;
    int64_t any = GEODEC_GROWN_NOWHERE;
    for (int32_t i = 0; i < b->first[1]; i++) {
        const neighbour *v = &b->neighbour[i];
        int32_t own_label, text;
        if (v->from == OWN) continue;
        const int64_t place = v->from == STORED ? GEODEC_GROWN_NODE(v->at) : v->at;
        labels_of(t, v, &own_label, &text);
        if (own_label == label) return place;
        if (any == GEODEC_GROWN_NOWHERE) any = place;
    }
    return any;
}

/* Whether this row is recorded: a miss, or a row after a miss that the library does not hold yet. */
static bool is_recorded(geodec_flowmap_track *t, int32_t token, int32_t argmax, const int8_t *key)
{
    geodec_flow_draft first;
    geodec_flowmap_library_hit hit;
    const bool any = geodec_flowmap_track_root(t, token, -1, false);
    if (!any || geodec_flowmap_track_children(t, 0, 1, NULL, NULL, &first) == 0 || first.token != argmax) {
        t->run = CONTINUATION;
        return true;
    }
    if (t->run == 0) return false;
    t->run--;
    return geodec_flowmap_library_nearest(t->grown, token, key, t->visible, 1, &hit) == 0 || hit.distance > 0;
}

/* A new row: completes the record of the previous row and begins its own. */
static geodec_status learn(geodec_flowmap_track *t, int32_t token, int32_t argmax, geodec_err *err)
{
    geodec_flowmap_library_record r = {.token = token, .label = argmax, .text = -1, .next = GEODEC_GROWN_NOWHERE};
    const bool known = argmax >= 0; /* rows of a prompt are not recorded */
    geodec__flowmap_state_key(t->map, t->standard, token, r.key);
    const bool open = known && is_recorded(t, token, argmax, r.key);
    if (t->open) {
        t->record.text = token;
        if (open)
            t->record.next = geodec_flowmap_library_end(t->grown) + 1;
        else if (known)
            t->record.next = successor_of_row(t, argmax);
        GEODEC_PASS(geodec_flowmap_track_end(t, err));
    }
    for (int64_t l = 0; l < GEODEC_GROWN_CONTEXT && l < t->n; l++)
        r.context[l] = geodec_flowmap_library_mark(t->token[t->n - 1 - l]);
    t->open = open;
    t->record = r;
    return GEODEC_OK;
}
