/* The order of eviction: a heap for each layer, and the choice between layers. */
#include "streaming/slots_internal.h"

int32_t geodec__slots_lowest(const uint64_t *set, int32_t from, int32_t n)
{
    const int32_t words = (n + 63) / 64;
    for (int32_t w = from / 64; w < words; w++) {
        const uint64_t x = w == from / 64 ? set[w] & (~(uint64_t)0 << (from & 63)) : set[w];
        if (x) return w * 64 + __builtin_ctzll(x);
    }
    return -1;
}

void geodec__slots_unlink(geodec_slots *s, geodec__slots_list *l, int32_t slot)
{
    geodec__slots_slot *const x = &s->slot[slot];
    if (x->before == slot) return;
    if (x->before >= 0)
        s->slot[x->before].after = x->after;
    else
        l->first = x->after;
    if (x->after >= 0)
        s->slot[x->after].before = x->before;
    else
        l->last = x->before;
    x->before = x->after = slot;
}

void geodec__slots_link(geodec_slots *s, geodec__slots_list *l, int32_t slot, bool first)
{
    geodec__slots_slot *const x = &s->slot[slot];
    if (x->before != slot) return;
    x->before = first ? -1 : l->last;
    x->after = first ? l->first : -1;
    if (x->before >= 0)
        s->slot[x->before].after = slot;
    else
        l->first = slot;
    if (x->after >= 0)
        s->slot[x->after].before = slot;
    else
        l->last = slot;
}

/* ---- the heap of a layer ---------------------------------------------------------------------------------------- */

static bool goes_first(const geodec__slots_slot *a, const geodec__slots_slot *b)
{
    if (a->rank != b->rank) return a->rank < b->rank;
    if (a->key < b->key || a->key > b->key) return a->key < b->key;
    if (a->last != b->last) return a->last < b->last;
    return a->expert < b->expert;
}

static void put(const geodec_slots *s, geodec__slots_layer *l, int32_t place, int32_t slot)
{
    l->heap[place] = slot;
    s->slot[slot].place = place;
}

/* Moves the slot at a place to where it belongs. */
static void sift(const geodec_slots *s, geodec__slots_layer *l, int32_t i)
{
    const int32_t slot = l->heap[i];
    const geodec__slots_slot *const x = &s->slot[slot];
    while (i > 0 && goes_first(x, &s->slot[l->heap[(i - 1) / 2]])) {
        put(s, l, i, l->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= l->n_heap) break;
        if (child + 1 < l->n_heap && goes_first(&s->slot[l->heap[child + 1]], &s->slot[l->heap[child]])) child++;
        if (!goes_first(&s->slot[l->heap[child]], x)) break;
        put(s, l, i, l->heap[child]);
        i = child;
    }
    put(s, l, i, slot);
}

static geodec__slots_rank rank_of(const geodec_slots *s, const geodec__slots_slot *x, const geodec__slots_key *k)
{
    if (k->fixed) return GEODEC__SLOTS_FIXED;
    if (k->probability < 0) return GEODEC__SLOTS_FREE;
    if (x->prefetched) return GEODEC__SLOTS_FORETOLD;
    return s->o.eviction == GEODEC_EVICTION_MAP && k->probability > 0 ? GEODEC__SLOTS_FORETOLD : GEODEC__SLOTS_FREE;
}

void geodec__slots_offer(geodec_slots *s, int32_t slot)
{
    geodec__slots_slot *const x = &s->slot[slot];
    geodec__slots_layer *const l = &s->layer[x->layer];
    const geodec__slots_key *const k = geodec__slots_at(s, x->layer, x->expert);
    if (x->holds > 0) return;
    x->rank = rank_of(s, x, k);
    if (x->rank == GEODEC__SLOTS_FORETOLD) {
        x->key = k->probability;
    } else {
        geodec__eviction_facts f = {.frequency = k->frequency,
                                    .visits = k->visits,
                                    .recent = k->recent,
                                    .expected = (double)k->expected,
                                    .last = x->last,
                                    .last_pass = x->last_pass,
                                    .uses = s->uses[k - s->key],
                                    .next = INT64_MAX};
        if (s->o.eviction == GEODEC_EVICTION_BELADY) {
            const int64_t pass = s->o.next_use(s->o.next_use_ctx, x->layer, x->expert);
            if (pass < INT64_MAX / s->o.n_layer - 1) f.next = pass * s->o.n_layer + x->layer;
        }
        x->key = geodec__eviction_key(s->o.eviction, &f);
    }
    if (x->place < 0) put(s, l, l->n_heap++, slot);
    sift(s, l, x->place);
}

