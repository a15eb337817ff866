/* Products over the ring: golden values in every path, a 128-bit reference, bounds and overflow reports (R2), the
 * example of the published listing. */
#include "base/mem.h"
#include "base/rng.h"
#include "integer/ring_cases.h"
#include "lab/integer/ring/encode.h"
#include "support/support.h"

#include <criterion/criterion.h>

typedef geodec_ring_element element;

/* ---- golden files x paths --------------------------------------------------------------------------------------- */

typedef struct tally {
    int64_t ran, refused; /* products of a file in a path; refused: values that do not suit 16 bits */
} tally;

static void count(tally *t, bool ran) { *(ran ? &t->ran : &t->refused) += 1; }

static tally gemv_file(const json_t *j, int path)
{
    tally all = {0, 0};
    EACH(j, "cases", c)
    {
        const int64_t rows = test_json_i64(c, "M"), cols = test_json_i64(c, "K");
        const int64_t most = test_json_i64(c, "max_abs");
        element *w = geodec_mem_new(rows * cols, sizeof *w), *x = geodec_mem_new(cols, sizeof *x),
                *y = geodec_mem_new(rows, sizeof *y);
        uint8_t *bad = geodec_mem_new(rows, 1);
        const json_t *jw = test_json_get(c, "W"), *jx = test_json_get(c, "x"), *jy = test_json_get(c, "y");
        for (int64_t i = 0; i < rows; i++) {
            const json_t *pair = json_array_get(jy, (size_t)i);
            for (int64_t k = 0; k < cols; k++)
                w[i * cols + k] = ring_element(json_array_get(json_array_get(jw, (size_t)i), (size_t)k));
            y[i] = ring_element(pair);
            bad[i] = !ring_fits(json_array_get(pair, 0)) || !ring_fits(json_array_get(pair, 1));
        }
        for (int64_t k = 0; k < cols; k++) x[k] = ring_element(json_array_get(jx, (size_t)k));
        const geodec_ring_bound b = {most, most, true};
        cr_assert_eq(geodec_ring_bound_safe(cols, b, b), json_is_true(test_json_get(c, "worst_case_int64_safe")));
        count(&all, ring_path_check(path, w, rows, cols, x, y, bad));
        GEODEC_FREE(w, x, y, bad);
    }
    return all;
}

/* A product of elements is one of 1 x 1. */
static tally ops_file(const json_t *j, int path)
{
    tally all = {0, 0};
    EACH(j, "cases", c)
    {
        const element x = ring_element(test_json_get(c, "x")), y = ring_element(test_json_get(c, "y"));
        const json_t *product = test_json_get(c, "mul");
        const element out = ring_element(product);
        const uint8_t bad = !ring_fits(json_array_get(product, 0)) || !ring_fits(json_array_get(product, 1));
        count(&all, ring_path_check(path, &x, 1, 1, &y, &out, &bad));
        count(&all, ring_path_check(path, &y, 1, 1, &x, &out, &bad));
    }
    return all;
}

/* Codes have b = 0: a column of them times 1 + w, and a row of them times ones. */
static tally encode_file(const json_t *j, int path)
{
    tally all = {0, 0};
    EACH(j, "cases", c)
    {
        int64_t n, *a = test_json_i64s(c, "a", &n);
        element *w = geodec_mem_new(n, sizeof *w), *y = geodec_mem_new(n, sizeof *y),
                *ones = geodec_mem_new(n, sizeof *ones), sum = {0, 0};
        const element one = {1, 1};
        for (int64_t i = 0; i < n; i++) {
            w[i] = (element){a[i], 0};
            y[i] = (element){a[i], a[i]};
            ones[i] = (element){1, 0};
            sum.a += a[i];
        }
        count(&all, ring_path_check(path, w, n, 1, &one, y, NULL));
        count(&all, ring_path_check(path, w, 1, n, ones, &sum, NULL));
        geodec_mem_free(a);
        GEODEC_FREE(w, y, ones);
    }
    return all;
}

