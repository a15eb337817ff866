#include "cli/experts_probe.h"

#include "streaming/probe.h"

#include <stdio.h>

geodec_status experts_probe(const cli *c, const char *file, int64_t blob, int64_t in_flight, double seconds,
                            geodec_err *err)
{
    geodec_probe p;
    const geodec_probe_options o = {.blob_bytes = blob,
                                    .most_bytes = INT64_MAX / 2,
                                    .seconds = seconds,
                                    .in_flight = (int32_t)in_flight,
                                    .io = GEODEC_DISK_DIRECT};
    (void)c;
    GEODEC_PASS(geodec_probe_read(file, &o, &p, err));
    (void)printf("MB_second\t%.1f\nlatency_median_ms\t%.3f\nlatency_p99_ms\t%.3f\nin_flight\t%d\nreads\t%lld\n",
                 p.bytes_per_second * 1e-6, p.latency_median * 1e3, p.latency_p99 * 1e3, (int)in_flight,
                 (long long)p.reads);
    (void)printf("bytes\t%lld\nseconds\t%.3f\nio\t%s\nengine\t%s\n", (long long)p.bytes, p.seconds,
                 p.io == GEODEC_DISK_DIRECT ? "direct" : "buffered", p.engine);
    return GEODEC_OK;
}
