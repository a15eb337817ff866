/* Finished slabs of a search for neighbours, with the digest made right after each mutation: a part is refused, or all
 * its rows are passed on in ascending order. The first byte of an input is k, the second the number of rows. */
#include "base/mem.h"
#include "base/sha256.h"
#include "fuzz/fuzz.h"
#include "neighbours/parts_internal.h"

#include <string.h>
#include <sys/stat.h>

volatile unsigned char fuzz_sink;
enum { MAX_INPUT = 1 << 14, HEADER = 512 };

typedef struct seen {
    int64_t next, k;
} seen;

static geodec_status take(void *ctx, int64_t first, int64_t n, const int32_t *index, const double *dist2,
                          geodec_err *err)
{
    seen *s = ctx;
    (void)err;
    fuzz_must(first == s->next && n > 0, "rows out of order");
    fuzz_use(index, (size_t)(n * s->k) * sizeof *index);
    fuzz_use(dist2, (size_t)(n * s->k) * sizeof *dist2);
    s->next += n;
    return GEODEC_OK;
}

/* The digest of the rest, where the header has one. */
static void repair(uint8_t *data, size_t n)
{
    char hex[GEODEC_SHA256_HEX];
    if (n < HEADER) return;
    geodec_sha256_of(data + HEADER, n - HEADER, hex);
    for (size_t i = 0; i + 7 + 64 < HEADER; i++)
        if (memcmp(data + i, "sha256 ", 7) == 0) memcpy(data + i + 7, hex, 64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t copy[MAX_INPUT];
    char folder[64], path[100];
    uint8_t done = 0;
    geodec_err err = {0};
    if (size < 2 || size > MAX_INPUT) return 0;
    const int64_t k = 1 + data[0] % 8, rows = data[1];
    memcpy(copy, data + 2, size - 2);
    repair(copy, size - 2);
    (void)snprintf(folder, sizeof folder, "%s/geodec-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder)) return 0;
    (void)snprintf(path, sizeof path, "%s/slab-00000", folder);
    FILE *f = fopen(path, "w");
    if (f) {
        const bool whole = fwrite(copy, 1, size - 2, f) == size - 2;
        if (fclose(f) == 0 && whole) {
            seen s = {0, k};
            const geodec_status st = geodec__parts_look(folder, "key", 1, k, false, &done, NULL, &err);
            fuzz_must(st != GEODEC_OK || done <= 1, "a part is there or not");
            if (geodec__parts_join(folder, 1, rows, k, take, &s, NULL, &err) == GEODEC_OK)
                fuzz_must(s.next == rows, "rows are missing");
        }
    }
    geodec_neighbours_parts_remove(folder, 1);
    return 0;
}
