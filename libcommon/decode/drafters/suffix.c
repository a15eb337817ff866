#include "drafters/suffix.h"

#include "base/mem.h"
#include "drafters/mix_internal.h"

#include <stdbool.h>
#include <string.h>

typedef struct state {
    int32_t length, link; /* link -1: the empty string */
    int32_t first;        /* edge, -1 = none */
    int32_t count;        /* number of places where its strings end */
} state;

typedef struct edge {
    int32_t from, token, to, next;
} edge;

struct geodec_suffix {
    int32_t n; /* states */
    int64_t room;
    state *state;
    int32_t n_edges, edge_room;
    edge *edge;
    int32_t n_slots; /* a power of two; indices into edge, -1 = empty */
    int32_t *slot;
    int32_t last; /* the whole text */
    int64_t length;
};

enum { FIRST = 256, TEXT_MAX = 1 << 27 };

static int32_t *slot_of(const geodec_suffix *s, int32_t from, int32_t token)
{
    const uint32_t mask = (uint32_t)s->n_slots - 1;
    uint32_t i = (uint32_t)geodec__mix((uint64_t)(uint32_t)from << 32 | (uint32_t)token) & mask;
    while (s->slot[i] >= 0 && (s->edge[s->slot[i]].from != from || s->edge[s->slot[i]].token != token))
        i = (i + 1) & mask;
    return &s->slot[i];
}

static int32_t find(const geodec_suffix *s, int32_t from, int32_t token)
{
    const int32_t e = *slot_of(s, from, token);
    return e < 0 ? -1 : s->edge[e].to;
}

geodec_status geodec_suffix_create(geodec_suffix **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_suffix *s = NULL;
    GEODEC_NEW(s, 1);
    s->room = FIRST;
    s->edge_room = FIRST;
    s->n_slots = 2 * FIRST;
    GEODEC_NEW(s->state, s->room);
    GEODEC_NEW(s->edge, s->edge_room);
    GEODEC_NEW(s->slot, s->n_slots);
    geodec_suffix_clear(s);
    GEODEC_MOVE(*out, s);
done:
    geodec_suffix_destroy(s);
    return st;
}

void geodec_suffix_destroy(geodec_suffix *s)
{
    if (!s) return;
    GEODEC_FREE(s->state, s->edge, s->slot, s);
}

void geodec_suffix_clear(geodec_suffix *s)
{
    s->state[0] = (state){.link = -1, .first = -1};
    s->n = 1;
    s->n_edges = 0;
    s->last = 0;
    s->length = 0;
    memset(s->slot, -1, (size_t)s->n_slots * sizeof *s->slot);
}

int64_t geodec_suffix_length(const geodec_suffix *s) { return s->length; }

/* Reserves room for two more states and `edges` more edges. */
static geodec_status reserve(geodec_suffix *s, int32_t edges, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *bigger = NULL;
    GEODEC_GROW(s->state, s->n, s->room, 2);
    while (s->n_edges + edges > s->edge_room) {
        const int64_t room = 2 * (int64_t)s->edge_room;
        GEODEC_NEW(bigger, 2 * room); /* slots first: every edge needs one */
        edge *p = geodec_mem_grow(s->edge, s->edge_room, room, sizeof *p);
        if (!p) GEODEC_THROW(GEODEC_NOMEM, "no memory for the suffixes of a text of %lld tokens", (long long)s->length);
        s->edge = p;
        s->edge_room = (int32_t)room;
        geodec_mem_free(s->slot);
        GEODEC_MOVE(s->slot, bigger);
        s->n_slots = (int32_t)(2 * room);
        memset(s->slot, -1, (size_t)s->n_slots * sizeof *s->slot);
        for (int32_t e = 0; e < s->n_edges; e++) *slot_of(s, s->edge[e].from, s->edge[e].token) = e;
    }
done:
    geodec_mem_free(bigger);
    return st;
}

/* Adds an edge, which must not exist yet. */
static void connect(geodec_suffix *s, int32_t from, int32_t token, int32_t to)
{
    const int32_t e = s->n_edges++;
    s->edge[e] = (edge){from, token, to, s->state[from].first};
    s->state[from].first = e;
    *slot_of(s, from, token) = e;
}

