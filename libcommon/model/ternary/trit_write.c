#include "base/crc32c.h"
#include "base/mem.h"
#include "ternary/header_internal.h"

#include <errno.h>

struct geodec_trit_writer {
    geodec_atomic *file;
    char *path;
    geodec__header h;
    uint8_t *page, *blob; /* header, one blob */
    int32_t written, last;
};

geodec_status geodec_trit_writer_create(const char *path, const geodec_trit_shape *s, int32_t expert,
                                        geodec_trit_writer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trit_writer *w = NULL;
    GEODEC_TRY_MSG(geodec_trit_shape_check(s, err), "%s", path);
    if (expert < 0 || expert > GEODEC_TRIT_NUMBER)
        GEODEC_THROW(GEODEC_RANGE, "%s: expert %d is outside 0 to %d", path, expert, GEODEC_TRIT_NUMBER);
    GEODEC_NEW(w, 1);
    w->last = -1;
    GEODEC_STRDUP(w->path, path);
    w->h = (geodec__header){.shape = *s,
                            .expert = {expert, -1},
                            .header_bytes = geodec__header_bytes(&geodec__header_trit, s->layers),
                            .stride = geodec_trit_stride(s)};
    w->h.file_bytes = w->h.header_bytes + s->layers * w->h.stride;
    GEODEC_NEW(w->page, w->h.header_bytes);
    GEODEC_NEW(w->blob, w->h.stride);
    GEODEC_TRY(geodec_atomic_open(path, &w->file, err));
    GEODEC_TRY(geodec__header_write_zeros(w->file, w->h.header_bytes, err));
    *out = w;
    w = NULL;
done:
    geodec_trit_writer_abandon(w);
    return st;
}

geodec_status geodec_trit_writer_blob(geodec_trit_writer *w, int32_t layer,
                                      const geodec_ternary_matrix m[GEODEC_TRIT_MATRICES], geodec_err *err)
{
    const int64_t bytes = geodec_trit_payload_bytes(&w->h.shape);
    if (w->written == w->h.shape.layers || layer <= w->last)
        GEODEC_FAIL(GEODEC_INVAL, "%s: layer %d was not planned here", w->path, layer);
    GEODEC_PASS_MSG(geodec_trit_payload(&w->h.shape, layer, w->h.expert[0], m, w->blob, err), "%s: layer %d, expert %d",
                    w->path, layer, w->h.expert[0]);
    GEODEC_PASS(geodec_atomic_write(w->file, w->blob, (size_t)w->h.stride, err));
    uint8_t *p = w->page + GEODEC__HEADER_TABLE + (int64_t)w->written * GEODEC__HEADER_TRIT;
    const int64_t offset = w->h.header_bytes + w->written * w->h.stride;
    const uint32_t crc = geodec_crc32c(0, w->blob, bytes);
    geodec__header_put(p, &offset, 8);
    geodec__header_put(p + 8, &bytes, 8);
    geodec__header_put(p + 16, &layer, 4);
    geodec__header_put(p + 20, &crc, 4);
    w->last = layer;
    w->written++;
    return GEODEC_OK;
}

geodec_status geodec_trit_writer_commit(geodec_trit_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (w->written != w->h.shape.layers)
        GEODEC_THROW(GEODEC_INVAL, "%s: %d of %d layers were written", w->path, w->written, w->h.shape.layers);
    geodec__header_fill(&geodec__header_trit, &w->h, w->page);
    FILE *f = geodec_atomic_stream(w->file);
    if (!f || fseeko(f, 0, SEEK_SET) != 0)
        GEODEC_THROW(GEODEC_IO, "%s: cannot write: %s", w->path, strerror(errno ? errno : EIO));
    GEODEC_TRY(geodec_atomic_write(w->file, w->page, (size_t)w->h.header_bytes, err));
    geodec_atomic *file = w->file;
    w->file = NULL;
    GEODEC_TRY(geodec_atomic_commit(file, err));
done:
    geodec_trit_writer_abandon(w);
    return st;
}

void geodec_trit_writer_abandon(geodec_trit_writer *w)
{
    if (!w) return;
    geodec_atomic_abandon(w->file);
    GEODEC_FREE(w->path, w->page, w->blob, w);
}
