#include "streaming/slots.h"

#include "base/mem.h"
#include "streaming/slots_internal.h"

#include <math.h>
#include <stdlib.h>

/* ---- creation --------------------------------------------------------------------------------------------------- */

typedef struct share {
    float usage;
    int32_t layer, expert;
} share;

static int more_used(const void *a, const void *b)
{
    const share *const x = a, *const y = b;
    if (x->usage < y->usage || x->usage > y->usage) return x->usage > y->usage ? -1 : 1;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    return (x->expert > y->expert) - (x->expert < y->expert);
}

/* A quarter of the slots, and one, are left to the experts that are not in the static set. */
static int32_t fixed_of(int32_t slots) { return slots - slots / 4 > 1 ? slots - slots / 4 - 1 : 0; }

/* The static set: the most used experts of each layer, or of all. */
static geodec_status fix_most_used(geodec_slots *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    share *list = NULL;
    const int32_t E = s->o.n_expert;
    int64_t n = 0;
    GEODEC_NEW(list, (int64_t)s->o.n_layer * E);
    for (int32_t l = 0; l < s->o.n_layer; l++) {
        if (s->o.routed && !s->o.routed[l]) continue;
        for (int32_t e = 0; e < E; e++)
            list[n++] = (share){.usage = geodec__slots_at(s, l, e)->start, .layer = l, .expert = e};
        if (s->o.shared) continue;
        qsort(list, (size_t)n, sizeof *list, more_used);
        for (int32_t i = 0; i < fixed_of(s->layer[l].quota); i++) geodec__slots_at(s, l, list[i].expert)->fixed = true;
        n = 0;
    }
    qsort(list, (size_t)n, sizeof *list, more_used);
    for (int64_t i = 0; i < n && i < fixed_of(s->o.n_slots); i++)
        geodec__slots_at(s, list[i].layer, list[i].expert)->fixed = true;
done:
    geodec_mem_free(list);
    return st;
}

