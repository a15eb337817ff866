/* .trit files: the published bytes, every bit, truncation, hostile numbers, failures of writing. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "perspective/ternary_experts.h"
#include "support/support.h"
#include "ternary/header_internal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { BASE3 = GEODEC_TERNARY_BASE3, BITS2 = GEODEC_TERNARY_BITS2 };
static uint8_t good[EXPERTS_FILE], bad[EXPERTS_FILE];

static uint32_t u32(const uint8_t *p) { return geodec__header_u32(p); }
static int64_t i64(const uint8_t *p) { return geodec__header_i64(p); }

/* Offsets of the published format (trit.h), by number. */
Test(perspective_ternary_trit, a_file_has_the_published_bytes)
{
    for (int e = BASE3; e <= BITS2; e++)
        for (int by_row = 0; by_row < 2; by_row++) {
            const geodec_trit_shape s = experts_shape(e, by_row);
            geodec_err err = {0};
            const char *path = test_tmp("expert_007.trit");
            test_ok(experts_write(path, &s, 7, 0.1, &err), &err);
            const int64_t n = experts_slurp(path, good);
            /* 330 rows of 70 columns in one block, twice; 70 rows of 330 columns in two blocks */
            const int64_t payload = 64 + 330 * 64 * 2 + 70 * 128 + (by_row ? 4 * (330 + 330 + 70) : 0);
            const int64_t stride = (payload + 4095) / 4096 * 4096;
            cr_assert(memcmp(good, "TRIT", 4) == 0 && u32(good + 4) == 1 && u32(good + 8) == 4096 &&
                      u32(good + 12) == 7);
            cr_assert(u32(good + 16) == 3 && u32(good + 20) == 70 && u32(good + 24) == 330 &&
                      u32(good + 28) == (unsigned)e);
            cr_assert(u32(good + 32) == (unsigned)by_row && u32(good + 36) == 3 && i64(good + 40) == stride);
            cr_assert(i64(good + 48) == n && n == 4096 + 3 * stride && i64(good + 56) == (int64_t)0xfedcba9876543210);
            cr_assert_eq(u32(good + 64), geodec_crc32c(0, good, 64));
            for (int i = 0; i < 3; i++) {
                const uint8_t *t = good + 256 + 24 * i, *b = good + 4096 + i * stride;
                cr_assert(i64(t) == 4096 + i * stride && i64(t + 8) == payload);
                cr_assert(u32(t + 16) == (unsigned)experts_layers[i] && u32(t + 20) == geodec_crc32c(0, b, payload));
                cr_assert(memcmp(b, "EXPB", 4) == 0 && b[4] == experts_layers[i] && b[5] == 0 && b[6] == 7 &&
                          b[7] == 0);
                experts_matrices m = experts_make(&s, experts_layers[i], 7, 0.1);
                int64_t at = 64;
                for (int k = 0; k < 3; k++) {
                    int64_t nonzeros;
                    const float scale = by_row ? 0 : m.m[k].scale;
                    const int64_t bytes = m.m[k].rows * geodec_ternary_row_bytes(e, m.m[k].cols);
                    test_ok(geodec_ternary_check(&m.m[k], &nonzeros, &err), &err);
                    cr_assert(memcmp(b + 8 + 4 * k, &scale, 4) == 0 && u32(b + 20 + 4 * k) == nonzeros);
                    cr_assert(memcmp(b + at, m.m[k].data, (size_t)bytes) == 0);
                    at += bytes;
                }
                for (int k = 0; k < 3 && by_row; k++) {
                    cr_assert(memcmp(b + at, m.m[k].row_scale, (size_t)m.m[k].rows * 4) == 0);
                    at += 4 * m.m[k].rows;
                }
                cr_assert(at == payload && geodec__header_zeros(b + at, stride - at));
                experts_drop(&m);
            }
            test_ok(geodec_trit_verify(path, NULL, &err), &err);
        }
}

/* Sizes at the published dimensions. */
Test(perspective_ternary_trit, blobs_have_the_published_sizes)
{
    geodec_trit_shape s = {.layers = 60, .d = 4096, .f = 11008, .encoding = BASE3};
    cr_assert_eq(geodec_trit_payload_bytes(&s), 64 + 27492352); /* 27.49 MB */
    s.encoding = BITS2;
    cr_assert_eq(geodec_trit_payload_bytes(&s), 64 + 33816576); /* 33.82 MB */
    const geodec_trit_shape tiny = {.layers = 6, .d = 128, .f = 256, .encoding = BASE3};
    cr_assert_eq(geodec_trit_payload_bytes(&tiny), 64 + 40960);
    cr_assert_eq(geodec_trit_stride(&tiny), 45056);
}

