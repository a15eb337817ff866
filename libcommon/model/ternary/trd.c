#include "ternary/trd.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "ternary/header_internal.h"

enum { A = 0, B = GEODEC_TRIT_PREFIX, SUMS = 2 * GEODEC_TRIT_PREFIX, FRONT = SUMS + 8 };

static int64_t scales_bytes(const geodec_trit_shape *s)
{
    return s->by_row ? (2 * (int64_t)s->f + s->d) * (int64_t)sizeof(float) : 0;
}
static int64_t least_bytes(const geodec_trit_shape *s) { return FRONT + 2 * scales_bytes(s); }

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static geodec_status read_entry(const geodec_regular *f, const geodec__header *h, const uint8_t *p, int64_t offset,
                                int32_t i, geodec_trd_entry *e, geodec_err *err)
{
    uint8_t front[FRONT];
    *e = (geodec_trd_entry){.offset = geodec__header_i64(p), .bytes = geodec__header_i64(p + 8)};
    int64_t changes = 0;
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
        e->changes[k] = geodec__header_u32(p + 16 + 4 * k);
        changes += e->changes[k];
        if (e->changes[k] > (int64_t)h->shape.d * h->shape.f)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: entry %d has more changes than weights", f->path, i);
    }
    e->crc = geodec__header_u32(p + 28);
    e->crc_a = geodec__header_u32(p + 32);
    e->crc_b = geodec__header_u32(p + 36);
    if (e->offset != offset || e->bytes < least_bytes(&h->shape) + changes || e->bytes > f->size - offset)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: entry %d has %lld bytes at %lld", f->path, i, (long long)e->bytes,
                    (long long)e->offset);
    GEODEC_PASS(geodec_regular_read(f, offset, front, sizeof front, err));
    GEODEC_PASS_MSG(geodec__header_prefix(front + A, -1, h->expert[0], err), "%s: entry %d", f->path, i);
    e->layer = geodec_trit_payload_layer(front + A);
    GEODEC_PASS_MSG(geodec__header_prefix(front + B, e->layer, h->expert[1], err), "%s: layer %d", f->path, e->layer);
    if (e->crc_a != geodec__header_u32(front + SUMS) || e->crc_b != geodec__header_u32(front + SUMS + 4))
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: layer %d: the table has other CRCs of the experts than the blob", f->path,
                    e->layer);
    return GEODEC_OK;
}

static geodec_status read_table(const geodec_regular *f, const geodec__header *h, const uint8_t *page, geodec_trd *t,
                                geodec_err *err)
{
    int64_t offset = h->header_bytes;
    for (int32_t i = 0; i < h->shape.layers; i++) {
        geodec_trd_entry *e = &t->entry[i];
        if (offset >= f->size) GEODEC_FAIL(GEODEC_FORMAT, "%s: entry %d lies outside the file", f->path, i);
        GEODEC_PASS(read_entry(f, h, page + GEODEC__HEADER_TABLE + (int64_t)i * GEODEC__HEADER_TRD, offset, i, e, err));
        if (i > 0 && e->layer <= t->entry[i - 1].layer)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: entry %d: layers do not ascend", f->path, i);
        const int64_t room = geodec__header_pages(e->bytes);
        t->room = t->room > room ? t->room : room;
        offset += room;
    }
    if (offset != h->file_bytes)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: blobs end at byte %lld of %lld", f->path, (long long)offset,
                    (long long)h->file_bytes);
    return GEODEC_OK;
}

geodec_status geodec_trd_open(const char *path, geodec_trd *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_regular f = {.fd = -1};
    geodec__header h = {0};
    geodec_trd t = {.fd = -1};
    uint8_t *page = NULL;
    GEODEC_TRY(geodec_regular_open(path, &f, err));
    GEODEC_TRY(geodec__header_read(&f, &geodec__header_trd, &h, &page, err));
    t.shape = h.shape;
    t.a = h.expert[0];
    t.b = h.expert[1];
    t.file_bytes = h.file_bytes;
    t.header_bytes = h.header_bytes;
    t.header_crc = geodec_crc32c(0, page, h.header_bytes);
    GEODEC_STRDUP(t.path, path);
    GEODEC_NEW(t.entry, h.shape.layers);
    GEODEC_TRY(read_table(&f, &h, page, &t, err));
    t.fd = f.fd;
    f.fd = -1;
    GEODEC_MOVE(*out, t);
done:
    geodec_mem_free(page);
    geodec_regular_close(&f);
    geodec_trd_close(&t);
    return st;
}