static geodec_status check_options(const geodec_slots_options *o, geodec_err *err)
{
    if (o->n_layer < 1 || o->n_expert < 1 || (int64_t)o->n_layer * o->n_expert > GEODEC_SLOTS_KEYS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%d layers of %d experts: at least 1 of each, at most %d in all", (int)o->n_layer,
                    (int)o->n_expert, (int)GEODEC_SLOTS_KEYS_MAX);
    if (o->n_slots < 2 || o->n_slots > GEODEC_SLOTS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%d slots for experts: 2 to %d are possible", (int)o->n_slots, (int)GEODEC_SLOTS_MAX);
    if ((unsigned)o->eviction >= GEODEC_EVICTION_KINDS)
        GEODEC_FAIL(GEODEC_INVAL, "no eviction policy %d", (int)o->eviction);
    if (o->eviction == GEODEC_EVICTION_BELADY && !o->next_use)
        GEODEC_FAIL(GEODEC_INVAL, "the policy belady needs a recorded run");
    for (int64_t i = 0; o->usage && i < (int64_t)o->n_layer * o->n_expert; i++)
        if (!(o->usage[i] >= 0 && o->usage[i] <= 1))
            GEODEC_FAIL(GEODEC_INVAL, "usage %g of layer %lld, expert %lld is not in [0, 1]", (double)o->usage[i],
                        (long long)(i / o->n_expert), (long long)(i % o->n_expert));
    return GEODEC_OK;
}

/* Each layer with experts owns an equal number of the slots that are left. */
static void set_quotas(geodec_slots *s)
{
    int32_t routed = 0;
    for (int32_t l = 0; l < s->o.n_layer; l++) routed += s->layer[l].heap != NULL;
    s->remainder = s->left;
    s->over = 0;
    for (int32_t l = 0; l < s->o.n_layer; l++) {
        geodec__slots_layer *const y = &s->layer[l];
        if (!y->heap) continue;
        y->quota = s->o.shared ? 0 : s->left / routed < s->o.n_expert ? s->left / routed : s->o.n_expert;
        s->remainder -= y->quota;
        s->over += y->held > y->quota ? y->held - y->quota : 0;
    }
    s->prefetch_most = s->o.prefetch_most < s->left / 2 ? s->o.prefetch_most : s->left / 2;
}

static geodec_status set_up(geodec_slots *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t L = s->o.n_layer, E = s->o.n_expert, n = s->o.n_slots;
    const int64_t keys = (int64_t)L * E;
    int32_t routed = 0;
    GEODEC_NEW(s->slot, n);
    GEODEC_NEW(s->empty, (n + 63) / 64);
    GEODEC_NEW_EACH((E + 63) / 64, s->missing, s->due);
    GEODEC_NEW_EACH(E, s->want, s->old);
    GEODEC_NEW(s->key, keys);
    GEODEC_NEW(s->frequency, keys);
    GEODEC_NEW(s->uses, keys);
    GEODEC_NEW(s->layer, L);
    for (int32_t l = 0; l < L; l++) routed += !s->o.routed || s->o.routed[l];
    if (routed == 0) GEODEC_THROW(GEODEC_INVAL, "no layer has experts");
    for (int32_t l = 0; l < L; l++) {
        geodec__slots_layer *const y = &s->layer[l];
        if (s->o.routed && !s->o.routed[l]) continue;
        GEODEC_NEW(y->heap, n < E ? n : E);
        GEODEC_NEW(y->foretold, E);
    }
    for (int32_t i = 0; i < n; i++) {
        s->slot[i] = (geodec__slots_slot){.layer = -1, .expert = -1, .place = -1, .before = i, .after = i, .base = -1};
        geodec__slots_bit(s->empty, i, true);
    }
    for (int64_t i = 0; i < keys; i++) {
        const float start = s->o.usage ? s->o.usage[i] : 1.0F / (float)E;
        s->key[i] = (geodec__slots_key){
            .slot = -1, .probability = -1, .start = start, .frequency = (double)start, .recent = (double)start};
    }
    s->n_empty = s->left = n;
    set_quotas(s);
    s->current = -1;
    s->recall = s->stale = (geodec__slots_list){.first = -1, .last = -1};
    if (s->o.eviction == GEODEC_EVICTION_STATIC && s->o.usage) GEODEC_TRY(fix_most_used(s, err));
    GEODEC_TRY(geodec__slots_set_edges(s, err));
    s->o.usage = NULL; /* of the caller, for this call only */
    s->o.routed = NULL;
done:
    return st;
}

geodec_status geodec_slots_create(const geodec_slots_options *o, geodec_slots **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_slots *s = NULL;
    GEODEC_TRY(check_options(o, err));
    GEODEC_NEW(s, 1);
    s->o = *o;
    GEODEC_TRY(set_up(s, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_slots_destroy(s);
    return st;
}

void geodec_slots_destroy(geodec_slots *s)
{
    if (!s) return;
    for (int32_t l = 0; s->layer && l < s->o.n_layer; l++) GEODEC_FREE(s->layer[l].heap, s->layer[l].foretold);
    GEODEC_FREE(s->edge, s->edges_first, s->edges_of);
    GEODEC_FREE(s->slot, s->key, s->layer, s->empty, s->missing, s->due, s->want, s->old, s->frequency, s->uses, s);
}

/* ---- slots and blobs -------------------------------------------------------------------------------------------- */

static void tell(const geodec_slots *s, geodec_slots_event e)
{
    if (s->o.observe) s->o.observe(s->o.observe_ctx, &e);
}

static bool is_layer(const geodec_slots *s, int32_t layer)
{
    return layer >= 0 && layer < s->o.n_layer && s->layer[layer].heap;
}

static bool in_state(const geodec_slots *s, int32_t slot, geodec__slots_state state)
{
    return slot >= 0 && slot < s->o.n_slots && s->slot[slot].state == state;
}

/* Whether a ready blob was prefetched in vain. */
static void set_stale(geodec_slots *s, int32_t slot, bool stale)
{
    if ((s->slot[slot].before != slot) == stale) return;
    s->n_stale += stale ? 1 : -1;
    if (stale)
        geodec__slots_link(s, &s->stale, slot, false);
    else
        geodec__slots_unlink(s, &s->stale, slot);
}

/* A prefetched blob is no longer waiting for its first use. */
static void settle(geodec_slots *s, int32_t slot)
{
    geodec__slots_slot *const x = &s->slot[slot];
    if (!x->prefetched) return;
    x->prefetched = false;
    s->n_idle--;
    s->layer[x->layer].idle--;
    if (x->state == GEODEC__SLOTS_READING)
        geodec__slots_unlink(s, &s->recall, slot);
    else
        set_stale(s, slot, false);
}

/* The slot loses its blob. */
static void clear(geodec_slots *s, int32_t slot)
{
    geodec__slots_slot *const x = &s->slot[slot];
    geodec__slots_layer *const l = &s->layer[x->layer];
    geodec__slots_key *const k = geodec__slots_at(s, x->layer, x->expert);
    settle(s, slot);
    geodec__slots_unlink(s, &s->recall, slot);
    geodec__slots_withdraw(s, slot);
    k->slot = -1;
    if (k->probability >= 0) l->cursor = 0;
    if (--l->held >= l->quota) s->over--;
    x->layer = x->expert = -1;
    x->state = GEODEC__SLOTS_EMPTY;
    x->asked = false;
    geodec__slots_bit(s->empty, slot, true);
    s->n_empty++;
}

/* A prefetch became a demand, or ended. */
static void end_prefetching(geodec_slots *s, geodec__slots_slot *x)
{
    if (!x->prefetching) return;
    int32_t i = 0;
    while (&s->slot[s->under_way[i]] != x) i++;
    s->under_way[i] = s->under_way[--s->n_prefetching];
    x->prefetching = false;
}

static void read_ended(geodec_slots *s, geodec__slots_slot *x)
{
    s->n_reading--;
    geodec__slots_let_go(s, (int32_t)(x - s->slot));
    end_prefetching(s, x);
}

/* Empties a slot whose blob is ready; an empty one stays as it is. */
static void evict(geodec_slots *s, int32_t slot)
{
    const geodec__slots_slot *const x = &s->slot[slot];
    if (x->state == GEODEC__SLOTS_EMPTY) return;
    geodec_slots_counters *const c = &s->layer[x->layer].count;
    c->evictions++;
    c->wasted += x->prefetched;
    clear(s, slot);
}

/* The read of a blob into a slot begins; what is in the slot is evicted. */
static void begin(geodec_slots *s, int32_t slot, int32_t layer, int32_t expert, bool demand, bool prefetch)
{
    geodec__slots_slot *const x = &s->slot[slot];
    geodec__slots_layer *const l = &s->layer[layer];
    evict(s, slot);
    geodec__slots_bit(s->empty, slot, false);
    s->n_empty--;
    s->n_reading++;
    if (prefetch) s->under_way[s->n_prefetching++] = slot;
    if (l->held++ >= l->quota) s->over++;
    geodec__slots_at(s, layer, expert)->slot = slot;
    x->layer = layer;
    x->expert = expert;
    x->state = GEODEC__SLOTS_READING;
    x->prefetched = x->prefetching = prefetch;
    x->last = s->visits;
    x->last_pass = s->passes;
    if (prefetch) {
        s->n_idle++;
        l->idle++;
    }
    l->count.demand_reads += demand;
    l->count.prefetch_reads += prefetch;
}

/* After a change of what is foretold of this expert. */
static void refresh(geodec_slots *s, int32_t layer, int32_t expert)
{
    const geodec__slots_key *const k = geodec__slots_at(s, layer, expert);
    if (k->slot < 0) return;
    const geodec__slots_slot *const x = &s->slot[k->slot];
    const bool foretold = k->probability >= 0;
    if (x->place >= 0) geodec__slots_offer(s, k->slot);
    if (!x->prefetched) return;
    if (x->state == GEODEC__SLOTS_READY)
        set_stale(s, k->slot, !foretold);
    else if (foretold)
        geodec__slots_unlink(s, &s->recall, k->slot);
    else if (!x->asked)
        geodec__slots_link(s, &s->recall, k->slot, false);
}

/* ---- a pass ----------------------------------------------------------------------------------------------------- */

void geodec_slots_pass(geodec_slots *s)
{
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_PASS});
    s->passes++;
}

void geodec_slots_foretell(geodec_slots *s, int32_t layer, int32_t n, const int32_t *expert, const float *probability)
{
    if (!is_layer(s, layer)) return;
    geodec__slots_layer *const l = &s->layer[layer];
    if (n <= 0 && l->n_foretold == 0) return;
    tell(s, (geodec_slots_event){
                .call = GEODEC_SLOTS_FORETELL, .layer = layer, .n = n, .expert = expert, .probability = probability});
    const int32_t n_old = l->n_foretold;
    for (int32_t i = 0; i < n_old; i++) {
        s->old[i] = l->foretold[i];
        geodec__slots_at(s, layer, s->old[i])->probability = -1;
    }
    l->n_foretold = l->cursor = 0;
    for (int32_t i = 0; i < n; i++) {
        if (expert[i] < 0 || expert[i] >= s->o.n_expert) continue;
        geodec__slots_key *const k = geodec__slots_at(s, layer, expert[i]);
        if (k->probability >= 0) continue;
        k->probability = probability[i] >= 0 ? probability[i] : 0; /* also for NaN */
        l->foretold[l->n_foretold++] = expert[i];
    }
    for (int32_t i = 0; i < n_old; i++) refresh(s, layer, s->old[i]);
    for (int32_t i = 0; i < l->n_foretold; i++) refresh(s, layer, l->foretold[i]);
}

/* Ends a visit of which something was not taken or released (after an error). */
static void abandon(geodec_slots *s)
{
    if (s->n_wait + s->n_pinned == 0) return;
    for (int32_t i = 0; i < s->n_want; i++) {
        geodec__slots_key *const k = geodec__slots_at(s, s->current, s->want[i]);
        k->wanted = false;
        geodec__slots_bit(s->missing, s->want[i], false);
        geodec__slots_bit(s->due, s->want[i], false);
        if (k->slot < 0) continue;
        geodec__slots_slot *const x = &s->slot[k->slot];
        if (x->state == GEODEC__SLOTS_PINNED) {
            x->state = GEODEC__SLOTS_READY;
            s->n_pinned--;
        }
        if (x->state == GEODEC__SLOTS_READY && x->place < 0) geodec__slots_offer(s, k->slot);
    }
    s->n_wait = 0;
}

/* Counts the use of a needed expert, and prepares it for take or next. */
static void use(geodec_slots *s, geodec__slots_layer *l, int32_t expert)
{
    geodec__slots_key *const k = geodec__slots_at(s, s->current, expert);
    k->frequency =
        k->frequency * pow(GEODEC__EVICTION_KEEP, (double)(l->visits - k->visits)) + (1 - GEODEC__EVICTION_KEEP);
    k->recent =
        k->recent * pow(GEODEC__EVICTION_RECENT, (double)(l->visits - k->visits)) + (1 - GEODEC__EVICTION_RECENT);
    k->visits = l->visits;
    k->wanted = true;
    s->uses[k - s->key]++;
    l->count.needed++;
    if (k->slot < 0) {
        l->count.missed++;
        geodec__slots_bit(s->missing, expert, true);
        return;
    }
    geodec__slots_slot *const x = &s->slot[k->slot];
    x->last = s->visits;
    x->last_pass = s->passes;
    if (x->state == GEODEC__SLOTS_READING) {
        const bool ask = x->prefetched && !x->asked;
        l->count.late++;
        settle(s, k->slot);
        end_prefetching(s, x);
        if (ask) geodec__slots_link(s, &s->recall, k->slot, true);
        return;
    }
    if (x->prefetched)
        l->count.in_time++;
    else
        l->count.resident++;
    settle(s, k->slot);
    geodec__slots_withdraw(s, k->slot);
    geodec__slots_bit(s->due, expert, true);
}

void geodec_slots_need(geodec_slots *s, int32_t layer, int32_t n, const int32_t *expert)
{
    if (!is_layer(s, layer)) return;
    geodec__slots_layer *const l = &s->layer[layer];
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_NEED, .layer = layer, .n = n, .expert = expert});
    abandon(s);
    s->current = layer;
    s->visits++;
    l->visits++;
    l->count.visits++;
    /* in ascending order, by a bit set */
    for (int32_t i = 0; i < n; i++)
        if (expert[i] >= 0 && expert[i] < s->o.n_expert) geodec__slots_bit(s->missing, expert[i], true);
    s->n_want = 0;
    for (int32_t e = 0; e < s->o.n_expert && (e = geodec__slots_lowest(s->missing, e, s->o.n_expert)) >= 0; e++) {
        geodec__slots_bit(s->missing, e, false);
        s->want[s->n_want++] = e;
    }
    s->n_wait = s->n_want;
    /* downwards: each is put at the front of the list of reads to take back */
    for (int32_t i = s->n_want - 1; i >= 0; i--) use(s, l, s->want[i]);
    for (int32_t i = 0; i < l->n_foretold; i++) geodec__slots_at(s, layer, l->foretold[i])->probability = -1;
    const int32_t n_old = l->n_foretold;
    l->n_foretold = l->cursor = 0;
    for (int32_t i = 0; i < n_old; i++) refresh(s, layer, l->foretold[i]);
}

