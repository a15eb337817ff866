/* Reading and checking a store. */
#include "base/crc32c.h"
#include "base/mem.h"
#include "io/regular.h"
#include "streaming/store_internal.h"

#include <stdlib.h>

enum { BUFFER = 1 << 20, MOST_ROWS = 1 << 28 };
static const int64_t MOST_BYTES = (int64_t)1 << 56;

/* ---- header and index -------------------------------------------------------------------------------------------- */

int64_t geodec__store_place(geodec_store_matrix m[GEODEC_STORE_MATRICES])
{
    int64_t at = 0;
    if (m[0].rows == 0) return 0;
    for (int k = 0; k < GEODEC_STORE_MATRICES; k++) {
        at = (at + 63) / 64 * 64;
        m[k].at = at;
        if (m[k].bytes <= 0 || m[k].bytes > MOST_BYTES - at) return -1;
        at += m[k].bytes;
    }
    return at;
}

bool geodec_store_is(const char *path)
{
    geodec_regular f = {.fd = -1};
    char magic[8];
    const bool is = geodec_regular_open(path, &f, NULL) == GEODEC_OK &&
                    geodec_regular_read(&f, 0, magic, sizeof magic, NULL) == GEODEC_OK &&
                    memcmp(magic, GEODEC__STORE_MAGIC, sizeof magic) == 0;
    geodec_regular_close(&f);
    return is;
}

typedef struct header {
    int64_t file_bytes, index_bytes, blobs_offset;
    uint32_t index_crc;
} header;

static geodec_status read_fingerprint(const geodec_regular *f, const uint8_t *h, geodec_store *s, geodec_err *err)
{
    const char *digit = (const char *)h + GEODEC__STORE_AT_FINGERPRINT;
    for (int i = 0; i < GEODEC_SHA256_HEX - 1; i++)
        if (!memchr("0123456789abcdef", digit[i], 16))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: the fingerprint is not 64 hexadecimal digits", f->path);
    memcpy(s->fingerprint, digit, GEODEC_SHA256_HEX - 1);
    return GEODEC_OK;
}

/* Further fields of later minor versions are not read. */
static geodec_status read_golden(const geodec_regular *f, const uint8_t *h, geodec_store *s, geodec_err *err)
{
    geodec_store_golden *g = &s->golden;
    const uint8_t *at = h + GEODEC__STORE_AT_GOLDEN;
    if (geodec__store_u32(h + GEODEC__STORE_AT_MINOR) < 1) return GEODEC_OK;
    const uint32_t n = geodec__store_u32(at);
    if (n > GEODEC_STORE_GOLDEN) GEODEC_FAIL(GEODEC_FORMAT, "%s: a golden prompt of %u tokens", f->path, n);
    g->n = (int32_t)n;
    for (int k = 0; k < 2; k++) g->crc[k] = geodec__store_u32(at + 4 + 4 * k);
    for (int32_t i = 0; i < g->n; i++) {
        const uint32_t id = geodec__store_u32(at + 12 + 4 * i);
        if (id > INT32_MAX) GEODEC_FAIL(GEODEC_FORMAT, "%s: a golden prompt with the token %u", f->path, id);
        g->token[i] = (int32_t)id;
    }
    return GEODEC_OK;
}

