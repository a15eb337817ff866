/* Measurements: what is counted is right, every number has its control, options are checked. */
#include "bench/read_limit.h"
#include "bench/shape.h"
#include "bench/speed.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *model_of(const char *shape, const char *type)
{
    geodec_err err = {0};
    geodec_shape s = *geodec_shape_named(shape);
    s.n_layer = 2;
    s.n_vocab = 1024;
    s.d_model = 128;
    s.n_head = s.n_kv_head = 2;
    s.head_dim = 64;
    s.d_ff = 256;
    const char *path = test_tmp("speed-random.gguf");
    test_ok(geodec_shape_write(path, &s, type, 1, NULL, NULL, &err), &err);
    return path;
}

static const geodec_bench_row *find(const geodec_bench_result *r, const char *name, int64_t n)
{
    for (int i = 0; i < r->n_rows; i++)
        if (strcmp(r->row[i].name, name) == 0 && r->row[i].n == n) return &r->row[i];
    cr_assert_fail("no row %s %lld", name, (long long)n);
    return NULL;
}

Test(speed, bytes_of_a_token)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(model_of("smollm2-135m", "q8_0"), &m, &err), &err);
    const int64_t weights = 1024 * 128 + 2 * (4 * 128 * 128 + 3 * 128 * 256), norms = 128 * (1 + 2 * 2) * 4;
    cr_assert_eq(geodec_bench_token_bytes(m), weights / 32 * 34 + norms);
    geodec_model_close(m);
}

Test(speed, every_number_has_its_row)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_bench_result r;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    const geodec_bench_options o = {.pool = pool,
                                    .prompt = 32,
                                    .generate = 8,
                                    .n_widths = 2,
                                    .width = {1, 4},
                                    .depth = 3,
                                    .batch = 16,
                                    .first = 4,
                                    .repeats = 3,
                                    .read_limit = true};
    test_ok(geodec_bench_run(model_of("smollm2-135m", "f16"), &o, NULL, &r, &err), &err);
    static const char *const names[] = {"read_limit", "pp", "tg",          "bandwidth",    "settle",
                                        "v",          "v",  "first_token", "start_memory", "peak_memory"};
    static const int64_t n[] = {0, 32, 8, 0, 12, 1, 4, 4, 0, 0};
    cr_assert_eq(r.n_rows, 10);
    for (int i = 0; i < 10; i++) {
        const geodec_bench_row *row = find(&r, names[i], n[i]);
        cr_assert(row->min > 0 && row->min <= row->median && row->median <= row->max, "%s", names[i]);
    }
    cr_assert_eq(find(&r, "bandwidth", 0)->control, find(&r, "read_limit", 0)->median);
    cr_assert_eq(find(&r, "v", 4)->control, 4);
    /* the file's pages are all resident after a pass, so the peak cannot be below it */
    cr_assert_geq(find(&r, "peak_memory", 0)->median, 0.9 * (double)r.file_bytes);
    cr_assert_eq(r.kv_bytes, 2 * 2 * 2 * 64 * (32 + 8 + 12) * 4);
    geodec_pool_destroy(pool);
}

Test(speed, options_out_of_range)
{
    geodec_err err = {0};
    geodec_bench_result r;
    const geodec_bench_options none = {.batch = 8}, wide = {.batch = 8, .repeats = 1, .n_widths = 1, .width = {65}};
    cr_assert_eq(geodec_bench_run("absent.gguf", &none, NULL, &r, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_bench_run("absent.gguf", &wide, NULL, &r, &err), GEODEC_RANGE);
    const geodec_bench_options good = {.batch = 8, .repeats = 1};
    cr_assert_eq(geodec_bench_run("absent.gguf", &good, NULL, &r, &err), GEODEC_NOTFOUND);
}
