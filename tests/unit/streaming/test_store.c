/* Stores of toy experts: what is written is read, any damage is found, hostile indexes are refused. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/rng.h"
#include "streaming/store_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAYERS = 3, EXPERTS = 4, DENSE = 1, RESIDENT = 5000, MOST = 1 << 18 };

static const int64_t sizes[LAYERS][3] = {{100, 200, 4000}, {0, 0, 0}, {64, 1, 63}};

static geodec_store toy_plan(geodec_store_matrix matrix[LAYERS * 3])
{
    geodec_store plan = {.matrix = matrix, .layout = 1};
    plan.blobs.n_layer = LAYERS;
    plan.blobs.n_expert = EXPERTS;
    memset(plan.fingerprint, 'a', GEODEC_SHA256_HEX - 1);
    for (int i = 0; i < LAYERS * 3; i++) {
        const int64_t bytes = sizes[i / 3][i % 3];
        matrix[i] = (geodec_store_matrix){0};
        if (bytes)
            matrix[i] = (geodec_store_matrix){
                .type = 2, .packing = i % 2, .rows = 3 + i, .cols = 32, .bytes = bytes, .at = 12345 /* overwritten */};
    }
    return plan;
}

static uint8_t value(int64_t stream, int64_t i)
{
    return (uint8_t)(geodec_rng_at(7, (uint64_t)stream, (uint64_t)i) | 1);
}

static void fill(uint8_t *p, int64_t stream, int64_t n)
{
    for (int64_t i = 0; i < n; i++) p[i] = value(stream, i);
}

static geodec_status write_blobs(geodec_store_writer *w, int32_t most, geodec_err *err)
{
    static uint8_t blob[8192];
    const geodec_store *plan = geodec_store_writer_plan(w);
    for (int32_t i = 0; i < LAYERS * EXPERTS && i < most; i++) {
        const geodec_store_matrix *last = &plan->matrix[(int64_t)(i / EXPERTS) * 3 + 2];
        if (last->rows == 0) continue;
        fill(blob, i, last->at + last->bytes);
        GEODEC_PASS(geodec_store_writer_blob(w, blob, last->at + last->bytes, err));
    }
    return GEODEC_OK;
}

/* Only the first `most` experts are written. */
static geodec_status write_some(const char *path, int32_t most, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static uint8_t resident[RESIDENT];
    geodec_store_matrix matrix[LAYERS * 3];
    const geodec_store plan = toy_plan(matrix);
    geodec_store_writer *w = NULL;
    fill(resident, 1000, RESIDENT);
    GEODEC_TRY(geodec_store_writer_create(path, &plan, &w, err));
    GEODEC_TRY(geodec_atomic_write(geodec_store_writer_file(w), resident, RESIDENT, err));
    GEODEC_TRY(write_blobs(w, most, err));
    st = geodec_store_writer_commit(w, err);
    w = NULL;
    GEODEC_TRY(st);
done:
    geodec_store_writer_abandon(w);
    return st;
}

static geodec_status write_toy(const char *path, geodec_err *err) { return write_some(path, LAYERS * EXPERTS, err); }

static int64_t slurp(const char *path, uint8_t *to)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f);
    const size_t n = fread(to, 1, MOST, f);
    (void)fclose(f);
    return (int64_t)n;
}

static void spill(const char *path, const uint8_t *from, int64_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(from, 1, (size_t)n, f), (size_t)n);
    (void)fclose(f);
}

static uint8_t good[MOST], bad[MOST];

static int64_t toy(const char *path)
{
    geodec_err err = {0};
    test_ok(write_toy(path, &err), &err);
    return slurp(path, good);
}

