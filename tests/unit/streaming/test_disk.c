/* The reader of blobs: right bytes from every engine, order, cancelling, faults, fallbacks, the throttle. */
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/rng.h"
#include "streaming/disk.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = GEODEC_BLOB_PAGE, MB = 1 << 20, FILE_BYTES = 24 * MB + 1234, SLOT = 12 * MB };

/* ---- a file whose every byte is known --------------------------------------------------------------------------- */

static uint8_t byte_at(int64_t offset)
{
    const uint64_t x = (uint64_t)(offset / 8 + 1) * 0x9e3779b97f4a7c15u;
    return (uint8_t)(x >> 8 * (offset % 8));
}

static const char *make_file(const char *name)
{
    const char *path = test_tmp(name);
    uint8_t *all = geodec_mem_new(FILE_BYTES, 1);
    for (int64_t i = 0; i < FILE_BYTES; i++) all[i] = byte_at(i);
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(all, 1, FILE_BYTES, f) == FILE_BYTES && fclose(f) == 0);
    geodec_mem_free(all);
    return path;
}

static uint32_t crc_of(const geodec_blob_piece *p)
{
    uint32_t crc = 0;
    for (int k = 0; k < GEODEC_BLOB_PIECES; k++)
        for (int64_t i = 0; i < p[k].bytes; i++) {
            const uint8_t b = byte_at(p[k].offset + i);
            crc = geodec_crc32c(crc, &b, 1);
        }
    return crc;
}

static bool right_bytes(const geodec_disk_read *r)
{
    const uint8_t *at = r->to;
    for (int k = 0; k < GEODEC_BLOB_PIECES; k++) {
        const geodec_blob_piece *p = &r->piece[k];
        for (int64_t i = 0; i < p->bytes; i++)
            if (at[p->offset % PAGE + i] != byte_at(p->offset + i)) return false;
        at += geodec_blobs_room(p);
    }
    return true;
}

static geodec_disk *open_disk(const char *path, const geodec_disk_options *o)
{
    geodec_err err = {0};
    geodec_disk *d = NULL;
    test_ok(geodec_disk_open(path, o, &d, &err), &err);
    return d;
}

static geodec_disk_done take_one(geodec_disk *d)
{
    geodec_disk_done done;
    cr_assert_eq(geodec_disk_take(d, &done, 1, true), 1);
    return done;
}

/* A read of one piece. */
static geodec_disk_read one_piece(int32_t slot, bool demand, int64_t offset, int64_t bytes, uint8_t *to)
{
    return (geodec_disk_read){.slot = slot, .demand = demand, .piece = {{offset, bytes}}, .to = to};
}