Test(perspective_ternary_trit, layers_are_read_and_missing_ones_named)
{
    const geodec_trit_shape s = experts_shape(BASE3, true);
    geodec_err err = {0};
    geodec_trit t = {0};
    char line[512];
    const char *path = test_tmp("read.trit");
    test_ok(experts_write(path, &s, 3, 0.1, &err), &err);
    test_ok(geodec_trit_open(path, &t, &err), &err);
    cr_assert(t.expert == 3 && geodec_trit_same_shape(&t.shape, &s) &&
              t.payload_bytes == geodec_trit_payload_bytes(&s));
    test_ok(geodec_trit_expect(&t, &s, 3, &err), &err);
    uint8_t *blob = geodec_mem_new(t.stride, 1);
    cr_assert_not_null(blob);
    for (int i = 0; i < EXPERTS_LAYERS; i++) {
        geodec_ternary_matrix m[3];
        experts_matrices e = experts_make(&s, experts_layers[i], 3, 0.1);
        test_ok(geodec_trit_read(&t, experts_layers[i], blob, &err), &err);
        geodec_trit_matrices(&t.shape, blob, m);
        cr_assert(geodec_trit_payload_layer(blob) == experts_layers[i] && geodec_trit_payload_expert(blob) == 3);
        for (int k = 0; k < 3; k++) {
            const int64_t bytes = m[k].rows * geodec_ternary_row_bytes(BASE3, m[k].cols);
            cr_assert(m[k].rows == e.m[k].rows && m[k].cols == e.m[k].cols);
            cr_assert(memcmp(m[k].data, e.m[k].data, (size_t)bytes) == 0);
            cr_assert(memcmp(m[k].row_scale, e.m[k].row_scale, (size_t)m[k].rows * 4) == 0);
        }
        experts_drop(&e);
    }
    cr_assert_eq(geodec_trit_read(&t, 2, blob, &err), GEODEC_NOTFOUND);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "read.trit: layer 2, expert 3"), "%s", line);
    geodec_trit_shape other = s;
    cr_assert_eq(geodec_trit_expect(&t, &s, 4, NULL), GEODEC_CHECKSUM);
    other.model++;
    cr_assert_eq(geodec_trit_expect(&t, &other, 3, NULL), GEODEC_CHECKSUM);
    other = s;
    other.by_row = false;
    cr_assert_eq(geodec_trit_expect(&t, &other, 3, NULL), GEODEC_CHECKSUM);
    geodec_mem_free(blob);
    geodec_trit_close(&t);
    geodec_trit_close(&t);
}

/* Every bit of the header page, every eleventh byte of the blobs. */
Test(perspective_ternary_trit, verification_finds_every_bit)
{
    const geodec_trit_shape s = experts_shape(BITS2, false);
    geodec_err err = {0};
    char line[512], want[64];
    const char *path = test_tmp("bits.trit");
    test_ok(experts_write(path, &s, 3, 0.1, &err), &err);
    const int64_t n = experts_slurp(path, good), stride = geodec_trit_stride(&s);
    const int fd = open(path, O_RDWR);
    cr_assert_geq(fd, 0);
    for (int64_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            const bool table = i < 256 + 24 * EXPERTS_LAYERS, prefix = i >= 4096 && (i - 4096) % stride < 64;
            if (!table && !prefix && (i % 11 || bit != i % 8)) continue;
            const uint8_t flipped = (uint8_t)(good[i] ^ 1u << bit);
            cr_assert_eq(pwrite(fd, &flipped, 1, i), 1);
            geodec_err_clear(&err);
            cr_assert_neq(geodec_trit_verify(path, NULL, &err), GEODEC_OK, "byte %lld, bit %d", (long long)i, bit);
            (void)geodec_err_line(&err, line, sizeof line);
            cr_assert(strstr(line, path), "%s", line);
            if (i >= 4096) {
                (void)snprintf(want, sizeof want, "layer %d, expert 3", experts_layers[(i - 4096) / stride]);
                cr_assert(strstr(line, want), "%s", line);
            }
            cr_assert_eq(pwrite(fd, &good[i], 1, i), 1);
        }
    test_ok(geodec_trit_verify(path, NULL, &err), &err);
    (void)close(fd);
}