int32_t geodec_slots_take(geodec_slots *s, int32_t *slot, int32_t most)
{
    int32_t n = 0;
    for (int32_t e = 0; n < most && e < s->o.n_expert && (e = geodec__slots_lowest(s->due, e, s->o.n_expert)) >= 0;
         e++) {
        geodec__slots_key *const k = geodec__slots_at(s, s->current, e);
        geodec__slots_bit(s->due, e, false);
        k->wanted = false;
        s->slot[k->slot].state = GEODEC__SLOTS_PINNED;
        slot[n++] = k->slot;
    }
    s->n_wait -= n;
    s->n_pinned += n;
    if (n > 0) tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_TAKE, .n = n});
    return n;
}

bool geodec_slots_waiting(const geodec_slots *s) { return s->n_wait > 0; }

void geodec_slots_release(geodec_slots *s, int32_t slot)
{
    if (!in_state(s, slot, GEODEC__SLOTS_PINNED)) return;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_RELEASE, .slot = slot});
    s->slot[slot].state = GEODEC__SLOTS_READY;
    s->n_pinned--;
    geodec__slots_offer(s, slot);
}

/* ---- reads ------------------------------------------------------------------------------------------------------ */

/* Prefetches under way: more would be decided before more is known. Nearly certain ones may be more, so that the disk
 * has work while a wide pass computes. */
