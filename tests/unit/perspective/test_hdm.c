/* The memory: retrieval, capacity with its controls, the file and its damage. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/rng.h"
#include "io/file.h"
#include "lab/perspective/memory/capacity.h"
#include "lab/perspective/memory/hv_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static geodec_err err;
static geodec_pool *pool;

static void begin(void) { test_ok(geodec_pool_create(2, &pool, &err), &err); }
static void end(void) { geodec_pool_destroy(pool); }
TestSuite(hdm, .init = begin, .fini = end);

static geodec_hv key_of(uint64_t index)
{
    geodec_hv v;
    geodec_hv_code(21, 4, index, &v);
    return v;
}

static void fill(geodec_hdm *m, uint64_t first, int n)
{
    char text[64];
    for (int i = 0; i < n; i++) {
        const geodec_hv key = key_of(first + (uint64_t)i);
        int64_t entry;
        const int length = snprintf(text, sizeof text, "text %d", (int)first + i);
        test_ok(geodec_hdm_add(m, &key, text, i % 7 == 3 ? 0 : length, &entry, &err), &err);
        cr_assert_eq(entry, (int64_t)first + i);
    }
}

Test(hdm, pairs_come_back_with_their_texts)
{
    const geodec_hdm_options o = {.seed = 3, .bank_bits = GEODEC_HDM_BANK_BITS};
    geodec_hdm *m = NULL;
    test_ok(geodec_hdm_create(&o, &m, &err), &err);
    const geodec_hv absent = key_of(9999);
    cr_assert_eq(geodec_hdm_find(m, &absent, 2, GEODEC_ISA_AUTO).entry, -1);
    fill(m, 0, 300);
    cr_assert_eq(geodec_hdm_entries(m), 300);
    for (int i = 0; i < 300; i++) {
        const geodec_hv key = key_of((uint64_t)i);
        const geodec_hdm_hit h = geodec_hdm_find(m, &key, 2, GEODEC_ISA_AUTO);
        char want[64];
        int64_t n;
        cr_assert(h.entry == i && h.accepted && h.bank == geodec_hdm_bank(m, i));
        cr_assert_eq(h.bank, (int32_t)(key.word[0] & 2047));
        cr_assert_float_eq(h.z, 100 * h.similarity, 1e-12);
        const uint8_t *text = geodec_hdm_text(m, i, &n);
        const int length = snprintf(want, sizeof want, "text %d", i);
        cr_assert_eq(n, i % 7 == 3 ? 0 : length);
        cr_assert_eq(n && memcmp(text, want, (size_t)n), 0);
        for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
            const geodec_hdm_hit other = geodec_hdm_find(m, &key, 2, (geodec_isa)isa);
            cr_assert(other.entry == h.entry && other.bank == h.bank && other.values == h.values &&
                      memcmp(&other.z, &h.z, sizeof h.z) == 0);
        }
    }
    /* banks asked: 1, 12, 67 and all of them */
    for (int radius = 0; radius <= 11; radius++)
        cr_assert_leq(geodec_hdm_find(m, &absent, radius, GEODEC_ISA_AUTO).values, 300);
    cr_assert_eq(geodec_hdm_find(m, &absent, 11, GEODEC_ISA_AUTO).values, 300);
    cr_assert_not(geodec_hdm_find(m, &absent, 11, GEODEC_ISA_AUTO).accepted);
    geodec_hdm_destroy(m);
}

/* A bank that is asked once may not answer for another: the same key, added twice, gives the first entry of the two
 * most similar ones or the second, never a third. */
Test(hdm, a_key_that_is_added_again)
{
    const geodec_hdm_options o = {.seed = 3, .bank_bits = 0};
    geodec_hdm *m = NULL;
    test_ok(geodec_hdm_create(&o, &m, &err), &err);
    fill(m, 0, 20);
    const geodec_hv key = key_of(4);
    test_ok(geodec_hdm_add(m, &key, "again", 5, NULL, &err), &err);
    const geodec_hdm_hit h = geodec_hdm_find(m, &key, 0, GEODEC_ISA_AUTO);
    cr_assert(h.accepted && (h.entry == 4 || h.entry == 20));
    geodec_hdm_destroy(m);
}

