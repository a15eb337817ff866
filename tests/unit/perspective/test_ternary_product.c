/* Products: integers against the definition, floats against float64, bits between sets, batches and threads. */
#include "base/mem.h"
#include "base/rng.h"
#include "support/support.h"
#include "ternary/multiply_internal.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

enum { BASE3 = GEODEC_TERNARY_BASE3, BITS2 = GEODEC_TERNARY_BITS2, TILE = GEODEC__TERNARY_TILE };

typedef struct example {
    geodec_ternary_matrix m;
    uint8_t *data;
    int8_t *t; /* [rows][cols] */
    float *x;  /* [n][cols] */
    float *y;  /* [n][rows] */
    float **to;
    int64_t n;
} example;

static example make(int encoding, int64_t rows, int64_t cols, int64_t n, uint64_t seed)
{
    example e = {.n = n};
    const int64_t bytes = geodec_ternary_row_bytes(encoding, cols);
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("ternary", 0));
    e.data = geodec_mem_new(rows * bytes, 1);
    e.t = geodec_mem_new(rows * cols, 1);
    e.x = geodec_mem_new(n * cols, sizeof *e.x);
    e.y = geodec_mem_new(n * rows, sizeof *e.y);
    e.to = geodec_mem_new(n, sizeof *e.to);
    cr_assert(e.data && e.t && e.x && e.y && e.to);
    for (int64_t i = 0; i < rows * cols; i++) e.t[i] = (int8_t)((int)geodec_rng_below(&r, 3) - 1);
    for (int64_t i = 0; i < n * cols; i++) e.x[i] = (float)geodec_rng_normal(&r);
    for (int64_t i = 0; i < n; i++) e.to[i] = e.y + i * rows;
    for (int64_t o = 0; o < rows; o++) geodec_ternary_pack(encoding, e.t + o * cols, cols, e.data + o * bytes);
    e.m = (geodec_ternary_matrix){.encoding = encoding, .rows = rows, .cols = cols, .data = e.data, .scale = 0.037f};
    return e;
}

static void drop(example *e) { GEODEC_FREE(e->data, e->t, e->x, e->y, e->to); }

static geodec_ternary_input input_of(const example *e, geodec_ternary_arithmetic a)
{
    geodec_ternary_input in;
    geodec_err err = {0};
    test_ok(geodec_ternary_input_create(a, e->m.cols, e->n, &in, &err), &err);
    for (int64_t i = 0; i < e->n; i++) geodec_ternary_input_set(&in, i, e->x + i * e->m.cols);
    return in;
}

/* sum of codes times q, as the kernels give it to the table's users. */
static int64_t reference_sum(const example *e, const geodec_ternary_input *in, int64_t v, int64_t o)
{
    int64_t s = 0;
    for (int64_t c = 0; c < e->m.cols; c++) s += (int64_t)e->t[o * e->m.cols + c] * in->q[v * in->stride + c];
    return s;
}

/* Rows and columns around the sizes of tiles, blocks and of the widening of AVX2 (8 and 6 blocks). */
static const int64_t columns[] = {1, 15, 64, 100, 256, 257, 320, 321, 500, 1280, 1921, 2049, 2560};

Test(perspective_ternary_product, integers_equal_the_definition_in_every_set)
{
    const geodec__ternary_ops *all[3];
    const int sets = geodec__ternary_all(all);
    for (int e = BASE3; e <= BITS2; e++)
        for (size_t s = 0; s < sizeof columns / sizeof *columns; s++)
            for (int64_t n = 1; n <= 6; n++) {
                example w = make(e, 3 + (int64_t)s, columns[s], n, 100 * s + (uint64_t)n);
                geodec_ternary_input in = input_of(&w, GEODEC_TERNARY_INT8);
                for (int k = 0; k < sets; k++) {
                    for (int64_t i = 0; i < n * w.m.rows; i++) w.y[i] = NAN;
                    geodec__ternary_multiply_with(all[k], &w.m, &in, n, NULL, w.to);
                    for (int64_t v = 0; v < n; v++)
                        for (int64_t o = 0; o < w.m.rows; o++) {
                            const float want = (float)reference_sum(&w, &in, v, o) * (in.scale[v] * w.m.scale);
                            cr_assert_eq(w.to[v][o], want, "%s, %s, %lld columns, vector %lld, row %lld", all[k]->name,
                                         geodec_ternary_name(e), (long long)columns[s], (long long)v, (long long)o);
                        }
                }
                geodec_ternary_input_clear(&in);
                drop(&w);
            }
}

