/* Writing a store: header and index are written last, into the room left for them, so an unfinished file is never taken
 * for a store. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "streaming/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { BUFFER = 1 << 18 };

struct geodec_store_writer {
    geodec_atomic *file;
    char *path;
    geodec_store s; /* blobs: filled as they are written */
    int64_t *bytes; /* [n_layer] of a blob */
    int64_t next;   /* blob: layer * n_expert + expert */
    int64_t at;     /* its offset; 0 while the resident part is being written */
};

static geodec_status failed(const geodec_store_writer *w, geodec_err *err)
{
    GEODEC_FAIL(GEODEC_IO, "%s: cannot write: %s", w->path, strerror(errno ? errno : EIO));
}

static geodec_status zeros(geodec_store_writer *w, int64_t n, geodec_err *err)
{
    static const uint8_t page[GEODEC_BLOB_PAGE];
    for (; n > 0; n -= GEODEC_BLOB_PAGE)
        GEODEC_PASS(geodec_atomic_write(w->file, page, (size_t)(n < GEODEC_BLOB_PAGE ? n : GEODEC_BLOB_PAGE), err));
    return GEODEC_OK;
}

static geodec_status check_plan(const geodec_store *plan, const char *path, geodec_err *err)
{
    const int32_t layers = plan->blobs.n_layer, experts = plan->blobs.n_expert;
    if (layers < 1 || layers > GEODEC_STORE_LAYERS || experts < 1 || experts > GEODEC_STORE_EXPERTS)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: %d layers of %d experts are outside 1 to %d and 1 to %d", path, layers, experts,
                    GEODEC_STORE_LAYERS, GEODEC_STORE_EXPERTS);
    if (strlen(plan->fingerprint) != GEODEC_SHA256_HEX - 1)
        GEODEC_FAIL(GEODEC_INVAL, "%s: a store needs the fingerprint of its model", path);
    if (plan->golden.n < 0 || plan->golden.n > GEODEC_STORE_GOLDEN)
        GEODEC_FAIL(GEODEC_INVAL, "%s: a golden prompt of %d tokens", path, plan->golden.n);
    return GEODEC_OK;
}

geodec_status geodec_store_writer_create(const char *path, const geodec_store *plan, geodec_store_writer **out,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_store_writer *w = NULL;
    GEODEC_TRY(check_plan(plan, path, err));
    GEODEC_NEW(w, 1);
    GEODEC_STRDUP(w->path, path);
    geodec_blobs *b = &w->s.blobs;
    b->n_layer = plan->blobs.n_layer;
    b->n_expert = plan->blobs.n_expert;
    w->s.layout = plan->layout;
    w->s.golden = plan->golden;
    memcpy(w->s.fingerprint, plan->fingerprint, sizeof w->s.fingerprint);
    const int64_t n = (int64_t)b->n_layer * b->n_expert;
    GEODEC_NEW_COPY(w->s.matrix, plan->matrix, (int64_t)b->n_layer * GEODEC_STORE_MATRICES);
    GEODEC_NEW(w->bytes, b->n_layer);
    GEODEC_NEW(b->piece, n * GEODEC_BLOB_PIECES);
    GEODEC_NEW(b->crc, n);
    for (int32_t i = 0; i < b->n_layer; i++) {
        w->bytes[i] = geodec__store_place(w->s.matrix + (int64_t)i * GEODEC_STORE_MATRICES);
        if (w->bytes[i] < 0) GEODEC_THROW(GEODEC_INVAL, "%s: the experts of layer %d have no size", path, i);
    }
    GEODEC_TRY(geodec_atomic_open(path, &w->file, err));
    w->s.resident_offset =
        GEODEC__STORE_HEADER + geodec__store_pages(geodec__store_index_bytes(b->n_layer, b->n_expert));
    GEODEC_TRY(zeros(w, w->s.resident_offset, err));
    *out = w;
    w = NULL;
done:
    geodec_store_writer_abandon(w);
    return st;
}

