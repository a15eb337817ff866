/* Differences: blobs that are made from that of another expert of their layer, whose slot is held until then. */
#include "streaming/slots_internal.h"

#include "base/mem.h"

#include <float.h>

static geodec_status check_edges(const geodec_slots_options *o, geodec_err *err)
{
    for (int32_t i = 0; i < o->n_edges; i++) {
        const geodec_slots_edge *e = &o->edge[i];
        if (e->layer < 0 || e->layer >= o->n_layer || e->a < 0 || e->a >= e->b || e->b >= o->n_expert || e->bytes < 1 ||
            !(e->below >= 0))
            GEODEC_FAIL(GEODEC_INVAL, "difference %d: layer %d, experts %d and %d", i, e->layer, e->a, e->b);
    }
    return GEODEC_OK;
}

/* Lists of the differences of each key. */
geodec_status geodec__slots_set_edges(geodec_slots *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t keys = (int64_t)s->o.n_layer * s->o.n_expert;
    const int32_t n = s->o.n_edges;
    s->speed = FLT_MAX;
    if (n == 0) goto done;
    GEODEC_TRY(check_edges(&s->o, err));
    GEODEC_NEW_COPY(s->edge, s->o.edge, n);
    s->o.edge = s->edge;
    GEODEC_NEW(s->edges_first, keys + 1);
    GEODEC_NEW(s->edges_of, 2 * (int64_t)n);
    for (int32_t i = 0; i < n; i++) {
        const int64_t layer = (int64_t)s->edge[i].layer * s->o.n_expert;
        s->edges_first[layer + s->edge[i].a + 1]++;
        s->edges_first[layer + s->edge[i].b + 1]++;
    }
    for (int64_t k = 0; k < keys; k++) s->edges_first[k + 1] += s->edges_first[k];
    /* filled backwards from the ends, which become the beginnings */
    for (int32_t i = n - 1; i >= 0; i--) {
        const int64_t layer = (int64_t)s->edge[i].layer * s->o.n_expert;
        s->edges_of[--s->edges_first[layer + s->edge[i].a + 1]] = i;
        s->edges_of[--s->edges_first[layer + s->edge[i].b + 1]] = i;
    }
    for (int64_t k = 0; k < keys; k++) s->edges_first[k] = s->edges_first[k + 1];
    s->edges_first[keys] = 2 * n;
done:
    return st;
}

/* The difference with the fewest bytes whose base is ready; of equals the lowest number. */
static int32_t best_edge(const geodec_slots *s, int32_t layer, int32_t expert)
{
    const int64_t k = (int64_t)layer * s->o.n_expert + expert;
    int32_t best = -1;
    for (int32_t i = s->edges_first[k]; i < s->edges_first[k + 1]; i++) {
        const geodec_slots_edge *e = &s->edge[s->edges_of[i]];
        const int32_t slot = geodec__slots_at(s, layer, e->a == expert ? e->b : e->a)->slot;
        if (slot < 0 || s->slot[slot].state < GEODEC__SLOTS_READY) continue;
        if (best < 0 || e->bytes < s->edge[best].bytes || (e->bytes <= s->edge[best].bytes && s->edges_of[i] < best))
            best = s->edges_of[i];
    }
    return best;
}

void geodec__slots_choose(geodec_slots *s, geodec_slots_read *r)
{
    geodec_slots_counters *const c = &s->layer[r->layer].count;
    r->edge = r->base = -1;
    if (s->o.n_edges == 0) return;
    const int32_t best = best_edge(s, r->layer, r->expert);
    if (best < 0) {
        c->alone++;
        return;
    }
    const geodec_slots_edge *e = &s->edge[best];
    if (s->speed >= e->below) {
        c->cheaper++;
        return;
    }
    c->differences++;
    r->edge = best;
    r->base = geodec__slots_at(s, r->layer, e->a == r->expert ? e->b : e->a)->slot;
    s->slot[r->slot].base = r->base;
    if (s->slot[r->base].holds++ == 0) geodec__slots_withdraw(s, r->base);
}

void geodec__slots_let_go(geodec_slots *s, int32_t slot)
{
    const int32_t base = s->slot[slot].base;
    if (base < 0) return;
    s->slot[slot].base = -1;
    geodec__slots_slot *const x = &s->slot[base];
    const bool due = geodec__slots_at(s, x->layer, x->expert)->wanted;
    if (--x->holds == 0 && x->state == GEODEC__SLOTS_READY && !due) geodec__slots_offer(s, base);
}

void geodec_slots_speed(geodec_slots *s, float bytes_per_second)
{
    if (s->o.n_edges == 0 || !(bytes_per_second > 0) || !(bytes_per_second <= FLT_MAX)) return;
    if (!(s->speed < bytes_per_second || s->speed > bytes_per_second)) return;
    s->speed = bytes_per_second;
    if (s->o.observe)
        s->o.observe(s->o.observe_ctx, &(geodec_slots_event){.call = GEODEC_SLOTS_SPEED, .probability = &s->speed});
}
