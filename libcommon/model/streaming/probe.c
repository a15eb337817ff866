#include "streaming/probe.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { MOST_READS = 1 << 16, MOST_IN_FLIGHT = 64, MOST_BLOB = 1 << 30, PAGE = GEODEC_BLOB_PAGE };

typedef struct probe {
    geodec_disk *disk;
    geodec_rng rng;
    int64_t blob, places; /* blobs begin at any of so many pages */
    uint8_t *slots;
    double began[MOST_IN_FLIGHT];
    double *latency; /* [MOST_READS] */
    int64_t submitted, taken, most;
} probe;

static void submit(probe *p, int32_t slot)
{
    const geodec_disk_read r = {.slot = slot,
                                .demand = true,
                                .piece = {{(int64_t)geodec_rng_below(&p->rng, (uint64_t)p->places) * PAGE, p->blob}},
                                .to = p->slots + slot * p->blob};
    p->began[slot] = geodec_clock_seconds();
    if (geodec_disk_submit(p->disk, &r)) p->submitted++;
}

static geodec_status take(probe *p, double end, geodec_err *err)
{
    geodec_disk_done done[MOST_IN_FLIGHT];
    const int32_t n = geodec_disk_take(p->disk, done, MOST_IN_FLIGHT, true);
    const double now = geodec_clock_seconds();
    for (int32_t k = 0; k < n; k++) {
        if (done[k].status != GEODEC_OK) GEODEC_PASS(geodec_disk_failed(p->disk, &done[k], -1, -1, err));
        p->latency[p->taken++] = now - p->began[done[k].slot];
        if (now < end && p->submitted < p->most) submit(p, done[k].slot);
    }
    return GEODEC_OK;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static geodec_status measure(probe *p, int32_t in_flight, double seconds, geodec_probe *out, geodec_err *err)
{
    const double start = geodec_clock_seconds();
    for (int32_t s = 0; s < in_flight && p->submitted < p->most; s++) submit(p, s);
    while (p->taken < p->submitted) GEODEC_PASS(take(p, start + seconds, err));
    out->seconds = geodec_clock_seconds() - start;
    out->reads = p->taken;
    out->bytes = p->taken * p->blob;
    out->bytes_per_second = (double)out->bytes / out->seconds;
    qsort(p->latency, (size_t)p->taken, sizeof *p->latency, ascending);
    out->latency_median = p->latency[p->taken / 2];
    out->latency_p99 = p->latency[p->taken * 99 / 100];
    out->io = geodec_disk_io_of(p->disk);
    out->engine = geodec_disk_engine_name(p->disk);
    return GEODEC_OK;
}

geodec_status geodec_probe_read(const char *path, const geodec_probe_options *o, geodec_probe *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    probe p = {.rng = geodec_rng_stream(1, geodec_rng_id("probe", 0))};
    geodec_probe result = {0};
    const int32_t in_flight = o->in_flight ? o->in_flight : 4;
    struct stat s = {0};
    if (o->blob_bytes < 1 || o->blob_bytes > MOST_BLOB || in_flight < 1 || in_flight > MOST_IN_FLIGHT)
        GEODEC_THROW(GEODEC_RANGE, "a probe of %d x %lld bytes", (int)in_flight, (long long)o->blob_bytes);
    GEODEC_TRY(geodec_disk_open(path, &(geodec_disk_options){.io = o->io, .engine = o->engine, .n_slots = in_flight},
                                &p.disk, err));
    p.blob = (o->blob_bytes + PAGE - 1) / PAGE * PAGE;
    if (stat(path, &s) != 0 || s.st_size < p.blob)
        GEODEC_THROW(GEODEC_SCARCE, "%s: smaller than one read of %lld bytes", path, (long long)p.blob);
    p.places = (s.st_size - p.blob) / PAGE + 1;
    p.most = (o->most_bytes > 0 ? o->most_bytes : 64 << 20) / p.blob;
    if (p.most < 16 && o->most_bytes <= 0) p.most = 16;
    if (p.most < 1) p.most = 1;
    if (p.most > MOST_READS) p.most = MOST_READS;
    GEODEC_NEW(p.latency, p.most);
    p.slots = geodec_mem_map(p.blob * in_flight);
    if (!p.slots) GEODEC_THROW(GEODEC_NOMEM, "no memory for %d blobs of %lld bytes", (int)in_flight, (long long)p.blob);
    memset(p.slots, 1, (size_t)(p.blob * in_flight)); /* its pages are there before the time is taken */
    GEODEC_TRY(measure(&p, in_flight, o->seconds > 0 ? o->seconds : 2, &result, err));
    *out = result;
done:
    geodec_disk_close(p.disk);
    geodec_mem_unmap(p.slots, p.blob * in_flight);
    geodec_mem_free(p.latency);
    return st;
}