void geodec_trd_close(geodec_trd *t)
{
    geodec_regular f = {.fd = t->path ? t->fd : -1};
    geodec_regular_close(&f);
    GEODEC_FREE(t->path, t->entry);
    *t = (geodec_trd){.fd = -1};
}

const geodec_trd_entry *geodec_trd_find(const geodec_trd *t, int32_t layer)
{
    for (int32_t i = 0; i < t->shape.layers; i++)
        if (t->entry[i].layer == layer) return &t->entry[i];
    return NULL;
}

static geodec_status find(const geodec_trd *t, int32_t layer, const geodec_trd_entry **e, geodec_err *err)
{
    *e = geodec_trd_find(t, layer);
    if (!*e) GEODEC_FAIL(GEODEC_NOTFOUND, "%s: layer %d, experts %d and %d: no such layer", t->path, layer, t->a, t->b);
    return GEODEC_OK;
}

geodec_status geodec_trd_read(const geodec_trd *t, int32_t layer, uint8_t *blob, geodec_err *err)
{
    const geodec_regular f = {.path = t->path, .fd = t->fd, .size = t->file_bytes};
    const geodec_trd_entry *e;
    GEODEC_PASS(find(t, layer, &e, err));
    const int64_t room = geodec__header_pages(e->bytes);
    for (int tries = 0; tries < 2; tries++) {
        GEODEC_PASS_MSG(geodec_regular_read(&f, e->offset, blob, room, err), "layer %d, experts %d and %d", layer, t->a,
                        t->b);
        if (geodec_crc32c(0, blob, e->bytes) != e->crc) continue;
        if (!geodec__header_zeros(blob + e->bytes, room - e->bytes))
            GEODEC_FAIL(GEODEC_CHECKSUM, "%s: layer %d, experts %d and %d: the bytes after the payload are not zero",
                        t->path, layer, t->a, t->b);
        return GEODEC_OK;
    }
    GEODEC_FAIL(GEODEC_CHECKSUM, "%s: layer %d, experts %d and %d: the difference does not match its CRC-32C", t->path,
                layer, t->a, t->b);
}

/* ---- applying --------------------------------------------------------------------------------------------------- */

static geodec_status apply_streams(const geodec_trit_shape *s, const geodec_trd_entry *e, const uint8_t *blob,
                                   bool to_b, uint8_t *payload, geodec_err *err)
{
    geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
    int64_t at = least_bytes(s);
    geodec_trit_matrices(s, payload, m);
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
        const geodec_change_stream stream = {.data = blob + at, .bytes = e->bytes - at, .changes = e->changes[k]};
        int64_t used;
        GEODEC_PASS_MSG(geodec_change_apply(s->encoding, m[k].rows, m[k].cols, &stream, to_b,
                                            payload + (m[k].data - payload), &used, err),
                        "matrix %d", k);
        at += used;
    }
    if (at != e->bytes) GEODEC_FAIL(GEODEC_FORMAT, "%lld bytes follow the changes", (long long)(e->bytes - at));
    return GEODEC_OK;
}

geodec_status geodec_trd_apply(const geodec_trd *t, int32_t layer, const uint8_t *blob, bool to_b, bool check,
                               uint8_t *payload, uint32_t *crc, geodec_err *err)
{
    const geodec_trd_entry *e;
    const geodec_trit_shape *s = &t->shape;
    GEODEC_PASS(find(t, layer, &e, err));
    const uint32_t from = to_b ? e->crc_a : e->crc_b, to = to_b ? e->crc_b : e->crc_a;
    const int32_t base = to_b ? t->a : t->b;
    if (*crc != from || geodec_trit_payload_layer(payload) != layer || geodec_trit_payload_expert(payload) != base)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: layer %d: these are not the bytes of expert %d that the difference is from",
                    t->path, layer, base);
    GEODEC_PASS_MSG(apply_streams(s, e, blob, to_b, payload, err), "%s: layer %d, experts %d and %d", t->path, layer,
                    t->a, t->b);
    memcpy(payload, blob + (to_b ? B : A), GEODEC_TRIT_PREFIX);
    if (s->by_row) {
        const int64_t bytes = scales_bytes(s);
        memcpy(payload + geodec_trit_payload_bytes(s) - bytes, blob + FRONT + (to_b ? bytes : 0), (size_t)bytes);
    }
    *crc = to;
    if (check && geodec_crc32c(0, payload, geodec_trit_payload_bytes(s)) != to)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: layer %d: the difference does not lead from expert %d to expert %d", t->path,
                    layer, base, to_b ? t->b : t->a);
    return GEODEC_OK;
}