/* Every offset follows from the sizes before it, so parts neither overlap nor leave gaps. */
static geodec_status read_header(const geodec_regular *f, geodec_store *s, header *at, geodec_err *err)
{
    uint8_t h[GEODEC__STORE_HEADER];
    if (f->size < (int64_t)sizeof h) GEODEC_FAIL(GEODEC_FORMAT, "%s: the file ends inside the header", f->path);
    GEODEC_PASS(geodec_regular_read(f, 0, h, sizeof h, err));
    if (memcmp(h, GEODEC__STORE_MAGIC, 8) != 0) GEODEC_FAIL(GEODEC_FORMAT, "%s: not a store of experts", f->path);
    const uint32_t version = geodec__store_u32(h + GEODEC__STORE_AT_VERSION);
    if (version != GEODEC_STORE_VERSION)
        GEODEC_FAIL(GEODEC_VERSION, "%s: version %u of a store is not supported (%d is)", f->path, version,
                    GEODEC_STORE_VERSION);
    if (geodec_crc32c(0, h, GEODEC__STORE_AT_CRC) != geodec__store_u32(h + GEODEC__STORE_AT_CRC))
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: the header does not match its CRC-32C", f->path);
    const uint32_t layers = geodec__store_u32(h + GEODEC__STORE_AT_LAYERS),
                   experts = geodec__store_u32(h + GEODEC__STORE_AT_EXPERTS),
                   layout = geodec__store_u32(h + GEODEC__STORE_AT_LAYOUT);
    if (layers < 1 || layers > GEODEC_STORE_LAYERS || experts < 1 || experts > GEODEC_STORE_EXPERTS)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: %u layers of %u experts are outside 1 to %d and 1 to %d", f->path, layers,
                    experts, GEODEC_STORE_LAYERS, GEODEC_STORE_EXPERTS);
    if (layout > 1) GEODEC_FAIL(GEODEC_FORMAT, "%s: unknown layout %u", f->path, layout);
    at->file_bytes = geodec__store_i64(h + GEODEC__STORE_AT_FILE_BYTES);
    if (at->file_bytes != f->size)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: has %lld bytes, not the %lld of its header (%s)", f->path, (long long)f->size,
                    (long long)at->file_bytes, f->size < at->file_bytes ? "truncated" : "bytes were appended");
    at->index_bytes = geodec__store_i64(h + GEODEC__STORE_AT_INDEX_BYTES);
    at->index_crc = geodec__store_u32(h + GEODEC__STORE_AT_INDEX_CRC);
    s->resident_offset = geodec__store_i64(h + GEODEC__STORE_AT_RESIDENT);
    s->resident_bytes = geodec__store_i64(h + GEODEC__STORE_AT_RESIDENT + 8);
    s->resident_crc = geodec__store_u32(h + GEODEC__STORE_AT_RESIDENT_CRC);
    at->blobs_offset = geodec__store_i64(h + GEODEC__STORE_AT_BLOBS);
    if (at->index_bytes != geodec__store_index_bytes((int32_t)layers, (int32_t)experts) ||
        at->index_bytes > f->size - GEODEC__STORE_HEADER)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: an index of %u layers and %u experts does not have %lld bytes in this file",
                    f->path, layers, experts, (long long)at->index_bytes);
    if (s->resident_offset != GEODEC__STORE_HEADER + geodec__store_pages(at->index_bytes) || s->resident_bytes < 1 ||
        s->resident_bytes > f->size - s->resident_offset)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: the resident part of %lld bytes at %lld lies outside the file", f->path,
                    (long long)s->resident_bytes, (long long)s->resident_offset);
    if (at->blobs_offset != s->resident_offset + geodec__store_pages(s->resident_bytes) || at->blobs_offset > f->size)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: the blobs do not begin after the resident part", f->path);
    GEODEC_PASS(read_fingerprint(f, h, s, err));
    GEODEC_PASS(read_golden(f, h, s, err));
    s->layout = (int32_t)layout;
    s->blobs.n_layer = (int32_t)layers;
    s->blobs.n_expert = (int32_t)experts;
    s->blobs.file_bytes = f->size;
    return GEODEC_OK;
}

static geodec_status read_matrices(const geodec_regular *f, const uint8_t *p, int32_t layer, geodec_store_matrix *m,
                                   int64_t *bytes, geodec_err *err)
{
    static const char *const name[] = {"gate", "up", "down"};
    geodec_store_matrix placed[GEODEC_STORE_MATRICES];
    for (int k = 0; k < GEODEC_STORE_MATRICES; k++, p += GEODEC__STORE_MATRIX_BYTES) {
        const uint32_t type = geodec__store_u32(p), packing = geodec__store_u32(p + 4);
        m[k] = (geodec_store_matrix){.type = (int32_t)(type & INT32_MAX),
                                     .packing = (int32_t)(packing & INT32_MAX),
                                     .rows = geodec__store_i64(p + 8),
                                     .cols = geodec__store_i64(p + 16),
                                     .at = geodec__store_i64(p + 24),
                                     .bytes = geodec__store_i64(p + 32)};
        const bool none = m[0].rows == 0;
        if (type > INT32_MAX || packing > 1 || m[k].rows < 0 || m[k].rows > MOST_ROWS || m[k].cols < 0 ||
            m[k].cols > MOST_ROWS || none != (m[k].rows == 0) || none != (m[k].cols == 0) ||
            (none && (type || packing || m[k].at || m[k].bytes)))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: index: matrix '%s' of layer %d is [%lld, %lld] of type %u, packing %u",
                        f->path, name[k], layer, (long long)m[k].cols, (long long)m[k].rows, type, packing);
    }
    memcpy(placed, m, sizeof placed);
    *bytes = geodec__store_place(placed);
    for (int k = 0; k < GEODEC_STORE_MATRICES; k++)
        if (*bytes < 0 || placed[k].at != m[k].at)
            GEODEC_FAIL(GEODEC_FORMAT,
                        "%s: index: matrix '%s' of layer %d (%lld bytes at %lld) is misplaced in its blob", f->path,
                        name[k], layer, (long long)m[k].bytes, (long long)m[k].at);
    return GEODEC_OK;
}