/* Moves the strings of q that are not longer than `length` to a new state with the edges and link of q. */
static int32_t split(geodec_suffix *s, int32_t q, int32_t length, int32_t edges[])
{
    const int32_t clone = s->n++;
    int32_t n = 0;
    s->state[clone] = (state){length, s->state[q].link, -1, s->state[q].count};
    for (int32_t e = s->state[q].first; e >= 0; e = s->edge[e].next) edges[n++] = e;
    while (n-- > 0) connect(s, clone, s->edge[edges[n]].token, s->edge[edges[n]].to); /* in the order of q */
    return clone;
}

static int32_t edges_of(const geodec_suffix *s, int32_t q)
{
    int32_t n = 0;
    for (int32_t e = s->state[q].first; e >= 0; e = s->edge[e].next) n++;
    return n;
}

geodec_status geodec_suffix_append(geodec_suffix *s, int32_t token, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *edges = NULL;
    if (s->length >= TEXT_MAX) GEODEC_THROW(GEODEC_LIMIT, "a text of more than %d tokens", TEXT_MAX);
    /* Memory is reserved before any change. States without an edge for the token get one, and a state that is split
     * copies its edges. */
    int32_t new_edges = 0, p = s->last, q = -1;
    for (; p >= 0 && (q = find(s, p, token)) < 0; p = s->state[p].link) new_edges++;
    const bool splits = p >= 0 && s->state[p].length + 1 != s->state[q].length;
    /* q may be one of the states that get an edge. */
    const int32_t copied = splits ? edges_of(s, q) + 1 : 0;
    GEODEC_TRY(reserve(s, new_edges + copied, err));
    if (copied > 0) GEODEC_NEW(edges, copied);

    const int32_t whole = s->n++;
    s->state[whole] = (state){.length = (int32_t)++s->length, .first = -1};
    for (p = s->last; p >= 0 && new_edges > 0; p = s->state[p].link, new_edges--) connect(s, p, token, whole);
    if (p < 0)
        s->state[whole].link = 0;
    else if (!splits)
        s->state[whole].link = q;
    else {
        const int32_t clone = split(s, q, s->state[p].length + 1, edges);
        for (; p >= 0; p = s->state[p].link) {
            const int32_t *e = slot_of(s, p, token);
            if (*e < 0 || s->edge[*e].to != q) break;
            s->edge[*e].to = clone;
        }
        s->state[q].link = s->state[whole].link = clone;
    }
    s->last = whole;
    p = whole;
    for (int32_t k = 0; p > 0 && k < GEODEC_SUFFIX_COUNTED; k++, p = s->state[p].link) s->state[p].count++;
done:
    geodec_mem_free(edges);
    return st;
}

geodec_suffix_match geodec_suffix_longest(const geodec_suffix *s)
{
    const int32_t link = s->state[s->last].link;
    return link < 0 ? (geodec_suffix_match){0, 0} : (geodec_suffix_match){link, s->state[link].length};
}

geodec_suffix_match geodec_suffix_shorter(const geodec_suffix *s, geodec_suffix_match m)
{
    const int32_t link = s->state[m.state].link;
    return link < 0 ? (geodec_suffix_match){0, 0} : (geodec_suffix_match){link, s->state[link].length};
}

geodec_suffix_match geodec_suffix_step(const geodec_suffix *s, geodec_suffix_match m, int32_t token)
{
    for (;;) {
        const int32_t to = find(s, m.state, token);
        if (to >= 0) return (geodec_suffix_match){to, m.length + 1};
        if (m.state == 0) return (geodec_suffix_match){0, 0};
        m = geodec_suffix_shorter(s, m);
    }
}

int64_t geodec_suffix_count(const geodec_suffix *s, geodec_suffix_match m, int32_t token)
{
    const int32_t to = find(s, m.state, token);
    return to < 0 ? 0 : s->state[to].count;
}

int32_t geodec_suffix_first(const geodec_suffix *s, geodec_suffix_match m) { return s->state[m.state].first; }

int32_t geodec_suffix_next(const geodec_suffix *s, int32_t at, int32_t *token, int64_t *count)
{
    *token = s->edge[at].token;
    *count = s->state[s->edge[at].to].count;
    return s->edge[at].next;
}