/* Every byte, codes or not, decodes to floor(3 q / 256), q = 3 q mod 256 in every set: the exact decoding of BASE3. A
 * shortcut with averaging instructions is wrong for q = 85 and 170. */
Test(perspective_ternary_product, all_256_bytes_decode_exactly)
{
    const geodec__ternary_ops *all[3];
    const int sets = geodec__ternary_all(all);
    for (int k = 0; k < sets; k++)
        for (int b = 0; b < 256; b++)
            for (int plane = 0; plane < 5; plane++) {
                _Alignas(64) uint8_t row[64];
                _Alignas(64) int8_t q[320] = {0};
                int32_t sum[TILE * TILE] = {0};
                int digit = 0, rest = b;
                for (int i = 0; i <= plane; i++) {
                    digit = 3 * rest / 256;
                    rest = 3 * rest % 256;
                }
                memset(row, b, sizeof row);
                q[64 * plane + b % 64] = 1;
                const geodec__ternary_rows rows = {.data = row, .row_bytes = 64, .blocks = 1, .rows = 1};
                all[k]->dot[BASE3](&rows, q, 0, 1, sum);
                cr_assert_eq(sum[0], digit, "%s: byte %d, plane %d", all[k]->name, b, plane);
                all[k]->dot[BASE3](&rows, q, 0, 4, sum);
                for (int v = 0; v < 4; v++) cr_assert_eq(sum[v * TILE], digit, "%s: batch", all[k]->name);
                float x[320] = {0}, lane[TILE][GEODEC__TERNARY_LANES], total = 0;
                x[64 * plane + b % 64] = 1;
                all[k]->add[BASE3](&rows, x, lane);
                for (int l = 0; l < GEODEC__TERNARY_LANES; l++) total += lane[0][l];
                cr_assert_eq(total, (float)(digit - 1), "%s: byte %d, plane %d", all[k]->name, b, plane);
            }
}

/* Largest activations and codes of one sign, at the limit of columns: the sums are 254 cols, computed here exactly. */
Test(perspective_ternary_product, the_largest_sums_do_not_overflow)
{
    const geodec__ternary_ops *all[3];
    const int sets = geodec__ternary_all(all);
    const int64_t cols = GEODEC_TERNARY_COLUMNS;
    int8_t *t = geodec_mem_new(cols, 1);
    float *x = geodec_mem_new(cols, sizeof *x);
    uint8_t *row = geodec_mem_new(geodec_ternary_row_bytes(BITS2, cols), 1);
    geodec_err err = {0};
    cr_assert(t && x && row);
    for (int sign = -1; sign <= 1; sign += 2)
        for (int weight = -1; weight <= 1; weight++)
            for (int e = BASE3; e <= BITS2; e++) {
                geodec_ternary_input in;
                memset(t, weight, (size_t)cols);
                for (int64_t i = 0; i < cols; i++) x[i] = (float)sign;
                geodec_ternary_pack(e, t, cols, row);
                test_ok(geodec_ternary_input_create(GEODEC_TERNARY_INT8, cols, 1, &in, &err), &err);
                geodec_ternary_input_set(&in, 0, x);
                const geodec__ternary_rows rows = {.data = row,
                                                   .row_bytes = geodec_ternary_row_bytes(e, cols),
                                                   .blocks = geodec_ternary_row_bytes(e, cols) / 64,
                                                   .rows = 1};
                cr_assert_eq(in.sum[0], sign * 127 * cols);
                for (int k = 0; k < sets; k++) {
                    int32_t sum[TILE * TILE];
                    all[k]->dot[e](&rows, in.q, in.stride, 1, sum);
                    cr_assert_eq(sum[0], (weight + 1) * sign * 127 * cols, "%s", all[k]->name);
                }
                geodec_ternary_input_clear(&in);
            }
    GEODEC_FREE(t, x, row);
}