Test(ring_gemv, golden_in_every_path)
{
    static const struct {
        const char *name;
        tally (*run)(const json_t *, int);
    } files[] = {{"golden/integer/ring_ops.json", ops_file},
                 {"golden/integer/ring_gemv.json", gemv_file},
                 {"golden/integer/encode.json", encode_file}};
    int here = 0, pairs = 0;
    int64_t products = 0;
    for (int path = 0; path < RING_PATHS; path++) here += ring_path_here(path);
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        json_t *j = test_json(files[f].name);
        for (int path = 0; path < RING_PATHS; path++) {
            if (!ring_path_here(path)) {
                cr_log_info("%s is not in this processor", ring_path_name(path));
                continue;
            }
            const tally t = files[f].run(j, path);
            cr_log_info("%s: %s, %lld products, %lld refused", files[f].name, ring_path_name(path), (long long)t.ran,
                        (long long)t.refused);
            if (ring_paths[path].form != GEODEC_RING_PAIRS16) cr_assert_eq(t.refused, 0);
            products += t.ran;
            pairs += t.ran + t.refused > 0;
        }
        json_decref(j);
    }
    cr_assert_eq(pairs, 3 * here, "%d of 3 files x %d paths", pairs, here);
    cr_log_info("3 files x %d paths = %d, %lld products", here, pairs, (long long)products);
}

/* ---- reference in 128 bits -------------------------------------------------------------------------------------- */

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 i128;

static bool reference(const element *w, const element *x, int64_t n, element *y)
{
    i128 real = 0, imag = 0;
    for (int64_t k = 0; k < n; k++) {
        real += (i128)w[k].a * x[k].a - 41 * ((i128)w[k].b * x[k].b);
        imag += (i128)w[k].a * x[k].b + (i128)w[k].b * x[k].a + (i128)w[k].b * x[k].b;
    }
    *y = (element){(int64_t)(uint64_t)real, (int64_t)(uint64_t)imag};
    return real == y->a && imag == y->b;
}

static int64_t draw(geodec_rng *g, int64_t most) { return (int64_t)geodec_rng_below(g, 2 * (uint64_t)most + 1) - most; }

/* Odd lengths, all tails, b = 0 or not, values up to the limits of each form; blocks of one step where W has 16 bits.
 */
Test(ring_gemv, random_products_in_every_path)
{
    static const int64_t limits[][2] = {
        {127, 127}, {1, 799}, {32767, 799}, {2147483647, 2147483647}, {5, (int64_t)1 << 55}};
    geodec_rng g = geodec_rng_stream(15, 2);
    enum { MAX = 1200 };
    static element w[9 * MAX], x[MAX], y[9];
    uint8_t bad[9];
    int64_t ran[RING_PATHS] = {0};
    for (int round = 0; round < 400; round++) {
        const int64_t rows = 1 + round % 9, cols = round % 40 == 39 ? MAX - round % 7 : 1 + round / 4 % 70;
        const int64_t *limit = limits[round % 5];
        const bool zero_b = round % 3 == 0, zero_d = round % 6 == 0, worst = round % 7 == 0;
        for (int64_t i = 0; i < rows * cols; i++)
            w[i] = worst ? (element){limit[0], limit[0]} : (element){draw(&g, limit[0]), draw(&g, limit[0])};
        for (int64_t k = 0; k < cols; k++)
            x[k] = worst ? (element){limit[1], -limit[1]} : (element){draw(&g, limit[1]), draw(&g, limit[1])};
        for (int64_t i = 0; i < rows * cols && zero_b; i++) w[i].b = 0;
        for (int64_t k = 0; k < cols && zero_d; k++) x[k].b = 0;
        for (int64_t i = 0; i < rows; i++) bad[i] = !reference(w + i * cols, x, cols, &y[i]);
        for (int path = 0; path < RING_PATHS; path++)
            if (ring_path_here(path)) ran[path] += ring_path_check(path, w, rows, cols, x, y, bad);
    }
    for (int path = 0; path < RING_PATHS; path++)
        if (ring_path_here(path)) cr_assert_geq(ran[path], 200, "%s", ring_path_name(path));
}

/* The largest magnitudes of 16 bits: every lane widens after each step. */
Test(ring_gemv, int16_sums_at_their_limit)
{
    enum { N = 777 };
    static element w[4 * N], x[N], y[4];
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int64_t i = 0; i < 4 * N; i++) w[i] = (element){-32768, sign * 32767};
        for (int64_t k = 0; k < N; k++) x[k] = (element){sign * 31968, sign * 799};
        for (int i = 0; i < 4; i++) cr_assert(reference(w, x, N, &y[i]));
        for (int path = 0; path < RING_PATHS; path++)
            if (ring_path_here(path)) cr_assert(ring_path_check(path, w, 4, N, x, y, NULL));
    }
    /* -2^15 everywhere: with b = 0 two products of a step are 2^31, which no block holds */
    const element low = {-32768, 0}, pair[2] = {low, low};
    geodec_ring_matrix *m = NULL;
    geodec_ring_vector *v = NULL;
    geodec_ring_gemv_report r;
    geodec_err err = {0};
    test_ok(geodec_ring_matrix_create(pair, 1, 2, true, &m, &err), &err);
    test_ok(geodec_ring_vector_create(pair, 2, &v, &err), &err);
    test_ok(geodec_ring_gemv(m, v, NULL, y, NULL, &r, &err), &err);
    cr_assert_eq(y[0].a, (int64_t)1 << 31);
    cr_assert_eq(r.rows64, 1);
    geodec_ring_matrix_destroy(m);
    geodec_ring_vector_destroy(v);
}
#endif