Test(perspective_ternary_trit, truncated_and_lengthened_files_are_refused)
{
    const geodec_trit_shape s = experts_shape(BASE3, false);
    const char *path = test_tmp("short.trit");
    geodec_trit t = {0};
    geodec_err err = {0};
    test_ok(experts_write(path, &s, 3, 0.1, &err), &err);
    const int64_t n = experts_slurp(path, good);
    for (int64_t size = 0; size < n; size += size < 300 ? 7 : 991) {
        cr_assert_eq(truncate(path, size), 0);
        cr_assert_eq(geodec_trit_open(path, &t, NULL), GEODEC_FORMAT, "%lld bytes", (long long)size);
        experts_spill(path, good, n);
    }
    cr_assert_eq(truncate(path, n + 1), 0);
    cr_assert_eq(geodec_trit_open(path, &t, NULL), GEODEC_FORMAT);
    cr_assert_eq(geodec_trit_open(test_tmp("none"), &t, NULL), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_trit_open(test_tmpdir(), &t, NULL), GEODEC_IO);
    cr_assert_null(t.entry);
    /* a file that becomes short while it is open */
    experts_spill(path, good, n);
    test_ok(geodec_trit_open(path, &t, &err), &err);
    uint8_t *blob = geodec_mem_new(t.stride, 1);
    cr_assert_eq(truncate(path, n - 4096), 0);
    cr_assert_eq(geodec_trit_read(&t, 5, blob, NULL), GEODEC_FORMAT);
    geodec_mem_free(blob);
    geodec_trit_close(&t);
}

/* Recomputes the CRC of the header and of every blob. */
static void repair(uint8_t *p, int64_t stride, int64_t payload)
{
    for (int i = 0; i < EXPERTS_LAYERS; i++) {
        const uint32_t crc = geodec_crc32c(0, p + 4096 + i * stride, payload);
        memcpy(p + 256 + 24 * i + 20, &crc, 4);
    }
    const uint32_t crc = geodec_crc32c(0, p, 64);
    memcpy(p + 64, &crc, 4);
}

Test(perspective_ternary_trit, hostile_numbers_are_refused)
{
    static const int64_t numbers[] = {-1, 0, 1, 2, 3, 65535, 65536, INT32_MAX, (int64_t)1 << 32, INT64_MAX, INT64_MIN};
    static const struct {
        int at, bytes;
        bool allowed; /* another value may be right in itself */
    } fields[] = {{4, 4},  {8, 4},  {12, 4, true}, {16, 4},  {20, 4},  {24, 4},  {28, 4, true},  {32, 4},       {36, 4},
                  {40, 8}, {48, 8}, {56, 8, true}, {256, 8}, {264, 8}, {272, 4}, {296, 4, true}, {320, 4, true}};
    const geodec_trit_shape s = experts_shape(BASE3, false);
    const char *path = test_tmp("hostile.trit");
    geodec_err err = {0};
    test_ok(experts_write(path, &s, 3, 0.1, &err), &err);
    const int64_t n = experts_slurp(path, good), stride = geodec_trit_stride(&s),
                  payload = geodec_trit_payload_bytes(&s);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            geodec_trit t = {0};
            memcpy(bad, good, (size_t)n);
            memcpy(bad + fields[f].at, &numbers[i], (size_t)fields[f].bytes);
            if (memcmp(bad, good, (size_t)n) == 0) continue;
            repair(bad, stride, payload);
            experts_spill(path, bad, n);
            const geodec_status st = geodec_trit_open(path, &t, NULL);
            geodec_trit_close(&t);
            if (!fields[f].allowed) cr_assert_neq(st, GEODEC_OK, "%lld at %d", (long long)numbers[i], fields[f].at);
            /* the expert's number and the layers are also in the blobs, the encoding decides about every byte */
            if (fields[f].at != 56)
                cr_assert_neq(geodec_trit_verify(path, NULL, NULL), GEODEC_OK, "%lld at %d", (long long)numbers[i],
                              fields[f].at);
        }
}

