/* Codes of keys and values: golden bytes, round trips, corrupt blocks. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/integer/codes/band.h"
#include "lab/integer/codes/bits_internal.h"
#include "lab/integer/codes/block_h63.h"
#include "lab/integer/codes/block_v1.h"
#include "lab/integer/codes/mobius.h"
#include "lab/integer/codes/vht2.h"
#include "support/json.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#define EACH(object, key, c)                                                                                           \
    for (const json_t *list_ = test_json_get(object, key), *at_ = list_, *c; at_; at_ = NULL)                          \
        for (size_t i_ = 0; i_ < json_array_size(list_) && (c = json_array_get(list_, i_)); i_++)

/* Values of an array of hex words of 32 or 16 bits. */
static float *floats(const json_t *o, const char *key, int64_t *n)
{
    const json_t *a = test_json_get(o, key);
    *n = (int64_t)json_array_size(a);
    float *x = geodec_mem_new(*n, sizeof *x);
    for (int64_t i = 0; i < *n; i++) {
        const char *hex = json_string_value(json_array_get(a, (size_t)i));
        const uint32_t word = (uint32_t)strtoul(hex, NULL, 16);
        if (strlen(hex) == 4)
            x[i] = geodec_f16_to_f32((uint16_t)word);
        else
            memcpy(x + i, &word, sizeof word);
    }
    return x;
}

static double number(const json_t *v)
{
    return json_is_string(v) ? strtod(json_string_value(v), NULL) : json_number_value(v);
}

/* Values in decimal strings. */
static double *decimals(const json_t *o, const char *key, int64_t *n)
{
    const json_t *a = test_json_get(o, key);
    *n = (int64_t)json_array_size(a);
    double *x = geodec_mem_new(*n, sizeof *x);
    for (int64_t i = 0; i < *n; i++) x[i] = number(json_array_get(a, (size_t)i));
    return x;
}

static int same_floats(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a) != 0 && !(a[i] == 0 && b[i] == 0)) return 0;
    return 1;
}

static int64_t vht2_cases(void)
{
    json_t *j = test_json("golden/integer/vht2.json");
    int64_t cases = 0;
    EACH(j, "cases", c)
    {
        int64_t n, m;
        float *x = floats(c, "x_f32_hex", &n), *start = floats(c, "x_f32_hex", &n);
        double *y = decimals(c, "y", &m), error = 0, back = 0, norm = 0;
        cr_assert_eq(n, m);
        cr_assert(geodec_vht2_fits(n));
        geodec_vht2(x, n);
        for (int64_t i = 0; i < n; i++) {
            norm += y[i] * y[i];
            error += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
        }
        geodec_vht2(x, n);
        for (int64_t i = 0; i < n; i++) back += pow((double)x[i] - (double)start[i], 2);
        cr_assert_leq(sqrt(error), 2e-7 * sqrt(norm), "n = %lld: %g", (long long)n, sqrt(error / norm));
        cr_assert_leq(sqrt(back), 3e-7 * sqrt(norm));
        GEODEC_FREE(x, start, y);
        cases++;
    }
    json_decref(j);
    return cases;
}

static int64_t mobius_cases(void)
{
    json_t *j = test_json("golden/integer/mobius.json");
    int64_t cases = 0, n_mu, *mu = test_json_i64s(j, "mu", &n_mu);
    geodec_err err = {0};
    for (int64_t i = 0; i < n_mu; i++) cr_assert_eq(geodec_mobius((uint64_t)i), mu[i]);
    geodec_mem_free(mu);
    EACH(j, "cases", c)
    {
        const char *const keys[] = {"order_mu0", "order_mu1"}, *const counts[] = {"n_sqfree_mu0", "n_sqfree_mu1"};
        const int64_t n = test_json_i64(c, "n");
        int32_t *order = geodec_mem_new(n, sizeof *order);
        int64_t first;
        for (int k = 0; k < 2; k++) {
            int64_t *want = test_json_i64s(c, keys[k], NULL);
            test_ok(geodec_mobius_order(GEODEC_MOBIUS_MU0 + k, n, order, &first, &err), &err);
            cr_assert_eq(first, test_json_i64(c, counts[k]));
            for (int64_t i = 0; i < n; i++) cr_assert_eq(order[i], want[i]);
            geodec_mem_free(want);
        }
        int64_t *to = test_json_i64s(c, "affine17_dest", NULL);
        test_ok(geodec_mobius_order(GEODEC_MOBIUS_AFFINE17, n, order, &first, &err), &err);
        for (int64_t i = 0; i < n; i++) cr_assert_eq(order[to[i]], i);
        GEODEC_FREE(to, order);
        cases++;
    }
    json_decref(j);
    return cases;
}