geodec_atomic *geodec_store_writer_file(geodec_store_writer *w) { return w->file; }
const geodec_store *geodec_store_writer_plan(const geodec_store_writer *w) { return &w->s; }

/* Ends the resident part; its CRC is taken from the file. */
static geodec_status end_resident(geodec_store_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *buffer = NULL;
    FILE *f = geodec_atomic_stream(w->file);
    if (!f || fflush(f) != 0) GEODEC_TRY(failed(w, err));
    const int64_t end = (int64_t)ftello(f);
    w->s.resident_bytes = end - w->s.resident_offset;
    if (w->s.resident_bytes <= 0) GEODEC_THROW(GEODEC_INVAL, "%s: the resident part is missing", w->path);
    GEODEC_NEW(buffer, BUFFER);
    for (int64_t at = w->s.resident_offset; at < end;) {
        const ssize_t got =
            pread(geodec_atomic_fd(w->file), buffer, (size_t)(end - at < BUFFER ? end - at : BUFFER), (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) GEODEC_TRY(failed(w, err));
        w->s.resident_crc = geodec_crc32c(w->s.resident_crc, buffer, got);
        at += got;
    }
    GEODEC_TRY(zeros(w, geodec__store_pages(end) - end, err));
    w->at = geodec__store_pages(end);
done:
    geodec_mem_free(buffer);
    return st;
}

/* Steps over layers without experts. */
static void skip_dense(geodec_store_writer *w)
{
    const geodec_blobs *b = &w->s.blobs;
    while (w->next < (int64_t)b->n_layer * b->n_expert && w->bytes[w->next / b->n_expert] == 0) w->next += b->n_expert;
}

geodec_status geodec_store_writer_blob(geodec_store_writer *w, const void *data, int64_t bytes, geodec_err *err)
{
    geodec_blobs *b = &w->s.blobs;
    if (w->at == 0) GEODEC_PASS(end_resident(w, err));
    skip_dense(w);
    if (w->next == (int64_t)b->n_layer * b->n_expert || w->bytes[w->next / b->n_expert] != bytes)
        GEODEC_FAIL(GEODEC_INVAL, "%s: a blob of %lld bytes was not planned", w->path, (long long)bytes);
    GEODEC_PASS(geodec_atomic_write(w->file, data, (size_t)bytes, err));
    GEODEC_PASS(zeros(w, geodec__store_pages(bytes) - bytes, err));
    b->piece[w->next * GEODEC_BLOB_PIECES] = (geodec_blob_piece){w->at, bytes};
    b->crc[w->next++] = geodec_crc32c(0, data, bytes);
    w->at += geodec__store_pages(bytes);
    return GEODEC_OK;
}

static void fill_index(const geodec_store_writer *w, uint8_t *p)
{
    const geodec_blobs *b = &w->s.blobs;
    for (int64_t i = 0; i < (int64_t)b->n_layer * GEODEC_STORE_MATRICES; i++, p += GEODEC__STORE_MATRIX_BYTES) {
        const geodec_store_matrix *m = &w->s.matrix[i];
        geodec__store_put(p, &m->type, 4);
        geodec__store_put(p + 4, &m->packing, 4);
        geodec__store_put(p + 8, &m->rows, 8);
        geodec__store_put(p + 16, &m->cols, 8);
        geodec__store_put(p + 24, &m->at, 8);
        geodec__store_put(p + 32, &m->bytes, 8);
    }
    for (int64_t i = 0; i < (int64_t)b->n_layer * b->n_expert; i++, p += GEODEC__STORE_BLOB_BYTES) {
        const geodec_blob_piece *piece = &b->piece[i * GEODEC_BLOB_PIECES];
        geodec__store_put(p, &piece->offset, 8);
        geodec__store_put(p + 8, &piece->bytes, 8);
        geodec__store_put(p + 16, &b->crc[i], 4);
    }
}

static void fill_header(const geodec_store_writer *w, int64_t index_bytes, uint32_t index_crc, uint8_t *h)
{
    const geodec_store *s = &w->s;
    const uint32_t version = GEODEC_STORE_VERSION, minor = GEODEC_STORE_MINOR;
    geodec__store_put(h, GEODEC__STORE_MAGIC, 8);
    geodec__store_put(h + GEODEC__STORE_AT_VERSION, &version, 4);
    geodec__store_put(h + GEODEC__STORE_AT_LAYOUT, &s->layout, 4);
    geodec__store_put(h + GEODEC__STORE_AT_FILE_BYTES, &w->at, 8);
    geodec__store_put(h + GEODEC__STORE_AT_LAYERS, &s->blobs.n_layer, 4);
    geodec__store_put(h + GEODEC__STORE_AT_EXPERTS, &s->blobs.n_expert, 4);
    geodec__store_put(h + GEODEC__STORE_AT_INDEX_BYTES, &index_bytes, 8);
    geodec__store_put(h + GEODEC__STORE_AT_INDEX_CRC, &index_crc, 4);
    geodec__store_put(h + GEODEC__STORE_AT_RESIDENT_CRC, &s->resident_crc, 4);
    geodec__store_put(h + GEODEC__STORE_AT_RESIDENT, &s->resident_offset, 8);
    geodec__store_put(h + GEODEC__STORE_AT_RESIDENT + 8, &s->resident_bytes, 8);
    const int64_t blobs = geodec__store_pages(s->resident_offset + s->resident_bytes);
    geodec__store_put(h + GEODEC__STORE_AT_BLOBS, &blobs, 8);
    geodec__store_put(h + GEODEC__STORE_AT_FINGERPRINT, s->fingerprint, GEODEC_SHA256_HEX - 1);
    geodec__store_put(h + GEODEC__STORE_AT_MINOR, &minor, 4);
    geodec__store_put(h + GEODEC__STORE_AT_GOLDEN, &s->golden.n, 4);
    geodec__store_put(h + GEODEC__STORE_AT_GOLDEN + 4, s->golden.crc, sizeof s->golden.crc);
    geodec__store_put(h + GEODEC__STORE_AT_GOLDEN + 12, s->golden.token, sizeof s->golden.token);
    const uint32_t crc = geodec_crc32c(0, h, GEODEC__STORE_AT_CRC);
    geodec__store_put(h + GEODEC__STORE_AT_CRC, &crc, 4);
}

geodec_status geodec_store_writer_commit(geodec_store_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *front = NULL;
    const geodec_blobs *b = &w->s.blobs;
    const int64_t index = geodec__store_index_bytes(b->n_layer, b->n_expert);
    if (w->at == 0) GEODEC_TRY(end_resident(w, err));
    skip_dense(w);
    if (w->next != (int64_t)b->n_layer * b->n_expert)
        GEODEC_THROW(GEODEC_INVAL, "%s: %lld of %lld experts were written", w->path, (long long)w->next,
                     (long long)b->n_layer * b->n_expert);
    GEODEC_NEW(front, GEODEC__STORE_HEADER + index);
    fill_index(w, front + GEODEC__STORE_HEADER);
    fill_header(w, index, geodec_crc32c(0, front + GEODEC__STORE_HEADER, index), front);
    if (fseeko(geodec_atomic_stream(w->file), 0, SEEK_SET) != 0) GEODEC_TRY(failed(w, err));
    GEODEC_TRY(geodec_atomic_write(w->file, front, (size_t)(GEODEC__STORE_HEADER + index), err));
    geodec_atomic *file = w->file;
    w->file = NULL;
    GEODEC_TRY(geodec_atomic_commit(file, err));
done:
    geodec_mem_free(front);
    geodec_store_writer_abandon(w);
    return st;
}

void geodec_store_writer_abandon(geodec_store_writer *w)
{
    if (!w) return;
    geodec_atomic_abandon(w->file);
    geodec_store_clear(&w->s);
    GEODEC_FREE(w->bytes, w->path, w);
}
