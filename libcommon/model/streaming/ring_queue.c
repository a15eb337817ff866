#include "streaming/ring_queue.h"

#include "base/mem.h"

#include <stdatomic.h>

enum { LINE = 64, MOST = 1 << 24 };

/* Each index has one writer. The writer keeps a copy of the other one, so that the cache line of an index moves only
 * when the copy no longer suffices. */
struct geodec_ring {
    uint8_t *data;
    size_t size;
    uint32_t mask;
    _Alignas(LINE) _Atomic uint32_t pushed; /* of the producer; counts on past the end */
    uint32_t popped_seen;
    _Alignas(LINE) _Atomic uint32_t popped; /* of the consumer */
    uint32_t pushed_seen;
    _Alignas(LINE) char end[LINE];
};

geodec_status geodec_ring_create(int32_t least, size_t size, geodec_ring **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ring *r = NULL;
    if (least < 1 || least > MOST || size < 1)
        GEODEC_THROW(GEODEC_RANGE, "%d elements of %zu bytes in a ring", (int)least, size);
    uint32_t room = 1;
    while (room < (uint32_t)least) room *= 2;
    GEODEC_NEW(r, 1);
    r->data = geodec_mem_new(room, size);
    if (!r->data) GEODEC_THROW(GEODEC_NOMEM, "no memory for a ring of %u x %zu bytes", (unsigned)room, size);
    r->size = size;
    r->mask = room - 1;
    atomic_init(&r->pushed, 0);
    atomic_init(&r->popped, 0);
    GEODEC_MOVE(*out, r);
done:
    geodec_ring_destroy(r);
    return st;
}

void geodec_ring_destroy(geodec_ring *r)
{
    if (!r) return;
    geodec_mem_free(r->data);
    geodec_mem_free(r);
}

bool geodec_ring_push(geodec_ring *r, const void *element)
{
    const uint32_t at = atomic_load_explicit(&r->pushed, memory_order_relaxed);
    if (at - r->popped_seen > r->mask) {
        r->popped_seen = atomic_load_explicit(&r->popped, memory_order_acquire);
        if (at - r->popped_seen > r->mask) return false;
    }
    memcpy(r->data + (at & r->mask) * r->size, element, r->size);
    atomic_store(&r->pushed, at + 1); /* sequentially consistent, as in geodec_ring_empty */
    return true;
}

bool geodec_ring_pop(geodec_ring *r, void *element)
{
    const uint32_t at = atomic_load_explicit(&r->popped, memory_order_relaxed);
    if (at == r->pushed_seen) {
        r->pushed_seen = atomic_load_explicit(&r->pushed, memory_order_acquire);
        if (at == r->pushed_seen) return false;
    }
    memcpy(element, r->data + (at & r->mask) * r->size, r->size);
    atomic_store_explicit(&r->popped, at + 1, memory_order_release);
    return true;
}

/* A consumer that is about to sleep announces that and then looks here; a producer pushes and then looks for the
 * announcement. Both are sequentially consistent, so that one of them sees the other. */
bool geodec_ring_empty(const geodec_ring *r)
{
    return atomic_load_explicit(&r->popped, memory_order_relaxed) == atomic_load(&r->pushed);
}