enum { PREFETCHES = 2 };
static const float CERTAIN = 0.9F;

/* The most probable expert of a layer that is foretold and not in memory; -1: none. */
static int32_t best_foretold(geodec_slots *s, int32_t layer, float *probability)
{
    geodec__slots_layer *const l = &s->layer[layer];
    for (; l->cursor < l->n_foretold; l->cursor++) {
        const int32_t expert = l->foretold[l->cursor];
        const geodec__slots_key *const k = geodec__slots_at(s, layer, expert);
        *probability = k->probability;
        if (k->slot < 0 && !k->wanted && k->probability >= s->o.prefetch_least) return expert;
    }
    return -1;
}

/* Whether a prefetch of this probability and worth may begin beside those that are under way. */
static bool may_begin(const geodec_slots *s, float probability, float worth)
{
    int better = 0;
    if (s->n_prefetching < PREFETCHES || probability >= CERTAIN) return true;
    for (int32_t i = 0; i < s->n_prefetching; i++) better += s->slot[s->under_way[i]].worth >= worth;
    return better < PREFETCHES;
}

void geodec_slots_pace(geodec_slots *s, float least, float far)
{
    if (!(least >= 0 && least <= 1 && far >= 0 && far <= 1)) return;
    if (!(s->o.prefetch_least < least || s->o.prefetch_least > least || s->o.prefetch_far < far ||
          s->o.prefetch_far > far))
        return;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_PACE, .probability = (float[2]){least, far}});
    s->o.prefetch_least = least;
    s->o.prefetch_far = far;
    for (int32_t l = 0; l < s->o.n_layer; l++) s->layer[l].cursor = 0;
}