void geodec__slots_withdraw(geodec_slots *s, int32_t slot)
{
    geodec__slots_slot *const x = &s->slot[slot];
    if (x->place < 0) return;
    geodec__slots_layer *const l = &s->layer[x->layer];
    const int32_t hole = x->place, moved = l->heap[--l->n_heap];
    x->place = -1;
    if (moved == slot) return;
    put(s, l, hole, moved);
    sift(s, l, hole);
}

/* ---- the choice between layers ---------------------------------------------------------------------------------- */

/* A prefetch takes nothing of the static set, and nothing that is foretold with its own probability or a higher one. */
static bool may_leave(const geodec_slots *s, const geodec__slots_slot *x, float probability)
{
    if (probability < 0) return true;
    return x->rank != GEODEC__SLOTS_FIXED && geodec__slots_at(s, x->layer, x->expert)->probability < probability;
}

/* The first to leave of those at or below a place of a heap; best or -1: none before it. Descends only below what must
 * stay. */
static int32_t first_below(const geodec_slots *s, const geodec__slots_layer *l, int32_t place, float probability,
                           int32_t best)
{
    if (place >= l->n_heap) return best;
    const int32_t slot = l->heap[place];
    if (best >= 0 && !goes_first(&s->slot[slot], &s->slot[best])) return best;
    if (may_leave(s, &s->slot[slot], probability)) return slot;
    best = first_below(s, l, 2 * place + 1, probability, best);
    return first_below(s, l, 2 * place + 2, probability, best);
}

/* The first to leave of a layer; -1: none. */
static int32_t first_of(const geodec_slots *s, int32_t layer, float probability)
{
    return first_below(s, &s->layer[layer], 0, probability, -1);
}

static double shifted(const geodec_slots *s, const geodec__slots_slot *x)
{
    if (x->rank == GEODEC__SLOTS_FORETOLD) return x->key;
    const int32_t n = s->o.n_layer, ahead = (x->layer - s->current + n - 1) % n + 1;
    return x->key + geodec__eviction_shift(s->o.eviction, s->layer[x->layer].visits, ahead);
}

/* The first to leave of all layers, or of those that hold more than they own. */
static int32_t first_of_all(const geodec_slots *s, float probability, bool rich)
{
    int32_t best = -1;
    double best_key = 0;
    for (int32_t i = 0; i < s->o.n_layer; i++) {
        if (rich && s->layer[i].held <= s->layer[i].quota) continue;
        const int32_t slot = first_of(s, i, probability);
        if (slot < 0) continue;
        const geodec__slots_slot *const x = &s->slot[slot];
        const double key = shifted(s, x);
        if (best >= 0) {
            const geodec__slots_slot *const b = &s->slot[best];
            if (x->rank > b->rank) continue;
            if (x->rank == b->rank && (key > best_key || (!(key < best_key) && x->last >= b->last))) continue;
        }
        best = slot;
        best_key = key;
    }
    return best;
}

int32_t geodec__slots_find(const geodec_slots *s, int32_t layer, float probability)
{
    const bool demand = probability < 0;
    const geodec__slots_layer *const l = &s->layer[layer];
    if (!demand && s->n_idle - (s->n_empty > 0 ? s->n_stale : 0) >= s->prefetch_most) {
        /* at the limit: only in place of a blob that was prefetched in vain */
        for (int32_t i = s->n_empty > 0 ? -1 : s->stale.first; i >= 0; i = s->slot[i].after)
            if (s->slot[i].holds == 0 && may_leave(s, &s->slot[i], probability)) return i;
        return -1;
    }
    if (s->n_empty > 0) return geodec__slots_lowest(s->empty, 0, s->o.n_slots);
    if (s->o.shared) return first_of_all(s, probability, false);
    int32_t slot = l->held >= l->quota ? first_of(s, layer, probability) : -1;
    if (slot < 0) slot = first_of_all(s, probability, true);
    if (slot < 0) slot = first_of(s, layer, probability);
    /* a wide pass needs more than a layer owns: a quarter of the slots goes with it from layer to layer */
    if (slot < 0 && !demand && s->current >= 0) {
        const geodec__slots_layer *const now = &s->layer[s->current];
        if (s->n_want > now->quota && now->held > now->quota - now->quota / 4)
            slot = first_of(s, s->current, probability);
    }
    if (slot >= 0 || !demand) return slot;
    const bool idle = s->n_reading + s->n_pinned == 0 && geodec__slots_lowest(s->due, 0, s->o.n_expert) < 0;
    const int32_t working = s->n_want < GEODEC_SLOTS_WORKING ? s->n_want : GEODEC_SLOTS_WORKING;
    if (l->held < working || idle) slot = first_of_all(s, probability, false);
    return slot;
}

int32_t geodec__slots_leaver(const geodec_slots *s)
{
    const int32_t slot = first_of_all(s, -1, true);
    return slot >= 0 ? slot : first_of_all(s, -1, false);
}
