/* Stores of transformed keys: files, damage, keys of a text. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/toy_network.h"
#include "lab/integer/scores/stored.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS = 2, HEADS = 3, POSITIONS = 5, ROOM = 9, FILE_MOST = 1 << 17 };
static const geodec_scores_by by_transforms[] = {GEODEC_SCORES_NTT_P60, GEODEC_SCORES_NTT_CRT};

static int32_t number(int64_t head, int64_t position, int64_t i)
{
    return (int32_t)(geodec_rng_at((uint64_t)head, (uint64_t)position, (uint64_t)i) % 65535) - 32767;
}

static geodec_keys *filled(geodec_scores_by by, int32_t dim, geodec_isa isa)
{
    geodec_err err = {0};
    geodec_keys *k = NULL;
    geodec_scores *s = NULL;
    geodec_scores_query *w = NULL;
    int32_t *v = geodec_mem_new(dim, sizeof *v);
    test_ok(geodec_keys_create(by, dim, LAYERS, HEADS, ROOM, &k, &err), &err);
    test_ok(geodec_scores_create(by, dim, isa, &s, &err), &err);
    test_ok(geodec_scores_query_create(s, &w, &err), &err);
    k->positions = POSITIONS;
    for (int64_t h = 0; h < LAYERS * HEADS; h++)
        for (int64_t p = 0; p < POSITIONS; p++) {
            for (int64_t i = 0; i < dim; i++) v[i] = number(h, p, i);
            geodec_scores_key(s, w, v, geodec_keys_block(k, h, p));
            k->exponent[geodec_keys_at(k, h, p)] = (int32_t)(h * p) - 7;
        }
    for (int i = 0; i < GEODEC_KEYS_SOURCE; i++) k->source[i] = (uint8_t)(i + 1);
    geodec_scores_query_destroy(w);
    geodec_scores_destroy(s);
    geodec_mem_free(v);
    return k;
}

static size_t read_bytes(const char *path, uint8_t *bytes)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f);
    const size_t n = fread(bytes, 1, FILE_MOST, f);
    (void)fclose(f);
    cr_assert_lt(n, (size_t)FILE_MOST);
    return n;
}

static geodec_status load_bytes(const uint8_t *bytes, size_t n)
{
    const char *path = test_tmp("damaged.store");
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    (void)fclose(f);
    geodec_err err = {0};
    geodec_keys *k = NULL;
    const geodec_status st = geodec_keys_load(path, &k, &err);
    cr_assert_eq(st == GEODEC_OK, k != NULL);
    if (st != GEODEC_OK) {
        char line[1000];
        cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "damaged.store"));
    }
    geodec_keys_destroy(k);
    return st;
}

static void check_scores(const geodec_keys *k, geodec_isa isa)
{
    geodec_err err = {0};
    geodec_scores *s = NULL;
    geodec_scores_query *w = NULL;
    int32_t *q = geodec_mem_new(k->dim, sizeof *q);
    test_ok(geodec_scores_create(k->by, k->dim, isa, &s, &err), &err);
    test_ok(geodec_scores_query_create(s, &w, &err), &err);
    for (int64_t i = 0; i < k->dim; i++) q[i] = number(100, 1, i);
    geodec_scores_load(s, w, q);
    for (int64_t h = 0; h < LAYERS * HEADS; h++) {
        int64_t c[POSITIONS];
        geodec_scores_sums(s, w, geodec_keys_block(k, h, 0), POSITIONS, c);
        for (int64_t p = 0; p < POSITIONS; p++) {
            int64_t sum = 0;
            for (int64_t i = 0; i < k->dim; i++) sum += (int64_t)q[i] * number(h, p, i);
            cr_assert_eq(c[p], sum);
            cr_assert_eq(k->exponent[geodec_keys_at(k, h, p)], (int32_t)(h * p) - 7);
        }
    }
    geodec_mem_free(q);
    geodec_scores_query_destroy(w);
    geodec_scores_destroy(s);
}

/* Written on any instruction set: the same bytes, and the same scores on any other. */
Test(keys, files_pass_between_instruction_sets)
{
    static const int32_t dims[] = {1, 16, 27, 256, 520};
    uint8_t *bytes = geodec_mem_new(2 * FILE_MOST * 2, 1), *other = bytes + 2 * FILE_MOST;
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (int b = 0; b < 2; b++) {
            size_t size = 0;
            for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
                geodec_err err = {0};
                if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
                const char *path = test_tmp("keys.store");
                geodec_keys *k = filled(by_transforms[b], dims[d], (geodec_isa)isa), *back = NULL;
                test_ok(geodec_keys_save(k, path, &err), &err);
                geodec_keys_destroy(k);
                test_ok(geodec_keys_load(path, &back, &err), &err);
                cr_assert(back->by == by_transforms[b] && back->dim == dims[d] && back->layers == LAYERS &&
                          back->heads == HEADS && back->positions == POSITIONS && back->source[31] == 32);
                for (int at = GEODEC_ISA_SCALAR; at <= GEODEC_ISA_AVX512; at++)
                    if (geodec_kernels_isa_available((geodec_isa)at)) check_scores(back, (geodec_isa)at);
                geodec_keys_destroy(back);
                if (dims[d] > 256) continue; /* too long to compare here */
                const size_t n = read_bytes(path, size ? other : bytes);
                if (size) cr_assert(n == size && memcmp(bytes, other, n) == 0);
                size = n;
            }
        }
    geodec_mem_free(bytes);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

