/* A sweep in slices, through the artifact: its results are those of one run, and parts of others are refused. */
#include "artifact/merge.h"
#include "artifact/sweep.h"
#include "cluster/threads.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { ITEMS = 11, PER = 2, ROWS = 3 };

typedef struct results {
    int64_t square[ITEMS][PER];
    double table[ROWS][ITEMS];
    uint8_t small[2];
    int runs;
} results;

static geodec_status item(void *ctx, int64_t task, geodec_err *err)
{
    results *r = ctx;
    (void)err;
    const int64_t i = task / PER;
    r->square[i][task % PER] = task * task;
    if (task % PER == 0)
        for (int row = 0; row < ROWS; row++) r->table[row][i] = 1.0 / (double)(1 + row + i);
    r->runs++;
    return GEODEC_OK;
}

static geodec_status few(void *ctx, int64_t task, geodec_err *err)
{
    results *r = ctx;
    (void)err;
    r->small[task] = (uint8_t)(task + 5);
    return GEODEC_OK;
}

static geodec_status run(geodec_sweep *s, results *r, const char *what, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_sweep_result many[] = {{r->square, 1, sizeof r->square[0]}, {r->table, ROWS, sizeof(double)}},
                              little = {r->small, 1, 1};
    GEODEC_TRY(geodec_sweep_run(s, NULL, NULL, what, ITEMS, PER, item, r, many, 2, err));
    GEODEC_TRY(geodec_sweep_run(s, NULL, NULL, "few", 2, 1, few, r, &little, 1, err));
done:
    return st;
}

static geodec_provenance made_by(const char *line) { return (geodec_provenance){.tool = "test", .command_line = line}; }

/* Parts 1/m .. m/m, joined into `whole`. */
static void divide(int64_t m, const char *whole)
{
    static const geodec_kind *const kinds[] = {&geodec_sweep_kind};
    const char *part[8];
    geodec_err err = {0};
    geodec_merge *merge;
    for (int64_t i = 1; i <= m; i++) {
        char name[32], line[64];
        results r = {0};
        geodec_sweep *s;
        geodec_artifact *a;
        (void)snprintf(name, sizeof name, "part%d-%d.h5", (int)i, (int)m);
        (void)snprintf(line, sizeof line, "test --shard=%d/%d x.h5", (int)i, (int)m);
        part[i - 1] = test_tmp(name);
        const geodec_provenance p = made_by(line);
        test_ok(geodec_sweep_slice((geodec_shard){i, m}, &s, &err), &err);
        cr_assert(geodec_sweep_partial(s));
        test_ok(run(s, &r, "many", &err), &err);
        int64_t first, end;
        test_ok(geodec_shard_range((geodec_shard){i, m}, ITEMS, &first, &end, &err), &err);
        cr_assert_eq(r.runs, (end - first) * PER); /* only its own items */
        test_ok(geodec_artifact_create(&geodec_sweep_kind, part[i - 1], &p, &a, &err), &err);
        test_ok(geodec_sweep_write(s, a, &err), &err);
        test_ok(geodec_artifact_commit(a, &err), &err);
        geodec_sweep_close(s);
    }
    test_ok(geodec_merge_open(kinds, 1, m, part, &merge, &err), &err);
    test_ok(geodec_merge_write(merge, whole, &err), &err);
    geodec_merge_close(merge);
}

Test(sweep, slices_give_what_one_run_gives)
{
    geodec_err err = {0};
    results once = {0};
    const geodec_provenance own = made_by("test x.h5");
    geodec_io_init();
    test_ok(run(NULL, &once, "many", &err), &err);
    cr_assert_not(geodec_sweep_partial(NULL));
    for (int64_t m = 1; m <= 7; m += 3) { /* seven: five of them have none of the few */
        const char *whole = test_tmp("whole.h5");
        results r = {.runs = once.runs};
        geodec_sweep *s;
        divide(m, whole);
        test_ok(geodec_sweep_open(whole, &own, &s, &err), &err);
        cr_assert_not(geodec_sweep_partial(s));
        test_ok(run(s, &r, "many", &err), &err);
        cr_assert_eq(r.runs, once.runs); /* nothing is computed again */
        cr_assert_eq(memcmp(&r, &once, sizeof r), 0);
        geodec_sweep_close(s);
    }
}

