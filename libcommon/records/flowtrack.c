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
};

/* One neighbour: a node of the map, or (own) a position of the text. */
typedef struct voter {
    int32_t at;
    bool own;
    float weight;
} voter;

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

/* x = A^-1 b for symmetric positive definite A [r][r] (lower triangle), destroyed. */
static void solve(int64_t r, float a[R][R], float *b)
{
    for (int64_t i = 0; i < r; i++) {
        for (int64_t j = 0; j <= i; j++) {
            float s = a[i][j];
            for (int64_t k = 0; k < j; k++) s -= a[i][k] * a[j][k];
            a[i][j] = i == j ? sqrtf(fmaxf(s, 1e-12f)) : s / a[j][j];
        }
        for (int64_t k = 0; k < i; k++) b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
    for (int64_t i = r - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < r; k++) b[i] -= a[k][i] * b[k];
        b[i] /= a[i][i];
    }
}

/* Local linear correction: a weighted vote is exact for votes that are constant around the query; these weights are
 * exact for votes that are linear in the key (Cleveland 1979), as far as the ridge lets them. */
static void correct(const geodec_flowtrack *t, const int8_t *query, int32_t n, voter *v)
{
    const geodec_flowmap *w = t->map;
    const int64_t r = w->dims;
    float x[NEAR][R], mean[R] = {0}, s[R][R] = {{0}}, g[R], total = 0, trace = 0;
    for (int32_t i = 0; i < n; i++) {
        const int8_t *key = v[i].own ? t->key + v[i].at * r : w->key + v[i].at * r;
        for (int64_t c = 0; c < r; c++) {
            x[i][c] = (float)key[c];
            mean[c] += v[i].weight * x[i][c];
        }
        total += v[i].weight;
    }
    for (int64_t c = 0; c < r; c++) mean[c] /= total;
    for (int32_t i = 0; i < n; i++) {
        for (int64_t c = 0; c < r; c++) x[i][c] -= mean[c];
        for (int64_t a = 0; a < r; a++) {
            const float f = v[i].weight * x[i][a];
            for (int64_t b = 0; b < r; b++) s[a][b] += f * x[i][b];
        }
    }
    for (int64_t a = 0; a < r; a++) trace += s[a][a];
    if (!(trace > 0)) return;
    const float ridge = (float)w->vote.ridge * trace / (float)r + 1e-6f * trace;
    for (int64_t a = 0; a < r; a++) {
        s[a][a] += ridge;
        g[a] = total * ((float)query[a] - mean[a]); /* s is total times the covariance */
    }
    solve(r, s, g);
    for (int32_t i = 0; i < n; i++) {
        float tilt = 1;
        for (int64_t c = 0; c < r; c++) tilt += g[c] * x[i][c];
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
    const int32_t n_own = own_nearest(t, newest, query, (int32_t)o->own, own);
    for (int32_t a = 0, b = 0; a < n_stored || b < n_own; n++) {
        const bool mine = a == n_stored || (b < n_own && own[b].distance <= stored[a].distance);
        const geodec_flow_hit h = mine ? own[b++] : stored[a++];
        v[n] = (voter){.at = h.node, .own = mine};
        distance[n] = h.distance;
    }
    if (n == 0) return 0;
    const int32_t rank = o->rank < n ? (int32_t)o->rank : n;
    const double h = o->bandwidth * (double)distance[rank - 1] + 1e-3;
    for (int32_t i = 0; i < n; i++) {
        double e = -0.5 * (double)(distance[i] - distance[0]) / h;
        if (v[i].own) e += o->match_weight * match_length(t, v[i].at);
        v[i].weight = (float)(exp(e) * (v[i].own ? o->own_weight : 1));
    }
    if (n > 4) correct(t, query, n, v);
    return n;
}

/* What a voter says next; drafts so far continue the text behind its newest token. -1 = nothing. */
static int32_t label_of(const geodec_flowtrack *t, const voter *v, int32_t newest, const geodec_flow_draft *drafted,
                        int32_t n_drafted)
{
    if (!v->own) return t->map->label[v->at];
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
        v->at = t->map->next[v->at];
        return v->at >= 0;
    }
    const int64_t p = v->at + 1;
    const int32_t text = p < t->n ? t->token[p] : p == t->n ? newest : said; /* behind it stand the drafts themselves */
    if (text != said) return false;
    v->at++;
    return true;
}

int32_t geodec_flowtrack_propose(geodec_flowtrack *t, int32_t newest, int32_t n, int32_t skip,
                                 bool (*forbid)(void *ctx, int32_t i, int32_t token), void *ctx, geodec_flow_draft *out)
{
    const geodec_flowmap *w = t->map;
    voter v[NEAR];
    int32_t label[NEAR], done = 0;
    if (t->n < 1 || newest < 0 || newest >= w->vocab) return 0;
    int32_t alive = gather(t, newest, skip, v);
    while (done < n && alive > 0) {
        float best = 0, positive = 0, own = 0, sure = 0, voted = 0;
        int32_t winner = -1;
        for (int32_t i = 0; i < alive; i++) label[i] = label_of(t, &v[i], newest, out, done);
        for (int32_t i = 0; i < alive; i++) { /* labels are few: the first voter of each sums it up */
            bool first = label[i] >= 0;
            for (int32_t j = 0; first && j < i; j++) first = label[j] != label[i];
            if (!first) continue;
            float sum = 0;
            for (int32_t j = i; j < alive; j++)
                if (label[j] == label[i]) sum += v[j].weight;
            if (sum > 0) positive += sum;
            if (forbid && forbid(ctx, done, label[i])) continue;
            if (sum > best || (sum > 0 && sum == best && label[i] < winner)) {
                best = sum;
                winner = label[i];
            }
        }
        if (winner < 0) break;
        int32_t kept = 0;
        for (int32_t i = 0; i < alive; i++) {
            if (label[i] != winner || !(v[i].weight > 0)) continue;
            voted += v[i].weight;
            sure += v[i].weight * (v[i].own ? 1 : (float)w->sure[v[i].at] / 255);
            if (v[i].own) own += v[i].weight;
            if (!advance(t, &v[i], winner, newest)) continue;
            if (!v[i].own && skip >= 0 && w->node_sequence[v[i].at] == skip) continue;
            v[kept++] = v[i];
        }
        const double score = (double)(best / positive) * (double)(sure / voted);
        out[done] = (geodec_flow_draft){.token = winner, .own = 2 * own > voted, .score = score};
        out[done].confidence = geodec_flow_reliability(w, done, score);
        done++;
        /* the heaviest go on: neighbours come nearest first, so keep those of the largest weight, in their order */
        while (kept > w->vote.chains) {
            int32_t least = 0;
            for (int32_t i = 1; i < kept; i++)
                if (v[i].weight <= v[least].weight) least = i;
            memmove(v + least, v + least + 1, (size_t)(kept - least - 1) * sizeof *v);
            kept--;
        }
        alive = kept;
    }
    return done;
}
