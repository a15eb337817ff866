#include "drafters/ngram.h"

#include "base/mem.h"
#include "drafters/mix_internal.h"

#include <stdbool.h>
#include <string.h>

typedef struct slot {
    uint64_t hash; /* 0 = empty */
    uint32_t total, top_count;
    int32_t top;
    int32_t first; /* index into link, -1 = none */
} slot;

typedef struct link {
    int32_t token, next;
    uint32_t count;
} link;

struct geodec_ngram_table {
    int32_t order;
    int64_t n_slots, used; /* n_slots is a power of two */
    slot *slot;
    int64_t n_links, link_room;
    link *link;
    /* Per order: number of ordered pairs of occurrences, and of those that agree. */
    uint64_t pairs[GEODEC_NGRAM_ORDER + 1], agreeing[GEODEC_NGRAM_ORDER + 1];
};

enum { FIRST_SLOTS = 1024, LARGE = 1 << 21 };

/* A large table is read at random places; with small pages each read would also miss the TLB. */
static slot *slots_new(int64_t n)
{
    const int64_t bytes = n * (int64_t)sizeof(slot);
    return bytes >= LARGE ? geodec_mem_map(bytes) : geodec_mem_new(n, sizeof(slot));
}

static void slots_free(slot *s, int64_t n)
{
    const int64_t bytes = n * (int64_t)sizeof(slot);
    if (bytes >= LARGE)
        geodec_mem_unmap(s, bytes);
    else
        geodec_mem_free(s);
}

int32_t geodec_ngram_hashes(const int32_t *context, int64_t n, int32_t order, uint64_t hash[GEODEC_NGRAM_ORDER + 1])
{
    const int32_t top = n < order ? (int32_t)n : order;
    uint64_t h = 0x9e3779b97f4a7c15u;
    for (int32_t m = 1; m <= top; m++) {
        h = geodec__mix(h ^ (uint32_t)context[n - m]) + (uint64_t)m * 0x9e3779b97f4a7c15u;
        hash[m] = h != 0 ? h : 1; /* 0 marks an empty slot */
    }
    return top;
}

geodec_status geodec_ngram_table_create(int32_t order, geodec_ngram_table **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ngram_table *t = NULL;
    if (order < 1 || order > GEODEC_NGRAM_ORDER)
        GEODEC_THROW(GEODEC_INVAL, "n-gram order %d is outside 1..%d", order, GEODEC_NGRAM_ORDER);
    GEODEC_NEW(t, 1);
    t->order = order;
    t->n_slots = t->link_room = FIRST_SLOTS;
    GEODEC_NEW(t->slot, t->n_slots);
    GEODEC_NEW(t->link, t->link_room);
    GEODEC_MOVE(*out, t);
done:
    geodec_ngram_table_destroy(t);
    return st;
}

void geodec_ngram_table_destroy(geodec_ngram_table *t)
{
    if (!t) return;
    slots_free(t->slot, t->n_slots);
    GEODEC_FREE(t->link, t);
}

void geodec_ngram_table_clear(geodec_ngram_table *t)
{
    memset(t->slot, 0, (size_t)t->n_slots * sizeof *t->slot);
    memset(t->pairs, 0, sizeof t->pairs);
    memset(t->agreeing, 0, sizeof t->agreeing);
    t->used = t->n_links = 0;
}

static slot *probe(slot *slots, int64_t n, uint64_t hash)
{
    const uint64_t mask = (uint64_t)n - 1;
    uint64_t i = hash & mask;
    while (slots[i].hash != 0 && slots[i].hash != hash) i = (i + 1) & mask;
    return &slots[i];
}

/* Reserves room for one more position: at most `order` slots and links. */
static geodec_status reserve(geodec_ngram_table *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    slot *bigger = NULL;
    if (t->n_links > INT32_MAX - GEODEC_NGRAM_ORDER) GEODEC_THROW(GEODEC_LIMIT, "the n-gram store is full");
    GEODEC_GROW(t->link, t->n_links, t->link_room, t->order);
    if (2 * (t->used + t->order) > t->n_slots) {
        bigger = slots_new(2 * t->n_slots);
        if (!bigger) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld n-gram contexts", (long long)(2 * t->n_slots));
        for (int64_t i = 0; i < t->n_slots; i++)
            if (t->slot[i].hash != 0) *probe(bigger, 2 * t->n_slots, t->slot[i].hash) = t->slot[i];
        slots_free(t->slot, t->n_slots);
        t->slot = bigger;
        t->n_slots *= 2;
    }
done:
    return st;
}