/* The next prefetch: that of the largest worth. */
static bool prefetch(geodec_slots *s, geodec_slots_read *out)
{
    float most = 0;
    int32_t best = -1;
    if (s->n_prefetching >= GEODEC__SLOTS_PREFETCHES) return false;
    for (int32_t i = 1; i <= s->o.n_layer; i++) {
        const int32_t layer = (s->current + i) % s->o.n_layer;
        float p;
        if (best_foretold(s, layer, &p) < 0) continue;
        p -= s->o.prefetch_far * (float)(i - 1);
        if (p > most) most = p, best = layer;
    }
    if (best < 0) return false;
    float p;
    const int32_t expert = best_foretold(s, best, &p);
    const int32_t slot = may_begin(s, p, most) ? geodec__slots_find(s, best, p) : -1;
    if (slot < 0) return false;
    s->layer[best].cursor++;
    *out = (geodec_slots_read){.slot = slot, .layer = best, .expert = expert, .demand = false, .worth = most};
    begin(s, slot, best, expert, false, true);
    s->slot[slot].worth = most;
    geodec__slots_choose(s, out);
    return true;
}

static bool next(geodec_slots *s, geodec_slots_read *out)
{
    const int32_t expert = s->n_wait > 0 ? geodec__slots_lowest(s->missing, 0, s->o.n_expert) : -1;
    if (expert >= 0) {
        const int32_t slot = geodec__slots_find(s, s->current, -1);
        if (slot < 0) return false;
        geodec__slots_bit(s->missing, expert, false);
        *out = (geodec_slots_read){.slot = slot, .layer = s->current, .expert = expert, .demand = true};
        begin(s, slot, s->current, expert, true, false);
        geodec__slots_choose(s, out);
        return true;
    }
    return s->prefetch_most > 0 && prefetch(s, out);
}