/* Right checksums, wrong contents. */
Test(perspective_ternary_trit, wrong_blobs_are_refused)
{
    static const float not_finite[] = {INFINITY, NAN};
    static const uint8_t wrong_layer[] = {1, 0}, wrong_expert[] = {4, 0}, letter[] = {'X'}, one[] = {1};
    const struct {
        int at;
        const void *to;
        size_t n;
        const char *what;
    } cases[] = {{0, letter, 1, "EXPB"},          {4, wrong_layer, 2, "layer 1"},   {6, wrong_expert, 2, "expert 4"},
                 {8, &not_finite[0], 4, "scale"}, {16, &not_finite[1], 4, "scale"}, {33, one, 1, "unused"},
                 {63, one, 1, "unused"},          {20, one, 1, "nonzeros"},         {64, one, 1, "is no code"}};
    const geodec_trit_shape s = experts_shape(BASE3, false);
    const char *path = test_tmp("wrong.trit");
    char line[512];
    geodec_err err = {0};
    test_ok(experts_write(path, &s, 3, 0.1, &err), &err);
    const int64_t n = experts_slurp(path, good), stride = geodec_trit_stride(&s),
                  payload = geodec_trit_payload_bytes(&s);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(bad, good, (size_t)n);
        memcpy(bad + 4096 + cases[i].at, cases[i].to, cases[i].n);
        repair(bad, stride, payload);
        experts_spill(path, bad, n);
        geodec_err_clear(&err);
        cr_assert_eq(geodec_trit_verify(path, NULL, &err), GEODEC_FORMAT, "%s", cases[i].what);
        (void)geodec_err_line(&err, line, sizeof line);
        cr_assert(strstr(line, cases[i].what) && strstr(line, "layer 0, expert 3"), "%s", line);
    }
    memcpy(bad, good, (size_t)n);
    bad[4096 + stride - 1] = 1; /* after the payload, which no CRC covers */
    experts_spill(path, bad, n);
    cr_assert_eq(geodec_trit_verify(path, NULL, NULL), GEODEC_CHECKSUM);
}

Test(perspective_ternary_trit, writing_is_whole_or_not_at_all)
{
    const geodec_trit_shape s = experts_shape(BASE3, false);
    const char *path = test_tmp("plan.trit");
    geodec_trit_writer *w = NULL;
    geodec_err err = {0};
    experts_matrices e = experts_make(&s, 0, 3, 0.1);
    const int before = test_other_files(path);
    test_ok(geodec_trit_writer_create(path, &s, 3, &w, &err), &err);
    test_ok(geodec_trit_writer_blob(w, 4, e.m, &err), &err);
    cr_assert_eq(geodec_trit_writer_blob(w, 4, e.m, NULL), GEODEC_INVAL); /* not above the one before */
    e.m[1].rows--;
    cr_assert_eq(geodec_trit_writer_blob(w, 5, e.m, NULL), GEODEC_INVAL);
    e.m[1].rows++;
    e.m[2].scale = NAN;
    cr_assert_eq(geodec_trit_writer_blob(w, 5, e.m, NULL), GEODEC_NUMERIC);
    e.m[2].scale = 1;
    cr_assert_eq(geodec_trit_writer_blob(w, 70000, e.m, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_trit_writer_commit(w, NULL), GEODEC_INVAL); /* one of three */
    cr_assert_eq(access(path, F_OK), -1);
    cr_assert_eq(test_other_files(path), before);
    geodec_trit_shape wrong = s;
    wrong.layers = 0;
    cr_assert_eq(geodec_trit_writer_create(path, &wrong, 3, &w, NULL), GEODEC_LIMIT);
    wrong = s;
    wrong.encoding = 3;
    cr_assert_eq(geodec_trit_writer_create(path, &wrong, 3, &w, NULL), GEODEC_INVAL);
    wrong = s;
    wrong.d = wrong.f = 1 << 17;
    cr_assert_eq(geodec_trit_writer_create(path, &wrong, 3, &w, NULL), GEODEC_LIMIT);
    cr_assert_eq(geodec_trit_writer_create(path, &s, 70000, &w, NULL), GEODEC_RANGE);
    for (int k = 1; k < 8; k++) {
        geodec_mem_fail_after(k);
        const geodec_status st = experts_write(path, &s, 3, 0.1, NULL);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_NOMEM || st == GEODEC_OK);
        if (st == GEODEC_OK) break;
        cr_assert_eq(access(path, F_OK), -1);
    }
    experts_drop(&e);
}