Test(sweep, what_is_not_its_own_is_refused)
{
    geodec_err err = {0};
    geodec_sweep *s;
    results r = {0};
    const char *whole = test_tmp("whole.h5");
    const geodec_provenance own = made_by("test x.h5"), other = made_by("test y.h5");
    geodec_provenance seed = own;
    seed.seed = 3;
    geodec_io_init();
    divide(2, whole);
    cr_assert_eq(geodec_sweep_open(whole, &other, &s, &err), GEODEC_CHECK);
    cr_assert_eq(geodec_sweep_open(whole, &seed, &s, &err), GEODEC_CHECK);
    cr_assert_eq(geodec_sweep_open(test_tmp("part1-2.h5"), &own, &s, &err), GEODEC_CHECK);
    cr_assert_eq(geodec_sweep_slice((geodec_shard){3, 2}, &s, &err), GEODEC_RANGE);
    test_ok(geodec_sweep_open(whole, &own, &s, &err), &err);
    cr_assert_eq(run(s, &r, "others", &err), GEODEC_CHECK);
    geodec_sweep_close(s);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

typedef struct folded {
    int64_t value, sum;
    int64_t order[ITEMS];
    int taken;
} folded;

static geodec_status fold_item(void *ctx, int64_t i, geodec_err *err)
{
    folded *f = ctx;
    (void)err;
    f->value = 100 + i;
    return GEODEC_OK;
}

static geodec_status fold_after(void *ctx, int64_t i, geodec_err *err)
{
    folded *f = ctx;
    (void)err;
    f->order[f->taken++] = i;
    f->sum = 3 * f->sum + f->value; /* depends on the order */
    return GEODEC_OK;
}

static void sweep_of_ranks(geodec_comm *c, void *ctx)
{
    results r = {0}, whole = {0};
    folded f = {0}, one = {0};
    geodec_err err = {0};
    geodec_sweep *s = NULL;
    const int rank = geodec_comm_rank(c), size = geodec_comm_size(c);
    (void)ctx;
    test_ok(geodec_sweep_ranks(c, &s, &err), &err);
    cr_assert_eq(geodec_sweep_partial(s), rank > 0);
    cr_assert_eq(geodec_sweep_comm(s), c);
    test_ok(run(s, &r, "many", &err), &err);
    cr_assert_leq(r.runs, PER * ((ITEMS + size - 1) / size));
    const geodec_sweep_result value = {&f.value, 1, sizeof f.value}, alone = {&one.value, 1, sizeof one.value};
    test_ok(geodec_sweep_fold(s, "fold", ITEMS, fold_item, fold_after, &f, &value, 1, &err), &err);
    if (rank == 0) {
        test_ok(run(NULL, &whole, "many", &err), &err);
        test_ok(geodec_sweep_fold(NULL, "fold", ITEMS, fold_item, fold_after, &one, &alone, 1, &err), &err);
        whole.runs = r.runs;
        cr_assert_eq(memcmp(&r, &whole, sizeof r), 0);
        cr_assert_eq(f.sum, one.sum);
        for (int i = 0; i < ITEMS; i++) cr_assert_eq(f.order[i], i);
    } else {
        cr_assert_eq(f.taken, 0);
    }
    geodec_sweep_close(s);
}

Test(artifact, ranks_divide_a_sweep_and_rank_0_has_the_results_of_one_run)
{
    for (int size = 1; size <= 7; size++) threads_run(size, sweep_of_ranks, NULL);
}
