/* The bounded ring: order, fullness, and one producer with one consumer in two threads. */
#include "base/mem.h"
#include "streaming/ring_queue.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

typedef struct message {
    uint64_t number, square, pad[3];
} message;

Test(ring, keeps_the_order_and_knows_when_it_is_full)
{
    geodec_err err = {0};
    geodec_ring *r = NULL;
    test_ok(geodec_ring_create(5, sizeof(message), &r, &err), &err);
    uint64_t in = 0, out = 0;
    message m = {0};
    int room = 0;
    while (geodec_ring_push(r, &m)) room++;
    cr_assert_geq(room, 5);
    for (int i = 0; i < room; i++) cr_assert(geodec_ring_pop(r, &m));
    for (int round = 0; round < 100; round++) {
        const int n = 1 + round % room;
        cr_assert(geodec_ring_empty(r));
        cr_assert_not(geodec_ring_pop(r, &m));
        for (int i = 0; i < n; i++) {
            m = (message){.number = in, .square = in * in};
            in++;
            cr_assert(geodec_ring_push(r, &m));
            cr_assert_not(geodec_ring_empty(r));
        }
        if (n == room) cr_assert_not(geodec_ring_push(r, &m));
        for (int i = 0; i < n; i++) {
            cr_assert(geodec_ring_pop(r, &m));
            cr_assert(m.number == out && m.square == out * out);
            out++;
        }
    }
    geodec_ring_destroy(r);
}

Test(ring, refuses_impossible_sizes)
{
    geodec_err err = {0};
    geodec_ring *r = NULL;
    cr_assert_eq(geodec_ring_create(0, 8, &r, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_create(1 << 25, 8, &r, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_create(4, 0, &r, &err), GEODEC_RANGE);
    for (int k = 1; k <= 2; k++) {
        geodec_mem_fail_after(k);
        cr_assert_eq(geodec_ring_create(4, 8, &r, &err), GEODEC_NOMEM);
        geodec_mem_fail_after(0);
    }
    cr_assert_null(r);
    geodec_ring_destroy(NULL);
}

enum { MESSAGES = 300000 };

static void *produce(void *ring)
{
    for (uint64_t i = 0; i < MESSAGES;) {
        const message m = {.number = i, .square = i * i, .pad = {i, ~i, 7}};
        if (geodec_ring_push(ring, &m))
            i++;
        else
            (void)sched_yield();
    }
    return NULL;
}

Test(ring, two_threads_exchange_every_message_once, .timeout = 120)
{
    static const int rooms[] = {1, 2, 16, 1024};
    for (int k = 0; k < 4; k++) {
        geodec_err err = {0};
        geodec_ring *r = NULL;
        test_ok(geodec_ring_create(rooms[k], sizeof(message), &r, &err), &err);
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, produce, r), 0);
        for (uint64_t i = 0; i < MESSAGES;) {
            message m;
            if (!geodec_ring_pop(r, &m)) {
                (void)sched_yield();
                continue;
            }
            cr_assert(m.number == i && m.square == i * i && m.pad[1] == ~i);
            i++;
        }
        (void)pthread_join(thread, NULL);
        cr_assert(geodec_ring_empty(r));
        geodec_ring_destroy(r);
    }
}
