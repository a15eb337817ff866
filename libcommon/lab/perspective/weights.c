/* Ternary experts that were not made alike, and the time of one product. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/parts_internal.h"
#include "ternary/change.h"
#include "ternary/multiply.h"

#include <math.h>
#include <string.h>

/* Weights with shares .25, .5, .25 of -1, 0, 1. */
static void random_rows(int encoding, int64_t rows, int64_t cols, geodec_rng *r, int8_t *t, uint8_t *data)
{
    const int64_t bytes = geodec_ternary_row_bytes(encoding, cols);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            const uint64_t u = geodec_rng_below(r, 4);
            t[j] = (int8_t)(u == 0 ? -1 : u == 1 ? 1 : 0);
        }
        geodec_ternary_pack(encoding, t, cols, data + i * bytes);
    }
}

geodec_status geodec__parts_changes(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    enum { ROWS = 256, COLS = 1024, E = GEODEC_TERNARY_BASE3 };
    geodec_status st = GEODEC_OK;
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("changes", 0));
    const double weights = (double)ROWS * COLS;
    uint8_t *a = NULL, *b = NULL;
    int8_t *t = NULL;
    int64_t bytes = 0, changes = 0;
    GEODEC_NEW(t, COLS);
    GEODEC_NEW_EACH(ROWS * geodec_ternary_row_bytes(E, COLS), a, b);
    random_rows(E, ROWS, COLS, &r, t, a);
    random_rows(E, ROWS, COLS, &r, t, b);
    const geodec_ternary_matrix ma = {.encoding = E, .rows = ROWS, .cols = COLS, .data = a, .scale = 1},
                                mb = {.encoding = E, .rows = ROWS, .cols = COLS, .data = b, .scale = 1};
    GEODEC_TRY(geodec_change_encode(&ma, &mb, NULL, &bytes, &changes, err));
    const double p = (double)changes / weights;
    GEODEC_TRY(geodec__parts_add(out, "independent-changes", "share of weights that differ, independent experts", p,
                                 "closed form for shares 1/4, 1/2, 1/4", 0.625, err));
    GEODEC_TRY(geodec__parts_add(out, "independent-size", "bytes of the difference over bytes at 1.6 bits a weight",
                                 (double)bytes * 8 / (1.6 * weights), "entropy floor", geodec_change_floor(p) / 1.6,
                                 err));
    GEODEC_TRY(geodec__parts_add(out, "tenth-size", "the same when 10 % of the weights differ, expected",
                                 geodec_change_bytes(0.1) * 8 / 1.6, "entropy floor", geodec_change_floor(0.1) / 1.6,
                                 err));
done:
    GEODEC_FREE(a, b, t);
    return st;
}

/* Least processor time, in ms, of a few products. */
static double product_ms(const geodec_ternary_matrix *m, const geodec_ternary_input *in, int rounds, float *y)
{
    double least = INFINITY;
    for (int i = 0; i < rounds; i++) {
        const double from = geodec_clock_thread_seconds();
        geodec_ternary_multiply(m, in, 1, GEODEC_ISA_AUTO, NULL, &y);
        least = fmin(least, geodec_clock_thread_seconds() - from);
    }
    return 1e3 * least;
}

/* The time of reading the bytes once: copies of pages to one page. */
static double read_ms(const uint8_t *data, int64_t bytes, int rounds)
{
    enum { PAGE = 4096 };
    uint8_t page[PAGE];
    double least = INFINITY;
    volatile uint8_t sink = 0;
    for (int i = 0; i < rounds; i++) {
        const double from = geodec_clock_thread_seconds();
        for (int64_t at = 0; at + PAGE <= bytes; at += PAGE) {
            memcpy(page, data + at, PAGE);
            sink = page[at / PAGE % PAGE];
        }
        least = fmin(least, geodec_clock_thread_seconds() - from);
    }
    (void)sink;
    return 1e3 * least;
}

geodec_status geodec__parts_product(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t rows = o->quick ? 1376 : 11008, cols = o->quick ? 512 : 4096;
    const double scale = 11008.0 * 4096 / ((double)rows * (double)cols);
    const int rounds = 20;
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("product", 0));
    geodec_ternary_input in = {.cols = 0};
    uint8_t *data = NULL;
    int8_t *t = NULL;
    float *x = NULL, *y = NULL;
    const int64_t bytes = rows * geodec_ternary_row_bytes(GEODEC_TERNARY_BITS2, cols);
    GEODEC_NEW_EACH(cols, t, x);
    GEODEC_NEW(y, rows);
    GEODEC_NEW(data, bytes);
    random_rows(GEODEC_TERNARY_BITS2, rows, cols, &r, t, data);
    for (int64_t j = 0; j < cols; j++) x[j] = (float)geodec_rng_normal(&r);
    const geodec_ternary_matrix m = {
        .encoding = GEODEC_TERNARY_BITS2, .rows = rows, .cols = cols, .data = data, .scale = 1};
    GEODEC_TRY(geodec_ternary_input_create(GEODEC_TERNARY_INT8, cols, 1, &in, err));
    geodec_ternary_input_set(&in, 0, x);
    GEODEC_TRY(geodec__parts_add(out, "product-ms", "ms of a product of 11008 x 4096, 8-bit activations, one thread",
                                 scale * product_ms(&m, &in, rounds, y), "reading the same bytes once",
                                 scale * read_ms(data, bytes, rounds), err));
    geodec_ternary_input_clear(&in);
    GEODEC_TRY(geodec_ternary_input_create(GEODEC_TERNARY_FLOAT, cols, 1, &in, err));
    geodec_ternary_input_set(&in, 0, x);
    GEODEC_TRY(geodec__parts_add(out, "product-float-ms", "ms of the same without multiplications, in float32",
                                 scale * product_ms(&m, &in, rounds, y), "8-bit activations",
                                 out->row[out->n - 1].value, err));
done:
    geodec_ternary_input_clear(&in);
    GEODEC_FREE(t, x, y, data);
    return st;
}
