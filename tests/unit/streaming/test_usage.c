/* Usage tables: round trip, damage, tables of other models. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "driver.h"
#include "io/file.h"
#include "streaming/usage.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static geodec_err err;
static const char mine[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

static void make(geodec_usage *u)
{
    const driver d = {.n_layer = 3, .n_expert = 8, .n_used = 2, .passes = 50, .seed = 4, .zipf = 1};
    const geodec_slots_options o = {.n_layer = 3, .n_expert = 8, .n_slots = 9};
    geodec_slots *s = NULL;
    test_ok(geodec_slots_create(&o, &s, &err), &err);
    driver_run(&d, s);
    test_ok(geodec_usage_new(3, 8, mine, u, &err), &err);
    geodec_usage_add(u, s);
    geodec_usage_add(u, s);
    geodec_slots_destroy(s);
}

Test(usage, round_trip)
{
    const char *path = test_tmp("u");
    geodec_usage u = {0}, v = {0};
    make(&u);
    test_ok(geodec_usage_write(path, &u, &err), &err);
    test_ok(geodec_usage_write(path, &u, &err), &err); /* over the old one */
    cr_assert_eq(test_other_files(path), 0);
    cr_assert(geodec_usage_fits(path, 3, 8, mine, &v, &err));
    cr_assert_eq(memcmp(u.frequency, v.frequency, 24 * sizeof(float)), 0);
    cr_assert_eq(memcmp(u.hits, v.hits, 24 * sizeof(int64_t)), 0);
    int64_t sum = 0;
    for (int i = 0; i < 24; i++) sum += v.hits[i];
    cr_assert_eq(sum, 2 * 3 * 50 * 2);
    geodec_usage_clear(&u);
    geodec_usage_clear(&v);
}

Test(usage, order_is_by_frequency_then_hits_then_key)
{
    geodec_usage u = {0};
    int32_t order[4];
    test_ok(geodec_usage_new(2, 2, "", &u, &err), &err);
    u.frequency[2] = 0.75F;
    u.hits[3] = 9;
    test_ok(geodec_usage_order(&u, order, &err), &err);
    cr_assert(order[0] == 2 && order[1] == 3 && order[2] == 0 && order[3] == 1);
    geodec_usage_clear(&u);
}

Test(usage, tables_of_other_models_are_notes)
{
    const char *path = test_tmp("u");
    geodec_usage u = {0}, v = {0};
    char line[600];
    make(&u);
    test_ok(geodec_usage_write(path, &u, &err), &err);
    cr_assert_not(geodec_usage_fits(path, 3, 8, "another", &v, &err));
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "of another model"));
    cr_assert_not(geodec_usage_fits(path, 4, 8, mine, &v, &err));
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "3 layers of 8 experts; the model has 4 of 8"));
    cr_assert_not(geodec_usage_fits(test_tmp("none"), 3, 8, mine, &v, &err));
    cr_assert_null(v.frequency);
    geodec_usage_clear(&u);
}

Test(usage, damage_is_found)
{
    const char *path = test_tmp("u"), *bad = test_tmp("bad");
    geodec_usage u = {0}, v = {0};
    char *bytes = NULL;
    size_t n = 0;
    make(&u);
    test_ok(geodec_usage_write(path, &u, &err), &err);
    test_ok(geodec_file_read(path, 1 << 20, &bytes, &n, &err), &err);
    cr_assert_eq(n, 24 + 64 + 24 * 20 + 4);
    for (size_t i = 0; i < 8 * n; i++) {
        bytes[i / 8] ^= (char)(1 << (i % 8));
        write_bytes(bad, bytes, n);
        cr_assert_neq(geodec_usage_read(bad, &v, &err), GEODEC_OK, "bit %zu", i);
        bytes[i / 8] ^= (char)(1 << (i % 8));
    }
    for (size_t k = 0; k < n; k++) {
        write_bytes(bad, bytes, k);
        cr_assert_neq(geodec_usage_read(bad, &v, &err), GEODEC_OK, "the first %zu bytes", k);
    }
    bytes[24 + 64 + 20] = 5; /* the second record is of another layer, with a right sum */
    const uint32_t sum = geodec_crc32c(0, bytes, (int64_t)n - 4);
    for (int k = 0; k < 4; k++) bytes[n - 4 + (size_t)k] = (char)(sum >> (8 * k));
    write_bytes(bad, bytes, n);
    cr_assert_eq(geodec_usage_read(bad, &v, &err), GEODEC_FORMAT);
    geodec_mem_free(bytes);
    geodec_usage_clear(&u);
    cr_assert_eq(geodec_usage_new(1 << 16, 1 << 16, "", &u, &err), GEODEC_LIMIT);
}