Test(perspective_ternary_product, floats_are_near_float64_and_have_equal_bits)
{
    const geodec__ternary_ops *all[3];
    const int sets = geodec__ternary_all(all);
    static const int64_t sizes[] = {1, 17, 255, 321, 4096, 11008};
    for (int e = BASE3; e <= BITS2; e++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            example w = make(e, 71, sizes[s], 2, 9 + s);
            geodec_ternary_input in = input_of(&w, GEODEC_TERNARY_FLOAT);
            float *first = geodec_mem_new(2 * w.m.rows, sizeof *first);
            cr_assert_not_null(first);
            for (int k = 0; k < sets; k++) {
                geodec__ternary_multiply_with(all[k], &w.m, &in, 2, NULL, w.to);
                if (k == 0) memcpy(first, w.y, (size_t)(2 * w.m.rows) * sizeof *first);
                cr_assert(memcmp(first, w.y, (size_t)(2 * w.m.rows) * sizeof *first) == 0, "%s", all[k]->name);
            }
            double worst = 0, largest = 0;
            for (int64_t v = 0; v < 2; v++)
                for (int64_t o = 0; o < w.m.rows; o++) {
                    double y = 0;
                    for (int64_t c = 0; c < w.m.cols; c++) y += w.t[o * w.m.cols + c] * (double)w.x[v * w.m.cols + c];
                    y *= (double)w.m.scale;
                    worst = fmax(worst, fabs(y - (double)w.to[v][o]));
                    largest = fmax(largest, fabs(y));
                }
            /* the published bar, relative to the largest output */
            cr_assert_leq(worst, 1e-6 * largest, "%lld columns: %.2e", (long long)sizes[s], worst / largest);
            geodec_mem_free(first);
            geodec_ternary_input_clear(&in);
            drop(&w);
        }
}

Test(perspective_ternary_product, batches_threads_and_rows_have_the_same_bits)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int e = BASE3; e <= BITS2; e++)
        for (int a = GEODEC_TERNARY_INT8; a <= GEODEC_TERNARY_FLOAT; a++) {
            enum { ROWS = 333, N = 11 };
            example w = make(e, ROWS, 777, N, 77);
            float *scale = geodec_mem_new(ROWS, sizeof *scale), y[ROWS], *to[1] = {y};
            cr_assert_not_null(scale);
            for (int o = 0; o < ROWS; o++) scale[o] = 0.001f * (float)o;
            w.m.row_scale = scale;
            geodec_ternary_input in = input_of(&w, (geodec_ternary_arithmetic)a), one;
            geodec_ternary_multiply(&w.m, &in, N, GEODEC_ISA_AUTO, pool, w.to);
            test_ok(geodec_ternary_input_create((geodec_ternary_arithmetic)a, 777, 1, &one, &err), &err);
            for (int64_t v = 0; v < N; v++) {
                geodec_ternary_input_set(&one, 0, w.x + v * 777);
                for (int isa = GEODEC_ISA_AUTO; isa <= GEODEC_ISA_AVX512; isa++) {
                    geodec_ternary_multiply(&w.m, &one, 1, (geodec_isa)isa, NULL, to);
                    cr_assert(memcmp(y, w.to[v], sizeof y) == 0, "vector %lld, %s", (long long)v,
                              geodec_kernels_isa_name((geodec_isa)isa));
                }
            }
            cr_assert(w.to[0][0] == 0 && w.to[0][1] != 0, "each row has its scale");
            geodec_ternary_input_clear(&in);
            geodec_ternary_input_clear(&one);
            geodec_mem_free(scale);
            drop(&w);
        }
    geodec_pool_destroy(pool);
}

/* A column without weights does not count: its activation may be anything, without a change of the result. */
Test(perspective_ternary_product, a_column_of_zeros_contributes_nothing)
{
    const geodec__ternary_ops *all[3];
    const int sets = geodec__ternary_all(all);
    for (int e = BASE3; e <= BITS2; e++)
        for (int k = 0; k < sets; k++) {
            example w = make(e, 9, 400, 2, 4);
            const int64_t bytes = geodec_ternary_row_bytes(e, 400);
            for (int64_t o = 0; o < 9; o++) geodec_ternary_put(e, w.data + o * bytes, 123, 1);
            memcpy(w.x + 400, w.x, 400 * sizeof *w.x);
            w.x[123] = 0.5f;
            w.x[523] = -0.25f; /* smaller than the largest, so that the scale stays */
            for (int a = GEODEC_TERNARY_INT8; a <= GEODEC_TERNARY_FLOAT; a++) {
                if (a == GEODEC_TERNARY_FLOAT) w.x[523] = INFINITY;
                geodec_ternary_input in = input_of(&w, (geodec_ternary_arithmetic)a);
                geodec__ternary_multiply_with(all[k], &w.m, &in, 2, NULL, w.to);
                cr_assert(memcmp(w.to[0], w.to[1], 9 * sizeof *w.y) == 0, "%s", all[k]->name);
                geodec_ternary_input_clear(&in);
            }
            drop(&w);
        }
}

