/* Traces: what is written is read; damage is found. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "driver.h"
#include "io/file.h"
#include "streaming/trace.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static geodec_err err;

static const int64_t blob[3] = {8192, 0, 4096};

static void write_small(const char *path)
{
    const float usage[12] = {.5F, .25F, 0, 1};
    const geodec_slots_options o = {.n_layer = 3,
                                    .n_expert = 4,
                                    .n_slots = 6,
                                    .eviction = GEODEC_EVICTION_MAP,
                                    .shared = true,
                                    .usage = usage,
                                    .prefetch_least = .25F,
                                    .prefetch_most = 3};
    geodec_trace_writer *w = NULL;
    test_ok(geodec_trace_create(path, &o, blob, &w, &err), &err);
    const int32_t expert[3] = {3, 0, 2};
    const float probability[3] = {.9F, .1F, 1e-7F};
    const geodec_slots_event event[] = {
        {.call = GEODEC_SLOTS_WARM, .layer = 2, .n = 1, .expert = expert},
        {.call = GEODEC_SLOTS_PASS},
        {.call = GEODEC_SLOTS_FORETELL, .layer = 2, .n = 3, .expert = expert, .probability = probability},
        {.call = GEODEC_SLOTS_NEED, .layer = 0, .n = 2, .expert = expert},
        {.call = GEODEC_SLOTS_EXPECT, .layer = 2, .n = 2, .expert = expert + 1, .probability = probability},
        {.call = GEODEC_SLOTS_NEXT},
        {.call = GEODEC_SLOTS_FINISHED, .slot = 5, .yes = true},
        {.call = GEODEC_SLOTS_RECALLED, .slot = 1, .yes = false},
        {.call = GEODEC_SLOTS_TAKE, .n = 2},
        {.call = GEODEC_SLOTS_RELEASE, .slot = 4},
    };
    for (size_t i = 0; i < sizeof event / sizeof *event; i++) {
        if (event[i].call == GEODEC_SLOTS_PASS) geodec_trace_rows(w, 300);
        geodec_trace_observe(w, &event[i]);
    }
    geodec_trace_time(w, 0.0125);
    const geodec_trace_totals t = {.slots = {.passes = 1, .needed = 2, .failed = 77},
                                   .rows = 300,
                                   .bytes = 1234567890123,
                                   .seconds = 1.5,
                                   .stall = .5,
                                   .busy = .25};
    test_ok(geodec_trace_commit(w, &t, &err), &err);
}

Test(trace, what_is_written_is_read)
{
    const char *path = test_tmp("t.trace");
    geodec_trace t = {0};
    geodec_trace_cursor *c = NULL;
    geodec_trace_event e;
    write_small(path);
    cr_assert_eq(test_other_files(path), 0);
    test_ok(geodec_trace_read(path, &t, &err), &err);
    cr_assert(t.slots.n_layer == 3 && t.slots.n_expert == 4 && t.slots.n_slots == 6 && t.slots.shared);
    cr_assert(t.slots.eviction == GEODEC_EVICTION_MAP && t.slots.prefetch_most == 3);
    cr_assert(t.slots.prefetch_least >= .25F && t.slots.prefetch_least <= .25F);
    cr_assert(t.slots.usage[0] >= .5F && t.slots.usage[3] >= 1 && t.slots.usage[4] <= 0);
    cr_assert(t.slots.routed[0] == 1 && t.slots.routed[1] == 0 && t.slots.routed[2] == 1 && t.blob[2] == 4096);
    cr_assert(t.passes == 1 && t.visits == 1 && t.needs == 2);
    cr_assert(t.totals.slots.failed == 77 && t.totals.rows == 300 && t.totals.bytes == 1234567890123);
    cr_assert_float_eq(t.totals.seconds + t.totals.stall + t.totals.busy, 2.25, 0);
    test_ok(geodec_trace_begin(&t, &c, &err), &err);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_WARM && e.call.layer == 2 &&
              e.call.expert[0] == 3);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_PASS && e.rows == 300);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_FORETELL && e.call.n == 3);
    cr_assert(e.call.expert[0] == 3 && e.call.expert[2] == 2 && e.call.probability[2] >= 1e-7F &&
              e.call.probability[2] <= 1e-7F);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_NEED && e.call.n == 2 && e.call.expert[1] == 0);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_EXPECT && e.call.n == 2 && e.call.layer == 2);
    cr_assert(e.call.expert[0] == 0 && e.call.expert[1] == 2 && e.call.probability[0] >= .9F);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_NEXT);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_FINISHED && e.call.slot == 5 && e.call.yes);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_RECALLED && e.call.slot == 1 && !e.call.yes);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_TAKE && e.call.n == 2);
    cr_assert(geodec_trace_next(c, &e) && e.call.call == GEODEC_SLOTS_RELEASE && e.call.slot == 4);
    cr_assert(geodec_trace_next(c, &e) && e.timed);
    cr_assert_float_eq(e.seconds, 0.0125, 1e-12);
    cr_assert_not(geodec_trace_next(c, &e));
    geodec_trace_end(c);
    geodec_trace_clear(&t);
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

Test(trace, every_flipped_bit_and_every_cut_is_found)
{
    const char *path = test_tmp("t.trace"), *bad = test_tmp("bad.trace");
    char *bytes = NULL;
    size_t n = 0;
    geodec_trace t = {0};
    write_small(path);
    test_ok(geodec_file_read(path, 1 << 20, &bytes, &n, &err), &err);
    for (size_t i = 0; i < 8 * n; i++) {
        bytes[i / 8] ^= (char)(1 << (i % 8));
        write_bytes(bad, bytes, n);
        cr_assert_neq(geodec_trace_read(bad, &t, &err), GEODEC_OK, "bit %zu", i);
        bytes[i / 8] ^= (char)(1 << (i % 8));
    }
    for (size_t k = 0; k < n; k++) {
        write_bytes(bad, bytes, k);
        cr_assert_neq(geodec_trace_read(bad, &t, &err), GEODEC_OK, "the first %zu bytes", k);
    }
    cr_assert_null(t.data);
    geodec_mem_free(bytes);
}

/* Damage with right sums: every byte of the file is set to other values, and the sums are made right again. */
Test(trace, damage_with_right_sums_is_refused_or_harmless)
{
    const char *path = test_tmp("t.trace"), *bad = test_tmp("bad.trace");
    char *bytes = NULL, *copy;
    size_t n = 0;
    int refused = 0, read = 0;
    write_small(path);
    test_ok(geodec_file_read(path, 1 << 20, &bytes, &n, &err), &err);
    copy = geodec_mem_new((int64_t)n, 1);
    for (size_t i = 0; i < 7 * (n - 4); i++) {
        static const unsigned char values[7] = {0, 1, 2, 7, 127, 128, 255};
        geodec_trace t = {0};
        memcpy(copy, bytes, n);
        copy[i / 7] = (char)values[i % 7];
        const size_t head = 16 + 36 + 3 * 8 + 12 * 4;
        const uint32_t first = geodec_crc32c(0, copy, (int64_t)head);
        for (int k = 0; k < 4; k++) copy[head + (size_t)k] = (char)(first >> (8 * k));
        const uint32_t all = geodec_crc32c(0, copy, (int64_t)n - 4);
        for (int k = 0; k < 4; k++) copy[n - 4 + (size_t)k] = (char)(all >> (8 * k));
        write_bytes(bad, copy, n);
        if (geodec_trace_read(bad, &t, &err) == GEODEC_OK) {
            geodec_trace_cursor *c = NULL;
            geodec_trace_event e;
            test_ok(geodec_trace_begin(&t, &c, &err), &err);
            while (geodec_trace_next(c, &e))
                for (int32_t k = 0; k < e.call.n && e.call.expert; k++)
                    cr_assert(e.call.expert[k] >= 0 && e.call.expert[k] < t.slots.n_expert);
            geodec_trace_end(c);
            read++;
        } else {
            char line[400];
            cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "bad.trace"), "%s", line);
            refused++;
        }
        geodec_trace_clear(&t);
    }
    cr_assert(refused > 100 && read > 100, "%d, %d", refused, read);
    GEODEC_FREE(bytes, copy);
}

