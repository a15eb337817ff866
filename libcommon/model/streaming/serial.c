#include "streaming/serial.h"

#include "base/mem.h"

#include <math.h>

typedef struct read {
    int32_t before, after; /* in the queue of its kind */
    bool queued, demand;
    float worth;                  /* of a prefetch */
    double arrived, left, served; /* seconds */
} read;

typedef struct queue {
    int32_t first, last;
} queue;

struct geodec_serial {
    int32_t n_slots;
    read *read;
    queue queue[2]; /* [demand] */
    double free;    /* served up to here */
    double busy;
};

geodec_status geodec_serial_create(int32_t n_slots, geodec_serial **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_serial *s = NULL;
    if (n_slots < 1) GEODEC_THROW(GEODEC_RANGE, "a disk for %d slots", (int)n_slots);
    GEODEC_NEW(s, 1);
    GEODEC_NEW(s->read, n_slots);
    s->n_slots = n_slots;
    s->queue[0] = s->queue[1] = (queue){-1, -1};
    GEODEC_MOVE(*out, s);
done:
    geodec_serial_destroy(s);
    return st;
}

void geodec_serial_destroy(geodec_serial *s)
{
    if (!s) return;
    GEODEC_FREE(s->read, s);
}

/* ---- queues ------------------------------------------------------------------------------------------------------ */

/* Queues a read: a demanded one behind all others of its queue, else by falling worth, the older one first. */
static void enter(geodec_serial *s, int32_t slot, bool demand)
{
    queue *const q = &s->queue[demand];
    read *const r = &s->read[slot];
    int32_t before = q->last;
    while (!demand && before >= 0 && s->read[before].worth < r->worth) before = s->read[before].before;
    r->demand = demand;
    r->queued = true;
    r->before = before;
    r->after = before >= 0 ? s->read[before].after : q->first;
    *(before >= 0 ? &s->read[before].after : &q->first) = slot;
    *(r->after >= 0 ? &s->read[r->after].before : &q->last) = slot;
}

static void leave(geodec_serial *s, int32_t slot)
{
    read *const r = &s->read[slot];
    queue *const q = &s->queue[r->demand];
    *(r->before >= 0 ? &s->read[r->before].after : &q->first) = r->after;
    *(r->after >= 0 ? &s->read[r->after].before : &q->last) = r->before;
    r->queued = false;
}

static int32_t served_next(const geodec_serial *s)
{
    return s->queue[1].first >= 0 ? s->queue[1].first : s->queue[0].first;
}

static bool has(const geodec_serial *s, int32_t slot) { return slot >= 0 && slot < s->n_slots && s->read[slot].queued; }

/* Serves the first read for as long as it needs, at the latest until `until`. False: it has not ended. */
static bool serve(geodec_serial *s, int32_t slot, double until)
{
    read *const r = &s->read[slot];
    const double begin = fmax(s->free, r->arrived), end = begin + r->left;
    if (end <= until) {
        s->busy += r->left;
        r->served += r->left;
        r->left = 0;
        s->free = end;
        return true;
    }
    if (begin < until) {
        const double seconds = until - begin;
        s->busy += seconds;
        r->served += seconds;
        r->left -= seconds;
        s->free = until;
    }
    return false;
}

/* ---- the disk ---------------------------------------------------------------------------------------------------- */

void geodec_serial_put(geodec_serial *s, int32_t slot, bool demand, float worth, double at, double seconds)
{
    if (slot < 0 || slot >= s->n_slots || s->read[slot].queued) return;
    const int32_t now = served_next(s);
    if (now >= 0 && !s->read[now].demand) (void)serve(s, now, at); /* it may be interrupted now */
    s->read[slot] = (read){.worth = worth, .arrived = at, .left = seconds > 0 ? seconds : 0};
    enter(s, slot, demand);
}

void geodec_serial_hurry(geodec_serial *s, int32_t slot, double at)
{
    if (!has(s, slot) || s->read[slot].demand) return;
    const int32_t now = served_next(s);
    if (now >= 0 && now != slot && !s->read[now].demand) (void)serve(s, now, at);
    leave(s, slot);
    enter(s, slot, true);
}

double geodec_serial_drop(geodec_serial *s, int32_t slot, double at)
{
    if (!has(s, slot)) return 0;
    if (served_next(s) == slot) (void)serve(s, slot, at);
    leave(s, slot);
    return s->read[slot].served;
}

int32_t geodec_serial_next(geodec_serial *s, double until, double *at)
{
    const int32_t slot = served_next(s);
    if (slot < 0 || !serve(s, slot, until)) return -1;
    leave(s, slot);
    *at = s->free;
    return slot;
}

double geodec_serial_when(const geodec_serial *s)
{
    const int32_t slot = served_next(s);
    return slot < 0 ? INFINITY : fmax(s->free, s->read[slot].arrived) + s->read[slot].left;
}

double geodec_serial_busy(const geodec_serial *s) { return s->busy; }