static void count(geodec_ngram_table *t, int32_t m, uint64_t hash, int32_t next, uint32_t weight)
{
    slot *s = probe(t->slot, t->n_slots, hash);
    if (s->hash == 0) {
        *s = (slot){.hash = hash, .first = -1};
        t->used++;
    }
    int32_t at = s->first, before = -1;
    for (; at >= 0 && t->link[at].token != next; at = t->link[at].next) before = at;
    if (at < 0) {
        at = (int32_t)t->n_links++;
        t->link[at] = (link){.token = next, .next = s->first, .count = 0};
        s->first = at;
    } else if (before >= 0) { /* move to front: frequent continuations are found early */
        t->link[before].next = t->link[at].next;
        t->link[at].next = s->first;
        s->first = at;
    }
    t->pairs[m] += 2 * (uint64_t)weight * s->total;
    t->agreeing[m] += 2 * (uint64_t)weight * t->link[at].count;
    s->total += weight;
    const uint32_t c = t->link[at].count += weight;
    if (c > s->top_count || (c == s->top_count && next < s->top)) {
        s->top_count = c;
        s->top = next;
    }
}

geodec_status geodec_ngram_table_add(geodec_ngram_table *t, const int32_t *context, int64_t n, int32_t next,
                                     geodec_err *err)
{
    const int32_t one = 1;
    return geodec_ngram_table_weigh(t, context, n, 1, &next, &one, err);
}

geodec_status geodec_ngram_table_weigh(geodec_ngram_table *t, const int32_t *context, int64_t n, int32_t k,
                                       const int32_t *next, const int32_t *weight, geodec_err *err)
{
    uint64_t hash[GEODEC_NGRAM_ORDER + 1];
    const int32_t top = geodec_ngram_hashes(context, n, t->order, hash);
    for (int32_t m = 1; m <= top; m++) geodec_ngram_fetch(t, hash[m]);
    for (int32_t i = 0; i < k; i++) {
        GEODEC_PASS(reserve(t, err));
        for (int32_t m = 1; m <= top; m++) count(t, m, hash[m], next[i], (uint32_t)weight[i]);
    }
    return GEODEC_OK;
}

void geodec_ngram_fetch(const geodec_ngram_table *t, uint64_t hash)
{
    __builtin_prefetch(&t->slot[hash & ((uint64_t)t->n_slots - 1)]);
}

static bool sooner(const link *a, const link *b)
{
    return a->count > b->count || (a->count == b->count && a->token < b->token);
}

void geodec_ngram_table_sort(geodec_ngram_table *t)
{
    /* Merge sort of the chains in place: runs of 1, 2, 4, .. links. */
    for (int64_t i = 0; i < t->n_slots; i++) {
        if (t->slot[i].hash == 0) continue;
        for (int64_t run = 1, merged = 2; merged > 1; run *= 2) {
            int32_t rest = t->slot[i].first, *end = &t->slot[i].first;
            for (merged = 0; rest >= 0; merged++) {
                int32_t a = rest, b = a;
                int64_t left = 0, right = run;
                for (; left < run && b >= 0; left++) b = t->link[b].next;
                while (left > 0 || (right > 0 && b >= 0)) {
                    const bool from_a = left > 0 && (right == 0 || b < 0 || !sooner(&t->link[b], &t->link[a]));
                    int32_t *const from = from_a ? &a : &b;
                    *(from_a ? &left : &right) -= 1;
                    *end = *from;
                    end = &t->link[*from].next;
                    *from = *end;
                }
                rest = b;
            }
            *end = -1;
        }
    }
}

geodec_ngram_hit geodec_ngram_find(const geodec_ngram_table *t, uint64_t hash)
{
    const slot *s = probe(t->slot, t->n_slots, hash);
    if (s->hash == 0) return (geodec_ngram_hit){.top = -1, .first = -1};
    return (geodec_ngram_hit){.total = s->total, .top_count = s->top_count, .top = s->top, .first = s->first};
}

int64_t geodec_ngram_next(const geodec_ngram_table *t, int64_t at, int32_t *token, int64_t *count_out)
{
    *token = t->link[at].token;
    *count_out = t->link[at].count;
    return t->link[at].next;
}

int64_t geodec_ngram_count(const geodec_ngram_table *t, const geodec_ngram_hit *hit, int32_t token)
{
    for (int64_t at = hit->first; at >= 0; at = t->link[at].next)
        if (t->link[at].token == token) return t->link[at].count;
    return 0;
}

double geodec_ngram_agreement(const geodec_ngram_table *t, int32_t m)
{
    return t->pairs[m] > 0 ? (double)t->agreeing[m] / (double)t->pairs[m] : 0.5;
}