/* ---- verification ----------------------------------------------------------------------------------------------- */

/* Without the experts: the streams are read on the side, into a payload of zeros. */
static geodec_status verify_layer(const geodec_trd *t, const geodec_trd_entry *e, const geodec_trit *a,
                                  const geodec_trit *b, uint8_t *blob, uint8_t *payload, geodec_err *err)
{
    GEODEC_PASS(geodec_trd_read(t, e->layer, blob, err));
    if (!a || !b) {
        memset(payload, 0, (size_t)geodec_trit_payload_bytes(&t->shape));
        GEODEC_PASS_MSG(apply_streams(&t->shape, e, blob, true, payload, err), "%s: layer %d, experts %d and %d",
                        t->path, e->layer, t->a, t->b);
        return GEODEC_OK;
    }
    for (int to_b = 0; to_b < 2; to_b++) {
        const geodec_trit *base = to_b ? a : b;
        GEODEC_PASS(geodec_trit_read(base, e->layer, payload, err));
        uint32_t crc = geodec_trit_find(base, e->layer)->crc;
        GEODEC_PASS(geodec_trd_apply(t, e->layer, blob, to_b, true, payload, &crc, err));
    }
    return GEODEC_OK;
}

geodec_status geodec_trd_verify(const char *path, const geodec_trit *a, const geodec_trit *b, const geodec_hooks *hooks,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trd t = {.fd = -1};
    uint8_t *blob = NULL, *payload = NULL;
    GEODEC_TRY(geodec_trd_open(path, &t, err));
    if (a && b && (!geodec_trit_same_shape(&t.shape, &a->shape) || !geodec_trit_same_shape(&t.shape, &b->shape)))
        GEODEC_THROW(GEODEC_INVAL, "%s: a difference of experts of another shape or model", path);
    GEODEC_NEW(blob, t.room);
    GEODEC_NEW(payload, geodec_trit_stride(&t.shape));
    for (int32_t i = 0; i < t.shape.layers; i++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "layers", i, t.shape.layers, err));
        GEODEC_TRY(verify_layer(&t, &t.entry[i], a, b, blob, payload, err));
    }
done:
    GEODEC_FREE(blob, payload);
    geodec_trd_close(&t);
    return st;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

typedef struct writer {
    const geodec_trit *a, *b;
    geodec_atomic *file;
    geodec__header h;
    uint8_t *page, *blob_a, *blob_b, *blob;
    int64_t room, at; /* of blob; offset in the file */
} writer;

static geodec_status put_streams(writer *w, const geodec_ternary_matrix *a, const geodec_ternary_matrix *b, uint8_t *p,
                                 int64_t *bytes, geodec_err *err)
{
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
        int64_t n, changes;
        GEODEC_PASS(geodec_change_encode(&a[k], &b[k], NULL, &n, &changes, err));
        if (*bytes + n > w->room) {
            uint8_t *grown = geodec_mem_grow(w->blob, w->room, geodec__header_pages(*bytes + n), 1);
            if (!grown) GEODEC_FAIL(GEODEC_NOMEM, "no memory for %lld bytes of changes", (long long)n);
            w->blob = grown;
            w->room = geodec__header_pages(*bytes + n);
        }
        GEODEC_PASS(geodec_change_encode(&a[k], &b[k], w->blob + *bytes, &n, &changes, err));
        const uint32_t count = (uint32_t)changes;
        geodec__header_put(p + 16 + 4 * k, &count, 4);
        *bytes += n;
    }
    return GEODEC_OK;
}