static int64_t band_cases(void)
{
    json_t *j = test_json("golden/integer/band.json");
    int64_t cases = 0;
    geodec_err err = {0};
    EACH(j, "cases", c)
    {
        int64_t n, nb, n_bytes, *bits = test_json_i64s(c, "bits", &nb);
        float *x = floats(c, "x_f32_hex", &n), *want = floats(c, "dec_f32_hex", &n);
        uint8_t *bytes = test_json_hex(c, "bytes_hex", &n_bytes), *own = geodec_mem_new(n_bytes, 1);
        geodec_band_layout l = {.n = n, .bands = (int32_t)nb};
        for (int64_t i = 0; i < nb; i++) l.bits[i] = (uint8_t)bits[i];
        test_ok(geodec_band_check(&l, &err), &err);
        cr_assert_eq(geodec_band_bytes(&l), n_bytes);
        cr_assert_eq(n_bytes, test_json_i64(c, "n_bytes"));
        geodec_band_encode(&l, x, own);
        cr_assert_eq(memcmp(own, bytes, (size_t)n_bytes), 0);
        geodec_band_decode(&l, bytes, x);
        cr_assert(same_floats(x, want, n));
        GEODEC_FREE(bits, x, want, bytes, own);
        cases++;
    }
    json_decref(j);
    return cases;
}

static int64_t v1_cases(void)
{
    json_t *j = test_json("golden/integer/block_v1.json");
    int64_t cases = 0;
    geodec_err err = {0};
    EACH(j, "cases", c)
    {
        int64_t k, n_bytes, *codes = test_json_i64s(c, "codes", NULL);
        float *x = floats(c, "x_f32_hex", &k), y[GEODEC_BLOCK_V1_CODES];
        uint8_t *bytes = test_json_hex(c, "block_hex", &n_bytes), own[GEODEC_BLOCK_V1_BYTES];
        cr_assert_eq(n_bytes, GEODEC_BLOCK_V1_BYTES);
        geodec_block_v1_encode(x, k, own);
        cr_assert_eq(memcmp(own, bytes, sizeof own), 0);
        test_ok(geodec_block_v1_decode(bytes, k, y, &err), &err);
        const float scale = geodec__bits_get_f32(bytes);
        for (int64_t i = 0; i < k; i++) {
            cr_assert_eq((int8_t)bytes[7 + 17 * i % 55], codes[i]);
            cr_assert_leq(fabsf(y[i] - x[i]), 0.501f * scale / 127.0f);
            cr_assert_leq(fabs((double)y[i] - (double)codes[i] * (double)scale / 127), 2e-7 * (double)scale);
        }
        GEODEC_FREE(codes, x, bytes);
        cases++;
    }
    json_decref(j);
    return cases;
}

static void fill_w(geodec_block_h63 *h, const json_t *rows)
{
    for (int32_t r = 0; r < h->n_residual; r++)
        for (int32_t s = 0; s < h->n_skeleton; s++)
            h->w[r * h->n_skeleton + s] = (uint16_t)strtoul(
                json_string_value(json_array_get(json_array_get(rows, (size_t)r), (size_t)s)), NULL, 16);
}

