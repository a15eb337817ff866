/* How fast a disk delivers blobs: random reads of one size from a file, for the health check and for plans. */
#ifndef GEODEC_STREAMING_PROBE_H
#define GEODEC_STREAMING_PROBE_H

#include "streaming/disk.h"

typedef struct geodec_probe_options {
    int64_t blob_bytes; /* of one read, rounded up to pages */
    int64_t most_bytes; /* ends after so many bytes; 0: 64 MiB, or 16 blobs if these are more */
    double seconds;     /* or after so much time; 0: 2 */
    int32_t in_flight;  /* reads at a time, up to 64; 0: 4. With 1 the latency is that of a read alone */
    geodec_disk_io io;
    geodec_disk_engine engine;
} geodec_probe_options;

typedef struct geodec_probe {
    double bytes_per_second;
    double latency_median, latency_p99; /* seconds of a read, with in_flight at a time */
    int64_t reads, bytes;
    double seconds;
    geodec_disk_io io;  /* in use, after fallbacks; buffered reads measure the page cache */
    const char *engine; /* static text */
} geodec_probe;

/* GEODEC_SCARCE: the file is smaller than a blob. */
geodec_status geodec_probe_read(const char *path, const geodec_probe_options *o, geodec_probe *out,
                                geodec_err *err) GEODEC_MUST_USE;

#endif