Test(streaming_store, what_is_written_is_read)
{
    geodec_err err = {0};
    geodec_store s = {0};
    const char *path = test_tmp("toy.experts");
    const int64_t n = toy(path);
    cr_assert(geodec_store_is(path));
    cr_assert_not(geodec_store_is("/nonexistent/x"));
    test_ok(geodec_store_read(path, &s, &err), &err);
    test_ok(geodec_store_verify(path, NULL, &err), &err);
    cr_assert_eq(s.blobs.file_bytes, n);
    cr_assert_eq(s.layout, 1);
    cr_assert_str_eq(s.blobs.path, path);
    cr_assert_eq(s.blobs.slot_bytes, 8192);
    cr_assert(s.resident_offset == 8192 && s.resident_bytes == RESIDENT);
    for (int64_t i = 0; i < RESIDENT; i++) cr_assert_eq(good[s.resident_offset + i], value(1000, i));
    for (int32_t l = 0; l < LAYERS; l++)
        for (int32_t e = 0; e < EXPERTS; e++) {
            const geodec_blob_piece *p = geodec_blobs_at(&s.blobs, l, e);
            const geodec_store_matrix *m = &s.matrix[l * 3];
            cr_assert(p[1].bytes == 0 && p[2].bytes == 0);
            cr_assert_eq(p->bytes, l == DENSE ? 0 : m[2].at + m[2].bytes);
            cr_assert_eq(p->offset % GEODEC_BLOB_PAGE, 0);
            for (int64_t i = 0; i < p->bytes; i++) cr_assert_eq(good[p->offset + i], value(l * EXPERTS + e, i));
            cr_assert_eq(s.blobs.crc[l * EXPERTS + e], geodec_crc32c(0, good + p->offset, p->bytes));
        }
    for (int i = 0; i < LAYERS * 3; i++) {
        const geodec_store_matrix *m = &s.matrix[i];
        cr_assert_eq(m->bytes, sizes[i / 3][i % 3]);
        cr_assert(m->at % 64 == 0 && m->rows == (m->bytes ? 3 + i : 0) && m->packing == (m->bytes ? i % 2 : 0));
    }
    cr_assert(s.matrix[0].at == 0 && s.matrix[1].at == 128 && s.matrix[2].at == 384);
    geodec_store_clear(&s);
    geodec_store_clear(&s);
}

/* One bit in every eleventh byte, and in every byte of header and index that holds a number. */
Test(streaming_store, verification_finds_every_bit)
{
    geodec_err err = {0};
    char line[512], want[64];
    const char *path = test_tmp("bits.experts");
    const int64_t n = toy(path), index = geodec__store_index_bytes(LAYERS, EXPERTS);
    geodec_store s = {0};
    test_ok(geodec_store_read(path, &s, &err), &err);
    const int fd = open(path, O_RDWR);
    cr_assert_geq(fd, 0);
    for (int64_t i = 0; i < n; i++) {
        if (i % 11 && i >= 140 && (i < GEODEC__STORE_AT_CRC || i >= GEODEC__STORE_HEADER + index)) continue;
        const uint8_t flipped = (uint8_t)(good[i] ^ 1u << i % 8);
        cr_assert_eq(pwrite(fd, &flipped, 1, i), 1);
        geodec_err_clear(&err);
        cr_assert_neq(geodec_store_verify(path, NULL, &err), GEODEC_OK, "byte %lld", (long long)i);
        (void)geodec_err_line(&err, line, sizeof line);
        cr_assert(strstr(line, path), "%s", line);
        for (int32_t k = 0; k < LAYERS * EXPERTS; k++) {
            const geodec_blob_piece *p = geodec_blobs_at(&s.blobs, k / EXPERTS, k % EXPERTS);
            if (i < p->offset || i >= p->offset + geodec_blobs_room(p)) continue;
            (void)snprintf(want, sizeof want, "layer %d, expert %d:", k / EXPERTS, k % EXPERTS);
            cr_assert(strstr(line, want), "%s", line);
        }
        cr_assert_eq(pwrite(fd, &good[i], 1, i), 1);
    }
    test_ok(geodec_store_verify(path, NULL, &err), &err);
    (void)close(fd);
    geodec_store_clear(&s);
}

Test(streaming_store, truncated_and_lengthened_files_are_refused)
{
    const char *path = test_tmp("short.experts");
    geodec_store s = {0};
    const int64_t n = toy(path);
    for (int64_t size = 0; size < n; size += size < 200 ? 13 : 997) {
        cr_assert_eq(truncate(path, size), 0);
        cr_assert_eq(geodec_store_read(path, &s, NULL), GEODEC_FORMAT, "%lld bytes", (long long)size);
        spill(path, good, n);
    }
    cr_assert_eq(truncate(path, n + 1), 0);
    cr_assert_eq(geodec_store_read(path, &s, NULL), GEODEC_FORMAT);
    cr_assert_eq(geodec_store_read(test_tmp("none"), &s, NULL), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_store_read(test_tmpdir(), &s, NULL), GEODEC_IO);
    cr_assert_null(s.matrix);
}