bool geodec_slots_next(geodec_slots *s, geodec_slots_read *out)
{
    if (!next(s, out)) return false;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_NEXT, .n = out->edge + 1});
    return true;
}

void geodec_slots_finished(geodec_slots *s, int32_t slot, bool ok)
{
    if (!in_state(s, slot, GEODEC__SLOTS_READING)) return;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_FINISHED, .slot = slot, .yes = ok});
    geodec__slots_slot *const x = &s->slot[slot];
    const geodec__slots_key *const k = geodec__slots_at(s, x->layer, x->expert);
    const int32_t expert = x->expert;
    read_ended(s, x);
    if (!ok) {
        s->layer[x->layer].count.failed++;
        clear(s, slot);
        if (k->wanted) geodec__slots_bit(s->missing, expert, true);
        return;
    }
    geodec__slots_unlink(s, &s->recall, slot);
    x->state = GEODEC__SLOTS_READY;
    x->asked = false;
    if (k->wanted) {
        geodec__slots_bit(s->due, expert, true);
        return;
    }
    geodec__slots_offer(s, slot);
    if (x->prefetched && k->probability < 0) set_stale(s, slot, true);
}

int32_t geodec_slots_recall(geodec_slots *s)
{
    const int32_t slot = s->recall.first;
    if (slot < 0) return -1;
    geodec__slots_unlink(s, &s->recall, slot);
    s->slot[slot].asked = true;
    return slot;
}

bool geodec_slots_wanted(const geodec_slots *s, int32_t slot)
{
    if (slot < 0 || slot >= s->o.n_slots || s->slot[slot].state == GEODEC__SLOTS_EMPTY) return false;
    return geodec__slots_at(s, s->slot[slot].layer, s->slot[slot].expert)->wanted;
}

/* The read of a prefetch ends without its blob. */
static void cancel(geodec_slots *s, int32_t slot)
{
    geodec__slots_slot *const x = &s->slot[slot];
    const geodec__slots_key *const k = geodec__slots_at(s, x->layer, x->expert);
    geodec_slots_counters *const c = &s->layer[x->layer].count;
    const int32_t expert = x->expert;
    read_ended(s, x);
    c->cancelled++;
    c->prefetch_reads--;
    if (k->wanted) {
        c->late--;
        c->missed++;
        geodec__slots_bit(s->missing, expert, true);
    }
    clear(s, slot);
}

void geodec_slots_recalled(geodec_slots *s, int32_t slot, bool cancelled)
{
    if (!in_state(s, slot, GEODEC__SLOTS_READING) || !s->slot[slot].asked) return;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_RECALLED, .slot = slot, .yes = cancelled});
    if (cancelled) cancel(s, slot);
}

void geodec_slots_dropped(geodec_slots *s, int32_t slot)
{
    if (!in_state(s, slot, GEODEC__SLOTS_READING) || !s->slot[slot].asked) return;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_DROPPED, .slot = slot});
    cancel(s, slot);
}