Test(perspective_ternary_product, activations_are_rounded_as_defined)
{
    geodec_ternary_input in;
    geodec_err err = {0};
    static const float x[4][5] = {
        {127, 0.5f, 1.5f, -2.5f, -126.6f}, {0, 0, 0, 0, 0}, {1, NAN, 0, 0, 0}, {1e-31f, 0, 0, 0, 0}};
    static const int8_t want[5] = {127, 0, 2, -2, -127}; /* ties to even */
    test_ok(geodec_ternary_input_create(GEODEC_TERNARY_INT8, 5, 4, &in, &err), &err);
    for (int i = 0; i < 4; i++) geodec_ternary_input_set(&in, i, x[i]);
    cr_assert(memcmp(in.q, want, 5) == 0);
    cr_assert_float_eq(in.scale[0], 1.0f, 1e-7f);
    cr_assert_eq(in.sum[0], 127 + 0 + 2 - 2 - 127);
    cr_assert(in.scale[1] == 0 && in.sum[1] == 0 && in.scale[3] == 0 && in.q[3 * in.stride] == 0);
    cr_assert(isnan(in.scale[2]) && in.q[2 * in.stride] == 0 && in.sum[2] == 0);
    geodec_ternary_input_set(&in, 2, x[0]); /* nothing is left of the vector before */
    cr_assert(in.sum[2] == in.sum[0] && in.scale[2] == in.scale[0]);
    /* extremes of float32 stay in -127 .. 127 */
    static const float big[5] = {FLT_MAX, -FLT_MAX, FLT_MAX / 3, 1, FLT_MIN};
    static const int8_t big_want[5] = {127, -127, 42, 0, 0};
    geodec_ternary_input_set(&in, 2, big);
    cr_assert(memcmp(in.q + 2 * in.stride, big_want, 5) == 0);
    geodec_ternary_input_clear(&in);
    geodec_ternary_input_clear(&in);
    cr_assert_eq(geodec_ternary_input_create(GEODEC_TERNARY_INT8, 0, 1, &in, NULL), GEODEC_LIMIT);
    cr_assert_eq(geodec_ternary_input_create(GEODEC_TERNARY_INT8, GEODEC_TERNARY_COLUMNS + 1, 1, &in, NULL),
                 GEODEC_LIMIT);
    for (int k = 1; k <= 3; k++) {
        geodec_mem_fail_after(k);
        cr_assert_eq(geodec_ternary_input_create(GEODEC_TERNARY_INT8, 5, 1, &in, NULL), GEODEC_NOMEM);
        geodec_mem_fail_after(0);
    }
}

/* Every set gives t s of every column, also where rows are no whole registers. */
Test(perspective_ternary_product, rows_as_floats)
{
    const geodec_isa sets[] = {GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AUTO};
    static const int64_t widths[] = {1, 31, 48, 63, 64, 70, 100, 256, 319, 320, 321, 640, 1000};
    for (int encoding = GEODEC_TERNARY_BASE3; encoding <= GEODEC_TERNARY_BITS2; encoding++)
        for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
            enum { ROWS = 2 };
            const int64_t cols = widths[w], bytes = geodec_ternary_row_bytes(encoding, cols);
            const float scale[ROWS] = {0.25F, 1.75F};
            int8_t t[ROWS][1000];
            uint8_t data[ROWS * 320];
            for (int64_t o = 0; o < ROWS; o++) {
                for (int64_t i = 0; i < cols; i++) t[o][i] = (int8_t)((i * 7 + i / 5 + o) % 3 - 1);
                geodec_ternary_pack(encoding, t[o], cols, data + o * bytes);
            }
            const geodec_ternary_matrix m = {
                .encoding = encoding, .rows = ROWS, .cols = cols, .data = data, .scale = 3, .row_scale = scale};
            geodec_ternary_matrix one = m;
            one.row_scale = NULL;
            for (int i = 0; i < 3; i++)
                for (int64_t o = 0; o < ROWS; o++) {
                    float a[1001] = {0}, b[1001] = {0};
                    geodec_ternary_expand(&m, o, sets[i], a);
                    geodec_ternary_expand(&one, o, sets[i], b);
                    for (int64_t c = 0; c < cols; c++)
                        cr_assert(a[c] == (float)t[o][c] * scale[o] && b[c] == (float)t[o][c] * 3, "column %lld",
                                  (long long)c);
                    cr_assert(a[cols] == 0); /* nothing beyond is written */
                }
        }
}