/* The blobs follow one another page by page. */
static geodec_status read_blobs(const geodec_regular *f, const uint8_t *p, const int64_t *bytes, int64_t next,
                                geodec_blobs *b, geodec_err *err)
{
    for (int64_t i = 0; i < (int64_t)b->n_layer * b->n_expert; i++, p += GEODEC__STORE_BLOB_BYTES) {
        const int32_t layer = (int32_t)(i / b->n_expert), expert = (int32_t)(i % b->n_expert);
        const int64_t want = bytes[layer];
        const geodec_blob_piece piece = {geodec__store_i64(p), geodec__store_i64(p + 8)};
        b->crc[i] = geodec__store_u32(p + 16);
        if (piece.bytes != want || piece.offset != (want ? next : 0) || geodec__store_u32(p + 20) != 0 ||
            (!want && b->crc[i]))
            GEODEC_FAIL(GEODEC_FORMAT,
                        "%s: index: expert %d of layer %d (%lld bytes at %lld) is not where its place is", f->path,
                        expert, layer, (long long)piece.bytes, (long long)piece.offset);
        if (want > f->size - next)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: index: expert %d of layer %d lies outside the file", f->path, expert,
                        layer);
        b->piece[i * GEODEC_BLOB_PIECES] = piece;
        next += geodec__store_pages(want);
        if (next > f->size)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: the file ends inside expert %d of layer %d", f->path, expert, layer);
        if (geodec__store_pages(want) > b->slot_bytes) b->slot_bytes = geodec__store_pages(want);
    }
    if (next != f->size)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: %lld bytes follow the last blob", f->path, (long long)(f->size - next));
    return GEODEC_OK;
}

static geodec_status read_index(const geodec_regular *f, geodec_store *s, const header *h, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *index = NULL;
    int64_t *bytes = NULL;
    geodec_blobs *b = &s->blobs;
    const int64_t n = (int64_t)b->n_layer * b->n_expert, matrices = GEODEC_STORE_MATRICES * GEODEC__STORE_MATRIX_BYTES;
    GEODEC_NEW(index, h->index_bytes);
    GEODEC_TRY(geodec_regular_read(f, GEODEC__STORE_HEADER, index, h->index_bytes, err));
    if (geodec_crc32c(0, index, h->index_bytes) != h->index_crc)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: the index does not match its CRC-32C", f->path);
    GEODEC_NEW(s->matrix, (int64_t)b->n_layer * GEODEC_STORE_MATRICES);
    GEODEC_NEW(bytes, b->n_layer);
    GEODEC_NEW(b->piece, n * GEODEC_BLOB_PIECES);
    GEODEC_NEW(b->crc, n);
    for (int32_t i = 0; i < b->n_layer; i++)
        GEODEC_TRY(
            read_matrices(f, index + i * matrices, i, s->matrix + (int64_t)i * GEODEC_STORE_MATRICES, &bytes[i], err));
    GEODEC_TRY(read_blobs(f, index + b->n_layer * matrices, bytes, h->blobs_offset, b, err));
done:
    GEODEC_FREE(index, bytes);
    return st;
}

static geodec_status read_store(const geodec_regular *f, geodec_store *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_store s = {0};
    header h;
    GEODEC_TRY(read_header(f, &s, &h, err));
    GEODEC_STRDUP(s.blobs.path, f->path);
    GEODEC_TRY(read_index(f, &s, &h, err));
    *out = s;
    s = (geodec_store){0};
done:
    geodec_store_clear(&s);
    return st;
}

