/* Columns out of artifacts: each value where its dimensions say, sums, tables in memory, and short memory everywhere.
 */
#include "artifact/select.h"
#include "base/mem.h"
#include "io/frame.h"
#include "sample.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static geodec_err err;

static geodec_status keep_header(void *ctx, int n, const char *const *names, geodec_err *e)
{
    return geodec_frame_header(ctx, n, names, e);
}

static geodec_status keep_row(void *ctx, const char *const *cells, geodec_err *e)
{
    return geodec_frame_row(ctx, cells, e);
}

static geodec_status no_gap(void *ctx, geodec_err *e)
{
    (void)ctx;
    (void)e;
    return GEODEC_OK;
}

/* The columns over the dimensions into a frame, which the caller frees in any case. */
static geodec_status query(const geodec_artifact *a, const char *over, const char *where, int n,
                           const char *const *columns, geodec_frame *f)
{
    const geodec_select_source source = {"", a, NULL};
    const geodec_select_query q = {.columns = columns, .n_columns = n, .over = over, .where = where};
    const geodec_select_sink sink = {keep_header, keep_row, no_gap, f};
    return geodec_select_run(&source, 1, &q, &sink, NULL, &err);
}

static geodec_artifact *open_sample(void)
{
    geodec_artifact *a = NULL;
    sample_write(&sample_kind, test_tmp("a.h5"));
    test_ok(geodec_artifact_open(&sample_kind, test_tmp("a.h5"), &a, &err), &err);
    return a;
}

static int64_t cell(const geodec_frame *f, int64_t row, int64_t column)
{
    char *end = NULL;
    const char *text = f->cell[row * f->columns + column];
    const double v = strtod(text, &end);
    cr_assert(end != text && !*end && v == floor(v), "'%s'", text);
    return (int64_t)v;
}

Test(select, long_form_puts_each_value_at_its_place)
{
    geodec_artifact *a = open_sample();
    geodec_frame f = {0};
    test_ok(query(a, "K,N", NULL, 5, (const char *const[]){"k=index(K)", "n=index(N)", "f64", "f16", "u8"}, &f), &err);
    cr_assert_eq(f.rows, SAMPLE_K * SAMPLE_N);
    for (int64_t i = 0; i < f.rows; i++) {
        const int64_t k = i / SAMPLE_N, n = i % SAMPLE_N;
        cr_assert_eq(cell(&f, i, 0), k);
        cr_assert_eq(cell(&f, i, 1), n);
        cr_assert_eq(cell(&f, i, 2), sample_value(0, n * SAMPLE_K + k)); /* both dimensions, the other way round */
        cr_assert_eq(cell(&f, i, 3), sample_value(2, n));                /* the same all along K */
        cr_assert_eq(cell(&f, i, 4), sample_value(10, k));
    }
    geodec_frame_free(&f);
    geodec_artifact_close(a);
}

Test(select, places_and_spread_axes)
{
    geodec_artifact *a = open_sample();
    geodec_frame f = {0};
    /* of K,2,K the first axis is the rows, the second has a place, the third is spread or has a place from its end */
    test_ok(query(a, NULL, NULL, 3, (const char *const[]){"group/i32[1,*]", "x=group/i32[0,-1]", "scalar"}, &f), &err);
    cr_assert_eq(f.rows, SAMPLE_K);
    cr_assert_eq(f.columns, SAMPLE_K + 2);
    cr_assert_str_eq(f.name[2], "group_i32_1_2");
    for (int64_t k = 0; k < SAMPLE_K; k++) {
        for (int64_t j = 0; j < SAMPLE_K; j++)
            cr_assert_eq(cell(&f, k, j), sample_value(4, (k * 2 + 1) * SAMPLE_K + j));
        cr_assert_eq(cell(&f, k, SAMPLE_K), sample_value(4, k * 2 * SAMPLE_K + SAMPLE_K - 1));
        cr_assert_eq(cell(&f, k, SAMPLE_K + 1), sample_value(11, 0));
    }
    geodec_frame_free(&f);
    geodec_artifact_close(a);
}

Test(select, sums_over_groups_equal_loops)
{
    geodec_artifact *a = open_sample();
    geodec_frame f = {0};
    test_ok(query(a, "N,K", "f64 > 50", 4,
                  (const char *const[]){"k=index(K)", "s=sum(f64)", "n=count(i64 % 2 == 0)", "m=median(f64)"}, &f),
            &err);
    int64_t sum[SAMPLE_K] = {0}, even[SAMPLE_K] = {0}, below[SAMPLE_K] = {0}, all[SAMPLE_K] = {0};
    for (int64_t i = 0; i < SAMPLE_N * SAMPLE_K; i++) {
        const int64_t v = sample_value(0, i);
        if (v <= 50) continue;
        sum[i % SAMPLE_K] += v;
        all[i % SAMPLE_K]++;
        even[i % SAMPLE_K] += sample_value(3, i / SAMPLE_K) % 2 == 0;
    }
    cr_assert_eq(f.rows, SAMPLE_K);
    for (int64_t g = 0; g < SAMPLE_K; g++) {
        const int64_t k = cell(&f, g, 0), median = cell(&f, g, 3);
        cr_assert_eq(cell(&f, g, 1), sum[k]);
        cr_assert_eq(cell(&f, g, 2), even[k]);
        for (int64_t i = k; i < SAMPLE_N * SAMPLE_K; i += SAMPLE_K)
            below[k] += sample_value(0, i) > 50 && sample_value(0, i) < median;
        cr_assert(below[k] < (all[k] + 1) / 2 && below[k] > all[k] / 2 - 25, "a median of %lld", (long long)median);
    }
    geodec_frame_free(&f);
    geodec_artifact_close(a);
}

Test(select, memory_shortage_is_an_error_everywhere)
{
    geodec_artifact *a = open_sample();
    geodec_frame f = {0};
    int failures = 0;
    bool whole = false;
    for (int64_t k = 1; !whole; k++) {
        geodec_mem_fail_after(k);
        geodec_status st = query(a, "K", "u8 >= 0", 4,
                                 (const char *const[]){"k=index(K)", "note=@note", "s=sum(u16)", "e=mean(newer)"}, &f);
        if (st == GEODEC_OK) st = geodec_frame_sort(&f, "s,k", &err);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_OK || st == GEODEC_NOMEM, "allocation %lld: %s", (long long)k, geodec_status_name(st));
        failures += st == GEODEC_NOMEM;
        whole = st == GEODEC_OK;
        geodec_frame_free(&f);
        cr_assert_lt(k, 1000);
    }
    cr_assert_gt(failures, 20);
    geodec_artifact_close(a);
}