/* ---- capacity ---------------------------------------------------------------------------------------------------- */

/* One bank, at least 100 candidates. Each share of n pairs has a standard error of sqrt(s (1 - s) / n). */
Test(hdm, capacity_of_one_bank)
{
    const int64_t pairs[] = {10, 25, 100, 200, 500};
    double share[GEODEC_CAPACITY_RULES][5];
    for (int rule = 0; rule < GEODEC_CAPACITY_RULES; rule++)
        for (int k = 0; k < 5; k++) {
            double *const s = &share[rule][k];
            test_ok(geodec_capacity_bank((geodec_capacity_rule)rule, pairs[k], pairs[k] < 100 ? 100 : pairs[k], 1, s,
                                         pool, &err),
                    &err);
        }
    for (int k = 0; k < 5; k++)
        printf("one bank, %lld pairs: counters %.3f, one bit with random ties %.3f, with ties to the first %.3f\n",
               (long long)pairs[k], share[0][k], share[1][k], share[2][k]);
    cr_assert_float_eq(share[0][0], 1, 0);
    cr_assert_float_eq(share[0][1], 1, 0);
    cr_assert_geq(share[0][2], 0.95);
    cr_assert_geq(share[0][3], 0.9);
    cr_assert(share[0][4] > 0.4 && share[0][4] < 0.85);
    cr_assert_lt(share[1][2], 0.25);  /* one bit forgets: every new pair takes half of the bits that differ */
    cr_assert_leq(share[2][2], 0.05); /* the published tie keeps the first pair only */
    cr_assert_geq(share[2][0], 0.1);
    double again;
    test_ok(geodec_capacity_bank(GEODEC_CAPACITY_COUNTERS, 200, 200, 1, &again, NULL, &err), &err);
    cr_assert_eq(memcmp(&again, &share[0][3], sizeof again), 0); /* one thread, two threads */
    cr_assert_eq(geodec_capacity_bank(GEODEC_CAPACITY_COUNTERS, 0, 5, 1, &again, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_capacity_bank(GEODEC_CAPACITY_COUNTERS, 6, 5, 1, &again, NULL, &err), GEODEC_RANGE);
}

static geodec_capacity measured(int64_t pairs, int64_t queries, double noise, int radius, bool exact)
{
    const geodec_capacity_options o = {.pairs = pairs,
                                       .queries = queries,
                                       .bank_bits = GEODEC_HDM_BANK_BITS,
                                       .radius = radius,
                                       .noise = noise,
                                       .seed = 2,
                                       .exact = exact};
    geodec_capacity c = {0};
    test_ok(geodec_capacity_measure(&o, &c, pool, &err), &err);
    printf("%lld pairs, noise %.2f, radius %d: right %.4f, accepted %.4f, wrong %.4f, reached %.4f, foreign %.4f, z "
           "%.1f, exact %.4f, %.1f pairs a bank, %.1f MB\n",
           (long long)pairs, noise, radius, c.right, c.accepted, c.wrong, c.reached, c.foreign, c.z, c.exact,
           c.pairs_a_bank, (double)c.bytes / 1e6);
    return c;
}

Test(hdm, capacity_of_a_memory)
{
    const geodec_capacity c = measured(10000, 1000, 0, GEODEC_HDM_RADIUS, true);
    cr_assert_geq(c.right, 0.9);
    cr_assert_float_eq(c.accepted, c.right, 0);
    cr_assert_float_eq(c.reached, 1, 0);
    cr_assert_float_eq(c.exact, 1, 0);
    cr_assert_lt(c.foreign, 0.005); /* 335 values at z > 5: about 1e-4 */
    cr_assert_float_eq(c.pairs_a_bank, 10000.0 / 2048, 0.1);
    /* a mean similarity of binom(4, 2) / 16 for 5 pairs a bank, of more and less in others */
    cr_assert(c.z > 33 && c.z < 45);
}

/* Of 11 bits with noise 0.1 at most 2 are inverted in 0.9104 of cases: the bound of what radius 2 can find. Of 4,000
 * queries the share has a standard error of 0.0045. */
Test(hdm, noise_on_the_key)
{
    const geodec_capacity c = measured(10000, 4000, 0.1, 2, false), wide = measured(10000, 1000, 0.1, 3, false);
    cr_assert_geq(c.right, 0.9);
    cr_assert_float_eq(c.reached, 0.9104, 0.0135);
    cr_assert_geq(c.right, c.reached - 0.002); /* what is asked is found */
    cr_assert_lt(c.wrong, 0.002);
    cr_assert_geq(wide.right, 0.965);
    const geodec_capacity one = measured(100, 100, 0.1, 2, true);
    cr_assert_geq(one.right, 0.8);
    cr_assert_float_eq(one.exact, 1, 0);
}

Test(hdm, measuring_refuses)
{
    geodec_capacity c;
    const geodec_capacity_options few = {.pairs = 5, .queries = 6, .bank_bits = 3};
    const geodec_capacity_options bits = {.pairs = 5, .queries = 5, .bank_bits = 12};
    const geodec_capacity_options loud = {.pairs = 5, .queries = 5, .noise = NAN};
    cr_assert_eq(geodec_capacity_measure(&few, &c, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_capacity_measure(&bits, &c, NULL, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_capacity_measure(&loud, &c, NULL, &err), GEODEC_RANGE);
}

/* ---- limits and memory ------------------------------------------------------------------------------------------- */

Test(hdm, limits_leave_it_unchanged)
{
    static uint8_t text[GEODEC_HDM_TEXT_MAX + 1];
    const geodec_hdm_options o = {.seed = 3, .bank_bits = 2};
    geodec_hdm *m = NULL;
    test_ok(geodec_hdm_create(&o, &m, &err), &err);
    fill(m, 0, 3);
    const geodec_hv key = key_of(50);
    cr_assert_eq(geodec_hdm_add(m, &key, text, sizeof text, NULL, &err), GEODEC_LIMIT);
    test_ok(geodec_hdm_add(m, &key, text, sizeof text - 1, NULL, &err), &err);
    cr_assert_eq(geodec_hdm_entries(m), 4);
    const int64_t bytes = geodec_hdm_bytes(m);
    cr_assert_gt(bytes, GEODEC_HDM_TEXT_MAX);
    geodec_hdm_destroy(m);
    m = NULL;
    const geodec_hdm_options bad = {.bank_bits = 12}, worse = {.width = 3, .mean = (float[]){1, INFINITY, 2}};
    cr_assert_eq(geodec_hdm_create(&bad, &m, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_hdm_create(&worse, &m, &err), GEODEC_NUMERIC);
    cr_assert_null(m);
}

Test(hdm, failed_allocations)
{
    const geodec_hdm_options o = {.seed = 3, .bank_bits = 1, .width = 2, .mean = (float[]){1, 2}};
    const geodec_hv key = key_of(0);
    for (int64_t k = 1; k < 4; k++) {
        geodec_hdm *m = NULL;
        geodec_mem_fail_after(k);
        cr_assert_eq(geodec_hdm_create(&o, &m, &err), GEODEC_NOMEM);
        cr_assert_null(m);
        geodec_mem_fail_after(0);
        test_ok(geodec_hdm_create(&o, &m, &err), &err);
        geodec_mem_fail_after(k);
        cr_assert_eq(geodec_hdm_add(m, &key, "abc", 3, NULL, &err), GEODEC_NOMEM);
        geodec_mem_fail_after(0);
        cr_assert_eq(geodec_hdm_entries(m), 0);
        test_ok(geodec_hdm_add(m, &key, "abc", 3, NULL, &err), &err);
        cr_assert(geodec_hdm_find(m, &key, 0, GEODEC_ISA_AUTO).entry == 0);
        geodec_hdm_destroy(m);
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static const char print[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static geodec_hdm *small(void)
{
    static const float mean[] = {0.5F, -1, 3};
    const geodec_hdm_options o = {
        .seed = 77, .bank_bits = 1, .project = GEODEC_HV_NORMAL, .width = 3, .mean = mean, .fingerprint = print};
    geodec_hdm *m = NULL;
    test_ok(geodec_hdm_create(&o, &m, &err), &err);
    fill(m, 0, 11);
    return m;
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

Test(hdm, file_round_trip)
{
    const char *path = test_tmp("m"), *second = test_tmp("n");
    geodec_hdm *m = small(), *back = NULL;
    char *a = NULL, *b = NULL;
    size_t n, k;
    test_ok(geodec_hdm_write(path, m, &err), &err);
    test_ok(geodec_hdm_write(path, m, &err), &err); /* over the old one */
    cr_assert_eq(test_other_files(path), 0);
    test_ok(geodec_hdm_read(path, &back, &err), &err);
    const geodec_hdm_options o = geodec_hdm_settings(back);
    cr_assert(o.seed == 77 && o.bank_bits == 1 && o.project == GEODEC_HV_NORMAL && o.width == 3);
    cr_assert(memcmp(o.mean, (float[]){0.5F, -1, 3}, 12) == 0 && strcmp(o.fingerprint, print) == 0);
    fill(m, 11, 5); /* both go on alike */
    fill(back, 11, 5);
    for (uint64_t i = 0; i < 30; i++) {
        const geodec_hv key = key_of(i);
        const geodec_hdm_hit x = geodec_hdm_find(m, &key, 1, GEODEC_ISA_AUTO),
                             y = geodec_hdm_find(back, &key, 1, GEODEC_ISA_AUTO);
        cr_assert(x.entry == y.entry && x.bank == y.bank && x.values == y.values &&
                  memcmp(&x.z, &y.z, sizeof x.z) == 0);
        cr_assert(i >= 16 || x.entry == (int64_t)i);
    }
    test_ok(geodec_hdm_write(path, m, &err), &err);
    test_ok(geodec_hdm_write(second, back, &err), &err);
    test_ok(geodec_file_read(path, 1 << 20, &a, &n, &err), &err);
    test_ok(geodec_file_read(second, 1 << 20, &b, &k, &err), &err);
    cr_assert(n == k && memcmp(a, b, n) == 0);
    geodec_hdm_destroy(m);
    geodec_hdm_destroy(back);
    GEODEC_FREE(a, b);
}

Test(hdm, an_empty_memory_is_a_file)
{
    const geodec_hdm_options o = {.seed = 1, .bank_bits = 11};
    const char *path = test_tmp("empty");
    geodec_hdm *m = NULL, *back = NULL;
    test_ok(geodec_hdm_create(&o, &m, &err), &err);
    test_ok(geodec_hdm_write(path, m, &err), &err);
    test_ok(geodec_hdm_read(path, &back, &err), &err);
    cr_assert_eq(geodec_hdm_entries(back), 0);
    const geodec_hv key = key_of(1);
    cr_assert_eq(geodec_hdm_find(back, &key, 2, GEODEC_ISA_AUTO).entry, -1);
    geodec_hdm_destroy(m);
    geodec_hdm_destroy(back);
}

static void must_fail(const char *path, const char *what, size_t at)
{
    geodec_hdm *m = NULL;
    char line[1000];
    geodec_err_clear(&err);
    cr_assert_neq(geodec_hdm_read(path, &m, &err), GEODEC_OK, "%s %zu", what, at);
    cr_assert_null(m);
    geodec_err_line(&err, line, sizeof line);
    cr_assert(strlen(line) > 10 && !strchr(line, '\n') && strstr(line, "bad"), "%s", line);
}

static void set_sum(char *at, const char *from, int64_t n)
{
    const uint32_t sum = geodec_crc32c(0, from, n);
    for (int k = 0; k < 4; k++) at[k] = (char)(sum >> (8 * k));
}

enum { HEAD = 140, MEAN_BYTES = 12, BANK_BYTES = 20004 };

/* Every bit of the file, and every length; fewer bits under the sanitizers. */
#if defined(GEODEC_DEBUG)
enum { EVERY = 17 };
#else
enum { EVERY = 1 };
#endif
Test(hdm, damage_is_found, .timeout = 300)
{
    const char *path = test_tmp("m"), *bad = test_tmp("bad");
    geodec_hdm *m = small();
    char *bytes = NULL;
    size_t n;
    test_ok(geodec_hdm_write(path, m, &err), &err);
    test_ok(geodec_file_read(path, 1 << 20, &bytes, &n, &err), &err);
    int64_t texts = 0, length;
    for (int64_t i = 0; i < 11; i++) (void)geodec_hdm_text(m, i, &length), texts += length;
    cr_assert_eq(n, (size_t)(HEAD + MEAN_BYTES + 2 * BANK_BYTES + 11 * 8 + texts));
    write_bytes(bad, bytes, n);
    const int file = open(bad, O_WRONLY);
    for (size_t i = 0; i < 8 * n; i += EVERY) {
        const char changed = (char)(bytes[i / 8] ^ (char)(1 << (i % 8)));
        cr_assert_eq(pwrite(file, &changed, 1, (off_t)(i / 8)), 1);
        must_fail(bad, "bit", i);
        cr_assert_eq(pwrite(file, &bytes[i / 8], 1, (off_t)(i / 8)), 1);
    }
    geodec_hdm *back = NULL;
    test_ok(geodec_hdm_read(bad, &back, &err), &err); /* every bit is as it was */
    geodec_hdm_destroy(back);
    for (size_t k = n; k-- > 0;) {
        cr_assert_eq(ftruncate(file, (off_t)k), 0);
        must_fail(bad, "the first bytes:", k);
    }
    (void)close(file);
    geodec_hdm_destroy(m);
    geodec_mem_free(bytes);
}

/* With right sums: what no writer makes is refused by name. */
Test(hdm, files_that_no_writer_makes)
{
    static const struct {
        int at, value;
        geodec_status want;
        const char *word;
    } change[] = {
        {8, 2, GEODEC_VERSION, "version 2"},
        {12, 17, GEODEC_FORMAT, "bits"},
        {24, 12, GEODEC_FORMAT, "banks by 12 bits"},
        {28, 2, GEODEC_FORMAT, "projection 2"},
        {34, 4, GEODEC_FORMAT, "width"},
        {36, 1, GEODEC_FORMAT, "bytes; the head says"},
        {36, 12, GEODEC_FORMAT, "in 12 banks"},
        {43, 1, GEODEC_LIMIT, "entries"},
        {52, 1, GEODEC_LIMIT, "bytes of text"},
        {80, 0, GEODEC_FORMAT, "fingerprint"},
        {HEAD + MEAN_BYTES + BANK_BYTES, 0, GEODEC_FORMAT, "out of order"},
        {HEAD + MEAN_BYTES + 5, 127, GEODEC_FORMAT, "counter"},
        {HEAD + MEAN_BYTES + 2 * BANK_BYTES, 2, GEODEC_FORMAT, "entry 0: bank 2"},
        {HEAD + MEAN_BYTES + 2 * BANK_BYTES + 5, 127, GEODEC_FORMAT, "entry 0"},
        {HEAD + MEAN_BYTES + 2 * BANK_BYTES + 4, 1, GEODEC_FORMAT, "texts of"},
        {HEAD + 3, 0x7f, GEODEC_NUMERIC, "mean"}, /* 0x7f000000 + 0x800000 below */
    };
    const char *path = test_tmp("m"), *bad = test_tmp("bad");
    geodec_hdm *m = small(), *back = NULL;
    char *bytes = NULL, line[1000];
    size_t n;
    test_ok(geodec_hdm_write(path, m, &err), &err);
    test_ok(geodec_file_read(path, 1 << 20, &bytes, &n, &err), &err);
    char *const changed = geodec_mem_new((int64_t)n, 1);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        memcpy(changed, bytes, n);
        changed[change[i].at] = (char)change[i].value;
        if (change[i].want == GEODEC_NUMERIC) changed[change[i].at - 1] = (char)0x80; /* infinity */
        const int64_t size[] = {MEAN_BYTES, 2 * BANK_BYTES, 88, (int64_t)n - HEAD - MEAN_BYTES - 2 * BANK_BYTES - 88};
        int64_t at = HEAD;
        for (int p = 0; p < 4; at += size[p++]) set_sum(changed + 56 + 4 * p, changed + at, size[p]);
        set_sum(changed + 136, changed, 136);
        write_bytes(bad, changed, n);
        cr_assert_eq(geodec_hdm_read(bad, &back, &err), change[i].want, "change %zu", i);
        cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), change[i].word), "%zu: %s", i, line);
    }
    cr_assert_null(back);
    geodec_hdm_destroy(m);
    GEODEC_FREE(bytes, changed);
}
