#include "cli/needs.h"

#include "base/clock.h"
#include "base/memory_limit.h"
#include "base/sha256.h"
#include "base/topology.h"
#include "cli/ranks.h"
#include "io/tsv.h"

#include <stdio.h>

/* Time of writing a byte to an artifact over that of its digest: check of the numbers, checksum, copy to the page
 * cache, and the digest itself. An estimate, not a fit: writing is a few per cent of the stages of tests/bench/plan.sh.
 */
static const double write_per_digest = 2.5;

static double first_size, first_files; /* resident size when the plan began, and of this what is of files */

/* Bytes a second of SHA-256 on one thread, the best of a few. */
static double digest_speed(void)
{
    enum { BYTES = 1 << 18, TIMES = 4 };
    static char data[BYTES];
    static double speed;
    char hex[GEODEC_SHA256_HEX];
    for (int i = 0; speed == 0 || i < TIMES; i++) {
        const double begin = geodec_clock_thread_seconds();
        geodec_sha256_of(data, sizeof data, hex);
        const double seconds = geodec_clock_thread_seconds() - begin, now = seconds > 0 ? BYTES / seconds : 1e9;
        speed = now > speed ? now : speed;
    }
    return speed;
}

/* Pages of HDF5, BLAS and others that a run touches and that are not in memory when it begins: the largest resident
 * size of geodec-knn, -metric, -cloud and -christoffel with 600 points, less that at the beginning, was 4.1 to 5.2 MB.
 */
static const double later_pages = 5 << 20;

void needs_program(geodec_needs *n) { geodec_needs_memory(n, "program", first_size + later_pages); }

void needs_process(geodec_needs *n) { geodec_needs_memory(n, "process", (double)geodec_memory_limit_peak()); }

void needs_process_and_file(geodec_needs *n, double bytes)
{
    const double files = (double)geodec_memory_limit_resident() - (double)geodec_memory_limit_anonymous() - first_files;
    needs_process(n);
    if (files < bytes) geodec_needs_memory(n, "file", bytes - (files > 0 ? files : 0));
}

void needs_since(geodec_needs *n, const char *name, double begin)
{
    geodec_needs_time(n, name, geodec_clock_process_seconds() - begin, 0);
}

void needs_digest(geodec_needs *n, const char *name, double bytes, double times)
{
    geodec_needs_time(n, name, times * bytes / digest_speed(), 0);
}

void needs_inputs(geodec_needs *n, const cli_stage *stage)
{
    geodec_needs_size(n, "input_bytes", (double)stage->bytes);
    needs_digest(n, "inputs", (double)stage->bytes, 2);
}

void needs_output(geodec_needs *n, const geodec_size *size)
{
    geodec_needs_size(n, "output_bytes", (double)size->fields);
    geodec_needs_memory(n, "buffers", (double)size->buffers);
    geodec_needs_time(n, "output", write_per_digest * (double)size->fields / digest_speed(), 0);
}

static geodec_status row(geodec_tsv *t, const char *name, double value, bool whole, geodec_err *err)
{
    char text[32];
    (void)snprintf(text, sizeof text, whole ? "%.0f" : "%.6g", value);
    geodec_tsv_str(t, name);
    geodec_tsv_str(t, text);
    return geodec_tsv_end_row(t, err);
}

static bool whole(double v) { return v >= 100 || v == (double)(int64_t)v; }

void needs_begin(cli *c, geodec_needs *n)
{
    const int usable = geodec_topology_usable();
    *n = (geodec_needs){.threads = c->threads < usable ? c->threads : usable};
    first_size = (double)geodec_memory_limit_resident();
    first_files = first_size - (double)geodec_memory_limit_anonymous();
    geodec_needs_time(n, "start", geodec_clock_process_seconds(), 0);
    c->needs = n;
}

geodec_status needs_print(const geodec_needs *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    if (ranks_silent()) return GEODEC_OK;
    GEODEC_TRY(geodec_tsv_on(stdout, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "name value", err));
    GEODEC_TRY(row(t, "memory_bytes", n->memory, true, err));
    GEODEC_TRY(row(t, "seconds", n->seconds, false, err));
    GEODEC_TRY(row(t, "processor_seconds", n->processor, false, err));
    GEODEC_TRY(row(t, "threads", (double)n->threads, true, err));
    for (int i = 0; i < n->n; i++) GEODEC_TRY(row(t, n->row[i].name, n->row[i].value, whole(n->row[i].value), err));
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}