static int64_t h63_cases(void)
{
    json_t *j = test_json("golden/integer/block_h63.json");
    int64_t cases = 0;
    geodec_err err = {0};
    EACH(j, "cases", c)
    {
        int64_t n, nx, nr, n_bytes, *skeleton = test_json_i64s(c, "skeleton_idx", NULL),
                                    *residual = test_json_i64s(c, "residual_idx", &nr);
        float *coefficient = floats(c, "coeff_f32_hex", &n), *x = floats(c, "x_f32_hex", &nx), y[320];
        double *want = decimals(c, "residual_reconstructed", &nr), got[320];
        uint8_t *bytes = test_json_hex(c, "block_hex", &n_bytes), own[64];
        geodec_block_h63 h = {0};
        test_ok(geodec_block_h63_create(test_json_i64(c, "head_dim"), GEODEC_BLOCK_H63_MAGNITUDE, &h, &err), &err);
        cr_assert_eq(h.pad, test_json_i64(c, "pad_dim"));
        cr_assert_eq(h.n_residual, nr);
        for (int64_t i = 0; i < nr; i++) cr_assert_eq(h.residual[i], residual[i]);
        for (int64_t i = 0; i < h.n_skeleton; i++) h.skeleton[i] = (int32_t)skeleton[i];
        fill_w(&h, test_json_get(c, "W_f16_hex"));
        cr_assert_eq(n_bytes, geodec_block_h63_bytes(&h));
        geodec_block_h63_encode(&h, coefficient, own);
        cr_assert_eq(memcmp(own, bytes, (size_t)n_bytes), 0);
        geodec_block_h63_decode(&h, bytes, got);
        for (int64_t i = 0; i < nr; i++) cr_assert_eq(got[residual[i]], want[i]);
        geodec_block_h63_transform(&h, x, y);
        double error = 0, norm = 0;
        for (int64_t i = 0; i < n; i++) {
            error += pow((double)y[i] - (double)coefficient[i], 2);
            norm += pow((double)coefficient[i], 2);
        }
        cr_assert_leq(error, 1e-12 * norm);
        for (int64_t i = 0; i < n; i++) y[i] = (float)got[i];
        geodec_block_h63_restore(&h, y, y);
        error = norm = 0;
        for (int64_t i = 0; i < nx; i++) {
            error += pow((double)y[i] - (double)x[i], 2);
            norm += pow((double)x[i], 2);
        }
        cr_assert_float_eq(sqrt(error / norm), number(test_json_get(c, "rel_l2_error")), 2e-3);
        geodec_block_h63_clear(&h);
        GEODEC_FREE(skeleton, residual, coefficient, x, want, bytes);
        cases++;
    }
    json_decref(j);
    return cases;
}

/* All goldens of this folder: five files, and one path of code each, which no instruction set changes. */
Test(codes, golden_paths_and_files)
{
    static int64_t (*const file[])(void) = {vht2_cases, mobius_cases, band_cases, v1_cases, h63_cases};
    int64_t cases = 0;
    int files = 0;
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        const int64_t n = file[i]();
        cr_assert_geq(n, 1);
        cases += n;
        files++;
    }
    cr_assert_eq(files, 5);
    cr_log_info("1 path x %d files, %lld cases", files, (long long)cases);
}

