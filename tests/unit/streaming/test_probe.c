/* The probe of the disk: its limits, and that its figures belong together. */
#include "base/mem.h"
#include "streaming/probe.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *make_file(int64_t bytes)
{
    const char *path = test_tmp("probed");
    uint8_t *all = geodec_mem_new(bytes, 1);
    FILE *f = fopen(path, "wb");
    cr_assert(f && fwrite(all, 1, (size_t)bytes, f) == (size_t)bytes && fclose(f) == 0);
    geodec_mem_free(all);
    return path;
}

Test(probe, reads_what_was_asked)
{
    geodec_err err = {0};
    geodec_probe p;
    const char *path = make_file(3000000);
    geodec_probe_options o = {.blob_bytes = 100000, .most_bytes = 5000000, .seconds = 60};
    test_ok(geodec_probe_read(path, &o, &p, &err), &err);
    cr_assert_eq(p.reads, 48); /* of 102,400 bytes */
    cr_assert_eq(p.bytes, 48 * 102400);
    cr_assert(p.seconds > 0 && p.latency_median > 0 && p.latency_median <= p.latency_p99);
    cr_assert_leq(p.latency_p99, p.seconds);
    cr_assert_float_eq(p.bytes_per_second * p.seconds, (double)p.bytes, 1);
    cr_assert(p.engine);
    o = (geodec_probe_options){.blob_bytes = 4096, .most_bytes = INT64_MAX, .seconds = 0.05, .in_flight = 1};
    test_ok(geodec_probe_read(path, &o, &p, &err), &err);
    cr_assert(p.reads >= 1 && p.reads <= 65536);
    cr_assert_leq(p.latency_median * (double)p.reads, 2 * p.seconds); /* one at a time */
    o = (geodec_probe_options){.blob_bytes = 3000000, .engine = GEODEC_DISK_THREADS, .io = GEODEC_DISK_BUFFERED};
    cr_assert_eq(geodec_probe_read(path, &o, &p, &err), GEODEC_SCARCE); /* rounded up it is larger than the file */
    o.blob_bytes = 2990000;
    test_ok(geodec_probe_read(path, &o, &p, &err), &err);
    cr_assert(p.reads == 22 && p.io == GEODEC_DISK_BUFFERED);
    cr_assert_str_eq(p.engine, "threads");
}

Test(probe, refuses_what_it_cannot_measure)
{
    geodec_err err = {0};
    geodec_probe p;
    const char *path = make_file(1000);
    cr_assert_eq(geodec_probe_read(path, &(geodec_probe_options){.blob_bytes = 0}, &p, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_probe_read(path, &(geodec_probe_options){.blob_bytes = INT64_MAX}, &p, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_probe_read(path, &(geodec_probe_options){.blob_bytes = 1, .in_flight = 65}, &p, &err),
                 GEODEC_RANGE);
    cr_assert_eq(geodec_probe_read(path, &(geodec_probe_options){.blob_bytes = 1}, &p, &err), GEODEC_SCARCE);
    cr_assert_eq(geodec_probe_read(test_tmp("no"), &(geodec_probe_options){.blob_bytes = 1}, &p, &err),
                 GEODEC_NOTFOUND);
}