/* ---- bounds ----------------------------------------------------------------------------------------------------- */

static bool safe(int64_t k, int64_t a, int64_t x)
{
    return geodec_ring_bound_safe(k, (geodec_ring_bound){a, a, true}, (geodec_ring_bound){x, x, true});
}

Test(ring_gemv, bounds_are_exact)
{
    static const int64_t table[][2] = {{1, 468619350},   {64, 58577418},   {256, 29288709},  {640, 18523806},
                                       {1024, 14644354}, {1152, 13806830}, {2048, 10355122}, {2560, 9261903},
                                       {4096, 7322177},  {6912, 5636614},  {14336, 3913868}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        cr_assert(safe(table[i][0], table[i][1], table[i][1]));
        cr_assert_not(safe(table[i][0], table[i][1] + 1, table[i][1] + 1));
    }
    cr_assert(safe(1, 219604096115589900, 1));
    cr_assert_not(safe(1, 219604096115589901, 1));
    cr_assert(safe(219604096115589900, 1, 1));
    cr_assert_not(safe(219604096115589901, 1, 1));
    cr_assert_not(safe(INT64_MAX, INT64_MAX, INT64_MAX));
    cr_assert(safe(INT64_MAX, 0, INT64_MAX));
    /* b = 0: the bound of plain integers */
    const geodec_ring_bound a = {INT64_MAX, 0, false}, one = {1, 0, true}, two = {2, 0, true};
    cr_assert(geodec_ring_bound_safe(1, a, one));
    cr_assert_not(geodec_ring_bound_safe(1, a, two));
    cr_assert_not(geodec_ring_bound_safe(2, a, one));
    /* blocks of int32 sums: the published 3170 for 127 x 127, where |c + d| can be 254 */
    const geodec_ring_bound b = {127, 127, true};
    cr_assert_eq(geodec_ring_bound_block(b, b, 254), 3170);
    const element low = {INT64_MIN, 0}, edge = {INT32_MIN, INT32_MAX}, over = {0, (int64_t)INT32_MAX + 1};
    cr_assert_eq(geodec_ring_bound_of(&low, 1).a, -1);
    cr_assert(geodec_ring_bound_of(&edge, 1).narrow);
    cr_assert_not(geodec_ring_bound_of(&over, 1).narrow);
}

/* Rows at the bound take pairs64 and are right; rows beyond it take the wide form, which flags exactly those that do
 * not fit. */
Test(ring_gemv, wider_path_and_flags_at_the_bound)
{
    enum { ROWS = 48, COLS = 1024 };
    static element w[ROWS * COLS], x[COLS], y[ROWS];
    uint8_t flags[ROWS];
    const int64_t most = 14644354; /* at K = 1024 */
    for (int64_t i = 0; i < ROWS * COLS; i++) w[i] = (element){-most, most};
    for (int64_t k = 0; k < COLS; k++) x[k] = (element){most, most};
    for (int64_t k = 0; k < COLS; k++) w[17 * COLS + k] = (element){-(most + 2), most + 2}; /* second block of 16 */
    w[40 * COLS] = (element){most + 2, 0}; /* third block: the bound fails, the value fits */
    w[40 * COLS + 1] = (element){0, most + 2};
    geodec_err err = {0};
    geodec_ring_matrix *m = NULL;
    geodec_ring_vector *v = NULL;
    geodec_ring_gemv_report r;
    test_ok(geodec_ring_matrix_create(w, ROWS, COLS, true, &m, &err), &err);
    cr_assert_eq(geodec_ring_matrix_bytes16(m), 0);
    test_ok(geodec_ring_vector_create(x, COLS, &v, &err), &err);
    test_ok(geodec_ring_gemv(m, v, NULL, y, flags, &r, &err), &err);
    cr_assert_eq(r.rows64, 16);
    cr_assert_eq(r.wide, 32);
    cr_assert_eq(r.unsafe, 0);
    cr_assert_eq(r.scalar64, 0);
    for (int i = 0; i < ROWS; i++) {
        cr_assert_eq(flags[i], i == 17, "row %d", i); /* 42 K (B + 2) B */
        if (i < 16) cr_assert_eq(y[i].a, -42 * COLS * most * most);
    }
    geodec_ring_vector_destroy(v);
    for (int64_t k = 0; k < COLS; k++) x[k] = (element){most + 1, most + 1};
    test_ok(geodec_ring_vector_create(x, COLS, &v, &err), &err);
    test_ok(geodec_ring_gemv(m, v, NULL, y, flags, &r, &err), &err);
    cr_assert_eq(r.wide, 32); /* 42 K B (B + 1) fits: the first block is still safe */
    cr_assert_eq(r.overflows, 1);
    for (int i = 0; i < ROWS; i++) cr_assert_eq(flags[i], i == 17, "row %d", i);
    cr_assert_eq(geodec_ring_gemv(m, v, NULL, y, NULL, &r, &err), GEODEC_NUMERIC);
    const geodec_ring_gemv_options wrapping = {GEODEC_ISA_AUTO, GEODEC_RING_PAIRS64};
    element again[ROWS];
    test_ok(geodec_ring_gemv(m, v, &wrapping, again, flags, &r, &err), &err);
    cr_assert_eq(r.unsafe, 32);
    for (int i = 0; i < ROWS; i++)
        if (i != 17) cr_assert(again[i].a == y[i].a && again[i].b == y[i].b);
    geodec_ring_matrix_destroy(m);
    geodec_ring_vector_destroy(v);
}

