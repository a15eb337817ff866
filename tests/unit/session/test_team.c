/* Teams of threads: the members, and barriers that no member passes alone. */
#include "base/pool.h"
#include "session/team_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

enum { THREADS = 4, WANTED = 2, ROUNDS = 300, MEETINGS = 20 };

typedef struct shared {
    geodec__team team;
    atomic_int count, late, seen[WANTED]; /* seen: calls by member */
    atomic_int wrong;
} shared;

static void member_task(void *ctx, int64_t task, int worker)
{
    shared *s = ctx;
    (void)task;
    const int member = geodec__team_join(&s->team, worker, WANTED), members = atomic_load(&s->team.members);
    if (member < 0) {
        atomic_fetch_add(&s->late, 1);
        return;
    }
    if (member >= members || (worker == 0) != (member == 0)) atomic_fetch_add(&s->wrong, 1);
    atomic_fetch_add(&s->seen[member], 1);
    for (int k = 0; k < MEETINGS; k++) {
        atomic_fetch_add(&s->count, 1);
        geodec__team_meet(&s->team);
        if (atomic_load(&s->count) < (k + 1) * members) atomic_fetch_add(&s->wrong, 1);
        geodec__team_meet(&s->team);
        if (atomic_load(&s->count) > (k + 2) * members) atomic_fetch_add(&s->wrong, 1);
    }
}

Test(model_team, members_are_counted_and_meet, .timeout = 300)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(THREADS, &pool, &err), &err);
    for (int round = 0; round < ROUNDS; round++) {
        static shared s;
        memset(&s, 0, sizeof s);
        geodec_pool_run_dynamic(pool, THREADS, member_task, &s);
        const int members = atomic_load(&s.team.members);
        cr_assert(members >= 1 && members <= WANTED);
        cr_assert_eq(atomic_load(&s.wrong), 0);
        cr_assert_eq(atomic_load(&s.late), THREADS - members);
        cr_assert_eq(atomic_load(&s.count), members * MEETINGS);
        for (int m = 0; m < WANTED; m++) cr_assert_eq(atomic_load(&s.seen[m]), m < members ? 1 : 0);
    }
    geodec_pool_destroy(pool);
}