/* Makes both checksums right again. */
static void repair(uint8_t *p, int64_t n)
{
    const int64_t index = geodec__store_i64(p + GEODEC__STORE_AT_INDEX_BYTES);
    if (index > 0 && index <= n - GEODEC__STORE_HEADER) {
        const uint32_t crc = geodec_crc32c(0, p + GEODEC__STORE_HEADER, index);
        geodec__store_put(p + GEODEC__STORE_AT_INDEX_CRC, &crc, 4);
    }
    const uint32_t crc = geodec_crc32c(0, p, GEODEC__STORE_AT_CRC);
    geodec__store_put(p + GEODEC__STORE_AT_CRC, &crc, 4);
}

static geodec_status read_bad(const char *path, int64_t n)
{
    geodec_store s = {0};
    repair(bad, n);
    spill(path, bad, n);
    const geodec_status st = geodec_store_read(path, &s, NULL);
    geodec_store_clear(&s);
    return st;
}

Test(streaming_store, hostile_numbers_are_refused)
{
    const char *path = test_tmp("hostile.experts");
    const int64_t n = toy(path), blobs = GEODEC__STORE_HEADER + LAYERS * 3 * GEODEC__STORE_MATRIX_BYTES;
    static const int64_t numbers[] = {-1,
                                      0,
                                      1,
                                      63,
                                      64,
                                      4095,
                                      4096,
                                      8191,
                                      1 << 20,
                                      INT32_MAX,
                                      INT64_MAX,
                                      INT64_MIN,
                                      (int64_t)1 << 40,
                                      INT64_MAX - 4095};
    memcpy(bad, good, (size_t)n);
    cr_assert_eq(read_bad(path, n), GEODEC_OK); /* repair changes nothing */
    /* every number of the header and the index in turn; the fields are 4 or 8 bytes */
    for (int64_t at = 0; at < blobs + LAYERS * EXPERTS * GEODEC__STORE_BLOB_BYTES; at += 4) {
        if (at >= GEODEC__STORE_AT_FINGERPRINT + 64 && at < GEODEC__STORE_HEADER) continue;
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            for (int width = 4; width <= 8; width += 4) {
                if (at % width) continue;
                memcpy(bad, good, (size_t)n);
                memcpy(bad + at, &numbers[k], (size_t)width);
                const bool same = memcmp(bad, good, (size_t)n) == 0;
                const geodec_status st = read_bad(path, n);
                const bool free_field = at == GEODEC__STORE_AT_VERSION || at == GEODEC__STORE_AT_LAYOUT ||
                                        at == GEODEC__STORE_AT_INDEX_CRC || at == GEODEC__STORE_AT_RESIDENT_CRC ||
                                        at >= GEODEC__STORE_HEADER;
                const bool as_long = at == GEODEC__STORE_AT_RESIDENT + 8 && numbers[k] == 8191; /* as many pages */
                cr_assert(same || as_long || free_field || st != GEODEC_OK, "%lld at %lld", (long long)numbers[k],
                          (long long)at);
            }
    }
    /* blobs that overlap, swap places, or lie outside */
    for (int64_t i = 0; i < LAYERS * EXPERTS; i++)
        for (int64_t step = -GEODEC_BLOB_PAGE; step <= GEODEC_BLOB_PAGE; step += GEODEC_BLOB_PAGE / 2)
            for (int64_t field = 0; field < 16; field += 8) {
                if (!step) continue;
                memcpy(bad, good, (size_t)n);
                uint8_t *p = bad + blobs + i * GEODEC__STORE_BLOB_BYTES + field;
                const int64_t v = geodec__store_i64(p) + step;
                geodec__store_put(p, &v, 8);
                cr_assert_eq(read_bad(path, n), GEODEC_FORMAT);
            }
    memcpy(bad, good, (size_t)n);
    const uint32_t many = GEODEC_STORE_LAYERS + 1, version = 2;
    geodec__store_put(bad + GEODEC__STORE_AT_LAYERS, &many, 4);
    cr_assert_eq(read_bad(path, n), GEODEC_LIMIT);
    memcpy(bad, good, (size_t)n);
    geodec__store_put(bad + GEODEC__STORE_AT_VERSION, &version, 4);
    cr_assert_eq(read_bad(path, n), GEODEC_VERSION);
    memcpy(bad, good, (size_t)n);
    bad[0] = 'g';
    cr_assert_eq(read_bad(path, n), GEODEC_FORMAT);
    cr_assert_not(geodec_store_is(path));
}

