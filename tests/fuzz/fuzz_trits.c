/* Tables of folders of ternary experts, as they are or as edits of a good one, with a right CRC or without. What is
 * read is written back byte for byte. */
#include "base/mem.h"
#include "fuzz/ternary_edits.h"
#include "ternary/table.h"

#include <sys/stat.h>

volatile unsigned char fuzz_sink;

enum { EXPERTS = 4, EDGES = 3, MOST = 1 << 16 };

static size_t good_table(uint8_t *out, const char *folder, const char *path)
{
    int32_t layer[EDITS_LAYERS] = {0, 2};
    uint32_t crc[EXPERTS] = {1, 2, 3, 4};
    geodec_trit_edge edge[EDGES] = {{0, 1, 5}, {0, 2, 6}, {2, 3, 7}};
    geodec_trit_table t = {.shape = edits_shape(EDITS_BASE3),
                           .n_layer = 3,
                           .n_expert = EXPERTS,
                           .n_edges = EDGES,
                           .layer = layer,
                           .crc = crc,
                           .edge = edge,
                           .resident_bytes = 100,
                           .n_golden = 2,
                           .golden = {3, 4}};
    memset(t.fingerprint, 'a', sizeof t.fingerprint - 1);
    t.shape.model = geodec_trit_table_model(t.fingerprint);
    edits_must(geodec_trit_table_write(folder, &t, NULL));
    FILE *f = fopen(path, "rb");
    fuzz_must(f != NULL, "a table is there");
    const size_t n = fread(out, 1, MOST, f);
    (void)fclose(f);
    return n;
}

/* A byte of flags, then edits of three bytes; or, without the first flag, the table itself. */
static size_t make_input(const uint8_t *data, size_t size, const uint8_t *good, size_t n_good, uint8_t *out)
{
    size_t n = 0;
    const int flags = size > 0 ? data[0] : 0;
    if (flags & 1) {
        memcpy(out, good, n_good);
        n = n_good;
        for (size_t i = 1; i + 3 <= size; i += 3) {
            const size_t at = (size_t)data[i] | (size_t)data[i + 1] << 8;
            if (at < n) out[at] = data[i + 2];
            if (at == 65535 && (size_t)data[i + 2] * 4 < n) n = (size_t)data[i + 2] * 4;
        }
    } else if (size > 1) {
        n = size - 1 < MOST ? size - 1 : MOST;
        memcpy(out, data + 1, n);
    }
    if ((flags & 2) && n >= 4) {
        const uint32_t crc = geodec_crc32c(0, out, (int64_t)n - 4);
        memcpy(out + n - 4, &crc, 4);
    }
    return n;
}

static void write_file(const char *path, const uint8_t *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    fuzz_must(f && fwrite(data, 1, n, f) == n && fclose(f) == 0, "a file is written");
}

static void check(const geodec_trit_table *t, const char *folder, const char *path, const uint8_t *data, size_t n)
{
    static uint8_t again[MOST + 1];
    fuzz_use(t->layer, (size_t)t->shape.layers * sizeof *t->layer);
    fuzz_use(t->crc, (size_t)t->n_expert * sizeof *t->crc);
    for (int32_t i = 0; i < t->n_edges; i++)
        fuzz_must(t->edge[i].a < t->edge[i].b && t->edge[i].b < t->n_expert, "an edge of experts");
    for (int32_t i = 0; i < t->shape.layers; i++) fuzz_must(t->layer[i] < t->n_layer, "a layer of the model");
    edits_must(geodec_trit_table_write(folder, t, NULL));
    FILE *f = fopen(path, "rb");
    fuzz_must(f != NULL, "the table is there");
    const size_t m = fread(again, 1, sizeof again, f);
    (void)fclose(f);
    fuzz_must(m == n && memcmp(again, data, n) == 0, "a table is written back byte for byte");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[64], path[128];
    static uint8_t good[MOST], input[MOST];
    static size_t n_good;
    if (n_good == 0) {
        (void)snprintf(folder, sizeof folder, "%s/geodec-fuzz-XXXXXX",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(folder)) return 0;
        (void)snprintf(path, sizeof path, "%s/%s", folder, GEODEC_TRIT_TABLE_NAME);
        n_good = good_table(good, folder, path);
    }
    const size_t n = make_input(data, size, good, n_good, input);
    geodec_trit_table t = {0};
    write_file(path, input, n);
    if (geodec_trit_table_read(folder, &t, NULL) == GEODEC_OK) {
        check(&t, folder, path, input, n);
        geodec_trit_table_clear(&t);
    } else {
        fuzz_must(!t.layer && !t.crc && !t.edge, "an output of a failure");
    }
    (void)unlink(path);
    return 0;
}