int32_t geodec_slots_give(geodec_slots *s)
{
    if (s->left <= 2) return -1;
    const int32_t slot = s->n_empty > 0 ? geodec__slots_lowest(s->empty, 0, s->o.n_slots) : geodec__slots_leaver(s);
    if (slot < 0) return -1;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_GIVE, .slot = slot});
    evict(s, slot);
    geodec__slots_bit(s->empty, slot, false);
    s->n_empty--;
    s->left--;
    s->slot[slot].given = true;
    set_quotas(s);
    return slot;
}

void geodec_slots_back(geodec_slots *s, int32_t slot)
{
    if (slot < 0 || slot >= s->o.n_slots || !s->slot[slot].given) return;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_BACK, .slot = slot});
    s->slot[slot].given = false;
    geodec__slots_bit(s->empty, slot, true);
    s->n_empty++;
    s->left++;
    set_quotas(s);
}

int32_t geodec_slots_left(const geodec_slots *s) { return s->left; }

bool geodec_slots_warm(geodec_slots *s, int32_t layer, int32_t expert, geodec_slots_read *out)
{
    if (!is_layer(s, layer) || expert < 0 || expert >= s->o.n_expert || s->passes > 0) return false;
    const geodec__slots_layer *const l = &s->layer[layer];
    if (geodec__slots_at(s, layer, expert)->slot >= 0 || s->n_empty == 0) return false;
    if (l->held >= l->quota && s->over >= s->remainder) return false;
    tell(s, (geodec_slots_event){.call = GEODEC_SLOTS_WARM, .layer = layer, .n = 1, .expert = &expert});
    const int32_t slot = geodec__slots_lowest(s->empty, 0, s->o.n_slots);
    *out = (geodec_slots_read){.slot = slot, .layer = layer, .expert = expert, .demand = false, .edge = -1, .base = -1};
    begin(s, slot, layer, expert, false, false);
    return true;
}

/* ---- what is known ---------------------------------------------------------------------------------------------- */

bool geodec_slots_content(const geodec_slots *s, int32_t slot, int32_t *layer, int32_t *expert)
{
    if (slot < 0 || slot >= s->o.n_slots || s->slot[slot].state == GEODEC__SLOTS_EMPTY) return false;
    *layer = s->slot[slot].layer;
    *expert = s->slot[slot].expert;
    return true;
}

bool geodec_slots_resident(const geodec_slots *s, int32_t layer, int32_t expert)
{
    if (!is_layer(s, layer) || expert < 0 || expert >= s->o.n_expert) return false;
    const int32_t slot = geodec__slots_at(s, layer, expert)->slot;
    return slot >= 0 && s->slot[slot].state >= GEODEC__SLOTS_READY;
}

const float *geodec_slots_frequency(const geodec_slots *s)
{
    for (int64_t i = 0; i < (int64_t)s->o.n_layer * s->o.n_expert; i++) {
        const geodec__slots_key *const k = &s->key[i];
        const int64_t visits = s->layer[i / s->o.n_expert].visits;
        s->frequency[i] = (float)(k->frequency * pow(GEODEC__EVICTION_KEEP, (double)(visits - k->visits)));
    }
    return s->frequency;
}

const int64_t *geodec_slots_uses(const geodec_slots *s) { return s->uses; }

geodec_slots_counters geodec_slots_counted_layer(const geodec_slots *s, int32_t layer)
{
    geodec_slots_counters c = {0};
    if (layer < 0 || layer >= s->o.n_layer) return c;
    c = s->layer[layer].count;
    c.passes = s->passes;
    c.wasted += s->layer[layer].idle;
    return c;
}

geodec_slots_counters geodec_slots_counted(const geodec_slots *s)
{
    geodec_slots_counters sum = {.passes = s->passes};
    for (int32_t l = 0; l < s->o.n_layer; l++) {
        const geodec_slots_counters c = geodec_slots_counted_layer(s, l);
        sum.visits += c.visits;
        sum.needed += c.needed;
        sum.resident += c.resident;
        sum.in_time += c.in_time;
        sum.late += c.late;
        sum.missed += c.missed;
        sum.demand_reads += c.demand_reads;
        sum.prefetch_reads += c.prefetch_reads;
        sum.wasted += c.wasted;
        sum.cancelled += c.cancelled;
        sum.evictions += c.evictions;
        sum.failed += c.failed;
        sum.differences += c.differences;
        sum.alone += c.alone;
        sum.cheaper += c.cheaper;
    }
    return sum;
}