geodec_status geodec_store_read(const char *path, geodec_store *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_regular f = {.fd = -1};
    GEODEC_TRY(geodec_regular_open(path, &f, err));
    GEODEC_TRY(read_store(&f, out, err));
done:
    geodec_regular_close(&f);
    return st;
}

void geodec_store_clear(geodec_store *s)
{
    geodec_blobs_clear(&s->blobs);
    geodec_mem_free(s->matrix);
    *s = (geodec_store){0};
}

/* ---- verification ------------------------------------------------------------------------------------------------ */

/* CRC of n bytes at offset, and whether the rest of the last page is zero. */
static geodec_status digest(const geodec_regular *f, int64_t offset, int64_t n, uint8_t *buffer, uint32_t *crc,
                            bool *padded, geodec_err *err)
{
    const int64_t end = offset + geodec__store_pages(n);
    *crc = 0;
    *padded = true;
    while (offset < end) {
        const int64_t take = end - offset < BUFFER ? end - offset : BUFFER, counted = n < take ? n : take;
        GEODEC_PASS(geodec_regular_read(f, offset, buffer, take, err));
        *crc = geodec_crc32c(*crc, buffer, counted);
        for (int64_t i = counted; i < take; i++) *padded = *padded && buffer[i] == 0;
        offset += take;
        n -= counted;
    }
    return GEODEC_OK;
}

static geodec_status verify_blobs(const geodec_regular *f, const geodec_blobs *b, uint8_t *buffer,
                                  const geodec_hooks *hooks, geodec_err *err)
{
    const int64_t n = (int64_t)b->n_layer * b->n_expert;
    for (int64_t i = 0; i < n; i++) {
        const geodec_blob_piece *p = &b->piece[i * GEODEC_BLOB_PIECES];
        const int32_t layer = (int32_t)(i / b->n_expert), expert = (int32_t)(i % b->n_expert);
        uint32_t crc;
        bool padded;
        if (!p->bytes) continue;
        GEODEC_PASS(geodec_hooks_progress(hooks, "experts", i, n, err));
        GEODEC_PASS_MSG(digest(f, p->offset, p->bytes, buffer, &crc, &padded, err), "layer %d, expert %d", layer,
                        expert);
        if (crc != b->crc[i])
            GEODEC_FAIL(GEODEC_CHECKSUM, "%s: layer %d, expert %d: the blob does not match its CRC-32C", f->path, layer,
                        expert);
        if (!padded)
            GEODEC_FAIL(GEODEC_CHECKSUM, "%s: layer %d, expert %d: the bytes after the blob are not zero", f->path,
                        layer, expert);
    }
    return GEODEC_OK;
}

static geodec_status verify(const char *path, bool blobs, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_regular f = {.fd = -1};
    geodec_store s = {0};
    uint8_t *buffer = NULL;
    uint32_t crc;
    bool padded;
    GEODEC_TRY(geodec_regular_open(path, &f, err));
    GEODEC_TRY(read_store(&f, &s, err));
    GEODEC_NEW(buffer, BUFFER);
    const int64_t index = geodec__store_index_bytes(s.blobs.n_layer, s.blobs.n_expert);
    GEODEC_TRY(digest(&f, GEODEC__STORE_HEADER, index, buffer, &crc, &padded, err));
    if (!padded) GEODEC_THROW(GEODEC_CHECKSUM, "%s: the bytes after the index are not zero", path);
    GEODEC_TRY(digest(&f, s.resident_offset, s.resident_bytes, buffer, &crc, &padded, err));
    if (crc != s.resident_crc) GEODEC_THROW(GEODEC_CHECKSUM, "%s: the resident part does not match its CRC-32C", path);
    if (!padded) GEODEC_THROW(GEODEC_CHECKSUM, "%s: the bytes after the resident part are not zero", path);
    if (blobs) GEODEC_TRY(verify_blobs(&f, &s.blobs, buffer, hooks, err));
done:
    geodec_regular_close(&f);
    geodec_store_clear(&s);
    geodec_mem_free(buffer);
    return st;
}

geodec_status geodec_store_verify(const char *path, const geodec_hooks *hooks, geodec_err *err)
{
    return verify(path, true, hooks, err);
}

geodec_status geodec_store_verify_resident(const char *path, geodec_err *err) { return verify(path, false, NULL, err); }
