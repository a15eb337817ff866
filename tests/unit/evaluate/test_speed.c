/* Measurements: counts are right, every number has its control, options are checked. */
#include "evaluate/read_limit.h"
#include "evaluate/speed.h"
#include "session/shape.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *model_of(const char *shape, const char *type)
{
    geodec_err err = {0};
    geodec_shape s = *geodec_shape_named(shape);
    s.n_layer = 2;
    s.values = "V=1024 C=8192 d=128 f=256 H=2 K=2 h=64 r=64 base=1e5 eps=1e-5";
    const char *path = test_tmp("speed-random.gguf");
    test_ok(geodec_shape_write(path, &s, type, 1, NULL, NULL, &err), &err);
    return path;
}

static const geodec_speed_row *find(const geodec_speed_result *r, const char *name, int64_t n)
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
    cr_assert_eq(geodec_speed_token_bytes(m), weights / 32 * 34 + norms);
    geodec_model_close(m);
}

Test(speed, every_number_has_its_row)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_speed_result r;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    const geodec_speed_options o = {.pool = pool,
                                    .prompt = 32,
                                    .generate = 8,
                                    .n_widths = 2,
                                    .width = {1, 4},
                                    .depth = 3,
                                    .batch = 16,
                                    .first = 4,
                                    .repeats = 3,
                                    .read_limit = true};
    test_ok(geodec_speed_run(model_of("smollm2-135m", "f16"), &o, NULL, &r, &err), &err);
    static const char *const names[] = {"read_limit", "pp", "tg",          "bandwidth",    "settle",
                                        "v",          "v",  "first_token", "start_memory", "peak_memory"};
    static const int64_t n[] = {0, 32, 8, 0, 12, 1, 4, 4, 0, 0};
    cr_assert_eq(r.n_rows, 10);
    for (int i = 0; i < 10; i++) {
        const geodec_speed_row *row = find(&r, names[i], n[i]);
        cr_assert(row->min > 0 && row->min <= row->median && row->median <= row->max, "%s", names[i]);
    }
    cr_assert_eq(find(&r, "bandwidth", 0)->control, find(&r, "read_limit", 0)->median);
    cr_assert_eq(find(&r, "v", 4)->control, 4);
    /* the file's pages are all resident after a pass, so the peak cannot be below it */
    cr_assert_geq(find(&r, "peak_memory", 0)->median, 0.9 * (double)r.file_bytes);
    geodec_pool_destroy(pool);
}

/* Address space of this process. */
static int64_t mapped(void)
{
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    cr_assert_not_null(f);
    cr_assert_eq(fscanf(f, "%lld", &pages), 1);
    (void)fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Memory that a session of n_ctx tokens adds; *cache: the size of the cache that it reports. */
static int64_t growth(const geodec_model *m, geodec_kv_type kv, int32_t n_ctx, int64_t *cache)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.n_ctx = n_ctx, .kv = kv};
    const int64_t before = mapped();
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    const int64_t grown = mapped() - before;
    *cache = geodec_session_cache_bytes(s);
    geodec_session_destroy(s);
    return grown;
}

/* Sessions of two types differ in their caches alone, by tens of megabytes; the allocator's own blocks move by less
 * than one. A token of a layer and head of 64: 2 x 64 elements, in Q8_0 and Q4_0 two groups each with a scale of two
 * bytes. */
Test(speed, bytes_of_the_cache_are_those_that_a_session_allocates)
{
    static const int64_t token[] = {2 * 64 * 4, 2 * 64 * 2, 2 * (64 + 2 * 2), 2 * (32 + 2 * 2)};
    enum { TOKENS = 65536, PIECES = 2 * 2 };
    geodec_err err = {0};
    geodec_model *m = NULL;
    const char *path = model_of("smollm2-135m", "f16");
    test_ok(geodec_model_open(path, &m, &err), &err);
    int64_t cache[4], grown[4];
    (void)growth(m, GEODEC_KV_F32, TOKENS, &cache[0]); /* memory that is allocated once */
    for (int kv = 0; kv < 4; kv++) {
        grown[kv] = growth(m, (geodec_kv_type)kv, TOKENS, &cache[kv]);
        cr_assert_geq(cache[kv], TOKENS * PIECES * token[kv]);
        cr_assert_leq(cache[kv], TOKENS * PIECES * token[kv] + 4096, "%s", geodec_cache_kv_name((geodec_kv_type)kv));
        const int64_t off = (grown[0] - grown[kv]) - (cache[0] - cache[kv]);
        cr_assert(grown[kv] >= cache[kv] && llabs(off) < 1 << 20, "%s: off by %lld of %lld bytes",
                  geodec_cache_kv_name((geodec_kv_type)kv), (long long)off, (long long)cache[kv]);
    }
    for (int kv = 0; kv < 4; kv++) { /* the report is that of the measured session */
        const geodec_speed_options o = {.generate = 4, .batch = 8, .repeats = 1, .kv = (geodec_kv_type)kv};
        geodec_speed_result r;
        test_ok(geodec_speed_run(path, &o, NULL, &r, &err), &err);
        (void)growth(m, (geodec_kv_type)kv, 4 + 12, &cache[kv]);
        cr_assert_eq(r.kv_bytes, cache[kv]);
    }
    geodec_model_close(m);
}

Test(speed, options_out_of_range)
{
    geodec_err err = {0};
    geodec_speed_result r;
    const geodec_speed_options none = {.batch = 8}, wide = {.batch = 8, .repeats = 1, .n_widths = 1, .width = {65}};
    cr_assert_eq(geodec_speed_run("absent.gguf", &none, NULL, &r, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_speed_run("absent.gguf", &wide, NULL, &r, &err), GEODEC_RANGE);
    const geodec_speed_options good = {.batch = 8, .repeats = 1};
    cr_assert_eq(geodec_speed_run("absent.gguf", &good, NULL, &r, &err), GEODEC_NOTFOUND);
}
