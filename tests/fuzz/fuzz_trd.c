/* Differences in .trd files: edits of good ones, with right CRCs or as they are. Any stream stays inside the payload;
 * what is verified with its experts leads from each to the other. */
#include "base/mem.h"
#include "fuzz/ternary_edits.h"

volatile unsigned char fuzz_sink;

typedef struct world {
    edits_file difference;
    geodec_trit a, b;
} world;

static bool make_world(int kind, world *w)
{
    char a[64], b[64], d[64];
    if (!fuzz_file(NULL, 0, a) || !fuzz_file(NULL, 0, b) || !fuzz_file(NULL, 0, d)) return false;
    edits_expert(a, kind, 3);
    edits_expert(b, kind, 4);
    edits_must(geodec_trit_open(a, &w->a, NULL));
    edits_must(geodec_trit_open(b, &w->b, NULL));
    edits_must(geodec_trd_write(d, &w->a, &w->b, NULL, NULL));
    edits_load(d, &w->difference);
    (void)unlink(a); /* they stay open */
    (void)unlink(b);
    (void)unlink(d);
    return true;
}

/* Applies every blob to the experts' payloads, as far as it goes. */
static void use(const char *path, const world *w, bool verified)
{
    geodec_trd t = {0};
    if (geodec_trd_open(path, &t, NULL) != GEODEC_OK) {
        fuzz_must(!t.entry && !verified, "an output of a failure");
        return;
    }
    uint8_t *blob = geodec_mem_new(t.room, 1), *payload = geodec_mem_new(geodec_trit_stride(&t.shape), 1);
    fuzz_must(t.room > 0 && t.room <= t.file_bytes, "a blob is larger than the file");
    for (int32_t i = 0; blob && payload && i < t.shape.layers; i++) {
        const geodec_trd_entry *e = &t.entry[i];
        fuzz_must(e->offset % GEODEC_TRIT_PAGE == 0 && e->bytes <= t.file_bytes - e->offset, "a blob outside the file");
        const int64_t changes = (int64_t)e->changes[0] + e->changes[1] + e->changes[2];
        fuzz_must(changes <= (int64_t)GEODEC_TRIT_MATRICES * t.shape.d * t.shape.f, "more changes than weights");
        if (geodec_trd_read(&t, e->layer, blob, NULL) != GEODEC_OK) continue;
        for (int to_b = 0; to_b < 2; to_b++) {
            const geodec_trit *base = to_b ? &w->a : &w->b;
            if (!geodec_trit_same_shape(&t.shape, &base->shape)) continue;
            if (geodec_trit_read(base, e->layer, payload, NULL) != GEODEC_OK) continue;
            uint32_t crc = geodec_trit_find(base, e->layer)->crc;
            const geodec_status st = geodec_trd_apply(&t, e->layer, blob, to_b, true, payload, &crc, NULL);
            fuzz_must(st == GEODEC_OK || !verified, "a verified difference leads to the other expert");
        }
    }
    GEODEC_FREE(blob, payload);
    geodec_trd_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static world worlds[EDITS_KINDS];
    static edits_file f;
    char path[64];
    if (size < 1) return 0;
    const int flags = data[0], kind = flags % EDITS_KINDS;
    world *w = &worlds[kind];
    if (!w->difference.size && !make_world(kind, w)) return 0;
    f = w->difference;
    edits_apply(&f, data, size);
    if (flags & EDITS_REPAIR) edits_repair(&f, GEODEC__HEADER_TRD, 28);
    if (!fuzz_file(f.bytes, f.size, path)) return 0;
    (void)!geodec_trd_verify(path, NULL, NULL, NULL, NULL);
    const bool verified = geodec_trd_verify(path, &w->a, &w->b, NULL, NULL) == GEODEC_OK;
    use(path, w, verified);
    (void)unlink(path);
    return 0;
}