static size_t good_file(geodec_scores_by by, uint8_t *bytes)
{
    geodec_err err = {0};
    const char *path = test_tmp("good.store");
    geodec_keys *k = filled(by, 6, GEODEC_ISA_SCALAR);
    test_ok(geodec_keys_save(k, path, &err), &err);
    geodec_keys_destroy(k);
    return read_bytes(path, bytes);
}

Test(keys, every_bit_and_every_byte_is_checked, .timeout = 120)
{
    uint8_t *bytes = geodec_mem_new(FILE_MOST, 1);
    for (int b = 0; b < 2; b++) {
        const size_t n = good_file(by_transforms[b], bytes);
        cr_assert_eq(n, GEODEC_KEYS_HEADER + 128 + LAYERS * HEADS * POSITIONS * 128);
        cr_assert_eq(load_bytes(bytes, n), GEODEC_OK);
        for (size_t i = 0; i < 8 * n; i += i < 8 * GEODEC_KEYS_HEADER ? 1 : 97) {
            bytes[i / 8] ^= (uint8_t)(1 << i % 8);
            const geodec_status st = load_bytes(bytes, n);
            cr_assert(st == GEODEC_CHECKSUM || (st == GEODEC_FORMAT && i < 64), "bit %zu: status %d", i, st);
            bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        }
        for (size_t k = 0; k < n; k += k < GEODEC_KEYS_HEADER + 2 ? 1 : 331)
            cr_assert_eq(load_bytes(bytes, k), GEODEC_FORMAT, "%zu", k);
        cr_assert_eq(load_bytes(bytes, n - 1), GEODEC_FORMAT);
        cr_assert_eq(load_bytes(bytes, n + 1), GEODEC_FORMAT);
        cr_assert_eq(load_bytes(bytes, n + 64), GEODEC_FORMAT);
    }
    geodec_mem_free(bytes);
}

/* Sums that fit a changed file. */
static void seal(uint8_t *bytes, size_t n)
{
    uint32_t crc = geodec_crc32c(0, bytes + GEODEC_KEYS_HEADER, (int64_t)n - GEODEC_KEYS_HEADER);
    for (int i = 0; i < 4; i++) bytes[56 + i] = (uint8_t)(crc >> 8 * i);
    crc = geodec_crc32c(0, bytes, 124);
    for (int i = 0; i < 4; i++) bytes[124 + i] = (uint8_t)(crc >> 8 * i);
}