/* Any changed bit of a block is refused; splits are balanced, larger ones first. */
Test(codes, v1_corrupt_blocks_and_splits)
{
    geodec_rng r = geodec_rng_stream(5, 1);
    geodec_err err = {0};
    float x[300], y[300];
    uint8_t blocks[6 * GEODEC_BLOCK_V1_BYTES];
    cr_assert_eq(geodec_block_v1_crc8((const uint8_t *)"123456789", 9), 0xF4);
    for (int i = 0; i < 300; i++) x[i] = (float)geodec_rng_normal(&r);
    geodec_block_v1_encode(x, 43, blocks);
    for (int bit = 0; bit < 8 * GEODEC_BLOCK_V1_BYTES; bit++) {
        blocks[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(geodec_block_v1_decode(blocks, 43, y, &err), GEODEC_CHECKSUM);
        blocks[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    cr_assert_eq(geodec_block_v1_decode(blocks, 42, y, &err), GEODEC_FORMAT); /* a code too many */
    for (int at = 4; at < 7; at++) {
        blocks[at] = 1;
        blocks[62] = geodec_block_v1_crc8(blocks, 62);
        cr_assert_eq(geodec_block_v1_decode(blocks, 43, y, &err), GEODEC_FORMAT);
        blocks[at] = 0;
    }
    const int64_t want[3] = {43, 43, 42};
    cr_assert_eq(geodec_block_v1_blocks(128), 3);
    for (int i = 0; i < 3; i++) cr_assert_eq(geodec_block_v1_split(128, i), want[i]);
    for (int64_t n = 1; n <= 300; n++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < geodec_block_v1_blocks(n); i++) {
            const int64_t k = geodec_block_v1_split(n, i);
            cr_assert(k >= 1 && k <= 55 && (i == 0 || k <= geodec_block_v1_split(n, i - 1)));
            cr_assert_leq(geodec_block_v1_split(n, 0) - k, 1);
            sum += k;
        }
        cr_assert_eq(sum, n);
        geodec_block_v1_encode_vector(x, n, blocks);
        test_ok(geodec_block_v1_decode_vector(blocks, n, y, &err), &err);
        for (int64_t i = 0; i < n; i++) cr_assert_leq(fabsf(x[i] - y[i]), 4.0f * 0.501f / 127.0f);
    }
    geodec_block_v1_encode_vector(x, 128, blocks);
    blocks[GEODEC_BLOCK_V1_BYTES + 9] ^= 1;
    cr_assert_eq(geodec_block_v1_decode_vector(blocks, 128, y, &err), GEODEC_CHECKSUM);
}

/* Headers go round; every truncation and each defect is refused. Both readings of the block decode within their step.
 */
Test(codes, h63_headers_and_readings)
{
    geodec_rng r = geodec_rng_stream(6, 1);
    geodec_err err = {0};
    enum { N = 2000, DIM = 128 };
    float *x = geodec_mem_new(N * DIM, sizeof *x), c[320];
    double d[320];
    uint8_t block[63], *header = NULL;
    for (int i = 0; i < N * DIM; i++) x[i] = (float)geodec_rng_normal(&r) * (float)(1 + i % DIM / 32);
    for (int reading = 0; reading < GEODEC_BLOCK_H63_READINGS; reading++) {
        geodec_block_h63 h = {0}, back = {0};
        test_ok(geodec_block_h63_create(DIM, (geodec_block_h63_reading)reading, &h, &err), &err);
        test_ok(geodec_block_h63_fit(&h, N, x, &err), &err);
        cr_assert_eq(geodec_block_h63_bytes(&h), 63);
        const int64_t size = geodec_block_h63_header_bytes(&h);
        header = geodec_mem_new(size, 1);
        geodec_block_h63_header_write(&h, header);
        for (int64_t n = 0; n < size; n++)
            cr_assert_eq(geodec_block_h63_header_read(header, n, &back, &err), GEODEC_FORMAT);
        test_ok(geodec_block_h63_header_read(header, size, &back, &err), &err);
        cr_assert_eq(back.reading, (geodec_block_h63_reading)reading);
        cr_assert_eq(memcmp(back.w, h.w, (size_t)(h.n_residual * h.n_skeleton) * sizeof *h.w), 0);
        cr_assert_eq(memcmp(back.skeleton, h.skeleton, (size_t)h.n_skeleton * sizeof *h.skeleton), 0);
        geodec_block_h63_clear(&back);
        header[5] = 7;
        cr_assert_eq(geodec_block_h63_header_read(header, size, &back, &err), GEODEC_FORMAT);
        header[5] = (uint8_t)reading;
        header[16] = 200; /* an index outside */
        cr_assert_eq(geodec_block_h63_header_read(header, size, &back, &err), GEODEC_FORMAT);
        geodec_block_h63_transform(&h, x, c);
        geodec_block_h63_encode(&h, c, block);
        geodec_block_h63_decode(&h, block, d);
        const double amax = (double)geodec__bits_get_f32(block + 59);
        const double most = reading ? 6 * amax / 16 : amax / 14;
        int within = 0;
        for (int k = 0; k < h.n_residual; k++) {
            const int32_t i = h.residual[k];
            within += fabs(d[i] - (double)c[i]) <= most * 1.0001;
        }
        cr_assert_geq(within, reading ? 50 : 60); /* the mid-rise code clips beyond 3 mean |d| */
        for (int k = 0; k < h.n_skeleton; k++)
            cr_assert_leq(fabs(d[h.skeleton[k]] - (double)c[h.skeleton[k]]), 1e-3 * fabs((double)c[h.skeleton[k]]));
        geodec_block_h63_clear(&h);
        geodec_mem_free(header);
    }
    geodec_mem_free(x);
}

Test(codes, limits)
{
    geodec_err err = {0};
    int32_t order[34];
    geodec_block_h63 h = {0};
    const geodec_band_layout bad[] = {{.n = 3, .bands = 4, .bits = {4, 4, 4, 4}},
                                      {.n = 8, .bands = 1, .bits = {9}},
                                      {.n = 8, .bands = 1, .bits = {1}},
                                      {.n = 8, .bands = 0}};
    for (int i = 0; i < 4; i++) cr_assert_eq(geodec_band_check(&bad[i], &err), GEODEC_RANGE);
    cr_assert_eq(geodec_mobius_order(4, 8, order, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_mobius_order(GEODEC_MOBIUS_AFFINE17, 34, order, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_mobius_order(GEODEC_MOBIUS_MU0, 0, order, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_mobius_order(-1, 8, order, NULL, &err), GEODEC_RANGE);
    cr_assert(!geodec_vht2_fits(13) && !geodec_vht2_fits(0) && !geodec_vht2_fits(2048));
    cr_assert_eq(geodec_vht2_length(13), 14);
    cr_assert_eq(geodec_vht2_length(2000), 0);
    cr_assert_eq(geodec_block_h63_create(7, GEODEC_BLOCK_H63_MAGNITUDE, &h, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_block_h63_create(257, GEODEC_BLOCK_H63_MAGNITUDE, &h, &err), GEODEC_RANGE);
}
