/* The ring of rows kept for drafters that are not asked: what a drafter is shown after every absence, against the text
 * itself. */
#include "base/mem.h"
#include "decode/replay.h"
#include "support/support.h"

#include <criterion/criterion.h>

enum { ROWS = GEODEC_REPLAY_ROWS, WIDTH = 2, TEXT = 1000 };

/* Row i of the text has token i, argmax 2 i and state (3 i, 4 i); the drafter records the rows that it receives. */
typedef struct listener {
    geodec_drafter base;
    int64_t first, n; /* rows shown since begin: first .. first + n - 1 */
    int begun;
} listener;

static geodec_status begin(geodec_drafter *d, geodec_err *err)
{
    (void)err;
    ((listener *)d)->begun++;
    ((listener *)d)->n = 0;
    return GEODEC_OK;
}

static geodec_status observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    listener *l = (listener *)d;
    cr_assert_eq(rows->state != NULL, d->ops->wants_state);
    for (int64_t i = 0; i < rows->n; i++) {
        if (l->n == 0) l->first = rows->token[i];
        cr_assert_eq(rows->token[i], l->first + l->n, "in the text's order");
        cr_assert_eq(rows->argmax[i], 2 * rows->token[i]);
        for (int k = 0; k < WIDTH && rows->state; k++)
            cr_assert_eq((int32_t)rows->state[i * WIDTH + k], (3 + k) * rows->token[i]);
        l->n++;
    }
    return GEODEC_OK;
}

static const geodec_drafter_ops with_states = {
    .name = "listener", .wants_state = true, .begin = begin, .observe = observe};
static const geodec_drafter_ops without = {.name = "listener", .begin = begin, .observe = observe};

static void add(geodec_replay *r, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        const int32_t i = (int32_t)r->n;
        const float state[WIDTH] = {3 * (float)i, 4 * (float)i};
        geodec_replay_add(r, i, 2 * i, state);
    }
}

/* After `missed` rows, with `most` and `restart`: either all of them, or the last `restart` after a begin. */
static void absence(int64_t before, int64_t missed, int64_t most, int64_t restart, bool states)
{
    geodec_err err = {0};
    geodec_replay r;
    listener l = {.base = {.ops = states ? &with_states : &without}};
    geodec_replay_place at = {.stale = true};
    test_ok(geodec_replay_init(&r, states ? WIDTH : 0, &err), &err);
    add(&r, before);
    test_ok(geodec_replay_catch_up(&r, &at, &l.base, TEXT, restart, &err), &err);
    cr_assert_eq(l.begun, 1);
    cr_assert_eq(at.shown, before);
    cr_assert_eq(l.first + l.n, before);
    const int64_t first = l.first;
    add(&r, missed);
    test_ok(geodec_replay_catch_up(&r, &at, &l.base, most, restart, &err), &err);
    const bool restarted = missed > most || missed > ROWS;
    cr_assert_eq(l.begun, 1 + restarted, "%lld missed after %lld", (long long)missed, (long long)before);
    cr_assert_eq(l.first + l.n, before + missed, "up to the end");
    cr_assert_eq(l.first, restarted ? before + missed - restart : first);
    test_ok(geodec_replay_catch_up(&r, &at, &l.base, most, restart, &err), &err);
    cr_assert_eq(l.begun, 1 + restarted, "nothing is shown twice");
    geodec_replay_free(&r);
}

Test(replay, shows_what_was_missed_or_the_end_of_it)
{
    for (int states = 0; states < 2; states++)
        for (int64_t before = 1; before <= ROWS; before += 43)
            for (int64_t missed = 1; missed < 2 * ROWS + 3; missed++) {
                absence(before, missed, TEXT, 12, states);
                absence(before, missed, 24, 12, states);
                absence(before, missed, 16, 16, states);
            }
}

/* Rows that are not kept are dropped, with those before them: only later ones are shown. */
Test(replay, what_is_skipped_is_not_shown)
{
    geodec_err err = {0};
    geodec_replay r;
    listener l = {.base = {.ops = &with_states}};
    geodec_replay_place at = {0};
    test_ok(geodec_replay_init(&r, WIDTH, &err), &err);
    add(&r, 20);
    geodec_replay_skip(&r, 500);
    cr_assert_eq(r.n, 520);
    cr_assert_eq(r.kept, 0);
    add(&r, 5);
    test_ok(geodec_replay_catch_up(&r, &at, &l.base, TEXT, 12, &err), &err);
    cr_assert_eq(l.begun, 1);
    cr_assert_eq(l.first, 520);
    cr_assert_eq(l.n, 5);
    geodec_replay_skip(&r, 3);
    test_ok(geodec_replay_catch_up(&r, &at, &l.base, TEXT, 12, &err), &err);
    cr_assert_eq(l.begun, 2, "it starts again without rows");
    cr_assert_eq(l.n, 0);
    cr_assert_eq(at.shown, 528);
    geodec_replay_clear(&r);
    cr_assert_eq(r.n, 0);
    geodec_replay_free(&r);
}

Test(replay, out_of_memory)
{
    geodec_err err = {0};
    geodec_replay r;
    geodec_mem_fail_after(1);
    const geodec_status st = geodec_replay_init(&r, WIDTH, &err);
    geodec_mem_fail_after(0);
    cr_assert_eq(st, GEODEC_NOMEM);
    geodec_replay_free(&r);
}