static geodec_disk_done read_one(geodec_disk *d, const geodec_disk_read *r)
{
    cr_assert(geodec_disk_submit(d, r));
    const geodec_disk_done done = take_one(d);
    cr_assert_eq(done.slot, r->slot);
    return done;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------ */

static void random_pieces(geodec_rng *r, int64_t most, geodec_blob_piece *p)
{
    const int n = 1 + (int)geodec_rng_below(r, GEODEC_BLOB_PIECES);
    memset(p, 0, GEODEC_BLOB_PIECES * sizeof *p);
    for (int k = 0; k < n; k++) {
        p[k].bytes = 1 + (int64_t)geodec_rng_below(r, (uint64_t)most);
        p[k].offset = (int64_t)geodec_rng_below(r, (uint64_t)(FILE_BYTES - p[k].bytes + 1));
    }
}

/* Random reads through n slots at a time; every third is checked by its CRC. */
static void random_reads(const char *path, const geodec_disk_options *o, int reads, int64_t most)
{
    geodec_disk *d = open_disk(path, o);
    const int64_t room = (most + 2 * PAGE) / PAGE * PAGE * GEODEC_BLOB_PIECES;
    uint8_t *slots = geodec_mem_map(room * o->n_slots);
    geodec_disk_read *r = geodec_mem_new(o->n_slots, sizeof *r);
    geodec_disk_done done[8];
    geodec_rng g = geodec_rng_stream((uint64_t)reads, geodec_rng_id("test-disk", (uint64_t)o->engine));
    int submitted = 0, taken = 0;
    int64_t bytes = 0, demands = 0;
    for (int s = 0; s < o->n_slots; s++) r[s].slot = -1; /* free */
    while (taken < reads) {
        for (int s = 0; s < o->n_slots && submitted < reads; s++) {
            if (r[s].slot >= 0) continue;
            r[s] = (geodec_disk_read){.slot = s, .demand = geodec_rng_below(&g, 2), .to = slots + s * room};
            random_pieces(&g, most, r[s].piece);
            r[s].check = submitted % 3 == 0 && most < MB;
            if (r[s].check) r[s].crc = crc_of(r[s].piece);
            for (int k = 0; k < GEODEC_BLOB_PIECES; k++) bytes += geodec_blobs_room(&r[s].piece[k]);
            demands += r[s].demand;
            cr_assert(geodec_disk_submit(d, &r[s]));
            submitted++;
        }
        const int n = geodec_disk_take(d, done, 8, true);
        cr_assert_gt(n, 0);
        for (int k = 0; k < n; k++) {
            cr_assert_eq(done[k].status, GEODEC_OK);
            cr_assert(right_bytes(&r[done[k].slot]));
            r[done[k].slot].slot = -1;
        }
        taken += n;
    }
    cr_assert_eq(geodec_disk_take(d, done, 8, true), 0);
    const geodec_disk_counters c = geodec_disk_counted(d);
    cr_assert(c.reads == reads && c.bytes == bytes && c.demands == demands && c.prefetches == reads - demands);
    cr_assert(c.busy > 0 && c.latency_max > 0 && c.latency_sum >= c.latency_max);
    if (o->throttle) cr_assert_float_eq(c.busy, (double)bytes / (double)o->throttle, 1e-6);
    geodec_disk_close(d);
    geodec_mem_unmap(slots, room * o->n_slots);
    geodec_mem_free(r);
}

Test(disk, every_engine_reads_the_right_bytes, .timeout = 120)
{
    const char *path = make_file("blobs");
    for (int engine = 0; engine < 3; engine++)
        for (int io = 0; io < 2; io++)
            for (int slow = 0; slow < 2; slow++) {
                const geodec_disk_options o = {.io = (geodec_disk_io)io,
                                               .engine = (geodec_disk_engine)engine,
                                               .n_slots = 5,
                                               .throttle = slow ? 1000000000 : 0};
                random_reads(path, &o, 60, 300000);
                random_reads(path, &o, 8, 11 * MB);
            }
}

Test(disk, many_small_reads, .timeout = 300)
{
    const char *path = make_file("blobs");
    for (int engine = GEODEC_DISK_URING; engine <= GEODEC_DISK_THREADS; engine++)
        random_reads(path, &(geodec_disk_options){.engine = (geodec_disk_engine)engine, .n_slots = 64}, 50000, 2500);
}

Test(disk, the_last_page_may_be_short_but_the_piece_may_not_end_after_the_file)
{
    const char *path = make_file("blobs");
    uint8_t *slot = geodec_mem_map(SLOT);
    for (int engine = GEODEC_DISK_URING; engine <= GEODEC_DISK_THREADS; engine++)
        for (int io = 0; io < 2; io++) {
            geodec_disk *d = open_disk(
                path,
                &(geodec_disk_options){.io = (geodec_disk_io)io, .engine = (geodec_disk_engine)engine, .n_slots = 1});
            static const int64_t lengths[] = {1, 1234, 1235, 5 * MB + 17};
            for (int k = 0; k < 4; k++) {
                const geodec_disk_read r = one_piece(0, true, FILE_BYTES - lengths[k], lengths[k], slot);
                cr_assert_eq(read_one(d, &r).status, GEODEC_OK);
                cr_assert(right_bytes(&r));
            }
            for (int64_t over = 1; over < 3 * MB; over = over * 5 + 3) {
                const geodec_disk_read r = one_piece(0, true, FILE_BYTES - 7000, 7000 + over, slot);
                const geodec_disk_done done = read_one(d, &r);
                cr_assert(done.status == GEODEC_IO && done.errnum == 0);
            }
            const geodec_disk_read none = one_piece(0, true, 77, 0, slot);
            cr_assert_eq(read_one(d, &none).status, GEODEC_OK);
            const geodec_disk_read wrong = one_piece(0, true, -4096, 10, slot);
            cr_assert_eq(read_one(d, &wrong).status, GEODEC_IO);
            geodec_disk_close(d);
        }
    geodec_mem_unmap(slot, SLOT);
}

Test(disk, a_file_truncated_while_it_is_open_is_an_error)
{
    const char *path = make_file("blobs");
    uint8_t *slot = geodec_mem_map(SLOT);
    for (int engine = GEODEC_DISK_URING; engine <= GEODEC_DISK_THREADS; engine++) {
        geodec_disk *d = open_disk(path, &(geodec_disk_options){.engine = (geodec_disk_engine)engine, .n_slots = 1});
        const geodec_disk_read r = one_piece(0, true, 10 * MB - 100 * engine, 3 * MB, slot);
        cr_assert_eq(read_one(d, &r).status, GEODEC_OK);
        cr_assert_eq(truncate(path, 12 * MB - MB * engine + 5), 0);
        const geodec_disk_done done = read_one(d, &r);
        cr_assert(done.status == GEODEC_IO && done.errnum == 0);
        geodec_err err = {0};
        char line[400];
        cr_assert_eq(geodec_disk_failed(d, &done, 3, 17, &err), GEODEC_IO);
        geodec_err_line(&err, line, sizeof line);
        cr_assert(strstr(line, path) && strstr(line, "layer 3, expert 17: the file ends too early"), "%s", line);
        cr_assert_eq(geodec_disk_failed(d, &done, -1, -1, &err), GEODEC_IO);
        geodec_err_line(&err, line, sizeof line);
        cr_assert(strstr(line, path) && !strstr(line, "expert"), "%s", line);
        geodec_disk_close(d);
        (void)make_file("blobs");
    }
    geodec_mem_unmap(slot, SLOT);
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

enum { SMALL = 200000 };

Test(disk, a_demand_goes_before_all_queued_prefetches)
{
    const char *path = make_file("blobs");
    uint8_t *slots = geodec_mem_map((int64_t)MB * 8);
    for (int engine = GEODEC_DISK_URING; engine <= GEODEC_DISK_THREADS; engine++) {
        geodec_disk *d = open_disk(path, &(geodec_disk_options){.engine = (geodec_disk_engine)engine,
                                                                .n_slots = 8,
                                                                .throttle = 10000000}); /* 20 ms each */
        for (int s = 0; s < 8; s++) { /* 0 .. 5 are prefetches; 6 and 7 come last and are needed */
            const geodec_disk_read r = one_piece(s, s >= 6, s * MB, SMALL, slots + s * MB);
            cr_assert(geodec_disk_submit(d, &r));
        }
        static const int order[] = {0, 6, 7, 1, 2, 3, 4, 5};
        int begin = 0; /* the first prefetch may have begun before the demands came, or not */
        for (int k = 0; k < 8; k++) {
            const int slot = take_one(d).slot;
            if (k == 0 && slot == 6) begin = 1;
            if (begin == 1 && k < 3) {
                static const int other[] = {6, 7, 0};
                cr_assert_eq(slot, other[k]);
            } else {
                cr_assert_eq(slot, order[k], "%d", k);
            }
        }
        geodec_disk_close(d);
    }
    geodec_mem_unmap(slots, (int64_t)MB * 8);
}

/* A read of 400 ms is broken off for demands of 20 ms, and what is dropped costs what was read of it. */
Test(disk, a_demand_interrupts_a_prefetch_and_a_dropped_prefetch_ends)
{
    const char *path = make_file("blobs");
    uint8_t *slots = geodec_mem_map((int64_t)MB * 24);
    for (int engine = GEODEC_DISK_URING; engine <= GEODEC_DISK_THREADS; engine++) {
        geodec_disk *d = open_disk(
            path, &(geodec_disk_options){.engine = (geodec_disk_engine)engine, .n_slots = 8, .throttle = 10000000});
        const geodec_disk_read large = one_piece(0, false, 0, 4 * MB, slots);
        const geodec_disk_read late = one_piece(1, false, 5 * MB, SMALL, slots + 5 * MB);
        const geodec_disk_read demand = one_piece(2, true, 6 * MB, SMALL, slots + 6 * MB);
        const double begin = geodec_clock_seconds();
        cr_assert(geodec_disk_submit(d, &large));
        (void)usleep(10000);
        cr_assert(geodec_disk_submit(d, &late));
        cr_assert(geodec_disk_submit(d, &demand));
        cr_assert_eq(take_one(d).slot, 2); /* although a prefetch is being read */
        geodec_disk_drop(d, 0);
        geodec_disk_done done = {0}, dropped = take_one(d);
        const bool late_came = dropped.slot == 1; /* this thread waited for the processor */
        if (late_came) {
            done = dropped;
            dropped = take_one(d);
        }
        const double took = geodec_clock_seconds() - begin;
        cr_assert_eq(dropped.slot, 0);
        cr_assert_eq(dropped.status, GEODEC_INTERRUPTED);
        const geodec_disk_counters c = geodec_disk_counted(d);
        cr_assert_leq((double)c.bytes, took * 1e7 + 1e4); /* no more than the disk can have read */
        cr_assert_lt(c.bytes, 4 * MB);
        cr_assert(geodec_disk_submit(d, &large)); /* the slot is free again */
        if (!late_came) done = take_one(d);
        cr_assert(done.slot == 1 && done.status == GEODEC_OK && right_bytes(&late) && right_bytes(&demand));
        cr_assert_eq(take_one(d).slot, 0);
        cr_assert(right_bytes(&large));
        geodec_disk_close(d);
    }
    geodec_mem_unmap(slots, (int64_t)MB * 24);
}

/* Four prefetches of 50 ms, of which the last one is hurried. False: the machine was busy, and the first had ended
 * before that. */
static bool hurry_the_last(const char *path, uint8_t *slots)
{
    static const int order[] = {3, 0, 1, 2};
    geodec_disk *d = open_disk(path, &(geodec_disk_options){.n_slots = 8, .throttle = 4000000});
    const double begin = geodec_clock_seconds();
    for (int s = 0; s < 4; s++) {
        const geodec_disk_read r = one_piece(s, false, s * MB, SMALL, slots + s * MB);
        cr_assert(geodec_disk_submit(d, &r));
    }
    (void)usleep(20000); /* all have begun */
    geodec_disk_hurry(d, 3);
    const bool in_time = geodec_clock_seconds() - begin < 0.045;
    for (int k = 0; k < 4; k++) {
        const int slot = take_one(d).slot;
        if (in_time) cr_assert_eq(slot, order[k]);
    }
    cr_assert_eq(geodec_disk_counted(d).prefetches, 4);
    geodec_disk_hurry(d, 3); /* not there any more */
    geodec_disk_drop(d, 8);
    geodec_disk_close(d);
    return in_time;
}

Test(disk, a_prefetch_that_is_needed_goes_before_other_prefetches)
{
    const char *path = make_file("blobs");
    uint8_t *slots = geodec_mem_map((int64_t)MB * 8);
    int tries = 0;
    while (!hurry_the_last(path, slots)) cr_assert_lt(++tries, 100);
    geodec_mem_unmap(slots, (int64_t)MB * 8);
}

/* Reads in flight, by the megabyte of the file that they are in; those below 8 MB are demands. */
typedef struct flights {
    int parts[24], most_prefetches, most_with_demand;
} flights;

static int watch(void *ctx, int64_t offset, int64_t *bytes, uint8_t *to, bool after)
{
    flights *f = ctx;
    (void)bytes;
    (void)to;
    const int read = (int)(offset / MB);
    f->parts[read] += after ? -1 : 1;
    int demands = 0, prefetches = 0;
    for (int k = 0; k < 24; k++) *(k < 8 ? &demands : &prefetches) += f->parts[k] > 0;
    if (prefetches > f->most_prefetches) f->most_prefetches = prefetches;
    /* a prefetch that begins while a demand is in flight */
    if (!after && read >= 8 && demands && prefetches > f->most_with_demand) f->most_with_demand = prefetches;
    return 0;
}

Test(disk, while_a_demand_is_there_no_part_of_a_prefetch_begins)
{
    const char *path = make_file("blobs");
    uint8_t *slots = geodec_mem_map((int64_t)MB * 24);
    flights f = {{0}};
    const geodec_disk_faults hook = {watch, &f};
    geodec_disk *d = open_disk(path, &(geodec_disk_options){.n_slots = 24, .faults = &hook});
    geodec_disk_done done[24];
    geodec_rng g = geodec_rng_stream(3, geodec_rng_id("test-disk", 3));
    for (int round = 0; round < 200; round++) {
        int n = 0;
        for (int s = 23; s >= 0; s--) {
            if (geodec_rng_below(&g, 3) == 0) continue;
            const geodec_disk_read r = one_piece(s, s < 8, s * MB, 100000, slots + s * MB);
            cr_assert(geodec_disk_submit(d, &r));
            n++;
        }
        while (n > 0) n -= geodec_disk_take(d, done, 24, true);
    }
    geodec_disk_close(d);
    cr_assert_eq(f.most_with_demand, 0);
    cr_assert_gt(f.most_prefetches, 1);
    geodec_mem_unmap(slots, (int64_t)MB * 24);
}

Test(disk, queued_reads_can_be_taken_back)
{
    const char *path = make_file("blobs");
    uint8_t *slots = geodec_mem_map((int64_t)MB * 8);
    geodec_disk *d = open_disk(path, &(geodec_disk_options){.n_slots = 8, .throttle = 4000000}); /* 50 ms each */
    const geodec_disk_read first = one_piece(0, true, 5 * MB, SMALL, slots);
    cr_assert(geodec_disk_submit(d, &first));
    (void)usleep(10000);
    cr_assert_not(geodec_disk_cancel(d, 0)); /* it has begun */
    cr_assert_not(geodec_disk_submit(d, &first));
    for (int s = 1; s < 8; s++) {
        const geodec_disk_read r = one_piece(s, false, s * MB, SMALL, slots + s * MB);
        cr_assert(geodec_disk_submit(d, &r));
    }
    for (int s = 2; s < 8; s++) cr_assert(geodec_disk_cancel(d, s));
    cr_assert_not(geodec_disk_cancel(d, 2));
    cr_assert_not(geodec_disk_cancel(d, 8));
    /* a slot is free again at once; its old request is still in the queue */
    const geodec_disk_read again = one_piece(4, true, 9 * MB + 5, SMALL, slots + 4 * MB);
    cr_assert(geodec_disk_submit(d, &again));
    cr_assert_eq(take_one(d).slot, 0);
    cr_assert_eq(take_one(d).slot, 4);
    cr_assert(right_bytes(&again));
    cr_assert_eq(take_one(d).slot, 1);
    geodec_disk_done done;
    cr_assert_eq(geodec_disk_take(d, &done, 1, true), 0); /* does not wait: nothing is queued */
    cr_assert_eq(geodec_disk_counted(d).reads, 3);
    geodec_disk_close(d);
    geodec_mem_unmap(slots, (int64_t)MB * 8);
}

Test(disk, random_submits_and_cancels_lose_nothing, .timeout = 120)
{
    enum { N = 40 };
    const char *path = make_file("blobs");
    uint8_t *slots = geodec_mem_map((int64_t)N * 4 * PAGE);
    for (int engine = GEODEC_DISK_URING; engine <= GEODEC_DISK_THREADS; engine++) {
        geodec_disk *d = open_disk(path, &(geodec_disk_options){.engine = (geodec_disk_engine)engine, .n_slots = N});
        geodec_disk_read r[N];
        bool busy[N] = {false}, dropped[N] = {false};
        geodec_disk_done done[N];
        geodec_rng g = geodec_rng_stream(9, geodec_rng_id("test-disk", 9));
        int64_t submitted = 0, cancelled = 0, taken = 0;
        for (int step = 0; step < 60000; step++) {
            const int s = (int)geodec_rng_below(&g, N), what = (int)geodec_rng_below(&g, 10);
            if (!busy[s] && what < 5) {
                const int64_t offset = (int64_t)geodec_rng_below(&g, FILE_BYTES - 9000);
                r[s] = one_piece(s, what < 2, offset, 1 + (int64_t)geodec_rng_below(&g, 8000), slots + s * 4 * PAGE);
                if (geodec_disk_submit(d, &r[s])) busy[s] = ++submitted;
                dropped[s] = false;
            } else if (what == 8) {
                geodec_disk_hurry(d, s);
            } else if (what == 9) {
                geodec_disk_drop(d, s);
                dropped[s] = true;
            } else if (busy[s] && what < 5 && geodec_disk_cancel(d, s)) {
                busy[s] = false;
                cancelled++;
            } else if (what >= 5) {
                const int n = geodec_disk_take(d, done, 1 + s, what == 7);
                for (int k = 0; k < n; k++) {
                    const int32_t slot = done[k].slot;
                    cr_assert(busy[slot]);
                    if (done[k].status == GEODEC_INTERRUPTED)
                        cr_assert(dropped[slot] && !r[slot].demand);
                    else
                        cr_assert(done[k].status == GEODEC_OK && right_bytes(&r[slot]));
                    busy[slot] = false;
                }
                taken += n;
            }
        }
        for (int n; (n = geodec_disk_take(d, done, N, true)) > 0;) taken += n;
        cr_assert_eq(submitted, cancelled + taken);
        cr_assert(cancelled > 0 && taken > 1000);
        geodec_disk_close(d);
    }
    geodec_mem_unmap(slots, (int64_t)N * 4 * PAGE);
}

Test(disk, closes_with_reads_queued_and_in_flight, .timeout = 60)
{
    const char *path = make_file("blobs");
    uint8_t *slots = geodec_mem_map((int64_t)SLOT * 6);
    for (int engine = GEODEC_DISK_URING; engine <= GEODEC_DISK_THREADS; engine++)
        for (int round = 0; round < 30; round++) {
            geodec_disk *d = open_disk(path, &(geodec_disk_options){.engine = (geodec_disk_engine)engine,
                                                                    .io = (geodec_disk_io)(round % 2),
                                                                    .n_slots = 6,
                                                                    .throttle = round % 3 ? 0 : 50000000});
            for (int s = 0; s < 6; s++) {
                const geodec_disk_read r = one_piece(s, s % 2, s * 100 + 5, 10 * MB, slots + (int64_t)s * SLOT);
                cr_assert(geodec_disk_submit(d, &r));
            }
            if (round % 4 == 1) (void)usleep(500);
            geodec_disk_close(d);
        }
    geodec_disk_close(NULL);
    geodec_mem_unmap(slots, (int64_t)SLOT * 6);
}

/* ---- faults ----------------------------------------------------------------------------------------------------- */

/* The fault happens at the given parts that contain an offset: `skip` are spared, then `times` are hit. */
typedef struct fault {
    int64_t offset;
    int skip, times;
    int errnum;       /* report it */
    int64_t shortest; /* at least 0: no more bytes come */
    int flip;         /* change a bit */
    int seen;
} fault;

static int inject(void *ctx, int64_t offset, int64_t *bytes, uint8_t *to, bool after)
{
    fault *f = ctx;
    if (f->offset < offset || f->offset >= offset + *bytes || after != (f->flip != 0)) return 0;
    if (f->seen++ < f->skip || f->seen > f->skip + f->times) return 0;
    if (f->flip) to[f->offset - offset] ^= (uint8_t)f->flip;
    if (f->shortest >= 0) *bytes = f->shortest;
    return f->errnum;
}

static geodec_disk_done with_fault(geodec_disk_engine engine, fault f, char *line, size_t size)
{
    geodec_err err = {0};
    const char *path = make_file("blobs");
    uint8_t *slot = geodec_mem_map(SLOT);
    const geodec_disk_faults faults = {inject, &f};
    geodec_disk *d = open_disk(path, &(geodec_disk_options){.engine = engine, .n_slots = 2, .faults = &faults});
    geodec_disk_read r = one_piece(1, true, 4 * MB + 99, 3 * MB, slot);
    r.piece[1] = (geodec_blob_piece){12 * MB + 1, 40000};
    r.check = true;
    r.crc = crc_of(r.piece);
    const geodec_disk_done done = read_one(d, &r);
    if (done.status == GEODEC_OK) {
        cr_assert(right_bytes(&r));
    } else {
        cr_assert_eq(geodec_disk_failed(d, &done, 5, 31, &err), done.status);
        geodec_err_line(&err, line, size);
        cr_assert(strstr(line, path) && strstr(line, "layer 5, expert 31"), "%s", line);
        f.times = 0; /* and the next read is a good one */
        cr_assert_eq(read_one(d, &r).status, GEODEC_OK);
        cr_assert(right_bytes(&r));
    }
    geodec_disk_close(d);
    geodec_mem_unmap(slot, SLOT);
    return done;
}

Test(disk, faults_are_reported_or_repaired, .timeout = 60)
{
    char line[600];
    for (geodec_disk_engine e = GEODEC_DISK_URING; e <= GEODEC_DISK_THREADS; e++) {
        const fault none = {.offset = 5 * MB, .times = 1, .shortest = -1};
        fault f = none;
        f.errnum = EIO;
        geodec_disk_done done = with_fault(e, f, line, sizeof line);
        cr_assert(done.status == GEODEC_IO && done.errnum == EIO && strstr(line, "Input/output error"), "%s", line);
        f.errnum = EINTR; /* repeated */
        cr_assert_eq(with_fault(e, f, line, sizeof line).status, GEODEC_OK);
        f.errnum = EAGAIN;
        f.times = 1000; /* but not for ever */
        done = with_fault(e, f, line, sizeof line);
        cr_assert(done.status == GEODEC_IO && done.errnum == EAGAIN);
        f = none;
        f.shortest = 100; /* less than a page: the end of the file */
        done = with_fault(e, f, line, sizeof line);
        cr_assert(done.status == GEODEC_IO && done.errnum == 0 && strstr(line, "ends too early"), "%s", line);
        f.shortest = 0;
        cr_assert_eq(with_fault(e, f, line, sizeof line).status, GEODEC_IO);
        f.shortest = 3 * PAGE + 5; /* the rest is read */
        cr_assert_eq(with_fault(e, f, line, sizeof line).status, GEODEC_OK);
        f = none;
        f.offset = 12 * MB + 30000;
        f.flip = 4;
        cr_assert_eq(with_fault(e, f, line, sizeof line).status, GEODEC_OK); /* once: repaired */
        f.times = 2;
        done = with_fault(e, f, line, sizeof line);
        cr_assert(done.status == GEODEC_FORMAT && done.errnum == 0 && strstr(line, "CRC-32C"), "%s", line);
    }
}

Test(disk, a_wrong_crc_in_the_file_is_an_error_and_other_reads_go_on)
{
    const char *path = make_file("blobs");
    uint8_t *slots = geodec_mem_map((int64_t)MB * 6);
    geodec_disk *d = open_disk(path, &(geodec_disk_options){.io = GEODEC_DISK_BUFFERED, .n_slots = 6});
    for (int s = 0; s < 6; s++) {
        geodec_disk_read r = one_piece(s, s % 2, s * MB + 1, MB / 2, slots + s * MB);
        r.check = true;
        r.crc = crc_of(r.piece) ^ (s == 3 ? 1u << 9 : 0);
        cr_assert(geodec_disk_submit(d, &r));
    }
    int wrong = 0;
    for (int k = 0; k < 6; k++) {
        const geodec_disk_done done = take_one(d);
        cr_assert_eq(done.status, done.slot == 3 ? GEODEC_FORMAT : GEODEC_OK);
        wrong += done.status != GEODEC_OK;
    }
    cr_assert_eq(wrong, 1);
    geodec_disk_close(d);
    geodec_mem_unmap(slots, (int64_t)MB * 6);
}

Test(disk, refuses_what_it_cannot_open)
{
    geodec_err err = {0};
    geodec_disk *d = NULL;
    const geodec_disk_options o = {.n_slots = 2};
    cr_assert_eq(geodec_disk_open(test_tmp("missing"), &o, &d, &err), GEODEC_NOTFOUND);
    cr_assert_eq(geodec_disk_open(test_tmpdir(), &o, &d, &err), GEODEC_IO);
    cr_assert_eq(mkfifo(test_tmp("fifo"), 0600), 0);
    cr_assert_eq(geodec_disk_open(test_tmp("fifo"), &o, &d, &err), GEODEC_IO);
    const char *path = make_file("blobs");
    cr_assert_eq(geodec_disk_open(path, &(geodec_disk_options){.n_slots = 0}, &d, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_disk_open(path, &(geodec_disk_options){.n_slots = INT32_MAX}, &d, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_disk_open(path, &(geodec_disk_options){.n_slots = 1, .throttle = -1}, &d, &err), GEODEC_RANGE);
    cr_assert_null(d);
    int failures = 0;
    for (int k = 1; k < 20 && !d; k++) { /* memory; without that of io_uring, the threads read */
        geodec_mem_fail_after(k);
        const geodec_status st = geodec_disk_open(path, &o, &d, &err);
        geodec_mem_fail_after(0);
        cr_assert_eq(st, d ? GEODEC_OK : GEODEC_NOMEM);
        failures += !d;
    }
    cr_assert_geq(failures, 5);
    geodec_disk_close(d);
}

/* ---- fallbacks: a filter of system calls takes the place of another kernel or file system -------------------------
 */

/* From here on, the call fails with errnum, if `bits` are 0 or in its third argument. */
static void forbid(int call, uint32_t bits, uint32_t errnum)
{
    const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | (bits ? BPF_JSET : BPF_JGE) | BPF_K, bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_filter copy[sizeof code / sizeof *code];
    memcpy(copy, code, sizeof code);
    const struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = copy};
    cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) cr_skip_test("no filter of system calls here");
}

static void check_fallback(geodec_disk_io io, const char *engine)
{
    const char *path = make_file("blobs");
    const geodec_disk_options o = {.engine = GEODEC_DISK_URING, .n_slots = 4};
    geodec_disk *d = open_disk(path, &o);
    cr_assert_eq(geodec_disk_io_of(d), io);
    if (engine) cr_assert_str_eq(geodec_disk_engine_name(d), engine);
    geodec_disk_close(d);
    random_reads(path, &o, 50, 100000);
}

Test(disk, without_the_set_up_of_io_uring_threads_read)
{
    forbid(SYS_io_uring_setup, 0, ENOSYS);
    check_fallback(GEODEC_DISK_DIRECT, "threads");
}

Test(disk, where_io_uring_may_not_be_entered_threads_read)
{
    forbid(SYS_io_uring_enter, 0, EPERM);
    check_fallback(GEODEC_DISK_DIRECT, "threads");
}

Test(disk, without_direct_io_reads_are_buffered)
{
    forbid(SYS_openat, O_DIRECT, EINVAL);
    check_fallback(GEODEC_DISK_BUFFERED, NULL);
}

/* ---- the throttle ----------------------------------------------------------------------------------------------- */

/* Reads of one size, up to `depth` at a time: never faster than the disk that is emulated. */
static double time_of_reads(geodec_disk *d, uint8_t *slots, int64_t bytes, int64_t speed, int depth, bool demand,
                            int reads)
{
    int submitted = 0;
    const double t0 = geodec_clock_seconds();
    for (int k = 0; k < reads; k++) {
        for (int s = 0; k == 0 && s < depth; s++, submitted++) {
            const geodec_disk_read r = one_piece(s, demand, s % 5 * 4 * MB, bytes, slots + bytes * s);
            cr_assert(geodec_disk_submit(d, &r));
        }
        const int s = take_one(d).slot;
        const double now = geodec_clock_seconds() - t0;
        cr_assert_geq(now, (double)(k + 1) * (double)bytes / (double)speed - 1e-9, "read %d came too early", k);
        if (submitted >= reads) continue;
        const geodec_disk_read r = one_piece(s, demand, k % 5 * 4 * MB, bytes, slots + bytes * s);
        cr_assert(geodec_disk_submit(d, &r));
        submitted++;
    }
    return geodec_clock_seconds() - t0;
}

/* When all reads are queued at the beginning, the time does not depend on when this thread runs, but for the last read:
 * the best of some attempts is within 1 %. */
static void check_rate(geodec_disk_engine engine, int64_t bytes, int64_t speed, int depth, bool demand, int reads)
{
    const char *path = make_file("blobs");
    geodec_disk *d = open_disk(path, &(geodec_disk_options){.engine = engine, .n_slots = depth, .throttle = speed});
    uint8_t *slots = geodec_mem_map(bytes * depth);
    const double ideal = (double)reads * (double)bytes / (double)speed;
    double ratio = INFINITY;
    for (int attempt = 0; attempt < 8 && ratio > 1.01; attempt++)
        ratio = fmin(ratio, time_of_reads(d, slots, bytes, speed, depth, demand, reads) / ideal);
    if (depth == reads)
        cr_assert_leq(ratio, 1.01, "%lld bytes, %d at a time: %.4f of the time", (long long)bytes, depth, ratio);
    geodec_disk_close(d);
    geodec_mem_unmap(slots, bytes * depth);
}

Test(disk, the_throttle_keeps_its_speed, .timeout = 120)
{
    for (int e = GEODEC_DISK_URING; e <= GEODEC_DISK_THREADS; e++) {
        check_rate((geodec_disk_engine)e, 54 * PAGE, 300000000, 250, false, 250); /* 221 KB */
        check_rate((geodec_disk_engine)e, 54 * PAGE, 300000000, 250, true, 250);
        check_rate((geodec_disk_engine)e, 54 * PAGE, 300000000, 3, true, 60);
        check_rate((geodec_disk_engine)e, 860 * PAGE, 200000000, 15, false, 15); /* 3.5 MB */
    }
}