static geodec_status write_layer(writer *w, int32_t i, geodec_err *err)
{
    const geodec_trit_shape *s = &w->a->shape;
    const int32_t layer = w->a->entry[i].layer;
    const int64_t payload = geodec_trit_payload_bytes(s), scales = scales_bytes(s);
    uint8_t *p = w->page + GEODEC__HEADER_TABLE + (int64_t)i * GEODEC__HEADER_TRD;
    geodec_ternary_matrix a[GEODEC_TRIT_MATRICES], b[GEODEC_TRIT_MATRICES];
    int64_t bytes = least_bytes(s);
    GEODEC_PASS(geodec_trit_read(w->a, layer, w->blob_a, err));
    GEODEC_PASS(geodec_trit_read(w->b, layer, w->blob_b, err));
    geodec_trit_matrices(s, w->blob_a, a);
    geodec_trit_matrices(s, w->blob_b, b);
    memcpy(w->blob + A, w->blob_a, GEODEC_TRIT_PREFIX);
    memcpy(w->blob + B, w->blob_b, GEODEC_TRIT_PREFIX);
    geodec__header_put(w->blob + SUMS, &w->a->entry[i].crc, 4);
    geodec__header_put(w->blob + SUMS + 4, &geodec_trit_find(w->b, layer)->crc, 4);
    memcpy(w->blob + FRONT, w->blob_a + payload - scales, (size_t)scales);
    memcpy(w->blob + FRONT + scales, w->blob_b + payload - scales, (size_t)scales);
    GEODEC_PASS(put_streams(w, a, b, p, &bytes, err));
    GEODEC_PASS(geodec_atomic_write(w->file, w->blob, (size_t)bytes, err));
    GEODEC_PASS(geodec__header_write_zeros(w->file, geodec__header_pages(bytes) - bytes, err));
    const uint32_t crc = geodec_crc32c(0, w->blob, bytes);
    geodec__header_put(p, &w->at, 8);
    geodec__header_put(p + 8, &bytes, 8);
    geodec__header_put(p + 28, &crc, 4);
    geodec__header_put(p + 32, &w->a->entry[i].crc, 4);
    geodec__header_put(p + 36, &geodec_trit_find(w->b, layer)->crc, 4);
    w->at += geodec__header_pages(bytes);
    return GEODEC_OK;
}

static geodec_status check_pair(const char *path, const geodec_trit *a, const geodec_trit *b, geodec_err *err)
{
    if (a->expert >= b->expert || !geodec_trit_same_shape(&a->shape, &b->shape))
        GEODEC_FAIL(GEODEC_INVAL, "%s: a difference needs two experts of one shape and model, the lower number first",
                    path);
    for (int32_t i = 0; i < a->shape.layers; i++)
        if (a->entry[i].layer != b->entry[i].layer)
            GEODEC_FAIL(GEODEC_INVAL, "%s: the experts %d and %d have different layers", path, a->expert, b->expert);
    return GEODEC_OK;
}

geodec_status geodec_trd_write(const char *path, const geodec_trit *a, const geodec_trit *b, const geodec_hooks *hooks,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    writer w = {.a = a, .b = b};
    GEODEC_TRY(check_pair(path, a, b, err));
    w.h = (geodec__header){.shape = a->shape,
                           .expert = {a->expert, b->expert},
                           .header_bytes = geodec__header_bytes(&geodec__header_trd, a->shape.layers),
                           .stride = a->stride};
    w.at = w.h.header_bytes;
    w.room = geodec__header_pages(least_bytes(&a->shape));
    GEODEC_NEW(w.page, w.h.header_bytes);
    GEODEC_NEW(w.blob, w.room);
    GEODEC_NEW_EACH(a->stride, w.blob_a, w.blob_b);
    GEODEC_TRY(geodec_atomic_open(path, &w.file, err));
    GEODEC_TRY(geodec__header_write_zeros(w.file, w.h.header_bytes, err));
    for (int32_t i = 0; i < a->shape.layers; i++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "layers", i, a->shape.layers, err));
        GEODEC_TRY(write_layer(&w, i, err));
    }
    w.h.file_bytes = w.at;
    geodec__header_fill(&geodec__header_trd, &w.h, w.page);
    FILE *f = geodec_atomic_stream(w.file);
    if (!f || fseeko(f, 0, SEEK_SET) != 0) GEODEC_THROW(GEODEC_IO, "%s: cannot write", path);
    GEODEC_TRY(geodec_atomic_write(w.file, w.page, (size_t)w.h.header_bytes, err));
    geodec_atomic *file = w.file;
    w.file = NULL;
    GEODEC_TRY(geodec_atomic_commit(file, err));
done:
    geodec_atomic_abandon(w.file);
    GEODEC_FREE(w.page, w.blob, w.blob_a, w.blob_b);
    return st;
}