Test(streaming_store, a_full_disk_leaves_nothing)
{
    const char *path = test_tmp("full.experts");
    const int64_t n = toy(path);
    cr_assert_eq(unlink(path), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit was;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    for (int64_t most = 1; most < n; most += 4099) {
        geodec_err err = {0};
        const struct rlimit small = {(rlim_t)most, was.rlim_max};
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        const geodec_status st = write_toy(path, &err);
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
        cr_assert_eq(st, GEODEC_IO, "%lld bytes", (long long)most);
        cr_assert_eq(access(path, F_OK), -1);
        cr_assert_eq(test_other_files(path), 0);
    }
    cr_assert_eq(toy(path), n);
}

Test(streaming_store, unfinished_stores_are_not_put_in_place)
{
    geodec_err err = {0};
    const char *path = test_tmp("part.experts");
    uint8_t x[8] = {0};
    geodec_store_matrix matrix[LAYERS * 3];
    geodec_store plan = toy_plan(matrix);
    geodec_store_writer *w = NULL;
    cr_assert_eq(write_some(path, 3, &err), GEODEC_INVAL);
    cr_assert_eq(access(path, F_OK), -1);
    test_ok(geodec_store_writer_create(path, &plan, &w, &err), &err);
    cr_assert_eq(geodec_store_writer_blob(w, x, 8, &err), GEODEC_INVAL); /* no resident part */
    test_ok(geodec_atomic_write(geodec_store_writer_file(w), x, 8, &err), &err);
    cr_assert_eq(geodec_store_writer_blob(w, x, 8, &err), GEODEC_INVAL); /* not of that size */
    geodec_store_writer_abandon(w);
    cr_assert_eq(test_other_files(path), 0);
    plan.fingerprint[0] = 0;
    cr_assert_eq(geodec_store_writer_create(path, &plan, &w, &err), GEODEC_INVAL);
    /* a process that ends in mid-write leaves its temporary file, which the next one replaces */
    const pid_t child = fork();
    if (child == 0) {
        const geodec_store again = toy_plan(matrix);
        if (geodec_store_writer_create(path, &again, &w, NULL) != GEODEC_OK ||
            geodec_atomic_write(geodec_store_writer_file(w), x, 8, NULL) != GEODEC_OK ||
            write_blobs(w, 2, NULL) != GEODEC_OK)
            _exit(1);
        (void)fflush(geodec_atomic_stream(geodec_store_writer_file(w)));
        (void)kill(getpid(), SIGKILL);
    }
    int how;
    cr_assert_eq(waitpid(child, &how, 0), child);
    cr_assert(WIFSIGNALED(how));
    cr_assert_eq(access(path, F_OK), -1);
    cr_assert_eq(test_other_files(path), 1);
    (void)toy(path);
    test_ok(geodec_store_verify(path, NULL, &err), &err);
    cr_assert_eq(test_other_files(path), 0);
}

static int stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)total;
    return done >= *(int64_t *)ctx;
}

Test(streaming_store, verification_can_be_stopped)
{
    const char *path = test_tmp("stop.experts");
    int64_t at = 2;
    const geodec_hooks hooks = {.ctx = &at, .progress = stop};
    (void)toy(path);
    cr_assert_eq(geodec_store_verify(path, &hooks, NULL), GEODEC_INTERRUPTED);
}

Test(streaming_store, memory_runs_out)
{
    const char *path = test_tmp("mem.experts");
    geodec_status st = GEODEC_NOMEM;
    (void)toy(path);
    int64_t k = 1;
    for (; st != GEODEC_OK; k++) {
        geodec_store s = {0};
        geodec_mem_fail_after(k);
        st = geodec_store_read(path, &s, NULL);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_OK || (st == GEODEC_NOMEM && !s.matrix));
        geodec_store_clear(&s);
    }
    cr_assert_geq(k, 6);
    st = GEODEC_NOMEM;
    for (k = 1; st != GEODEC_OK; k++) {
        geodec_mem_fail_after(k);
        st = write_toy(path, NULL);
        geodec_mem_fail_after(0);
        cr_assert(st == GEODEC_OK || st == GEODEC_NOMEM);
        cr_assert_eq(test_other_files(path), 0);
    }
    cr_assert_geq(k, 8);
    (void)slurp(path, bad);
    cr_assert_eq(memcmp(bad, good, 4096), 0);
}
