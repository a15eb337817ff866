#include "base/mem.h"
#include "base/rng.h"
#include "cluster/threads.h"
#include "linalg/knn.h"
#include "linalg/lapack.h"
#include "neighbours/search.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct table {
    int64_t d;
    const double *x;
} table;

static geodec_status read_table(void *ctx, int64_t first, int64_t n, double *x, geodec_err *err)
{
    const table *t = ctx;
    (void)err;
    memcpy(x, t->x + first * t->d, (size_t)(n * t->d) * sizeof *x);
    return GEODEC_OK;
}

typedef struct wanted {
    int64_t k, rows, seen;
    const int32_t *index;
    const double *dist2;
} wanted;

static geodec_status compare(void *ctx, int64_t first, int64_t n, const int32_t *index, const double *dist2,
                             geodec_err *err)
{
    wanted *w = ctx;
    (void)err;
    cr_assert_eq(first, w->seen);
    for (int64_t i = 0; i < n * w->k; i++) {
        const int64_t at = first * w->k + i;
        cr_assert(index[i] == w->index[at] && dist2[i] == w->dist2[at], "row %d place %d: %d at %g, not %d at %g",
                  (int)(at / w->k), (int)(at % w->k), index[i], dist2[i], w->index[at], w->dist2[at]);
    }
    w->seen += n;
    return GEODEC_OK;
}

/* 0 normal, 1 a lattice (ties), 2 most points equal, 3 far clusters. */
static void fill(int kind, uint64_t stream, int64_t n, int64_t d, double *x)
{
    geodec_rng r = geodec_rng_stream(7, stream);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++) {
            const double z = geodec_rng_normal(&r) / (double)(1 + j);
            x[i * d + j] = kind == 1   ? round(2 * z)
                           : kind == 2 ? (i % 5 ? 0.25 : z)
                           : kind == 3 ? (double)(i % 7) * 50 + z
                                       : z;
        }
}

typedef struct job {
    geodec_neighbours_source points, queries;
    bool self;
    geodec_neighbours_options o;
    wanted w;
} job;

static void search(geodec_comm *c, void *ctx)
{
    job j = *(job *)ctx;
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    j.o.comm = c;
    test_ok(geodec_pool_create(2, &pool, NULL), NULL);
    test_ok(
        geodec_neighbours_search(&j.points, j.self ? NULL : &j.queries, &j.o, compare, &j.w, pool, NULL, NULL, &err),
        &err);
    cr_assert_eq(j.w.seen, geodec_comm_rank(c) == 0 ? j.w.rows : 0);
    geodec_pool_destroy(pool);
}

static void check(int kind, int64_t n, int64_t d, int64_t nq, int64_t k, int64_t slabs, int ranks, const char *parts)
{
    double *x = geodec_mem_new(n * d, sizeof *x), *q = geodec_mem_new(nq * d + 1, sizeof *q);
    const int64_t rows = nq ? nq : n;
    int32_t *index = geodec_mem_new(rows * k, sizeof *index);
    double *d2 = geodec_mem_new(rows * k, sizeof *d2);
    geodec_err err = {0};
    fill(kind, 0, n, d, x);
    fill(kind, 1, nq, d, q);
    test_ok(geodec_knn_search(n, d, x, nq, nq ? q : NULL, k, index, d2, NULL, NULL, &err), &err);
    table points = {d, x}, queries = {d, q};
    job j = {.points = {n, d, read_table, &points},
             .queries = {nq, d, read_table, &queries},
             .self = nq == 0,
             .o = geodec_neighbours_defaults(),
             .w = {.k = k, .rows = rows, .index = index, .dist2 = d2}};
    j.o.k = k;
    j.o.slabs = slabs;
    j.o.parts = parts;
    j.o.key = "test";
    if (kind == 3) j.o.memory = 1; /* points in an unnamed file; many slabs */
    if (ranks == 1)
        search(NULL, &j);
    else
        threads_run(ranks, search, &j);
    GEODEC_FREE(x, q, index, d2);
}

Test(neighbours, slabs_give_the_result_of_one_search)
{
    geodec_linalg_init();
    for (int kind = 0; kind < 4; kind++)
        for (int64_t d = 2; d <= 40; d += 19) {
            check(kind, 1700, d, 0, 8, 1, 1, NULL);
            check(kind, 1700, d, 0, 8, 7, 1, NULL);
            check(kind, 1700, d, 150, 5, 4, 1, NULL);
            check(kind, 1700, d, 150, 70, 4, 1, NULL);
        }
    check(0, 30, 3, 0, 29, 30, 1, NULL); /* k = n - 1, slabs of one row */
    check(1, 30, 3, 0, 29, 9, 1, NULL);
    check(0, 2, 1, 0, 1, 2, 1, NULL);
    check(0, 1, 1, 3, 1, 1, 1, NULL);
}

Test(neighbours, ranks_give_the_result_of_one_process)
{
    geodec_linalg_init();
    for (int ranks = 2; ranks <= 5; ranks++)
        for (int kind = 0; kind < 4; kind++) {
            check(kind, 1300, 5, 0, 8, 0, ranks, NULL);
            check(kind, 900, 40, 70, 3, 11, ranks, NULL);
        }
    check(0, 3, 2, 0, 2, 0, 5, NULL); /* more ranks than rows */
    check(0, 40, 2, 2, 2, 0, 4, NULL);
}

typedef struct stop {
    int64_t calls;
} stop;

static int stop_later(void *ctx, const char *what, int64_t done, int64_t total)
{
    stop *s = ctx;
    (void)what, (void)done, (void)total;
    return --s->calls < 0;
}

