/* Stores of experts: header and index with valid checksums (recomputed after each mutation), the embedded GGUF, the
 * model that is bound to them, and where its experts lie. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "session/expert_source_internal.h"
#include "streaming/store_internal.h"

#include <string.h>

volatile unsigned char fuzz_sink;
enum { MAX_FILE = 1 << 18 };

static void repair(uint8_t *p, size_t size)
{
    if (size < GEODEC__STORE_HEADER) return;
    const int64_t n = (int64_t)size, index = geodec__store_i64(p + GEODEC__STORE_AT_INDEX_BYTES);
    memcpy(p, GEODEC__STORE_MAGIC, 8);
    if (index > 0 && index <= n - GEODEC__STORE_HEADER) {
        const uint32_t crc = geodec_crc32c(0, p + GEODEC__STORE_HEADER, index);
        geodec__store_put(p + GEODEC__STORE_AT_INDEX_CRC, &crc, 4);
    }
    geodec__store_put(p + GEODEC__STORE_AT_FILE_BYTES, &n, 8);
    const uint32_t crc = geodec_crc32c(0, p, GEODEC__STORE_AT_CRC);
    geodec__store_put(p + GEODEC__STORE_AT_CRC, &crc, 4);
}

static void check_places(const geodec_blobs *b)
{
    int64_t before = 0;
    for (int32_t l = 0; l < b->n_layer; l++)
        for (int32_t e = 0; e < b->n_expert; e++) {
            const geodec_blob_piece *p = geodec_blobs_at(b, l, e);
            if (!p->bytes) continue;
            fuzz_must(p->offset >= before && p->offset % GEODEC_BLOB_PAGE == 0, "blobs ascend, on pages");
            fuzz_must(p->bytes <= b->file_bytes - p->offset, "blobs lie inside the file");
            fuzz_must(geodec_blobs_room(p) <= b->slot_bytes, "blobs fit in a slot");
            before = p->offset + p->bytes;
        }
}

/* Every matrix that is multiplied lies inside a slot. */
static void check_source(const geodec_model *m, geodec_arithmetic a)
{
    geodec__expert_source s = {0};
    if (geodec__expert_source_open(m, a, &s, NULL) != GEODEC_OK) return;
    uint8_t *slot = geodec_mem_new(s.blobs.slot_bytes, 1), *spare = geodec_mem_new(s.blobs.slot_bytes, 1);
    for (int32_t l = 0; slot && spare && l < s.n_layer; l++) {
        if (!m->layer[l].router.data) continue;
        if (s.pack[l]) geodec__expert_source_pack(&s, l, s.n_expert - 1, slot, spare, NULL);
        for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++) {
            geodec__panels panels;
            const geodec__matrix w =
                geodec__expert_source_find(&s, l, s.n_expert - 1, k, s.pack[l] ? spare : slot, &panels);
            fuzz_use(w.data, (size_t)s.matrix[l * GEODEC__EXPERT_MATRICES + k].bytes);
        }
    }
    GEODEC_FREE(slot, spare);
    geodec__expert_source_clear(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    geodec_store s = {0};
    geodec_model *m = NULL;
    if (size > MAX_FILE) return 0;
    uint8_t *copy = geodec_mem_new((int64_t)size, 1);
    if (!copy) return 0;
    if (size) memcpy(copy, data, size);
    repair(copy, size);
    const bool there = fuzz_file(copy, size, path);
    geodec_mem_free(copy);
    if (!there) return 0;
    if (geodec_store_read(path, &s, NULL) == GEODEC_OK) {
        check_places(&s.blobs);
        fuzz_must(s.golden.n >= 0 && s.golden.n <= GEODEC_STORE_GOLDEN, "a golden prompt has room");
        for (int32_t i = 0; i < s.golden.n; i++) fuzz_must(s.golden.token[i] >= 0, "its tokens are ids");
    }
    geodec_store_clear(&s);
    (void)!geodec_store_verify(path, NULL, NULL);
    if (geodec_model_open(path, &m, NULL) == GEODEC_OK) {
        check_source(m, GEODEC_EXACT);
        check_source(m, GEODEC_FAST);
        geodec_model_close(m);
    }
    (void)unlink(path);
    return 0;
}