/* Fields that contradict each other or leave their limits, under valid sums. */
Test(keys, every_field_is_checked)
{
    static const struct {
        int at;
        uint8_t value;
        geodec_status status;
    } p60[] = {
        {0, 'x', GEODEC_FORMAT},        {8, 2, GEODEC_VERSION},         {12, 2, GEODEC_VERSION},
        {16, 1, GEODEC_FORMAT},         {20, 1, GEODEC_FORMAT},         {24, 32, GEODEC_FORMAT},
        {31, 1, GEODEC_FORMAT},         {32, 0, GEODEC_FORMAT},         {32, 17, GEODEC_FORMAT},
        {35, 0x80, GEODEC_FORMAT},      {38, 0x20, GEODEC_FORMAT},      {39, 0x7f, GEODEC_FORMAT},
        {40, 0, GEODEC_FORMAT},         {40, 3, GEODEC_FORMAT},         {42, 1, GEODEC_FORMAT},
        {44, 0, GEODEC_FORMAT},         {44, 9, GEODEC_FORMAT},         {47, 0xff, GEODEC_FORMAT},
        {48, 0, GEODEC_FORMAT},         {48, 6, GEODEC_FORMAT},         {52, 1, GEODEC_FORMAT},
        {55, 0x80, GEODEC_FORMAT},      {92, 1, GEODEC_FORMAT},         {123, 1, GEODEC_FORMAT},
        {128 + 3, 0x80, GEODEC_FORMAT}, {128 + 2, 0x20, GEODEC_FORMAT}, {256 - 1, 1, GEODEC_FORMAT},
        {256 + 7, 0x10, GEODEC_FORMAT},
    };
    uint8_t *bytes = geodec_mem_new(FILE_MOST, 1);
    size_t n = good_file(GEODEC_SCORES_NTT_P60, bytes);
    for (size_t i = 0; i < sizeof p60 / sizeof *p60; i++) {
        const uint8_t was = bytes[p60[i].at];
        cr_assert_neq(was, p60[i].value);
        bytes[p60[i].at] = p60[i].value;
        seal(bytes, n);
        cr_assert_eq(load_bytes(bytes, n), p60[i].status, "byte %d", p60[i].at);
        bytes[p60[i].at] = was;
    }
    seal(bytes, n);
    cr_assert_eq(load_bytes(bytes, n), GEODEC_OK);
    n = good_file(GEODEC_SCORES_NTT_CRT, bytes);
    bytes[16] = 3; /* w1, w2 are for longer keys */
    bytes[20] = 4;
    seal(bytes, n);
    cr_assert_eq(load_bytes(bytes, n), GEODEC_FORMAT);
    n = good_file(GEODEC_SCORES_NTT_CRT, bytes);
    bytes[n - 1] = 0x40; /* a word of the last key's second modulus */
    seal(bytes, n);
    cr_assert_eq(load_bytes(bytes, n), GEODEC_FORMAT);
    geodec_mem_free(bytes);
}