/* Interrupted at every tenth call of the hook; what is finished is kept, and the result is the same. */
Test(neighbours, an_interrupted_search_resumes_from_its_parts)
{
    enum { N = 1500, D = 3, K = 4 };
    static double x[N * D], d2[N * K];
    static int32_t index[N * K];
    geodec_err err = {0};
    geodec_linalg_init();
    fill(0, 0, N, D, x);
    test_ok(geodec_knn_search(N, D, x, 0, NULL, K, index, d2, NULL, NULL, &err), &err);
    table points = {D, x};
    const geodec_neighbours_source source = {N, D, read_table, &points};
    geodec_neighbours_options o = geodec_neighbours_defaults();
    geodec_neighbours_summary s;
    o.k = K;
    o.slabs = 9;
    o.parts = test_tmp("parts");
    o.key = "one";
    int64_t interrupted = 0, most_resumed = 0;
    geodec_status st = GEODEC_INTERRUPTED;
    for (int64_t calls = 10; st == GEODEC_INTERRUPTED; calls += 10) {
        stop hook = {calls};
        const geodec_hooks hooks = {&hook, NULL, stop_later};
        wanted w = {K, N, 0, index, d2};
        geodec_err_clear(&err);
        st = geodec_neighbours_search(&source, NULL, &o, compare, &w, NULL, &hooks, &s, &err);
        if (st == GEODEC_INTERRUPTED) {
            interrupted++;
            continue;
        }
        test_ok(st, &err);
        cr_assert_eq(w.seen, N);
        most_resumed = s.resumed;
    }
    cr_assert_gt(interrupted, 1);
    cr_assert_gt(most_resumed, 0);
    /* a damaged part is made again */
    char *path = NULL;
    test_ok(geodec_mem_print(&path, &err, "%s/slab-00004", o.parts), &err);
    FILE *f = fopen(path, "r+");
    cr_assert(f && fseek(f, 700, SEEK_SET) == 0 && fputc(0x5a, f) == 0x5a && fclose(f) == 0);
    wanted w = {K, N, 0, index, d2};
    test_ok(geodec_neighbours_search(&source, NULL, &o, compare, &w, NULL, NULL, &s, &err), &err);
    cr_assert(s.resumed == 8 && s.query_slabs == 9 && w.seen == N);
    /* parts of another search */
    o.key = "two";
    w.seen = 0;
    cr_assert_eq(geodec_neighbours_search(&source, NULL, &o, compare, &w, NULL, NULL, &s, &err), GEODEC_CHECKSUM);
    o.replace = true;
    geodec_err_clear(&err);
    test_ok(geodec_neighbours_search(&source, NULL, &o, compare, &w, NULL, NULL, &s, &err), &err);
    cr_assert(s.resumed == 0 && w.seen == N);
    geodec_neighbours_parts_remove(o.parts, 9);
    cr_assert_neq(access(o.parts, F_OK), 0);
    geodec_mem_free(path);
}

Test(neighbours, compact_slabs_are_skipped_and_the_control_finds_a_wrong_row)
{
    enum { N = 4000, D = 2, K = 4, R = 5 };
    static double x[N * D], d2[N * K];
    static int32_t index[N * K];
    geodec_err err = {0};
    geodec_linalg_init();
    fill(0, 0, N, D, x);
    test_ok(geodec_knn_search(N, D, x, 0, NULL, K, index, d2, NULL, NULL, &err), &err);
    table points = {D, x};
    const geodec_neighbours_source source = {N, D, read_table, &points};
    geodec_neighbours_options o = geodec_neighbours_defaults();
    geodec_neighbours_summary s;
    o.k = K;
    o.slabs = 16;
    wanted w = {K, N, 0, index, d2};
    test_ok(geodec_neighbours_search(&source, NULL, &o, compare, &w, NULL, NULL, &s, &err), &err);
    cr_assert(s.ordered && s.slabs == 16);
    cr_assert_lt(s.pairs, 3 * N); /* of 16 N */
    int64_t row[R] = {0, 17, 999, 2500, N - 1}, differ;
    int32_t some[R * K];
    double at[R * K];
    for (int i = 0; i < R; i++) {
        memcpy(some + i * K, index + row[i] * K, K * sizeof *some);
        memcpy(at + i * K, d2 + row[i] * K, K * sizeof *at);
    }
    test_ok(geodec_neighbours_check(&source, NULL, K, R, row, some, at, NULL, &differ, &err), &err);
    cr_assert_eq(differ, 0);
    some[3 * K + 1]++;
    at[4 * K] = nextafter(at[4 * K], 1e9);
    test_ok(geodec_neighbours_check(&source, NULL, K, R, row, some, at, NULL, &differ, &err), &err);
    cr_assert_eq(differ, 2);
}

Test(neighbours, bad_searches_are_refused)
{
    double x[6] = {0, 1, 2, 3, 4, NAN};
    table points = {1, x}, other = {2, x};
    geodec_neighbours_source p = {5, 1, read_table, &points}, q = {2, 2, read_table, &other};
    geodec_neighbours_options o = geodec_neighbours_defaults();
    geodec_err err = {0};
    o.k = 5;
    cr_assert_eq(geodec_neighbours_search(&p, NULL, &o, compare, NULL, NULL, NULL, NULL, &err), GEODEC_RANGE);
    o.k = 2;
    cr_assert_eq(geodec_neighbours_search(&p, &q, &o, compare, NULL, NULL, NULL, NULL, &err), GEODEC_RANGE);
    p.rows = 6;
    cr_assert_eq(geodec_neighbours_search(&p, NULL, &o, compare, NULL, NULL, NULL, NULL, &err), GEODEC_NUMERIC);
    o.slabs = 3;
    cr_assert_eq(geodec_neighbours_search(&p, NULL, &o, compare, NULL, NULL, NULL, NULL, &err), GEODEC_NUMERIC);
}