Test(trace, no_file_and_no_trace)
{
    geodec_trace t = {0};
    const char *path = test_tmp("x");
    cr_assert_eq(geodec_trace_read(path, &t, &err), GEODEC_NOTFOUND);
    write_bytes(path, "", 0);
    cr_assert_eq(geodec_trace_read(path, &t, &err), GEODEC_FORMAT);
    char zeros[400] = {0};
    write_bytes(path, zeros, sizeof zeros);
    cr_assert_eq(geodec_trace_read(path, &t, &err), GEODEC_FORMAT);
}

Test(trace, an_abandoned_trace_leaves_no_file)
{
    const char *path = test_tmp("t.trace");
    geodec_trace_writer *w = NULL;
    const geodec_slots_options o = {.n_layer = 3, .n_expert = 4, .n_slots = 6};
    test_ok(geodec_trace_create(path, &o, blob, &w, &err), &err);
    geodec_trace_abandon(w);
    geodec_trace_abandon(NULL);
    cr_assert_eq(test_other_files(path), 0);
    test_ok(geodec_trace_create(path, &o, blob, &w, &err), &err);
    const int32_t expert[5] = {0, 1, 2, 3, 0};
    geodec_trace_observe(w, &(geodec_slots_event){.call = GEODEC_SLOTS_NEED, .n = 5, .expert = expert});
    const geodec_trace_totals t = {0};
    cr_assert_eq(geodec_trace_commit(w, &t, &err), GEODEC_INVAL);
    cr_assert_eq(test_other_files(path), 0);
}