Test(keys, limits_and_failures)
{
    geodec_err err = {0};
    geodec_keys *k = NULL;
    cr_assert_eq(geodec_keys_create(GEODEC_SCORES_DIRECT, 8, 1, 1, 1, &k, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_keys_create(GEODEC_SCORES_NTT_P60, 0, 1, 1, 1, &k, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_keys_create(GEODEC_SCORES_NTT_P60, 8, 1, 0, 1, &k, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_keys_create(GEODEC_SCORES_NTT_P60, 8, 1, 1, 1 << 25, &k, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_keys_create(GEODEC_SCORES_NTT_P60, 4096, 65535, 65535, 1 << 24, &k, &err), GEODEC_NOMEM);
    cr_assert_eq(geodec_keys_load(test_tmp("none.store"), &k, &err), GEODEC_NOTFOUND);
    cr_assert_null(k);
    k = filled(GEODEC_SCORES_NTT_CRT, 6, GEODEC_ISA_AUTO);
    k->positions = 0;
    cr_assert_eq(geodec_keys_save(k, test_tmp("empty.store"), &err), GEODEC_INVAL);
    cr_assert_null(fopen(test_tmp("empty.store"), "rb"));
    k->positions = POSITIONS;
    test_ok(geodec_keys_save(k, test_tmp("failing.store"), &err), &err);
    for (int save = 0; save < 2; save++) {
        bool done = false;
        for (int64_t i = 1; !done; i++) {
            geodec_keys *back = NULL;
            geodec_mem_fail_after(i);
            const geodec_status st = save ? geodec_keys_save(k, test_tmp("failing.store"), &err)
                                          : geodec_keys_load(test_tmp("failing.store"), &back, &err);
            geodec_mem_fail_after(0);
            done = st == GEODEC_OK;
            if (!done) cr_assert_eq(st, GEODEC_NOMEM);
            geodec_keys_destroy(back);
            cr_assert_lt(i, 100);
        }
    }
    geodec_keys_destroy(k);
}

/* ---- keys of a text ---------------------------------------------------------------------------------------------- */

Test(keys, a_later_query_has_the_scores_of_fresh_keys)
{
    enum { N = 80 };
    geodec_pool *pool = NULL;
    geodec_err err = {0};
    int32_t token[N];
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    geodec_network *n = toy_network(1, 0), *other = toy_network(2, 0);
    n->layer[1].window = 30;
    for (int i = 0; i < N; i++) token[i] = (int32_t)(geodec_rng_at(3, 3, (uint64_t)i) % TOY_VOCAB);
    for (int b = 0; b < 2; b++) {
        geodec_keys *made = NULL, *k = NULL;
        geodec_stored_row *row = NULL;
        geodec_stored_text t = {.net = n, .model = "one", .token = token, .n = N - 1, .pool = b ? NULL : pool};
        test_ok(geodec_stored_make(&t, by_transforms[b], &made, &err), &err);
        test_ok(geodec_keys_save(made, test_tmp("text.store"), &err), &err);
        geodec_keys_destroy(made);
        test_ok(geodec_keys_load(test_tmp("text.store"), &k, &err), &err);
        t.n = N;
        test_ok(geodec_stored_compare(&t, k, &row, &err), &err);
        for (int i = 0; i < TOY_LAYERS * TOY_HEADS; i++) {
            cr_assert(row[i].layer == i / TOY_HEADS && row[i].head == i % TOY_HEADS);
            cr_assert_eq(row[i].scores, i < TOY_HEADS ? N - 1 : 29); /* with its own row the window is full */
            cr_assert_eq(row[i].differing, 0);
            cr_assert(row[i].position >= (i < TOY_HEADS ? 0 : N - 30) && row[i].position < N - 1);
        }
        geodec_mem_free(row);
        row = NULL;
        /* one word of a key of head 1, one exponent of head 0: two query heads see each */
        ((uint32_t *)(void *)geodec_keys_block(k, 1, 11))[2] ^= 1;
        k->exponent[geodec_keys_at(k, 0, 12)]++;
        test_ok(geodec_stored_compare(&t, k, &row, &err), &err);
        for (int i = 0; i < TOY_LAYERS * TOY_HEADS; i++) cr_assert_eq(row[i].differing, i < TOY_HEADS ? 1 : 0);
        geodec_mem_free(row);
        row = NULL;
        t.model = "two";
        cr_assert_eq(geodec_stored_compare(&t, k, &row, &err), GEODEC_CHECKSUM);
        t.model = "one";
        t.n = N - 1;
        cr_assert_eq(geodec_stored_compare(&t, k, &row, &err), GEODEC_CHECKSUM);
        t.n = N;
        token[40] ^= 1;
        cr_assert_eq(geodec_stored_compare(&t, k, &row, &err), GEODEC_CHECKSUM);
        token[40] ^= 1;
        t.net = other;
        other->config.n_layer--;
        cr_assert_eq(geodec_stored_compare(&t, k, &row, &err), GEODEC_CHECKSUM);
        other->config.n_layer++;
        cr_assert_null(row);
        geodec_keys_destroy(k);
    }
    geodec_network_free(n);
    geodec_network_free(other);
    geodec_pool_destroy(pool);
}
