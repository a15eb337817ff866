/* Shared by the targets trit and trd: small good files, and edits of them. An input is a byte of flags, then edits of
 * three bytes (offset, value). Offset 65535 sets the length of the file, in units of 64 bytes. */
#ifndef GEODEC_TESTS_FUZZ_TERNARY_EDITS_H
#define GEODEC_TESTS_FUZZ_TERNARY_EDITS_H

#include "base/crc32c.h"
#include "fuzz/fuzz.h"
#include "ternary/header_internal.h"
#include "ternary/trd.h"

#include <stdio.h>
#include <string.h>

enum {
    EDITS_D = 20,
    EDITS_F = 9,
    EDITS_LAYERS = 2,
    EDITS_ROOM = 1 << 16,
    /* flags */
    EDITS_BASE3 = 1,
    EDITS_BY_ROW = 2,
    EDITS_REPAIR = 4, /* all CRCs are made right again */
    EDITS_KINDS = 4   /* of good files: the first two flags */
};

static inline geodec_trit_shape edits_shape(int flags)
{
    return (geodec_trit_shape){.layers = EDITS_LAYERS,
                               .d = EDITS_D,
                               .f = EDITS_F,
                               .encoding = flags & EDITS_BASE3 ? GEODEC_TERNARY_BASE3 : GEODEC_TERNARY_BITS2,
                               .by_row = (flags & EDITS_BY_ROW) != 0,
                               .model = 7};
}

static inline void edits_must(geodec_status st) { fuzz_must(st == GEODEC_OK, "a good file is written"); }

/* Writes expert e, whose weights are all 0 but for one in five, at places that depend on e. */
static inline void edits_expert(const char *path, int flags, int32_t e)
{
    const geodec_trit_shape s = edits_shape(flags);
    static uint8_t payload[EDITS_ROOM];
    static float scale[EDITS_D + EDITS_F];
    geodec_trit_writer *w;
    geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
    edits_must(geodec_trit_writer_create(path, &s, e, &w, NULL));
    for (int i = 0; i < EDITS_D + EDITS_F; i++) scale[i] = (float)(i + e);
    for (int32_t layer = 0; layer < EDITS_LAYERS; layer++) {
        memset(payload, 0, sizeof payload);
        geodec_trit_matrices(&s, payload, m);
        for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
            uint8_t *row = payload + (m[k].data - payload);
            m[k].scale = (float)(k + 1);
            m[k].row_scale = s.by_row ? scale : NULL;
            for (int64_t o = 0; o < m[k].rows; o++, row += geodec_ternary_row_bytes(s.encoding, m[k].cols)) {
                int8_t t[EDITS_D + EDITS_F] = {0};
                for (int64_t c = (o + e) % 5; c < m[k].cols; c += 5) t[c] = (int8_t)(c % 2 ? 1 : -1);
                geodec_ternary_pack(s.encoding, t, m[k].cols, row);
            }
        }
        edits_must(geodec_trit_writer_blob(w, layer, m, NULL));
    }
    edits_must(geodec_trit_writer_commit(w, NULL));
}

typedef struct edits_file {
    uint8_t bytes[EDITS_ROOM];
    size_t size;
} edits_file;

static inline void edits_load(const char *path, edits_file *f)
{
    FILE *in = fopen(path, "rb");
    fuzz_must(in != NULL, "a good file is read");
    f->size = fread(f->bytes, 1, EDITS_ROOM, in);
    (void)fclose(in);
}

static inline void edits_apply(edits_file *f, const uint8_t *data, size_t size)
{
    for (size_t i = 1; i + 3 <= size; i += 3) {
        const size_t at = (size_t)data[i] | (size_t)data[i + 1] << 8;
        if (at == 65535) {
            const size_t n = 64 * (size_t)data[i + 2];
            if (n > f->size) memset(f->bytes + f->size, 0, n - f->size);
            f->size = n;
        } else if (at < f->size) {
            f->bytes[at] = data[i + 2];
        }
    }
}

/* CRCs of the payloads in the table, then that of the header. crc_at: in an entry. */
static inline void edits_repair(edits_file *f, int entry_bytes, int crc_at)
{
    uint8_t *p = f->bytes;
    if (f->size < GEODEC_TRIT_PAGE) return;
    for (int i = 0; i < EDITS_LAYERS; i++) {
        uint8_t *entry = p + GEODEC__HEADER_TABLE + i * entry_bytes;
        const int64_t offset = geodec__header_i64(entry), bytes = geodec__header_i64(entry + 8);
        if (offset < 0 || bytes < 0 || offset > (int64_t)f->size || bytes > (int64_t)f->size - offset) continue;
        const uint32_t crc = geodec_crc32c(0, p + offset, bytes);
        geodec__header_put(entry + crc_at, &crc, 4);
    }
    const int64_t n = (int64_t)f->size;
    geodec__header_put(p + 48, &n, 8);
    const uint32_t crc = geodec_crc32c(0, p, GEODEC__HEADER_CRC);
    geodec__header_put(p + GEODEC__HEADER_CRC, &crc, 4);
}

#endif