Test(ring_gemv, refusals)
{
    const element one = {1, 2}, big = {40000, 0};
    geodec_ring_matrix *m = NULL;
    geodec_ring_vector *v = NULL, *two = NULL;
    element y;
    const element both[2] = {one, one};
    const geodec_ring_gemv_options short_pairs = {GEODEC_ISA_AUTO, GEODEC_RING_PAIRS16},
                                   other = {(geodec_isa)9, GEODEC_RING_AUTO}, form = {0, (geodec_ring_form)9};
    cr_assert_eq(geodec_ring_matrix_create(&one, 0, 1, true, &m, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_matrix_create(&one, 1, -1, true, &m, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_matrix_create(&one, INT64_MAX / 2, INT64_MAX / 2, true, &m, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_vector_create(&one, 0, &v, NULL), GEODEC_RANGE);
    test_ok(geodec_ring_matrix_create(&big, 1, 1, true, &m, NULL), (geodec_err *)NULL);
    test_ok(geodec_ring_vector_create(&one, 1, &v, NULL), (geodec_err *)NULL);
    test_ok(geodec_ring_vector_create(both, 2, &two, NULL), (geodec_err *)NULL);
    cr_assert_eq(geodec_ring_gemv(m, v, &short_pairs, &y, NULL, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_gemv(m, two, NULL, &y, NULL, NULL, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_ring_gemv(m, v, &other, &y, NULL, NULL, NULL), GEODEC_UNSUPPORTED);
    cr_assert_eq(geodec_ring_gemv(m, v, &form, &y, NULL, NULL, NULL), GEODEC_RANGE);
    test_ok(geodec_ring_gemv(m, v, NULL, &y, NULL, NULL, NULL), (geodec_err *)NULL);
    cr_assert(y.a == 40000 && y.b == 80000);
    geodec_ring_matrix_destroy(m);
    geodec_ring_vector_destroy(v);
    geodec_ring_vector_destroy(two);
    for (int k = 1; k <= 7; k++) { /* every allocation may fail */
        m = NULL;
        v = NULL;
        geodec_mem_fail_after(k);
        const geodec_status a = geodec_ring_matrix_create(&one, 1, 1, true, &m, NULL);
        const geodec_status b = a == GEODEC_OK ? geodec_ring_vector_create(&one, 1, &v, NULL) : GEODEC_OK;
        geodec_mem_fail_after(0);
        cr_assert(a == GEODEC_NOMEM || b == GEODEC_NOMEM, "allocation %d", k);
        geodec_ring_matrix_destroy(m);
        geodec_ring_vector_destroy(v);
    }
}

/* ---- the example of the published listing ----------------------------------------------------------------------- */

/* (3 + 5w, -7 + 11w) . (13 - 17w, 19 + 23w) = -6982 + 230w. The listing itself: lab/integer/listings.h. */
Test(ring_gemv, example_of_the_published_listing)
{
    const element w[2] = {{3, 5}, {-7, 11}}, x[2] = {{13, -17}, {19, 23}}, right = {-6982, 230};
    for (int path = 0; path < RING_PATHS; path++)
        if (ring_path_here(path)) cr_assert(ring_path_check(path, w, 1, 2, x, &right, NULL));
}
